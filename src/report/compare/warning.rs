//! Warnings of a comparison, as sentences and as values.

use super::{ComparisonReport, Warning};
use crate::{
    machine::{disturbance::Disturbance, state::MANY_SWITCHES},
    report::quantity::count,
};

impl ComparisonReport {
    /// A warning as a sentence.
    pub(super) fn warning_text(&self, warning: &Warning) -> String {
        let together = || self.command_line.suggest("compare", &self.revisions(), &[]);
        match warning {
            Warning::Disturbance(disturbance) => disturbance_text(disturbance),
            Warning::EqualBuilds { target, distinct, requested } => {
                format!("{target}: only {distinct} of {requested} builds differ")
            }
            Warning::ChangingIds { ids } => {
                let (verb, example) = (have(ids.len()), ids.first().map_or("", String::as_str));
                format!(
                    "{verb} a different id in each listing, for example `{example}`, and cannot \
                     be compared; use ids that do not change"
                )
            }
            Warning::FunctionsUnknown { reason } => {
                format!("functions were not compared: {reason}")
            }
            Warning::AcrossExperiments { benchmarks } => format!(
                "{} measured in two experiments, so the intervals include the variation between \
                 experiments; measure both versions together for narrower ones: {}",
                were(*benchmarks),
                together()
            ),
            Warning::NotComparableAcrossExperiments { benchmarks } => format!(
                "{} measured in two experiments and cannot be compared; measure both versions \
                 together: {}",
                were(*benchmarks),
                together()
            ),
            Warning::DifferentConditions { reasons } => format!(
                "compared despite different conditions (--allow-different): {}",
                reasons.join("; ")
            ),
            Warning::Experiment(text) => text.clone(),
        }
    }
}

fn were(benchmarks: usize) -> String {
    let verb = if benchmarks == 1 { "was" } else { "were" };
    format!("{} {verb}", count(benchmarks, "benchmark"))
}

fn have(benchmarks: usize) -> String {
    let verb = if benchmarks == 1 { "has" } else { "have" };
    format!("{} {verb}", count(benchmarks, "benchmark"))
}

impl Warning {
    /// A word for it, for programs.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Disturbance(disturbance) => match disturbance {
                Disturbance::Load { .. } => "load",
                Disturbance::Others { .. } => "other_processes",
                Disturbance::Stolen { .. } => "stolen_time",
                Disturbance::Governor { .. } => "governor",
                Disturbance::Battery => "battery",
                Disturbance::Quota { .. } => "quota",
                Disturbance::Throttled { .. } => "throttled",
                Disturbance::Preempted { .. } => "preempted",
                Disturbance::ClockSet { .. } => "clock_set",
            },
            Self::EqualBuilds { .. } => "equal_builds",
            Self::ChangingIds { .. } => "changing_ids",
            Self::FunctionsUnknown { .. } => "functions_unknown",
            Self::AcrossExperiments { .. } => "across_experiments",
            Self::NotComparableAcrossExperiments { .. } => "not_comparable_across_experiments",
            Self::DifferentConditions { .. } => "different_conditions",
            Self::Experiment(_) => "experiment",
        }
    }

    /// The number that it is about, if any: as its field has it.
    pub(super) const fn value(&self) -> Option<f64> {
        match self {
            Self::Disturbance(
                Disturbance::Load { per_core: value }
                | Disturbance::Others { share: value }
                | Disturbance::Stolen { share: value }
                | Disturbance::Quota { cpus: value }
                | Disturbance::Throttled { seconds: value }
                | Disturbance::Preempted { share: value }
                | Disturbance::ClockSet { seconds: value },
            ) => Some(*value),
            Self::ChangingIds { ids } => Some(ids.len() as f64),
            Self::EqualBuilds { distinct: number, .. }
            | Self::AcrossExperiments { benchmarks: number }
            | Self::NotComparableAcrossExperiments { benchmarks: number } => Some(*number as f64),
            Self::Disturbance(Disturbance::Governor { .. } | Disturbance::Battery)
            | Self::FunctionsUnknown { .. }
            | Self::DifferentConditions { .. }
            | Self::Experiment(_) => None,
        }
    }
}

fn disturbance_text(disturbance: &Disturbance) -> String {
    let percent = |share: &f64| 100.0 * share;
    match disturbance {
        Disturbance::Load { per_core } => format!(
            "the machine was busy before rbench began (a load of {per_core:.2} per core), which makes \
             intervals wider"
        ),
        Disturbance::Others { share } => format!(
            "other processes used {:.0} % of all CPU time while measuring, which makes intervals wider",
            percent(share)
        ),
        Disturbance::Stolen { share } => format!(
            "the host took {:.1} % of all CPU time from this virtual machine while measuring",
            percent(share)
        ),
        Disturbance::Governor { name } => format!(
            "the CPU frequency governor is `{name}`: clock rates change while measuring; \
             `performance` is steadier"
        ),
        Disturbance::Battery => "the machine runs on battery, which may lower clock \
                                 rates"
            .to_owned(),
        Disturbance::Quota { cpus } => {
            format!("the control group allows only {cpus:.2} CPUs, so executions are paused")
        }
        Disturbance::Throttled { seconds } => format!(
            "the control group's CPU quota paused processes for {seconds:.2} s while measuring"
        ),
        Disturbance::Preempted { share } => format!(
            "in {:.0} % of the executions, other processes preempted the benchmark more than \
             {MANY_SWITCHES} times a second",
            percent(share)
        ),
        Disturbance::ClockSet { seconds } => format!(
            "the clock was set by {seconds:+.0} s while measuring; measured times are not affected, \
             because they come from the monotonic clock"
        ),
    }
}
