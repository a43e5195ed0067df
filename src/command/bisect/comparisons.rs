//! Answers the questions of a search: from the impact of the differences, from stored comparisons, and by measuring.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use rbench_code::impact::Impact;
use rbench_stats::bisection::{
    Answer, Estimate, Finding, Known, Measured, Pair, Question, Strategy,
};

use super::versions::{Versions, why_missing};
use crate::{
    compare::{Benchmarks, Outcome, Request, Selection, Warning, common_benchmarks, compare},
    config::VerdictSettings,
    console::Console,
    error::Result,
    git::Line,
    model::{Benchmark, Metric, Version},
    project::Project,
    report::{
        bisect::CONFIDENCE,
        quantity::{changed_within, count},
    },
    verdict::{DecidedRow, Verdict},
};

pub struct Finder<'f> {
    pub project: &'f Project,
    /// The criteria of verdicts. The whole search together keeps the false-alarm rate.
    pub verdicts: &'f VerdictSettings,
    /// The measuring time after which no further comparison starts, if it is limited.
    pub budget: Option<Duration>,
    pub console: &'f Console,
}

/// The subject of a search: a benchmark in a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub benchmark: Benchmark,
    /// The metric; `None` for the first metric of the benchmark.
    pub metric: Option<Metric>,
}

/// Compares the versions of a line.
pub struct Comparisons<'c, 's> {
    pub(super) finder: &'c Finder<'c>,
    pub(super) versions: &'c mut Versions<'s>,
    pub(super) line: &'c Line,
    pub(super) subjects: &'c [Subject],
    /// The reasons why commits cannot be compared: for all subjects, or for some.
    pub(super) lacking: BTreeMap<(usize, Option<usize>), String>,
    /// The impact of the differences between two commits on each subject.
    pub(super) impacts: HashMap<(Pair, usize), Impact>,
    /// The metric of each subject, once it is known.
    pub(super) metrics: HashMap<usize, Metric>,
}

/// The impact of the differences between two versions on a subject; or the index of the version that cannot be
/// compared, and the reason.
type KnownImpact = Result<Impact, (usize, String)>;

impl Comparisons<'_, '_> {
    /// Answers the questions of the strategy until it has no more, or until the budget is spent.
    pub(super) fn answer(&mut self, strategy: &mut Strategy) -> Result<()> {
        while let Some(question) = strategy.next_question() {
            match question {
                Question::Inspect { pair, subjects } => {
                    let known = self.inspect(pair, &subjects)?;
                    strategy.inspected(pair, subjects.into_iter().zip(known));
                }
                // The budget is checked only here: a started comparison is always finished and stored, so that the
                // next search continues after it.
                Question::Measure { .. } if self.is_over_budget() => {
                    self.versions.effort.stopped = true;
                    strategy.stop();
                }
                Question::Measure { pair, subjects } => {
                    let answers = self.measure(pair, &subjects)?;
                    let subjects = subjects.into_iter().map(|(subject, _)| subject);
                    strategy.measured(pair, subjects.zip(answers));
                }
            }
        }
        Ok(())
    }

    fn is_over_budget(&self) -> bool {
        self.finder.budget.is_some_and(|budget| self.versions.effort.spent >= budget)
    }

    /// Returns what is known about two commits without measuring, for each of these subjects.
    pub(super) fn inspect(&mut self, pair: Pair, subjects: &[usize]) -> Result<Vec<Known>> {
        let line = self.line;
        let versions = pair.map(|commit| line.version(commit));
        if versions[0].key() == versions[1].key() {
            return Ok(vec![Known::Same; subjects.len()]);
        }
        if let Some((place, reason)) = self.versions.prepare_pair(versions)? {
            self.lacking.insert((pair[place], None), reason);
            return Ok(vec![Known::Lacks(pair[place]); subjects.len()]);
        }
        let impacts = self.compare_versions(versions, subjects)?;
        let known = subjects.iter().zip(impacts).map(|(subject, impact)| match impact {
            Err((place, reason)) => {
                self.lacking.insert((pair[place], Some(*subject)), reason);
                Known::Lacks(pair[place])
            }
            Ok(impact) => {
                let is_same = impact.is_nothing();
                self.impacts.insert((pair, *subject), impact);
                if is_same { Known::Same } else { Known::Differs }
            }
        });
        Ok(known.collect())
    }

    /// Compares two commits in these subjects. Each has its error rate: the probability to call it changed if it is
    /// unchanged.
    fn measure(&mut self, pair: Pair, subjects: &[(usize, f64)]) -> Result<Vec<Answer>> {
        self.announce(pair, subjects.len());
        let rate = subjects.iter().map(|(_, rate)| *rate).fold(1.0, f64::min);
        let line = self.line;
        let versions = pair.map(|commit| line.version(commit));
        if let Some((place, reason)) = self.versions.prepare_pair(versions)? {
            self.lacking.insert((pair[place], None), reason);
            return Ok(vec![Answer::Lacks(pair[place]); subjects.len()]);
        }
        let mut benchmarks: Vec<Benchmark> = Vec::new();
        for (subject, _) in subjects {
            let benchmark = &self.subjects[*subject].benchmark;
            if !benchmarks.contains(benchmark) {
                benchmarks.push(benchmark.clone());
            }
        }
        let request = Request {
            benchmarks: Benchmarks::These(benchmarks),
            reuses: true,
            ..Request::new(versions.map(Version::clone), self.finder.verdicts.within(rate))
        };
        let Outcome { rows, warnings, spent, .. } = compare(&request, &mut self.versions.session)?;
        let effort = &mut self.versions.effort;
        match spent {
            Some(spent) => {
                effort.measured += 1;
                effort.spent += spent;
            }
            None => effort.stored += 1,
        }
        Warning::add_all(warnings, &mut effort.warnings);
        Ok(subjects.iter().map(|(subject, _)| self.subject_answer(pair, *subject, &rows)).collect())
    }

    fn compare_versions(
        &mut self,
        versions: [&Version; 2],
        subjects: &[usize],
    ) -> Result<Vec<KnownImpact>> {
        let benchmark = |subject: &usize| &self.subjects[*subject].benchmark;
        let Versions { session, effort, .. } = &mut *self.versions;
        let warnings = &mut effort.warnings;
        session.with(versions, |session, versions| {
            let mut common = common_benchmarks(versions);
            common.retain(|one| subjects.iter().any(|subject| benchmark(subject) == one));
            let chosen = Selection::select(&session.runner, versions, common, false, warnings)?;
            let impacts = subjects.iter().map(|subject| {
                let wanted = benchmark(subject);
                chosen.impact(wanted).cloned().ok_or_else(|| {
                    let place = usize::from(versions[0].benchmarks().contains(wanted));
                    (place, why_missing(&versions[place], wanted))
                })
            });
            Ok(impacts.collect())
        })
    }

    fn announce(&self, pair: Pair, subjects: usize) {
        let [base, head] = pair.map(|commit| self.line.version(commit).short());
        self.finder.console.line(&format!(
            "comparison {}: {base} with {head}, {} apart, for {}",
            self.versions.effort.measured + self.versions.effort.stored + 1,
            count(pair[1] - pair[0], "commit"),
            count(subjects, "benchmark"),
        ));
    }

    fn subject_answer(&mut self, pair: Pair, subject: usize, rows: &[DecidedRow]) -> Answer {
        let Subject { benchmark, metric } = &self.subjects[subject];
        let metric = metric.as_ref().or_else(|| self.metrics.get(&subject));
        let mut of_it = rows.iter().filter(|row| row.benchmark == *benchmark);
        let is_meant = |row: &&DecidedRow| match metric {
            Some(metric) => row.metric.as_ref().is_none_or(|one| one == metric),
            None => true,
        };
        let row = of_it.find(is_meant);
        let measured = row.ok_or_else(|| "it was not measured".to_owned()).and_then(measured);
        match measured {
            Ok(measured) => {
                if let Some(metric) = row.and_then(|row| row.metric.clone()) {
                    self.metrics.entry(subject).or_insert(metric);
                }
                self.report_comparison(pair, subject, measured);
                Answer::Measured(measured)
            }
            Err(reason) => {
                let place = row.and_then(|row| row.unmeasured_in?.only());
                if place.is_none() {
                    // A commit that was compared before is not the cause; the search knows that.
                    self.lacking.entry((pair[0], Some(subject))).or_insert_with(|| reason.clone());
                }
                let commit = pair[place.unwrap_or(1)];
                self.lacking.insert((commit, Some(subject)), reason);
                Answer::Lacks(commit)
            }
        }
    }

    fn report_comparison(
        &self,
        pair: Pair,
        subject: usize,
        Measured { estimate, finding }: Measured,
    ) {
        let [base, head] = pair.map(|commit| self.line.version(commit).short());
        let said = match finding {
            Finding::Changed => "changed",
            Finding::Unchanged => "unchanged",
            Finding::Unsure => "inconclusive",
        };
        self.finder.console.line(&format!(
            "{base}..{head}: {} {}, {said}",
            self.subjects[subject].benchmark.name.id,
            changed_within(&estimate.change(CONFIDENCE)),
        ));
    }
}

/// The standard error of an exact result, far below any change of interest.
const ROUNDING: f64 = 1e-8;

/// Extracts the measured change of a row, or the reason why there is none.
fn measured(row: &DecidedRow) -> Result<Measured, String> {
    let finding = match &row.verdict {
        Verdict::Regressed { .. } | Verdict::Accepted { .. } | Verdict::Improved { .. } => {
            Finding::Changed
        }
        Verdict::Unchanged { .. } => Finding::Unchanged,
        Verdict::Inconclusive { .. } => Finding::Unsure,
        Verdict::Identical | Verdict::Unaffected => {
            let estimate = Estimate { log_change: 0.0, standard_error: 0.0, freedom: 1.0 };
            return Ok(Measured { estimate, finding: Finding::Unchanged });
        }
        Verdict::Skipped { reason }
        | Verdict::Failed { reason }
        | Verdict::NotComparable { reason } => return Err(reason.clone()),
    };
    let decisive = row.decisive().ok_or_else(|| "it gave no measurements".to_owned())?;
    let comparison = &decisive.assessment.comparison;
    let estimate = Estimate {
        log_change: comparison.log_change,
        // Counts have a standard error of 0, but rounding in a sum of logarithms must not look like a change.
        standard_error: comparison.standard_error.max(ROUNDING),
        freedom: comparison.freedom,
    };
    Ok(Measured { estimate, finding })
}
