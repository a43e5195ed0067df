//! The report of `build`: what was made of each version, and how far the versions agree.

use std::{collections::BTreeSet, time::Duration};

use serde::Serialize;

use super::quantity;
use crate::{
    build::{TargetBuilds, VersionBuilds},
    code::{Agreement, Digest},
    model::{BenchTarget, Layout, Strategy, Version},
};

/// The version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// All that `build` has to say.
#[derive(Clone, Debug, Serialize)]
pub struct BuildReport {
    schema_version: u32,
    /// How functions are arranged.
    layout: Layout,
    /// The seed that all layout seeds are drawn from.
    seed: u64,
    /// Each version, in the order asked.
    versions: Vec<VersionReport>,
    /// How far consecutive versions agree.
    agreements: Vec<TargetAgreement>,
}

/// One version.
#[derive(Clone, Debug, Serialize)]
pub struct VersionReport {
    version: Version,
    strategy: Strategy,
    reason: String,
    /// The layout that was made: another than asked where no linker can make that one.
    layout: Layout,
    /// Whether anything was compiled just now.
    compiled: bool,
    /// How long cargo ran for the first compilation, whenever that was.
    compile_seconds: f64,
    /// How many compilations the builds come from.
    compilations: usize,
    targets: Vec<TargetReport>,
}

#[derive(Clone, Debug, Serialize)]
struct TargetReport {
    package: String,
    target: String,
    /// How many builds were asked for.
    builds: usize,
    /// How many of them are different programs.
    distinct: usize,
    /// One digest over all builds: equal for versions with the same machine code.
    digest: Digest,
    each: Vec<BuildLine>,
}

#[derive(Clone, Debug, Serialize)]
struct BuildLine {
    seed: u32,
    digest: Digest,
    size_bytes: u64,
    link_seconds: f64,
    /// Whether it was linked just now.
    fresh: bool,
    executable: String,
}

/// How far the builds of two versions have the same layouts, over all builds of a bench target.
#[derive(Clone, Debug, Serialize)]
pub struct TargetAgreement {
    base: String,
    head: String,
    package: String,
    target: String,
    /// Whether all builds are the same machine code at the same places.
    identical: bool,
    /// Functions that both versions have.
    common: usize,
    /// The smallest share, over the builds, of common functions with the same address modulo 64.
    same_phase: f64,
    /// The smallest share, over the builds, of common functions in the same order.
    same_order: f64,
    /// The share of functions with the same address modulo 64 in two builds of one version, for
    /// comparison.
    same_phase_between_seeds: Option<f64>,
}

impl BuildReport {
    /// The report of these versions.
    pub fn new(
        layout: Layout,
        seed: u64,
        versions: Vec<VersionReport>,
        agreements: Vec<TargetAgreement>,
    ) -> Self {
        Self { schema_version: SCHEMA_VERSION, layout, seed, versions, agreements }
    }

    /// For programs.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for version in &self.versions {
            version.write(&mut text);
        }
        for agreement in &self.agreements {
            agreement.write(&mut text);
        }
        text
    }
}

impl VersionReport {
    /// The report of one version.
    pub fn new(version: &Version, builds: &VersionBuilds) -> Self {
        let first = builds.compilations.first();
        Self {
            version: version.clone(),
            strategy: builds.strategy,
            reason: builds.reason.clone(),
            layout: builds.layout,
            compiled: builds.compilations.iter().any(|compilation| compilation.fresh),
            compile_seconds: first.map_or(0.0, |first| first.record.took().as_secs_f64()),
            compilations: builds.compilations.len(),
            targets: builds.targets.iter().map(TargetReport::new).collect(),
        }
    }

    fn write(&self, text: &mut String) {
        let cached = if self.compiled { "" } else { ", from before" };
        let times = if self.compilations > 1 {
            format!("{} × ", self.compilations)
        } else {
            String::new()
        };
        *text += &format!(
            "{}: {}: {}\n  compiled in {times}{}{cached}\n",
            self.version,
            self.strategy,
            self.reason,
            quantity::duration(Duration::from_secs_f64(self.compile_seconds)),
        );
        for target in &self.targets {
            target.write(text);
        }
    }
}

impl TargetReport {
    fn new(target: &TargetBuilds) -> Self {
        let BenchTarget { package, target: name } = target.target.clone();
        Self {
            package,
            target: name,
            builds: target.builds.len(),
            distinct: target.distinct(),
            digest: target.digest(),
            each: target
                .builds
                .iter()
                .map(|build| BuildLine {
                    seed: build.seed.get(),
                    digest: build.record.digest,
                    size_bytes: build.record.size,
                    link_seconds: build.record.took().as_secs_f64(),
                    fresh: build.fresh,
                    executable: build.executable.display().to_string(),
                })
                .collect(),
        }
    }

    fn write(&self, text: &mut String) {
        let linked = self.each.iter().filter(|build| build.fresh).count();
        let mean = |value: fn(&BuildLine) -> f64| {
            self.each.iter().map(value).sum::<f64>() / self.each.len().max(1) as f64
        };
        let size = self.each.iter().map(|build| build.size_bytes).max().unwrap_or(0);
        *text += &format!(
            "  {}/{}: {} of {} builds distinct, {} per link ({linked} linked now), {}, digest {}\n",
            self.package,
            self.target,
            self.distinct,
            self.builds,
            quantity::duration(Duration::from_secs_f64(mean(|build| build.link_seconds))),
            quantity::bytes(size),
            self.digest.short(),
        );
        if self.distinct < self.builds {
            *text += &format!(
                "    warning: only {} of {} builds differ; only they count as builds\n",
                self.distinct, self.builds
            );
        }
    }
}

impl TargetAgreement {
    /// The agreement of two versions about one target: `pairs` has one entry for each build, and
    /// `between_seeds` that of two builds of one version.
    pub fn new(
        versions: (&Version, &Version),
        (base, head): (&TargetBuilds, &TargetBuilds),
        pairs: &[Agreement],
        between_seeds: Option<Agreement>,
    ) -> Self {
        let smallest = |share: fn(&Agreement) -> f64| pairs.iter().map(share).fold(1.0, f64::min);
        Self {
            base: versions.0.to_string(),
            head: versions.1.to_string(),
            package: base.target.package.clone(),
            target: base.target.target.clone(),
            identical: base.digest() == head.digest(),
            common: pairs.iter().map(|pair| pair.common).min().unwrap_or(0),
            same_phase: smallest(same_phase),
            same_order: smallest(same_order),
            same_phase_between_seeds: between_seeds.as_ref().map(same_phase),
        }
    }

    fn write(&self, text: &mut String) {
        let target = format!("{}/{}", self.package, self.target);
        *text += &format!("{} and {}, {target}: ", self.base, self.head);
        if self.identical {
            *text += "identical machine code in every build\n";
            return;
        }
        *text += &format!(
            "of {} common functions, at least {:.2} % have the same phase and {:.2} % the same order in each build",
            self.common,
            100.0 * self.same_phase,
            100.0 * self.same_order,
        );
        if let Some(share) = self.same_phase_between_seeds {
            *text += &format!(" (between two seeds: {:.0} %)", 100.0 * share);
        }
        text.push('\n');
    }
}

fn same_phase(agreement: &Agreement) -> f64 {
    share(agreement.same_phase, agreement.common)
}

fn same_order(agreement: &Agreement) -> f64 {
    share(agreement.same_order, agreement.common)
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// The names of the targets that both versions have.
pub fn common_targets<'a>(
    base: &'a VersionBuilds,
    head: &'a VersionBuilds,
) -> Vec<(&'a TargetBuilds, &'a TargetBuilds)> {
    let names: BTreeSet<&BenchTarget> = base.targets.iter().map(|target| &target.target).collect();
    names
        .into_iter()
        .filter_map(|name| {
            let find = |builds: &'a VersionBuilds| {
                builds.targets.iter().find(|target| target.target == *name)
            };
            Some((find(base)?, find(head)?))
        })
        .collect()
}
