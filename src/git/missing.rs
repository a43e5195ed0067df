//! Files that are not here: a sparse working tree lacks tracked ones, and a partial clone has not fetched the files of
//! every version.

use std::{collections::BTreeSet, path::PathBuf};

use git2::{Index, OdbLookupFlags, Oid};

use super::{Repository, files};
use crate::{
    error::{Context, Exit, Result},
    model::Version,
};

impl Repository {
    /// The tracked files with this name, the nearest to the top first. A sparse working tree may lack them.
    pub fn tracked_files(&self, name: &str) -> Vec<PathBuf> {
        let Ok(index) = self.git().index() else { return Vec::new() };
        let paths = index.iter().map(|entry| files::path_of(&entry));
        let mut found: Vec<PathBuf> = paths.filter(|path| path.ends_with(name)).collect();
        found.sort_by_key(|path| path.components().count());
        found
    }

    /// The remote from which git fetches missing objects on demand, if this is a partial clone.
    pub fn promisor(&self) -> Option<String> {
        let config = self.git().config().ok()?;
        let mut remote = None;
        let entries = config.entries(Some(r"^remote\..*\.promisor$")).ok()?;
        let read = entries.for_each(|entry| {
            let name = entry.name().ok().and_then(|name| name.strip_prefix("remote."));
            let name = name.and_then(|name| name.strip_suffix(".promisor"));
            if entry.value().is_ok_and(|value| value != "false") {
                remote = remote.take().or_else(|| name.map(str::to_owned));
            }
        });
        read.ok().and(remote)
    }

    /// The ids of a version's files that are not in this repository, each once.
    pub fn missing_files(&self, version: &Version) -> Result<Vec<String>> {
        let what = || format!("cannot read the files of {version}");
        let missing = || {
            let (handle, mut index) = (self.bare_handle()?, Index::new()?);
            index.read_tree(&handle.find_tree(Oid::from_str(&version.tree)?)?)?;
            let objects = handle.odb()?;
            let flags = OdbLookupFlags::NO_REFRESH;
            let ids: BTreeSet<Oid> =
                index.iter().filter(|one| !files::is_submodule(one)).map(|one| one.id).collect();
            let missing = ids.into_iter().filter(|id| !objects.exists_ext(*id, flags));
            Ok::<_, git2::Error>(missing.map(|id| id.to_string()).collect())
        };
        missing().context(Exit::Build, what)
    }
}
