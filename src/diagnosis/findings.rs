//! The findings of a diagnosis, one for each question.

use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    Advice, Autocorrelation, Estimators, Influence, Level, LevelShifts, Multimodality, Options,
    SteadyStates, Trend, Variance, Warning, values::executions, variance::EstimatedLevels, warning,
};
use crate::stats::{Measurements, StatsError};

/// One finding per question, or the data that an answer would need.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Diagnosis {
    /// The sources of the variance.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<Variance>")]
    pub variance: Result<Variance, InsufficientData>,
    /// The influence of restarting the program.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<Influence>")]
    pub executions: Result<Influence, InsufficientData>,
    /// The influence of rebuilding it in another layout.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<Influence>")]
    pub builds: Result<Influence, InsufficientData>,
    /// The best numbers of builds, executions and measurements.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<Advice>")]
    pub advice: Result<Advice, InsufficientData>,
    /// Warm-up or slowdown within executions.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<Trend>")]
    pub trend: Result<Trend, InsufficientData>,
    /// Several steady states between executions of the same build.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<SteadyStates>")]
    pub states: Result<SteadyStates, InsufficientData>,
    /// Level shifts within executions.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<LevelShifts>")]
    pub level_shifts: Result<LevelShifts, InsufficientData>,
    /// Several states at the same time.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<Multimodality>")]
    pub multimodality: Result<Multimodality, InsufficientData>,
    /// The autocorrelation of consecutive measurements.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<Autocorrelation>")]
    pub autocorrelation: Result<Autocorrelation, InsufficientData>,
    /// The precision of each estimator.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<Estimators>")]
    pub estimators: Result<Estimators, InsufficientData>,
    /// The findings that need attention, in the order of the questions.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// Diagnoses one benchmark in one version.
///
/// Refuses invalid options: a `min_effect` that is not a finite number from 0 up, a `confidence` that is not strictly
/// between 0 and 1.
pub fn diagnose(data: &Measurements, options: &Options) -> Result<Diagnosis, StatsError> {
    options.check()?;
    let all = executions(data);
    let (means, estimates) = (
        EstimatedLevels::from_means(data, options),
        EstimatedLevels::from_estimates(data, options),
    );
    let (means, estimates) =
        (means.as_ref().map_err(|it| *it), estimates.as_ref().map_err(|it| *it));
    let variance = means.map(|means| Variance::new(means, estimates.ok(), options));
    let states = SteadyStates::detect(&all);
    // The test by parts is valid even if neighbours in time are alike.
    let of_executions = states.as_ref().map(|states| states.test).ok();
    let of_executions = of_executions.or(variance.ok().and_then(|found| found.execution_test));
    let of_builds = variance.ok().and_then(|found| found.layout_test);
    let influence = |level, known, test| Influence::estimate(level, data, known, test, options);
    let level_shifts = LevelShifts::detect(&all, data.resolution(), options);
    let shifts = level_shifts.as_ref().ok();
    let mut diagnosis = Diagnosis {
        variance,
        executions: means.and_then(|means| influence(Level::Executions, means, of_executions)),
        builds: estimates.and_then(|estimates| influence(Level::Builds, estimates, of_builds)),
        advice: means.and_then(|means| Advice::new(data, means, options)),
        trend: Trend::test(&all, options),
        states,
        multimodality: Multimodality::detect(&all, shifts, data.resolution(), options),
        level_shifts,
        autocorrelation: Autocorrelation::compute(&all, options),
        estimators: Estimators::compare(&all, options),
        warnings: vec![],
    };
    diagnosis.warnings = warnings(&diagnosis, options);
    Ok(diagnosis)
}

/// Collects the warnings from all findings.
fn warnings(found: &Diagnosis, options: &Options) -> Vec<Warning> {
    let influence = |level, finding: &Result<Influence, InsufficientData>| {
        let influence = finding.as_ref().ok()?;
        warning::influence_warning(level, influence, options)
    };
    let shifts = found.level_shifts.as_ref().ok();
    let trend = found.trend.as_ref().ok().and_then(|trend| warning::trend_warning(trend, options));
    let trend = trend.or(shifts.and_then(warning::class_warning));
    let warms_up = matches!(trend, Some(Warning::WarmUp { .. }));
    let shifts = shifts.and_then(|shifts| warning::level_shift_warning(shifts, warms_up));
    // A change of the value within an execution makes neighbours alike, so that is no separate warning.
    let changes = trend.is_some() || shifts.is_some();
    let autocorrelation = found.autocorrelation.as_ref().ok().filter(|_| !changes);
    let all = [
        influence(Level::Executions, &found.executions),
        influence(Level::Builds, &found.builds),
        trend,
        found.states.as_ref().ok().and_then(|states| warning::state_warning(states, options)),
        shifts,
        found.multimodality.as_ref().ok().and_then(warning::multimodality_warning),
        autocorrelation.and_then(|alike| warning::autocorrelation_warning(alike, options)),
    ];
    all.into_iter().flatten().collect()
}

/// The reason why a question has no answer from these data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsufficientData {
    /// Too few builds.
    Builds {
        /// The required number.
        needed: usize,
        /// The available number.
        found: usize,
    },
    /// Too few executions, of each build where the levels must be distinguished.
    Executions {
        /// The required number.
        needed: usize,
        /// The available number.
        found: usize,
    },
    /// Too few measurements of each execution.
    Measurements {
        /// The required number.
        needed: usize,
        /// The available number, in the shortest execution.
        found: usize,
    },
    /// Nothing varies.
    Variance,
    /// The costs of builds and executions were not given.
    Cost,
}

impl fmt::Display for InsufficientData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builds { needed, found } => {
                write!(f, "this needs {needed} builds or more, and there are {found}")
            }
            Self::Executions { needed, found } => {
                write!(
                    f,
                    "this needs {needed} executions or more of each build, and there are {found}"
                )
            }
            Self::Measurements { needed, found } => write!(
                f,
                "this needs {needed} measurements or more of each execution, and the shortest has {found}"
            ),
            Self::Variance => f.write_str("all measurements are exactly equal"),
            Self::Cost => f.write_str("the costs of a build and of an execution are unknown"),
        }
    }
}

/// An answer in JSON.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Answer<T> {
    /// The finding.
    Found(T),
    /// There is no finding.
    Unanswered(Unanswered),
}

/// A question without an answer.
#[derive(Serialize, JsonSchema)]
pub struct Unanswered {
    /// The reason why the data do not answer it.
    unanswered: String,
}

/// Serializes the finding, or `{"unanswered": reason}` in its place.
pub fn serialize_answer<T: Serialize, E: fmt::Display, S: Serializer>(
    answer: &Result<T, E>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let answer = answer.as_ref().map_or_else(
        |reason| Answer::Unanswered(Unanswered { unanswered: reason.to_string() }),
        Answer::Found,
    );
    answer.serialize(serializer)
}
