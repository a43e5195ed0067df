//! The procedure of a comparison as a whole: looks of the first stage, fresh builds for what is flagged.

use cargo_rbench::{
    model::{Looks, Metric},
    stats::{
        Assessment, Criteria, Estimator, Measurements, Outlook, Pairing, Random, Rates, Summary,
        Verdict, procedure::WORTHWHILE,
    },
};

use super::{
    replicate::Estimate,
    sheet::{Sheet, Target},
    stages::any_of_suite,
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

/// What is counted of a benchmark.
fn counted(decided: &Decided) -> [f64; 4] {
    [
        f64::from(matches!(decided.verdict, Verdict::Unchanged { .. })),
        f64::from(matches!(decided.verdict, Verdict::Regressed { .. })),
        decided.builds as f64,
        f64::from(decided.covers),
    ]
}

/// Benchmarks that did not change, with builds that deviate by these shares of the smallest change of interest.
pub fn without_change(sheet: &mut Sheet) {
    let criteria = Criteria::default();
    for (share, unchanged, early, most) in
        [(0.25, 0.999, 0.999, 5.1), (0.5, 0.99, 0.8, 6.5), (1.0, 0.8, 0.1, 18.0)]
    {
        let pairs = Pairs { change: 0.0, deviation: share * criteria.min_effect.ln_1p() };
        let trials = sheet.trials(20_000);
        let estimates: [Estimate; 5] = trials.means(|random| {
            let decided = pairs.compare(LOOKS, &criteria, random)?;
            let [unchanged, regressed, builds, covers] = counted(&decided);
            let early = f64::from(decided.builds == LOOKS.first as usize);
            Some([unchanged, regressed, builds, covers, early])
        });
        let targets = [
            ("unchanged", Target::AtLeast(unchanged)),
            ("regressed", Target::AtMost(0.001)),
            ("builds", Target::AtMost(most)),
            ("interval covers", Target::AtLeast(0.945)),
            ("done after 5 builds", Target::AtLeast(early)),
        ];
        for ((what, target), estimate) in targets.into_iter().zip(estimates) {
            let check = format!("looks 5..20, no change, sd of d {share} min-effects: {what}");
            sheet.estimated(check, target, estimate);
        }
    }
}

/// Benchmarks that changed by so many smallest changes of interest: how often that is called no change, how often
/// it is reported, and whether the interval that is told contains it.
pub fn with_change(sheet: &mut Sheet) {
    let criteria = Criteria::default();
    let unit = criteria.min_effect.ln_1p();
    // The change, and the least that is reported with these deviations.
    for (change, least) in
        [(1.0, [0.4, 0.4]), (1.25, [0.9, 0.8]), (1.5, [0.98, 0.93]), (2.0, [0.99, 0.97])]
    {
        for (share, least) in [0.5, 1.0].into_iter().zip(least) {
            let pairs = Pairs { change: change * unit, deviation: share * unit };
            let [unchanged, regressed, _, covers]: [Estimate; 4] = sheet
                .trials(20_000)
                .means(|random| Some(counted(&pairs.compare(LOOKS, &criteria, random)?)));
            let check = |what: &str| {
                format!("looks 5..20, change {change}, sd of d {share} min-effects: {what}")
            };
            sheet.estimated(check("unchanged"), Target::AtMost(0.05), unchanged);
            sheet.estimated(check("regressed"), Target::AtLeast(least), regressed);
            sheet.estimated(check("interval covers"), Target::AtLeast(0.945), covers);
        }
    }
}

/// The procedure where no change is too small to be of interest: false regressions, their cost, and power, for
/// changes in standard deviations of the difference of two builds.
pub fn without_min_effect(sheet: &mut Sheet) {
    let criteria = Criteria { min_effect: 0.0, ..Criteria::default() };
    let pairs = |effect: f64| Pairs { change: effect * 0.01, deviation: 0.01 };
    let [_, alarms, builds, _]: [Estimate; 4] = sheet
        .trials(400_000)
        .means(|random| Some(counted(&pairs(0.0).compare(LOOKS, &criteria, random)?)));
    let check = |what: &str| format!("looks 5..20, G=50, no min-effect, no change: {what}");
    sheet.estimated(check("regressed"), Target::AtMost(0.001), alarms);
    sheet.estimated(check("P(any regressed)"), Target::AtMost(0.05), any_of_suite(alarms));
    sheet.estimated(check("builds per version"), Target::AtMost(12.0), builds);
    for (effect, power, factor) in
        [(0.5, 0.35, 1.45), (0.75, 0.65, 1.15), (1.0, 0.88, 1.06), (1.5, 0.95, 1.02)]
    {
        let trials = sheet.trials(40_000);
        let [reported, sum, squares]: [Estimate; 3] = trials.means(|random| {
            let decided = pairs(effect).compare(LOOKS, &criteria, random)?;
            let Verdict::Regressed { change, .. } = decided.verdict else { return Some([0.0; 3]) };
            let factor = change.estimate.ln_1p() / (effect * 0.01);
            Some([1.0, factor, factor * factor])
        });
        let check = format!("looks 5..20, G=50, no min-effect: power at {effect} sd of d");
        sheet.estimated(check, Target::AtLeast(power), reported);
        let mean = sum.mean / reported.mean;
        let variance = squares.mean / reported.mean - mean * mean;
        let count = trials.count as f64 * reported.mean;
        let obtained = Estimate { mean, error: (variance / count).sqrt() };
        let check = format!("reported / true change where reported, true {effect} sd of d");
        sheet.estimated(check, Target::AtMost(factor), obtained);
    }
}

/// The number of builds that is suggested, typed: how often a change of just the size that is promised is then
/// reported.
pub fn advice(sheet: &mut Sheet) {
    let criteria = Criteria::default();
    for share in [1.0, 2.0] {
        let deviation = share * criteria.min_effect.ln_1p();
        let reported = sheet.trials(4_000).rate(|random| {
            let pilot = Pairs { change: 0.0, deviation }.draw(10, random);
            let pilot = assess(&pilot, Rates::of_only_look(&criteria), &criteria)?;
            let promised = Outlook::of(&pilot, SUITE, &criteria)?.with_builds(20).ln_1p();
            let decided = Pairs { change: promised, deviation }.compare(
                Looks::fixed(20),
                &criteria,
                random,
            )?;
            Some(matches!(decided.verdict, Verdict::Regressed { .. }))
        });
        let check =
            format!("what -l 20 promises after 10 builds, sd of d {share} min-effects: reported");
        sheet.estimated(check, Target::AtLeast(0.8), reported);
    }
}
