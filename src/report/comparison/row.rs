//! What a comparison says of one benchmark: the verdict, its grounds, and the numbers of each stage.

use serde::Serialize;

use super::grounds::Grounds;
use crate::{
    model::Unit,
    stats::{
        Assessment, Change, Comparison, Components, Criteria, Direction, Interval, Judged,
        Judgement, Method, More, Outlook, Summary, Verdict,
    },
};

/// No more builds or executions than this are ever advised: beyond, another benchmark is needed.
const MOST_ADVISED: usize = 100;

/// What is said of one benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonRow {
    pub(super) verdict: &'static str,
    /// The verdict as a sentence, with its reason.
    pub(super) reason: String,
    /// The reason as values; absent where nothing was judged.
    grounds: Option<Grounds>,
    /// Absent where nothing was judged.
    pub(super) measured: Option<Measured>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Measured {
    metric: String,
    unit: &'static str,
    /// The first, and the second where there was one. The last one decides.
    stages: Vec<StageReport>,
    /// What to add for a change of the smallest size of interest to be flagged, or if that takes too much,
    /// one of half the size that is flagged now.
    pub(super) advice: Option<Advice>,
}

/// One stage.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StageReport {
    pub(super) base: VersionReport,
    pub(super) head: VersionReport,
    pub(super) change: ChangeReport,
    /// The difference of the mean logarithms, its standard error and degrees of freedom.
    log_change: f64,
    log_standard_error: f64,
    freedom: f64,
    /// Two-sided.
    p: f64,
    /// `worse` or `better`, if the rule flags the change.
    flagged: Option<&'static str>,
    /// Whether the change is shown to be smaller than the smallest of interest.
    equivalent: bool,
    pub(super) paired: bool,
    /// How much of the variance pairing took away.
    pub(super) pairing_gain: Option<f64>,
    correlation: Option<f64>,
    /// The smallest increase that would have been flagged with a power of 80 %.
    pub(super) smallest_detectable: f64,
}

/// One version in one stage.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct VersionReport {
    pub(super) value: f64,
    /// The comparison interval.
    pub(super) low: f64,
    pub(super) high: f64,
    /// Builds that take part in the comparison.
    builds: usize,
    /// All executions and measurements of this version.
    executions: usize,
    measurements: usize,
    /// Where its variance lies; absent where there is none.
    pub(super) variance: Option<Shares>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ChangeReport {
    pub(super) estimate: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Shares {
    pub(super) builds: f64,
    pub(super) executions: f64,
    pub(super) measurements: f64,
}

/// What would have to be added.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Advice {
    /// Of what: `builds` or `executions` of each build.
    pub(super) of: &'static str,
    /// How many in all.
    pub(super) number: usize,
    /// The smallest change that would then be flagged with a power of 80 %.
    pub(super) smallest_detectable: f64,
}

impl ComparisonRow {
    /// The row of what was judged, without what only its stages know.
    pub fn judged(Judgement { verdict, decisive }: &Judgement) -> Self {
        let decisive = decisive.as_ref();
        Self {
            verdict: verdict.name(),
            reason: verdict.to_string(),
            grounds: Grounds::of(verdict),
            measured: decisive.map(|(stage, summaries)| Measured::of(stage, summaries)),
        }
    }

    /// The row of what was judged beginning with this stage, with advice where that is not conclusive.
    pub fn of_stages(judgement: &Judgement, first: &Judged, criteria: &Criteria) -> Self {
        let mut row = Self::judged(judgement);
        if let (Some(measured), Some((decisive, summaries)), Ok(first_stage)) =
            (&mut row.measured, &judgement.decisive, &first.stage)
        {
            if first_stage != decisive {
                measured.stages.insert(0, StageReport::new(first_stage, &first.summaries));
            }
            if matches!(judgement.verdict, Verdict::Inconclusive { .. }) {
                let outlook = Outlook::of(decisive, summaries);
                let now = decisive.smallest_detectable();
                measured.advice = Advice::of(&outlook, criteria.min_effect, now);
            }
        }
        row
    }
}

impl Measured {
    fn of(stage: &Assessment, summaries: &[Summary; 2]) -> Self {
        let metric = summaries[1].metric();
        Self {
            metric: metric.name.clone(),
            unit: metric.unit.symbol(),
            stages: vec![StageReport::new(stage, summaries)],
            advice: None,
        }
    }

    /// The stage that decides.
    pub(super) fn decisive(&self) -> Option<&StageReport> {
        self.stages.last()
    }

    pub(super) fn unit(&self) -> Unit {
        Unit::from_symbol(self.unit).unwrap_or(Unit::Nanoseconds)
    }
}

impl Advice {
    /// Where the smallest change of interest is out of reach, what halves the smallest that can be seen;
    /// nothing where the experiment was large enough.
    fn of(outlook: &Outlook, min_effect: f64, detectable_now: f64) -> Option<Self> {
        if detectable_now <= min_effect {
            return None;
        }
        let more = outlook
            .more(min_effect, MOST_ADVISED)
            .or_else(|| outlook.more(detectable_now / 2.0, MOST_ADVISED))?;
        Some(match more {
            More::Builds(number) => {
                Self { of: "builds", number, smallest_detectable: outlook.with_builds(number) }
            }
            More::Executions(number) => Self {
                of: "executions",
                number,
                smallest_detectable: outlook.with_executions(number)?,
            },
        })
    }

    /// The flag of `compare` for it.
    pub(super) fn flag(&self) -> &'static str {
        if self.of == "builds" { "-l" } else { "-m" }
    }
}

impl StageReport {
    fn new(stage: &Assessment, summaries: &[Summary; 2]) -> Self {
        let comparison = &stage.comparison;
        let [base, head] = summaries;
        Self {
            base: VersionReport::new(comparison.base, comparison.builds[0], base),
            head: VersionReport::new(comparison.head, comparison.builds[1], head),
            change: comparison.change.into(),
            log_change: comparison.log_change,
            log_standard_error: comparison.standard_error,
            freedom: comparison.freedom,
            p: comparison.p,
            flagged: stage.flag.map(|direction| match direction {
                Direction::Worse => "worse",
                Direction::Better => "better",
            }),
            equivalent: stage.equivalent,
            paired: paired(comparison),
            pairing_gain: comparison.gain,
            correlation: comparison.correlation,
            smallest_detectable: stage.smallest_detectable(),
        }
    }
}

fn paired(comparison: &Comparison) -> bool {
    matches!(comparison.method, Method::Paired { .. })
}

impl VersionReport {
    fn new(interval: Interval, builds: usize, summary: &Summary) -> Self {
        let shares = Components::of(summary).shares();
        Self {
            value: interval.center,
            low: interval.low,
            high: interval.high,
            builds,
            executions: summary.builds().iter().map(|build| build.executions).sum(),
            measurements: summary.builds().iter().map(|build| build.measurements).sum(),
            variance: shares.map(|shares| Shares {
                builds: shares.version,
                executions: shares.build,
                measurements: shares.execution,
            }),
        }
    }
}

impl From<Change> for ChangeReport {
    fn from(change: Change) -> Self {
        Self { estimate: change.estimate, low: change.low, high: change.high }
    }
}
