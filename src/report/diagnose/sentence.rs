//! Words the warnings of a diagnosis: the phenomenon, its size, the evidence, and the advice.

use super::{Conditions, Examination, ExaminedPrologue};
use crate::{
    diagnosis::{Level, Warning},
    report::quantity::{duration, p_value, percent, size},
};

/// A warning in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The finding, with its size and evidence.
    pub finding: String,
    /// The advice.
    pub advice: String,
}

impl Examination {
    pub(super) fn words(&self, warning: &Warning) -> Words {
        let finding = finding(warning, self);
        Words { finding, advice: advice(warning, &self.conditions) }
    }
}

fn finding(warning: &Warning, of: &Examination) -> String {
    match *warning {
        Warning::Influence { level, factor, relative_sd, p } => {
            let what = match level {
                Level::Executions => "starting the program again changes its speed: executions",
                Level::Builds => "the layout of the code changes its speed: builds",
            };
            let evidence = of.executions_of(level);
            format!(
                "{what} differ by {} (standard deviation), impact factor {} ({}, {evidence})",
                size(relative_sd),
                self::factor(factor),
                p_value(p),
            )
        }
        Warning::WarmUp { effect, measurements, p } => {
            let long = of.conditions.measurement.map_or(String::new(), |each| {
                format!(" or {}", duration(each.saturating_mul(count_of(measurements))))
            });
            format!(
                "it warms up: the first tenth of an execution is {} slower than its second half; that lasts for \
                 about {measurements} measurements{long} ({}, {})",
                size(effect),
                p_value(p),
                of.trend_evidence()
            )
        }
        Warning::SlowDown { effect, p } => format!(
            "it slows down: the first tenth of an execution is {} faster than its second half ({}, {})",
            size(effect),
            p_value(p),
            of.trend_evidence()
        ),
        Warning::SeveralSteadyStates { spread, range, p } => format!(
            "executions of one build settle in different states: most are within {}, the extremes {} apart ({}, \
             {} executions)",
            size(spread),
            size(range),
            p_value(p),
            of.findings.states.as_ref().map_or(0, |states| states.states.len())
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
            let kinds = [
                (warm_up, "end in their fastest state"),
                (slow_down, "end in one that is not their fastest"),
                (no_steady_state, "have no steady state"),
            ];
            let kinds = kinds.into_iter().filter(|(count, _)| *count > 0);
            let kinds: Vec<String> = kinds.map(|(count, what)| format!("{count} {what}")).collect();
            format!(
                "it leaps while it runs: {leaping} of {executions} executions change by {} from one measurement \
                 to the next, and stay there ({}); {}",
                size(distance),
                at_most(p),
                kinds.join(", ")
            )
        }
        Warning::SimultaneousStates { executions, of: all, distance, slower, p } => format!(
            "it has two states at the same time: in {executions} of {all} executions, {} of the measurements \
             are {} slower than the others ({})",
            size(slower),
            size(distance),
            at_most(p)
        ),
        Warning::Autocorrelation { correlation, error, error_if_independent, p } => format!(
            "measurements depend on the one before: their correlation is {correlation:.2}, so the value of an \
             execution is sure to {} and not to {} ({}, {})",
            size(error),
            size(error_if_independent),
            p_value(p),
            of.autocorrelation_evidence()
        ),
        Warning::OrderEffect { change, p } => {
            let (after, pairs) = match &of.prologue {
                Ok(prologue) => (culprits(prologue), prologue.after_all.pairs),
                Err(_) => ("others".to_owned(), 0),
            };
            let slower = if change < 0.0 { "faster" } else { "slower" };
            format!(
                "what ran before in its process changes its speed: after {after} it is {} {slower} than in a \
                 fresh process ({}, {pairs} pairs)",
                size(change.abs()),
                p_value(p)
            )
        }
    }
}

fn advice(warning: &Warning, conditions: &Conditions) -> String {
    let dimensions = conditions.dimensions;
    match *warning {
        Warning::Influence { level: Level::Executions, .. } => {
            "take several executions of each build (-m), and believe no single one".to_owned()
        }
        Warning::Influence { level: Level::Builds, .. } => format!(
            "take many builds (-l {} or more), and believe no comparison of one build with one other",
            dimensions.builds
        ),
        Warning::WarmUp { measurements, .. } => {
            let time = conditions.measurement.map(|each| each.saturating_mul(count_of(measurements)));
            let flag = time.map_or("--warm-up".to_owned(), |time| {
                format!("--warm-up {}ms", time.as_millis().max(1))
            });
            format!("measure it with {flag}, or make what it fills before it is timed")
        }
        Warning::SlowDown { .. } => {
            "look for what grows from call to call; until then results depend on how long it is measured"
                .to_owned()
        }
        Warning::SeveralSteadyStates { .. } => {
            "take more executions (-m) rather than more measurements; one execution tells little".to_owned()
        }
        Warning::LevelShifts { warm_up, leaping, .. } if 2 * warm_up > leaping => {
            "measure it with a longer --warm-up, behind the last leap".to_owned()
        }
        Warning::LevelShifts { .. } => {
            "look for what happens once in a while, such as memory that grows; give each call an input of its \
             own, or make that part of every call"
                .to_owned()
        }
        Warning::SimultaneousStates { .. } => {
            "the minimum sees only the faster state: use --estimator mean, or a benchmark for each state"
                .to_owned()
        }
        Warning::Autocorrelation { correlation, .. } if correlation < 0.0 => {
            "slow and fast measurements take turns: make one call do both".to_owned()
        }
        Warning::Autocorrelation { .. } => {
            "more measurements of one execution tell less than it seems: take more executions (-m)".to_owned()
        }
        Warning::OrderEffect { .. } => {
            "execute it in a process of its own, as rbench does; with `cargo bench` alone, change what the \
             others leave behind"
                .to_owned()
        }
    }
}

/// The benchmarks whose earlier run matters: those that matter alone, or all.
fn culprits(prologue: &ExaminedPrologue) -> String {
    let limit = prologue.after_all.change.center.abs() / 2.0;
    let is_one = |one: &&(String, crate::diagnosis::OrderEffect)| one.1.change.center.abs() > limit;
    let found: Vec<String> =
        prologue.after_each.iter().filter(is_one).map(|(id, _)| format!("`{id}`")).collect();
    match (&found[..], &prologue.others[..]) {
        ([], [only]) => format!("`{only}`"),
        ([], all) => format!("the {} benchmarks that come before it", all.len()),
        (some, _) if some.len() <= 3 => some.join(" or "),
        (some, _) => format!("any of {} others", some.len()),
    }
}

/// An impact factor.
pub(super) fn factor(factor: f64) -> String {
    if factor.is_finite() { format!("{factor:.2}") } else { "infinite".to_owned() }
}

/// The largest of several p values.
fn at_most(p: f64) -> String {
    p_value(p).replacen("p ", "p ≤ ", 1).replace("p ≤ < ", "p < ")
}

/// A relative interval: `+4.20 % (+3.90 .. +4.50)`.
pub(super) fn relative(interval: &crate::stats::Interval) -> String {
    let range = crate::report::quantity::range(interval.low, interval.high);
    format!("{} ({range})", percent(interval.center))
}

fn count_of(measurements: usize) -> u32 {
    u32::try_from(measurements).unwrap_or(u32::MAX)
}

impl Examination {
    fn executions_of(&self, level: Level) -> String {
        let Conditions { dimensions, .. } = &self.conditions;
        match level {
            Level::Executions => format!("{} executions", self.executions()),
            Level::Builds => format!("{} builds", dimensions.builds),
        }
    }

    /// The total number of executions.
    pub(super) fn executions(&self) -> usize {
        self.data.builds().map(|build| build.executions().len()).sum()
    }

    fn trend_evidence(&self) -> String {
        let executions = self.findings.trend.as_ref().map_or(0, |trend| trend.executions);
        format!("{executions} executions")
    }

    fn autocorrelation_evidence(&self) -> String {
        let executions = self.findings.neighbours.as_ref().map_or(0, |found| found.executions);
        format!("{executions} executions")
    }
}
