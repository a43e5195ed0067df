//! From compilations to builds, all linked from one compilation or each from its own: the request, and the resulting
//! builds of a version.

use std::{collections::BTreeSet, path::Path};

use rayon::prelude::*;

use super::{
    build_env::{BuildEnv, Source},
    compilation::{Compilation, CompiledTarget, Instance},
    default_link::{self, ListedExecutable},
    link::{Linkable, LinkedBuild},
};
use crate::{
    elf::{self, Agreement, Digest, FunctionSet},
    error::{Error, Exit, Result},
    model::{BenchTarget, Layout, LayoutSeed, Strategy, TargetFilter},
};

/// Which builds of a version to make.
#[derive(Clone, Debug)]
pub struct BuildRequest {
    /// Which bench targets, as they were compiled.
    pub filter: TargetFilter,
    /// Which of these are linked; all when absent.
    pub only: Option<BTreeSet<BenchTarget>>,
    /// How functions are arranged.
    pub layout: Layout,
    /// Where builds come from.
    pub strategy: Strategy,
    /// One build for each of these seeds.
    pub seeds: Vec<LayoutSeed>,
}

/// The builds of a version.
#[derive(Clone, Debug)]
pub struct VersionBuilds {
    /// The strategy that was carried out: never `auto`.
    pub strategy: Strategy,
    /// Why this strategy.
    pub reason: String,
    /// The compilations: one for all builds, or one for each.
    pub compilations: Vec<Compilation>,
    /// Every bench target with its builds, in the order of the seeds.
    pub targets: Vec<TargetBuilds>,
}

/// The builds of one bench target.
#[derive(Clone, Debug)]
pub struct TargetBuilds {
    /// The target.
    pub target: BenchTarget,
    /// The layout that was made: another than the requested one where that cannot be made.
    pub layout: Layout,
    /// Its builds, in the order of the seeds.
    pub builds: Vec<LinkedBuild>,
}

impl VersionBuilds {
    /// The builds of a bench target.
    pub fn target(&self, target: &BenchTarget) -> Option<&TargetBuilds> {
        self.targets.iter().find(|builds| builds.target == *target)
    }

    /// The directory of the compilation that build `index` comes from, which must be the active one
    /// when the build is executed.
    pub fn home_of(&self, index: usize) -> &Path {
        let own = self.compilations.get(index).or_else(|| self.compilations.first());
        own.map_or(Path::new(""), |compilation| &compilation.home)
    }

    /// Adds builds, of the bench targets that it has already or of all.
    pub(super) fn add(&mut self, linked: Vec<TargetBuilds>) {
        if self.targets.is_empty() {
            self.targets = linked;
            return;
        }
        for (target, linked) in self.targets.iter_mut().zip(linked) {
            target.builds.extend(linked.builds);
        }
    }

    /// Whether both have the same bench targets with the same machine code in every build.
    pub fn is_same_machine_code(&self, other: &Self) -> bool {
        let digests = |builds: &Self| -> Vec<_> {
            builds.targets.iter().map(|one| (one.target.clone(), one.digest())).collect()
        };
        digests(self) == digests(other)
    }
}

impl TargetBuilds {
    /// How many builds are really different programs: what counts as the number of builds.
    pub fn distinct(&self) -> usize {
        self.builds.iter().map(|build| build.record.digest).collect::<BTreeSet<_>>().len()
    }

    /// How far each build agrees with the one of another version that has the same seed: about the places
    /// of the functions that both have.
    pub fn agreements(&self, other: &Self) -> Result<Vec<Agreement>> {
        let pairs: Vec<_> = self.builds.iter().zip(&other.builds).collect();
        let agreement = |(own, others): &(&LinkedBuild, &LinkedBuild)| {
            Ok(elf::agreement(&own.placement()?, &others.placement()?))
        };
        pairs.par_iter().map(agreement).collect()
    }

    /// How far two builds of this version agree, if there are two.
    pub fn between_seeds(&self) -> Result<Option<Agreement>> {
        let [one, other, ..] = self.builds.as_slice() else { return Ok(None) };
        Ok(Some(elf::agreement(&one.placement()?, &other.placement()?)))
    }

    /// One digest over all builds, in order: equal for two versions if and only if, for every
    /// seed, they are the same machine code at the same places.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        for build in &self.builds {
            hasher.update(build.record.digest.as_bytes());
        }
        hasher.finalize().into()
    }
}

/// A version with its compilation.
pub type Compiled<'a> = (Source<'a>, &'a Compilation);

impl BuildEnv<'_> {
    /// Links the builds of versions from their compilations; those that are linked together can be compared.
    /// Versions are only compiled again, once for each build, where the strategy says so.
    ///
    /// May be called again with other seeds. To execute a build, [`activate`](Self::activate) the
    /// compilation that it [comes from](VersionBuilds::home_of).
    pub fn link(
        &self,
        versions: &[Compiled<'_>],
        request: &BuildRequest,
    ) -> Result<Vec<VersionBuilds>> {
        let salted =
            |reason: String| self.compile_each(versions, request, Layout::Rehashed, &reason);
        if request.layout == Layout::Rehashed {
            return salted("requested".to_owned());
        }
        let Some((layout, linkables)) = self.linkables_of_some_layout(versions, request)? else {
            let reason = format!("no linker here can make the layout `{}`", request.layout);
            self.warn(&format!(
                "{reason}: every build is compiled with its own salt, which moves few functions"
            ));
            return salted(reason);
        };
        match request.strategy {
            Strategy::Rebuild => self.compile_each(versions, request, layout, "requested"),
            Strategy::Relink => self.relink(versions, layout, linkables, request),
            Strategy::Auto => {
                let builds = self.relink(versions, layout, linkables, request)?;
                self.unless_compiling_differs(versions, request, layout, builds)
            }
        }
    }

    /// The same builds, unless compiling turns out not to be reproducible: then others that are compiled one
    /// by one. Where several versions have the same machine code, that does not matter, and no compilation is
    /// spent on the question.
    fn unless_compiling_differs(
        &self,
        versions: &[Compiled<'_>],
        request: &BuildRequest,
        layout: Layout,
        mut builds: Vec<VersionBuilds>,
    ) -> Result<Vec<VersionBuilds>> {
        if let [first, others @ ..] = builds.as_mut_slice()
            && !others.is_empty()
            && others.iter().all(|other| first.is_same_machine_code(other))
        {
            for builds in &mut builds {
                "all versions have the same machine code".clone_into(&mut builds.reason);
            }
            return Ok(builds);
        }
        for ((source, compilation), builds) in versions.iter().zip(&mut builds) {
            let found = self.reproducibility(*source, compilation, request)?;
            if !found.is_reproducible {
                return self.compile_each(versions, request, layout, &found.reason);
            }
            builds.reason = found.reason;
        }
        Ok(builds)
    }

    /// All builds of each version from its one compilation.
    fn relink(
        &self,
        versions: &[Compiled<'_>],
        layout: Layout,
        linkables: Vec<Vec<Linkable>>,
        request: &BuildRequest,
    ) -> Result<Vec<VersionBuilds>> {
        let linked = self.link_together(versions, layout, linkables, &request.seeds)?;
        let builds = versions.iter().zip(linked).map(|((_, compilation), targets)| VersionBuilds {
            strategy: Strategy::Relink,
            reason: "requested".to_owned(),
            targets,
            compilations: vec![(*compilation).clone()],
        });
        Ok(builds.collect())
    }

    /// As many compilations of each version as builds, each linked with its own layout.
    fn compile_each(
        &self,
        versions: &[Compiled<'_>],
        request: &BuildRequest,
        layout: Layout,
        reason: &str,
    ) -> Result<Vec<VersionBuilds>> {
        let none = VersionBuilds {
            strategy: Strategy::Rebuild,
            reason: reason.to_owned(),
            compilations: Vec::new(),
            targets: Vec::new(),
        };
        let mut all = vec![none; versions.len()];
        for (number, &seed) in (1..).zip(&request.seeds) {
            let purpose = format!("for build {number} of {}", request.seeds.len());
            let instance = match layout {
                Layout::Rehashed => Instance::Salted(seed),
                _ => Instance::Again(seed),
            };
            let compile = |(source, _): &Compiled<'_>| {
                self.compile_instance(*source, &request.filter, instance, &purpose)
            };
            let compilations = versions.iter().map(compile).collect::<Result<Vec<_>>>()?;
            let sources = versions.iter().map(|(source, _)| *source);
            let compiled: Vec<Compiled<'_>> = sources.zip(&compilations).collect();
            let wanted = request.only.as_ref();
            let linkables = self.linkables(&compiled, layout, wanted)?.unwrap_or_default();
            let linked = self.link_together(&compiled, layout, linkables, &[seed])?;
            for ((builds, compilation), targets) in all.iter_mut().zip(compilations).zip(linked) {
                builds.compilations.push(compilation);
                builds.add(targets);
            }
        }
        Ok(all)
    }

    /// One build for each seed of every target of each version.
    pub(super) fn link_together(
        &self,
        versions: &[Compiled<'_>],
        layout: Layout,
        mut linkables: Vec<Vec<Linkable>>,
        seeds: &[LayoutSeed],
    ) -> Result<Vec<Vec<TargetBuilds>>> {
        if layout == Layout::SameAddress {
            self.share_addresses(&mut linkables);
        }
        let mut linked = Vec::with_capacity(versions.len());
        for ((source, compilation), linkables) in versions.iter().zip(&linkables) {
            self.activate(&compilation.home)?;
            linked.push(self.link_targets(*source, linkables, seeds)?);
        }
        Ok(linked)
    }

    /// Gives the functions of each bench target the same addresses in all versions that have the target.
    fn share_addresses(&self, versions: &mut [Vec<Linkable>]) {
        let all = versions.iter().flatten();
        let targets: BTreeSet<BenchTarget> = all.map(|one| one.target().clone()).collect();
        for target in targets {
            let all = versions.iter_mut().flatten();
            let mut own: Vec<&mut Linkable> = all.filter(|one| *one.target() == target).collect();
            if own.len() > 1 && !Linkable::share_addresses(&mut own) {
                self.warn(&format!(
                    "{target}: the versions have too little code in common for functions to have the same \
                     addresses in all of them; the layout is `matched`"
                ));
            }
        }
    }

    /// The machine code of each function of every bench target of a compilation, which becomes the
    /// active one.
    pub fn functions(&self, compilation: &Compilation) -> Result<Vec<(BenchTarget, FunctionSet)>> {
        self.activate(&compilation.home)?;
        let functions = |compiled: &CompiledTarget| {
            let mut recipe = compilation.recipe(compiled)?;
            recipe.keep_symbols();
            let set = default_link::function_set(&recipe, &compilation.recipe_home(compiled))?;
            Ok((compiled.target.clone(), set))
        };
        compilation.record.targets.iter().map(functions).collect()
    }

    /// The executable of a bench target whose functions [`functions`](Self::functions) has; its compilation
    /// becomes the active one.
    pub fn listed_executable(
        &self,
        compilation: &Compilation,
        target: &BenchTarget,
    ) -> Result<ListedExecutable> {
        self.activate(&compilation.home)?;
        let compiled = compilation.record.targets.iter().find(|own| own.target == *target);
        let compiled = compiled
            .ok_or_else(|| Error::new(Exit::Internal, format!("{target} has not been compiled")))?;
        let mut recipe = compilation.recipe(compiled)?;
        recipe.keep_symbols();
        default_link::listed_executable(&recipe, &compilation.recipe_home(compiled))
    }

    /// The wanted targets of each version, all if none are named, ready to be linked; `None` if no linker here
    /// can make the layout.
    pub(super) fn linkables(
        &self,
        versions: &[Compiled<'_>],
        layout: Layout,
        wanted: Option<&BTreeSet<BenchTarget>>,
    ) -> Result<Option<Vec<Vec<Linkable>>>> {
        let mut all = Vec::with_capacity(versions.len());
        for (_, compilation) in versions {
            self.activate(&compilation.home)?;
            let is_wanted =
                |one: &&CompiledTarget| wanted.is_none_or(|wanted| wanted.contains(&one.target));
            let targets = compilation.record.targets.iter().filter(is_wanted);
            let linkables = targets.map(|target| {
                Linkable::prepare(compilation, target, layout, self.observer).transpose()
            });
            match linkables.collect::<Option<Result<Vec<_>>>>().transpose()? {
                Some(linkables) => all.push(linkables),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// The targets with the requested layout, else shuffled by a linker that can do no more.
    fn linkables_of_some_layout(
        &self,
        versions: &[Compiled<'_>],
        request: &BuildRequest,
    ) -> Result<Option<(Layout, Vec<Vec<Linkable>>)>> {
        let (wanted, only) = (request.layout, request.only.as_ref());
        if let Some(linkables) = self.linkables(versions, wanted, only)? {
            return Ok(Some((wanted, linkables)));
        }
        let Some(linkables) = self.linkables(versions, Layout::Shuffled, only)? else {
            return Ok(None);
        };
        self.warn(&format!(
            "no linker here can make the layout `{wanted}`; functions are shuffled, and the \
             layouts of the versions are unrelated"
        ));
        Ok(Some((Layout::Shuffled, linkables)))
    }

    /// One build for each seed of every target of the active compilation.
    fn link_targets(
        &self,
        source: Source<'_>,
        linkables: &[Linkable],
        seeds: &[LayoutSeed],
    ) -> Result<Vec<TargetBuilds>> {
        let version = source.version.to_string();
        let linked = linkables.iter().map(|linkable| {
            let (builds, jobs) = (self.cache_dirs.builds(), self.settings.jobs);
            let builds = linkable.link(&version, seeds, &builds, jobs, self.observer)?;
            let (target, layout) = (linkable.target().clone(), linkable.layout());
            Ok(TargetBuilds { target, layout, builds })
        });
        linked.collect()
    }
}
