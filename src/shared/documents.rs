//! A set of documents, one for each experiment, and what a database knows about each.
//!
//! In a directory they are `experiments/ab/<identity>.jsonl.z`. Files are added and never replaced, so that tools which
//! synchronize directories make two of them equal.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io::{ErrorKind, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::Serialize;
use serde_json::Value;

use crate::{
    error::{Context as _, Error, Exit, Result},
    model::{SkipReason, Version, nanoseconds},
    store::{LARGEST_DOCUMENT, StoredExperiment, is_identity},
};

/// A place with one document for each experiment. Identities are those of [`StoredExperiment`].
pub trait Documents {
    /// True if it does not answer any more, so that nothing else can be asked.
    fn is_lost(&self) -> bool {
        false
    }

    /// The experiments of these that it lacks.
    fn missing(&mut self, identities: &[String]) -> Result<HashSet<String>>;

    /// Adds the document of an experiment, which is durable when this returns. Only a database asks for the summary, for
    /// its project. Returns false, and changes nothing, if the experiment is there.
    fn add(
        &mut self,
        identity: &str,
        document: &[u8],
        summary: &dyn Fn(&str) -> Result<Summary>,
    ) -> Result<bool>;

    /// The experiments that it has documents of. A database lists only those that are wanted, the newest first.
    fn list(&mut self, wanted: &Wanted<'_>) -> Result<Vec<Listed>>;

    /// The document of an experiment, as somebody else left it.
    fn document(&mut self, identity: &str) -> Result<Vec<u8>>;
}

/// The experiments to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'w> {
    /// Those that were finished at this time or later.
    pub since: Option<SystemTime>,
    /// Those that one of these logins sent; of all, if there are none.
    pub senders: &'w [String],
}

#[derive(Debug)]
pub struct Listed {
    pub identity: String,
    /// The login that sent it, which only a database knows.
    pub sender: Option<String>,
}

/// Everything about an experiment that SQL can answer questions about.
#[derive(Debug)]
pub struct Summary {
    /// An [`About`] as JSON.
    pub about: String,
    /// The comparison as JSON, if the experiment is one.
    pub report: Option<String>,
}

impl Summary {
    /// The summary of an experiment and of its comparison, if it is one.
    pub fn new(about: &About<'_>, comparison: Option<&impl Serialize>) -> Result<Self> {
        let report = comparison.map(json).transpose()?;
        Ok(Self { about: json(about)?, report })
    }
}

/// JSON without NUL, which PostgreSQL cannot have in text.
fn json(value: &impl Serialize) -> Result<String> {
    fn replace_nul(value: &mut Value) {
        match value {
            Value::String(text) if text.contains('\0') => *text = text.replace('\0', "\u{fffd}"),
            Value::Array(values) => values.iter_mut().for_each(replace_nul),
            Value::Object(fields) => fields.values_mut().for_each(replace_nul),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(value)
        .context(Exit::Internal, || "cannot write the summary of an experiment")?;
    replace_nul(&mut value);
    Ok(value.to_string())
}

/// An experiment in a few words.
#[derive(Debug, Serialize)]
pub struct About<'e> {
    identity: &'e str,
    project: &'e str,
    class: &'e str,
    machine: String,
    kind: &'static str,
    settings_key: &'e str,
    rbench: &'e str,
    base: Option<&'e str>,
    head: &'e str,
    head_s: Option<i64>,
    summary: &'e str,
    begun_ns: i64,
    finished_ns: i64,
    unaffected: usize,
    identical: usize,
}

impl<'e> About<'e> {
    /// Describes an experiment of a project that skipped benchmarks for these reasons.
    pub fn new(experiment: &'e StoredExperiment, project: &'e str, skipped: &[SkipReason]) -> Self {
        let StoredExperiment { plan, identity, begun, finished, .. } = experiment;
        let versions = plan.versions.iter().map(|planned| &planned.version);
        let revision = |version: &'e Version| match &version.commit {
            Some(commit) if !version.dirty => commit.as_str(),
            _ => &version.tree,
        };
        let head = versions.clone().next_back();
        let count = |reason| skipped.iter().filter(|one| **one == reason).count();
        Self {
            identity,
            project,
            class: &plan.machine.class,
            machine: format!("{} {}", plan.machine, plan.machine.id),
            kind: match plan.versions.len() {
                _ if plan.is_diagnosis() => "diagnosis",
                _ if plan.is_counting() => "counts",
                2 => "comparison",
                _ => "versions",
            },
            settings_key: &plan.settings_key,
            rbench: &plan.rbench,
            base: versions.clone().next().filter(|_| plan.versions.len() > 1).map(revision),
            head: head.map(revision).unwrap_or_default(),
            head_s: head.and_then(|head| head.time).filter(|seconds| *seconds >= 0),
            summary: head.map(|head| head.summary.as_str()).unwrap_or_default(),
            begun_ns: nanoseconds::from_time(*begun),
            finished_ns: nanoseconds::from_time(finished.unwrap_or(*begun)),
            unaffected: count(SkipReason::Unaffected),
            identical: count(SkipReason::Identical),
        }
    }
}

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

    /// True if nothing was ever added.
    pub fn is_new(&self) -> bool {
        !self.experiments.exists()
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
        _: &dyn Fn(&str) -> Result<Summary>,
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

    fn list(&mut self, _: &Wanted<'_>) -> Result<Vec<Listed>> {
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
        Ok(found.into_iter().map(|identity| Listed { identity, sender: None }).collect())
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn summary_has_no_nul() {
        let text = json(&["a\0b", "\\u0000"]).unwrap();
        assert_eq!(text, "[\"a\u{fffd}b\",\"\\\\u0000\"]");
    }

    const ONE: &str = "00112233445566778899aabbccddeeff";

    fn listed(directory: &mut Directory) -> Vec<String> {
        let all = directory.list(&Wanted::default()).unwrap();
        all.into_iter().map(|one| one.identity).collect()
    }

    fn no_summary(_: &str) -> Result<Summary> {
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
        assert_eq!(listed(&mut directory), [ONE]);
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
        assert_eq!(listed(&mut directory), [""; 0]);

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
