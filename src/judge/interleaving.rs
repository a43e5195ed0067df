//! How the executions of a benchmark were interleaved with those of the other version, and what follows from
//! that: which may be compared, and which estimator suits them.

use crate::{
    model::{Execution, Interleave, Obstacle, Turns},
    stats::{Criteria, Estimator},
};

/// How executions were interleaved with those of the other version: all of them in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interleaving {
    /// In turns, or one after the other.
    pub interleave: Interleave,
    /// Why they did not take turns although that was asked for, if so.
    pub obstacle: Option<Obstacle>,
}

/// Some executions took turns and others ran alone: their values are not alike, and cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixed;

impl Interleaving {
    /// How these executions were interleaved; `None` if there are none.
    pub(super) fn of<'e>(
        executions: impl IntoIterator<Item = &'e Execution>,
    ) -> Result<Option<Self>, Mixed> {
        let mut all: Option<Self> = None;
        for execution in executions {
            let one = Self::from(execution.turns);
            let known = all.get_or_insert(one);
            if known.interleave != one.interleave {
                return Err(Mixed);
            }
            // Should there be several, the order of executions does not matter.
            known.obstacle = known.obstacle.into_iter().chain(one.obstacle).min();
        }
        Ok(all)
    }
}

impl From<Turns> for Interleaving {
    fn from(turns: Turns) -> Self {
        let obstacle = match turns {
            Turns::Impossible(obstacle) => Some(obstacle),
            Turns::NotAsked | Turns::Taken(_) => None,
        };
        Self { interleave: turns.interleave(), obstacle }
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
        let in_turns = Some(Interleave::Turns);
        match Interleaving::of(executions) {
            Ok(all) if all.map(|all| all.interleave) == in_turns => Estimator::Pairwise,
            _ => Estimator::Minimum,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;

    fn executions(turns: &[Turns]) -> Vec<Execution> {
        let with = |turns: &Turns| Execution {
            turns: *turns,
            ..testing::execution(testing::request(), Vec::new())
        };
        turns.iter().map(with).collect()
    }

    #[test]
    fn executions_are_alike_or_mixed() {
        let of = |turns: &[Turns]| Interleaving::of(&executions(turns));
        let alone =
            |obstacle| Ok(Some(Interleaving { interleave: Interleave::Executions, obstacle }));
        let impossible = Turns::Impossible;
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[Turns::NotAsked]), alone(None));
        let (clock, threads) = (Obstacle::NoClock, Obstacle::OtherThreads);
        assert_eq!(of(&[impossible(threads), impossible(clock)]), alone(Some(clock)));
        assert_eq!(of(&[Turns::NotAsked, impossible(clock)]), alone(Some(clock)));
        let in_turns = Interleaving { interleave: Interleave::Turns, obstacle: None };
        assert_eq!(of(&[Turns::Taken(1), Turns::Taken(9)]), Ok(Some(in_turns)));
        assert_eq!(of(&[Turns::Taken(1), impossible(clock)]), Err(Mixed));
    }

    #[test]
    fn the_estimator_suits_the_executions_unless_the_user_asked_for_one() {
        let of = |asked, turns: &[Turns]| {
            estimator(&Criteria { estimator: asked, ..Criteria::default() }, &executions(turns))
        };
        let alone = [Turns::NotAsked, Turns::Impossible(Obstacle::WholeProgram)];
        assert_eq!(of(None, &alone), Estimator::Minimum);
        assert_eq!(of(None, &[Turns::Taken(98)]), Estimator::Pairwise);
        assert_eq!(of(None, &[]), Estimator::Minimum);
        for turns in [&alone[..], &[Turns::Taken(98)]] {
            assert_eq!(of(Some(Estimator::Median), turns), Estimator::Median);
        }
    }
}
