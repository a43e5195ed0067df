//! Answers the questions of a search: by the impact of the differences, by stored comparisons, and by measuring.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use super::{
    Finder,
    versions::{Versions, why_missing},
};
use crate::{
    compare::{Benchmarks, Outcome, Request, Selection, Warning, common_benchmarks, compare},
    error::Result,
    git::Line,
    impact::Impact,
    model::{Benchmark, Metric, Version},
    report::{
        bisect::CONFIDENCE,
        quantity::{changed_within, count},
    },
    stats::{
        Verdict,
        bisection::{Answer, Estimate, Finding, Known, Measured, Pair, Question, Strategy},
    },
    verdict::DecidedRow,
};

/// What is searched: a benchmark in a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The metric; absent for the first one that it has.
    pub metric: Option<Metric>,
}

/// What all lines of one search have done together.
#[derive(Default)]
pub struct SampleLimits {
    /// How many comparisons were measured.
    pub measured: usize,
    /// How many were taken from the store.
    pub stored: usize,
    /// How long measuring took.
    pub spent: Duration,
    /// Whether there was no time left.
    pub stopped: bool,
    /// What makes the comparisons less sure.
    pub warnings: Vec<Warning>,
}

impl SampleLimits {
    /// Keeps warnings that are new.
    fn warn(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            warning.add_to(&mut self.warnings);
        }
    }

    /// Counts a comparison.
    fn count(&mut self, spent: Option<Duration>) {
        match spent {
            Some(spent) => {
                self.measured += 1;
                self.spent += spent;
            }
            None => self.stored += 1,
        }
    }
}

/// The comparisons of the versions of a line.
pub struct Comparisons<'c, 's> {
    pub(super) finder: &'c Finder<'c>,
    pub(super) versions: &'c mut Versions<'s>,
    pub(super) line: &'c Line,
    pub(super) subjects: &'c [Subject],
    pub(super) effort: &'c mut SampleLimits,
    /// Why a commit cannot be compared: for all, or for some subjects.
    pub(super) lacking: BTreeMap<(usize, Option<usize>), String>,
    /// What subjects reach of the differences between two commits.
    pub(super) reach: HashMap<(Pair, usize), Impact>,
    /// In which metric each subject is measured, once that is known.
    pub(super) metrics: HashMap<usize, Metric>,
}

/// What is known of one subject in two versions.
enum ComparisonResult {
    Lacking { place: usize, reason: String },
    Impact(Impact),
}

impl Comparisons<'_, '_> {
    /// Answers every question of the strategy, until it has no more or there is no time left.
    pub(super) fn answer(&mut self, strategy: &mut Strategy) -> Result<()> {
        while let Some(question) = strategy.next_question() {
            match question {
                Question::Inspect { pair, subjects } => {
                    let known = self.inspect(pair, &subjects)?;
                    strategy.inspected(pair, subjects.into_iter().zip(known));
                }
                // A comparison that has begun is finished, so that it is stored as a whole, and the next search goes
                // on after it.
                Question::Measure { .. } if self.is_over_budget() => {
                    self.effort.stopped = true;
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
        self.finder.budget.is_some_and(|budget| self.effort.spent >= budget)
    }

    /// What is known of two commits without measuring, for each of these subjects.
    pub(super) fn inspect(&mut self, pair: Pair, subjects: &[usize]) -> Result<Vec<Known>> {
        let line = self.line;
        let versions = pair.map(|commit| line.version(commit));
        if versions[0].tree == versions[1].tree {
            return Ok(vec![Known::Same; subjects.len()]);
        }
        if let Some((place, reason)) = self.versions.prepare_pair(versions)? {
            self.lacking.insert((pair[place], None), reason);
            return Ok(vec![Known::Lacks(pair[place]); subjects.len()]);
        }
        let looked = self.compare_versions(versions, subjects)?;
        let known = subjects.iter().zip(looked).map(|(subject, looked)| match looked {
            ComparisonResult::Lacking { place, reason } => {
                self.lacking.insert((pair[place], Some(*subject)), reason);
                Known::Lacks(pair[place])
            }
            ComparisonResult::Impact(reach) => {
                let is_same = reach.is_nothing();
                self.reach.insert((pair, *subject), reach);
                if is_same { Known::Same } else { Known::Differs }
            }
        });
        Ok(known.collect())
    }

    /// Compares two commits in these subjects. An unchanged one may be called changed with the probability beside it.
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
        self.effort.count(spent);
        self.effort.warn(warnings);
        Ok(subjects.iter().map(|(subject, _)| self.subject_answer(pair, *subject, &rows)).collect())
    }

    /// What of the differences between two versions subjects reach.
    fn compare_versions(
        &mut self,
        versions: [&Version; 2],
        subjects: &[usize],
    ) -> Result<Vec<ComparisonResult>> {
        let benchmark = |subject: &usize| &self.subjects[*subject].benchmark;
        let warnings = &mut self.effort.warnings;
        self.versions.session.with(versions, |session, versions| {
            let mut common = common_benchmarks(versions);
            common.retain(|one| subjects.iter().any(|subject| benchmark(subject) == one));
            let chosen = Selection::select(&session.runner, versions, common, false, warnings)?;
            let looked = subjects.iter().map(|subject| {
                let wanted = benchmark(subject);
                chosen.impact(wanted).map_or_else(
                    || {
                        let has_it = versions[0].benchmarks().contains(wanted);
                        let place = usize::from(has_it);
                        ComparisonResult::Lacking {
                            place,
                            reason: why_missing(&versions[place], wanted),
                        }
                    },
                    |reach| ComparisonResult::Impact(reach.clone()),
                )
            });
            Ok(looked.collect())
        })
    }

    fn announce(&self, pair: Pair, subjects: usize) {
        let [base, head] = pair.map(|commit| self.line.version(commit).short());
        self.finder.console.line(&format!(
            "comparison {}: {base} with {head}, {} apart, for {}",
            self.effort.measured + self.effort.stored + 1,
            count(pair[1] - pair[0], "commit"),
            count(subjects, "benchmark"),
        ));
    }

    /// What the rows of a comparison say of a subject.
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
                let place = row.and_then(|row| row.unmeasured_in);
                if place.is_none() {
                    // One that was compared before is not to blame: the search knows.
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
        let [low, high] = estimate.interval(CONFIDENCE);
        let said = match finding {
            Finding::Changed => "changed",
            Finding::Unchanged => "unchanged",
            Finding::Unsure => "inconclusive",
        };
        self.finder.console.line(&format!(
            "{base}..{head}: {} {}, {said}",
            self.subjects[subject].benchmark.name.id,
            changed_within(estimate.relative(), low, high),
        ));
    }
}

/// A standard error that is far below that of any change of interest.
const ROUNDING: f64 = 1e-8;

/// What a row says; otherwise why it says nothing.
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
        // Counts have none; but what is left of a sum of logarithms is no change.
        standard_error: comparison.standard_error.max(ROUNDING),
        freedom: comparison.freedom,
    };
    Ok(Measured { estimate, finding })
}
