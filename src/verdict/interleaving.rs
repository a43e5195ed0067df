//! How the executions of a benchmark were interleaved with those of the other version, and what follows from
//! that: which may be compared, and which estimator suits them.

use crate::{
    model::{Execution, InterleavingUnavailable, Mode, Schedule},
    stats::{Criteria, Estimator},
};

/// How executions were interleaved with those of the other version: all of them in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interleaving {
    /// In turns, or one after the other.
    pub mode: Mode,
    /// Why they did not take turns although that was asked for, if so.
    pub unavailable: Option<InterleavingUnavailable>,
}

/// Some executions took turns and others ran alone: their values are not alike, and cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixed;

impl Interleaving {
    /// How these executions were interleaved; `None` if there are none.
    pub(super) fn summarize<'e>(
        executions: impl IntoIterator<Item = &'e Execution>,
    ) -> Result<Option<Self>, Mixed> {
        let mut all: Option<Self> = None;
        for execution in executions {
            let one = Self::from(execution.schedule);
            let known = all.get_or_insert(one);
            if known.mode != one.mode {
                return Err(Mixed);
            }
            // Should there be several, the order of executions does not matter.
            known.unavailable = known.unavailable.into_iter().chain(one.unavailable).min();
        }
        Ok(all)
    }
}

impl From<Schedule> for Interleaving {
    fn from(turns: Schedule) -> Self {
        let obstacle = match turns {
            Schedule::Unavailable(obstacle) => Some(obstacle),
            Schedule::NotRequested | Schedule::Interleaved(_) => None,
        };
        Self { mode: turns.mode(), unavailable: obstacle }
    }
}

/// The estimator that the user asked for, or the one that suits how these executions were measured.
///
/// Where a version runs alone, disturbances only add time, and the smallest measurement is the least
/// disturbed one. Versions that take turns meet the same disturbances, which are not in the ratio of neighbouring
/// measurements of both; what disturbs one of them alone is seldom among the fastest neighbours.
pub(super) fn estimator<'e>(
    criteria: &Criteria,
    executions: impl IntoIterator<Item = &'e Execution>,
) -> Estimator {
    criteria.estimator.unwrap_or_else(|| {
        let in_turns = Some(Mode::Interleaved);
        match Interleaving::summarize(executions) {
            Ok(all) if all.map(|all| all.mode) == in_turns => Estimator::Pairwise,
            _ => Estimator::Minimum,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;

    fn executions(turns: &[Schedule]) -> Vec<Execution> {
        let with = |turns: &Schedule| Execution {
            schedule: *turns,
            ..testing::execution(testing::request(), Vec::new())
        };
        turns.iter().map(with).collect()
    }

    #[test]
    fn executions_are_alike_or_mixed() {
        let of = |turns: &[Schedule]| Interleaving::summarize(&executions(turns));
        let alone =
            |obstacle| Ok(Some(Interleaving { mode: Mode::Sequential, unavailable: obstacle }));
        let impossible = Schedule::Unavailable;
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[Schedule::NotRequested]), alone(None));
        let (clock, threads) =
            (InterleavingUnavailable::NoClock, InterleavingUnavailable::OtherThreads);
        assert_eq!(of(&[impossible(threads), impossible(clock)]), alone(Some(clock)));
        assert_eq!(of(&[Schedule::NotRequested, impossible(clock)]), alone(Some(clock)));
        let in_turns = Interleaving { mode: Mode::Interleaved, unavailable: None };
        assert_eq!(of(&[Schedule::Interleaved(1), Schedule::Interleaved(9)]), Ok(Some(in_turns)));
        assert_eq!(of(&[Schedule::Interleaved(1), impossible(clock)]), Err(Mixed));
    }

    #[test]
    fn the_estimator_suits_the_executions_unless_the_user_asked_for_one() {
        let of = |asked, turns: &[Schedule]| {
            estimator(&Criteria { estimator: asked, ..Criteria::default() }, &executions(turns))
        };
        let alone =
            [Schedule::NotRequested, Schedule::Unavailable(InterleavingUnavailable::WholeProgram)];
        assert_eq!(of(None, &alone), Estimator::Minimum);
        assert_eq!(of(None, &[Schedule::Interleaved(98)]), Estimator::Pairwise);
        assert_eq!(of(None, &[]), Estimator::Minimum);
        for turns in [&alone[..], &[Schedule::Interleaved(98)]] {
            assert_eq!(of(Some(Estimator::Median), turns), Estimator::Median);
        }
    }
}
