//! The report of `run A..B`: one line for each version.

use std::rc::Rc;

use serde::Serialize;

use super::{ShowReport, ShownBenchmark, json::Shown};
use crate::{
    failure::Result,
    report::{
        CommandLine, Report,
        json::document,
        style,
        table::{Cell, Column, Table},
        visible::visible,
    },
};

/// The versions of a range that were measured.
#[derive(Clone, Debug)]
pub struct RangeReport {
    /// The versions, in the order in which they were measured.
    pub versions: Vec<ShowReport>,
    /// What writes the commands that are suggested.
    pub command_line: Rc<dyn CommandLine>,
}

impl Report for RangeReport {
    fn text(&self, columns: usize) -> String {
        let mut table = Table::new([
            Column::left("version"),
            Column::right("benchmarks"),
            Column::right("failed"),
            Column::left("subject").shortened().dropped(0),
        ]);
        for ShowReport { version, benchmarks, .. } in &self.versions {
            let ids = |failed: bool| {
                let is_meant = move |shown: &&ShownBenchmark| {
                    super::has_failed(shown) == failed
                        && shown.skipped.is_none()
                        && shown.unmeasured.is_none()
                };
                let mut ids: Vec<_> =
                    benchmarks.iter().filter(is_meant).map(|shown| &shown.benchmark).collect();
                ids.dedup();
                ids.len()
            };
            let failed = match ids(true) {
                0 => String::new(),
                failed => failed.to_string(),
            };
            table.row([
                Cell::from(version.short()),
                Cell::from(ids(false).to_string()),
                Cell::styled(style::DOUBTFUL, failed),
                Cell::from(&version.summary),
            ]);
        }
        if table.is_empty() {
            return "no version was measured\n".to_owned();
        }
        let history = self.command_line.suggest("history", &[], &[]);
        table.fit(columns) + &format!("\nhow benchmarks changed: {}\n", visible(&history))
    }

    fn json(&self) -> Result<String> {
        #[derive(Serialize)]
        struct Range<'r> {
            versions: Vec<Shown<'r>>,
        }
        document(&Range { versions: self.versions.iter().map(ShowReport::fields).collect() })
    }
}
