//! What pairing by layout is worth, benchmark by benchmark.

use cargo_rbench::stats::Refusal;

use crate::{judgement::LayoutEffect, study::Tried, trial::BENCHMARKS};

/// What pairing is worth for one benchmark, over some trials whose versions do the same work.
#[derive(Debug)]
pub struct Gain {
    /// The benchmark.
    pub benchmark: &'static str,
    /// The median standard deviation between builds: 0.05 is 5 %.
    pub spread: f64,
    /// The median half-widths of the interval: paired, unpaired.
    pub half_widths: [f64; 2],
    /// The median of their ratio.
    pub ratio: f64,
    /// The median correlation of both versions over builds.
    pub correlation: f64,
}

impl Gain {
    /// The gains of all benchmarks.
    pub fn all(trials: &[Tried]) -> Result<Vec<Self>, Refusal> {
        BENCHMARKS.into_iter().map(|benchmark| Self::of(benchmark, trials)).collect()
    }

    fn of(benchmark: &'static str, trials: &[Tried]) -> Result<Self, Refusal> {
        let subjects = trials.iter().flat_map(|tried| &tried.subjects);
        let effects = subjects
            .filter(|subject| subject.benchmark == benchmark)
            .map(|subject| LayoutEffect::of(&subject.first))
            .collect::<Result<Vec<_>, _>>()?;
        let middle = |value: &dyn Fn(&LayoutEffect) -> f64| {
            median(&mut effects.iter().map(value).collect::<Vec<_>>())
        };
        Ok(Self {
            benchmark,
            spread: middle(&|effect| effect.spread),
            half_widths: [0, 1].map(|which| middle(&|effect| effect.half_widths[which])),
            ratio: middle(&|effect| effect.half_widths[0] / effect.half_widths[1]),
            correlation: middle(&|effect| effect.correlation.unwrap_or(0.0)),
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
