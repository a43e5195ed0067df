//! From compilations to builds: all linked from one compilation, or each from its own.

use super::{
    builds::{BuildRequest, TargetBuilds, VersionBuilds},
    compilation::{Compilation, CompiledTarget, Instance},
    link::Linkable,
    linker::Linker,
    movable,
    workshop::{Source, Workshop},
};
use crate::{
    code::FunctionSet,
    failure::Result,
    model::{BenchTarget, Layout, LayoutSeed, Strategy},
};

impl Workshop<'_> {
    /// Links the builds of a version from its compilation. The version is only compiled again, once
    /// for each build, where the strategy says so.
    ///
    /// May be called again with other seeds. To execute a build, [`activate`](Self::activate) the
    /// compilation that it [comes from](VersionBuilds::home_of).
    pub fn link(
        &self,
        source: Source<'_>,
        compilation: &Compilation,
        request: &BuildRequest,
    ) -> Result<VersionBuilds> {
        let linked = self.link_first(source, compilation, request)?;
        self.check_strategy(source, compilation, request, linked)
    }

    /// The same for versions that are compared, in their order. Where all of them have the same
    /// machine code, it does not matter whether compiling is reproducible, and no compilation is
    /// spent on that question.
    pub fn link_versions(
        &self,
        versions: &[(Source<'_>, &Compilation)],
        request: &BuildRequest,
    ) -> Result<Vec<VersionBuilds>> {
        let mut all = Vec::with_capacity(versions.len());
        for (source, compilation) in versions {
            all.push(self.link_first(*source, compilation, request)?);
        }
        if let [first, rest @ ..] = all.as_slice()
            && !rest.is_empty()
            && rest.iter().all(|other| first.is_same_machine_code(other))
        {
            return Ok(all);
        }
        let linked = versions.iter().zip(all);
        linked
            .map(|((source, compilation), linked)| {
                self.check_strategy(*source, compilation, request, linked)
            })
            .collect()
    }

    /// The builds as far as they can be made without asking whether compiling is reproducible.
    fn link_first(
        &self,
        source: Source<'_>,
        compilation: &Compilation,
        request: &BuildRequest,
    ) -> Result<VersionBuilds> {
        self.activate(&compilation.home)?;
        if request.layout == Layout::Salted {
            return self.compile_each(source, request, Layout::Salted, "requested".to_owned());
        }
        let Some((linkables, layout)) =
            self.linkables_of_some_layout(compilation, request.layout)?
        else {
            let reason = format!("no linker here can make the layout `{}`", request.layout);
            self.warn(&format!(
                "{reason}: every build is compiled with its own salt, which moves few functions"
            ));
            return self.compile_each(source, request, Layout::Salted, reason);
        };
        if request.strategy == Strategy::Rebuild {
            return self.compile_each(source, request, layout, "requested".to_owned());
        }
        let reason = match request.strategy {
            Strategy::Auto => "all versions have the same machine code",
            Strategy::Relink | Strategy::Rebuild => "requested",
        };
        Ok(VersionBuilds {
            strategy: Strategy::Relink,
            reason: reason.to_owned(),
            layout,
            targets: self.link_targets(source, compilation, &linkables, &request.seeds)?,
            compilations: vec![compilation.clone()],
        })
    }

    /// The same builds, or if the strategy is `auto` and compiling turns out not to be reproducible,
    /// others that are compiled one by one.
    fn check_strategy(
        &self,
        source: Source<'_>,
        compilation: &Compilation,
        request: &BuildRequest,
        linked: VersionBuilds,
    ) -> Result<VersionBuilds> {
        if request.strategy != Strategy::Auto || linked.strategy == Strategy::Rebuild {
            return Ok(linked);
        }
        let found = self.reproducibility(source, compilation, request)?;
        if found.is_reproducible {
            return Ok(VersionBuilds { reason: found.reason, ..linked });
        }
        self.compile_each(source, request, linked.layout, found.reason)
    }

    /// The machine code of each function of every bench target of a compilation, which becomes the
    /// active one.
    pub fn functions(&self, compilation: &Compilation) -> Result<Vec<(BenchTarget, FunctionSet)>> {
        self.activate(&compilation.home)?;
        let functions = |compiled: &CompiledTarget| {
            let mut recipe = compilation.recipe(compiled)?;
            recipe.keep_symbols();
            let linker = Linker::of(&recipe)?;
            let home = compilation.recipe_home(compiled);
            let set = movable::function_set(&recipe, &linker, &home)?;
            Ok((compiled.target.clone(), set))
        };
        compilation.record.targets.iter().map(functions).collect()
    }

    /// Every target of the active compilation, ready to be linked; `None` if no linker here can make
    /// the layout.
    pub(super) fn linkables(
        &self,
        compilation: &Compilation,
        layout: Layout,
    ) -> Result<Option<Vec<Linkable>>> {
        let targets = compilation.record.targets.iter();
        let linkables = targets.map(|target| {
            Linkable::prepare(compilation, target, layout, self.observer).transpose()
        });
        linkables.collect::<Option<Result<Vec<_>>>>().transpose()
    }

    /// The targets with the requested layout, else shuffled by a linker that can do no more.
    fn linkables_of_some_layout(
        &self,
        compilation: &Compilation,
        wanted: Layout,
    ) -> Result<Option<(Vec<Linkable>, Layout)>> {
        if let Some(linkables) = self.linkables(compilation, wanted)? {
            return Ok(Some((linkables, wanted)));
        }
        let Some(linkables) = self.linkables(compilation, Layout::Shuffle)? else {
            return Ok(None);
        };
        self.warn(&format!(
            "no linker here can make the layout `{wanted}`; functions are shuffled, and the \
             layouts of the versions are unrelated"
        ));
        Ok(Some((linkables, Layout::Shuffle)))
    }

    /// One build for each seed of every target of the active compilation.
    pub(super) fn link_targets(
        &self,
        source: Source<'_>,
        compilation: &Compilation,
        linkables: &[Linkable],
        seeds: &[LayoutSeed],
    ) -> Result<Vec<TargetBuilds>> {
        let version = source.version.to_string();
        let targets = linkables.iter().zip(&compilation.record.targets);
        let linked = targets.map(|(linkable, compiled)| {
            let (builds, jobs) = (self.site.builds(), self.settings.jobs);
            let builds = linkable.link(&version, seeds, &builds, jobs, self.observer)?;
            Ok(TargetBuilds { target: compiled.target.clone(), builds })
        });
        linked.collect()
    }

    /// As many compilations as builds, each linked with its own layout.
    fn compile_each(
        &self,
        source: Source<'_>,
        request: &BuildRequest,
        layout: Layout,
        reason: String,
    ) -> Result<VersionBuilds> {
        let mut compilations = Vec::with_capacity(request.seeds.len());
        let mut targets: Vec<TargetBuilds> = Vec::new();
        for (number, &seed) in (1..).zip(&request.seeds) {
            let purpose = format!("for build {number} of {}", request.seeds.len());
            let instance = match layout {
                Layout::Salted => Instance::Salted(seed),
                _ => Instance::Again(seed),
            };
            let compilation = self.compile_instance(source, &request.filter, instance, &purpose)?;
            let linkables = self.linkables(&compilation, layout)?.unwrap_or_default();
            let linked = self.link_targets(source, &compilation, &linkables, &[seed])?;
            if targets.is_empty() {
                targets = linked;
            } else {
                for (target, linked) in targets.iter_mut().zip(linked) {
                    target.builds.extend(linked.builds);
                }
            }
            compilations.push(compilation);
        }
        Ok(VersionBuilds { strategy: Strategy::Rebuild, reason, layout, compilations, targets })
    }
}
