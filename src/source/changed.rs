//! What two versions have in common, and which sources differ.

use git2::{DiffOptions, Oid};

use super::Repository;
use crate::{
    failure::{Exit, OrFail, Result},
    model::Version,
};

/// So many files are read, each of so many bytes at most.
const MOST_FILES: usize = 1_000;
const LARGEST: usize = 1 << 20;

impl Repository {
    /// The newest commit, in hex, that is in the history of both of these; none if they have none in common, as far as
    /// the clone has their history.
    pub fn merge_base(&self, one: &Version, other: &Version) -> Result<Option<String>> {
        let id = |version: &Version| Oid::from_str(version.commit.as_deref()?).ok();
        let Some((one, other)) = id(one).zip(id(other)) else { return Ok(None) };
        match self.git().merge_base(one, other) {
            Ok(base) => Ok(Some(base.to_string())),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error).or_fail(Exit::Usage, || {
                format!("cannot read the history of {}", self.root().display())
            }),
        }
    }

    /// The Rust sources of the head that the base has not, or not so: their paths and texts.
    pub fn changed_sources(&self, base: &Version, head: &Version) -> Result<Vec<(String, String)>> {
        let what = || format!("cannot compare the files of {base} and {head}");
        self.sources(&base.tree, &head.tree).or_fail(Exit::Usage, what)
    }

    fn sources(&self, base: &str, head: &str) -> Result<Vec<(String, String)>, git2::Error> {
        let tree = |id: &str| self.git().find_tree(Oid::from_str(id)?);
        let (base, head) = (tree(base)?, tree(head)?);
        let mut options = DiffOptions::new();
        options.context_lines(0).ignore_submodules(true).skip_binary_check(true);
        let diff = self.git().diff_tree_to_tree(Some(&base), Some(&head), Some(&mut options))?;
        let mut sources = Vec::new();
        for delta in diff.deltas().take(MOST_FILES) {
            let file = delta.new_file();
            let Some(path) = file.path() else { continue };
            // Of a file that the head has not, there is no blob.
            let Ok(blob) = self.git().find_blob(file.id()) else { continue };
            if path.extension().is_some_and(|extension| extension == "rs")
                && let Some(path) = path.to_str()
                && let Ok(text) = std::str::from_utf8(blob.content())
                && text.len() <= LARGEST
            {
                sources.push((path.to_owned(), text.to_owned()));
            }
        }
        Ok(sources)
    }
}
