//! The report of `build` for people.

use std::time::Duration;

use super::{BuildReport, TargetAgreement, compiled_now, linked_now};
use crate::{
    builds::{LinkedBuild, TargetBuilds, VersionBuilds},
    model::Version,
    report::{
        document::{Block, Document, Item, Text},
        quantity,
    },
};

impl BuildReport {
    pub(super) fn write_document(&self) -> Document {
        let mut document = Document::new("build");
        let versions = self.versions.iter().map(|(version, builds)| version_item(version, builds));
        document.add(Block::list(versions));
        document.add(Block::list(self.agreements.iter().map(TargetAgreement::text)));
        document
    }
}

fn version_item(version: &Version, builds: &VersionBuilds) -> Item {
    let cached = if compiled_now(builds) { "" } else { ", from the cache" };
    let times = match builds.compilations.len() {
        0 | 1 => String::new(),
        several => format!("{several} × "),
    };
    let took = builds.compilations.first().map(|first| first.record.took()).unwrap_or_default();
    let took = format!("compiled in {times}{}{cached}", quantity::duration(took));
    let head = format!("{version}: {}: {}", builds.strategy, builds.reason);
    let targets = builds.targets.iter().flat_map(target_text);
    let below = Block::Paragraph(std::iter::once(took.into()).chain(targets).collect());
    Item::new(head, [below])
}

fn target_text(target: &TargetBuilds) -> Vec<Text> {
    let (distinct, all) = (target.distinct(), target.builds.len());
    let took = |build: &LinkedBuild| build.record.took();
    let total: Duration = target.builds.iter().map(took).sum();
    let size = target.builds.iter().map(|build| build.record.size).max().unwrap_or(0);
    let text = Text::from_name(target.target.to_string()).then(format!(
        ": {distinct} of {all} builds distinct, {} per link ({} linked now), {}, digest {}",
        quantity::duration(total.div_f64(all.max(1) as f64)),
        linked_now(&target.builds),
        quantity::bytes(size),
        target.digest().short(),
    ));
    let warning = (distinct < all).then(|| {
        Text::from(format!(
            "warning: only {distinct} of {all} builds differ; those that are equal in every version that is \
             measured count as one"
        ))
    });
    std::iter::once(text).chain(warning).collect()
}

impl TargetAgreement {
    fn text(&self) -> Text {
        let Self { base, head, target, between_seeds, .. } = self;
        let text = Text::from(format!("{base} and {head}, {target}: "));
        if self.identical {
            return text.then("identical machine code in every build");
        }
        let between = between_seeds.as_ref().map(|agreement| {
            format!(" (between two seeds: {:.0} %)", 100.0 * agreement.same_phase_share())
        });
        text.then(format!(
            "of {} common functions, at least {:.2} % have the same address, {:.2} % the same phase and \
             {:.2} % the same order in each build{}",
            self.common(),
            percent(self.least_same_address()),
            percent(self.least_same_phase()),
            percent(self.least_same_order()),
            between.unwrap_or_default(),
        ))
    }
}

/// In hundredths, rounded down, so that only a full match is 100 %.
fn percent(share: f64) -> f64 {
    (10_000.0 * share).floor() / 100.0
}
