//! Combines counts and times of the same benchmarks: together, they show where a change may come
//! from.

use super::{ComparisonReport, summary::name};
use crate::{
    model::{Metric, Unit},
    report::quantity::{changed, count, exact, percent, size},
    stats::Verdict,
    verdict::{DecidedRow, DecidedStage},
};

impl ComparisonReport {
    /// The joint conclusion for each benchmark with a time and an instruction count, unless both
    /// are unchanged: `sort: time unchanged (± 0.30 %), instructions +2.10 %`.
    pub(super) fn time_and_counts(&self) -> Vec<String> {
        let names = self.names();
        let note = |counted: &DecidedRow| {
            let (timed, said) = self.time_and_count(counted)?;
            Some(format!("{}: {said}", name(&names, timed)))
        };
        self.outcome
            .rows
            .iter()
            .filter(|row| has_metric(row, is_instructions))
            .filter_map(note)
            .collect()
    }

    /// The joint conclusion for the benchmark of a row, with the row of its time; `None` if the row
    /// is neither of them.
    pub(super) fn time_and_count(&self, row: &DecidedRow) -> Option<(&DecidedRow, String)> {
        let of_benchmark = |is_meant: fn(&Metric) -> bool| {
            let mut rows =
                self.outcome.rows.iter().filter(|other| other.benchmark == row.benchmark);
            rows.find(|other| has_metric(other, is_meant))
        };
        let (timed, counted) = (of_benchmark(is_time)?, of_benchmark(is_instructions)?);
        let is_about = row.metric == timed.metric || row.metric == counted.metric;
        Some((timed, together(timed, counted).filter(|_| is_about)?))
    }

    /// The method of counting, if anything was counted.
    pub(super) fn counted_line(&self) -> Option<String> {
        let stages = || self.counted_stages();
        let metrics: Vec<Metric> =
            self.outcome.rows.iter().filter_map(|row| row.metric.clone()).collect();
        let mut metrics: Vec<Metric> = metrics.into_iter().filter(Metric::is_counted).collect();
        metrics.sort();
        metrics.dedup();
        stages().next()?;
        if metrics == [Metric::size()] {
            let limit = exact(self.outcome.criteria.for_metric(&Metric::size()).min_effect);
            return Some(format!(
                "size: text and data of the executable as cargo links it, exact (min-effect {limit}); nothing was run"
            ));
        }
        let limits = metrics.iter().map(|metric| {
            let limit = self.outcome.criteria.for_metric(metric).min_effect;
            format!("{} (min-effect {})", metric.name, exact(limit))
        });
        let limits = limits.collect::<Vec<_>>().join(", ");
        let layouts = stages().map(|stage| stage.summaries[0].builds().len()).max().unwrap_or(1);
        let more = if layouts > 1 {
            format!(", and where counts differ in up to {}", count(layouts, "layout"))
        } else {
            String::new()
        };
        Some(format!("counted: {limits}, in 1 layout{more}; independent of timing noise"))
    }

    fn counted_stages(&self) -> impl Iterator<Item = &DecidedStage> {
        self.outcome
            .rows
            .iter()
            .filter(|row| has_metric(row, Metric::is_counted))
            .filter_map(DecidedRow::decisive)
    }
}

pub(super) fn is_time(metric: &Metric) -> bool {
    metric.unit == Unit::Nanoseconds
}

pub(super) fn is_instructions(metric: &Metric) -> bool {
    *metric == Metric::instructions()
}

/// True if a row has such a metric.
pub(super) fn has_metric(row: &DecidedRow, wanted: impl Fn(&Metric) -> bool) -> bool {
    row.metric.as_ref().is_some_and(wanted)
}

/// The joint conclusion from time and instructions; `None` if neither changed, or one is unknown.
fn together(timed: &DecidedRow, counted: &DecidedRow) -> Option<String> {
    let change = |row: &DecidedRow| Some(row.decisive()?.assessment.change);
    let (time, executed) = (change(timed)?, change(counted)?);
    let is_changed = |row: &DecidedRow| {
        matches!(
            row.verdict,
            Verdict::Regressed { .. } | Verdict::Improved { .. } | Verdict::Accepted { .. }
        )
    };
    let is_same = |row: &DecidedRow| matches!(row.verdict, Verdict::Unchanged { .. });
    let executed = changed(executed.estimate);
    if is_changed(timed) && is_same(counted) {
        let time = percent(time.estimate);
        return Some(format!("time {time}, instructions the same: memory, branches or layout"));
    }
    if is_changed(timed) && is_changed(counted) {
        return Some(format!("time {}, instructions {executed}", percent(time.estimate)));
    }
    if is_same(timed) && is_changed(counted) {
        let around = size((time.high - time.low) / 2.0);
        return Some(format!("time unchanged (± {around}), instructions {executed}"));
    }
    is_changed(counted).then(|| format!("time inconclusive, instructions {executed}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::counted;

    #[test]
    fn time_and_instructions_have_a_joint_conclusion() {
        let said = |time: f64, instructions: f64| {
            let timed = counted(&Metric::wall(), "a", 100.0, time);
            together(&timed, &counted(&Metric::instructions(), "a", 100.0, instructions))
        };
        assert_eq!(
            said(104.0, 100.0).unwrap(),
            "time +4.00 %, instructions the same: memory, branches or layout"
        );
        assert_eq!(said(104.0, 103.0).unwrap(), "time +4.00 %, instructions +3.00 %");
        let unchanged = said(100.0, 102.1).unwrap();
        assert!(unchanged.starts_with("time unchanged (± "), "{unchanged}");
        assert!(unchanged.ends_with("), instructions +2.10 %"), "{unchanged}");
        assert_eq!(said(100.0, 100.0), None);
    }
}
