//! From a version to its builds: which compilations are made, and which of them each build is
//! linked from.

use std::{collections::BTreeSet, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    compilation::{Compilation, CompiledTarget, Instance},
    event::Event,
    files, gc, inputs,
    link::{Build, Linkable},
    linker::Linker,
    movable,
    workshop::{Source, Workshop},
};
use crate::{
    code::{Digest, FunctionSet},
    failure::Result,
    model::{BenchTarget, Layout, LayoutSeed, Strategy, TargetFilter},
};

/// What is asked for: the builds of some bench targets.
#[derive(Clone, Debug)]
pub struct Order {
    /// Which bench targets.
    pub filter: TargetFilter,
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
    /// The layout that was made: another than was asked for where no linker can make that one.
    pub layout: Layout,
    /// The compilations, the first of which is what everything is linked from by `relink`.
    pub compilations: Vec<Compilation>,
    /// Every bench target with its builds, in the order of the seeds.
    pub targets: Vec<TargetBuilds>,
}

/// The builds of one bench target.
#[derive(Clone, Debug)]
pub struct TargetBuilds {
    /// The target.
    pub target: BenchTarget,
    /// Its builds, in the order of the seeds.
    pub builds: Vec<Build>,
}

impl VersionBuilds {
    /// The builds of a bench target.
    pub fn target(&self, target: &BenchTarget) -> Option<&TargetBuilds> {
        self.targets.iter().find(|builds| builds.target == *target)
    }

    /// The compilation that build `index` comes from, to be entered before it is executed.
    pub fn home_of(&self, index: usize) -> &Path {
        let own = self.compilations.get(index).or_else(|| self.compilations.first());
        own.map_or(Path::new(""), |compilation| &compilation.home)
    }
}

impl TargetBuilds {
    /// How many builds are really different programs: what counts as the number of builds.
    pub fn distinct(&self) -> usize {
        self.builds.iter().map(|build| build.record.digest).collect::<BTreeSet<_>>().len()
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

/// Whether compiling twice gives the same program here, as found out once.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reproducibility {
    /// The link inputs that differed, by file name; none if nothing that is loaded did.
    differing: Vec<String>,
}

impl Workshop<'_> {
    /// Makes the builds of a version.
    pub fn build(&self, source: Source<'_>, order: &Order) -> Result<VersionBuilds> {
        let first = self.compile(source, &order.filter, Instance::default())?;
        let Some((linkables, layout)) = self.linkables_of_some_layout(&first, order.layout)? else {
            return self.rebuild_salted(source, order);
        };
        let order = &Order { layout, ..order.clone() };
        let (strategy, reason) = self.decide(source, order, &first)?;
        match strategy {
            Strategy::Auto | Strategy::Relink => {
                let targets = self.link_all(&first, &linkables, &order.seeds)?;
                Ok(VersionBuilds { strategy, reason, layout, compilations: vec![first], targets })
            }
            Strategy::Rebuild => self.rebuild(source, order, reason),
        }
    }

    /// The machine code of each function of every bench target of a version.
    pub fn functions(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
    ) -> Result<Vec<(BenchTarget, FunctionSet)>> {
        let compilation = self.compile(source, filter, Instance::default())?;
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

    /// Every target of a compilation, ready to be linked; `None` if no linker here can.
    fn linkables(
        &self,
        compilation: &Compilation,
        layout: Layout,
    ) -> Result<Option<Vec<Linkable>>> {
        let prepare = |target: &CompiledTarget| {
            Linkable::prepare(compilation, target, layout, self.watch).transpose()
        };
        let linkables: Vec<_> = compilation.record.targets.iter().map_while(prepare).collect();
        if linkables.len() < compilation.record.targets.len() && linkables.iter().all(Result::is_ok)
        {
            return Ok(None);
        }
        linkables.into_iter().collect::<Result<Vec<_>>>().map(Some)
    }

    /// The targets with the layout asked for, else shuffled by a linker that can do no more.
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
        (self.watch)(Event::Warning(&format!(
            "no linker here can make the layout `{wanted}`; functions are shuffled, and layouts of \
             versions are unrelated"
        )));
        Ok(Some((linkables, Layout::Shuffle)))
    }

    /// One build for each seed of every target of the compilation that has been entered.
    fn link_all(
        &self,
        compilation: &Compilation,
        linkables: &[Linkable],
        seeds: &[LayoutSeed],
    ) -> Result<Vec<TargetBuilds>> {
        let targets = linkables.iter().zip(&compilation.record.targets);
        let linked = targets.map(|(linkable, compiled)| {
            let builds = self.link(linkable, seeds)?;
            Ok(TargetBuilds { target: compiled.target.clone(), builds })
        });
        linked.collect()
    }

    fn link(&self, linkable: &Linkable, seeds: &[LayoutSeed]) -> Result<Vec<Build>> {
        linkable.link(seeds, &self.site.builds(), self.settings.jobs, self.watch)
    }

    fn decide(
        &self,
        source: Source<'_>,
        order: &Order,
        first: &Compilation,
    ) -> Result<(Strategy, String)> {
        if order.strategy != Strategy::Auto {
            return Ok((order.strategy, "asked for".to_owned()));
        }
        let memory = self.site.reproducibility(&first.record.reproducibility);
        let remembered = files::read_json::<Reproducibility>(&memory);
        let (known, when) = if let Some(known) = remembered {
            gc::mark_used(&memory);
            (known, "found out before")
        } else {
            let found = self.compile_again_and_compare(source, order, first)?;
            files::write_json(&memory, &found)?;
            (found, "found out just now")
        };
        // Comparing entered another compilation.
        self.enter(&first.home)?;
        let [one, rest @ ..] = known.differing.as_slice() else {
            let same = "compiling is reproducible with this toolchain and lock file";
            return Ok((Strategy::Relink, format!("{same} ({when})")));
        };
        let more = match rest.len() {
            0 => String::new(),
            more => format!(" and {more} more link inputs"),
        };
        let reason = format!("two compilations of the same files differ in {one}{more} ({when})");
        (self.watch)(Event::Note(&format!(
            "{}: {reason}, so each of the {} builds is compiled by itself",
            source.version,
            order.seeds.len()
        )));
        Ok((Strategy::Rebuild, reason))
    }

    fn compile_again_and_compare(
        &self,
        source: Source<'_>,
        order: &Order,
        first: &Compilation,
    ) -> Result<Reproducibility> {
        let second = self.compile(source, &order.filter, Instance { index: 1, salt: None })?;
        let pairs = first.record.targets.iter().zip(&second.record.targets);
        let mut differing: BTreeSet<String> = BTreeSet::new();
        for (one, other) in pairs {
            if one.inputs != other.inputs {
                differing.extend(inputs::differing(&one.files, &other.files));
                if differing.is_empty() {
                    differing.insert(format!("the linker's arguments for {}", one.target));
                }
            }
        }
        // Debug information names the directory that a C compiler was started in, for one.
        if !differing.is_empty() {
            let programs = self.natural_digests(first)?;
            if programs.is_some() && programs == self.natural_digests(&second)? {
                differing.clear();
            }
        }
        if differing.is_empty() {
            files::remove_directory(&second.home)?;
        }
        Ok(Reproducibility { differing: differing.into_iter().collect() })
    }

    /// What is loaded of each target of a compilation, linked in the order that it was compiled in.
    fn natural_digests(&self, compilation: &Compilation) -> Result<Option<Vec<Digest>>> {
        self.enter(&compilation.home)?;
        let Some(linkables) = self.linkables(compilation, Layout::Natural)? else {
            return Ok(None);
        };
        let targets = self.link_all(compilation, &linkables, &LayoutSeed::list(0, 1))?;
        Ok(Some(targets.iter().map(TargetBuilds::digest).collect()))
    }

    /// As many compilations as builds, each linked with its own layout.
    fn rebuild(&self, source: Source<'_>, order: &Order, reason: String) -> Result<VersionBuilds> {
        self.compile_each(source, order, reason, order.layout, |_| None)
    }

    /// The last resort, where no linker can arrange functions: other hashes in the symbols make the
    /// compiler put the crate's own functions into another order.
    fn rebuild_salted(&self, source: Source<'_>, order: &Order) -> Result<VersionBuilds> {
        let reason = format!("no linker here can make the layout `{}`", order.layout);
        (self.watch)(Event::Warning(&format!(
            "{reason}: every build is compiled with a salt of its own, which moves few functions"
        )));
        self.compile_each(source, order, reason, Layout::Natural, Some)
    }

    fn compile_each(
        &self,
        source: Source<'_>,
        order: &Order,
        reason: String,
        layout: Layout,
        salt: impl Fn(LayoutSeed) -> Option<LayoutSeed>,
    ) -> Result<VersionBuilds> {
        let mut compilations = Vec::with_capacity(order.seeds.len());
        let mut targets: Vec<TargetBuilds> = Vec::new();
        for (index, &seed) in (0..).zip(&order.seeds) {
            let instance = Instance { index, salt: salt(seed) };
            let compilation = self.compile(source, &order.filter, instance)?;
            let linkables = self.linkables(&compilation, layout)?.unwrap_or_default();
            for (place, linkable) in linkables.iter().enumerate() {
                let builds = self.link(linkable, &[seed])?;
                match targets.get_mut(place) {
                    Some(target) => target.builds.extend(builds),
                    None => targets.push(TargetBuilds {
                        target: compilation.record.targets[place].target.clone(),
                        builds,
                    }),
                }
            }
            compilations.push(compilation);
        }
        Ok(VersionBuilds { strategy: Strategy::Rebuild, reason, layout, compilations, targets })
    }
}
