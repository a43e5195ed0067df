//! Tests of changes: published examples, ties between sessions, and series that must show no change.

use proptest::prelude::*;

use super::*;
use crate::Random;

/// Each value in a separate session, without standard errors.
fn plain(logs: &[f64]) -> Vec<Observation> {
    let one = |(place, log): (usize, &f64)| Observation {
        place,
        log: *log,
        variance: 0.0,
        session: place,
        machine: 0,
    };
    logs.iter().enumerate().map(one).collect()
}

/// All values in one session, with this standard error.
fn together(logs: &[f64], error: f64) -> Vec<Observation> {
    let one = |one: Observation| Observation { variance: error * error, session: 0, ..one };
    plain(logs).into_iter().map(one).collect()
}

fn changes(observations: &[Observation]) -> Vec<ChangePoint> {
    let series = Series::new(observations, None).unwrap();
    if series.p() <= LARGEST_P { series.changes(LARGEST_P) } else { Vec::new() }
}

fn starts(observations: &[Observation]) -> Vec<usize> {
    changes(observations).iter().map(|change| change.at[1]).collect()
}

/// asv finds [3, 6, 9], the ends of segments, with its smallest penalty. By standard errors of 1 % no penalty has to be
/// chosen.
#[test]
fn steps_of_asvs_easy_case_are_found() {
    let values = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0_f64];
    assert_eq!(starts(&together(&values.map(f64::ln), 0.01)), [3, 6]);
}

/// asv finds [500, 1000] in `.2 cos(j / 100) + (j >= 500)`. Without the step there is nothing to find.
#[test]
fn cosine_is_no_step_and_a_step_on_it_is_one() {
    let wave = |j: i32| 0.2 * (f64::from(j) / 100.0).cos();
    let alone: Vec<f64> = (0..1000).map(wave).collect();
    assert_eq!(starts(&plain(&alone)), [] as [usize; 0]);
    let with_step: Vec<f64> = (0..1000).map(|j| wave(j) + f64::from(u8::from(j >= 500))).collect();
    let found = changes(&plain(&with_step));
    assert_eq!(found.len(), 1);
    // asv has the exact place. For us the wave is noise, and a value of it may lie on either side.
    assert!(found[0].at[1].abs_diff(500) <= 3, "{found:?}");
}

/// Otava finds 6 with p = .001 and more at weaker levels. On the scale of logarithms too, .5 stands out from the start.
#[test]
fn otavas_example_changes_at_index_six() {
    let values = [1.02, 0.95, 0.99, 1.0, 1.12, 0.9, 0.5, 0.51, 0.48, 0.48, 0.55_f64];
    assert_eq!(starts(&plain(&values.map(f64::ln))), [6]);
}

/// `MongoDB`'s test has the values 0 and 1 themselves, which have no logarithm; here they are the logarithms.
#[test]
fn mongodbs_zeros_and_ones_change_at_a_thousand() {
    let logs: Vec<f64> = (0..2000).map(|index| f64::from(u8::from(index >= 1000))).collect();
    let found = changes(&plain(&logs));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at, [999, 1000]);
    assert_eq!((found[0].earliest, found[0].latest), (found[0].at, found[0].at));
    assert!((found[0].estimate - 1.0).abs() < 1e-9 && found[0].low > 0.99);
}

/// Thirty versions, each compared with the one before by the machine that `machine` names; the second is faster by half.
fn by_machines(machine: impl Fn(usize) -> usize, change: f64) -> Vec<Observation> {
    let mut random = Random::new(5);
    let mut observations = Vec::new();
    for session in 1..30 {
        let machine = machine(session);
        let shift = -0.4 * machine as f64 + 0.01 * random.normal();
        for place in [session - 1, session] {
            let level = if place >= 18 { change } else { 0.0 };
            let log = level + shift + 0.005 * random.normal();
            observations.push(Observation { place, log, variance: 2.5e-5, session, machine });
        }
    }
    observations
}

#[test]
fn large_change_between_two_versions_of_a_session_is_one_change() {
    for change in [0.05, 0.2, 1.0] {
        let found = changes(&by_machines(|_| 0, change));
        assert_eq!(found.iter().map(|one| one.at).collect::<Vec<_>>(), [[17, 18]], "{change}");
        assert!(found[0].low < change && change < found[0].high, "{found:?}");
    }
}

#[test]
fn another_machine_is_no_change_and_hides_none() {
    let replaced = |session| usize::from(session > 14);
    let alternating = |session| session / 3 % 2;
    assert_eq!(starts(&by_machines(replaced, 0.0)), [] as [usize; 0]);
    assert_eq!(starts(&by_machines(alternating, 0.0)), [] as [usize; 0]);
    assert_eq!(starts(&by_machines(replaced, 0.05)), [18]);
    assert_eq!(starts(&by_machines(alternating, 0.05)), [18]);
}

/// Nothing ties two machines that measured different versions: their difference may be that of the machines.
#[test]
fn machines_without_a_common_version_show_no_change_between_them() {
    let of_machine = |one: &Observation| (one.place < 15) == (one.machine == 0);
    let mut observations = by_machines(|session| usize::from(session > 14), 0.0);
    observations.retain(of_machine);
    assert_eq!(starts(&observations), [] as [usize; 0]);
}

/// asv: an outlier of one value is no step, and one of two values neither, as asv's errors are medians. Ours allows two
/// values in a row to be a change and its recovery.
#[test]
fn single_outlier_is_no_change_at_any_place() {
    let mut random = Random::new(1);
    for odd in [0, 1, 25, 48, 49] {
        let mut logs: Vec<f64> = (0..50).map(|_| 0.01 * random.normal()).collect();
        logs[odd] += 7.0;
        assert_eq!(starts(&plain(&logs)), [] as [usize; 0], "{odd}");
    }
}

#[test]
fn step_up_and_later_down_are_two_changes() {
    let mut random = Random::new(2);
    let level = |index: usize| if (20..30).contains(&index) { 0.05 } else { 0.0 };
    let logs: Vec<f64> = (0..50).map(|index| level(index) + 0.01 * random.normal()).collect();
    let found = changes(&plain(&logs));
    assert_eq!(found.iter().map(|change| change.at[1]).collect::<Vec<_>>(), [20, 30]);
    assert!(found[0].low > 0.0 && found[1].high < 0.0);
    assert!(
        found.iter().all(|change| change.low < change.estimate.abs().copysign(change.estimate))
    );
}

/// Four steps in a thousand versions cause most of the differences between blocks of a hundred versions.
#[test]
fn several_steps_in_a_long_series_are_not_wandering() {
    let mut random = Random::new(7);
    for (versions, size) in [(1000, 0.1), (1000, 0.03), (200, 0.05)] {
        let level = |index: usize| (5 * index / versions) as f64 * size;
        let logs: Vec<f64> =
            (0..versions).map(|index| level(index) + 0.01 * random.normal()).collect();
        let found = starts(&plain(&logs));
        let true_places = [1, 2, 3, 4].map(|step| step * versions / 5);
        let is_found = |at: &usize| found.iter().any(|one| one.abs_diff(*at) <= 3);
        assert!(found.len() == 4 && true_places.iter().all(is_found), "{versions}: {found:?}");
    }
}

#[test]
fn slow_wandering_is_rarely_taken_for_steps() {
    let mut random = Random::new(8);
    let flagged = (0..100).filter(|_| {
        let mut wandering = 0.0;
        let logs: Vec<f64> = (0..300)
            .map(|_| {
                wandering = 0.98 * wandering + 0.005 * random.normal();
                wandering + 0.01 * random.normal()
            })
            .collect();
        !starts(&plain(&logs)).is_empty()
    });
    let flagged = flagged.count();
    assert!(flagged <= 40, "{flagged} of 100");
}

#[test]
fn series_needs_enough_versions() {
    assert!(Series::new(&plain(&[0.0; 4]), None).is_none());
    let repeated: Vec<Observation> =
        (0..9).map(|session| Observation { session, ..plain(&[0.0])[0] }).collect();
    assert!(Series::new(&repeated, None).is_none());
    assert_eq!(Series::new(&plain(&[0.0; 5]), None).unwrap().versions(), 5);
}

#[test]
fn places_with_gaps_are_reported_unchanged() {
    let mut observations = together(&[0.0, 0.001, 0.0, 0.1, 0.101, 0.1], 0.002);
    for one in &mut observations {
        one.place = 10 * one.place + 7;
    }
    let found = changes(&observations);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at, [27, 37]);
    let reversed: Vec<Observation> = observations.iter().rev().copied().collect();
    assert_eq!(changes(&reversed), found);
}

/// Six versions in one experiment, slow from one version on: neither session nor noise must be guessed.
#[test]
fn one_experiment_of_six_versions_shows_the_change() {
    let logs = [0.0, 0.002, -0.002, 0.05, 0.051, 0.049];
    assert_eq!(starts(&together(&logs, 0.003)), [3]);
}

/// Sessions shift by ten times the noise. A chain of pairs, each version in two sessions, shows changes that single
/// values would not.
fn chain(step: f64, random: &mut Random) -> Vec<Observation> {
    let mut observations = Vec::new();
    for session in 0..30 {
        let shift = 0.02 * random.normal();
        for place in [session, session + 1] {
            let level = if place >= 15 { step } else { 0.0 };
            let log = level + shift + 0.002 * random.normal();
            observations.push(Observation { place, log, variance: 4e-6, session, machine: 0 });
        }
    }
    observations
}

#[test]
fn ties_show_changes_smaller_than_session_shifts() {
    let mut random = Random::new(3);
    let mut found = 0;
    for _ in 0..40 {
        let observations = chain(0.012, &mut random);
        let tied = starts(&observations);
        found += u32::from(tied.iter().any(|at| at.abs_diff(15) <= 1));
    }
    assert!(found >= 20, "{found} of 40");
}

#[test]
fn shifting_sessions_with_ties_are_no_change() {
    let mut random = Random::new(4);
    let flagged = (0..300).filter(|_| !starts(&chain(0.0, &mut random)).is_empty()).count();
    assert!(flagged <= 15 + 12, "{flagged} of 300");
}

/// Four experiments of five versions each, nothing in common.
#[test]
fn shift_of_a_whole_experiment_is_no_change() {
    let mut random = Random::new(5);
    let mut groups = |step: f64| -> Vec<Observation> {
        (0..40)
            .map(|place| {
                let session = place / 5;
                let shift = 0.02 * (f64::from(u8::try_from(session * 7 % 4).unwrap()) - 1.5);
                let level = if place >= 22 { step } else { 0.0 };
                let log = shift + level + 0.002 * random.normal();
                Observation { place, log, variance: 4e-6, session, machine: 0 }
            })
            .collect()
    };
    assert_eq!(starts(&groups(0.0)), [] as [usize; 0]);
    assert_eq!(starts(&groups(0.02)), [22]);
}

#[test]
fn p_value_falls_with_the_size_of_the_change() {
    let p = |step: f64| {
        let logs: Vec<f64> = (0..20).map(|index| if index < 10 { 0.0 } else { step }).collect();
        Series::new(&together(&logs, 0.01), None).unwrap().p()
    };
    let all = [0.0, 0.015, 0.02, 0.025, 0.05].map(p);
    assert_eq!(all[0], 1.0);
    assert!(all.windows(2).all(|pair| pair[1] <= pair[0]), "{all:?}");
    assert!(all[4] <= 1e-6 && all[3] > 0.0);
}

#[test]
fn only_change_is_kept_at_every_level_above_its_p_value() {
    let mut random = Random::new(6);
    for _ in 0..200 {
        let logs: Vec<f64> = (0..30)
            .map(|index| 0.01 * (random.normal() + 1.5 * f64::from(u8::from(index >= 20))))
            .collect();
        let series = Series::new(&plain(&logs), None).unwrap();
        let p = series.p();
        if p <= LARGEST_P {
            assert!(!series.changes(p * 1.01).is_empty(), "{p}");
        }
    }
}

prop_compose! {
    fn any_model()(versions in 6..20_usize, sessions in 1..6_usize)(
        data in prop::collection::vec(
            (0..versions, 0..sessions, -1.0..1.0, 0.01..0.5), versions..4 * versions),
        between in 0.01..1.0,
        versions in Just(versions),
        sessions in Just(sessions),
    ) -> Model {
        let mut data: Vec<Datum> = data
            .into_iter()
            .enumerate()
            .map(|(index, (version, session, y, variance))| {
                // Every version has a value.
                let version = if index < versions { index } else { version };
                Datum { y, variance, version, effect: Some(session), machine: None }
            })
            .collect();
        data.sort_by_key(|datum| datum.version);
        Model { data, versions, effects: sessions, machines: 0, between }
    }
}

proptest! {
    #[test]
    fn minimised_sum_falls_at_each_alternation(model in any_model(), penalty in 0.1..20.0) {
        for start in [Vec::new(), (1..model.versions).collect(), vec![2, 4]] {
            let mut totals = Vec::new();
            model.settle(model.fit(start, None), penalty, |total| totals.push(total));
            let slack = 1e-6 * totals[0].abs();
            // The start may have segments that are too short, and so be better than every allowed division.
            prop_assert!(totals[1..].windows(2).all(|pair| pair[1] <= pair[0] + slack), "{totals:?}");
        }
    }

    #[test]
    fn fit_has_the_best_levels_and_effects(model in any_model(), at in 0..100_usize, by in -0.1..0.1) {
        let fit = model.fit(vec![2, 4], None);
        let segments = [0, 0, 1, 1].into_iter().chain(std::iter::repeat(2));
        let segments: Vec<usize> = segments.take(model.versions).collect();
        let cost = |levels: &[f64], effects: &[f64]| -> f64 {
            let squares = model.data.iter().map(|datum| {
                let rest = datum.y - levels[segments[datum.version]] - effects[datum.effect.unwrap()];
                rest * rest / datum.variance
            });
            let ridge = effects.iter().map(|effect| effect * effect / model.between);
            squares.sum::<f64>() + ridge.sum::<f64>()
        };
        prop_assert!((cost(&fit.levels, &fit.effects) - fit.cost).abs() <= 1e-9 * fit.cost.max(1.0));
        let (mut levels, mut effects) = (fit.levels.clone(), fit.effects.clone());
        let count = levels.len() + effects.len();
        match (at % count).checked_sub(levels.len()) {
            None => levels[at % count] += by,
            Some(effect) => effects[effect] += by,
        }
        prop_assert!(cost(&levels, &effects) >= fit.cost - 1e-9);
    }

    #[test]
    fn any_finite_series_is_accepted(
        logs in prop::collection::vec(prop_oneof![-1e3..1e3, Just(0.0), Just(1e-300)], 5..60),
        variance in prop_oneof![Just(0.0), 0.0..1.0, Just(1e-300)],
        sessions in 1..8_usize,
    ) {
        let observations: Vec<Observation> = plain(&logs)
            .into_iter()
            .map(|one| Observation { variance, session: one.place % sessions, ..one })
            .collect();
        let series = Series::new(&observations, None).unwrap();
        let p = series.p();
        prop_assert!((0.0..=1.0).contains(&p));
        for change in series.changes(LARGEST_P) {
            prop_assert!(change.low <= change.estimate && change.estimate <= change.high);
            prop_assert!(change.earliest[1] <= change.at[1] && change.at[1] <= change.latest[1]);
        }
    }
}

fn place_of(values: &[f64], at: usize) -> [usize; 2] {
    interval(&Sums::new(values, &vec![1.0; values.len()]), [0, at, values.len()], 0.95)
}

#[test]
fn large_change_has_one_place() {
    assert_eq!(place_of(&[0.0, 0.1, 0.0, 9.0, 9.1, 9.0], 3), [3, 3]);
}

#[test]
fn value_between_two_levels_may_belong_to_either() {
    assert_eq!(place_of(&[0.0, 0.0, 0.0, 4.5, 9.0, 9.0, 9.0], 4), [3, 4]);
}

#[test]
fn small_change_may_be_nearly_anywhere() {
    let [first, last] = place_of(&[0.0, 0.4, -0.3, 0.5, 0.2, 0.8], 3);
    assert_eq!([first, last], [1, 5]);
}

fn exact(after: usize, until: usize) -> Span {
    Span { best: [after, until], possible: [after, until] }
}

fn members(changes: &[Span]) -> Vec<Vec<usize>> {
    groups(changes).into_iter().map(|group| group.members).collect()
}

#[test]
fn groups_join_changes_at_one_version() {
    let changes = [exact(4, 5), exact(9, 10), exact(4, 5), exact(3, 4)];
    assert_eq!(members(&changes), [vec![3], vec![0, 2], vec![1]]);
}

#[test]
fn uncertain_change_joins_the_largest_group() {
    let unsure = Span { best: [2, 3], possible: [1, 6] };
    let found = groups(&[exact(4, 5), unsure, exact(4, 5)]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].span, exact(4, 5));
}

#[test]
fn rarely_measured_benchmark_narrows_no_group() {
    let rare = exact(2, 8);
    let found = groups(&[rare, exact(4, 5)]);
    assert_eq!((found.len(), found[0].span), (1, exact(4, 5)));
}

#[test]
fn groups_of_no_changes_are_none() {
    assert_eq!(groups(&[]), []);
}
