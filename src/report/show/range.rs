//! The report of `run A..B`: one line for each version.

use serde::Serialize;

use super::{ShowReport, json::Shown};
use crate::{
    failure::Result,
    report::{
        Report,
        json::document,
        style,
        table::{Cell, Column, Table},
    },
};

/// The versions of a range that were measured.
#[derive(Clone, Debug, Default)]
pub struct RangeReport {
    /// The versions, in the order in which they were measured.
    pub versions: Vec<ShowReport>,
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
                let is_meant = move |shown: &&_| super::has_failed(shown) == failed;
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
        table.fit(columns) + "\nhow benchmarks changed: cargo rbench history\n"
    }

    fn json(&self) -> Result<String> {
        #[derive(Serialize)]
        struct Range<'r> {
            versions: Vec<Shown<'r>>,
        }
        document(&Range { versions: self.versions.iter().map(ShowReport::fields).collect() })
    }
}
