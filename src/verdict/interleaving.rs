//! Summarizes how the executions of a benchmark were interleaved with those of the other version.
//! That decides which executions may be compared, and by which estimator.

use rbench_stats::{Criteria, Estimator, interference::shown_slow_down};

use crate::model::{Execution, InterleavingUnavailable, Mode, Schedule, Threads};

/// The interleaving that all executions of a benchmark share.
#[derive(Clone, Debug, PartialEq)]
pub struct Interleaving {
    /// Interleaved, or sequential.
    pub mode: Mode,
    /// Where its threads ran, if it was interleaved.
    pub threads: Threads,
    /// The reason why interleaving was requested but not possible.
    pub unavailable: Option<InterleavingUnavailable>,
    /// How many times as long as alone it takes interleaved, in the mean of both versions, where executions alone have
    /// shown that this is [considerable](rbench_stats::interference::REPORTED).
    pub times_alone: Option<f64>,
}

/// Some executions ran interleaved and others alone, or their threads ran elsewhere: their
/// values are different quantities and cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixed;

impl Interleaving {
    /// The interleaving of these executions; `None` without executions.
    ///
    /// Fails with [`Mixed`] if they do not share one mode.
    pub(super) fn summarize<'e>(
        executions: impl IntoIterator<Item = &'e Execution>,
    ) -> Result<Option<Self>, Mixed> {
        let mut all: Option<Self> = None;
        let mut slow_downs = Vec::new();
        for execution in executions {
            let one = Self::from(&execution.schedule);
            slow_downs.extend(execution.slow_down());
            let known = all.get_or_insert_with(|| one.clone());
            if (known.mode, known.threads) != (one.mode, one.threads) {
                return Err(Mixed);
            }
            // With several reasons, the same one is reported in any order of executions.
            known.unavailable = known.unavailable.take().into_iter().chain(one.unavailable).min();
        }
        let times_alone = shown_slow_down(&slow_downs);
        Ok(all.map(|all| Self { times_alone, ..all }))
    }
}

impl From<&Schedule> for Interleaving {
    fn from(schedule: &Schedule) -> Self {
        let (threads, _) = schedule.interleaved().unwrap_or_default();
        let (mode, unavailable) = (schedule.mode(), schedule.unavailable().cloned());
        Self { mode, threads, unavailable, times_alone: None }
    }
}

/// The estimator that the user asked for, or the one that suits how these executions were measured.
///
/// A version that runs alone is only ever slowed down by disturbances, so its smallest measurement
/// is the least disturbed one. Interleaved versions meet the same disturbances, which cancel in the
/// ratio of neighbouring measurements; those of one version alone are outliers of the ratios.
pub(super) fn estimator<'e>(
    criteria: &Criteria,
    executions: impl IntoIterator<Item = &'e Execution>,
) -> Estimator {
    criteria.estimator.unwrap_or_else(|| {
        let interleaved = Some(Mode::Interleaved);
        match Interleaving::summarize(executions) {
            Ok(all) if all.as_ref().map(|all| all.mode) == interleaved => Estimator::Pairwise,
            _ => Estimator::Minimum,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Metric, Series, testing};

    fn executions(schedule: &[Schedule]) -> Vec<Execution> {
        let with = |schedule: &Schedule| Execution {
            schedule: schedule.clone(),
            ..testing::execution(testing::request(), Vec::new())
        };
        schedule.iter().map(with).collect()
    }

    #[test]
    fn summarize_rejects_mixed_modes() {
        let of = |schedule: &[Schedule]| Interleaving::summarize(&executions(schedule));
        let alone = |unavailable| {
            let mode = Mode::Sequential;
            let threads = Threads::Together;
            Ok(Some(Interleaving { mode, threads, unavailable, times_alone: None }))
        };
        let impossible = Schedule::Unavailable;
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[Schedule::NotRequested]), alone(None));
        let (clock, children) =
            (|| InterleavingUnavailable::NoClock, InterleavingUnavailable::ChildProcesses);
        assert_eq!(of(&[impossible(children), impossible(clock())]), alone(Some(clock())));
        assert_eq!(of(&[Schedule::NotRequested, impossible(clock())]), alone(Some(clock())));
        let interleaved = Interleaving {
            mode: Mode::Interleaved,
            threads: Threads::Together,
            unavailable: None,
            times_alone: None,
        };
        let placed = Interleaving { threads: Threads::Placed, ..interleaved.clone() };
        assert_eq!(of(&[Schedule::InterleavedThreads(1)]), Ok(Some(placed)));
        for other in [Schedule::Interleaved(1), Schedule::InterleavedFreeThreads(1)] {
            assert_eq!(of(&[Schedule::InterleavedThreads(1), other]), Err(Mixed));
        }
        assert_eq!(
            of(&[Schedule::Interleaved(1), Schedule::Interleaved(9)]),
            Ok(Some(interleaved))
        );
        assert_eq!(of(&[Schedule::Interleaved(1), impossible(clock())]), Err(Mixed));
    }

    #[test]
    fn slow_down_is_summarized_from_both_versions() {
        let series = |value| Series {
            metric: Metric::wall(),
            values: vec![value],
            iterations: vec![1],
            resolution: 0.0,
        };
        let with = |(alone, value)| Execution {
            schedule: Schedule::Interleaved(1),
            alone,
            ..testing::execution(testing::request(), vec![series(value)])
        };
        let of = |times: &[(Option<f64>, f64)]| {
            let executions: Vec<Execution> = times.iter().copied().map(with).collect();
            Interleaving::summarize(&executions).unwrap().unwrap().times_alone
        };
        let (base, head) = ((Some(2.0), 4.0), (Some(10.0), 20.0));
        assert_eq!(of(&[(None, 4.0), (None, 4.0)]), None);
        assert_eq!(of(&[base, base, head, head]), None, "two builds");
        let shown = of(&[(None, 9.0), base, base, base, head, head, head]).unwrap();
        assert!((shown - 2.0).abs() < 1e-9);
    }

    #[test]
    fn estimator_suits_the_mode_unless_one_is_requested() {
        let of = |asked, schedule: &[Schedule]| {
            estimator(&Criteria { estimator: asked, ..Criteria::default() }, &executions(schedule))
        };
        let alone = [
            Schedule::NotRequested,
            Schedule::Unavailable(InterleavingUnavailable::UnknownProgram),
        ];
        assert_eq!(of(None, &alone), Estimator::Minimum);
        assert_eq!(of(None, &[Schedule::Interleaved(98)]), Estimator::Pairwise);
        assert_eq!(of(None, &[]), Estimator::Minimum);
        for schedule in [&alone[..], &[Schedule::Interleaved(98)]] {
            assert_eq!(of(Some(Estimator::Median), schedule), Estimator::Median);
        }
    }
}
