//! The benchmarks of a version for people: a heading for each bench target, an id a line.

use super::ListReport;
use crate::report::visible::visible;

impl ListReport {
    pub(super) fn write_text(&self) -> String {
        let mut text = String::new();
        for (harness, benchmarks) in &self.targets {
            if let Some(first) = benchmarks.first() {
                let target = first.bench_target().to_string();
                text += &format!("{} ({harness})\n", visible(&target));
            }
            for benchmark in benchmarks {
                text += &format!("  {}\n", visible(&benchmark.name.id));
            }
        }
        text
    }
}
