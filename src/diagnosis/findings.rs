//! The findings of a diagnosis, one for each question.

use super::{
    Advice, Autocorrelation, Candidates, Influence, InsufficientData, Level, LevelShifts,
    Multimodality, Options, SteadyStates, Trend, Variance, Warning, execution::executions,
    options::check, variance::EstimatedLevels, warning,
};
use crate::stats::{Measurements, StatsError};

/// One finding per question. A finding that the shape of the data does not allow says what is lacking.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Where does the variance come from?
    pub variance: Result<Variance, InsufficientData>,
    /// How much does it matter that the program is started again?
    pub executions: Result<Influence, InsufficientData>,
    /// How much does it matter that it is built again, in another layout?
    pub builds: Result<Influence, InsufficientData>,
    /// How many builds, executions and measurements would be best?
    pub advice: Result<Advice, InsufficientData>,
    /// Does it warm up, or slow down?
    pub trend: Result<Trend, InsufficientData>,
    /// One steady state, or several, between executions of the same build?
    pub states: Result<SteadyStates, InsufficientData>,
    /// Does it leap within one execution?
    pub leaps: Result<LevelShifts, InsufficientData>,
    /// Several states at the same time?
    pub simultaneous: Result<Multimodality, InsufficientData>,
    /// Are neighbours in time alike?
    pub neighbours: Result<Autocorrelation, InsufficientData>,
    /// Which estimator would serve?
    pub candidates: Result<Candidates, InsufficientData>,
    /// What of this should worry anybody, in the order of the questions.
    pub warnings: Vec<Warning>,
}

/// Diagnoses one benchmark in one version.
///
/// Refuses options that make no sense: a `min_effect` that is not a finite number from 0 up, a `confidence` that
/// is not strictly between 0 and 1.
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
    // The test by parts holds also where neighbours in time are alike.
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

/// Everything in these findings that should worry anybody.
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
    // Where the value changes within an execution, neighbours are alike for that reason.
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
