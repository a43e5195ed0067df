//! The place of shared results: as it is written, or from the environment. The address of a database may have a password,
//! which no message shows.

use std::{
    fmt,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::postgres::Address;
use crate::{
    error::{Context as _, Error, Exit, Result},
    model::secret::{has_password, may_be_address},
    secrets,
    shell::quoted,
};

const PLACE: &str = "RBENCH_SHARED";

/// The variable that has the path of a file with the place, such as one of systemd's credentials.
const FILE: &str = "RBENCH_SHARED_FILE";

/// A place with results, as users write it.
#[derive(Clone, Debug)]
pub enum Place {
    /// A PostgreSQL database: `postgres://HOST/DATABASE`.
    Database(Box<Address>),
    /// A directory with a document for each experiment.
    Directory(PathBuf),
    /// A file with all experiments: `*.jsonl`.
    File(PathBuf),
    /// Standard output or standard input: `-`.
    Standard,
}

impl Place {
    /// Parses a place. Fails for the address of anything but a PostgreSQL database.
    pub fn parse(text: &str) -> Result<Self> {
        if text == "-" {
            return Ok(Self::Standard);
        }
        if ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Address::parse(text).map(Box::new).map(Self::Database);
        }
        let path = Path::new(text);
        if may_be_address(text) {
            // Without the text, which may have a password.
            return Err(Error::new(Exit::Usage, "cannot read the address of the shared results")
                .hint("only PostgreSQL is supported: write postgres://USER@HOST/DATABASE")
                .hint("if it is a directory, begin with ./ or /"));
        }
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            return Ok(Self::File(path.into()));
        }
        // A word that was meant as something else makes no directory.
        let is_path = ["/", "./", "../"].iter().any(|start| text.starts_with(start));
        if !is_path && !matches!(text, "." | "..") && !path.is_dir() {
            return Err(Error::new(Exit::Usage, format!("there is no directory {}", quoted(text)))
                .hint(format!("to make it, begin with ./: {}", quoted(format!("./{text}")))));
        }
        Ok(Self::Directory(path.into()))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(address) => address.fmt(f),
            Self::Directory(path) | Self::File(path) => path.display().fmt(f),
            Self::Standard => f.write_str("-"),
        }
    }
}

/// The place that the environment names, for commands that name none.
#[derive(Debug, Default)]
pub struct SharedVariables {
    place: Option<String>,
    file: Option<PathBuf>,
}

impl SharedVariables {
    /// Reads the variables, which nothing inherits that this process starts.
    pub fn read() -> Self {
        let given = |name| secrets::variable(name).filter(|value| !value.is_empty());
        Self {
            place: given(PLACE).and_then(|place| place.into_string().ok()),
            file: given(FILE).map(PathBuf::from),
        }
    }

    /// The place that was typed, or else that of the environment. Fails if there is none.
    pub fn place(&self, typed: Option<&str>) -> Result<Place> {
        let typed = typed.filter(|typed| !typed.is_empty());
        if typed.is_some_and(has_password) {
            let what = "an address with a password cannot be part of a command";
            return Err(Error::new(Exit::Usage, what)
                .cause("all users of a machine see the commands that run there")
                .hint(format!("set {PLACE}, or name a file with the address in {FILE}")));
        }
        match (typed.or(self.place.as_deref()), &self.file) {
            (Some(text), _) => Place::parse(text),
            (None, Some(path)) => {
                let what = || format!("cannot read {}, which {FILE} names", path.display());
                let mut text = String::new();
                let file = File::open(path).context(Exit::Usage, what)?;
                file.take(1 << 16).read_to_string(&mut text).context(Exit::Usage, what)?;
                secrets::add(text.trim())?;
                Place::parse(text.trim())
            }
            (None, None) => Err(Error::new(Exit::Usage, "no place of shared results is given")
                .hint(format!("name a directory, a .jsonl file or a database, or set {PLACE}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_told_by_its_form() {
        let parse = |text| Place::parse(text).unwrap();
        assert!(matches!(parse("-"), Place::Standard));
        assert!(matches!(parse("results.jsonl"), Place::File(_)));
        assert!(matches!(parse("./shared/results"), Place::Directory(_)));
        if cfg!(feature = "postgres") {
            assert!(matches!(parse("postgres://db/x"), Place::Database(_)));
        } else {
            let error = Place::parse("postgres://me:s3cret@db/x").unwrap_err().to_string();
            assert!(error.contains("--features postgres") && !error.contains("s3cret"), "{error}");
        }
        for address in [
            "mysql://me:s3cret@db/x",
            "host=db user=me password=s3cret dbname=x",
            "postgresql:/me:s3cret@db/x",
            "postgres//me:s3cret@db/x",
            "me:s3cret@db/x.jsonl",
            "//me:s3cret@db/x",
        ] {
            let error = Place::parse(address).unwrap_err().to_string();
            assert!(error.contains("postgres://") && !error.contains("s3cret"), "{error}");
        }
        let error = Place::parse("reslts").unwrap_err().to_string();
        assert!(error.contains("no directory reslts") && error.contains("./reslts"), "{error}");
    }

    #[test]
    fn typed_password_is_refused() {
        let refused = |typed: &str| {
            let error = SharedVariables::default().place(Some(typed)).unwrap_err().to_string();
            assert!(error.contains("RBENCH_SHARED") && !error.contains("s3cret"), "{error}");
        };
        refused("postgres://me:s3cret@db/x");
        refused("host=db password=s3cret");
    }
}
