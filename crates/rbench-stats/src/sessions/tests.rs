//! Tests of the variance between sessions: by hand, and by simulated sessions that shift.

use super::*;
use crate::{
    Assessment, Comparison, Criteria, Estimator, Evidence, InconclusiveReason, Measurements,
    Metric, Pairing, Random, Verdict,
};

const ALPHA: f64 = 0.05;

fn summary(builds: impl IntoIterator<Item = (u64, f64)>) -> Summary {
    let builds = builds.into_iter().map(|(seed, log)| (seed, [[log.exp()]]));
    Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
}

fn assert_close(obtained: f64, expected: f64) {
    assert!((obtained - expected).abs() < 1e-12, "{obtained} instead of {expected}");
}

fn repeat<'s>(sessions: &[(usize, &'s Summary)], same_programs: bool) -> Repeat<'s> {
    Repeat { sessions: sessions.to_vec(), same_programs }
}

#[test]
fn layouts_cancel_only_in_repeats_with_the_same_seeds() {
    // Means 1 and 3; deviations from them -1, 1 and -1, 1: builds explain nothing if paired.
    let (one, two) = (summary([(1, 0.0), (2, 2.0)]), summary([(1, 2.0), (2, 4.0)]));
    let paired = SessionVariance::estimate(&[repeat(&[(0, &one), (1, &two)], true)]).unwrap();
    assert_close(paired.mean_square, 2.0);
    assert_close(paired.noise, 0.0);
    assert_close(paired.freedom, 1.0);
    assert_close(paired.standard_deviation(), 2f64.sqrt());
    // Var = 2 in each, by l = 2 builds: 1 and 1, times 1 - 1/2.
    let unpaired = SessionVariance::estimate(&[repeat(&[(0, &one), (1, &two)], false)]).unwrap();
    assert_close(unpaired.noise, 1.0);
    let other_seeds = summary([(5, 2.0), (6, 4.0)]);
    let fresh =
        SessionVariance::estimate(&[repeat(&[(0, &one), (1, &other_seeds)], true)]).unwrap();
    assert_close(fresh.noise, 1.0);
}

#[test]
fn residual_of_the_table_is_noise() {
    // Residuals ±1 in a 2 × 2 table: SS 4, 1 degree of freedom, l = 2.
    let (one, two) = (summary([(1, 1.0), (2, 0.0)]), summary([(1, 0.0), (2, 3.0)]));
    let found = SessionVariance::estimate(&[repeat(&[(0, &one), (1, &two)], true)]).unwrap();
    assert_close(found.noise, 4.0 / 2.0);
    assert_close(found.mean_square, 0.5);
    assert_close(found.standard_deviation(), 0.0);
}

#[test]
fn repeats_sharing_experiments_have_fewer_degrees_of_freedom() {
    let any = summary([(1, 0.0), (2, 1.0)]);
    let freedom = |repeats: &[&[usize]]| {
        let repeats: Vec<Repeat<'_>> = repeats
            .iter()
            .map(|sessions| Repeat {
                sessions: sessions.iter().map(|session| (*session, &any)).collect(),
                same_programs: true,
            })
            .collect();
        SessionVariance::estimate(&repeats).unwrap().freedom
    };
    assert_close(freedom(&[&[0, 1, 2, 3]]), 3.0);
    assert_close(freedom(&[&[0, 1], &[2, 3]]), 2.0);
    // The same two experiments add no information a second time.
    assert_close(freedom(&[&[0, 1], &[0, 1]]), 1.0);
    // A chain of 3: Q = ½ · path Laplacian, eigenvalues 0, ½, 3/2; ν = 2² / (¼ + 9/4).
    assert_close(freedom(&[&[0, 1], &[1, 2]]), 1.6);
}

#[test]
fn estimate_needs_a_repeat() {
    let (two, one) = (summary([(1, 0.0), (2, 1.0)]), summary([(1, 0.0)]));
    assert_eq!(SessionVariance::estimate(&[]), None);
    assert_eq!(SessionVariance::estimate(&[repeat(&[(0, &two)], true)]), None);
    assert_eq!(SessionVariance::estimate(&[repeat(&[(0, &two), (1, &one)], true)]), None);
}

/// A store with sessions that shift by `between`, layouts and noise as given, and equal versions.
struct World {
    between: f64,
    layouts: f64,
    noise: f64,
    builds: u64,
}

impl World {
    /// The layout effects of one commit.
    fn layouts(&self, random: &mut Random) -> Vec<f64> {
        (0..self.builds).map(|_| self.layouts * random.normal()).collect()
    }

    fn session(&self, layouts: &[f64], random: &mut Random) -> Summary {
        let shift = self.between * random.normal();
        let logs: Vec<f64> =
            layouts.iter().map(|layout| shift + layout + self.noise * random.normal()).collect();
        summary((1..).zip(logs))
    }

    /// One commit measured `1 + freedom` times, and two other versions of matched layouts in two other sessions,
    /// compared: once across sessions, and once ignoring them.
    fn trial(&self, freedom: usize, random: &mut Random) -> [Comparison; 2] {
        let layouts = self.layouts(random);
        let again: Vec<Summary> = (0..=freedom).map(|_| self.session(&layouts, random)).collect();
        let sessions = SessionVariance::estimate(&[Repeat {
            sessions: again.iter().enumerate().collect(),
            same_programs: true,
        }]);
        let layouts = self.layouts(random);
        let [base, head] = [0; 2].map(|_| self.session(&layouts, random));
        let pairing = Pairing::BySeed;
        [
            Comparison::across(&base, &head, pairing, &sessions.unwrap(), ALPHA).unwrap(),
            Comparison::new(&base, &head, pairing, ALPHA).unwrap(),
        ]
    }

    /// The false-alarm rates of the two comparisons, in percent.
    fn alarms(&self, freedom: usize, trials: u32) -> [f64; 2] {
        let mut random = Random::new(7);
        let mut alarms = [0; 2];
        for _ in 0..trials {
            let compared = self.trial(freedom, &mut random);
            for (count, comparison) in alarms.iter_mut().zip(compared) {
                *count += u32::from(comparison.differs().is_some());
            }
        }
        alarms.map(|count| 100.0 * f64::from(count) / f64::from(trials))
    }
}

/// s = 0.5 %, and a paired standard error of 0.3 %.
const SHIFTING: World = World { between: 0.005, layouts: 0.02, noise: 0.0067, builds: 10 };

#[test]
fn false_alarms_keep_the_rate_when_sessions_shift() {
    // Three Monte-Carlo standard errors of 5 % in 4,000 trials are 1.0 points.
    for freedom in [2, 4, 10] {
        let [across, ignored] = SHIFTING.alarms(freedom, 4_000);
        assert!((3.0..=6.3).contains(&across), "{freedom}: {across} %");
        assert!((38.0..=48.0).contains(&ignored), "without sessions: {ignored} %");
    }
}

#[test]
fn false_alarms_after_one_repeat_stay_below_the_rate() {
    let [across, _] = SHIFTING.alarms(1, 4_000);
    assert!(across <= 5.0, "{across} %");
}

#[test]
fn false_alarms_keep_the_rate_when_sessions_are_equal() {
    let [across, ignored] = World { between: 0.0, ..SHIFTING }.alarms(4, 4_000);
    assert!(across <= 6.0, "{across} %");
    assert!((4.0..=6.0).contains(&ignored), "{ignored} %");
}

#[test]
fn freedom_is_at_most_that_of_the_session_variance() {
    for freedom in [1.0, 2.0, 5.0, 50.0] {
        let sessions = SessionVariance { mean_square: 1.0, noise: 0.0, freedom, repeats: 9 };
        for standard_error in [0.0, 1.0, 100.0] {
            assert!(sessions.added_to(standard_error, 9.0).1 <= freedom);
        }
    }
}

#[test]
fn stored_change_needs_the_certainty_of_two_stages() {
    let version = |shift: f64| {
        summary((1..).zip([0.0, 0.01, -0.01, 0.02, -0.02, 0.005].map(|log| log + shift)))
    };
    let sessions = SessionVariance { mean_square: 1e-5, noise: 0.0, freedom: 5.0, repeats: 5 };
    let decide = |shift: f64, criteria: &Criteria| {
        let (base, head) = (version(0.0), version(shift));
        let stage = Assessment::across(&base, &head, Pairing::BySeed, &sessions, criteria).unwrap();
        Verdict::decide_stored(&stage, 1, criteria)
    };
    let criteria = Criteria::default();
    let large = decide(0.2, &criteria);
    let Verdict::Regressed { change, evidence: Evidence::Stored { .. } } = large else {
        panic!("{large:?}")
    };
    assert!((change.estimate - 0.2214).abs() < 1e-4, "{change:?}");
    let reason = |verdict| match verdict {
        Verdict::Inconclusive { reason, .. } => reason,
        other => panic!("{other:?}"),
    };
    assert!(matches!(reason(decide(0.013, &criteria)), InconclusiveReason::NeedsFresh { .. }));
    let unconfirmed = Criteria { confirm: false, ..criteria };
    assert_eq!(decide(0.013, &unconfirmed).name(), "regressed");
    assert_eq!(reason(decide(0.001, &criteria)), InconclusiveReason::NotFlagged);
}

#[test]
fn sessions_give_intervals_even_to_constant_builds() {
    let version = |log| summary([(1, log), (2, log), (3, log)]);
    let sessions = SessionVariance { mean_square: 1e-4, noise: 0.0, freedom: 4.0, repeats: 4 };
    let compare = |head| {
        let (base, head) = (version(0.0), version(head));
        Comparison::across(&base, &head, Pairing::BySeed, &sessions, ALPHA).unwrap()
    };
    for (head, differs) in [(0.01, false), (0.1, true)] {
        let comparison = compare(head);
        assert_eq!(comparison.differs().is_some(), differs);
        assert_eq!(!comparison.base.overlaps(&comparison.head), differs);
    }
}
