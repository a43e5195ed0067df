//! The report of `build`: the builds of each version, and the agreement of the versions' layouts.

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
    /// The requested layout of functions.
    pub layout: Layout,
    /// The seed from which all layout seeds are drawn.
    pub seed: u64,
    /// Each version with its builds, in the order requested.
    pub versions: Vec<(Version, VersionBuilds)>,
    /// The agreement of each version with the one before it.
    pub agreements: Vec<TargetAgreement>,
}

/// The agreement of the layouts of two versions, over all builds of a bench target.
#[derive(Clone, Debug)]
pub struct TargetAgreement {
    /// The earlier version.
    pub base: Version,
    /// The version after it.
    pub head: Version,
    /// The bench target built.
    pub target: BenchTarget,
    /// True if all builds are the same machine code at the same addresses.
    pub identical: bool,
    /// The agreement of the builds of each seed.
    pub pairs: Vec<Agreement>,
    /// The agreement of two builds of one version, for comparison.
    pub between_seeds: Option<Agreement>,
}

impl TargetAgreement {
    /// The smallest number of common functions, over the builds.
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

/// The number of builds linked in this run.
fn linked_now(builds: &[LinkedBuild]) -> usize {
    builds.iter().filter(|build| build.fresh).count()
}

/// True if anything of a version was compiled in this run.
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
