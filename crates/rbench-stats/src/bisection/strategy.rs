//! Chooses the two commits that the searches of one range compare next. Pure: it asks for pairs one at a time and is
//! given the results; it neither measures nor calls the measuring code, so that it is tested without a repository.

use super::{Answer, Conclusion, Known, Pair, Search, Task, steps};

/// The next pair of commits to learn about.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// The knowledge about the pair without measuring; the answer goes to [`Strategy::inspected`].
    Inspect {
        pair: Pair,
        /// The searches that ask, by index.
        subjects: Vec<usize>,
    },
    /// A comparison; the answer goes to [`Strategy::measured`].
    Measure {
        pair: Pair,
        /// The searches that ask, by index, each with the probability at which it may call an unchanged subject
        /// changed.
        subjects: Vec<(usize, f64)>,
    },
}

/// The searches of all subjects in one range, which share comparisons and one error rate.
#[derive(Clone, Debug)]
pub struct Strategy {
    searches: Vec<Search>,
    phase: Phase,
    /// The probability that any search names a commit that changed nothing.
    alpha: f64,
    /// The part of `alpha` for the comparisons of the whole range.
    share: f64,
}

/// The questions that the searches may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Inspection of the ends of the range, which may be equal.
    Inspecting,
    Comparing,
    /// Comparisons within the range.
    Narrowing,
}

impl Strategy {
    /// Starts the searches, all of one range. Together they name a commit that changed nothing with a probability of at
    /// most `alpha`.
    pub fn new(searches: Vec<Search>, alpha: f64) -> Self {
        let commits = searches.iter().map(Search::commits).max().unwrap_or_default();
        let share = alpha / f64::from(steps(commits) + 2);
        Self { searches, phase: Phase::Inspecting, alpha, share }
    }

    /// The next question; none once every search is concluded.
    pub fn next_question(&mut self) -> Option<Question> {
        loop {
            if let Some(question) = self.question() {
                return Some(question);
            }
            match self.phase {
                Phase::Inspecting => {
                    let open = self.count(|conclusion| *conclusion == Conclusion::Open);
                    let rate = self.share / open.max(1) as f64;
                    self.searches.iter_mut().for_each(|search| search.compare_at(rate));
                    self.phase = Phase::Comparing;
                }
                Phase::Comparing => {
                    let changed = self.count(|one| matches!(one, Conclusion::Changed { .. }));
                    let rate = (self.alpha - self.share) / changed.max(1) as f64;
                    self.searches.iter_mut().for_each(|search| search.narrow_within(rate));
                    self.phase = Phase::Narrowing;
                }
                Phase::Narrowing => return None,
            }
        }
    }

    /// Records the knowledge about a pair without measuring, for each search that asked.
    pub fn inspected(&mut self, pair: Pair, known: impl IntoIterator<Item = (usize, Known)>) {
        for (index, known) in known {
            self.searches[index].know(pair, known);
        }
    }

    /// Records a comparison of a pair, for each search that asked.
    pub fn measured(&mut self, pair: Pair, answers: impl IntoIterator<Item = (usize, Answer)>) {
        for (index, answer) in answers {
            self.searches[index].answer(pair, answer);
        }
    }

    /// Ends the searches where they are: no question follows.
    pub fn stop(&mut self) {
        self.searches.iter_mut().for_each(Search::stop);
        self.phase = Phase::Narrowing;
    }

    /// The searches, in the order given to [`new`](Self::new).
    pub fn searches(&self) -> &[Search] {
        &self.searches
    }

    fn count(&self, is_meant: impl Fn(&Conclusion) -> bool) -> usize {
        self.searches.iter().filter(|one| one.conclusion().is_ok_and(|it| is_meant(&it))).count()
    }

    /// The next question: first those without measuring, then the comparison that most searches ask for, because the
    /// others may arrive at the same question meanwhile.
    fn question(&self) -> Option<Question> {
        let tasks: Vec<(usize, Task)> = self
            .searches
            .iter()
            .enumerate()
            .filter_map(|(index, one)| Some((index, one.next()?)))
            .collect();
        if let Some(pair) = tasks.iter().find_map(|(_, task)| task.inspected()) {
            let alike = tasks.iter().filter(|(_, task)| task.inspected() == Some(pair));
            return Some(Question::Inspect {
                pair,
                subjects: alike.map(|(index, _)| *index).collect(),
            });
        }
        let wanted: Vec<(usize, Pair, f64)> = tasks
            .iter()
            .filter_map(|(index, task)| match task {
                Task::Measure { pair, rate } => Some((*index, *pair, *rate)),
                Task::Inspect(_) => None,
            })
            .collect();
        let count = |pair: Pair| wanted.iter().filter(|(_, other, _)| *other == pair).count();
        let pair = wanted.iter().map(|(_, pair, _)| *pair).rev().max_by_key(|one| count(*one))?;
        let alike = wanted.iter().filter(|(_, other, _)| *other == pair);
        Some(Question::Measure {
            pair,
            subjects: alike.map(|(index, _, rate)| (*index, *rate)).collect(),
        })
    }
}
