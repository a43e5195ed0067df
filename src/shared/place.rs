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
    secrets,
};

/// The variable that has the place.
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
        if text.starts_with("postgres:") || text.contains("://") {
            // Without the text, which may have a password.
            return Err(Error::new(Exit::Usage, "cannot read the address of the shared results")
                .hint("only PostgreSQL is supported: write postgres://USER@HOST/DATABASE"));
        }
        let is_file = Path::new(text).extension().is_some_and(|ending| ending == "jsonl");
        Ok(if is_file { Self::File(text.into()) } else { Self::Directory(text.into()) })
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
        assert!(matches!(parse("shared/results"), Place::Directory(_)));
        if cfg!(feature = "postgres") {
            assert!(matches!(parse("postgres://db/x"), Place::Database(_)));
        } else {
            let error = Place::parse("postgres://me:s3cret@db/x").unwrap_err().to_string();
            assert!(error.contains("--features postgres") && !error.contains("s3cret"), "{error}");
        }
        let error = Place::parse("mysql://me:s3cret@db/x").unwrap_err().to_string();
        assert!(error.contains("postgres://") && !error.contains("s3cret"), "{error}");
    }
}
