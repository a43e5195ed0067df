//! The search of one subject: which question comes next, and the conclusion from the answers: which half of a
//! range of commits holds its change. Pure.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Estimate, Finding, Known, Measured, Pair};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// The knowledge about two commits without measuring.
    Inspect(Pair),
    Measure {
        pair: Pair,
        /// The highest acceptable probability of calling an unchanged subject changed.
        rate: f64,
    },
}

impl Task {
    /// The pair to inspect without measuring, if that is the question.
    pub(super) const fn inspected(&self) -> Option<Pair> {
        match self {
            Self::Inspect(pair) => Some(*pair),
            Self::Measure { .. } => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// The subject behaves the same at both ends.
    Same,
    /// One end cannot be compared.
    Lacks(usize),
    /// The ends may differ, and were not compared.
    Open,
    /// The ends were compared, and no change is shown.
    NotChanged(Measured),
    Changed {
        /// The change between the ends.
        total: Measured,
        /// The commits that hold the changes, oldest first.
        found: Vec<Found>,
    },
}

/// Commits that hold a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The last commit before the change.
    pub after: usize,
    /// The last candidate; the only one if `after` is the commit before it.
    pub at: usize,
    pub change: Estimate,
    /// The reason why the search ended here.
    pub ending: Ending,
}

impl Found {
    /// True if it explains a part of the whole change.
    fn is_shown(&self) -> bool {
        self.ending != Ending::NotShown
    }
}

/// The reason why a search ended at some commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// A single commit: it was compared with the commit before it, and changed.
    Named,
    /// Only the last of several commits can be compared; it was, with the commit before them, and changed.
    NotComparable,
    /// Neither half of the commits alone is shown to have changed: several commits may share the change.
    Spread,
    /// Their own comparison does not show the change that other comparisons attribute to them.
    NotShown,
    /// The budget ended the search.
    Stopped,
}

#[derive(Clone, Debug)]
pub struct Search {
    commits: usize,
    /// The smallest change of interest, on logarithms.
    min_change: f64,
    /// The rate of false changes allowed to the first comparison, once it may be made.
    first_rate: Option<f64>,
    /// `β`: the probability of naming a false change after the first comparison, once the search may go on.
    budget: Option<f64>,
    stopped: bool,
    lacking_end: Option<usize>,
    unusable: BTreeSet<usize>,
    known: BTreeMap<Pair, Known>,
    measured: BTreeMap<Pair, Measured>,
}

/// A run of commits that holds a change.
#[derive(Clone, Copy, Debug)]
struct Segment {
    from: usize,
    to: usize,
    /// The present estimate of the change.
    known: Estimate,
    /// The change by the comparison of its ends, if that shows one.
    shown: Option<Estimate>,
}

impl Segment {
    /// The change of the segment, from its own comparison if that shows one.
    fn found(&self, ending: Ending) -> Found {
        let Self { from, to, known, shown } = *self;
        Found { after: from, at: to, change: shown.unwrap_or(known), ending }
    }

    /// The ending if the comparison of its ends shows the change, and no commit between them can be compared.
    const fn shown(&self) -> Ending {
        if self.to - self.from == 1 { Ending::Named } else { Ending::NotComparable }
    }
}

/// The number of halvings from `commits` to a single one: `⌈log₂ n⌉`.
pub fn steps(commits: usize) -> u32 {
    commits.max(1).next_power_of_two().ilog2()
}

impl Search {
    /// A search of `commits` commits for changes of at least `min_effect` (0.01 is 1 %). It asks only for the stored
    /// knowledge of the ends until it may [compare](Self::compare_at) them and [narrow](Self::narrow_within) the range.
    pub fn new(commits: usize, min_effect: f64) -> Self {
        Self {
            commits,
            min_change: min_effect.ln_1p(),
            first_rate: None,
            budget: None,
            stopped: false,
            lacking_end: None,
            unusable: BTreeSet::new(),
            known: BTreeMap::new(),
            measured: BTreeMap::new(),
        }
    }

    /// Allows the comparison of the ends, which may show a false change with a probability of `rate`.
    pub const fn compare_at(&mut self, rate: f64) {
        self.first_rate = Some(rate);
    }

    /// Allows narrowing the range, which may name a false change with a probability of `budget`.
    pub const fn narrow_within(&mut self, budget: f64) {
        self.budget = Some(budget);
    }

    /// Makes the search conclude from its present knowledge.
    pub const fn stop(&mut self) {
        self.stopped = true;
    }

    pub const fn commits(&self) -> usize {
        self.commits
    }

    pub fn comparisons(&self) -> usize {
        self.measured.len()
    }

    /// The next question; none if the search is concluded.
    pub fn next(&self) -> Option<Task> {
        self.conclusion().err()
    }

    /// Records the knowledge about two commits.
    pub fn know(&mut self, pair: Pair, known: Known) {
        let is_passed_over = matches!(known, Known::Lacks(commit) if self.pass_over(pair, commit));
        if !is_passed_over {
            let is_same = known == Known::Same;
            self.known.insert(pair, if is_same { known } else { Known::Differs });
        }
    }

    /// Records the result of a comparison.
    pub fn answer(&mut self, pair: Pair, answer: Answer) {
        match answer {
            Answer::Measured(measured) => drop(self.measured.insert(pair, measured)),
            Answer::Lacks(commit) if self.pass_over(pair, commit) => {}
            Answer::Lacks(_) => drop(self.measured.insert(pair, NOTHING)),
        }
    }

    /// The commits that cannot be compared, among those that were tried.
    pub const fn unusable(&self) -> &BTreeSet<usize> {
        &self.unusable
    }

    /// The pairs in which the subject behaves the same, so that the commits between them were not searched.
    pub fn same(&self) -> impl Iterator<Item = Pair> {
        self.known.iter().filter(|(_, known)| **known == Known::Same).map(|(pair, _)| *pair)
    }

    /// The conclusion, or the question that must be answered first.
    pub fn conclusion(&self) -> Result<Conclusion, Task> {
        let whole = [0, self.commits];
        if let Some(end) = self.lacking_end {
            return Ok(Conclusion::Lacks(end));
        }
        if self.commits == 0 {
            return Ok(Conclusion::Same);
        }
        match self.inspect(whole) {
            Ok(Known::Same) => return Ok(Conclusion::Same),
            Err(_) if self.stopped => return Ok(Conclusion::Open),
            known => known?,
        };
        let Some(rate) = self.first_rate else { return Ok(Conclusion::Open) };
        let total = match self.compare(whole, rate) {
            Err(_) if self.stopped => return Ok(Conclusion::Open),
            total => total?,
        };
        if total.finding != Finding::Changed {
            return Ok(Conclusion::NotChanged(total));
        }
        let (known, shown) = (total.estimate, Some(total.estimate));
        let segment = Segment { from: 0, to: self.commits, known, shown };
        let mut found = Vec::new();
        match self.budget {
            Some(budget) => self.narrow(segment, budget, &mut found)?,
            None => found.push(segment.found(Ending::Stopped)),
        }
        Ok(Conclusion::Changed { total, found: self.needed(total.estimate, found) })
    }

    /// Drops the places that their own comparison does not show, if the others explain the whole change.
    fn needed(&self, total: Estimate, mut found: Vec<Found>) -> Vec<Found> {
        let left = Self::unexplained(total, &found);
        // Two estimates of it: the remainder from the others, and their own comparisons.
        let own = found.iter().filter(|one| !one.is_shown()).map(|one| one.change);
        let left = own.reduce(Estimate::plus).map_or(left, |own| left.with(own));
        if found.iter().any(Found::is_shown) && !left.is_left(self.min_change) {
            found.retain(Found::is_shown);
        }
        found
    }

    /// The remainder of the whole change without the places that may hold a part of it.
    fn unexplained(whole: Estimate, found: &[Found]) -> Estimate {
        let shown = found.iter().filter(|one| one.is_shown());
        shown.map(|one| one.change).fold(whole, Estimate::minus)
    }

    /// Finds the changes in a segment; if the search was stopped, as many as are known.
    fn narrow(&self, segment: Segment, budget: f64, found: &mut Vec<Found>) -> Result<(), Task> {
        match self.narrow_fully(segment, budget, found) {
            Err(_) if self.stopped => {
                found.push(segment.found(Ending::Stopped));
                Ok(())
            }
            done => done,
        }
    }

    /// Finds the changes in a segment.
    fn narrow_fully(
        &self,
        mut segment: Segment,
        budget: f64,
        found: &mut Vec<Found>,
    ) -> Result<(), Task> {
        let (middle, share) = loop {
            let Segment { from, to, .. } = segment;
            let Some(middle) = self.middle(from, to) else {
                found.push(self.last(segment, budget)?);
                return Ok(());
            };
            if self.inspect([from, middle])? == Known::Same {
                segment.from = middle;
            } else if self.inspect([middle, to])? == Known::Same {
                segment.to = middle;
            } else {
                break (middle, budget / f64::from(steps(to - from) + 1));
            }
        };
        let Segment { from, to, known, .. } = segment;
        let half = share / 2.0;
        let older = self.compare([from, middle], half)?;
        let (mut newer, limits) = (None, (half, self.min_change));
        let mut decision = decide(known, older, newer, limits);
        if decision == Decision::MeasureNewer {
            newer = Some(self.compare([middle, to], half)?);
            decision = decide(known, older, newer, limits);
        }
        let part = |from, to, known, measured: Option<Measured>| {
            let shown = measured.filter(|one| one.finding == Finding::Changed);
            Segment { from, to, known, shown: shown.map(|one| one.estimate) }
        };
        let rest = budget - share;
        match decision {
            Decision::Older(of_older) => {
                let before = found.len();
                self.narrow(part(from, middle, of_older, Some(older)), rest, found)?;
                // The older half is known better now, and the newer half can still spend its comparison.
                let left = Self::unexplained(known, &found[before..]);
                if newer.is_some() || !left.is_left(self.min_change) {
                    return Ok(());
                }
                let newer = match self.compare([middle, to], half / 2.0) {
                    Err(_) if self.stopped => {
                        found.push(part(middle, to, left, None).found(Ending::Stopped));
                        return Ok(());
                    }
                    newer => newer?,
                };
                if newer.finding == Finding::Changed {
                    let newer = part(middle, to, newer.estimate, Some(newer));
                    self.narrow(newer, half / 2.0, found)?;
                }
                Ok(())
            }
            Decision::Newer(known) => self.narrow(part(middle, to, known, newer), rest, found),
            Decision::Both([of_older, of_newer]) => {
                self.narrow(part(from, middle, of_older, Some(older)), rest / 2.0, found)?;
                self.narrow(part(middle, to, of_newer, newer), rest / 2.0, found)
            }
            Decision::MeasureNewer | Decision::Neither => {
                found.push(segment.found(Ending::Spread));
                Ok(())
            }
        }
    }

    /// The result for a segment without a usable commit between its ends: compares them unless they were.
    fn last(&self, segment: Segment, rate: f64) -> Result<Found, Task> {
        let Segment { from, to, known, shown } = segment;
        if shown.is_some() {
            return Ok(segment.found(segment.shown()));
        }
        let own = self.compare([from, to], rate)?;
        let both = own.estimate.with(known);
        let is_shown = match own.finding {
            Finding::Changed => true,
            Finding::Unchanged => false,
            Finding::Unsure => both.shows(self.min_change, rate),
        };
        let ending = if is_shown { segment.shown() } else { Ending::NotShown };
        Ok(Segment { shown: Some(own.estimate), ..segment }.found(ending))
    }

    /// The usable commit between two that is nearest to their middle; of two, the older one.
    fn middle(&self, from: usize, to: usize) -> Option<usize> {
        let usable = (from + 1..to).filter(|commit| !self.unusable.contains(commit));
        usable.min_by_key(|commit| (2 * commit).abs_diff(from + to))
    }

    fn inspect(&self, pair: Pair) -> Result<Known, Task> {
        self.known.get(&pair).copied().ok_or(Task::Inspect(pair))
    }

    fn compare(&self, pair: Pair, rate: f64) -> Result<Measured, Task> {
        self.measured.get(&pair).copied().ok_or(Task::Measure { pair, rate })
    }

    /// Skips a commit that cannot be compared, if possible. If it was compared before, the other commit must be the
    /// cause.
    fn pass_over(&mut self, pair: Pair, commit: usize) -> bool {
        if pair == [0, self.commits] {
            self.lacking_end = Some(commit);
            return true;
        }
        let is_open = |commit: &usize| {
            *commit != 0
                && *commit != self.commits
                && !self.measured.keys().flatten().any(|one| one == commit)
        };
        let open = [commit, pair[0], pair[1]].into_iter().find(is_open);
        open.is_some_and(|open| self.unusable.insert(open))
    }
}

/// A comparison without information.
const NOTHING: Measured = Measured {
    estimate: Estimate { log_change: 0.0, standard_error: 1e3, freedom: 1.0 },
    finding: Finding::Unsure,
};

/// The next step for the two halves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// The older half holds a change of this size, and the newer half none that is shown.
    Older(Estimate),
    /// The newer half holds a change of this size, and the older half none that is shown.
    Newer(Estimate),
    /// Both halves hold a change: older, newer.
    Both([Estimate; 2]),
    /// The newer half must be measured too.
    MeasureNewer,
    /// Neither half alone is shown to hold a change.
    Neither,
}

/// Decides from the change of the `whole`, the older half and, if it was measured, the newer half.
///
/// A half is shown to hold a change if its own comparison shows one. Before the newer half is measured, and where its
/// own comparison leaves a half open, the remainder of the whole counts: an estimate of at least `min_change`, on
/// logarithms, with a two-sided p value of at most `rate`.
pub fn decide(
    whole: Estimate,
    older: Measured,
    newer: Option<Measured>,
    (rate, min_change): (f64, f64),
) -> Decision {
    let is_shown = |change: Estimate| change.shows(min_change, rate);
    let says = |measured: Measured, known: Estimate| match measured.finding {
        Finding::Changed => true,
        Finding::Unchanged => false,
        Finding::Unsure => is_shown(known),
    };
    let Some(newer) = newer else {
        let rest = whole.minus(older.estimate);
        return match (older.finding == Finding::Changed, is_shown(rest)) {
            (true, true) => Decision::Both([older.estimate, rest]),
            (true, false) if rest.is_left(min_change) => Decision::MeasureNewer,
            (true, false) => Decision::Older(older.estimate),
            // The difference would only add the noise of a half without a change of interest.
            (false, true) if older.finding == Finding::Unchanged => Decision::Newer(whole),
            (false, true) => Decision::Newer(rest),
            (false, false) => Decision::MeasureNewer,
        };
    };
    let known = [
        older.estimate.with(whole.minus(newer.estimate)),
        newer.estimate.with(whole.minus(older.estimate)),
    ];
    match (says(older, known[0]), says(newer, known[1])) {
        (true, true) => Decision::Both(known),
        (true, false) => Decision::Older(known[0]),
        (false, true) => Decision::Newer(known[1]),
        (false, false) => Decision::Neither,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(percent: f64) -> Estimate {
        Estimate { log_change: percent / 100.0, standard_error: 0.002, freedom: 9.0 }
    }

    fn measured(percent: f64, finding: Finding) -> Measured {
        Measured { estimate: estimate(percent), finding }
    }

    fn by_older(percent: f64, finding: Finding) -> Decision {
        decide(estimate(5.0), measured(percent, finding), None, (0.001, 0.01))
    }

    #[test]
    fn decide_finds_the_half_with_the_change() {
        assert_eq!(by_older(4.9, Finding::Changed), Decision::Older(estimate(4.9)));
        assert_eq!(by_older(0.1, Finding::Unchanged), Decision::Newer(estimate(5.0)));
        assert!(
            matches!(by_older(0.9, Finding::Unsure), Decision::Newer(rest) if rest.log_change < 0.042)
        );
    }

    #[test]
    fn decide_searches_both_halves_if_both_changed() {
        assert!(matches!(by_older(3.0, Finding::Changed), Decision::Both(_)));
        assert!(
            matches!(by_older(8.0, Finding::Changed), Decision::Both([_, down]) if down.log_change < 0.0)
        );
    }

    #[test]
    fn decide_measures_the_newer_half_if_the_rest_is_unclear() {
        assert_eq!(by_older(3.9, Finding::Changed), Decision::MeasureNewer);
        let unsure = |older, newer| {
            let older = Measured { estimate: estimate(older), finding: Finding::Unsure };
            decide(estimate(1.2), older, newer, (0.005, 0.01))
        };
        assert_eq!(unsure(0.6, None), Decision::MeasureNewer);
        assert_eq!(unsure(0.6, Some(measured(0.6, Finding::Unsure))), Decision::Neither);
        let newer = measured(1.3, Finding::Changed);
        assert!(matches!(unsure(0.0, Some(newer)), Decision::Newer(_)));
    }
}
