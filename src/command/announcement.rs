//! Lines about an experiment before and while it is measured.

use crate::{
    console::Console,
    experiment::{Begun, Outline},
    model::{Dimensions, LayoutSeed},
    report::quantity::{count, duration},
};

/// What will be measured, and how long that takes at least.
pub fn plan(console: &Console, outline: &Outline, confirms: bool) {
    let Outline { benchmarks, versions, dimensions, with_own_numbers, layout, least_time } =
        *outline;
    let Dimensions { builds, executions, measurements } = dimensions;
    let own = match with_own_numbers {
        0 => String::new(),
        some => format!(" ({some} with numbers of their own)"),
    };
    let again = if confirms { ", and again for what is flagged" } else { "" };
    console.line(&format!(
        "plan: {} of {}, {builds} builds x {executions} executions x {measurements} measurements{own}, \
         layout {layout}; measuring takes at least {}{again}",
        count(benchmarks, "benchmark"),
        count(versions, "version"),
        duration(least_time),
    ));
}

/// What is left of an earlier run, and why nothing is, if that was interrupted.
pub fn resumed(console: &Console, begun: &Begun) {
    if begun.resumed() > 0 {
        let executions = count(begun.resumed(), "execution");
        console.line(&format!("resuming an interrupted run, after {executions}"));
    }
    if !begun.not_resumed.is_empty() {
        console.line(&format!(
            "the last run of the same versions was interrupted and is not resumed, since it differs: {}",
            begun.not_resumed.join("; ")
        ));
    }
}

/// That flagged benchmarks are measured again, and with which layouts.
pub fn confirmation(console: &Console, benchmarks: usize, seeds: &[LayoutSeed]) {
    let first = seeds.first().map_or(String::new(), |seed| format!(", the first of seed {seed}"));
    console.line(&format!(
        "measuring {} again on {} with fresh layouts{first}",
        count(benchmarks, "flagged benchmark"),
        count(seeds.len(), "build"),
    ));
}
