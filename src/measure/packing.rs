//! Packs two listed versions for a machine that cannot compile.

use std::{collections::BTreeSet, fs};

use rbench_code::elf::needed_c_library;

use super::{ListedVersion, Runner, trace};
use crate::{
    builds::{PackedBuilds, PackingPlaces},
    error::{Context, Error, Exit, Result},
    model::Strategy,
    pack::PackedFile,
    project::{PackPlaces, Project},
};

impl Runner<'_> {
    /// The files that another machine needs to link and to measure these versions, which are listed and traced, and what
    /// cargo and rustc reported about them.
    pub fn pack(
        &self,
        versions: &[ListedVersion; 2],
        places: &PackPlaces,
    ) -> Result<(Vec<PackedFile>, PackedBuilds)> {
        let benchmarks = versions[1].benchmarks();
        // One build shows whether compiling is reproducible: if it is not, each build needs a compiler.
        let mut seeds = self.first_seeds(versions, &benchmarks);
        seeds.truncate(1);
        for builds in self.link(versions, &benchmarks, seeds)?.versions {
            if builds.strategy == Strategy::Rebuild {
                return Err(Error::new(Exit::Usage, "cannot pack these versions")
                    .cause(format!("each build would have to be compiled: {}", builds.reason))
                    .hint("compare them in a clone: cargo rbench compare BASE HEAD"));
            }
        }
        let PackPlaces { staging, storage } = places;
        let in_pack = Project::storage_in_pack();
        let (mut files, mut compilations) = (Vec::new(), Vec::new());
        for version in versions {
            let (source, compilation) = (version.source(), &version.compilation);
            let rustc = &compilation.record.rustc;
            self.build_env.activate(&compilation.home)?;
            self.build_env.interleaving_library(source, rustc)?;
            self.build_env.counting_library(source, rustc)?;
            self.build_env.allocations_library(source, rustc)?;
            let read = trace::files_read(&compilation.home);
            let places = PackingPlaces { staging, storage, in_pack };
            files.extend(self.build_env.packed_files(source, compilation, &read, &places)?);
            let key = compilation.home.file_name().unwrap_or_default();
            compilations.push((version.version.identity(), key.to_string_lossy().into_owned()));
            let check = compilation.record.reproducibility.as_str();
            files.extend(self.build_env.packed_reproducibility(check, in_pack));
        }
        files.extend(self.build_env.packed_libraries(Project::libraries_in_pack())?);
        // What both versions have is in the pack once.
        let mut seen = BTreeSet::new();
        files.retain(|file| seen.insert(file.path.clone()));
        let mut c_library = None;
        for file in files.iter().filter(|file| file.is_executable) {
            let what = || format!("cannot read {}", file.source.display());
            let bytes = fs::read(&file.source).context(Exit::Build, what)?;
            // Scripts among what is read need no library.
            c_library = c_library.max(needed_c_library(&bytes).unwrap_or_default());
        }
        let environment = self.build_env.identifying_environment();
        let configs = self.build_env.identifying_configs();
        Ok((files, PackedBuilds { compilations, environment, configs, c_library }))
    }
}
