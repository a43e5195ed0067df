//! The report of `build`: the builds of each version, and the agreement of the versions' layouts.

use std::time::Duration;

use rbench_code::elf::{self, Digest};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    document::{Block, Document, Item, Medium, Text},
    json, quantity,
};
use crate::{
    builds::{LinkedBuild, TargetBuilds, VersionBuilds},
    error::Result,
    model::{BenchTarget, Layout, LayoutSeed, Strategy, Version},
};

/// The builds of some versions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BuildReport {
    /// The requested layout.
    pub layout: Layout,
    /// All layout seeds are drawn from it.
    pub seed: u64,
    /// In the order requested.
    #[schemars(length(min = 1))]
    pub versions: Vec<BuiltVersion>,
    /// The agreement of each version with the one before it, for every bench target that both have.
    pub agreements: Vec<TargetAgreement>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BuiltVersion {
    version: Version,
    strategy: Strategy,
    /// The reason for this strategy.
    reason: String,
    /// True if anything was compiled in this run.
    compiled: bool,
    /// The duration of the first compilation, in this run or an earlier one.
    #[serde(rename = "compile_seconds", serialize_with = "quantity::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    compile_time: Duration,
    /// The number of compilations that the builds come from.
    #[schemars(range(min = 1))]
    compilations: usize,
    #[schemars(length(min = 1))]
    targets: Vec<BuiltTarget>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct BuiltTarget {
    #[serde(flatten)]
    target: BenchTarget,
    /// The layout of the builds: another than requested if that cannot be made.
    layout: Layout,
    /// The number of builds that are different programs.
    #[schemars(range(min = 1))]
    distinct: usize,
    /// One digest over all builds: equal for versions with the same machine code.
    digest: Digest,
    /// In the order of seeds.
    #[schemars(length(min = 1))]
    builds: Vec<Build>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Build {
    #[schemars(with = "u32", range(min = 1))]
    seed: LayoutSeed,
    /// Of its loadable sections.
    digest: Digest,
    size_bytes: u64,
    #[serde(rename = "link_seconds", serialize_with = "quantity::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    link_time: Duration,
    /// True if it was linked in this run.
    fresh: bool,
    executable: String,
}

/// The agreement of the layouts of two versions, over all builds of a bench target.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TargetAgreement {
    pub base: Version,
    pub head: Version,
    #[serde(flatten)]
    pub target: BenchTarget,
    /// True if all builds are the same machine code at the same addresses.
    pub identical: bool,
    #[serde(flatten)]
    pub worst: WorstAgreement,
    /// The share of functions with the same address modulo 64 in two builds of one version, for comparison.
    pub same_phase_between_seeds: Option<f64>,
}

/// The smallest agreement in each respect, over the pairs of builds.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct WorstAgreement {
    /// The number of functions that both versions have.
    common: usize,
    /// The smallest share, over the builds, of common functions with the same address.
    #[schemars(range(min = 0, max = 1))]
    same_address: f64,
    /// The smallest share, over the builds, of common functions with the same address modulo 64.
    #[schemars(range(min = 0, max = 1))]
    same_phase: f64,
    /// The smallest share, over the builds, of common functions in the same order.
    #[schemars(range(min = 0, max = 1))]
    same_order: f64,
}

impl BuiltVersion {
    pub fn new(version: Version, builds: VersionBuilds) -> Self {
        let VersionBuilds { strategy, reason, compilations, targets } = builds;
        Self {
            version,
            strategy,
            reason,
            compiled: compilations.iter().any(|compilation| compilation.fresh),
            compile_time: compilations.first().map(|one| one.record.took()).unwrap_or_default(),
            compilations: compilations.len(),
            targets: targets.into_iter().map(BuiltTarget::from).collect(),
        }
    }

    fn item(&self) -> Item {
        let cached = if self.compiled { "" } else { ", from the cache" };
        let times = match self.compilations {
            0 | 1 => String::new(),
            several => format!("{several} × "),
        };
        let took = format!("compiled in {times}{}{cached}", quantity::duration(self.compile_time));
        let head = format!("{}: {}: {}", self.version, self.strategy, self.reason);
        let targets = self.targets.iter().flat_map(BuiltTarget::texts);
        Item::new(head, [Block::Paragraph(std::iter::once(took.into()).chain(targets).collect())])
    }
}

impl From<TargetBuilds> for BuiltTarget {
    fn from(target: TargetBuilds) -> Self {
        let (distinct, digest) = (target.distinct(), target.digest());
        let build = |LinkedBuild { seed, executable, record, fresh, .. }| Build {
            seed,
            digest: record.digest,
            size_bytes: record.size,
            link_time: record.took(),
            fresh,
            executable: executable.display().to_string(),
        };
        let TargetBuilds { target, layout, builds } = target;
        Self { target, layout, distinct, digest, builds: builds.into_iter().map(build).collect() }
    }
}

impl BuiltTarget {
    fn texts(&self) -> Vec<Text> {
        let (distinct, all) = (self.distinct, self.builds.len());
        let total: Duration = self.builds.iter().map(|build| build.link_time).sum();
        let text = Text::from_name(self.target.to_string()).then(format!(
            ": {distinct} of {all} builds distinct, {} per link ({} linked now), {}, digest {}",
            quantity::duration(total.div_f64(all.max(1) as f64)),
            self.builds.iter().filter(|build| build.fresh).count(),
            quantity::bytes(self.builds.iter().map(|build| build.size_bytes).max().unwrap_or(0)),
            self.digest.short(),
        ));
        let warning = (distinct < all).then(|| {
            Text::from(format!(
                "warning: only {distinct} of {all} builds differ; those that are equal in every version that is \
                 measured count as one"
            ))
        });
        std::iter::once(text).chain(warning).collect()
    }
}

impl WorstAgreement {
    pub fn new(pairs: &[elf::Agreement]) -> Self {
        let least = |share: fn(&elf::Agreement) -> f64| pairs.iter().map(share).fold(1.0, f64::min);
        Self {
            common: pairs.iter().map(|pair| pair.common).min().unwrap_or(0),
            same_address: least(elf::Agreement::same_address_share),
            same_phase: least(elf::Agreement::same_phase_share),
            same_order: least(elf::Agreement::same_order_share),
        }
    }
}

impl TargetAgreement {
    fn text(&self) -> Text {
        let Self { base, head, target, worst, .. } = self;
        let text = Text::from(format!("{base} and {head}, {target}: "));
        if self.identical {
            return text.then("identical machine code in every build");
        }
        let between = self
            .same_phase_between_seeds
            .map(|share| format!(" (between two seeds: {:.0} %)", 100.0 * share));
        text.then(format!(
            "of {} common functions, at least {:.2} % have the same address, {:.2} % the same phase and \
             {:.2} % the same order in each build{}",
            worst.common,
            percent(worst.same_address),
            percent(worst.same_phase),
            percent(worst.same_order),
            between.unwrap_or_default(),
        ))
    }
}

/// In hundredths, rounded down, so that only a full match is 100 %.
fn percent(share: f64) -> f64 {
    (10_000.0 * share).floor() / 100.0
}

impl Report for BuildReport {
    fn document(&self, _medium: Medium) -> Document {
        let mut document = Document::new("build");
        document.add(Block::list(self.versions.iter().map(BuiltVersion::item)));
        document.add(Block::list(self.agreements.iter().map(TargetAgreement::text)));
        document
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        style,
        testing::{HOSTILE, assert_harmless, target, version},
    };

    fn report(revision: &str, identical: bool) -> BuildReport {
        let pair = |same_phase, same_order| elf::Agreement {
            common: 200,
            same_address: same_order - 1,
            same_phase,
            same_order,
        };
        BuildReport {
            layout: Layout::SameOrder,
            seed: 1,
            versions: Vec::new(),
            agreements: vec![TargetAgreement {
                base: Version { revision: revision.to_owned(), ..version("main", 'a') },
                head: version("HEAD", 'b'),
                target: target("work"),
                identical,
                worst: WorstAgreement::new(&[pair(200, 200), pair(199, 198)]),
                same_phase_between_seeds: Some(pair(3, 12).same_phase_share()),
            }],
        }
    }

    #[test]
    fn agreement_is_that_of_the_worst_builds() {
        assert_eq!(
            style::plain(&report("main", false).text(300)),
            "main (aaaaaaa) and HEAD (bbbbbbb), parser/work: of 200 common functions, at least 98.50 % \
             have the same address, 99.50 % the same phase and 99.00 % the same order in each build (between two seeds: 2 %)\n"
        );
        let text = report("main", true).text(300);
        assert!(text.ends_with("parser/work: identical machine code in every build\n"), "{text}");
    }

    #[test]
    fn untrusted_texts_are_harmless() {
        assert_harmless(&report(HOSTILE, false));
    }
}
