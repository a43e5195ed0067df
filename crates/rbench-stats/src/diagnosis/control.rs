//! Separates noise of the machine from noise of the benchmark: a control that is known to be steady, measured in the
//! same period, shows which warnings the machine causes.

use super::{Autocorrelation, Diagnosis, Level, SIGNIFICANT, Warning};
use crate::{Estimator, Interval, Measurements, Summary, distribution::normal_quantile, median};

/// A warning is attributed to the benchmark if a control this much quieter has at most this probability between equals.
/// Each warning has its own evidence besides.
const CHANCE: f64 = 0.01;

/// The effect must also be this many times as large as in the control: a control feels disturbances slightly more or
/// less than another benchmark, and enough executions show any difference.
const ENOUGH: f64 = 1.5;

/// A steady benchmark, diagnosed from the same minutes: what both show is the machine's doing.
#[derive(Clone, Debug)]
pub struct Control {
    /// Its measurements, interleaved with those of the benchmark.
    pub data: Measurements,
    pub findings: Diagnosis,
}

impl Control {
    /// True if the control shows the same effect as a warning of the benchmark, so that the machine may be the cause.
    /// An order effect is measured in random order, and needs no control.
    pub fn shows(
        &self,
        warning: &Warning,
        data: &Measurements,
        found: &Diagnosis,
        estimator: Estimator,
    ) -> bool {
        let quiet = match *warning {
            Warning::Influence { level, .. } => {
                // The estimators by which these warnings are found.
                let by = if level == Level::Executions { Estimator::Mean } else { estimator };
                let of = |data| deviations(&Summary::compute(data, by), level);
                is_larger(&of(data), &of(&self.data))
            }
            Warning::WarmUp { .. } | Warning::SlowDown { .. } => self.trend_is_less(found),
            Warning::SeveralSteadyStates { .. } => {
                let of = |found: &Diagnosis| -> Vec<f64> {
                    let states = found.states.as_ref().map_or(&[][..], |found| &found.states);
                    states.iter().map(|state| state.deviation.abs()).collect()
                };
                is_larger(&of(found), &of(&self.findings))
            }
            Warning::LevelShifts { leaping, executions, distance, .. } => {
                let of = |found: &Diagnosis| -> Vec<f64> {
                    let all =
                        found.level_shifts.as_ref().map_or(&[][..], |found| &found.executions);
                    all.iter()
                        .map(|one| if one.has_shifts() { one.distance() } else { 0.0 })
                        .collect()
                };
                is_less([leaping, executions], distance, [&of(found), &of(&self.findings)])
            }
            Warning::SimultaneousStates { executions, of: all, distance, .. } => {
                let of = |found: &Diagnosis| -> Vec<f64> {
                    let Ok(found) = &found.multimodality else { return Vec::new() };
                    let p_of_all = found.p_together.unwrap_or(1.0);
                    let sure = |p: f64| p.min(p_of_all) < SIGNIFICANT;
                    let all = found.executions.iter();
                    all.map(|one| if sure(one.p) { one.distance } else { 0.0 }).collect()
                };
                is_less([executions, all], distance, [&of(found), &of(&self.findings)])
            }
            Warning::Autocorrelation { .. } => self.autocorrelation_is_lower(found),
            Warning::OrderEffect { .. } => true,
        };
        !quiet
    }

    fn trend_is_less(&self, found: &Diagnosis) -> bool {
        let (Ok(one), Ok(control)) = (&found.trend, &self.findings.trend) else { return true };
        is_clearly_more(&one.effect, &control.effect)
    }

    fn autocorrelation_is_lower(&self, found: &Diagnosis) -> bool {
        let (Ok(one), Ok(control)) = (&found.autocorrelation, &self.findings.autocorrelation)
        else {
            return true;
        };
        let excess = |found: &Autocorrelation| found.error - found.error_if_independent;
        is_clearly_more(&one.correlation, &control.correlation)
            && excess(one) >= ENOUGH * excess(control)
    }
}

/// True if the control has the effect less often than `[executions, of]` executions, and smaller. An execution of the
/// control counts from half of the typical size on; sizes are 0 without an effect.
fn is_less(often: [usize; 2], size: f64, [one, control]: [&[f64]; 2]) -> bool {
    let alike = control.iter().filter(|other| **other >= size / 2.0).count();
    is_more_often(often, [alike, control.len()]) && is_larger(one, control)
}

/// True if an effect exceeds that of the control, in its own direction, by more than noise and by a relevant factor.
fn is_clearly_more(one: &Interval, control: &Interval) -> bool {
    let direction = one.center.signum();
    let difference = direction * (one.center - control.center);
    let error = one.half_width().hypot(control.half_width());
    // The half-widths are of 95 % intervals, or nearly.
    let by_chance = error / normal_quantile(0.975) * normal_quantile(1.0 - CHANCE);
    difference > by_chance && one.center.abs() >= ENOUGH * direction * control.center
}

/// The relative distances of the values of a level from their mean.
fn deviations(summary: &Summary, level: Level) -> Vec<f64> {
    let mean = summary.values().mean;
    let of_builds = summary.builds().iter().map(|build| (build.value - mean).abs() / mean);
    match level {
        Level::Builds => of_builds.collect(),
        Level::Executions => {
            let of_build = |build: &crate::BuildSummary| -> Vec<f64> {
                let value = build.value;
                build.estimates.iter().map(|one| (one.value - value).abs() / value).collect()
            };
            summary.builds().iter().flat_map(of_build).collect()
        }
    }
}

/// True if values tend to be larger than others: the rank-sum test of Wilcoxon, Mann and Whitney, which is robust
/// against outliers. Also true without others.
fn is_larger(values: &[f64], others: &[f64]) -> bool {
    let (m, n) = (values.len() as f64, others.len() as f64);
    if values.is_empty() || others.is_empty() {
        return true;
    }
    let wins: f64 = values
        .iter()
        .flat_map(|value| others.iter().map(move |other| value.total_cmp(other)))
        .map(|order| 0.5 * (1.0 + f64::from(order as i8)))
        .sum();
    let sd = (m * n * (m + n + 1.0) / 12.0).sqrt();
    let typical = |values: &[f64]| median(&mut values.to_vec());
    let is_sure = (wins - m * n / 2.0) / sd > normal_quantile(1.0 - CHANCE);
    is_sure && typical(values) >= ENOUGH * typical(others)
}

/// True if it happens more often in `[count, of]` than in others: Fisher's exact test. Also true without others.
fn is_more_often([found, of]: [usize; 2], [others, of_others]: [usize; 2]) -> bool {
    if of_others == 0 {
        return true;
    }
    // ln(0!), ln(1!), ...
    let mut factorials = vec![0.0_f64];
    for number in 1..=of + of_others {
        factorials.push(factorials[number - 1] + (number as f64).ln());
    }
    let ways = |n: usize, k: usize| factorials[n] - factorials[k] - factorials[n - k];
    let all = found + others;
    let total = ways(of + of_others, all);
    let most = all.min(of);
    let at_least = (found..=most).filter(|one| all - one <= of_others);
    let p: f64 =
        at_least.map(|one| (ways(of, one) + ways(of_others, all - one) - total).exp()).sum();
    p < CHANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_with_the_same_effects_attributes_them_to_the_machine() {
        // Fisher's own example, the lady who tasted tea: p .243 for 3 of 4 against 1 of 4.
        assert!(!is_more_often([3, 4], [1, 4]));
        assert!(!is_more_often([65, 100], [33, 50]));
        assert!(!is_more_often([10, 100], [5, 50]));
        assert!(is_more_often([100, 100], [33, 50]));
        assert!(is_more_often([20, 100], [0, 50]));
        assert!(is_more_often([1, 100], [0, 0]));
    }

    #[test]
    fn is_larger_compares_ranks_and_ignores_outliers() {
        let up: Vec<f64> = (0..40).map(f64::from).collect();
        let outlier: Vec<f64> = up.iter().copied().chain([1e9]).collect();
        assert!(!is_larger(&up, &up));
        assert!(!is_larger(&outlier, &up));
        let larger: Vec<f64> = up.iter().map(|value| value + 30.0).collect();
        assert!(is_larger(&larger, &up) && !is_larger(&up, &larger));
        assert!(is_larger(&up, &[]));
    }
}
