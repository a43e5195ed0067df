//! The comparison for pull requests: short, what needs attention first, the rest folded.

use super::{ComparisonReport, NamedRow};

impl ComparisonReport {
    /// For pull requests: what needs attention first, the rest folded.
    pub fn markdown(&self) -> String {
        let calm = |named: &&NamedRow| matches!(named.row.verdict, "unchanged" | "identical");
        let (calm, loud): (Vec<&NamedRow>, Vec<&NamedRow>) = self.benchmarks.iter().partition(calm);
        let mut text =
            format!("### Benchmarks: {} against {}\n\n{}\n", self.head, self.base, self.counts());
        for warning in &self.warnings {
            text += &format!("\n> warning: {warning}\n");
        }
        if !loud.is_empty() {
            let mut loud = loud;
            loud.sort_by_key(|named| {
                (named.row.verdict != "regressed", named.row.verdict != "failed")
            });
            text += &markdown_table(&loud);
        }
        if !calm.is_empty() {
            let summary = format!("{} benchmarks without a change", calm.len());
            text += &format!(
                "\n<details><summary>{summary}</summary>\n{}\n</details>\n",
                markdown_table(&calm)
            );
        }
        for unmatched in &self.unmatched {
            text += &format!("\n`{}` is only in {}.\n", unmatched.id, unmatched.only_in);
        }
        for failed in &self.failed_targets {
            text += &format!(
                "\n`{}/{}`:\n\n```text\n{}\n```\n",
                failed.package, failed.target, failed.error
            );
        }
        text
    }
}

/// A table with the columns that fit into a pull request.
fn markdown_table(rows: &[&NamedRow]) -> String {
    let mut text =
        "\n| benchmark | base | head | change | verdict |\n|---|--:|--:|--:|---|\n".to_owned();
    for named in rows {
        let cells = named.cells();
        let id = cells[0].replace('|', "\\|");
        text +=
            &format!("| `{id}` | {} | {} | {} | {} |\n", cells[1], cells[2], cells[3], cells[6]);
    }
    text
}
