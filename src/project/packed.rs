//! A project that comes from a pack: on a machine without a clone of the repository, without cargo and without a compiler.
//!
//! All that is compiled knows the path at which it was compiled. So a pack has one place, the same on every machine: below
//! [`PLACES`], named by the repository alone. It belongs to the user who extracts the pack, and nobody else but root can
//! write there or in a directory above it. One pack is in it at a time; the store of results stays.

use std::{
    env::consts::ARCH,
    fs::{self, DirBuilder, File},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Component, Path, PathBuf},
};

use rbench_code::elf::Digest;
use serde::{Deserialize, Serialize};

use crate::{
    builds::{CacheDirs, PACKED, PackedBuilds, files},
    config::{AcceptedToml, BenchToml},
    error::{Context, Error, Exit, Result},
    git::Repository,
    model::{BenchTarget, CompileSettings, Members, TargetFilter, Version},
    pack::Pack,
    shell::quoted,
};

/// The variable that replaces [`PLACES`].
const PLACES_VARIABLE: &str = "RBENCH_PACK_DIR";

/// The directory for the places of packs. Root makes it for the user who packs or measures: where everybody may write,
/// somebody else could have the place first, or put configuration beside it while cargo runs.
const PLACES: &str = "/var/lib/cargo-rbench";

/// The files of the workspace that a comparison reads besides those of its versions.
pub(super) const SETTINGS: [&str; 2] = [BenchToml::NAME, AcceptedToml::NAME];

/// The parts of a pack, by the first directory of its files.
pub(super) const SETTINGS_PART: &str = "settings";
pub(super) const LIBRARIES_PART: &str = "preloaded";
pub(super) const OBJECTS: &str = "objects/pack";

/// The digest of the pack that is extracted; without this file, none is completely.
pub(super) const EXTRACTED: &str = "extracted.json";

const STORE: &str = "results.sqlite";

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackedProject {
    /// The version of rbench that packed: another one may link other layouts.
    pub(super) rbench: String,
    pub(super) architecture: String,
    pub(super) repository: String,
    pub(super) place: PathBuf,
    /// The commits whose parents the clone lacks.
    pub(super) shallow: Option<String>,
    pub(super) workspace: PathBuf,
    pub(super) members: Members,
    pub(super) bench_targets: Vec<BenchTarget>,
    /// The selected packages, if others are the default.
    pub(super) packages: Option<String>,
    /// Base and head.
    pub versions: [Version; 2],
    pub settings: CompileSettings,
    pub targets: TargetFilter,
    pub builds: PackedBuilds,
    #[serde(skip)]
    pub(super) digest: Option<Digest>,
}

pub struct PackPlaces {
    pub staging: PathBuf,
    /// Of compilations, on the machine that measures.
    pub storage: PathBuf,
}

impl PackedProject {
    pub(super) fn store(&self) -> PathBuf {
        self.place.join(STORE)
    }

    /// Refuses to go on if another process has extracted another pack here since. The lock must be held.
    pub(super) fn refuse_if_replaced(&self) -> Result<()> {
        if extracted(&self.place) == self.digest {
            return Ok(());
        }
        Err(Error::new(Exit::Usage, "cannot use the pack any longer")
            .cause(format!("another one was extracted to {}", self.place.display()))
            .hint("run the command again"))
    }

    /// Refuses a pack that was not made for this machine and this rbench, or that nobody made.
    pub(super) fn refuse_if_strange(&self, what: impl Fn() -> String) -> Result<()> {
        let refused = |cause: String| Err(Error::new(Exit::Usage, what()).cause(cause));
        let own = env!("CARGO_PKG_VERSION");
        if self.rbench != own {
            return refused(format!("rbench {} wrote it, and this is {own}", self.rbench));
        }
        if self.architecture != ARCH {
            return refused(format!(
                "its programs are for {}, and this is {ARCH}",
                self.architecture
            ));
        }
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_plain = |path: &Path| {
            path.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"))
        };
        let is_version = |version: &Version| {
            let name = version.variant.as_ref().map(|variant| Path::new(&variant.name));
            let ids = [Some(&version.tree), version.commit.as_ref()];
            ids.into_iter().flatten().all(|id| is_hex(id) && matches!(id.len(), 40 | 64))
                && name.is_none_or(|name| name.components().count() == 1 && is_plain(name))
        };
        if self.repository.len() != 16
            || !is_hex(&self.repository)
            || !is_plain(&self.workspace)
            || !self.versions.iter().all(is_version)
        {
            return refused("it names a repository or a version that cannot be".to_owned());
        }
        let place = place_of(&self.repository)?;
        if self.place != place {
            let parent = self.place.parent().unwrap_or(Path::new("/"));
            return Err(Error::new(Exit::Usage, what())
                .cause(format!(
                    "it was compiled at {}, and here it would be at {}",
                    self.place.display(),
                    place.display()
                ))
                .hint(format!("set {PLACES_VARIABLE}={}", quoted(parent))));
        }
        Ok(())
    }
}

pub(super) fn place_of(repository: &str) -> Result<PathBuf> {
    let places = std::env::var_os(PLACES_VARIABLE).filter(|given| !given.is_empty());
    let places = places.map_or_else(|| PLACES.into(), PathBuf::from);
    if !places.is_absolute() {
        let what = format!("cannot use {PLACES_VARIABLE}={}", places.display());
        return Err(Error::new(Exit::Usage, what).cause("it is not an absolute path"));
    }
    Ok(places.join(repository))
}

/// Makes the place of a pack, or checks that it belongs to this user alone, and that only root and this user can change
/// the directories above it: cargo and rustup obey files in each of them.
pub(super) fn prepare(place: &Path) -> Result<()> {
    let parent = place.parent().unwrap_or(Path::new("/"));
    let what = || format!("cannot create the directory {}", parent.display());
    DirBuilder::new().recursive(true).mode(0o755).create(parent).map_err(|error| {
        Error::new(Exit::Usage, what())
            .cause(error.to_string())
            .hint(format!("let root make it once: sudo install -d -o \"$USER\" {}", quoted(parent)))
    })?;
    parent.ancestors().try_for_each(refuse_if_open)?;
    make_private(place)
}

/// Makes a directory of this user alone, or checks that it is one.
fn make_private(place: &Path) -> Result<()> {
    let what = || format!("cannot use {}", place.display());
    match DirBuilder::new().mode(0o700).create(place) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(error).context(Exit::Usage, what);
        }
        _ => {}
    }
    refuse_if_open(place)
}

/// Refuses a directory where another user but root can change entries. A symbolic link would be another path for the
/// compiler, and its target would have other directories above it.
fn refuse_if_open(directory: &Path) -> Result<()> {
    let what = || format!("cannot keep packs in {}", directory.display());
    let found = fs::symlink_metadata(directory).context(Exit::Usage, what)?;
    let is_own = [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
    let cause = match () {
        () if !found.is_dir() => "it is no directory, or a symbolic link",
        () if !is_own => "it belongs to another user",
        () if found.mode() & 0o022 != 0 => "other users may write there",
        () => return Ok(()),
    };
    Err(Error::new(Exit::Usage, what()).cause(cause).hint(format!(
        "set {PLACES_VARIABLE} to a directory that only root and you can change, the same on all machines"
    )))
}

pub(super) fn repository_in(place: &Path) -> PathBuf {
    place.join("repository")
}

/// The digest of the pack that is completely extracted here.
pub(super) fn extracted(place: &Path) -> Option<Digest> {
    files::read_json(&place.join(EXTRACTED))
}

pub(super) fn extract(pack: Pack<PackedProject>, about: &PackedProject) -> Result<()> {
    let place = &about.place;
    let what = || format!("cannot extract the pack to {}", place.display());
    remove_interrupted(place).context(Exit::Usage, what)?;
    files::refuse_if_disk_is_small(pack.size(), place, what)?;
    match fs::remove_file(place.join(EXTRACTED)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).context(Exit::Usage, what);
        }
        _ => {}
    }
    let dirs = CacheDirs::of_pack(place);
    let new = tempfile::Builder::new().prefix(files::UNFINISHED).tempdir_in(place);
    let new = new.context(Exit::Usage, what)?;
    // Before it is known to be whole, nothing of it is at the path where it is used.
    pack.extract(new.path()).map_err(|error| files::or_full_disk(error, place))?;
    for replaced in [
        dirs.storage().to_owned(),
        dirs.preloaded_libraries(),
        repository_in(place),
        dirs.checkouts(),
    ] {
        files::remove_directory(&replaced)?;
    }
    for (part, path) in
        [(PACKED, dirs.storage().to_owned()), (LIBRARIES_PART, dirs.preloaded_libraries())]
    {
        let extracted = new.path().join(part);
        if extracted.is_dir() {
            fs::rename(extracted, path).context(Exit::Usage, what)?;
        }
    }
    let objects = File::open(new.path().join(OBJECTS)).context(Exit::Usage, what)?;
    let head = &about.versions[1];
    let shallow = about.shallow.as_deref();
    let repository = Repository::from_objects(&repository_in(place), objects, head, shallow)?;
    let workspace = repository.root().join(&about.workspace);
    for name in SETTINGS {
        let (settings, path) = (new.path().join(SETTINGS_PART).join(name), workspace.join(name));
        files::create_directory(path.parent().unwrap_or(&workspace))?;
        if settings.is_file() {
            fs::rename(settings, path).context(Exit::Usage, what)?;
        }
    }
    Ok(())
}

/// Removes what a killed process had extracted.
fn remove_interrupted(place: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let is_unfinished = entry.file_name().to_string_lossy().starts_with(files::UNFINISHED);
        if is_unfinished && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn private_directory_is_of_this_user_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        make_private(&path("new")).unwrap();
        assert_eq!(fs::metadata(path("new")).unwrap().permissions().mode() & 0o777, 0o700);
        make_private(&path("new")).unwrap();
        fs::set_permissions(path("new"), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = |name: &str| make_private(&path(name)).unwrap_err().to_string();
        assert!(refused("new").contains("other users may write"));
        symlink(scratch.path(), path("link")).unwrap();
        assert!(refused("link").contains("a symbolic link"));
    }

    #[test]
    fn place_below_an_open_directory_is_refused() {
        // With a sticky bit, too: others may put files beside it.
        let scratch = tempfile::tempdir().unwrap();
        let open = scratch.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
        let error = prepare(&open.join("a/place")).unwrap_err().to_string();
        assert!(error.contains("other users may write there"), "{error}");
        assert!(error.contains(PLACES_VARIABLE), "{error}");
        assert!(!open.join("a/place").exists());
    }

    #[test]
    fn remove_interrupted_leaves_everything_else() {
        let scratch = tempfile::tempdir().unwrap();
        for name in [".tmpAbc/packed", "packed", "repository"] {
            fs::create_dir_all(scratch.path().join(name)).unwrap();
        }
        fs::write(scratch.path().join("results.sqlite"), "").unwrap();
        remove_interrupted(scratch.path()).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["packed", "repository", "results.sqlite"]);
    }
}
