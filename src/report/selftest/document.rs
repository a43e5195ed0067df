//! The report of `selftest` for people.

use super::{SelftestReport, name_of};
use crate::model::FailedTarget;
use crate::report::{
    compare::warning_sentence,
    document::{Block, Document, Item, Text},
    quantity::sample_sizes,
    style::Role,
};

const FLOORS: &str = "standard deviation of the difference of a pair of builds (sd), and the smallest change that so many \
                      builds flag in four of five cases";

impl SelftestReport {
    pub(super) fn write_document(&self) -> Document {
        let mut document =
            Document::new("selftest").titled("Self-test: is this machine fit to judge?");
        let modes = self.modes.iter();
        let sizes = modes.map(|result| {
            format!("{}: {}", name_of(result.mode), sample_sizes(result.sample_sizes))
        });
        document.add(Block::paragraph(std::iter::once(self.subject()).chain(sizes)));
        let warnings = self.warnings.iter();
        document.add(warnings.map(|one| Block::Warning(warning_sentence(one).into(), None)));
        document.add(Block::list(self.failed_targets.iter().map(
            |FailedTarget { target, error: failure }| {
                let target = Text::new().styled_name(Role::Doubtful, target.to_string());
                target.then(": failed: ").message(failure.to_string())
            },
        )));
        for (is_fit, conclusion) in self.conclusions() {
            let role = if is_fit { Role::Good } else { Role::Bad };
            let (head, rest) = conclusion.split_once('.').unwrap_or((&conclusion, ""));
            let text = Text::new().styled(role, format!("{head}.")).then(rest);
            document.add(Block::paragraph([text]));
        }
        document.add(Block::paragraph(self.advice()));
        document.add([Block::Table(self.modes_table())]);
        document.add(self.tools_table().map(Block::Table));
        let floors = format!("noise floor{}: {FLOORS}", self.first_mode_text());
        document.add([Block::Paragraph(vec![floors.into()]), Block::Table(self.floors_table())]);
        document.add(Block::list(self.limits().into_iter().map(Item::from)));
        document
    }
}
