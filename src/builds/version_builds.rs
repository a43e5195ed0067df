//! Links compilations to builds, either all from one compilation or each from a separate one: the request, and the
//! resulting builds of a version.

use std::{collections::BTreeSet, path::Path};

use rayon::prelude::*;
use rbench_code::elf::{self, Agreement, Digest, FunctionSet};

use super::{
    build_env::{BuildEnv, Source},
    compilation::{Compilation, CompiledTarget, Instance},
    default_link::{self, ListedExecutable},
    link::{Linkable, LinkedBuild, PlacementRules},
};
use crate::{
    error::{Error, Exit, Result},
    model::{BenchTarget, Layout, LayoutSeed, Strategy, TargetFilter},
};

#[derive(Clone, Debug)]
pub struct BuildRequest {
    pub filter: TargetFilter,
    /// The targets to link; all if absent.
    pub only: Option<BTreeSet<BenchTarget>>,
    pub layout: Layout,
    pub strategy: Strategy,
    pub seeds: Vec<LayoutSeed>,
}

#[derive(Clone, Debug)]
pub struct VersionBuilds {
    /// The strategy that was used; never `auto`.
    pub strategy: Strategy,
    pub reason: String,
    /// The compilations: one for all builds, or one for each.
    pub compilations: Vec<Compilation>,
    /// Every bench target with its builds, in the order of the seeds.
    pub targets: Vec<TargetBuilds>,
}

#[derive(Clone, Debug)]
pub struct TargetBuilds {
    pub target: BenchTarget,
    /// The actual layout; another than the requested one if that is impossible.
    pub layout: Layout,
    pub builds: Vec<LinkedBuild>,
}

impl VersionBuilds {
    pub fn target(&self, target: &BenchTarget) -> Option<&TargetBuilds> {
        self.targets.iter().find(|builds| builds.target == *target)
    }

    /// The directory of the compilation that build `index` comes from. It must be the active compilation when the
    /// build is executed.
    pub fn home_of(&self, index: usize) -> &Path {
        let own = self.compilations.get(index).or_else(|| self.compilations.first());
        own.map_or(Path::new(""), |compilation| &compilation.home)
    }

    /// Adds builds, of known or of new bench targets.
    pub(super) fn add(&mut self, linked: Vec<TargetBuilds>) {
        if self.targets.is_empty() {
            self.targets = linked;
            return;
        }
        for (target, linked) in self.targets.iter_mut().zip(linked) {
            target.builds.extend(linked.builds);
        }
    }

    /// True if both have the same bench targets with the same machine code in every build.
    pub fn is_same_machine_code(&self, other: &Self) -> bool {
        let digests = |builds: &Self| -> Vec<_> {
            builds.targets.iter().map(|one| (one.target.clone(), one.digest())).collect()
        };
        digests(self) == digests(other)
    }
}

impl TargetBuilds {
    /// The number of builds that are different programs; this is the number of builds for statistics.
    pub fn distinct(&self) -> usize {
        self.builds.iter().map(|build| build.record.digest).collect::<BTreeSet<_>>().len()
    }

    /// The agreement of each build with the build of another version that has the same seed, about the addresses of
    /// their common functions.
    pub fn agreements(&self, other: &Self) -> Result<Vec<Agreement>> {
        let pairs: Vec<_> = self.builds.iter().zip(&other.builds).collect();
        let agreement = |(own, others): &(&LinkedBuild, &LinkedBuild)| {
            Ok(elf::agreement(&own.placement()?, &others.placement()?))
        };
        pairs.par_iter().map(agreement).collect()
    }

    /// The differences between the rules by which both versions place code, which their layout ignores.
    pub fn other_rules(&self, other: &Self) -> PlacementRules {
        let builds = self.builds.first().zip(other.builds.first());
        builds.map(|(own, other)| own.other_rules(other)).unwrap_or_default()
    }

    /// The agreement between two builds of this version, if there are two.
    pub fn between_seeds(&self) -> Result<Option<Agreement>> {
        let [one, other, ..] = self.builds.as_slice() else { return Ok(None) };
        Ok(Some(elf::agreement(&one.placement()?, &other.placement()?)))
    }

    /// One digest over all builds, in order: equal for two versions if and only if, for every seed, they have the same
    /// machine code at the same addresses.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        for build in &self.builds {
            hasher.update(build.record.digest.as_bytes());
        }
        hasher.finalize().into()
    }
}

pub type Compiled<'a> = (Source<'a>, &'a Compilation);

impl BuildEnv<'_> {
    /// Links the builds of versions from their compilations; only builds that are linked together are comparable.
    /// Compiles versions again, once for each build, only if the strategy requires it.
    ///
    /// May be called again with other seeds. Before executing a build, [`activate`](Self::activate) the compilation
    /// that it [comes from](VersionBuilds::home_of).
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

    /// Returns these builds if compiling is reproducible; otherwise compiles each build separately. If several
    /// versions have the same machine code, the question does not matter, and no compilation is spent on it.
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

    /// Compiles each version once per build, and links each compilation with its own layout.
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
            let mut compilations = versions.iter().map(compile).collect::<Result<Vec<_>>>()?;
            let sources = || versions.iter().map(|(source, _)| *source);
            let compiled: Vec<Compiled<'_>> = sources().zip(&compilations).collect();
            if self.discard_older(&compiled)? {
                compilations = versions.iter().map(compile).collect::<Result<_>>()?;
            }
            let compiled: Vec<Compiled<'_>> = sources().zip(&compilations).collect();
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

    /// Links one build for each seed of every target of each version.
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
        let targets: BTreeSet<BenchTarget> = all.map(|one| one.target.clone()).collect();
        for target in targets {
            let all = versions.iter_mut().flatten();
            let mut own: Vec<&mut Linkable> = all.filter(|one| one.target == target).collect();
            if own.len() > 1 && !Linkable::share_addresses(&mut own) {
                self.warn(&format!(
                    "{target}: the versions have too little code in common for functions to have the same \
                     addresses in all of them; the layout is `same-order`"
                ));
            }
        }
    }

    /// The machine code of each function of every bench target. The compilation becomes the active one.
    pub fn functions(&self, compilation: &Compilation) -> Result<Vec<(BenchTarget, FunctionSet)>> {
        self.activate(&compilation.home)?;
        let functions = |compiled: &CompiledTarget| {
            let recipe = compilation.recipe(compiled)?;
            let set = default_link::function_set(&recipe, &compilation.recipe_home(compiled))?;
            Ok((compiled.target.clone(), set))
        };
        compilation.record.targets.iter().map(functions).collect()
    }

    /// The executable that matches [`functions`](Self::functions) for a bench target. The compilation becomes the
    /// active one.
    pub fn listed_executable(
        &self,
        compilation: &Compilation,
        target: &BenchTarget,
    ) -> Result<ListedExecutable> {
        self.activate(&compilation.home)?;
        let compiled = compilation.record.targets.iter().find(|own| own.target == *target);
        let compiled = compiled
            .ok_or_else(|| Error::new(Exit::Internal, format!("{target} has not been compiled")))?;
        default_link::listed_executable(
            &compilation.recipe(compiled)?,
            &compiled.files,
            &compilation.home,
            &compilation.recipe_home(compiled),
        )
    }

    /// The targets of each version that `only` selects (`None`: all), ready to be linked; `None` if no linker here can
    /// make the layout.
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

    /// The targets with the requested layout, or shuffled if the linkers here can do no more.
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

    /// Links one build for each seed of every target of the active compilation.
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
            Ok(TargetBuilds { target: linkable.target.clone(), layout: linkable.layout, builds })
        });
        linked.collect()
    }
}
