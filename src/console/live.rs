//! The table of a comparison in progress, drawn below the progress bar on a terminal: what the measurements show so
//! far, and the verdicts that are already reached.

use std::{cmp::Ordering, collections::BTreeMap};

use crate::{
    model::{Benchmark, Metric, Stage},
    report::{
        names::{Names, with_metric},
        quantity,
        style::Role,
        table::{Cell, Column, Table},
    },
    verdict::{DecidedRow, Progress, ProvisionalRow, VerdictKind},
};

/// The rows of a comparison that have been measured so far.
#[derive(Debug, Default)]
pub(super) struct LiveTable {
    rows: BTreeMap<Benchmark, BTreeMap<Metric, LiveRow>>,
}

#[derive(Clone, Debug)]
struct LiveRow {
    builds: usize,
    estimate: f64,
    interval: Option<[f64; 2]>,
    state: State,
}

/// What is known about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is measured further.
    Provisional,
    /// It was flagged, and is measured again on fresh builds.
    Flagged,
    /// It is measured on fresh builds, which decide.
    Fresh,
    Decided(VerdictKind),
}

impl LiveTable {
    /// Takes what the measurements show so far. Fresh builds alone decide: once there are any, a row shows only them.
    pub(super) fn measured(&mut self, rows: &[ProvisionalRow]) {
        for row in rows {
            let ProvisionalRow { builds, estimate, interval, .. } = *row;
            let state = match row.stage {
                Stage::First => State::Provisional,
                Stage::Second => State::Fresh,
            };
            let of_benchmark = self.rows.entry(row.benchmark.clone()).or_default();
            of_benchmark.insert(row.metric.clone(), LiveRow { builds, estimate, interval, state });
        }
    }

    /// Takes the decisions of an analysis.
    pub(super) fn decided(&mut self, rows: &[DecidedRow]) {
        for row in rows {
            let state = match row.progress {
                Progress::Ended => State::Decided(VerdictKind::new(&row.verdict)),
                Progress::Open(_) => State::Provisional,
                Progress::Flagged { .. } => State::Flagged,
            };
            let Some(of_benchmark) = self.rows.get_mut(&row.benchmark) else { continue };
            for (metric, known) in of_benchmark {
                // A verdict without a metric is on all of them: the benchmark failed.
                if row.metric.as_ref().is_none_or(|decided| decided == metric) {
                    known.state = state;
                }
            }
        }
    }

    /// The table, limited to this number of columns and lines; empty if there is no row yet, or no room. Rows that are
    /// not decided come first, the least precise at the top.
    pub(super) fn text(&self, columns: usize, lines: usize) -> String {
        /// A common beginning of all names, the heads of the columns, and the line that counts the rest.
        const BESIDE_ROWS: usize = 3;
        let most = lines.saturating_sub(BESIDE_ROWS);
        if self.rows.is_empty() || most == 0 {
            return String::new();
        }
        let names = Names::new(self.rows.keys());
        let all = self.rows.iter().flat_map(|(benchmark, of_benchmark)| {
            of_benchmark.iter().map(move |(metric, row)| (benchmark, metric, row))
        });
        let mut rows: Vec<_> = all.collect();
        rows.sort_by(|(.., one), (.., other)| one.compare_urgency(other));
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::right("change so far"),
            Column::right("95 % interval").optional(1),
            Column::right("builds").optional(0),
            Column::left("state"),
        ]);
        for (benchmark, metric, row) in rows.iter().take(most) {
            let name = with_metric(names.name(benchmark), Some(metric));
            table.row(row.cells(&name));
        }
        let mut text = table.fit(columns);
        if let Some(rest @ 1..) = rows.len().checked_sub(most) {
            text += &format!("and {rest} more");
        }
        text.trim_end().to_owned()
    }
}

impl LiveRow {
    /// Sorts undecided rows before decided ones, and the less precise before the more precise.
    fn compare_urgency(&self, other: &Self) -> Ordering {
        let is_decided = |row: &Self| matches!(row.state, State::Decided(_));
        let width = |row: &Self| row.interval.map_or(f64::INFINITY, |[low, high]| high - low);
        let by_precision = width(other).total_cmp(&width(self));
        is_decided(self).cmp(&is_decided(other)).then(by_precision)
    }

    fn cells(&self, name: &str) -> [Cell; 5] {
        let (role, state) = match self.state {
            State::Provisional => (Role::Quiet, "provisional".to_owned()),
            State::Flagged => (Role::Quiet, "provisional, to be confirmed".to_owned()),
            State::Fresh => (Role::Quiet, "provisional, on fresh builds".to_owned()),
            State::Decided(kind) => (kind.role(), kind.name().to_owned()),
        };
        let interval = self.interval.map(|[low, high]| quantity::range(low, high));
        [
            Cell::name(name),
            Cell::styled(Role::Quiet, quantity::changed(self.estimate)),
            Cell::styled(Role::Quiet, interval.unwrap_or_default()),
            Cell::styled(Role::Quiet, self.builds.to_string()),
            Cell::styled(role, state),
        ]
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use rbench_stats::outlook::Outlook;

    use super::*;
    use crate::model::Name;

    fn benchmark(id: &str) -> Benchmark {
        Benchmark { package: "p".to_owned(), target: "b".to_owned(), name: Name::plain(id) }
    }

    fn row(id: &str, stage: Stage, estimate: f64, half: Option<f64>) -> ProvisionalRow {
        ProvisionalRow {
            benchmark: benchmark(id),
            metric: Metric::wall(),
            stage,
            builds: if half.is_some() { 2 } else { 1 },
            estimate,
            interval: half.map(|half| [estimate - half, estimate + half]),
        }
    }

    fn decided(id: &str, progress: Progress) -> DecidedRow {
        let verdict = crate::verdict::Verdict::Failed { reason: String::new() };
        // A failure is not the verdict on a metric.
        let metric = (progress != Progress::Ended).then(Metric::wall);
        DecidedRow { metric, progress, ..DecidedRow::without_metric(&benchmark(id), verdict) }
    }

    fn text(table: &LiveTable, lines: usize) -> Vec<String> {
        strip_str(&table.text(100, lines)).to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn rows_say_that_they_are_provisional_until_they_are_decided() {
        let mut table = LiveTable::default();
        assert_eq!(table.text(100, 10), "");
        table.measured(&[
            row("a", Stage::First, 0.05, Some(0.01)),
            row("b", Stage::First, 0.001, Some(0.002)),
            row("c", Stage::First, -0.2, None),
        ]);
        insta::assert_snapshot!(text(&table, 10).join("\n"), @r"
        benchmark  change so far   95 % interval  builds  state
        c               -20.00 %                       1  provisional
        a                +5.00 %  +4.00 .. +6.00       2  provisional
        b                +0.10 %  -0.10 .. +0.30       2  provisional
        ");
        table.decided(&[
            decided("a", Progress::Flagged { builds: 6 }),
            decided("b", Progress::Open(Outlook::default())),
            decided("c", Progress::Ended),
        ]);
        insta::assert_snapshot!(text(&table, 10).join("\n"), @r"
        benchmark  change so far   95 % interval  builds  state
        a                +5.00 %  +4.00 .. +6.00       2  provisional, to be confirmed
        b                +0.10 %  -0.10 .. +0.30       2  provisional
        c               -20.00 %                       1  failed
        ");
        table.measured(&[row("a", Stage::Second, 0.04, Some(0.02))]);
        let fresh =
            "a                +4.00 %  +2.00 .. +6.00       2  provisional, on fresh builds";
        assert_eq!(text(&table, 10)[1], fresh);
    }

    #[test]
    fn least_precise_rows_are_shown_where_there_is_no_room_for_all() {
        let mut table = LiveTable::default();
        let rows: Vec<_> = (1..=9_u32)
            .map(|id| row(&format!("id{id}"), Stage::First, 0.0, Some(f64::from(id) / 100.0)))
            .collect();
        table.measured(&rows);
        let lines = text(&table, 6);
        assert_eq!(lines.len(), 5);
        assert!(lines[1].starts_with("id9") && lines[3].starts_with("id7"), "{lines:?}");
        assert_eq!(lines[4], "and 6 more");
        assert_eq!(text(&table, 12).len(), 10);
        assert_eq!(table.text(100, 3), "");
    }
}
