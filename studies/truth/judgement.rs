//! What each estimator says of the same measurements.

use cargo_rbench::stats::{
    Assessment, Comparison, Criteria, Direction, Estimator, Moments, Pairing, Refusal, Summary,
    Verdict,
};

use crate::measurements::Pair;

/// What one estimator says of one benchmark.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Whether and where to one stage alone flags it.
    pub flagged: Option<Direction>,
    /// The verdict by both stages.
    pub verdict: Verdict,
    /// Of the change on the log scale, by the first stage.
    pub standard_error: f64,
}

/// Judges by the default criteria, but for the estimator.
///
/// `fresh` are the measurements of the fresh builds: they are needed only for what the first stage
/// flags. `judged` benchmarks were judged together.
pub fn judge(
    first: &Pair,
    fresh: Option<&Pair>,
    judged: usize,
    estimator: Estimator,
) -> Result<Judgement, Refusal> {
    let criteria = Criteria::default();
    let first = stage(first, estimator, &criteria)?;
    let second = fresh.map(|pair| stage(pair, estimator, &criteria)).transpose()?;
    Ok(Judgement {
        flagged: first.flag,
        verdict: Verdict::of(&first, second.as_ref(), judged, &criteria),
        standard_error: first.comparison.standard_error,
    })
}

/// Whether any of the estimators wants fresh builds.
pub fn anyone_wants_fresh_builds(first: &Pair) -> Result<bool, Refusal> {
    let criteria = Criteria::default();
    for estimator in Estimator::ALL {
        if stage(first, estimator, &criteria)?.needs_confirmation(&criteria) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How the layout acts on a benchmark, and what pairing by layout is worth.
#[derive(Clone, Copy, Debug)]
pub struct LayoutEffect {
    /// The relative variance between layouts, of both versions together: that between builds, less what
    /// their executions explain; so it can be negative.
    pub variance: f64,
    /// Half the width of the 95 % interval of the change on the log scale: paired, unpaired.
    pub half_widths: [f64; 2],
    /// The correlation of both versions over builds.
    pub correlation: Option<f64>,
}

impl LayoutEffect {
    /// By one estimator.
    pub fn of(pair: &Pair, estimator: Estimator) -> Result<Self, Refusal> {
        let criteria = Criteria::default();
        let [base, head] = summaries(pair, estimator);
        let compare = |pairing| Comparison::new(&base, &head, pairing, criteria.false_alarm_rate);
        let (paired, unpaired) = (compare(Pairing::BySeed)?, compare(Pairing::Unpaired)?);
        let half_width = |comparison: &Comparison| {
            (comparison.change.high.ln_1p() - comparison.change.low.ln_1p()) / 2.0
        };
        Ok(Self {
            variance: f64::midpoint(between_layouts(&base), between_layouts(&head)),
            half_widths: [half_width(&paired), half_width(&unpaired)],
            correlation: paired.correlation,
        })
    }
}

/// The relative variance between builds less the part of executions: `T²` of the papers, of estimates.
fn between_layouts(summary: &Summary) -> f64 {
    let (values, builds) = (summary.values(), summary.builds());
    let of_executions = builds.iter().filter_map(|build| {
        let estimates: Vec<f64> = build.estimates.iter().map(|estimate| estimate.value).collect();
        Some(Moments::of(&estimates).variance()? / build.executions as f64)
    });
    let of_executions = of_executions.sum::<f64>() / builds.len() as f64;
    let between = values.standard_deviation().unwrap_or(0.0).powi(2);
    (between - of_executions) / (values.mean * values.mean)
}

fn summaries(pair: &Pair, estimator: Estimator) -> [Summary; 2] {
    pair.each_ref().map(|version| Summary::of(version, estimator))
}

fn stage(pair: &Pair, estimator: Estimator, criteria: &Criteria) -> Result<Assessment, Refusal> {
    let [base, head] = summaries(pair, estimator);
    Assessment::new(&base, &head, Pairing::BySeed, criteria)
}

#[cfg(test)]
mod tests {
    use cargo_rbench::{model::Metric, stats::Measurements};

    use super::*;

    /// Builds of very unlike speed; the head takes `factor` times as long, give or take `noise`.
    fn pair(factor: f64, noise: f64) -> Pair {
        let version = |factor: f64, sign: f64| {
            let builds = (1..=10_u32).map(|seed| {
                let wobble = sign * noise * f64::from(seed % 3);
                (u64::from(seed), [[100.0 * f64::from(seed) * factor * (1.0 + wobble)]])
            });
            Measurements::new(Metric::wall(), builds).unwrap()
        };
        [version(1.0, -1.0), version(factor, 1.0)]
    }

    #[test]
    fn a_change_counts_only_when_fresh_builds_confirm_it() {
        // The noise alone makes the head 0.18 % slower.
        let (slower, same) = (pair(1.1, 0.001), pair(0.9982, 0.001));
        for estimator in Estimator::ALL {
            let with = |fresh| judge(&slower, fresh, 10, estimator).unwrap();
            assert_eq!(with(Some(&slower)).verdict.name(), "regressed");
            assert_ne!(with(Some(&same)).verdict.name(), "regressed");
            assert_ne!(with(None).verdict.name(), "regressed");
            assert_eq!(with(None).flagged, Some(Direction::Worse));
        }
        assert!(anyone_wants_fresh_builds(&slower).unwrap());
        assert!(!anyone_wants_fresh_builds(&same).unwrap());
    }

    #[test]
    fn where_builds_differ_much_and_alike_pairing_narrows_the_interval() {
        let effect = LayoutEffect::of(&pair(1.0, 0.01), Estimator::Mean).unwrap();
        assert!(effect.variance > 0.16, "{effect:?}");
        assert!(effect.half_widths[0] < 0.1 * effect.half_widths[1], "{effect:?}");
    }
}
