//! What pairing by layout is worth, benchmark by benchmark.

use cargo_rbench::stats::{Estimator, Refusal, median};

use crate::{judgement::LayoutEffect, study::Tried, trial::BENCHMARKS};

/// What pairing is worth for one benchmark, over some trials whose versions do the same work.
#[derive(Debug)]
pub struct Gain {
    /// The benchmark.
    pub benchmark: &'static str,
    /// The standard deviation between layouts by the minimum, from the median variance: 0.05 is 5 %.
    pub spread: f64,
    /// The median half-widths of the interval: paired, unpaired.
    pub half_widths: [f64; 2],
    /// The median of their ratio.
    pub ratio: f64,
    /// The median correlation of both versions over builds.
    pub correlation: f64,
}

impl Gain {
    /// The gains of all benchmarks by an estimator.
    pub fn all(trials: &[Tried], estimator: Estimator) -> Result<Vec<Self>, Refusal> {
        let of = |benchmark| Self::of(benchmark, trials, estimator);
        BENCHMARKS.into_iter().map(of).collect()
    }

    fn of(
        benchmark: &'static str,
        trials: &[Tried],
        estimator: Estimator,
    ) -> Result<Self, Refusal> {
        let effects = |estimator| {
            let subjects = trials.iter().flat_map(|tried| &tried.subjects);
            let wanted = subjects.filter(|subject| subject.benchmark == benchmark);
            let effects = wanted.map(|subject| LayoutEffect::of(&subject.first, estimator));
            effects.collect::<Result<Vec<_>, _>>()
        };
        let middle = |effects: &[LayoutEffect], value: &dyn Fn(&LayoutEffect) -> f64| {
            median(&mut effects.iter().map(value).collect::<Vec<_>>())
        };
        let by = effects(estimator)?;
        Ok(Self {
            benchmark,
            spread: middle(&effects(Estimator::Minimum)?, &|effect| effect.variance)
                .max(0.0)
                .sqrt(),
            half_widths: [0, 1].map(|which| middle(&by, &|effect| effect.half_widths[which])),
            ratio: middle(&by, &|effect| effect.half_widths[0] / effect.half_widths[1]),
            correlation: middle(&by, &|effect| effect.correlation.unwrap_or(0.0)),
        })
    }
}
