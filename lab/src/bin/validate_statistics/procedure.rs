//! The procedure of a whole comparison: interim analyses of the first stage, fresh builds for
//! flagged benchmarks.

use cargo_rbench::model::{InterimAnalyses, Metric};
use rbench_stats::{
    AlphaSpending, Analysis, Change, Criteria, Decider, Decision, Estimator, Measurements, Pairing,
    Power, Random, Summary, Verdict, sequential::WORTHWHILE,
};

use super::{
    replicate::Estimate,
    sheet::{Sheet, Target},
    stages::any_of_suite,
};

pub const LOOKS: InterimAnalyses = InterimAnalyses { first: 5, most: 20 };

/// Benchmarks decided together.
const SUITE: usize = 50;

/// A benchmark whose builds differ by `change` on average and deviate by `deviation` from that,
/// both in logarithms.
#[derive(Clone, Copy)]
struct Pairs {
    change: f64,
    deviation: f64,
}

/// The difference of the logarithms of one pair of builds.
#[derive(Clone, Copy)]
pub struct Drawn {
    /// By the estimator.
    pub own: f64,
    /// By the mean of all measurements, if the estimator uses only the fastest.
    pub mean: Option<f64>,
}

pub struct Decided {
    pub verdict: Verdict,
    /// Builds of each version, in both stages.
    pub builds: usize,
    pub change: Change,
}

impl Decided {
    /// True if the reported interval contains the true change, a logarithm.
    fn covers(&self, change: f64) -> bool {
        (self.change.low..=self.change.high).contains(&change.exp_m1())
    }
}

/// The first stage of a benchmark.
pub struct FirstStage {
    /// The analysis that ended it.
    pub analysis: Analysis,
    pub builds: usize,
    /// The estimate that sends it to the second stage, if one does.
    pub nominated_by: Option<Decider>,
}

/// Measures the first stage of a benchmark as `compare` does, with simulated pairs of builds.
pub fn first_stage(
    analyses: InterimAnalyses,
    criteria: &Criteria,
    mut draw: impl FnMut(usize) -> Vec<Drawn>,
) -> Option<FirstStage> {
    let all = analyses.count();
    let mut pairs = Vec::new();
    let mut first = None;
    for (index, builds) in analyses.builds().enumerate() {
        pairs.extend(draw(builds as usize - pairs.len()));
        let analysis = analyse(&pairs, AlphaSpending::at_analysis(criteria, index, all), criteria)?;
        let later = analyses.builds().enumerate().skip(index + 1);
        let chance = later.map(|(index, builds)| {
            let rates = AlphaSpending::at_analysis(criteria, index, all);
            analysis.chance_to_be_decided(builds as usize, rates, criteria)
        });
        let ends = analysis.ends_first_stage(index + 1 == all, criteria);
        let goes_on = !ends && chance.reduce(f64::max).is_some_and(|chance| chance >= WORTHWHILE);
        first = Some((analysis, ends));
        if !goes_on {
            break;
        }
    }
    let (analysis, ends) = first?;
    let nominated_by = analysis.nominated_by(criteria).filter(|_| ends && criteria.confirm);
    Some(FirstStage { analysis, builds: pairs.len(), nominated_by })
}

/// Measures and decides one of `suite` benchmarks as `compare` does, with simulated pairs of
/// builds.
pub fn compare(
    analyses: InterimAnalyses,
    criteria: &Criteria,
    suite: usize,
    draw: impl Fn(&mut Random) -> Drawn,
    random: &mut Random,
) -> Option<Decided> {
    let mut draw = |count: usize| -> Vec<Drawn> { (0..count).map(|_| draw(random)).collect() };
    let FirstStage { analysis: first, mut builds, nominated_by } =
        first_stage(analyses, criteria, &mut draw)?;
    let second = match nominated_by {
        None => None,
        Some(decider) => {
            let fresh = if analyses.is_fixed() {
                analyses.most as usize
            } else {
                first.assessment(decider).confirmation_builds(suite, criteria)
            };
            builds += fresh;
            let rates = AlphaSpending::second_stage(criteria, analyses.count());
            Some(analyse(&draw(fresh), rates, criteria)?)
        }
    };
    let Decision { verdict, decider, .. } = first.decide(second.as_ref(), suite, criteria);
    let change = second.as_ref().unwrap_or(&first).assessment(decider).change;
    Some(Decided { verdict, builds, change })
}

impl Pairs {
    fn draw(self, random: &mut Random) -> Drawn {
        Drawn { own: self.change + self.deviation * random.normal(), mean: None }
    }

    fn compare(
        self,
        analyses: InterimAnalyses,
        criteria: &Criteria,
        random: &mut Random,
    ) -> Option<Decided> {
        compare(analyses, criteria, SUITE, |random| self.draw(random), random)
    }
}

/// The analysis of pairs of builds with these differences.
fn analyse(pairs: &[Drawn], rates: AlphaSpending, criteria: &Criteria) -> Option<Analysis> {
    let version = |differences: &[f64], is_head: bool| {
        let value = |difference: &f64| if is_head { 100.0 * difference.exp() } else { 100.0 };
        let builds = (0..).zip(differences.iter().map(|difference| [[value(difference)]]));
        Some(Summary::compute(&Measurements::new(Metric::wall(), builds).ok()?, Estimator::Mean))
    };
    let versions =
        |differences: Vec<f64>| Some([version(&differences, false)?, version(&differences, true)?]);
    let own = versions(pairs.iter().map(|pair| pair.own).collect())?;
    let mean: Option<Vec<f64>> = pairs.iter().map(|pair| pair.mean).collect();
    let mean = mean.and_then(versions);
    Analysis::new(rates, &own, mean.as_ref(), Pairing::BySeed, criteria).ok()
}

fn counted(decided: &Decided, change: f64) -> [f64; 4] {
    [
        f64::from(matches!(decided.verdict, Verdict::Unchanged { .. })),
        f64::from(matches!(decided.verdict, Verdict::Regressed { .. })),
        decided.builds as f64,
        f64::from(decided.covers(change)),
    ]
}

/// Benchmarks that did not change, with builds that deviate by these shares of the smallest change
/// of interest.
pub fn without_change(sheet: &mut Sheet) {
    let criteria = Criteria::default();
    for (share, unchanged, early, most) in
        [(0.25, 0.999, 0.999, 5.1), (0.5, 0.99, 0.8, 6.5), (1.0, 0.8, 0.1, 18.0)]
    {
        let pairs = Pairs { change: 0.0, deviation: share * criteria.min_effect.ln_1p() };
        let trials = sheet.trials(20_000);
        let estimates: [Estimate; 5] = trials.means(|random| {
            let decided = pairs.compare(LOOKS, &criteria, random)?;
            let [unchanged, regressed, builds, covers] = counted(&decided, 0.0);
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
            let check = format!("analyses 5..20, no change, sd of d {share} min-effects: {what}");
            sheet.estimated(check, target, estimate);
        }
    }
}

/// Benchmarks that changed by these multiples of the smallest change of interest: how often the
/// verdict is `unchanged`, how often the change is reported, and how often the reported interval
/// contains it.
pub fn with_change(sheet: &mut Sheet) {
    let criteria = Criteria::default();
    let unit = criteria.min_effect.ln_1p();
    // The change, and the least rates of reports with these deviations. Near the smallest change of interest fewer
    // intervals contain it: each wrong `unchanged` has one that does not.
    for (change, least, least_covered) in [
        (1.0, [0.4, 0.4], 0.91),
        (1.25, [0.9, 0.8], 0.93),
        (1.5, [0.98, 0.93], 0.945),
        (2.0, [0.99, 0.97], 0.945),
    ] {
        for (share, least) in [0.5, 1.0].into_iter().zip(least) {
            let pairs = Pairs { change: change * unit, deviation: share * unit };
            let [unchanged, regressed, _, covers]: [Estimate; 4] =
                sheet.trials(20_000).means(|random| {
                    Some(counted(&pairs.compare(LOOKS, &criteria, random)?, pairs.change))
                });
            let check = |what: &str| {
                format!("analyses 5..20, change {change}, sd of d {share} min-effects: {what}")
            };
            sheet.estimated(check("unchanged"), Target::AtMost(0.05), unchanged);
            sheet.estimated(check("regressed"), Target::AtLeast(least), regressed);
            sheet.estimated(check("interval covers"), Target::AtLeast(least_covered), covers);
        }
    }
}

/// The procedure if no change is too small to be of interest: false regressions, their cost, and
/// power, for changes in standard deviations of the difference of two builds.
pub fn without_min_effect(sheet: &mut Sheet) {
    let criteria = Criteria { min_effect: 0.0, ..Criteria::default() };
    let pairs = |effect: f64| Pairs { change: effect * 0.01, deviation: 0.01 };
    let [_, alarms, builds, _]: [Estimate; 4] = sheet
        .trials(400_000)
        .means(|random| Some(counted(&pairs(0.0).compare(LOOKS, &criteria, random)?, 0.0)));
    let check = |what: &str| format!("analyses 5..20, G=50, no min-effect, no change: {what}");
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
        let check = format!("analyses 5..20, G=50, no min-effect: power at {effect} sd of d");
        sheet.estimated(check, Target::AtLeast(power), reported);
        let mean = sum.mean / reported.mean;
        let variance = squares.mean / reported.mean - mean * mean;
        let count = trials.count as f64 * reported.mean;
        let obtained = Estimate { mean, error: (variance / count).sqrt() };
        let check = format!("reported / true change where reported, true {effect} sd of d");
        sheet.estimated(check, Target::AtMost(factor), obtained);
    }
}

/// The suggested number of builds, when used: how often a change of exactly the promised size is
/// then reported.
pub fn advice(sheet: &mut Sheet) {
    let criteria = Criteria::default();
    for share in [1.0, 2.0] {
        let deviation = share * criteria.min_effect.ln_1p();
        let reported = sheet.trials(4_000).rate(|random| {
            let pilot: Vec<Drawn> =
                (0..10).map(|_| Pairs { change: 0.0, deviation }.draw(random)).collect();
            let pilot = analyse(&pilot, AlphaSpending::single_analysis(&criteria), &criteria)?;
            let promised = Power::estimate(&pilot.own, SUITE, &criteria)?.with_builds(20).ln_1p();
            let decided = Pairs { change: promised, deviation }.compare(
                InterimAnalyses::fixed(20),
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
