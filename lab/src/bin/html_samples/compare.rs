//! A comparison with every kind of verdict.

use std::rc::Rc;

use cargo_rbench::{
    cli::GivenOptions,
    compare::{Outcome, UnlistedTarget},
    error::{Error, Exit},
    model::{Absence, BenchTarget, Disturbance, FailedTarget, RemovedBenchmark, SampleSizes},
    report::{Format, compare::ComparisonReport},
    verdict::{DecidedRow, ExitPolicy, UnmeasuredIn, Verdict},
};
use rbench_code::{
    elf,
    impact::{EnteredFunction, Impact},
};
use rbench_stats::{Criteria, Random};

use crate::{
    explain,
    made_up::{HOSTILE, Kind, benchmark, counted, decided, machine, version},
};

const GROUPS: [&str; 7] =
    ["parse/json", "parse/toml", "sort", "hash/fx", "format/u128", "split", "tokens/of_a_file"];

fn function(name: &str, sizes: [Option<u64>; 2], while_measuring: bool) -> EnteredFunction {
    EnteredFunction {
        name: elf::Name::demangle(name),
        instance: 1,
        base_size: sizes[0],
        head_size: sizes[1],
        base_stack: Some(24),
        head_stack: Some(88),
        while_measuring,
        cause: elf::Cause::Code,
        callees_gained: Vec::new(),
        callees_lost: Vec::new(),
    }
}

fn impact_of(functions: &[EnteredFunction]) -> Impact {
    Impact {
        functions: functions.to_vec(),
        files: vec![],
        variables: vec![],
        uncertainties: vec![],
        by_harness: vec![],
    }
}

/// Rows of `count` benchmarks: some changed, some inconclusive, most unchanged.
fn rows(count: usize) -> Vec<DecidedRow> {
    let mut random = Random::new(17);
    let functions = [
        function("parser::lexer::Lexer<R>::next_token", [Some(2316), Some(2065)], true),
        function(
            "parser::value::<impl core::str::FromStr for Value>::from_str",
            [Some(624), Some(960)],
            true,
        ),
        function(
            "core::slice::sort::shared::smallsort::small_sort_general",
            [None, Some(412)],
            false,
        ),
    ];
    let row = |at: usize| {
        let id = match at {
            1 => HOSTILE.to_owned(),
            _ => format!("{}/{}", GROUPS[at % GROUPS.len()], 16 << (at / GROUPS.len())),
        };
        let quiet = Kind {
            value: 30.0 * 1.6_f64.powf((at % 23) as f64),
            layout: 0.02,
            noise: 0.0012,
            change: 0.0,
        };
        let kind = match at {
            0 => Kind { change: 0.087, ..quiet },
            1 => Kind { change: 0.031, ..quiet },
            2 => Kind { change: -0.12, ..quiet },
            13 => Kind { change: 0.024, noise: 0.002, ..quiet },
            29 => Kind { change: -0.034, ..quiet },
            41 => Kind { change: 0.42, ..quiet },
            _ if at % 12 == 4 => Kind { noise: 0.02, layout: 0.06, ..quiet },
            _ => Kind { change: 0.001 * random.normal(), ..quiet },
        };
        let row = decided(&mut random, &id, kind, count);
        let functions = if kind.change.abs() > 0.01 { &functions[..] } else { &functions[..1] };
        DecidedRow { impact: Some(impact_of(functions)), ..row }
    };
    (0..count).map(row).collect()
}

fn outcome(count: usize) -> Outcome {
    let base = version("main", 1, "Release 1.4.0");
    let head =
        version("topic/faster-lexer", 2, "Read tokens without copying <them> & keep their spans");
    let mut outcome = Outcome::new([base, head], Criteria::default());
    outcome.sample_sizes =
        Some(SampleSizes { first_analysis: None, builds: 10, executions: 2, measurements: 20 });
    outcome.machine = Some(machine());
    outcome.rows = rows(count);
    outcome
}

fn rendered(outcome: Outcome) -> String {
    let command_line = Rc::new(GivenOptions::default());
    let report = ComparisonReport::new(outcome, ExitPolicy::default(), command_line);
    Format::Html.render(&report, 0).unwrap()
}

/// The number of benchmarks on a page that failed, and of those that were not measured.
const OTHERS: usize = 4;

/// The page of a comparison of `count` benchmarks by time.
pub fn page(count: usize) -> String {
    rendered(with_all_verdicts(count))
}

/// The same, with counted instructions of three benchmarks as well: one slower, one faster, one
/// unchanged.
pub fn page_with_counts(count: usize) -> String {
    let mut outcome = with_all_verdicts(count);
    for (place, change) in [(3, 0.021), (2, 0.0), (0, 0.064)] {
        let id = outcome.rows[place].benchmark.name.id.clone();
        outcome.rows.insert(place + 1, counted(&id, 120_455.0, change));
    }
    let id = outcome.rows[0].benchmark.name.id.clone();
    outcome.explanations = vec![explain::report(&id)];
    rendered(outcome)
}

fn with_all_verdicts(count: usize) -> Outcome {
    let mut outcome = outcome(count - OTHERS);
    let failure = Error::new(Exit::Benchmark, "cannot execute `broken`")
        .cause("it ended with exit status: 101; the end of its output:\nthread 'main' panicked: no <input>")
        .hint("reproduce with: cargo rbench exec HEAD --exact broken");
    let with = |id: &str, verdict| DecidedRow::without_metric(&benchmark(id), verdict);
    outcome.rows.push(with("broken", Verdict::Failed { reason: failure.to_string() }));
    outcome.rows.extend(["same/1", "same/2"].map(|id| with(id, Verdict::Identical)));
    outcome.rows.push(with("elsewhere", Verdict::Unaffected));
    outcome.added = vec![benchmark("new")];
    outcome.removed =
        RemovedBenchmark::with_renames(vec![(benchmark("old"), Absence::Undefined)], &[]);
    outcome.add_disturbances([Disturbance::Others { share: 0.23 }]);
    let target = BenchTarget { package: "parser".to_owned(), target: "other".to_owned() };
    let failure = Error::new(Exit::Benchmark, "cannot list the benchmarks of `other`");
    outcome.failed_targets =
        vec![UnlistedTarget::new(FailedTarget { target, error: failure }, UnmeasuredIn::Head)];
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_of_a_hundred_benchmarks_is_a_small_page() {
        let page = rendered(outcome(100));
        assert!(page.len() <= 150_000, "{} bytes", page.len());
    }

    #[test]
    fn names_are_not_markup() {
        let page = page(100);
        assert_eq!(page.matches("<script").count(), 2);
        assert!(!page.contains("<img") && !page.contains("\u{202e}") && !page.contains('\u{2028}'));
    }
}
