//! The findings of a diagnosis, one for each question.

use super::{
    Advice, Candidates, Influence, Lacking, Leaps, Level, Neighbours, Options, Simultaneous,
    SteadyStates, Trend, Variance, Warning, execution::executions, options::check, variance::Known,
    warning,
};
use crate::stats::{Measurements, Refusal};

/// One finding per question. A finding that the shape of the data does not allow says what is lacking.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Where does the variance come from?
    pub variance: Result<Variance, Lacking>,
    /// How much does it matter that the program is started again?
    pub executions: Result<Influence, Lacking>,
    /// How much does it matter that it is built again, in another layout?
    pub builds: Result<Influence, Lacking>,
    /// How many builds, executions and measurements would be best?
    pub advice: Result<Advice, Lacking>,
    /// Does it warm up, or slow down?
    pub trend: Result<Trend, Lacking>,
    /// One steady state, or several, between executions of the same build?
    pub states: Result<SteadyStates, Lacking>,
    /// Does it leap within one execution?
    pub leaps: Result<Leaps, Lacking>,
    /// Several states at the same time?
    pub simultaneous: Result<Simultaneous, Lacking>,
    /// Are neighbours in time alike?
    pub neighbours: Result<Neighbours, Lacking>,
    /// Which estimator would serve?
    pub candidates: Result<Candidates, Lacking>,
    /// What of this should worry anybody, in the order of the questions.
    pub warnings: Vec<Warning>,
}

/// Diagnoses one benchmark in one version.
///
/// Refuses options that make no sense: a `min_effect` that is not a finite number from 0 up, a `confidence` that
/// is not strictly between 0 and 1.
pub fn diagnose(data: &Measurements, options: &Options) -> Result<Diagnosis, Refusal> {
    check(options)?;
    let all = executions(data);
    let (means, estimates) = (Known::of_means(data, options), Known::of_estimates(data, options));
    let (means, estimates) = (means.as_ref().map_err(lacking), estimates.as_ref().map_err(lacking));
    let variance = means.map(|means| Variance::of(means, estimates.ok(), options));
    let states = SteadyStates::of(&all);
    // The test by parts holds also where neighbours in time are alike.
    let of_executions = states.as_ref().map(|states| states.test).ok();
    let of_executions = of_executions.or(variance.ok().and_then(|variance| variance.executions));
    let of_builds = variance.ok().and_then(|variance| variance.layout);
    let leaps = Leaps::of(&all, data.resolution(), options);
    let simultaneous = Simultaneous::of(&all, leaps.as_ref().ok(), data.resolution(), options);
    let mut diagnosis = Diagnosis {
        variance,
        executions: means
            .and_then(|means| Influence::of_executions(data, means, of_executions, options)),
        builds: estimates
            .and_then(|estimates| Influence::of_builds(data, estimates, of_builds, options)),
        advice: means.and_then(|means| Advice::of(data, means, options)),
        trend: Trend::of(&all, options),
        states,
        leaps,
        simultaneous,
        neighbours: Neighbours::of(&all, options),
        candidates: Candidates::of(&all, options),
        warnings: vec![],
    };
    diagnosis.warnings = warnings(&diagnosis, options);
    Ok(diagnosis)
}

fn lacking(lacking: &Lacking) -> Lacking {
    *lacking
}

/// Everything in these findings that should worry anybody.
fn warnings(diagnosis: &Diagnosis, options: &Options) -> Vec<Warning> {
    let trend = diagnosis.trend.as_ref().ok().and_then(|trend| warning::of_trend(trend, options));
    let leaps = diagnosis.leaps.as_ref().ok();
    let trend = trend.or(leaps.and_then(warning::of_classes));
    let warms_up = matches!(trend, Some(Warning::WarmUp { .. }));
    let influence = |finding: &Result<Influence, Lacking>, level| {
        finding.as_ref().ok().and_then(|influence| warning::of_influence(influence, level, options))
    };
    let leaps = leaps.and_then(|leaps| warning::of_leaps(leaps, warms_up));
    let neighbours = diagnosis.neighbours.as_ref().ok();
    // Where the value changes within an execution, neighbours are alike for that reason.
    let neighbours = neighbours.filter(|_| trend.is_none() && leaps.is_none());
    let found = [
        influence(&diagnosis.executions, Level::Executions),
        influence(&diagnosis.builds, Level::Builds),
        trend,
        diagnosis.states.as_ref().ok().and_then(|states| warning::of_states(states, options)),
        leaps,
        diagnosis.simultaneous.as_ref().ok().and_then(warning::of_simultaneous),
        neighbours.and_then(|alike| warning::of_neighbours(alike, options)),
    ];
    found.into_iter().flatten().collect()
}
