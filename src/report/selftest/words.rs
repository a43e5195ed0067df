//! Words the conclusions of the `selftest` report. They never claim more than was measured.

use super::{CONFIDENCE, ModeResult, SelftestReport, name_of, tables::between};
use crate::{
    report::{
        names::Names,
        quantity::{count, exact, percent, probability, size},
    },
    stats::Proportion,
    verdict::fitness::{BUILDS, Finding, Fitness, MISLEADING},
};

impl SelftestReport {
    /// For each mode: true if it is fit, and the reasons.
    pub(super) fn conclusions(&self) -> Vec<(bool, String)> {
        let conclusion = |result: &ModeResult| {
            let fit = match (result.fitness.is_fit(), has_few_rows(&result.fitness)) {
                (false, _) => "not fit to judge".to_owned(),
                (true, true) => {
                    format!("fit to judge, as far as {} rows tell", result.fitness.rows)
                }
                (true, false) => "fit to judge".to_owned(),
            };
            let head = format!("{}: {fit}", name_of(result.mode));
            let reasons = self.reasons(result);
            (result.fitness.is_fit(), format!("{head}. {}", reasons.join(" ")))
        };
        self.modes.iter().map(conclusion).collect()
    }

    fn reasons(&self, result: &ModeResult) -> Vec<String> {
        let fitness = &result.fitness;
        let findings = fitness.findings();
        let mut reasons = Vec::new();
        if fitness.is_fit() {
            reasons.push(kept(fitness));
        }
        reasons.extend(findings.iter().map(|finding| self.sentence(result, *finding)));
        if fitness.is_fit() && !findings.contains(&Finding::Noisy) {
            reasons.push(sharp(fitness));
        }
        reasons
    }

    fn sentence(&self, result: &ModeResult, finding: Finding) -> String {
        let fitness = &result.fitness;
        let promised = size(fitness.target_error_rate);
        match finding {
            Finding::Nothing => "No benchmark could be judged.".to_owned(),
            Finding::TooManyFlagged => format!(
                "A test at {promised} on the first builds flagged {} of {} rows that did not change: \
                 chance alone would flag as many with probability {}.",
                fitness.flagged.count,
                fitness.flagged.of,
                probability(fitness.flagged.at_least(fitness.target_error_rate)),
            ),
            Finding::TooManyReported => format!(
                "Of {} comparisons, {} reported a regression and {} an improvement, although nothing changed; at \
                 most {} of each are promised.",
                fitness.repetitions,
                fitness.with_regressions,
                fitness.with_improvements,
                exact(MISLEADING),
            ),
            Finding::SmallP => {
                "There are more small p values than there are where nothing changes.".to_owned()
            }
            Finding::Noisy => format!(
                "It is noisy: only {} of {} rows were shown to be unchanged at {}. {}",
                fitness.unchanged.count,
                fitness.unchanged.of,
                size(self.criteria.min_effect),
                sharp(fitness),
            ),
            Finding::Order => {
                let effect = fitness.order.map_or(0.0, |order| order.mean.exp_m1());
                format!(
                    "What is executed second takes {} longer. Which version that is, is drawn, so verdicts stay \
                     right.",
                    percent(effect)
                )
            }
            Finding::Autocorrelation => {
                "Executions that follow each other are alike: disturbances last longer than one. \
                                Their order is drawn, so verdicts stay right."
                    .to_owned()
            }
        }
    }

    /// Advice on problems that can be solved.
    pub(super) fn advice(&self) -> Vec<String> {
        let findings: Vec<Finding> =
            self.modes.first().map(|result| result.fitness.findings()).unwrap_or_default();
        let is_against = findings.iter().any(|finding| finding.is_against());
        let mut advice = Vec::new();
        if !is_against && !findings.contains(&Finding::Noisy) {
            return advice;
        }
        let seen = if self.warnings.is_empty() {
            "Nothing was seen on this machine that explains it."
        } else {
            "The warnings above say what was seen on this machine."
        };
        advice.push(format!(
            "{seen} End other programs, or measure where nothing else runs; then run the self-test again."
        ));
        if self.machine.cores < 2 {
            advice.push(
                "There is only one CPU: everything else on the machine interrupts benchmarks."
                    .to_owned(),
            );
        }
        if is_against {
            advice.push(
                "Until it is fit, do not act on what a comparison on this machine reports."
                    .to_owned(),
            );
        }
        advice
    }

    /// The limits of the test.
    pub(super) fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        if !self.left_out.is_empty() {
            let names = Names::new(self.benchmarks.iter().chain(&self.left_out));
            let left_out: Vec<String> = self.left_out.iter().map(|one| names.name(one)).collect();
            limits.push(format!(
                "left out, since the compiler makes other code of something that they execute: {}",
                left_out.join(", ")
            ));
        }
        if !self.same_programs.is_empty() {
            let targets: Vec<String> = self.same_programs.iter().map(ToString::to_string).collect();
            limits.push(format!(
                "the same programs in both versions, since the linker removes the function, so nothing is learned about \
                 layouts: {}",
                targets.join(", ")
            ));
        }
        limits
    }

    /// The subject of the comparisons.
    pub(super) fn subject(&self) -> String {
        format!(
            "{} of {}, {} in two versions that differ only in a function that nothing calls: whatever is called \
             changed is a false alarm",
            count(self.benchmarks.len(), "benchmark"),
            self.version,
            match self.repetitions {
                1 => "compared once".to_owned(),
                times => format!("compared {times} times, each time with other layouts,"),
            }
        )
    }
}

/// The sentence that the error rates were kept, within the precision of the test.
fn kept(fitness: &Fitness) -> String {
    let Proportion { count, of } = fitness.flagged;
    let few = if has_few_rows(fitness) {
        " So few rows cannot exclude that it is twice what is promised: --repeat measures more."
    } else {
        ""
    };
    format!(
        "A test on the first builds flagged {count} of {of} rows, none of which changed; it may flag {}, and with {} \
         confidence the rate is {}.{few}",
        size(fitness.target_error_rate),
        exact(CONFIDENCE),
        between(fitness.flagged),
    )
}

/// True if the rows are too few to exclude twice the target rate.
fn has_few_rows(fitness: &Fitness) -> bool {
    let [_, high] = fitness.flagged.interval(CONFIDENCE);
    high > 2.0 * fitness.target_error_rate
}

/// The number of benchmarks that show the smallest change of interest, in words.
fn sharp(fitness: &Fitness) -> String {
    let [few, some, many] = BUILDS;
    format!(
        "A change as large as min-effect would be flagged, in four of five cases, in {} of {} with {few} builds \
         (-l {few}), in {} with {some} and in {} with {many}.",
        fitness.sharp_with(few),
        count(fitness.floors.len(), "benchmark"),
        fitness.sharp_with(some),
        fitness.sharp_with(many),
    )
}
