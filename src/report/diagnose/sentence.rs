//! Words the warnings of a diagnosis: the phenomenon, its size, the evidence, and the advice.

use std::time::Duration;

use super::{Conditions, WordedWarning};
use crate::{
    diagnosis::{AfterOne, Level, OrderEffects, Warning},
    report::quantity::{self, changed_within, duration, p_value, size},
    stats::{Change, Interval},
};

impl WordedWarning {
    /// Words a warning. `effects` are those of the benchmarks that ran before, if they were measured.
    pub fn new(warning: Warning, conditions: &Conditions, effects: Option<&OrderEffects>) -> Self {
        let finding = finding(&warning, conditions, effects);
        Self { warning, finding, advice: advice(&warning, conditions) }
    }
}

fn finding(warning: &Warning, conditions: &Conditions, effects: Option<&OrderEffects>) -> String {
    match *warning {
        Warning::Influence { level, factor, relative_sd, compared, p } => {
            let (what, things) = match level {
                Level::Executions => ("starting the program again", "executions"),
                Level::Builds => ("the layout of the code", "builds"),
            };
            format!(
                "{what} changes its speed: {things} differ by {} (standard deviation), impact factor {} ({}, \
                 {compared} {things})",
                size(relative_sd),
                quantity::factor(factor),
                p_value(p),
            )
        }
        Warning::WarmUp { effect, measurements, executions, p } => {
            let time = conditions.time_of(measurements);
            let long = time.map_or(String::new(), |time| format!(" or {}", duration(time)));
            format!(
                "it warms up: the first tenth of an execution is {} slower than its second half; that lasts for \
                 about {measurements} measurements{long} ({}, {executions} executions)",
                size(effect),
                p_value(p)
            )
        }
        Warning::SlowDown { effect, executions, p } => format!(
            "it slows down: the first tenth of an execution is {} faster than its second half ({}, {executions} \
             executions)",
            size(effect),
            p_value(p)
        ),
        Warning::SeveralSteadyStates { spread, range, executions, p } => format!(
            "executions of one build settle in different states: most are within {}, the extremes {} apart ({}, \
             {executions} executions)",
            size(spread),
            size(range),
            p_value(p)
        ),
        Warning::LevelShifts {
            leaping,
            executions,
            warm_up,
            slow_down,
            no_steady_state,
            distance,
            p,
        } => {
            let kinds = kinds([
                (warm_up, "end in their fastest state"),
                (slow_down, "end in one that is not their fastest"),
                (no_steady_state, "have no steady state"),
            ]);
            format!(
                "its level shifts while it runs: {leaping} of {executions} executions change by {} from one \
                 measurement to the next, and stay there ({}); {kinds}",
                size(distance),
                at_most(p)
            )
        }
        Warning::SimultaneousStates { executions, of: all, distance, slower, p } => format!(
            "it has two states at the same time: in {executions} of {all} executions, {} of the measurements \
             are {} slower than the others ({})",
            size(slower),
            size(distance),
            at_most(p)
        ),
        Warning::Autocorrelation { correlation, error, error_if_independent, executions, p } => {
            format!(
                "measurements depend on the one before: their correlation is {correlation:.2}, so the value of \
                 an execution has a standard error of {}, not {} ({}, {executions} executions)",
                size(error),
                size(error_if_independent),
                p_value(p)
            )
        }
        Warning::OrderEffect { change, pairs, p } => {
            let after = effects.map_or_else(|| "others".to_owned(), culprits);
            let slower = if change < 0.0 { "faster" } else { "slower" };
            format!(
                "benchmarks that ran before in its process change its speed: after {after} it is {} {slower} \
                 than in a fresh process ({}, {pairs} pairs)",
                size(change.abs()),
                p_value(p)
            )
        }
    }
}

fn advice(warning: &Warning, conditions: &Conditions) -> String {
    match *warning {
        Warning::Influence { level: Level::Executions, .. } => {
            "run each build several times (-m); a single run is not representative".to_owned()
        }
        Warning::Influence { level: Level::Builds, .. } => format!(
            "use many builds (-l {} or more); a comparison of two single builds is not reliable",
            conditions.sample_sizes.builds
        ),
        Warning::WarmUp { measurements, .. } => {
            let flag = conditions.time_of(measurements).map_or("--warm-up".to_owned(), |time| {
                format!("--warm-up {}ms", time.as_millis().max(1))
            });
            format!("measure it with {flag}, or prepare its data before it is timed")
        }
        Warning::SlowDown { .. } => {
            "look for state that grows from call to call; until it is fixed, \
             results depend on the duration of the measurement"
                .to_owned()
        }
        Warning::SeveralSteadyStates { .. } => {
            "use more executions (-m) rather than more measurements; one execution is not \
             representative"
                .to_owned()
        }
        Warning::LevelShifts { warm_up, leaping, .. } if 2 * warm_up > leaping => {
            "measure it with a longer --warm-up, past the last level shift".to_owned()
        }
        Warning::LevelShifts { .. } => {
            "look for rare events, such as memory that grows; give each call its own input, \
             or make the event part of every call"
                .to_owned()
        }
        Warning::SimultaneousStates { .. } => {
            "the minimum sees only the faster state: use --estimator mean, or a benchmark for each state"
                .to_owned()
        }
        Warning::Autocorrelation { correlation, .. } if correlation < 0.0 => {
            "slow and fast measurements alternate: make one call do both".to_owned()
        }
        Warning::Autocorrelation { .. } => {
            "more measurements of one execution add little precision: use more executions (-m)".to_owned()
        }
        Warning::OrderEffect { .. } => {
            "execute it in a separate process, as rbench does; with `cargo bench` alone, change the \
             state that the others leave behind"
                .to_owned()
        }
    }
}

impl Conditions {
    /// The duration of this many measurements.
    fn time_of(&self, measurements: usize) -> Option<Duration> {
        Duration::try_from_secs_f64(self.measurement_seconds? * measurements as f64).ok()
    }
}

/// The benchmarks whose earlier run matters: those that matter alone, or all.
fn culprits(effects: &OrderEffects) -> String {
    let limit = effects.after_all.change.center.abs() / 2.0;
    let matters = |one: &&AfterOne| one.effect.change.center.abs() > limit;
    let found = effects.after_each.iter().filter(matters).map(|one| format!("`{}`", one.other));
    match (&found.collect::<Vec<String>>()[..], &effects.others[..]) {
        ([], [only]) => format!("`{only}`"),
        ([], all) => format!("the {} benchmarks that come before it", all.len()),
        (some, _) if some.len() <= 3 => some.join(" or "),
        (some, _) => format!("any of {} others", some.len()),
    }
}

/// The numbers of several kinds, without those that are 0.
pub(super) fn kinds<const N: usize>(kinds: [(usize, &str); N]) -> String {
    let there = kinds.into_iter().filter(|(count, _)| *count > 0);
    there.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

/// The largest of several p values.
fn at_most(p: f64) -> String {
    p_value(p).replacen("p ", "p ≤ ", 1).replace("p ≤ < ", "p < ")
}

/// A relative interval: `+4.20 % (+3.90 .. +4.50)`.
pub(super) fn relative(interval: &Interval) -> String {
    let Interval { center: estimate, low, high } = *interval;
    changed_within(&Change { estimate, low, high })
}
