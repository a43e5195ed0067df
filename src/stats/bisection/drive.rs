//! Answers the questions of many searches, those about the same two commits together.

use super::{Answer, Known, Pair, Search, Task};

/// Whoever knows or measures. Subjects are the indices of their searches.
pub trait Oracle {
    /// What prevents an answer altogether.
    type Error;

    /// What is known of two commits without measuring, for each of these subjects.
    fn look(&mut self, pair: Pair, subjects: &[usize]) -> Result<Vec<Known>, Self::Error>;

    /// Compares two commits in these subjects. Of what did not change, each may be called changed with the
    /// probability beside it.
    fn measure(
        &mut self,
        pair: Pair,
        subjects: &[(usize, f64)],
    ) -> Result<Vec<Answer>, Self::Error>;
}

/// Lets an oracle answer until every search is concluded.
///
/// What needs no measuring is asked first, then what most searches ask for: those that have not got so far may come
/// to the same question meanwhile.
pub fn drive<O: Oracle>(searches: &mut [Search], oracle: &mut O) -> Result<(), O::Error> {
    loop {
        let tasks: Vec<(usize, Task)> =
            searches.iter().enumerate().filter_map(|(at, one)| Some((at, one.next()?))).collect();
        let looks = tasks.iter().find(|(_, task)| matches!(task, Task::Look(_)));
        if let Some((_, Task::Look(pair))) = looks {
            let alike = tasks.iter().filter(|(_, task)| *task == Task::Look(*pair));
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
                Task::Look(_) => None,
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
