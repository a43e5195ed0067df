//! The findings of a diagnosis, one for each question.

use super::{
    Advice, Autocorrelation, Candidates, Influence, InsufficientData, Level, LevelShifts,
    Multimodality, Options, SteadyStates, Trend, Variance, Warning, execution::executions,
    options::check, variance::EstimatedLevels, warning,
};
use crate::stats::{Measurements, StatsError};

/// One finding per question, or the data that an answer would need.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The sources of the variance.
    pub variance: Result<Variance, InsufficientData>,
    /// The influence of restarting the program.
    pub executions: Result<Influence, InsufficientData>,
    /// The influence of rebuilding it in another layout.
    pub builds: Result<Influence, InsufficientData>,
    /// The best numbers of builds, executions and measurements.
    pub advice: Result<Advice, InsufficientData>,
    /// Warm-up or slowdown within executions.
    pub trend: Result<Trend, InsufficientData>,
    /// Several steady states between executions of the same build.
    pub states: Result<SteadyStates, InsufficientData>,
    /// Level shifts within executions.
    pub leaps: Result<LevelShifts, InsufficientData>,
    /// Several states at the same time.
    pub simultaneous: Result<Multimodality, InsufficientData>,
    /// The autocorrelation of neighbours in time.
    pub neighbours: Result<Autocorrelation, InsufficientData>,
    /// The precision of each estimator.
    pub candidates: Result<Candidates, InsufficientData>,
    /// The findings that need attention, in the order of the questions.
    pub warnings: Vec<Warning>,
}

/// Diagnoses one benchmark in one version.
///
/// Refuses invalid options: a `min_effect` that is not a finite number from 0 up, a `confidence` that is not strictly
/// between 0 and 1.
pub fn diagnose(data: &Measurements, options: &Options) -> Result<Diagnosis, StatsError> {
    check(options)?;
    let all = executions(data);
    let (means, estimates) = (
        EstimatedLevels::from_means(data, options),
        EstimatedLevels::from_estimates(data, options),
    );
    let (means, estimates) = (means.as_ref().map_err(lacking), estimates.as_ref().map_err(lacking));
    let variance = means.map(|means| Variance::new(means, estimates.ok(), options));
    let states = SteadyStates::detect(&all);
    // The test by parts is valid even if neighbours in time are alike.
    let of_executions = states.as_ref().map(|states| states.test).ok();
    let of_executions = of_executions.or(variance.ok().and_then(|variance| variance.executions));
    let of_builds = variance.ok().and_then(|variance| variance.layout);
    let leaps = LevelShifts::detect(&all, data.resolution(), options);
    let simultaneous = Multimodality::detect(&all, leaps.as_ref().ok(), data.resolution(), options);
    let mut diagnosis = Diagnosis {
        variance,
        executions: means
            .and_then(|means| Influence::execution_influence(data, means, of_executions, options)),
        builds: estimates
            .and_then(|estimates| Influence::build_influence(data, estimates, of_builds, options)),
        advice: means.and_then(|means| Advice::new(data, means, options)),
        trend: Trend::test(&all, options),
        states,
        leaps,
        simultaneous,
        neighbours: Autocorrelation::compute(&all, options),
        candidates: Candidates::compute(&all, options),
        warnings: vec![],
    };
    diagnosis.warnings = warnings(&diagnosis, options);
    Ok(diagnosis)
}

fn lacking(lacking: &InsufficientData) -> InsufficientData {
    *lacking
}

/// Collects the warnings from all findings.
fn warnings(diagnosis: &Diagnosis, options: &Options) -> Vec<Warning> {
    let trend =
        diagnosis.trend.as_ref().ok().and_then(|trend| warning::trend_warning(trend, options));
    let leaps = diagnosis.leaps.as_ref().ok();
    let trend = trend.or(leaps.and_then(warning::class_warning));
    let warms_up = matches!(trend, Some(Warning::WarmUp { .. }));
    let influence = |finding: &Result<Influence, InsufficientData>, level| {
        finding
            .as_ref()
            .ok()
            .and_then(|influence| warning::influence_warning(influence, level, options))
    };
    let leaps = leaps.and_then(|leaps| warning::level_shift_warning(leaps, warms_up));
    let neighbours = diagnosis.neighbours.as_ref().ok();
    // A change of the value within an execution makes neighbours alike, so that is no separate warning.
    let neighbours = neighbours.filter(|_| trend.is_none() && leaps.is_none());
    let found = [
        influence(&diagnosis.executions, Level::Executions),
        influence(&diagnosis.builds, Level::Builds),
        trend,
        diagnosis.states.as_ref().ok().and_then(|states| warning::state_warning(states, options)),
        leaps,
        diagnosis.simultaneous.as_ref().ok().and_then(warning::multimodality_warning),
        neighbours.and_then(|alike| warning::autocorrelation_warning(alike, options)),
    ];
    found.into_iter().flatten().collect()
}
