//! Runs trials one by one, with criterion too, and collects them for the tables.

use std::{collections::BTreeMap, error::Error, time::Duration};

use lab::criterion::{self, Word};
use serde::{Deserialize, Serialize};

use crate::{
    answer::{Answer, Report, Row},
    place::Place,
    proportion::Proportion,
    stored::{Subject, subjects},
    tools::Tools,
    trial::{BASE, Change, Trial, Way},
};

pub struct Kind {
    /// The difference between base and head.
    pub change: Change,
    pub way: Way,
    /// The trials, in order of their numbers.
    pub trials: Vec<Tried>,
}

pub struct Tried {
    pub trial: Trial,
    pub answer: Answer,
    pub report: Report,
    pub subjects: Vec<Subject>,
    /// The verdicts of criterion, if it was run.
    pub criterion: Option<CriterionSaid>,
}

/// The verdicts of criterion on a trial, by benchmark.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct CriterionSaid {
    /// On the head.
    pub head: BTreeMap<String, Word>,
    /// On the base, run once more.
    pub rerun: BTreeMap<String, Word>,
}

impl Tried {
    pub fn warned_of(&self, kind: &str) -> bool {
        self.report.warnings.iter().any(|warning| warning.kind == kind)
    }
}

/// The cost of deciding the rows of some comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The time of measuring all rows, in seconds.
    pub seconds: f64,
    pub decided: usize,
}

impl Cost {
    /// The cost of these comparisons.
    pub fn from_trials(trials: &[Tried]) -> Self {
        let measuring = trials.iter().flat_map(|tried| &tried.subjects);
        let time: Duration = measuring.map(|subject| subject.measuring).sum();
        let rows = trials.iter().flat_map(|tried| &tried.report.benchmarks);
        let decided = rows.filter(|row| row.is_decided()).count();
        Self { seconds: time.as_secs_f64(), decided }
    }

    /// Seconds of measuring for each decided row; infinite if none is decided.
    pub fn per_decided(self) -> f64 {
        if self.decided == 0 { f64::INFINITY } else { self.seconds / self.decided as f64 }
    }
}

impl Kind {
    /// Collects every completed trial of a kind.
    pub fn gather(place: &Place, change: Change, way: Way) -> Result<Self, Box<dyn Error>> {
        let mut trials = Vec::new();
        for number in 0.. {
            let trial = Trial { change, way, number };
            let name = trial.name();
            let Some(answer) = place.said::<Answer>(&name)? else { break };
            let report = answer.report()?;
            let subjects = subjects(&place.store(), &report, trial.seed())?;
            let criterion = place.said(&name_of_criterion(trial))?;
            trials.push(Tried { trial, answer, report, subjects, criterion });
        }
        Ok(Self { change, way, trials })
    }

    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.trials.iter().flat_map(|tried| &tried.report.benchmarks)
    }

    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.trials.iter().flat_map(|tried| &tried.subjects)
    }

    pub fn with_verdict(&self, verdict: &str) -> Proportion {
        Proportion::count(self.rows(), |row| row.verdict == verdict)
    }
}

/// Compares the versions of a trial, also by criterion if requested. Stored results are not
/// measured again.
pub fn try_out(
    place: &Place,
    tools: &Tools<'_>,
    trial: Trial,
    ask_criterion: bool,
) -> Result<(), Box<dyn Error>> {
    place.ask_once(&trial.name(), || tools.compare(trial))?;
    if ask_criterion {
        place.ask_once(&name_of_criterion(trial), || by_criterion(tools, trial))?;
    }
    Ok(())
}

/// Criterion's baseline is the base, measured directly before; the order of its rerun and the head
/// alternates.
fn by_criterion(tools: &Tools<'_>, trial: Trial) -> Result<CriterionSaid, Box<dyn Error>> {
    let base = tools.criterion_executable(BASE)?;
    let head = tools.criterion_executable(&trial.head())?;
    let against_base = |executable| -> Result<_, Box<dyn Error>> {
        let verdicts = criterion::verdicts(&tools.criterion(executable, ["--baseline", BASE])?);
        Ok(verdicts.into_iter().map(|(name, (word, _))| (name, word)).collect())
    };
    tools.criterion(&base, ["--save-baseline", BASE])?;
    Ok(if trial.number.is_multiple_of(2) {
        let rerun = against_base(&base)?;
        CriterionSaid { rerun, head: against_base(&head)? }
    } else {
        let head = against_base(&head)?;
        CriterionSaid { head, rerun: against_base(&base)? }
    })
}

fn name_of_criterion(trial: Trial) -> String {
    format!("{}.criterion", trial.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_infinite_if_nothing_is_decided() {
        assert!((Cost { seconds: 10.0, decided: 5 }.per_decided() - 2.0).abs() < 1e-9);
        assert!(Cost { seconds: 10.0, decided: 0 }.per_decided().is_infinite());
    }
}
