//! One trial after the other: compared, looked into, and gathered for the tables.

use std::{collections::BTreeMap, error::Error};

use serde::{Deserialize, Serialize};

use crate::{
    answer::{Answer, Report, Row, Word, changed_functions, criterion_words},
    judgement,
    measurements::{Pair, first_stage},
    place::Place,
    tools::Tools,
    trial::{BASE, Kind, Trial, benchmarks_using},
};

/// All trials, by kind.
pub struct Study {
    /// Versions that differ by unrelated code.
    pub layout: Vec<Tried>,
    /// Versions in which one function has 10 % more work.
    pub ten: Vec<Tried>,
    /// Versions in which one function has 5 % more work.
    pub five: Vec<Tried>,
    /// Versions in which every function has 5 % more work.
    pub every: Vec<Tried>,
}

impl Study {
    /// Every trial.
    pub fn all(&self) -> impl Iterator<Item = &Tried> {
        self.layout.iter().chain(&self.ten).chain(&self.five).chain(&self.every)
    }
}

/// All that is known of one trial.
pub struct Tried {
    /// Which one.
    pub trial: Trial,
    /// How the comparison ended.
    pub answer: Answer,
    /// What it said.
    pub report: Report,
    /// The benchmarks in whose timed code a function's machine code differs.
    pub touched: Vec<&'static str>,
    /// What the larger comparison said that this report asks for, where it could not say enough of the one
    /// benchmark with more work.
    pub larger: Option<Report>,
    /// What was measured.
    pub subjects: Vec<Subject>,
    /// What criterion said, if it was asked.
    pub criterion: Option<CriterionSaid>,
}

impl Tried {
    /// Whether a benchmark has more work in the head.
    pub fn is_planted(&self, benchmark: &str) -> bool {
        self.trial.planted().contains(&benchmark)
    }

    /// How many benchmarks with more work are said to have regressed.
    pub fn named(&self) -> usize {
        let regressed = self.report.with_verdict(&["regressed"]);
        regressed.into_iter().filter(|benchmark| self.is_planted(benchmark)).count()
    }

    /// The same, with the larger comparison taken for the first one where it was asked for.
    pub fn named_as_planned(&self) -> usize {
        let larger = self.larger.as_ref().map(|report| report.with_verdict(&["regressed"]).len());
        larger.unwrap_or_else(|| self.named())
    }

    /// The change of a benchmark that the report gives: 0.05 is 5 %.
    pub fn reported_change(&self, benchmark: &str) -> Option<f64> {
        let row = self.report.benchmarks.iter().find(|row| row.id == benchmark)?;
        Some(row.change?.estimate)
    }

    /// Benchmarks with the same work that have one of these verdicts.
    pub fn others_with(&self, verdicts: &[&str]) -> Vec<&str> {
        let mut others = self.report.with_verdict(verdicts);
        others.retain(|benchmark| !self.is_planted(benchmark));
        others
    }

    /// Whether the comparison exited with 1 exactly if it names a regression.
    pub fn exit_agrees(&self) -> bool {
        (self.answer.exit == 1) != self.report.with_verdict(&["regressed"]).is_empty()
    }
}

/// One benchmark of a trial.
pub struct Subject {
    /// Its name.
    pub benchmark: String,
    /// What the comparison's first stage measured.
    pub first: Pair,
    /// Fresh builds of both versions, if any estimator wanted them.
    pub fresh: Option<Pair>,
}

/// What criterion said about a trial, by benchmark.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct CriterionSaid {
    /// Of the head.
    pub head: BTreeMap<String, Word>,
    /// Of the base run once more.
    pub rerun: BTreeMap<String, Word>,
}

/// What of a trial criterion is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskCriterion {
    /// Nothing.
    No,
    /// About the planted benchmark.
    Planted,
    /// About all benchmarks, and about the base run again.
    All,
}

/// Compares the versions of a trial, again by fresh builds what any estimator flags, and the benchmark with
/// more work again as the report asks for if it is inconclusive.
pub fn try_out(
    place: &Place,
    tools: &Tools<'_>,
    trial: Trial,
    ask: AskCriterion,
) -> Result<(), Box<dyn Error>> {
    let name = trial.name();
    let versions = [BASE, name.as_str()];
    let answer = place.ask_once(&name, || tools.compare(versions, trial.seed(), &[], &[]))?;
    place.ask_once(&format!("{name}.diff"), || tools.diff(versions))?;
    place.ask_once(&fresh(trial), || {
        let report = answer.report()?;
        let first = first_stage(&place.store(), &report, trial.seed())?;
        let mut wanted = Vec::new();
        for (benchmark, pair) in &first {
            if judgement::anyone_wants_fresh_builds(pair)? {
                wanted.push(benchmark.as_str());
            }
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        tools.compare(versions, trial.fresh_seed(), &wanted, &["--no-confirm"]).map(Some)
    })?;
    place.ask_once(&larger(trial), || {
        let &[planted] = trial.planted() else { return Ok(None) };
        let report = answer.report()?;
        let inconclusive = |row: &&Row| row.id == planted && row.verdict == "inconclusive";
        let row = report.benchmarks.iter().find(inconclusive);
        let Some([flag, number]) = row.and_then(Row::asked_for) else { return Ok(None) };
        tools.compare(versions, trial.larger_seed(), &[planted], &[&flag, &number]).map(Some)
    })?;
    if ask != AskCriterion::No {
        place.ask_once(&criterion(trial), || ask_criterion(tools, trial, ask))?;
    }
    Ok(())
}

/// Criterion's baseline is the base; the order of its rerun and the head alternates.
fn ask_criterion(
    tools: &Tools<'_>,
    trial: Trial,
    ask: AskCriterion,
) -> Result<CriterionSaid, Box<dyn Error>> {
    let base = tools.criterion_executable(BASE)?;
    let head = tools.criterion_executable(&trial.name())?;
    let only = trial.planted().first().copied().filter(|_| ask == AskCriterion::Planted);
    let against_base = |executable| -> Result<_, Box<dyn Error>> {
        Ok(criterion_words(&tools.criterion(executable, ["--baseline", BASE], only)?))
    };
    tools.criterion(&base, ["--save-baseline", BASE], only)?;
    let mut said = CriterionSaid::default();
    if ask == AskCriterion::Planted {
        said.head = against_base(&head)?;
    } else if trial.number.is_multiple_of(2) {
        said.rerun = against_base(&base)?;
        said.head = against_base(&head)?;
    } else {
        said.head = against_base(&head)?;
        said.rerun = against_base(&base)?;
    }
    Ok(said)
}

/// Every trial of a kind that was tried, in order.
pub fn gather(place: &Place, kind: Kind) -> Result<Vec<Tried>, Box<dyn Error>> {
    let mut all = Vec::new();
    for number in 0.. {
        match gather_one(place, Trial { kind, number })? {
            Some(tried) => all.push(tried),
            None => break,
        }
    }
    Ok(all)
}

fn gather_one(place: &Place, trial: Trial) -> Result<Option<Tried>, Box<dyn Error>> {
    let name = trial.name();
    let said = (
        place.said::<Answer>(&name)?,
        place.said(&format!("{name}.diff"))?,
        place.said::<Option<Answer>>(&fresh(trial))?,
    );
    let (Some(answer), Some(diff), Some(fresh)) = said else { return Ok(None) };
    let larger = place.said::<Option<Answer>>(&larger(trial))?.flatten();
    let report = answer.report()?;
    let mut again: BTreeMap<String, Pair> = match fresh {
        Some(fresh) => first_stage(&place.store(), &fresh.report()?, trial.fresh_seed())?,
        None => Vec::new(),
    }
    .into_iter()
    .collect();
    let first = first_stage(&place.store(), &report, trial.seed())?;
    let subject = |(benchmark, first)| {
        let fresh = again.remove(&benchmark);
        Subject { benchmark, first, fresh }
    };
    Ok(Some(Tried {
        trial,
        touched: benchmarks_using(&changed_functions(&diff)),
        subjects: first.into_iter().map(subject).collect(),
        criterion: place.said(&criterion(trial))?,
        larger: larger.map(|answer| answer.report()).transpose()?,
        answer,
        report,
    }))
}

fn fresh(trial: Trial) -> String {
    format!("{}.fresh", trial.name())
}

fn larger(trial: Trial) -> String {
    format!("{}.larger", trial.name())
}

fn criterion(trial: Trial) -> String {
    format!("{}.criterion", trial.name())
}
