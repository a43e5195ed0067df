//! The procedure of a whole comparison: interim analyses of the first stage, fresh builds for
//! flagged benchmarks.

use cargo_rbench::model::{InterimAnalyses, Metric};
use rbench_stats::{
    AlphaSpending, Analysis, Change, Criteria, Decider, Decision, Estimator, Measurements, Pairing,
    Power, Random, Summary, Verdict,
    outlook::{MOST_REPEATS, MostRepeats, NextStep, Outlook},
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

/// The difference of the logarithms of one pair of executions.
#[derive(Clone, Copy)]
pub struct Drawn {
    /// By the estimator.
    pub own: f64,
    /// By the mean of all measurements, if the estimator uses only the fastest.
    pub mean: Option<f64>,
    /// The part of both that all executions of the pair of builds share.
    pub of_builds: f64,
}

pub struct Decided {
    pub verdict: Verdict,
    /// Builds of each version, in both stages.
    pub builds: usize,
    /// Executions of each build.
    pub executions: usize,
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
    /// Executions of each build.
    pub executions: usize,
    /// The estimate that sends it to the second stage, if one does.
    pub nominated_by: Option<Decider>,
}

/// How a benchmark is measured and decided.
pub struct Procedure<'c> {
    pub analyses: InterimAnalyses,
    pub criteria: &'c Criteria,
    /// The number of benchmarks that are decided together.
    pub suite: usize,
    /// The standard deviation of the differences of builds, which all executions of a pair of builds share.
    pub between_builds: f64,
    /// The most times as many executions of each build after the first analysis.
    pub most_repeats: u32,
}

impl<'c> Procedure<'c> {
    /// That of `compare`, for benchmarks whose differences vary between executions only.
    pub const fn usual(criteria: &'c Criteria, suite: usize) -> Self {
        let (analyses, between_builds, most_repeats) = (LOOKS, 0.0, MOST_REPEATS);
        Self { analyses, criteria, suite, between_builds, most_repeats }
    }

    /// Measures the first stage of a benchmark as `compare` does. `draw` gives the difference of a pair of executions.
    pub fn first_stage(
        &self,
        draw: impl Fn(&mut Random) -> Drawn,
        random: &mut Random,
    ) -> Option<FirstStage> {
        let Self { analyses, criteria, .. } = *self;
        let all = analyses.count();
        let mut pairs: Vec<Vec<Drawn>> = Vec::new();
        let mut executions = 1;
        let mut first = None;
        for (index, builds) in analyses.builds().enumerate() {
            self.measure(&mut pairs, (builds as usize, executions), &draw, random);
            let rates = AlphaSpending::at_analysis(criteria, index, all);
            let analysis = analyse(&means(&pairs), rates, criteria)?;
            let ends = analysis.ends_first_stage(index + 1 == all, criteria);
            let later = analyses.builds().enumerate().skip(index + 1).map(|(index, builds)| {
                (builds as usize, AlphaSpending::at_analysis(criteria, index, all))
            });
            let outlook = (!ends).then(|| Outlook::new(&analysis, later, criteria));
            first = Some((analysis, ends));
            let most = if index == 0 { self.most_repeats } else { 1 };
            match outlook.map(|outlook| outlook.next(MostRepeats::both(most))) {
                Some(Some(NextStep { repeats, .. })) => executions *= repeats as usize,
                // What was begun is finished.
                Some(None) if executions > 1 => {}
                Some(None) | None => break,
            }
        }
        let (analysis, ends) = first?;
        let nominated_by = analysis.nominated_by(criteria).filter(|_| ends && criteria.confirm);
        let executions = pairs.first()?.len();
        Some(FirstStage { analysis, builds: pairs.len(), executions, nominated_by })
    }

    /// Measures and decides a benchmark as `compare` does.
    pub fn compare(
        &self,
        draw: impl Fn(&mut Random) -> Drawn,
        random: &mut Random,
    ) -> Option<Decided> {
        let Self { analyses, criteria, suite, .. } = *self;
        let FirstStage { analysis: first, mut builds, executions, nominated_by } =
            self.first_stage(&draw, random)?;
        let second = match nominated_by {
            None => None,
            Some(decider) => {
                let fresh = if analyses.is_fixed() {
                    analyses.most as usize
                } else {
                    first.assessment(decider).confirmation_builds(suite, criteria)
                };
                builds += fresh;
                let mut pairs = Vec::new();
                self.measure(&mut pairs, (fresh, executions), &draw, random);
                let rates = AlphaSpending::second_stage(criteria, analyses.count());
                Some(analyse(&means(&pairs), rates, criteria)?)
            }
        };
        let Decision { verdict, decider, .. } = first.decide(second.as_ref(), suite, criteria);
        let change = second.as_ref().unwrap_or(&first).assessment(decider).change;
        Some(Decided { verdict, builds, executions, change })
    }

    /// Measures until there are `builds` pairs of builds, each executed `executions` times.
    fn measure(
        &self,
        pairs: &mut Vec<Vec<Drawn>>,
        (builds, executions): (usize, usize),
        draw: impl Fn(&mut Random) -> Drawn,
        random: &mut Random,
    ) {
        pairs.resize_with(builds, Vec::new);
        for pair in pairs {
            while pair.len() < executions {
                let mut drawn = draw(random);
                if let Some(first) = pair.first() {
                    // What the builds differ by is in the first one.
                    drawn = drawn.plus(first.of_builds);
                } else if self.between_builds > 0.0 {
                    drawn = drawn.plus(self.between_builds * random.normal());
                }
                pair.push(drawn);
            }
        }
    }
}

/// The mean of the executions of each pair of builds.
fn means(pairs: &[Vec<Drawn>]) -> Vec<Drawn> {
    let mean = |pair: &Vec<Drawn>| {
        let of = |values: Option<Vec<f64>>| Some(values?.iter().sum::<f64>() / pair.len() as f64);
        let own = pair.iter().map(|drawn| drawn.own).sum::<f64>() / pair.len() as f64;
        Drawn { mean: of(pair.iter().map(|drawn| drawn.mean).collect()), ..Drawn::by(own) }
    };
    pairs.iter().map(mean).collect()
}

impl Drawn {
    /// Of a benchmark that only the estimator decides.
    pub const fn by(own: f64) -> Self {
        Self { own, mean: None, of_builds: 0.0 }
    }

    /// With this difference of the builds.
    fn plus(self, of_builds: f64) -> Self {
        let mean = self.mean.map(|mean| mean + of_builds);
        Self { own: self.own + of_builds, mean, of_builds }
    }
}

impl Pairs {
    fn draw(self, random: &mut Random) -> Drawn {
        Drawn::by(self.change + self.deviation * random.normal())
    }

    fn compare(self, criteria: &Criteria, random: &mut Random) -> Option<Decided> {
        Procedure::usual(criteria, SUITE).compare(|random| self.draw(random), random)
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
            let decided = pairs.compare(&criteria, random)?;
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

/// Noisy benchmarks, of which later analyses have more executions: these deviate by 2, 3 and 6 of the smallest changes of interest,
/// and builds by half of that or not at all. Beside them, the same without more executions.
pub fn with_more_executions(sheet: &mut Sheet) {
    let criteria = Criteria::default();
    let unit = criteria.min_effect.ln_1p();
    // The deviations, and the least rates of `unchanged` and of reports of a change three times the smallest of interest.
    for (deviation, of_builds, least) in [
        (2.0, 0.0, [0.45, 0.96]),
        (2.0, 1.0, [0.15, 0.95]),
        (3.0, 0.0, [0.07, 0.88]),
        (3.0, 1.5, [0.01, 0.82]),
        (6.0, 0.0, [0.01, 0.90]),
        (6.0, 3.0, [0.0, 0.80]),
    ] {
        for most_repeats in [1, 2, MOST_REPEATS] {
            let procedure = Procedure {
                between_builds: of_builds * unit,
                most_repeats,
                ..Procedure::usual(&criteria, SUITE)
            };
            for change in [0.0, 1.0, 3.0] {
                let pairs = Pairs { change: change * unit, deviation: deviation * unit };
                // False regressions are rare.
                let trials = if change == 0.0 { 200_000 } else { 40_000 };
                let [unchanged, regressed, _, covers, executions, half_width]: [Estimate; 6] =
                    sheet.trials(trials).means(|random| {
                        let decided = procedure.compare(|random| pairs.draw(random), random)?;
                        let [unchanged, regressed, builds, covers] =
                            counted(&decided, pairs.change);
                        let executions = (decided.builds * decided.executions) as f64;
                        let width = decided.change.high - decided.change.low;
                        let half_width = width / 2.0 / criteria.min_effect;
                        Some([unchanged, regressed, builds, covers, executions, half_width])
                    });
                let mut row = |what: &str, target: Target, estimate: Estimate| {
                    let check = format!(
                        "up to {most_repeats} executions, change {change}, sd of executions {deviation}, of builds \
                         {of_builds} min-effects: {what}"
                    );
                    sheet.estimated(check, target, estimate);
                };
                let least =
                    least.map(|least| if most_repeats < MOST_REPEATS { 0.0 } else { least });
                match change {
                    0.0 => {
                        row("unchanged", Target::AtLeast(least[0]), unchanged);
                        row("regressed", Target::AtMost(0.001), regressed);
                        row("executions", Target::AtMost(120.0), executions);
                        let wider =
                            f64::hypot(deviation, of_builds) / f64::from(most_repeats).sqrt();
                        let most = Target::AtMost(1.1 * wider.max(of_builds));
                        row("half-width in min-effects", most, half_width);
                    }
                    1.0 => row("unchanged", Target::AtMost(0.05), unchanged),
                    _ => row("regressed", Target::AtLeast(least[1]), regressed),
                }
                row("interval covers", Target::AtLeast(0.93), covers);
            }
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
            let [unchanged, regressed, _, covers]: [Estimate; 4] = sheet
                .trials(20_000)
                .means(|random| Some(counted(&pairs.compare(&criteria, random)?, pairs.change)));
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
        .means(|random| Some(counted(&pairs(0.0).compare(&criteria, random)?, 0.0)));
    let check = |what: &str| format!("analyses 5..20, G=50, no min-effect, no change: {what}");
    sheet.estimated(check("regressed"), Target::AtMost(0.001), alarms);
    sheet.estimated(check("P(any regressed)"), Target::AtMost(0.05), any_of_suite(alarms));
    sheet.estimated(check("builds per version"), Target::AtMost(12.0), builds);
    for (effect, power, factor) in
        [(0.5, 0.35, 1.45), (0.75, 0.65, 1.15), (1.0, 0.88, 1.06), (1.5, 0.95, 1.02)]
    {
        let trials = sheet.trials(40_000);
        let [reported, sum, squares]: [Estimate; 3] = trials.means(|random| {
            let decided = pairs(effect).compare(&criteria, random)?;
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
            let analyses = InterimAnalyses::fixed(20);
            let pairs = Pairs { change: promised, deviation };
            let decided = Procedure { analyses, ..Procedure::usual(&criteria, SUITE) }
                .compare(|random| pairs.draw(random), random)?;
            Some(matches!(decided.verdict, Verdict::Regressed { .. }))
        });
        let check =
            format!("what -l 20 promises after 10 builds, sd of d {share} min-effects: reported");
        sheet.estimated(check, Target::AtLeast(0.8), reported);
    }
}
