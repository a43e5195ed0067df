//! Packs a project, and opens a project that was packed.

use std::{
    env::consts::ARCH,
    path::{Path, PathBuf},
};

use super::{
    Project,
    packed::{
        EXTRACTED, LIBRARIES_PART, OBJECTS, PackPlaces, PackedProject, SETTINGS, SETTINGS_PART,
        extract, extracted, place_of, prepare, repository_in,
    },
};
use crate::{
    builds::{CacheDirs, Event, Observer, PACKED, PackedBuilds, files},
    config::BenchToml,
    error::Result,
    git::Repository,
    log,
    model::{CompileSettings, TargetFilter, Version},
    pack::{Pack, PackedFile},
};

impl Project {
    /// Compiles, from now on, at the path that a pack of this repository has on every machine.
    pub fn keep_for_packing(&mut self) -> Result<()> {
        let repository = self.repository.identity()?;
        let place = place_of(&repository)?;
        prepare(&place)?;
        let dirs = CacheDirs::for_packing(&place, &repository, &self.workspace, &self.target);
        self.cache_dirs = dirs.into();
        Ok(())
    }

    /// The directories for a pack of this project, which [is kept](Self::keep_for_packing) for it.
    pub fn pack_places(&self) -> Result<PackPlaces> {
        let dirs = self.cache_dirs()?;
        let storage = CacheDirs::of_pack(dirs.outside()).storage().to_owned();
        Ok(PackPlaces { staging: dirs.temporary().join("pack"), storage })
    }

    /// The part of a pack that has the storage of compilations.
    pub fn storage_in_pack() -> &'static Path {
        Path::new(PACKED)
    }

    /// The part of a pack that has the libraries that are preloaded into benchmarks.
    pub fn libraries_in_pack() -> &'static Path {
        Path::new(LIBRARIES_PART)
    }

    /// Describes the project in a pack of these versions.
    pub fn packed_as(
        &self,
        versions: [Version; 2],
        settings: CompileSettings,
        targets: TargetFilter,
        builds: PackedBuilds,
    ) -> Result<PackedProject> {
        let root = self.repository.root();
        Ok(PackedProject {
            rbench: env!("CARGO_PKG_VERSION").to_owned(),
            architecture: ARCH.to_owned(),
            repository: self.repository.identity()?,
            place: self.cache_dirs()?.outside().to_owned(),
            shallow: self.repository.shallow_commits(),
            workspace: self.workspace.strip_prefix(root).unwrap_or(Path::new("")).to_owned(),
            members: self.members.clone(),
            bench_targets: self.bench_targets.clone(),
            packages: self.selected_packages(&targets)?,
            versions,
            settings,
            targets,
            builds,
            digest: None,
        })
    }

    /// The files of the project itself for a pack: settings, and git's objects of the versions.
    pub fn files_for_pack(
        &self,
        versions: &[Version; 2],
        staging: &Path,
    ) -> Result<Vec<PackedFile>> {
        let objects = staging.join("objects");
        self.repository.write_objects(versions, &objects)?;
        let plain = |path: PathBuf, source| PackedFile { path, source, is_executable: false };
        let mut files = vec![plain(OBJECTS.into(), objects)];
        for name in SETTINGS {
            let source = self.workspace.join(name);
            if source.is_file() {
                files.push(plain(Path::new(SETTINGS_PART).join(name), source));
            }
        }
        Ok(files)
    }

    /// The project in the pack `file`, extracted to its place unless it is there already.
    pub fn from_pack(file: &Path, config: &[String], observer: &dyn Observer) -> Result<Self> {
        let pack: Pack<PackedProject> = Pack::open(file)?;
        let about = pack.about().clone();
        let what = || format!("cannot use the pack {}", file.display());
        about.refuse_if_strange(what)?;
        let place = about.place.clone();
        prepare(&place)?;
        log::keep_in(&CacheDirs::run_logs(&place));
        let digest = pack.digest();
        let dirs = CacheDirs::of_pack(&place);
        let lock = dirs.lock(|path| observer.build_event(&Event::Locked(path)))?;
        if extracted(&place) == Some(digest) {
            pack.check()?;
        } else {
            observer.build_event(&Event::Note(&format!(
                "extracting {} MiB to {}",
                pack.size() >> 20,
                place.display()
            )));
            extract(pack, &about)?;
            files::write_json(&place.join(EXTRACTED), &digest)?;
        }
        drop(lock);
        let repository = Repository::discover(&repository_in(&place))?;
        let workspace = repository.root().join(&about.workspace);
        let file = BenchToml::read(&workspace)?.with(config)?;
        let repository = repository.with_variants(file.variants());
        Ok(Self {
            repository,
            file,
            accepted: None,
            manifest: None,
            members: about.members.clone(),
            bench_roots: Vec::new(),
            bench_targets: about.bench_targets.clone(),
            packages: Vec::new(),
            target: place,
            cache_dirs: dirs.into(),
            packed: Some(PackedProject { digest: Some(digest), ..about }),
            workspace,
        })
    }
}
