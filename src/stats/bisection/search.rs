//! The search of one subject: what it must know next, and what it concludes from what it knows.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Decision, Estimate, Finding, Known, Measured, Pair, decide};

/// What a search must know next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// What is known of two commits without measuring.
    Inspect(Pair),
    /// A comparison.
    Measure {
        /// Of these commits.
        pair: Pair,
        /// How often it may call a subject changed that is not.
        rate: f64,
    },
}

impl Task {
    /// The pair that is asked for without measuring, if it is that.
    pub(super) const fn inspected(&self) -> Option<Pair> {
        match self {
            Self::Inspect(pair) => Some(*pair),
            Self::Measure { .. } => None,
        }
    }
}

/// What a search ends with.
#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// The subject does the same at both ends.
    Same,
    /// One end cannot be compared.
    Lacks(usize),
    /// The ends may differ, and were not compared.
    Open,
    /// The ends were compared, and no change is shown.
    NotChanged(Measured),
    /// The ends differ.
    Changed {
        /// By so much.
        total: Measured,
        /// Where the changes are, oldest first.
        found: Vec<Found>,
    },
}

/// Commits that hold a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The last commit before it.
    pub after: usize,
    /// The last commit that may be it; if `after` is the one before, it is this one.
    pub at: usize,
    /// Which commits were compared last, as the subject does the same in these two as in `after` and `at`.
    pub compared: Pair,
    /// The change, by what names it.
    pub change: Estimate,
    /// What it ends with.
    pub ending: Ending,
}

impl Found {
    /// Whether it explains a part of the whole change.
    fn is_shown(&self) -> bool {
        self.ending != Ending::NotShown
    }
}

/// Why a search ended where it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The commits, of which only the last can be compared, were compared with the one before them, and changed.
    Shown,
    /// Neither half of the commits alone is shown to have changed: it may be the work of several.
    Spread,
    /// Their own comparison does not show the change that other comparisons leave for them.
    NotShown,
    /// The budget ended the search.
    Stopped,
}

/// The search of one subject.
#[derive(Clone, Debug)]
pub struct Search {
    /// How many commits the range has.
    commits: usize,
    /// The smallest change of interest, on logarithms.
    min_change: f64,
    /// How often the first comparison may show a change that is none, once it is to be made.
    first_rate: Option<f64>,
    /// `β`: how often something may be named after it that is no change, once that is to be searched.
    budget: Option<f64>,
    stopped: bool,
    lacking_end: Option<usize>,
    unusable: BTreeSet<usize>,
    known: BTreeMap<Pair, Known>,
    measured: BTreeMap<Pair, Measured>,
}

/// Some commits that hold a change.
#[derive(Clone, Copy, Debug)]
struct Segment {
    from: usize,
    to: usize,
    /// The change, as it is known by now.
    known: Estimate,
    /// The comparison of its ends, if that shows the change.
    shown: Option<(Pair, Estimate)>,
}

impl Segment {
    /// Its change, by its own comparison if that shows it.
    fn found(&self, ending: Ending) -> Found {
        let Self { from, to, known, shown } = *self;
        let (compared, change) = shown.unwrap_or(([from, to], known));
        Found { after: from, at: to, compared, change, ending }
    }
}

/// How many halvings lead from so many commits to a single one: `⌈log₂ n⌉`.
pub fn steps(commits: usize) -> u32 {
    commits.max(1).next_power_of_two().ilog2()
}

impl Search {
    /// Of so many commits, for changes of at least `min_effect` (0.01 is 1 %). It asks what is known of the ends, and
    /// nothing more before it may [compare](Self::compare_at) them and [narrow](Self::narrow_within) them down.
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

    /// Lets it compare the ends, which may show a change that is none with a probability of `rate`.
    pub const fn compare_at(&mut self, rate: f64) {
        self.first_rate = Some(rate);
    }

    /// Lets it narrow a change of the ends down, and name what is no change with a probability of `budget`.
    pub const fn narrow_within(&mut self, budget: f64) {
        self.budget = Some(budget);
    }

    /// Lets it conclude from what it knows.
    pub const fn stop(&mut self) {
        self.stopped = true;
    }

    /// How many commits the range has.
    pub const fn commits(&self) -> usize {
        self.commits
    }

    /// How many comparisons it was told of.
    pub fn comparisons(&self) -> usize {
        self.measured.len()
    }

    /// What it must know next; none if it is concluded.
    pub fn next(&self) -> Option<Task> {
        self.conclusion().err()
    }

    /// What is known of two commits.
    pub fn know(&mut self, pair: Pair, known: Known) {
        let is_passed_over = matches!(known, Known::Lacks(commit) if self.pass_over(pair, commit));
        if !is_passed_over {
            let is_same = known == Known::Same;
            self.known.insert(pair, if is_same { known } else { Known::Differs });
        }
    }

    /// What came of a comparison.
    pub fn answer(&mut self, pair: Pair, answer: Answer) {
        match answer {
            Answer::Measured(measured) => drop(self.measured.insert(pair, measured)),
            Answer::Lacks(commit) if self.pass_over(pair, commit) => {}
            Answer::Lacks(_) => drop(self.measured.insert(pair, NOTHING)),
        }
    }

    /// The commits that cannot be compared, as far as they were tried.
    pub const fn unusable(&self) -> &BTreeSet<usize> {
        &self.unusable
    }

    /// The pairs in which the subject does the same, so that nothing between them was searched.
    pub fn same(&self) -> impl Iterator<Item = Pair> {
        self.known.iter().filter(|(_, known)| **known == Known::Same).map(|(pair, _)| *pair)
    }

    /// What it concludes, or what it must know for that.
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
        let (known, shown) = (total.estimate, Some((whole, total.estimate)));
        let segment = Segment { from: 0, to: self.commits, known, shown };
        let mut found = Vec::new();
        match self.budget {
            Some(budget) => self.narrow(segment, budget, &mut found)?,
            None => found.push(segment.found(Ending::Stopped)),
        }
        Ok(Conclusion::Changed { total, found: self.needed(total.estimate, found) })
    }

    /// The places without those that their own comparison does not show, if nothing of interest is left to explain
    /// by them.
    fn needed(&self, total: Estimate, mut found: Vec<Found>) -> Vec<Found> {
        let left = Self::unexplained(total, &found);
        // Known twice: by what the others leave, and by their own comparisons.
        let own = found.iter().filter(|one| !one.is_shown()).map(|one| one.change);
        let left = own.reduce(Estimate::plus).map_or(left, |own| left.with(own));
        if found.iter().any(Found::is_shown) && !left.is_left(self.min_change) {
            found.retain(Found::is_shown);
        }
        found
    }

    /// What places that may hold a part of a change leave of it.
    fn unexplained(whole: Estimate, found: &[Found]) -> Estimate {
        let shown = found.iter().filter(|one| one.is_shown());
        shown.map(|one| one.change).fold(whole, Estimate::minus)
    }

    /// Finds what changed in a segment, as far as it goes if the search was stopped.
    fn narrow(&self, segment: Segment, budget: f64, found: &mut Vec<Found>) -> Result<(), Task> {
        match self.narrow_fully(segment, budget, found) {
            Err(_) if self.stopped => {
                found.push(segment.found(Ending::Stopped));
                Ok(())
            }
            done => done,
        }
    }

    /// Finds what changed in a segment.
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
            Segment { from, to, known, shown: shown.map(|one| ([from, to], one.estimate)) }
        };
        let rest = budget - share;
        match decision {
            Decision::Older(of_older) => {
                let before = found.len();
                self.narrow(part(from, middle, of_older, Some(older)), rest, found)?;
                // What the older half holds is known better now, and the comparison of the newer half is not spent.
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

    /// What is said of a segment with nothing usable between its ends: they are compared, unless they were.
    fn last(&self, segment: Segment, rate: f64) -> Result<Found, Task> {
        let Segment { from, to, known, shown } = segment;
        if shown.is_some() {
            return Ok(segment.found(Ending::Shown));
        }
        let own = self.compare([from, to], rate)?;
        let both = own.estimate.with(known);
        let is_shown = match own.finding {
            Finding::Changed => true,
            Finding::Unchanged => false,
            Finding::Unsure => both.shows(self.min_change, rate),
        };
        let ending = if is_shown { Ending::Shown } else { Ending::NotShown };
        let shown = Some(([from, to], own.estimate));
        Ok(Segment { shown, ..segment }.found(ending))
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

    /// Passes over a commit that cannot be compared, if that is possible. One that was compared before is not to
    /// blame: then it is the other one.
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

/// A comparison that says nothing.
const NOTHING: Measured = Measured {
    estimate: Estimate { log_change: 0.0, standard_error: 1e3, freedom: 1.0 },
    finding: Finding::Unsure,
};

impl Conclusion {
    /// What of the whole change the commits that were found do not explain; none without a change.
    pub fn unexplained(&self) -> Option<Estimate> {
        match self {
            Self::Changed { total, found } => {
                let changes = found.iter().map(|one| one.change);
                Some(changes.fold(total.estimate, Estimate::minus))
            }
            _ => None,
        }
    }
}
