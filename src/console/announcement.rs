//! Words the progress lines about experiments and comparisons: the plan, resumed results, interim
//! analyses, and confirmation.

use std::time::{Duration, SystemTime};

use super::{Console, LiveTable};
use crate::{
    compare::{Event, Observer},
    error::Exit,
    measure::{Outline, StartedExperiment},
    model::{FailedTarget, InterimAnalyses, LayoutSeed},
    report::{
        names::{Names, with_metric},
        quantity::{self, count, duration},
        sentence,
    },
    verdict::DecidedRow,
};

impl Observer for Console {
    fn compare_event(&self, event: Event<'_>) {
        match event {
            Event::Planned { outline, confirms } => plan(self, outline, confirms),
            Event::SizesDecided(rows) => sizes(self, rows),
            Event::CompilationsPlanned { metrics, analyses, pair, budget, confirms } => {
                self.line(&compilations(metrics, analyses, pair, budget, confirms));
            }
            Event::ConfirmingCompilations { count: number, time } => {
                let number = count(number, "more compilation");
                let about = duration(time);
                self.line(&format!("confirming a change: {number} of each version, about {about}"));
            }
            Event::Unaffected { not_measured, of } => {
                if let Some(line) = unaffected_line(not_measured, of) {
                    self.step(&line);
                }
            }
            Event::AlreadyMeasured => self.step("all changes between them are already measured"),
            Event::LeftOut { targets, of } => self.step(&format!(
                "only {} of {of} bench targets: the names and sources of the others lack words of the filter; \
                 --bench NAME compiles one",
                of - targets
            )),
            Event::ByTarget { benches, lto } => self.step(&format!(
                "with lto = {lto}, each of the {benches} bench targets is optimized as a whole when it is \
                 linked: the first are compared before the others are compiled; --bench NAME compares one"
            )),
            Event::TargetsCompared { benches, done, of, counts } => self.step(&format!(
                "{}: {} ({done} of {of} bench targets)",
                benches.iter().map(|one| one.target.as_str()).collect::<Vec<_>>().join(", "),
                counts.all_words()
            )),
            Event::AlsoAgainst(release) => self.step(&format!("also against {release}:")),
            Event::Started(started) => {
                self.change_live(|live| *live = LiveTable::default());
                resumed(self, started);
            }
            Event::Provisional(rows) => self.change_live(|live| live.measured(rows)),
            Event::Decided(rows) => self.change_live(|live| live.decided(rows)),
            Event::Analysed { builds, decided, undecided, executions } => {
                self.step(&analysis_line(builds, decided, undecided, executions));
            }
            Event::Confirming { benchmarks, seeds } => confirmation(self, benchmarks, seeds),
            Event::Auditing { measured, skipped } => {
                let skipped = count(skipped, "skipped benchmark");
                self.step(&format!("audit: measuring {measured} of {skipped} all the same"));
            }
            Event::CountsVary { varying: some, of, layouts } => varying(self, some, of, layouts),
            Event::Explaining { what, benchmarks, left_out } => {
                explaining(self, what, benchmarks, left_out);
            }
            Event::Note(note) => self.step(&format!("note: {note}")),
            Event::Warning(warning) => self.line(&format!("warning: {warning}")),
        }
    }

    fn shows_provisional(&self) -> bool {
        self.terminal
    }
}

/// Warns of bench targets whose benchmarks could not be listed.
pub fn failed_targets<'t>(console: &Console, all: impl IntoIterator<Item = &'t FailedTarget>) {
    for FailedTarget { target, error } in all {
        console.line(&format!("warning: {target}: {error}"));
    }
}

/// Prints the planned measurements and the time they take; prints nothing if there is nothing
/// to measure.
pub fn plan(console: &Console, outline: &Outline, confirms: bool) {
    let Outline { benchmarks, versions, dimensions, with_own_numbers, layout, .. } = *outline;
    let Outline { planned_time, is_least, .. } = *outline;
    if benchmarks == 0 {
        return;
    }
    let own = match with_own_numbers {
        0 => String::new(),
        some => format!(" ({some} with their own sample sizes)"),
    };
    let analyses = dimensions.interim_analyses();
    let (what, again) = if !analyses.is_fixed() {
        let first = count(analyses.first as usize, "build");
        (format!("measuring {first} of all of them"), String::new())
    } else if confirms {
        let twice = duration(planned_time.saturating_mul(2));
        let again = format!(", {twice} if all benchmarks are flagged and measured again");
        ("measuring all of them".to_owned(), again)
    } else {
        ("measuring all of them".to_owned(), String::new())
    };
    console.step(&format!(
        "plan: {} of {}, {}{own}, layout {layout}; {what} takes {} {}{again}",
        count(benchmarks, "benchmark"),
        count(versions.0, versions.1),
        quantity::sample_sizes(dimensions),
        if is_least { "at least" } else { "about" },
        duration(planned_time),
    ));
}

/// Prints the verdicts on the sizes of executables.
fn sizes(console: &Console, rows: &[DecidedRow]) {
    let names = Names::new(rows.iter().map(|row| &row.benchmark));
    for row in rows {
        let name = with_metric(names.name(&row.benchmark), row.metric.as_ref());
        console.line(&format!("{name}: {}", sentence::verdict(&row.verdict)));
    }
}

/// `plan: compile-time: 5 to 20 compilations of each version, 27 s to 1 min 48 s; more only to confirm a change`.
fn compilations(
    metrics: &str,
    analyses: InterimAnalyses,
    pair: Duration,
    budget: Option<Duration>,
    confirms: bool,
) -> String {
    let first = pair.saturating_mul(analyses.first);
    let most = pair.saturating_mul(analyses.most);
    // The first analysis is not limited.
    let most = budget.map_or(most, |budget| most.min(budget.max(first)));
    let number = count(analyses.most as usize, "compilation");
    let (number, time) = if analyses.is_fixed() {
        (number, format!("about {}", duration(most)))
    } else {
        let time = format!("about {} to {}", duration(first), duration(most));
        (format!("{} to {number}", analyses.first), time)
    };
    let again = if confirms { "; more only to confirm a change" } else { "" };
    format!("plan: {metrics}: {number} of each version, {time}{again}")
}

/// `168 of 172 benchmarks execute nothing that changed, and are not measured`.
fn unaffected_line(not_measured: usize, of: usize) -> Option<String> {
    let (execute, are) = match not_measured {
        0 => return None,
        1 => ("executes", "is"),
        _ => ("execute", "are"),
    };
    let of = count(of, "benchmark");
    Some(format!("{not_measured} of {of} {execute} nothing that changed, and {are} not measured"))
}

/// Prints the executions taken over from an interrupted run, or the reasons why there are none.
pub fn resumed(console: &Console, started: &StartedExperiment) {
    if started.resumed() > 0 {
        let executions = count(started.resumed(), "execution");
        console.step(&format!("resuming an interrupted run, after {executions}"));
    }
    if !started.not_resumed.is_empty() {
        console.line(&format!(
            "the last run of these versions was interrupted and cannot be resumed, because it \
             differs: {}",
            started.not_resumed.join("; ")
        ));
    }
}

/// Prints the total duration, compiling and linking included, and the exit code.
pub fn finished(console: &Console, start: SystemTime, exit: Exit) {
    let took = duration(start.elapsed().unwrap_or_default());
    let why = match exit {
        Exit::Regression => ", since a benchmark regressed",
        Exit::Benchmark => ", since a benchmark failed",
        _ => "",
    };
    console.line(&format!("finished in {took}: exit code {}{why}", exit as u8));
}

/// `after 5 builds: 3 of 19 benchmarks are measured further`: undecided, or to be confirmed. A benchmark that is not may be
/// inconclusive, if it has as many builds as were requested. Noisy ones get more `executions` of each build.
fn analysis_line(
    builds: u32,
    analysed: usize,
    undecided: usize,
    executions: Option<u32>,
) -> String {
    let all = count(analysed, "benchmark");
    let (number, verb) = match undecided {
        0 => ("none".to_owned(), "is"),
        1 => ("1".to_owned(), "is"),
        some => (some.to_string(), "are"),
    };
    let more = executions.map_or(String::new(), |most| {
        format!(", noisy ones by up to {} of each build", count(most as usize, "execution"))
    });
    let builds = count(builds as usize, "build");
    format!("after {builds}: {number} of {all} {verb} measured further{more}")
}

/// Prints that benchmarks whose counts vary within a version are counted in more layouts and
/// initial states.
fn varying(console: &Console, varying: usize, of: usize, layouts: usize) {
    let (of, layouts) = (count(of, "benchmark"), count(layouts, "layout"));
    console.step(&format!(
        "counts of {varying} of {of} vary within a version: counting them in {layouts}, each with \
         another initial state"
    ));
}

/// Prints that benchmarks that seem changed are measured again, and in which layouts.
fn confirmation(console: &Console, benchmarks: usize, seeds: &[LayoutSeed]) {
    let first = seeds.first().map_or(String::new(), |seed| format!(", the first with seed {seed}"));
    console.step(&format!(
        "measuring {} that {} changed again, on {} with fresh layouts{first}",
        count(benchmarks, "benchmark"),
        if benchmarks == 1 { "seems" } else { "seem" },
        count(seeds.len(), "build"),
    ));
}

/// Prints that benchmarks whose instruction counts changed are being explained.
fn explaining(console: &Console, what: &str, benchmarks: usize, left_out: usize) {
    let left_out = match left_out {
        0 => String::new(),
        more => format!(" ({more} more changed by less)"),
    };
    let whom = count(benchmarks, "benchmark");
    console.step(&format!("explaining where the {what} of {whom} went{left_out}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn analysis_line_counts_undecided_benchmarks() {
        assert_eq!(
            analysis_line(5, 19, 0, None),
            "after 5 builds: none of 19 benchmarks is measured further"
        );
        assert_eq!(
            analysis_line(10, 3, 1, None),
            "after 10 builds: 1 of 3 benchmarks is measured further"
        );
        assert_eq!(
            analysis_line(5, 19, 19, None),
            "after 5 builds: 19 of 19 benchmarks are measured further"
        );
        assert_eq!(
            analysis_line(5, 19, 2, Some(4)),
            "after 5 builds: 2 of 19 benchmarks are measured further, noisy ones by up to 4 executions of each build"
        );
    }

    #[test]
    fn unaffected_line_counts_skipped_benchmarks() {
        let line = |not_measured, of| unaffected_line(not_measured, of).unwrap();
        let end = "nothing that changed, and";
        assert_eq!(line(168, 172), format!("168 of 172 benchmarks execute {end} are not measured"));
        assert_eq!(line(1, 2), format!("1 of 2 benchmarks executes {end} is not measured"));
        assert_eq!(line(1, 1), format!("1 of 1 benchmark executes {end} is not measured"));
        assert_eq!(unaffected_line(0, 172), None);
    }
}
