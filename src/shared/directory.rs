//! A directory of documents: `experiments/ab/<identity>.jsonl.z`. Files are added and never replaced, so that tools which
//! synchronize directories make two of them equal.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io::{ErrorKind, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::documents::{Documents, Summary};
use crate::{
    error::{Context, Error, Exit, Result},
    store::LARGEST_DOCUMENT,
};

/// The ending of a document's name.
const ENDING: &str = ".jsonl.z";

/// The documents below a directory.
#[derive(Debug)]
pub struct Directory {
    experiments: PathBuf,
}

impl Directory {
    /// The documents below this directory, which need not exist before something is added.
    pub fn new(path: &Path) -> Self {
        Self { experiments: path.join("experiments") }
    }

    fn file(&self, identity: &str) -> PathBuf {
        let group = identity.get(..2).unwrap_or(identity);
        self.experiments.join(group).join(format!("{identity}{ENDING}"))
    }
}

impl Documents for Directory {
    fn missing(&mut self, identities: &[String]) -> Result<HashSet<String>> {
        let parent = self.experiments.parent().filter(|parent| parent.is_file());
        if let Some(file) = parent {
            return Err(Error::new(Exit::Usage, format!("cannot write {}", file.display())).cause(
                "it is a file; one with results ends in .jsonl, and others need a directory",
            ));
        }
        let missing = identities.iter().filter(|identity| !self.file(identity).exists());
        Ok(missing.cloned().collect())
    }

    fn add(
        &mut self,
        identity: &str,
        document: &[u8],
        _: &dyn Fn() -> Result<Summary>,
    ) -> Result<bool> {
        let file = self.file(identity);
        let what = || format!("cannot write {}", file.display());
        let directory = file.parent().unwrap_or(&self.experiments);
        fs::create_dir_all(directory).context(Exit::Usage, what)?;
        let mut unfinished = tempfile::Builder::new()
            .prefix(".unfinished-")
            .tempfile_in(directory)
            .context(Exit::Usage, what)?;
        unfinished.write_all(document).context(Exit::Usage, what)?;
        // A name must never stand for less than the whole document, even after a power failure: it is not replaced.
        unfinished.as_file().sync_all().context(Exit::Usage, what)?;
        match unfinished.persist_noclobber(&file) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error).context(Exit::Usage, what),
        }
    }

    fn identities(&mut self, _: Option<SystemTime>) -> Result<Vec<String>> {
        let what = || format!("cannot read {}", self.experiments.display());
        let mut found = Vec::new();
        for group in fs::read_dir(&self.experiments).context(Exit::Usage, what)? {
            let group = group.context(Exit::Usage, what)?.path();
            let Ok(files) = fs::read_dir(&group) else { continue };
            for file in files {
                let name = file.context(Exit::Usage, what)?.file_name();
                let identity = name.to_str().and_then(|name| name.strip_suffix(ENDING));
                // Anything may lie in a directory of others.
                let identity = identity.filter(|identity| {
                    is_identity(identity) && group.file_name() == Some(identity[..2].as_ref())
                });
                found.extend(identity.map(str::to_owned));
            }
        }
        found.sort();
        Ok(found)
    }

    fn document(&mut self, identity: &str) -> Result<Vec<u8>> {
        let file = self.file(identity);
        let what = || format!("cannot read {}", file.display());
        // Links may lead anywhere, and opening a pipe would block.
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(&file)
            .context(Exit::Usage, what)?;
        if !opened.metadata().context(Exit::Usage, what)?.is_file() {
            return Err(Error::new(Exit::Usage, what()).cause("it is not a regular file"));
        }
        let mut document = Vec::new();
        let limit = LARGEST_DOCUMENT as u64 + 1;
        opened.take(limit).read_to_end(&mut document).context(Exit::Usage, what)?;
        if document.len() > LARGEST_DOCUMENT {
            let most = LARGEST_DOCUMENT >> 20;
            return Err(Error::new(Exit::Usage, what())
                .cause(format!("it is larger than {most} MiB, the most that a document has")));
        }
        Ok(document)
    }
}

/// True for the hex digits of an identity.
fn is_identity(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const ONE: &str = "00112233445566778899aabbccddeeff";

    fn no_summary() -> Result<Summary> {
        Err(Error::new(Exit::Internal, "a directory needs no summary"))
    }

    #[test]
    fn document_is_added_once_and_never_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let mut directory = Directory::new(scratch.path());
        let identities = [ONE.to_owned(), ONE.replace('0', "1")];
        assert_eq!(directory.missing(&identities).unwrap().len(), 2);
        assert!(directory.add(ONE, b"first", &no_summary).unwrap());
        assert!(!directory.add(ONE, b"second", &no_summary).unwrap());
        assert_eq!(directory.document(ONE).unwrap(), b"first");
        assert_eq!(directory.identities(None).unwrap(), [ONE]);
        assert_eq!(directory.missing(&identities).unwrap().len(), 1);
        assert_eq!(fs::read_dir(scratch.path().join("experiments/00")).unwrap().count(), 1);
    }

    #[test]
    fn foreign_files_are_ignored_or_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let mut directory = Directory::new(scratch.path());
        let group = scratch.path().join("experiments/00");
        fs::create_dir_all(&group).unwrap();
        fs::create_dir(scratch.path().join("experiments/ff")).unwrap();
        fs::write(scratch.path().join("experiments/README"), "hello").unwrap();
        fs::write(group.join("../ff").join(format!("{ONE}{ENDING}")), "misplaced").unwrap();
        for name in ["x.jsonl.z", "..jsonl.z", ".unfinished-1", "é.jsonl.z", ONE] {
            fs::write(group.join(name), "x").unwrap();
        }
        assert_eq!(directory.identities(None).unwrap(), [""; 0]);

        let file = group.join(format!("{ONE}{ENDING}"));
        symlink("/etc/hostname", &file).unwrap();
        assert!(directory.document(ONE).is_err());
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(directory.document(ONE).is_err());
        fs::remove_dir(&file).unwrap();
        let large = fs::File::create(&file).unwrap();
        large.set_len(LARGEST_DOCUMENT as u64 + 1).unwrap();
        let error = directory.document(ONE).unwrap_err().to_string();
        assert!(error.contains("larger than 64 MiB"), "{error}");
    }
}
