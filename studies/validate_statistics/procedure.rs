//! The procedure of a comparison as a whole: looks of the first stage, fresh builds for what is flagged.

use cargo_rbench::{
    model::{Looks, Metric},
    stats::{
        Assessment, Criteria, Estimator, Measurements, Pairing, Random, Rates, Summary, Verdict,
        procedure::WORTHWHILE,
    },
};

use super::{
    replicate::Estimate,
    sheet::{Sheet, Target},
};

/// The looks of a comparison by default.
const LOOKS: Looks = Looks { first: 5, most: 20 };

/// Benchmarks judged together.
const SUITE: usize = 50;

/// A benchmark whose builds differ by `change` on average and deviate by `deviation` from that, both in
/// logarithms.
#[derive(Clone, Copy)]
struct Pairs {
    change: f64,
    deviation: f64,
}

/// What came of a benchmark.
struct Decided {
    verdict: Verdict,
    /// Builds of each version, in both stages.
    builds: usize,
    /// Whether the interval that is told contains the true change.
    covers: bool,
}

impl Pairs {
    fn draw(self, count: usize, random: &mut Random) -> Vec<f64> {
        (0..count).map(|_| self.change + self.deviation * random.normal()).collect()
    }

    /// Measures and judges it as `compare` does.
    fn compare(self, looks: Looks, criteria: &Criteria, random: &mut Random) -> Option<Decided> {
        let all = looks.count();
        let mut differences = Vec::new();
        let mut first = None;
        for (look, builds) in looks.builds().enumerate() {
            differences.extend(self.draw(builds as usize - differences.len(), random));
            let assessed = assess(&differences, Rates::of_look(criteria, look, all), criteria)?;
            let later = looks.builds().enumerate().skip(look + 1);
            let chance = later.map(|(look, builds)| {
                let rates = Rates::of_look(criteria, look, all);
                assessed.chance_to_be_decided(builds as usize, rates)
            });
            let goes_on = !assessed.ends_first_stage(criteria)
                && chance.reduce(f64::max).is_some_and(|chance| chance >= WORTHWHILE);
            first = Some(assessed);
            if !goes_on {
                break;
            }
        }
        let first = first?;
        let mut builds = differences.len();
        let mut second = None;
        if first.needs_confirmation(criteria) {
            let fresh = if looks.is_fixed() {
                looks.most as usize
            } else {
                first.confirmation_builds(SUITE, criteria)
            };
            builds += fresh;
            let rates = Rates::of_second_stage(criteria, all);
            second = Some(assess(&self.draw(fresh, random), rates, criteria)?);
        }
        let interval = second.as_ref().unwrap_or(&first).change;
        let truth = self.change.exp_m1();
        let covers = interval.low <= truth && truth <= interval.high;
        let verdict = Verdict::of(&first, second.as_ref(), SUITE, criteria);
        Some(Decided { verdict, builds, covers })
    }
}

/// Builds that differ by these logarithms.
fn assess(differences: &[f64], rates: Rates, criteria: &Criteria) -> Option<Assessment> {
    let version = |is_head: bool| {
        let value = |difference: &f64| if is_head { 100.0 * difference.exp() } else { 100.0 };
        let builds = (0..).zip(differences.iter().map(|difference| [[value(difference)]]));
        Some(Summary::of(&Measurements::new(Metric::wall(), builds).ok()?, Estimator::Mean))
    };
    Assessment::at(rates, &version(false)?, &version(true)?, Pairing::BySeed, criteria).ok()
}

/// Rates and costs of the procedure, for changes in smallest changes of interest (1 %).
pub fn compared(sheet: &mut Sheet) {
    let criteria = Criteria::default();
    let unit = criteria.min_effect.ln_1p();
    for (share, least) in [(0.25, 1.0), (0.5, 0.98), (1.0, 0.0)] {
        let pairs = Pairs { change: 0.0, deviation: share * unit };
        let [unchanged, regressed, builds, early, covered] = sheet.trials(4_000).means(|random| {
            let decided = pairs.compare(LOOKS, &criteria, random)?;
            Some([
                f64::from(matches!(decided.verdict, Verdict::Unchanged { .. })),
                f64::from(matches!(decided.verdict, Verdict::Regressed { .. })),
                decided.builds as f64,
                f64::from(decided.builds <= LOOKS.first as usize),
                f64::from(decided.covers),
            ])
        });
        let what =
            |what: &str| format!("looks 5..20, no change, sd of d {share} min-effect: {what}");
        sheet.estimated(what("unchanged"), Target::AtLeast(least - 0.02), unchanged);
        sheet.estimated(what("regressed"), Target::AtMost(0.001), regressed);
        sheet.estimated(what("builds"), Target::AtMost(40.0), builds);
        sheet.estimated(what("done after 5"), Target::AtLeast(0.0), early);
        sheet.estimated(what("interval covers"), Target::AtLeast(0.95), covered);
    }
    for share in [0.25, 0.5, 1.0, 2.0] {
        for change in [0.5, 1.0, 1.25, 1.5, 2.0, 3.0] {
            let pairs = Pairs { change: change * unit, deviation: share * unit };
            let [unchanged, regressed, covered, builds] = sheet.trials(4_000).means(|random| {
                let decided = pairs.compare(LOOKS, &criteria, random)?;
                Some([
                    f64::from(matches!(decided.verdict, Verdict::Unchanged { .. })),
                    f64::from(matches!(decided.verdict, Verdict::Regressed { .. })),
                    f64::from(decided.covers),
                    decided.builds as f64,
                ])
            });
            let what = |what: &str| {
                format!("looks 5..20, change {change}, sd of d {share} min-effects: {what}")
            };
            sheet.estimated(what("unchanged"), Target::AtMost(0.05), unchanged);
            sheet.estimated(what("regressed"), Target::AtLeast(0.0), regressed);
            sheet.estimated(what("interval covers"), Target::AtLeast(0.95), covered);
            sheet.estimated(what("builds"), Target::AtMost(100.0), builds);
        }
    }
    let criteria = Criteria { min_effect: 0.0, ..criteria };
    for effect in [0.0, 0.75, 1.0, 1.5] {
        let pairs = Pairs { change: effect * 0.01, deviation: 0.01 };
        let [regressed, builds]: [Estimate; 2] = sheet.trials(20_000).means(|random| {
            let decided = pairs.compare(LOOKS, &criteria, random)?;
            Some([
                f64::from(matches!(decided.verdict, Verdict::Regressed { .. })),
                decided.builds as f64,
            ])
        });
        let what = |what: &str| format!("looks 5..20, change {effect} sd of d: {what}");
        sheet.estimated(what("regressed"), Target::AtLeast(0.0), regressed);
        sheet.estimated(what("builds"), Target::AtMost(100.0), builds);
    }
}
