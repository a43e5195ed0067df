//! The builds of versions for people.

use std::time::Duration;

use super::{BuildReport, TargetAgreement, compiled_now, linked_now};
use crate::{
    build::{LinkedBuild, TargetBuilds, VersionBuilds},
    model::Version,
    report::{quantity, visible::visible},
};

impl BuildReport {
    pub(super) fn write_text(&self) -> String {
        let versions = self.versions.iter().map(|(version, builds)| version_text(version, builds));
        versions.chain(self.agreements.iter().map(TargetAgreement::text)).collect()
    }
}

fn version_text(version: &Version, builds: &VersionBuilds) -> String {
    let cached = if compiled_now(builds) { "" } else { ", from the cache" };
    let times = match builds.compilations.len() {
        0 | 1 => String::new(),
        several => format!("{several} × "),
    };
    let took = builds.compilations.first().map(|first| first.record.took()).unwrap_or_default();
    let head = format!("{version}: {}: {}", builds.strategy, builds.reason);
    let took = quantity::duration(took);
    let mut text = format!("{}\n  compiled in {times}{took}{cached}\n", visible(&head));
    text.extend(builds.targets.iter().map(target_text));
    text
}

fn target_text(target: &TargetBuilds) -> String {
    let (distinct, all) = (target.distinct(), target.builds.len());
    let took = |build: &LinkedBuild| build.record.took();
    let total: Duration = target.builds.iter().map(took).sum();
    let size = target.builds.iter().map(|build| build.record.size).max().unwrap_or(0);
    let mut text = format!(
        "  {}: {distinct} of {all} builds distinct, {} per link ({} linked now), {}, digest {}\n",
        visible(&target.target.to_string()),
        quantity::duration(total.div_f64(all.max(1) as f64)),
        linked_now(&target.builds),
        quantity::bytes(size),
        target.digest().short(),
    );
    if distinct < all {
        text += &format!(
            "    warning: only {distinct} of {all} builds differ; those that are equal in every version that is \
             measured count as one\n"
        );
    }
    text
}

impl TargetAgreement {
    fn text(&self) -> String {
        let Self { base, head, target, between_seeds, .. } = self;
        let mut text = visible(&format!("{base} and {head}, {target}: ")).into_owned();
        if self.identical {
            return text + "identical machine code in every build\n";
        }
        text += &format!(
            "of {} common functions, at least {:.2} % have the same address, {:.2} % the same phase and \
             {:.2} % the same order in each build",
            self.common(),
            percent(self.least_same_address()),
            percent(self.least_same_phase()),
            percent(self.least_same_order()),
        );
        if let Some(agreement) = between_seeds {
            text += &format!(" (between two seeds: {:.0} %)", 100.0 * agreement.same_phase_share());
        }
        text + "\n"
    }
}

/// In hundredths, rounded down: only all is 100 %.
fn percent(share: f64) -> f64 {
    (10_000.0 * share).floor() / 100.0
}
