//! Progress lines about an experiment: its plan, and what is resumed and confirmed.

use std::time::SystemTime;

use crate::{
    console::Console,
    experiment::{Begun, Outline},
    model::LayoutSeed,
    report::quantity::{self, count, duration},
};

/// What will be measured, and how long that takes at least; nothing where there is nothing to measure.
pub fn plan(console: &Console, outline: &Outline, confirms: bool) {
    let Outline { benchmarks, versions, dimensions, with_own_numbers, layout, least_time } =
        *outline;
    if benchmarks == 0 {
        return;
    }
    let own = match with_own_numbers {
        0 => String::new(),
        some => format!(" ({some} with their own numbers)"),
    };
    let again = if confirms {
        let twice = duration(least_time.saturating_mul(2));
        format!(", {twice} if all benchmarks are flagged and measured again")
    } else {
        String::new()
    };
    console.line(&format!(
        "plan: {} of {}, {}{own}, layout {layout}; measuring all of them takes at least {}{again}",
        count(benchmarks, "benchmark"),
        count(versions, "version"),
        quantity::dimensions(dimensions),
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
            "the last run of these versions was interrupted and cannot be resumed, because it \
             differs: {}",
            begun.not_resumed.join("; ")
        ));
    }
}

/// How long it all took, compiling and linking included.
pub fn finished(console: &Console, start: SystemTime) {
    console.line(&format!("finished in {}", duration(start.elapsed().unwrap_or_default())));
}

/// That flagged benchmarks are measured again, and with which layouts.
pub fn confirmation(console: &Console, benchmarks: usize, seeds: &[LayoutSeed]) {
    let first = seeds.first().map_or(String::new(), |seed| format!(", the first with seed {seed}"));
    console.line(&format!(
        "measuring {} again on {} with fresh layouts{first}",
        count(benchmarks, "flagged benchmark"),
        count(seeds.len(), "build"),
    ));
}
