//! Answers the questions of many searches, and measures those about the same two commits together.

use super::{Answer, Conclusion, Known, Pair, Search, Task, steps};

/// Answers questions from stored knowledge or by measuring. Subjects are the indices of their searches.
pub trait Oracle {
    /// An error that prevents any answer.
    type Error;

    /// Returns the knowledge about two commits without measuring, for each of these subjects.
    fn look(&mut self, pair: Pair, subjects: &[usize]) -> Result<Vec<Known>, Self::Error>;

    /// Compares two commits in these subjects. The probability beside each subject limits how often it may be called
    /// changed if it is not.
    fn measure(
        &mut self,
        pair: Pair,
        subjects: &[(usize, f64)],
    ) -> Result<Vec<Answer>, Self::Error>;
}

/// Runs all searches of one range to their conclusion. Together they name a commit without a change with a probability
/// of at most `alpha`.
pub fn find<O: Oracle>(
    searches: &mut [Search],
    alpha: f64,
    oracle: &mut O,
) -> Result<(), O::Error> {
    let commits = searches.iter().map(Search::commits).max().unwrap_or_default();
    let share = alpha / f64::from(steps(commits) + 2);
    drive(searches, oracle)?;
    let open = count(searches, |conclusion| *conclusion == Conclusion::Open);
    for search in &mut *searches {
        search.compare_at(share / open.max(1) as f64);
    }
    drive(searches, oracle)?;
    let changed = count(searches, |one| matches!(one, Conclusion::Changed { .. }));
    for search in &mut *searches {
        search.narrow_within((alpha - share) / changed.max(1) as f64);
    }
    drive(searches, oracle)
}

fn count(searches: &[Search], is_meant: impl Fn(&Conclusion) -> bool) -> usize {
    searches.iter().filter(|one| one.conclusion().is_ok_and(|it| is_meant(&it))).count()
}

/// Answers all questions of the searches.
///
/// Questions without measuring come first, then the comparison that most searches need: the others may arrive at the
/// same question meanwhile.
fn drive<O: Oracle>(searches: &mut [Search], oracle: &mut O) -> Result<(), O::Error> {
    loop {
        let tasks: Vec<(usize, Task)> =
            searches.iter().enumerate().filter_map(|(at, one)| Some((at, one.next()?))).collect();
        let looks = tasks.iter().find(|(_, task)| matches!(task, Task::Compare(_)));
        if let Some((_, Task::Compare(pair))) = looks {
            let alike = tasks.iter().filter(|(_, task)| *task == Task::Compare(*pair));
            let subjects: Vec<usize> = alike.map(|(at, _)| *at).collect();
            let known = oracle.look(*pair, &subjects)?;
            for (at, known) in subjects.into_iter().zip(known) {
                searches[at].know(*pair, known);
            }
            continue;
        }
        let wanted: Vec<(usize, Pair, f64)> = tasks
            .iter()
            .filter_map(|(at, task)| match task {
                Task::Measure { pair, rate } => Some((*at, *pair, *rate)),
                Task::Compare(_) => None,
            })
            .collect();
        let count = |pair: Pair| wanted.iter().filter(|(_, other, _)| *other == pair).count();
        let Some(pair) =
            wanted.iter().map(|(_, pair, _)| *pair).rev().max_by_key(|one| count(*one))
        else {
            return Ok(());
        };
        let alike = wanted.iter().filter(|(_, other, _)| *other == pair);
        let subjects: Vec<(usize, f64)> = alike.map(|(at, _, rate)| (*at, *rate)).collect();
        let answers = oracle.measure(pair, &subjects)?;
        for ((at, _), answer) in subjects.into_iter().zip(answers) {
            searches[at].answer(pair, answer);
        }
    }
}
