//! What pairing by layout is worth, benchmark by benchmark.

use cargo_rbench::stats::{Estimator, Refusal};

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

/// The middle value, or the mean of the two in the middle; none has none: NaN.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count => f64::midpoint(values[(count - 1) / 2], values[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert!((median(&mut [3.0, 1.0, 9.0]) - 3.0).abs() < 1e-12);
        assert!((median(&mut [3.0, 1.0]) - 2.0).abs() < 1e-12);
        assert!(median(&mut []).is_nan());
    }
}
