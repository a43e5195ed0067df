//! Versions, benchmarks and decided rows for the tests of reports, and checks that every report
//! must pass.

use std::{fs, path::Path, rc::Rc};

use rbench_code::{
    callgrind::{Code, Function, Place},
    elf::{Cause, ChangedFunction, FunctionSet, Name as FunctionName, SizedFunction, instance_of},
    impact::Impact,
    samples::{
        self, Caller, Frame, SampledExecution, SampledStack, SampledState, SampledThread, Side,
        TimeProfile,
    },
};
use rbench_stats::{
    Assessment, Change, Criteria, Estimator, Measurements, Pairing, Power, Summary, decide_counts,
};

use super::{Report, escape::is_hidden, style};
use crate::{
    cli::{Cli, Command},
    compare::ExplainedTime,
    model::{Absence, BenchTarget, Benchmark, Machine, Metric, Name, RemovedBenchmark, Version},
    shell::CommandLine,
    verdict::{Advice, DecidedRow, DecidedStage, Progress, Repetition},
};

/// Everything that a hostile name may contain: escape sequences, controls of both kinds, a line
/// break, and characters that change the direction of writing, beside Markdown and HTML.
pub const HOSTILE: &str = "a\u{1b}[2J\r\u{7}\0\u{9b}31m\n\u{202e}b\u{2066}|`<i>*c*";

/// A command line that suggests commands in place of the one with these words.
pub fn given(words: &str) -> Rc<dyn CommandLine> {
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    match Cli::parse_words(&words).unwrap().command {
        Some(Command::Compare(args)) => args.command_line(),
        Some(Command::History(args)) => Rc::new(args.given),
        Some(Command::Run(args)) => Rc::new(args.given),
        other => panic!("{other:?} suggests nothing"),
    }
}

pub fn version(revision: &str, digit: char) -> Version {
    Version {
        revision: revision.to_owned(),
        commit: Some(digit.to_string().repeat(40)),
        tree: digit.to_string().repeat(40),
        dirty: false,
        summary: "Parse faster".to_owned(),
        time: Some(1_700_000_000),
        variant: None,
    }
}

pub fn machine() -> Machine {
    Machine {
        cpu: "Example 9000".to_owned(),
        cores: 2,
        memory: 1 << 33,
        os: "linux".to_owned(),
        architecture: "x86_64".to_owned(),
        id: "0123".to_owned(),
        class: String::new(),
    }
}

pub fn target(name: &str) -> BenchTarget {
    BenchTarget { package: "parser".to_owned(), target: name.to_owned() }
}

pub fn benchmark(id: &str) -> Benchmark {
    Benchmark { package: "parser".to_owned(), target: "work".to_owned(), name: Name::plain(id) }
}

/// A benchmark whose definition only the base has.
pub fn removed(benchmark: Benchmark) -> RemovedBenchmark {
    RemovedBenchmark { benchmark, absence: Absence::Undefined, renamed: None }
}

pub fn memory() -> Metric {
    Metric::peak_memory()
}

/// A version of ten builds with two executions each, of about `value`. Builds differ by `layout`
/// and executions by `noise`, as shares of the value, in an order that `phase` shifts.
pub fn summary(metric: Metric, value: f64, layout: f64, noise: f64, phase: usize) -> Summary {
    let wave = |at: usize| [0.3, -1.0, 0.8, -0.4, 1.2, -0.9, 0.1, 0.6, -0.7, 0.0][at % 10];
    let builds = (0..10).map(|build| {
        let of_build = value * (1.0 + layout * wave(build));
        let execution = |at: usize| {
            let of_execution = of_build * (1.0 + noise * wave(3 * build + 7 * at + phase));
            [0.998, 1.001, 1.001].map(|step| of_execution * step)
        };
        (build as u64, [execution(0), execution(1)])
    });
    Summary::compute(&Measurements::new(metric, builds).unwrap(), Estimator::default())
}

/// A benchmark decided by default criteria, among five: the head is `factor` times the base in each
/// stage.
pub fn decided_row_in(
    metric: &Metric,
    id: &str,
    value: f64,
    factors: &[f64],
    layout: f64,
    noise: f64,
) -> DecidedRow {
    let criteria = Criteria::default();
    let stage = |factor: &f64| {
        let base = summary(metric.clone(), value, layout, noise, 0);
        let head = summary(metric.clone(), value * factor, layout, noise, 4);
        let assessment = Assessment::new(&base, &head, Pairing::BySeed, &criteria).unwrap();
        DecidedStage { summaries: [base, head], assessment }
    };
    let stages: Vec<DecidedStage> = factors.iter().map(stage).collect();
    let second = stages.get(1).map(|stage| &stage.assessment);
    let decisive = second.unwrap_or(&stages[0].assessment);
    let power = Power::estimate(decisive, 5, &criteria);
    let verdict = rbench_stats::Verdict::decide(&stages[0].assessment, second, 5, &criteria);
    let verdict = verdict.with_power(power.as_ref());
    DecidedRow {
        benchmark: benchmark(id),
        metric: Some(metric.clone()),
        verdict: verdict.into(),
        stages,
        advice: None,
        work: None,
        interleaving: None,
        progress: Progress::Ended,
        by_mean: None,
        unmeasured_in: None,
        impact: None,
    }
}

/// Like [`decided_row_in`], in wall time.
pub fn decided_row(id: &str, value: f64, factors: &[f64], layout: f64, noise: f64) -> DecidedRow {
    decided_row_in(&Metric::wall(), id, value, factors, layout, noise)
}

/// A benchmark with these counts in both versions, the same in two layouts.
pub fn counted(metric: &Metric, id: &str, base: f64, head: f64) -> DecidedRow {
    counted_in(metric, id, [&[base; 2], &[head; 2]])
}

/// A benchmark with these counts in both versions, one count for each layout.
pub fn counted_in(metric: &Metric, id: &str, versions: [&[f64]; 2]) -> DecidedRow {
    let summary = |counts: &[f64]| {
        let builds = (1..).zip(counts).map(|(seed, count)| (seed, [[*count]]));
        let builds: Vec<_> = builds.collect();
        Summary::compute(&Measurements::new(metric.clone(), builds).unwrap(), Estimator::Mean)
    };
    let summaries = versions.map(summary);
    let criteria = Criteria::default().for_metric(metric);
    let (assessment, verdict) = decide_counts(&summaries[0], &summaries[1], &criteria).unwrap();
    DecidedRow {
        metric: Some(metric.clone()),
        stages: vec![DecidedStage { summaries, assessment }],
        ..DecidedRow::without_metric(&benchmark(id), verdict.into())
    }
}

/// An inconclusive benchmark with advice.
pub fn inconclusive(id: &str, what: Repetition, number: usize, detectable: f64) -> DecidedRow {
    let advice = Advice { what, number, smallest_reported: detectable, pair_time: None };
    DecidedRow { advice: Some(advice), ..decided_row(id, 4384.0, &[1.004], 0.05, 0.02) }
}

/// Asserts that no text in a report controls a terminal, changes the direction of writing, or is
/// markup of a page, in any form for people.
#[track_caller]
pub fn assert_harmless(report: &dyn Report) {
    let text = report.text(100);
    let styled = text.matches("\u{1b}[").count();
    assert_eq!(text.matches('\u{1b}').count(), styled, "{text:?}");
    let page = report.html().unwrap();
    assert!(!page.contains("<i>*c*") && page.matches("<script").count() <= 2, "{page}");
    for text in [style::plain(&text), report.markdown(), page] {
        let hidden: Vec<char> = text.chars().filter(|c| is_hidden(*c) && *c != '\n').collect();
        assert_eq!(hidden, [], "{text:?}");
    }
    assert!(style::plain(&text).contains(r"\u{1b}[2J"), "the name is shown escaped: {text:?}");
}

/// Asserts that the JSON of a report matches the schema of this name.
#[track_caller]
pub fn assert_keeps(schema: &str, report: &dyn Report) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(schema);
    let schema = fs::read_to_string(path.with_extension("json")).unwrap();
    let schema = jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap();
    let json = serde_json::from_str(&report.json().unwrap()).unwrap();
    let errors: Vec<String> = schema
        .iter_errors(&json)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0]);
}

/// An explanation of a benchmark that became 41 ns slower: a function of the same code that a changed one calls, one that
/// is new, one that is not inlined any more, the kernel, and another thread. `name` is that of the changed function.
pub fn explained_time(name: &str) -> ExplainedTime {
    const PAIRS: u64 = 10;
    let program = |symbol: &str| Function {
        name: FunctionName::demangle(symbol),
        place: Place::Program(instance_of(symbol)),
    };
    let library = |symbol: &str| Function {
        name: FunctionName::demangle(symbol),
        place: Place::Library("libc.so.6".to_owned()),
    };
    let functions = [
        program("bench::iter"),
        program("lexer::tokens"),
        program(name),
        program("lexer::next_token"),
        program("alloc::raw_vec::grow_one"),
        program("lexer::digits"),
        library("__write"),
        program("worker::hash"),
    ];
    // The frames, the samples of a pair in base and head, the state, and whether it is another thread.
    let stacks: [(&[usize], [u64; 2], SampledState, bool); 9] = [
        (&[0], [40, 40], SampledState::Working, false),
        (&[0, 1], [900, 700], SampledState::Working, false),
        (&[0, 1, 5], [0, 240], SampledState::Working, false),
        (&[0, 1, 2], [800, 801], SampledState::Working, false),
        (&[0, 1, 2, 3], [2000, 2280], SampledState::Working, false),
        (&[0, 1, 2, 4], [0, 60], SampledState::Working, false),
        (&[0, 1, 6], [500, 530], SampledState::InKernel, false),
        (&[0, 1, 6], [170, 170], SampledState::Waiting, false),
        (&[7], [300, 420], SampledState::Working, true),
    ];
    let profile = |version: usize| {
        let execution = |pair: u64| {
            let stacks = stacks.iter().map(|(frames, samples, state, is_other)| SampledStack {
                frames: frames
                    .iter()
                    .map(|&function| Frame { function, is_inlined: false })
                    .collect(),
                thread: if *is_other { SampledThread::Other } else { SampledThread::Measuring },
                state: *state,
                samples: samples[version] + pair % 2,
            });
            let stacks: Vec<SampledStack> = stacks.filter(|stack| stack.samples > 1).collect();
            let measuring = stacks.iter().filter(|one| one.thread == SampledThread::Measuring);
            let time = measuring.map(|stack| stack.samples as f64 / 10.0).sum();
            SampledExecution { time, stacks, dropped: 0, cut: 90 }
        };
        TimeProfile {
            functions: functions.to_vec(),
            executions: (0..PAIRS).map(execution).collect(),
        }
    };
    let estimate = |differences: &[f64]| {
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        let p = if mean.abs() > 0.3 { 1e-9 } else { 0.5 };
        samples::Change { mean, low: mean - 0.4, high: mean + 0.4, p }
    };
    let (profiles, set) = ([profile(0), profile(1)], FunctionSet::default());
    let side = |version: usize| Side { profile: &profiles[version], functions: &set };
    let mut explanation = samples::explain([side(0), side(1)], &estimate).unwrap();
    let changed = |at: usize| {
        let (name, instance) =
            (functions[at].name.clone(), instance_of(functions[at].name.as_str()));
        Code::Changed(Box::new(ChangedFunction {
            name,
            instance,
            base_instance: instance,
            base_size: 16,
            head_size: 16,
            base_stack: None,
            head_stack: None,
            cause: Cause::Code,
            callees_gained: Vec::new(),
            callees_lost: Vec::new(),
        }))
    };
    let new = SizedFunction { name: functions[4].name.clone(), instance: 4, size: 16, stack: None };
    let codes = [Code::Same, changed(1), changed(2), Code::Same, Code::OnlyHead(new)];
    for one in &mut explanation.functions {
        let at = functions.iter().position(|function| function.name == one.name).unwrap();
        one.code = codes.get(at).cloned().unwrap_or(Code::Unknown);
        let caller = match (at, one.state) {
            (3, _) => Some(2),
            (6, SampledState::InKernel) => Some(1),
            _ => None,
        };
        one.changed_caller =
            caller.map(|at| Caller { name: functions[at].name.clone(), code: codes[at].clone() });
    }
    ExplainedTime {
        base: version("main", 'a'),
        head: version("HEAD", 'b'),
        benchmark: benchmark(name),
        explanation,
        verdict: Some(Change { estimate: 0.09, low: 0.085, high: 0.095 }),
        is_interleaved: true,
        overhead: Some(0.0123),
        impact: Impact::default(),
        dependencies: Vec::new(),
        counted: None,
    }
}
