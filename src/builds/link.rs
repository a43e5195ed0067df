//! Links the builds of a bench target from its recipe, one per layout seed, in parallel.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use rayon::prelude::*;
use rbench_code::elf::{Digest, Placement};
use serde::{Deserialize, Serialize};

use super::{
    build_env::{Event, Observer},
    clean,
    compilation::{Compilation, CompiledTarget},
    files, inputs,
    key::KeyMaker,
    layout::{self, Plan},
    linker::Linker,
    placeable::{self, PlaceableFunction, PlaceableFunctions},
    recipe::Recipe,
    tool,
};
use crate::{
    error::{Context, Exit, Result},
    model::{BenchTarget, Layout, LayoutSeed},
    process::sandbox::Task,
};

/// Raise this when the same seed gives another layout, or a build another digest.
const LAYOUT_VERSION: &str = "layout v4";

/// The description of a complete build. It is written last, so its presence marks completeness.
const RECORD: &str = "build.json";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedBuild {
    pub seed: LayoutSeed,
    pub executable: PathBuf,
    pub record: BuildRecord,
    /// True if it was linked by this process.
    pub fresh: bool,
    /// The functions that the layout places by name, if it does.
    placeable: Option<Arc<PlaceableFunctions>>,
    /// The options of the link, without those of the layout.
    options: Arc<[String]>,
}

/// The differences between two versions in the rules by which a linker places code. A layout that places functions by
/// their names puts its own rules in their place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacementRules {
    /// The number of functions with another alignment, or in another group of sections.
    pub functions: usize,
    /// True if link options that may place code differ.
    pub options: bool,
}

impl LinkedBuild {
    /// The rules of the other version's link that its layout ignores.
    pub fn other_rules(&self, other: &Self) -> PlacementRules {
        let (Some(own), Some(others)) = (&self.placeable, &other.placeable) else {
            return PlacementRules::default();
        };
        let functions = layout::placed_by_other_rules(own, others);
        let placing = |options: &[String]| -> Vec<String> {
            options.iter().filter(|option| inputs::places_code(option)).cloned().collect()
        };
        PlacementRules { functions, options: placing(&self.options) != placing(&other.options) }
    }

    pub fn placement(&self) -> Result<Placement> {
        let what = || format!("cannot read {}", self.executable.display());
        let bytes = fs::read(&self.executable).context(Exit::Build, what)?;
        let placement = Placement::read(&bytes).context(Exit::Build, what)?;
        let placeable =
            self.placeable.iter().flat_map(|placeable| &placeable.functions).enumerate();
        let known: HashMap<&str, (usize, &PlaceableFunction)> =
            placeable.map(|(order, function)| (&*function.symbol, (order, function))).collect();
        Ok(placement.identified(|placed| {
            if let Some((order, function)) = known.get(&*placed.symbol) {
                placed.order = *order;
                placed.name = function.name.clone();
                placed.instance.clone_from(&function.instance);
                placed.code = function.code;
            }
        }))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// The digest of its loadable sections, and of its compilation's shared libraries.
    pub digest: Digest,
    /// The digest of the whole file, to detect damage.
    file: Digest,
    /// The size of the file in bytes.
    pub size: u64,
    pub microseconds: u64,
}

impl BuildRecord {
    pub fn took(&self) -> Duration {
        Duration::from_micros(self.microseconds)
    }
}

/// A bench target that is ready to be linked with any layout.
#[derive(Debug)]
pub struct Linkable {
    pub target: BenchTarget,
    recipe: Recipe,
    linker: Linker,
    pub layout: Layout,
    /// The functions that the layout places by name, if it does.
    placeable: Option<Arc<PlaceableFunctions>>,
    options: Arc<[String]>,
    plan: Plan,
    /// The digest of its compilation's shared libraries, if there are any.
    loaded_at_start: Option<Digest>,
    /// The hash of everything except the layout and the seed.
    family: String,
}

impl Linkable {
    /// Prepares a target of the active compilation; `None` if no linker here can make the layout.
    pub fn prepare(
        compilation: &Compilation,
        target: &CompiledTarget,
        layout: Layout,
        observer: &dyn Observer,
    ) -> Result<Option<Self>> {
        let mut recipe = compilation.recipe(target)?;
        let options = inputs::options(&recipe, &target.files, &compilation.home).into();
        let sysroot = &compilation.record.sysroot;
        let Some(linker) = Linker::for_layout(&recipe, layout, sysroot)? else { return Ok(None) };
        if !linker.is_the_users() {
            observer.build_event(&Event::Note(&format!(
                "{}: your linker cannot make the layout `{layout}`; linking with {}",
                target.target, linker.version
            )));
        }
        let mut maker = KeyMaker::new(LAYOUT_VERSION);
        maker.add("inputs", target.inputs.as_bytes());
        maker.add("rustc", compilation.record.rustc.as_bytes());
        maker.add("linker", linker.version.as_bytes());
        maker.add("programs", compilation.record.conditions.linking().as_bytes());
        // Cargo's hash in the name contains the package's version, so equal inputs may have different names.
        maker.add("executable", recipe.output.file_name().unwrap_or_default().as_encoded_bytes());
        let family = maker.key();
        let home = compilation.recipe_home(target);
        let placeable = match layout {
            Layout::SameAddress | Layout::SameOrder | Layout::Aligned => {
                Some(Arc::new(placeable::placeable_functions(&mut recipe, &linker, &home)?))
            }
            Layout::Shuffled | Layout::Padded | Layout::Default | Layout::Rehashed => None,
        };
        let plan = placeable.as_deref().map(layout::plan).unwrap_or_default();
        // Equal addresses need another version; a version alone gets the same order.
        let layout = if layout == Layout::SameAddress { Layout::SameOrder } else { layout };
        let loaded_at_start = inputs::loaded_at_start(&target.files);
        let target = target.target.clone();
        Ok(Some(Self {
            target,
            recipe,
            linker,
            layout,
            placeable,
            options,
            plan,
            loaded_at_start,
            family,
        }))
    }

    /// Gives the functions of one bench target the same addresses in several versions. Returns false if that is
    /// impossible because the versions have too little in common.
    pub fn share_addresses(versions: &mut [&mut Self]) -> bool {
        let placeable: Option<Vec<_>> =
            versions.iter().map(|one| one.placeable.as_deref()).collect();
        let Some(plans) = placeable.and_then(|all| layout::plan_together(&all)) else {
            return false;
        };
        for (version, plan) in versions.iter_mut().zip(plans) {
            let mut maker = KeyMaker::new("same-address");
            maker.add("alone", version.family.as_bytes()).add("plan", plan.key().as_bytes());
            version.family = maker.key();
            (version.layout, version.plan) = (Layout::SameAddress, plan);
        }
        true
    }

    /// Links one build for each seed, `jobs` at a time (`None`: one per core), or finds it in the cache. The builds
    /// are in the order of the seeds. `version` is for the observer.
    pub fn link(
        &self,
        version: &str,
        seeds: &[LayoutSeed],
        builds: &Path,
        jobs: Option<u32>,
        observer: &dyn Observer,
    ) -> Result<Vec<LinkedBuild>> {
        files::create_directory(builds)?;
        if let (Layout::Default, [first, ..]) = (self.layout, seeds) {
            // One program serves all seeds: it is linked once, and never by two threads at the same time.
            let build = match self.find(*first, builds) {
                Some(found) => found,
                None => self.make(*first, builds)?,
            };
            return Ok(seeds.iter().map(|&seed| LinkedBuild { seed, ..build.clone() }).collect());
        }
        let threads = jobs.map_or(0, |jobs| jobs as usize);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .context(Exit::Internal, || "cannot start threads for linking")?;
        let done = AtomicUsize::new(0);
        pool.install(|| {
            let found: Vec<_> = seeds.par_iter().map(|seed| self.find(*seed, builds)).collect();
            let of = found.iter().filter(|found| found.is_none()).count();
            let linked = |done| {
                let target = &self.target;
                observer.build_event(&Event::Linked { target, version, done, of });
            };
            if of > 0 {
                linked(0);
            }
            let make = |seed: LayoutSeed| {
                let build = self.make(seed, builds)?;
                linked(done.fetch_add(1, Ordering::Relaxed) + 1);
                Ok(build)
            };
            let pairs = found.into_par_iter().zip(seeds);
            pairs.map(|(found, &seed)| found.map_or_else(|| make(seed), Ok)).collect()
        })
    }

    fn home(&self, seed: LayoutSeed, builds: &Path) -> PathBuf {
        let mut maker = KeyMaker::new("build");
        maker.add("family", self.family.as_bytes());
        maker.add("layout", self.layout.to_string().as_bytes());
        if self.layout != Layout::Default {
            maker.add("seed", &seed.get().to_le_bytes());
        }
        builds.join(maker.key())
    }

    fn executable(&self, home: &Path) -> PathBuf {
        home.join(self.recipe.output.file_name().unwrap_or_default())
    }

    fn find(&self, seed: LayoutSeed, builds: &Path) -> Option<LinkedBuild> {
        let home = self.home(seed, builds);
        let executable = self.executable(&home);
        let record = undamaged(&home, &executable)?;
        clean::mark_used(&home);
        Some(self.linked(seed, executable, record, false))
    }

    fn linked(
        &self,
        seed: LayoutSeed,
        executable: PathBuf,
        record: BuildRecord,
        fresh: bool,
    ) -> LinkedBuild {
        let (placeable, options) = (self.placeable.clone(), Arc::clone(&self.options));
        LinkedBuild { seed, executable, record, fresh, placeable, options }
    }

    fn make(&self, seed: LayoutSeed, builds: &Path) -> Result<LinkedBuild> {
        let home = self.home(seed, builds);
        files::remove_directory(&home)?;
        files::create_directory(&home)?;
        let executable = self.executable(&home);
        let record = self.link_one(seed, &executable)?;
        files::write_json(&home.join(RECORD), &record)?;
        Ok(self.linked(seed, executable, record, true))
    }

    fn link_one(&self, seed: LayoutSeed, executable: &Path) -> Result<BuildRecord> {
        let what =
            || format!("cannot link {} with layout seed {seed}", self.recipe.output.display());
        let start = Instant::now();
        let arrangement = layout::arrange(self.linker.family, self.layout, seed, &self.plan)
            .context(Exit::Internal, what)?;
        // The files go into the build's own directory, so that leftovers of a killed run vanish when the build is made
        // again.
        let directory = executable.with_file_name("arrangement");
        files::create_directory(&directory)?;
        for (name, contents) in &arrangement.files {
            fs::write(directory.join(name), contents).context(Exit::Build, what)?;
        }
        let arguments = self.linker.arguments(&arrangement, &directory);
        let mut command = self.recipe.command(&arguments, executable);
        let home = executable.parent().unwrap_or(Path::new(""));
        tool::run(&mut command, Task::Link(home), what).map_err(|error| {
            let error = files::or_full_disk(error, executable);
            match self.layout {
                // The layout gives sections addresses, which may conflict with a linker script of the project.
                Layout::SameAddress => error.hint("if it links with --layout same-order, use that"),
                _ => error,
            }
        })?;
        let took = start.elapsed();
        files::remove_directory(&directory)?;
        let bytes = fs::read(executable).context(Exit::Build, what)?;
        Ok(BuildRecord {
            digest: inputs::program_digest(&bytes, self.loaded_at_start)
                .context(Exit::Build, what)?,
            file: Digest::compute(&bytes),
            size: bytes.len() as u64,
            microseconds: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        })
    }
}

fn undamaged(home: &Path, executable: &Path) -> Option<BuildRecord> {
    let record: BuildRecord = files::read_json(&home.join(RECORD))?;
    let bytes = fs::read(executable).ok()?;
    (Digest::compute(&bytes) == record.file).then_some(record)
}
