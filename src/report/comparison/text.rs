//! The comparison for people at a terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::ComparisonReport;

impl ComparisonReport {
    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("{} against {}\n", self.head, self.base);
        for warning in &self.warnings {
            text += &format!("warning: {warning}\n");
        }
        text += &format!("\n{}\n\n", self.table());
        for named in &self.benchmarks {
            text += &format!("{}: {}\n", named.id, named.row.reason);
        }
        for unmatched in &self.unmatched {
            text += &format!("{}: only in {}\n", unmatched.id, unmatched.only_in);
        }
        for failed in &self.failed_targets {
            text += &format!("{}/{}: {}\n", failed.package, failed.target, failed.error);
        }
        text + &self.summary()
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_header([
                "benchmark",
                "base",
                "head",
                "change",
                "variance b/e/m",
                "paired",
                "verdict",
            ]);
        for index in 1..=5 {
            if let Some(column) = table.column_mut(index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for named in &self.benchmarks {
            table.add_row(named.cells());
        }
        table
    }

    fn summary(&self) -> String {
        let logs: Vec<f64> = self
            .benchmarks
            .iter()
            .filter_map(|named| named.row.measured.as_ref())
            .map(|measured| measured.change.estimate.ln_1p())
            .collect();
        let mut text = format!("\n{}", self.counts());
        if logs.len() > 1 {
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            text += &format!(
                "; geometric mean of {} changes {:+.2} %",
                logs.len(),
                100.0 * mean.exp_m1()
            );
        }
        text + "\nwhich functions differ: cargo rbench diff\n"
    }
}
