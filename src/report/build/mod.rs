//! The report of `build`: the builds of each version, and how well the layouts of the versions agree.

mod document;
pub(super) mod json;

use super::{
    Report,
    document::{Document, Medium},
};
use crate::{
    builds::{LinkedBuild, VersionBuilds},
    elf::Agreement,
    error::Result,
    model::{BenchTarget, Layout, Version},
};

/// The builds of versions.
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// How functions were requested to be arranged.
    pub layout: Layout,
    /// The seed that all layout seeds are drawn from.
    pub seed: u64,
    /// Each version with its builds, in the order requested.
    pub versions: Vec<(Version, VersionBuilds)>,
    /// How far each version agrees with the one before it.
    pub agreements: Vec<TargetAgreement>,
}

/// How far the builds of two versions have the same layouts, over all builds of a bench target.
#[derive(Clone, Debug)]
pub struct TargetAgreement {
    /// One version.
    pub base: Version,
    /// The version after it.
    pub head: Version,
    /// The bench target.
    pub target: BenchTarget,
    /// Whether all builds are the same machine code at the same places.
    pub identical: bool,
    /// How far the builds of each seed agree.
    pub pairs: Vec<Agreement>,
    /// How far two builds of one version agree, for comparison.
    pub between_seeds: Option<Agreement>,
}

impl TargetAgreement {
    /// The least number of functions that both versions have, over the builds.
    fn common(&self) -> usize {
        self.pairs.iter().map(|pair| pair.common).min().unwrap_or(0)
    }

    /// The smallest share, over the builds, of common functions with the same address.
    fn least_same_address(&self) -> f64 {
        self.least(Agreement::same_address_share)
    }

    /// The smallest share, over the builds, of common functions with the same address modulo 64.
    fn least_same_phase(&self) -> f64 {
        self.least(Agreement::same_phase_share)
    }

    /// The smallest share, over the builds, of common functions in the same order.
    fn least_same_order(&self) -> f64 {
        self.least(Agreement::same_order_share)
    }

    fn least(&self, share: fn(&Agreement) -> f64) -> f64 {
        self.pairs.iter().map(share).fold(1.0, f64::min)
    }
}

/// How many of these builds were linked just now.
fn linked_now(builds: &[LinkedBuild]) -> usize {
    builds.iter().filter(|build| build.fresh).count()
}

/// Whether anything of a version was compiled just now.
fn compiled_now(builds: &VersionBuilds) -> bool {
    builds.compilations.iter().any(|compilation| compilation.fresh)
}

impl Report for BuildReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        self.write_json()
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
        let pair = |same_phase, same_order| Agreement {
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
                pairs: vec![pair(200, 200), pair(199, 198)],
                between_seeds: Some(pair(3, 12)),
            }],
        }
    }

    #[test]
    fn two_versions_agree_as_far_as_the_builds_that_agree_least() {
        assert_eq!(
            style::plain(&report("main", false).text(300)),
            "main (aaaaaaa) and HEAD (bbbbbbb), parser/work: of 200 common functions, at least 98.50 % \
             have the same address, 99.50 % the same phase and 99.00 % the same order in each build (between two seeds: 2 %)\n"
        );
        let text = report("main", true).text(300);
        assert!(text.ends_with("parser/work: identical machine code in every build\n"), "{text}");
    }

    #[test]
    fn nothing_from_elsewhere_steers_the_terminal() {
        assert_harmless(&report(HOSTILE, false));
    }
}
