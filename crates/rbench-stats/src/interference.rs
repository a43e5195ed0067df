//! Decides by executions alone whether interleaving distorts the change of a benchmark. Pure.
//!
//! Interleaved versions share the caches of a CPU. What slows both by the same factor leaves their ratio as it is; what
//! slows one of them more is taken for a change. A single time alone shows neither: on a shared machine, the same loop may
//! take twice as long a minute later. So each version is executed alone between interleaved executions of the same build,
//! several times, and these differences decide by a t test.

use super::distribution::{normal_quantile, t_quantile};

/// The slow-downs of both versions in one build: the logarithm of the time interleaved over the time alone.
pub type SlowDowns = [f64; 2];

/// A difference of both slow-downs up to this factor is accepted.
pub const ASYMMETRY: f64 = 1.03;

/// A slow-down above this factor is reported, if it is shown and the benchmark stays interleaved.
pub const REPORTED: f64 = 1.1;

/// The fewest alternations with executions alone that may show interference.
pub const FEWEST: usize = 3;

/// The number of alternations after which a benchmark stays interleaved without evidence against it.
pub const MOST: usize = 8;

/// How strong the evidence of interference must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Of a benchmark whose data could fill a cache: interference is likely, and longer time slices cost little. It is
    /// measured sequentially only if three lengths of slices show interference.
    Some,
    /// Of others. Many are tested, each several times.
    Much,
}

impl Demand {
    const fn confidence(self) -> f64 {
        match self {
            Self::Some => 0.9,
            Self::Much => 0.998,
        }
    }

    /// The least standard deviation of differences that is assumed, whatever is seen: three may be equal by chance, for
    /// instance where processes have one of two speeds.
    const fn least_deviation(self) -> f64 {
        match self {
            Self::Some => 0.03,
            Self::Much => 0.07,
        }
    }
}

/// The effect of interleaving on a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interference {
    /// More alternations are needed.
    Undecided,
    None,
    /// One version is slowed down more than the other.
    Asymmetric,
    /// Both are slowed down by more than the accepted factor.
    Slower,
}

/// The interference that these slow-downs show, of which the first ones were measured first. A slow-down of both versions
/// by up to the factor `most` is accepted.
pub fn interference(all: &[SlowDowns], most: f64, demand: Demand) -> Interference {
    let asymmetries: Vec<f64> = all.iter().map(|[base, head]| head - base).collect();
    let both: Vec<f64> = all.iter().map(|[base, head]| f64::midpoint(*base, *head)).collect();
    let (mean_asymmetry, mean_slow_down) = (mean(&asymmetries).abs(), mean(&both));
    if all.len() >= FEWEST {
        let [asymmetry, common] =
            [asymmetries, both].map(|values| Mean::new(&values, values.len(), demand));
        if asymmetry.value.abs() - asymmetry.half_width > ASYMMETRY.ln() {
            return Interference::Asymmetric;
        }
        if common.value - common.half_width > most.ln() {
            return Interference::Slower;
        }
    }
    let seems_none = mean_asymmetry <= ASYMMETRY.ln() && mean_slow_down <= REPORTED.ln();
    let enough = match demand {
        // That it is disturbed is the more likely case.
        Demand::Some => MOST,
        Demand::Much => 2,
    };
    if all.len() >= enough && seems_none {
        Interference::None
    } else if all.len() < MOST {
        Interference::Undecided
    } else if demand == Demand::Some && mean_asymmetry.min(mean_slow_down) > ASYMMETRY.ln() {
        // Its data are evicted, and that this slows both versions alike was not shown.
        Interference::Asymmetric
    } else {
        Interference::None
    }
}

/// The factor by which these slow-downs of both versions, of as many executions each, show that a benchmark is slower
/// interleaved than alone; `None` if it is at most [`REPORTED`], or not shown.
pub fn shown_slow_down(all: &[f64]) -> Option<f64> {
    // Both versions of a build were slowed down in the same moments: they count as one.
    let independent = all.len() / 2;
    if independent < FEWEST {
        return None;
    }
    let mean = Mean::new(all, independent, Demand::Much);
    (mean.value - mean.half_width > REPORTED.ln()).then(|| mean.value.exp())
}

/// A mean with half of its confidence interval.
struct Mean {
    value: f64,
    half_width: f64,
}

impl Mean {
    /// The mean of values of which only this number is independent.
    fn new(values: &[f64], independent: usize, demand: Demand) -> Self {
        let value = mean(values);
        let squares: f64 = values.iter().map(|one| (one - value).powi(2)).sum();
        let (count, df) = (independent as f64, independent.saturating_sub(1) as f64);
        let deviation = (squares * count / values.len() as f64 / df).sqrt();
        let probability = f64::midpoint(1.0, demand.confidence());
        let seen = t_quantile(probability, df) * deviation;
        let assumed = normal_quantile(probability) * demand.least_deviation();
        Self { value, half_width: seen.max(assumed) / count.sqrt() }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// The accepted slow-down of both versions.
    const ACCEPTED: f64 = 1.25;

    /// Looks at alternations until they decide.
    fn decided(demand: Demand, mut next: impl FnMut() -> SlowDowns) -> Interference {
        let mut all = Vec::new();
        loop {
            all.push(next());
            match interference(&all, ACCEPTED, demand) {
                Interference::Undecided => {}
                decided => return decided,
            }
        }
    }

    /// The shares of 4,000 benchmarks with asymmetric interference and with too slow ones.
    fn shares(mut benchmark: impl FnMut(&mut Random) -> SlowDowns) -> [f64; 2] {
        let mut found = [0_u32; 2];
        for seed in 0..4000 {
            let mut random = Random::new(seed);
            match decided(Demand::Much, || benchmark(&mut random)) {
                Interference::Asymmetric => found[0] += 1,
                Interference::Slower => found[1] += 1,
                _ => {}
            }
        }
        found.map(|found| f64::from(found) / 4000.0)
    }

    #[test]
    fn large_benchmark_is_seldom_sequential_by_chance() {
        for (sd, most) in [(0.02, 4), (0.1, 20), (0.4, 480)] {
            let mut random = Random::new(1);
            let mut time = || sd * random.normal();
            let mut is_found = || decided(Demand::Some, || [time(), time()]) != Interference::None;
            let sequential = (0..4000).filter(|_| (0..3).all(|_| is_found())).count();
            assert!(sequential <= most, "sd {sd}: {sequential} of 4000");
        }
    }

    #[test]
    fn interference_of_large_benchmark_needs_less_evidence() {
        // By executions of milliseconds in the caches, in a noisy hour.
        let seen = [[0.245, 0.461], [-0.1, 0.371], [-0.021, 0.832], [0.395, 1.167]];
        assert_eq!(interference(&seen, ACCEPTED, Demand::Some), Interference::Asymmetric);
        assert_eq!(interference(&seen, ACCEPTED, Demand::Much), Interference::Undecided);
        // In slices of 5 ms. The change of these executions was a seventh too small.
        let seen = [
            [0.161, 0.260],
            [0.173, 0.029],
            [0.172, 0.003],
            [0.086, 0.008],
            [0.185, 0.007],
            [0.049, 0.079],
            [-0.042, 0.070],
            [0.179, -0.002],
        ];
        assert_eq!(interference(&seen[..7], ACCEPTED, Demand::Some), Interference::Undecided);
        assert_eq!(interference(&seen, ACCEPTED, Demand::Some), Interference::Asymmetric);
        assert_eq!(interference(&seen, ACCEPTED, Demand::Much), Interference::None);
    }

    #[test]
    fn interference_needs_three_alternations() {
        let interference = |all: &[SlowDowns], most| interference(all, most, Demand::Much);

        let slower = [1.2_f64.ln(), 3.0_f64.ln()];
        assert_eq!(interference(&[slower; 2], ACCEPTED), Interference::Undecided);
        assert_eq!(interference(&[slower; 3], ACCEPTED), Interference::Asymmetric);
        assert_eq!(interference(&[[2.0_f64.ln(); 2]; 3], ACCEPTED), Interference::Slower);
        assert_eq!(interference(&[[2.0_f64.ln(); 2]; 3], 2.0), Interference::Undecided);
        assert_eq!(interference(&[[1.2_f64.ln(); 2]; MOST], ACCEPTED), Interference::None);
        assert_eq!(interference(&[[0.0, 0.02]; 2], ACCEPTED), Interference::None);
    }

    #[test]
    fn interference_is_seen_on_either_side() {
        for slow_downs in [[0.0, 0.4], [0.4, 0.0], [0.0, -0.4]] {
            let found = interference(&[slow_downs; 3], ACCEPTED, Demand::Much);
            assert_eq!(found, Interference::Asymmetric);
        }
    }

    #[test]
    fn interference_is_hardly_ever_found_in_noise() {
        // Sequential are only those where it is found with three lengths of slices: one in 40,000 at 3 %.
        // Each execution by itself may be slower, by these standard deviations.
        for sd in [0.02, 0.05, 0.15, 0.4] {
            let noise = shares(|random| [sd * random.normal(), sd * random.normal()]);
            assert!(noise.iter().all(|share| *share < 0.01), "sd {sd}: {noise:?}");
        }
        // A host that takes half of the time in some moments, of any execution by itself.
        let host = shares(|random| {
            let mut time = || if random.chance(0.3) { 2.0_f64.ln() } else { 0.0 };
            [time() - time(), time() - time()]
        });
        assert!(host.iter().all(|share| *share < 0.03), "{host:?}");
        // Processes with one of two speeds, 15 % apart, for their whole life.
        let states = shares(|random| {
            let mut time = || if random.chance(0.5) { 1.15_f64.ln() } else { 0.0 };
            [time() - time(), time() - time()]
        });
        assert!(states.iter().all(|share| *share < 0.01), "{states:?}");
    }

    #[test]
    fn asymmetry_of_a_sixth_is_mostly_found() {
        let [asymmetric, _] =
            shares(|random| [0.03 * random.normal(), 0.16 + 0.03 * random.normal()]);
        assert!(asymmetric > 0.9, "{asymmetric}");
    }

    #[test]
    fn common_slow_down_does_not_distort_a_ratio() {
        let found = shares(|random| {
            let both = 0.15 + 0.1 * random.normal();
            [both + 0.01 * random.normal(), both + 0.01 * random.normal()]
        });
        assert!(found.iter().all(|share| *share < 0.01), "{found:?}");
    }

    #[test]
    fn slow_down_is_reported_only_if_it_is_shown() {
        assert_eq!(shown_slow_down(&[]), None);
        assert_eq!(shown_slow_down(&[0.7; 4]), None, "two builds show nothing");
        let shown = shown_slow_down(&[0.7; 6]).unwrap();
        assert!((shown - 0.7_f64.exp()).abs() < 1e-9);
        assert_eq!(shown_slow_down(&[0.05; 40]), None, "below a tenth");
        assert_eq!(shown_slow_down(&[0.9, -0.3, 0.8, -0.2, 0.9, 0.0]), None, "noise");
    }
}
