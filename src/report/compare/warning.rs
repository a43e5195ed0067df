//! The warnings of a comparison, as sentences and as values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ComparisonReport;
use crate::{
    compare::{ChangedWork, Warning},
    model::{Disturbance, MANY_SWITCHES, Throughput},
    report::{
        distinct,
        names::short,
        quantity::{and_more, count, percent},
    },
};

/// The consequence of noise: it widens the intervals that decide, so it causes no false verdict.
const WIDER: &str = "; verdicts hold, with wider intervals";

/// The maximum number of benchmarks shown with their amounts of work.
const MOST_AMOUNTS: usize = 3;

/// The maximum number of keys shown.
const MOST_KEYS: usize = 5;

/// Something that makes the results less certain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WarningFields {
    #[serde(flatten)]
    pub(crate) warning: Warning,
    /// The warning for people.
    pub(crate) text: String,
}

impl From<&Warning> for WarningFields {
    fn from(warning: &Warning) -> Self {
        Self { warning: warning.clone(), text: sentence(warning) }
    }
}

impl ComparisonReport {
    /// All warnings, those about the comparison itself first.
    pub(super) fn all_warnings(&self) -> Vec<Warning> {
        let mut warnings = self.warnings_on_what_was_compared();
        warnings.extend(self.outcome.warnings.iter().cloned());
        warnings
    }

    /// The warnings about the settings that decide, and those that follow from the rows: without them, the verdicts would be misread.
    pub(super) fn warnings_on_what_was_compared(&self) -> Vec<Warning> {
        let base = self.outcome.base_warning.clone();
        let nothing = self.has_compared_nothing().then_some(Warning::NothingCompared);
        base.into_iter().chain(nothing).chain(self.different_work()).collect()
    }

    /// A warning about the benchmarks whose amount of work changed, each once.
    fn different_work(&self) -> Option<Warning> {
        let names = self.names();
        let rows = self.outcome.rows.iter();
        let changed = distinct(rows.filter_map(|row| Some((&row.benchmark, row.work?))));
        let work = |(benchmark, work)| ChangedWork { name: names.name(benchmark), work };
        let benchmarks: Vec<ChangedWork> = changed.into_iter().map(work).collect();
        (!benchmarks.is_empty()).then_some(Warning::DifferentWork { benchmarks })
    }

    /// The reasons why the comparison is less certain, as sentences.
    pub fn warning_sentences(&self) -> Vec<String> {
        self.outcome.warnings.iter().map(|warning| self.warning_text(warning)).collect()
    }

    /// A warning as a sentence, with the suggested command at its end.
    pub(super) fn warning_text(&self, warning: &Warning) -> String {
        let sentence = sentence(warning);
        match self.advised(warning) {
            Some(command) => format!("{sentence}: {command}"),
            None => sentence,
        }
    }

    pub(super) fn advised(&self, warning: &Warning) -> Option<String> {
        let is_across = matches!(
            warning,
            Warning::AcrossExperiments { .. } | Warning::NotComparableAcrossExperiments { .. }
        );
        is_across.then(|| self.suggest_of_both("compare", &[]))
    }
}

/// A warning as a sentence with its consequence, without the suggested command.
pub(in crate::report) fn sentence(warning: &Warning) -> String {
    cause(warning) + consequence(warning)
}

/// The consequence of noise for the verdicts, to append to its cause; empty if the sentence has its
/// own.
pub(super) const fn consequence(warning: &Warning) -> &'static str {
    match warning {
        Warning::Disturbance(Disturbance::ClockSet { .. }) => "",
        Warning::Disturbance(_) | Warning::EqualBuilds { .. } | Warning::OtherAddresses { .. } => {
            WIDER
        }
        _ => "",
    }
}

/// A warning as a sentence without its consequence.
pub(in crate::report) fn cause(warning: &Warning) -> String {
    match warning {
        Warning::Disturbance(disturbance) => disturbance_text(disturbance),
        Warning::EqualBuilds { target, distinct, requested } => {
            format!("only {distinct} of {requested} builds of {target} differ")
        }
        Warning::OtherAddresses { target, layout, share } => format!(
            "{target}: only {:.1} % of the functions in both versions have the same address in both \
             (layout `{layout}`)",
            100.0 * share
        ),
        Warning::PlacementNotCompared { target, functions, options } => {
            let functions = match functions {
                0 => None,
                1 => Some("1 function has another alignment or section".to_owned()),
                several => Some(format!("{several} functions have another alignment or section")),
            };
            let options = options.then(|| "link options that may place code differ".to_owned());
            let differences: Vec<String> = functions.into_iter().chain(options).collect();
            format!(
                "{target}: {}; rbench gives both versions the same places, so the effect of this \
                 is not compared",
                differences.join(", and ")
            )
        }
        Warning::ChangingIds { ids } => {
            let (verb, example) = (have(ids.len()), ids.first().map_or("", String::as_str));
            format!(
                "{verb} a different id in each listing, for example `{example}`, and cannot \
                     be compared; use ids that do not change"
            )
        }
        Warning::IgnoredSettings { sentences, in_head } => {
            let version = if *in_head { "head" } else { "base" };
            format!("cargo ignores a setting that only the {version} has: {}", sentences.join("; "))
        }
        Warning::FunctionsUnknown { reason } => {
            format!("all benchmarks were measured, because functions were not compared: {reason}")
        }
        Warning::DifferentWork { benchmarks } => different_work(benchmarks),
        Warning::NothingCompared => {
            "nothing was compared, so a regression would not have been found".to_owned()
        }
        Warning::SettingsOfBase { differing, unusable } => settings_of_base(differing, unusable),
        Warning::AcrossExperiments { benchmarks } => format!(
            "{} measured in two experiments, so the intervals include the variation between \
                 experiments; measure both versions together for narrower ones",
            were(*benchmarks)
        ),
        Warning::NotComparableAcrossExperiments { benchmarks } => format!(
            "{} measured in two experiments and cannot be compared; measure both versions \
                 together",
            were(*benchmarks)
        ),
        Warning::SecretsPassed { names } => format!(
            "code of both versions gets what may be secrets, since `pass-environment` in bench.toml names them: {}",
            names.join(", ")
        ),
        Warning::DifferentConditions { reasons } => format!(
            "compared despite different conditions (--ignore-environment): {}",
            reasons.join("; ")
        ),
    }
}

/// `settings of the base decide; those of the head differ in verdict.min-effect, and decide once merged`.
fn settings_of_base(differing: &[String], unusable: &[String]) -> String {
    let shown = |names: &[String]| {
        let shown: Vec<&str> = names.iter().take(MOST_KEYS).map(String::as_str).collect();
        shown.join(", ") + &and_more(names.len(), MOST_KEYS)
    };
    let who = match unusable {
        [] => "settings of the base decide".to_owned(),
        files => format!("the defaults decide, since the base has no usable {}", shown(files)),
    };
    match differing {
        [] => who,
        keys => {
            format!("{who}; those of the head differ in {}, and decide once merged", shown(keys))
        }
    }
}

/// `parse processes 17671 instead of 16274 bytes per iteration (+8.58 %): not the same work`.
fn different_work(benchmarks: &[ChangedWork]) -> String {
    let amounts = |ChangedWork { name, work }: &ChangedWork| {
        let [(base, _), (head, unit)] = work.map(Throughput::amount);
        let name = short(name);
        let change = percent(head as f64 / base as f64 - 1.0);
        format!("{name} processes {head} instead of {base} {unit} per iteration ({change})")
    };
    let shown: Vec<String> = benchmarks.iter().take(MOST_AMOUNTS).map(amounts).collect();
    let (shown, more) = (shown.join(", "), and_more(benchmarks.len(), MOST_AMOUNTS));
    match benchmarks.len() {
        1 => format!("{shown}: not the same work"),
        several => format!("{several} benchmarks do not do the same work: {shown}{more}"),
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

fn disturbance_text(disturbance: &Disturbance) -> String {
    let percent = |share: &f64| 100.0 * share;
    match disturbance {
        Disturbance::Load { per_core } => {
            format!("the machine was busy before rbench began (a load of {per_core:.2} per core)")
        }
        Disturbance::Others { share } => {
            format!("other processes used {:.0} % of all CPU time while measuring", percent(share))
        }
        Disturbance::Stolen { share } => format!(
            "the host took {:.1} % of all CPU time from this virtual machine while measuring",
            percent(share)
        ),
        Disturbance::Governor { name } => format!(
            "the CPU frequency governor is `{name}`, so clock rates change while measuring (`performance` is \
             steadier)"
        ),
        Disturbance::Battery => {
            "the machine runs on battery, which may lower clock rates".to_owned()
        }
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
            "the clock was set by {seconds:+.0} s while measuring{}; verdicts hold, because times come \
             from the monotonic clock",
            // That clock stops during suspension.
            if *seconds > 0.0 { ", or the machine was suspended" } else { "" }
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Layout, report::testing::target};

    #[test]
    fn other_placement_warning_says_that_it_is_not_compared() {
        let target = target("work");
        let warning = Warning::PlacementNotCompared { target, functions: 3, options: true };
        assert_eq!(
            sentence(&warning),
            "parser/work: 3 functions have another alignment or section, and link options that may place \
             code differ; rbench gives both versions the same places, so the effect of this is not compared"
        );
    }

    #[test]
    fn moved_functions_warning_has_their_share() {
        let (target, layout) = (target("work"), Layout::SameOrder);
        let warning = Warning::OtherAddresses { target, layout, share: 0.031 };
        assert_eq!(
            sentence(&warning),
            "parser/work: only 3.1 % of the functions in both versions have the same address in both \
             (layout `same-order`); verdicts hold, with wider intervals"
        );
    }
}
