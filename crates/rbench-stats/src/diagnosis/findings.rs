//! The findings of a diagnosis, one for each question.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Advice, Autocorrelation, Estimators, Influence, InsufficientData, Level, LevelShifts,
    Multimodality, Options, SteadyStates, Trend, Variance, Warning,
    answer::{Answer, serialize_answer},
    execution::executions,
    variance::EstimatedLevels,
    warning,
};
use crate::{Measurements, StatsError};

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
