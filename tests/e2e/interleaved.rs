//! Both versions of a benchmark run interleaved. Benchmarks that cannot run sequentially instead,
//! and failures are reported as if the benchmark had run alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command},
    thread,
    time::Duration,
};

use cargo_rbench::{
    model::{InterleavingUnavailable, LayoutSeed, Schedule, Unmeasured},
    store::{Store, StoredExecution},
};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    harness::libtest::assert_nightly,
    support::{
        TestProject,
        rbench::{PROGRAM, Rbench, host_path},
        script::script,
    },
};

/// 2 versions × 2 builds × 2 executions of each benchmark.
const COMPARE: [&str; 19] = [
    "compare",
    "--no-skip",
    "HEAD~1",
    "HEAD",
    "--mode",
    "interleaved",
    "--config",
    "build.strategy=relink",
    "--config=verdict.confirm=false",
    // The verdicts from two builds do not matter here.
    "--fail-on",
    "never",
    "-l",
    "2",
    "-m",
    "2",
    "-n",
    "5",
    "--config",
    "experiment.min-time=200us",
];
/// The executions of each benchmark in [`COMPARE`].
const EXECUTIONS: usize = 8;

/// Two versions of the fixture, and a file with the fault that `bad` commits.
fn project() -> TestProject {
    project_with(|_| {})
}

/// The same, with `add_to_both` applied to both versions.
fn project_with(add_to_both: impl FnOnce(&TestProject)) -> TestProject {
    let project = TestProject::of("faults");
    let file = format!("{:?}", project.beside("faults").display().to_string());
    project.replace("src/lib.rs", "\"/no/file\"", &file);
    add_to_both(&project);
    project.commit("Read the file of faults");
    project.replace("src/lib.rs", "\"BASE\"", "\"HEAD\"");
    project.commit("Head");
    project
}

/// Another bench target as a whole program, and one replaced by a program that is not a build.
fn add_whole_program(project: &TestProject) {
    project.append("Cargo.toml", "\n[[bench]]\nname = \"tool\"\nharness = false\n");
    let computes = "fn main() {\n    let sum = (0..100_000_000).fold(0, |sum, i| std::hint::black_box(sum ^ i));\n    \
                    println!(\"{sum}\");\n}\n";
    project.write("benches/tool.rs", computes);
    let command = "[[command]]\nid = 'computes'\nbench = 'tool'\n\n[[command]]\nid = 'whole'\nbench = 'tool'\nprogram = '/bin/sleep'\n\
                   arguments = ['0.05']\n";
    project.write("bench.toml", command);
}

fn compare(project: &TestProject, more: &[&str]) -> Rbench {
    project.rbench(&[&COMPARE[..], more].concat())
}

/// The same comparison with 16 pairs: four may all come after executions alone.
fn more_pairs() -> [&'static str; 19] {
    COMPARE.map(|word| if word == "2" { "4" } else { word })
}

/// The rows of each benchmark in the newest experiment, and whether that is finished.
fn newest(project: &TestProject) -> (BTreeMap<String, Vec<StoredExecution>>, bool) {
    let store = Store::open(&project.root().join(".rbench/results.sqlite"), &|| {}).unwrap();
    let newest = store.experiments().unwrap().pop().unwrap();
    let rows = store.benchmarks().unwrap().into_iter().map(|benchmark| {
        let rows = store.rows(&benchmark, &[newest.id]).unwrap();
        (benchmark.name.id, rows)
    });
    (rows.collect(), newest.finished.is_some())
}

/// The only row of a benchmark that fails in the head: it was executed once in each version, before all others.
fn failure_in_head(project: &TestProject, name: &str) -> String {
    let store = Store::open(&project.root().join(".rbench/results.sqlite"), &|| {}).unwrap();
    let all: Vec<_> = store.experiments().unwrap().iter().map(|one| one.id).collect();
    let mut benchmarks = store.benchmarks().unwrap().into_iter();
    let benchmark = benchmarks.find(|benchmark| benchmark.name.id == name).unwrap();
    let rows = store.rows(&benchmark, &all).unwrap();
    let [StoredExecution { slot, outcome: Err(Unmeasured::Failed(reason)), .. }] = &rows[..] else {
        panic!("head fails at once: {rows:?}")
    };
    assert_eq!(slot.version, 1);
    reason.clone()
}

/// The reasons why executions were not interleaved; `None` for interleaved ones.
fn unavailable_reasons(rows: &[StoredExecution]) -> BTreeSet<Option<InterleavingUnavailable>> {
    let unavailable = |row: &StoredExecution| match &row.outcome.as_ref().unwrap().schedule {
        Schedule::Interleaved(passed)
        | Schedule::InterleavedThreads(passed)
        | Schedule::InterleavedFreeThreads(passed) => {
            assert!(*passed > 0);
            None
        }
        Schedule::Unavailable(unavailable) => Some(unavailable.clone()),
        Schedule::NotRequested => panic!("interleaving was requested"),
    };
    rows.iter().map(unavailable).collect()
}

#[track_caller]
fn assert_whole_pairs(rows: &[StoredExecution]) {
    let mut pairs: BTreeMap<(u32, LayoutSeed), usize> = BTreeMap::new();
    for row in rows {
        *pairs.entry((row.slot.round, row.slot.seed)).or_default() += 1;
    }
    assert!(pairs.values().all(|versions| *versions == 2), "{pairs:?}");
}

/// Checks for processes of the project, shared memory of two processes, and directories of
/// executions.
#[track_caller]
fn assert_nothing_is_left(project: &TestProject) {
    let place = project.beside("");
    let (place, temporary) = (place.to_str().unwrap(), project.home().join("tmp"));
    let names = |directory: &std::path::Path| -> Vec<String> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let mut left: Vec<String> =
        names(&temporary).into_iter().filter(|name| name.starts_with("rbench-")).collect();
    // Projects of other tests may be there.
    let is_left = |name: &String| name.contains("rbench") && !name.starts_with("rbench-e2e-");
    left.extend(names("/dev/shm".as_ref()).into_iter().filter(is_left));
    left.extend(names("/proc".as_ref()).into_iter().filter(|process| {
        let link = |name| fs::read_link(format!("/proc/{process}/{name}")).unwrap_or_default();
        [link("exe"), link("cwd")].iter().any(|path| path.starts_with(place))
    }));
    assert_eq!(left, [""; 0]);
}

/// For each pair but the first, in the order of their starts: true if it began before the previous one had ended.
fn overlapping(rows: &[StoredExecution]) -> Vec<bool> {
    let of_base = rows.iter().filter(|row| row.slot.version == 0);
    let mut times: Vec<_> = of_base
        .map(|row| {
            let resources = &row.outcome.as_ref().unwrap().resources;
            (resources.start, resources.start + resources.wall)
        })
        .collect();
    times.sort_unstable();
    times.windows(2).map(|two| two[1].0 < two[0].1).collect()
}

#[test]
fn pairs_run_at_once_on_their_own_cpus() {
    let can = thread::available_parallelism().unwrap().get() > 1;
    let project = project();
    let of = |more: &[&str]| {
        project.rbench(&[&more_pairs()[..], &["--filter", "^good$"], more].concat()).ok();
        let (all, _) = newest(&project);
        assert_eq!(unavailable_reasons(&all["good"]), BTreeSet::from([None]));
        assert_whole_pairs(&all["good"]);
        overlapping(&all["good"])
    };
    let parallel = ["--config", "experiment.parallel=2"];
    let overlap = of(&parallel);
    assert!(!overlap[0], "the first pair shows that it can be interleaved");
    // On a busy machine, some come after executions alone.
    assert_eq!(overlap.contains(&true), can);
    // Like other settings, it distinguishes results.
    let shown = project.rbench(&["history", "HEAD"]).ok();
    assert_eq!(shown.stdout().contains("parallel 2"), can);
    assert!(!of(&["--config", "experiment.parallel=1"]).contains(&true));
    assert!(!of(&[&["--cpu", "0"][..], &parallel].concat()).contains(&true));
    assert_nothing_is_left(&project);
}

#[test]
#[ignore = "takes long"]
fn interleaving_falls_back_and_failures_keep_their_version() {
    let project = project_with(add_whole_program);
    let outcome = compare(&project, &["--config", "experiment.warm-up=2ms"]).run().assert_exit(4);
    let (mut all, is_finished) = newest(&project);
    assert!(is_finished, "{}", outcome.printed());
    let mut rows = |name: &str| all.remove(name).unwrap_or_else(|| panic!("{name} is not stored"));
    for (name, unavailable) in [
        ("good", None),
        ("bad", None),
        ("pool", None),
        ("no-clock", Some(InterleavingUnavailable::NoClock)),
        ("_exits", Some(InterleavingUnavailable::EndsOtherwise)),
        ("computes", None),
        ("whole", Some(InterleavingUnavailable::Waits)),
    ] {
        let rows = rows(name);
        assert_eq!(unavailable_reasons(&rows), BTreeSet::from([unavailable.clone()]), "{name}");
        assert_eq!(rows.len(), EXECUTIONS, "{name}");
        assert_whole_pairs(&rows);
    }
    let reason = failure_in_head(&project, "fails in head");
    assert!(reason.contains("it fails here"), "{reason}");
    assert_nothing_is_left(&project);
}

#[test]
#[ignore = "takes long"]
fn benchmark_failing_only_interleaved_runs_sequentially() {
    let project = project();
    let only = ["--filter", "good", "--filter", "bad", "--config", "experiment.warm-up=2ms"];
    // From now on, the iterations are known.
    compare(&project, &only).ok();
    fs::write(project.beside("faults"), "HEAD abort 500 once\n").unwrap();
    compare(&project, &only).ok();
    let (all, _) = newest(&project);
    let fails = BTreeSet::from([Some(InterleavingUnavailable::FailsInterleaved)]);
    assert_eq!(unavailable_reasons(&all["bad"]), fails);
    assert_eq!(unavailable_reasons(&all["good"]), BTreeSet::from([None]));
    for rows in all.values().filter(|rows| !rows.is_empty()) {
        assert_eq!(rows.len(), EXECUTIONS);
        assert_whole_pairs(rows);
    }
    assert_nothing_is_left(&project);
}

#[test]
#[ignore = "takes long"]
fn benchmark_with_one_version_slower_interleaved_runs_sequentially() {
    // The fixture knows by its addresses that it is interleaved.
    let setarch = Command::new("setarch").args(["-R", "true"]).status();
    assert!(setarch.is_ok_and(|status| status.success()), "addresses cannot be fixed here");
    let project = project();
    let only = ["--filter", "^bad$", "--config", "experiment.warm-up=2ms"];
    for version in ["HEAD", "BASE"] {
        fs::write(project.beside("faults"), format!("{version} slow-interleaved 0\n")).unwrap();
        let report =
            project.rbench(&[&more_pairs()[..], &only].concat()).env("COLUMNS", "300").ok();
        let (all, _) = newest(&project);
        let differs = BTreeSet::from([Some(InterleavingUnavailable::ChangeDiffers)]);
        assert_eq!(unavailable_reasons(&all["bad"]), differs, "{version}");
        assert_whole_pairs(&all["bad"]);
        report.assert_stdout_has(&[
            "because interleaving seems to slow one version down more than the other: bad",
        ]);
    }
}

#[test]
#[ignore = "takes long"]
fn benchmarks_with_threads_are_interleaved_or_the_report_says_why() {
    let project = TestProject::of("threads");
    project.commit("Base");
    project.replace("src/lib.rs", "\"BASE\"", "\"HEAD\"");
    project.commit("Head");
    let more = ["--config", "experiment.warm-up=2ms", "--config", "experiment.deadline=3s"];
    let outcome = compare(&project, &more).run().assert_exit(4);
    outcome.assert_stdout_has(&["because one of its threads cannot be stopped: blocks signals"]);
    let (mut all, is_finished) = newest(&project);
    assert!(is_finished, "{}", outcome.printed());
    let mut rows = |name: &str| all.remove(name).unwrap_or_else(|| panic!("{name} is not stored"));
    for (name, have_threads) in [
        ("pool", true),
        ("scoped", true),
        ("measured in another thread", true),
        ("measured after another thread", true),
        ("beside a worker", true),
        ("beside a sleeper", false),
    ] {
        let rows = rows(name);
        assert_eq!(unavailable_reasons(&rows), BTreeSet::from([None]), "{name}");
        assert_eq!(rows.len(), EXECUTIONS, "{name}");
        assert_whole_pairs(&rows);
        let schedules = rows.iter().map(|row| &row.outcome.as_ref().unwrap().schedule);
        let with_threads = |one: &Schedule| matches!(one, Schedule::InterleavedThreads(_));
        assert_eq!(schedules.map(with_threads).collect::<BTreeSet<_>>().len(), 1, "{name}");
        let first = &rows[0].outcome.as_ref().unwrap().schedule;
        assert_eq!(with_threads(first), have_threads, "{name}");
    }
    let blocking = rows("blocks signals");
    let reason = Some(InterleavingUnavailable::ThreadsCannotStop);
    assert_eq!(unavailable_reasons(&blocking), BTreeSet::from([reason]));
    assert_eq!(blocking.len(), EXECUTIONS);
    for (name, words) in
        [("aborts in head", "killed by signal 6"), ("hangs in head", "was still running after")]
    {
        let reason = failure_in_head(&project, name);
        assert!(reason.contains(words), "{name}: {reason}");
    }
    assert_nothing_is_left(&project);
}

const ONLY: [&str; 6] =
    ["--filter", "good", "--filter", "bad", "--config", "experiment.warm-up=100ms"];

/// Starts a comparison, and interrupts it in the middle of a pair after some others.
#[track_caller]
fn interrupt(project: &TestProject) {
    let compare = compare(project, &ONLY).env("RBENCH_LOG", "cargo_rbench::measure=debug");
    let mut child = compare.start();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    // One pair or two at a time.
    let some = ["measured 4 of", "measured 6 of"];
    stderr.find(|line| some.iter().any(|some| line.contains(some))).unwrap();
    // Head waits in the middle of a pair, and base for head, until both are ended.
    fs::write(project.beside("faults"), "HEAD sleep-long 1000 once\n").unwrap();
    let fault_file = project.beside("faults.HEAD");
    while !fault_file.exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it ends before the fault comes");
        thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_nothing_is_left(project);
    let (all, is_finished) = newest(project);
    assert!(!is_finished && all["good"].len() + all["bad"].len() >= 4);
}

/// Asserts that all executions of the newest experiment are stored, with this reason for not being
/// interleaved.
#[track_caller]
fn assert_finished(project: &TestProject, unavailable: Option<&InterleavingUnavailable>) {
    let (all, is_finished) = newest(project);
    assert!(is_finished);
    for name in ["good", "bad"] {
        assert_eq!(all[name].len(), EXECUTIONS);
        assert_eq!(unavailable_reasons(&all[name]), BTreeSet::from([unavailable.cloned()]));
        assert_whole_pairs(&all[name]);
    }
}

#[test]
#[ignore = "takes long"]
fn interrupted_pair_is_not_stored_and_the_command_resumes() {
    let project = project();
    interrupt(&project);
    for rows in newest(&project).0.values() {
        assert_whole_pairs(rows);
    }
    compare(&project, &ONLY).ok();
    assert_finished(&project, None);
}

#[test]
#[ignore = "takes long"]
fn pair_beside_a_failed_one_is_stored_before_anything_is_executed() {
    let project = project();
    let compare = compare(&project, &ONLY).env("RBENCH_LOG", "cargo_rbench::measure=debug");
    let mut child = compare.start();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let is_step = |line: &String| line.contains("measuring ") && line.contains("build=");
    let mut steps = 0;
    for line in lines.by_ref() {
        steps += usize::from(is_step(&line));
        if line.contains("measured 2 of") || line.contains("measured 4 of") {
            break;
        }
    }
    let (faults, fault_file) = (project.beside("faults"), project.beside("faults.HEAD"));
    let wait = |child: &mut Child| {
        while !fault_file.exists() {
            assert_eq!(child.try_wait().unwrap(), None, "it ends before the fault comes");
            thread::sleep(Duration::from_millis(1));
        }
    };
    // Head fails interleaved in a while, and then waits when it is executed alone.
    fs::write(&faults, "HEAD abort 90000 once\n").unwrap();
    wait(&mut child);
    fs::write(&faults, "HEAD sleep-long 0 once\n").unwrap();
    fs::remove_file(&fault_file).unwrap();
    wait(&mut child);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    steps += lines.filter(is_step).count();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_nothing_is_left(&project);
    let (all, _) = newest(&project);
    for rows in all.values() {
        assert_whole_pairs(rows);
    }
    let stored: usize = all.values().map(Vec::len).sum();
    assert_eq!(stored / 2, steps - 1, "all but the failed one");
}

#[test]
#[ignore = "takes long"]
fn interleaved_results_do_not_count_once_it_is_unavailable() {
    let project = project();
    interrupt(&project);
    let few_files = format!("ulimit -n 240\nexec '{PROGRAM}' \"$@\"");
    let program = script(&project.beside("with-few-files"), &few_files);
    let outcome = compare(&project, &ONLY).program(&program).ok();
    outcome.assert_stderr_has(&["cannot open a file under the number 253", "run sequentially"]);
    outcome.assert_stdout_has(&["because the interleaving library cannot be used:"]);
    assert_finished(&project, Some(&InterleavingUnavailable::NoLibrary));
}

#[test]
#[ignore = "takes long"]
fn forks_of_harnesses_give_every_planned_measurement() {
    let divan = "fn main() { divan::main(); }\n#[divan::bench]\n\
                 fn each() -> u64 { (0..divan::black_box(100)).fold(0, |a, b| a ^ b * 31) }\n";
    let criterion = "use criterion::*;\nfn each(c: &mut Criterion) {\n    c.bench_function(\"each\", |b| \
                     b.iter(|| (0..black_box(100_u64)).fold(0, |a, b| a ^ b * 31)));\n}\n\
                     criterion_group!(benches, each);\ncriterion_main!(benches);\n";
    for (name, package, version, source) in [
        ("divan", "codspeed-divan-compat", "3", divan),
        ("divan", "codspeed-divan-compat", "4", divan),
        ("divan", "codspeed-divan-compat", "6", divan),
        ("criterion", "codspeed-criterion-compat", "2", criterion),
        ("criterion", "codspeed-criterion-compat", "4", criterion),
        ("criterion", "codspeed-criterion-compat", "6", criterion),
    ] {
        let project = TestProject::bare("fork");
        project.write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"fork\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
                 [dev-dependencies]\n{name} = {{ package = \"{package}\", version = \"{version}\" }}\n\n\
                 [[bench]]\nname = \"each\"\nharness = false\n"
            ),
        );
        project.write("src/lib.rs", "");
        project.write("benches/each.rs", source);
        project.write(".gitignore", "target\n");
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.lock();
        project.commit("First version");
        let outcome = project.rbench(&[&COMPARE[..2], &["HEAD"; 2], &COMPARE[4..]].concat()).run();
        let (rows, _) = newest(&project);
        for (benchmark, rows) in rows {
            for StoredExecution { outcome: execution, .. } in rows {
                let execution =
                    execution.unwrap_or_else(|error| panic!("{package} {version}: {error}"));
                assert!(matches!(execution.schedule, Schedule::Interleaved(_)), "{benchmark}");
                let planned =
                    execution.asked.measurements.max(if name == "criterion" { 10 } else { 1 });
                assert_eq!(execution.measurements(), planned, "{package} {version}");
            }
        }
        assert!(!outcome.printed().contains("an execution gives"), "{}", outcome.printed());
    }
}

#[test]
#[ignore = "takes long"]
fn libtest_gives_its_samples() {
    assert_nightly();
    let project = TestProject::of("libtest");
    let arguments = [&COMPARE[..2], &["HEAD"; 2], &COMPARE[4..15], &["-n", "50", "count"]].concat();
    let rbench = project.rbench(&arguments).env("PATH", host_path());
    let outcome = rbench.env("RUSTUP_TOOLCHAIN", "nightly").ok();
    let (rows, _) = newest(&project);
    assert_eq!(rows.len(), 2, "{}", outcome.printed());
    for (benchmark, rows) in rows {
        for row in rows {
            let execution = row.outcome.unwrap_or_else(|error| panic!("{benchmark}: {error}"));
            assert!(
                matches!(execution.schedule, Schedule::Interleaved(_)),
                "{benchmark}: {}",
                outcome.printed()
            );
            assert_eq!(execution.measurements(), 50, "{benchmark}");
            // Far from the three seconds that libtest may take, also where the machine is busy.
            assert!(execution.measured_time() < Duration::from_secs(1), "{benchmark}");
        }
    }
}

#[test]
#[ignore = "takes long"]
fn benchmarks_by_other_clocks_run_sequentially() {
    let counter = if cfg!(target_arch = "x86_64") {
        "core::arch::x86_64::_rdtsc()"
    } else {
        "{ let c: u64; core::arch::asm!(\"mrs {}, cntvct_el0\", out(reg) c); c }"
    };
    let project = TestProject::of("native");
    project.append("Cargo.toml", "\n[[bench]]\nname = \"clocks\"\nharness = false\n");
    let source = "use fixture_native::sum;
        extern \"C\" {
            fn sem_init(semaphore: *mut [u64; 8], shared: i32, value: u32) -> i32;
            fn sem_timedwait(semaphore: *mut [u64; 8], until: *const [i64; 2]) -> i32;
        }
        fn clocks(suite: &mut rbench_harness::Suite) {
            suite.bench(\"std\", |bencher| bencher.iter(|| {
                (sum(), std::time::SystemTime::now(), std::time::Instant::now())
            }));
            suite.bench(\"counter\", |bencher| bencher.iter(|| (sum(), unsafe { COUNTER })));
            suite.bench(\"deadline\", |bencher| bencher.iter(|| {
                let mut semaphore = [0; 8];
                let until = [1_000_000_000, 0];
                (sum(), unsafe { sem_init(&mut semaphore, 0, 0) + sem_timedwait(&mut semaphore, &until) })
            }));
        }
        rbench_harness::main!(clocks);\n";
    project.write("benches/clocks.rs", &source.replace("COUNTER", counter));
    project.commit("Base");
    project.replace("src/lib.rs", "(0..200).map(black_box)", "(0..201).map(black_box)");
    project.commit("Head");
    let traced = [&COMPARE[..1], &COMPARE[2..], &["--filter", "^(std|counter|deadline)$"]].concat();
    let outcome = project.rbench(&traced).ok();
    outcome
        .assert_stdout_has(&["because it reads the processor's counter, which", "time: counter"]);
    let (all, _) = newest(&project);
    for (name, unavailable) in [
        ("std", None),
        ("counter", Some(InterleavingUnavailable::Counter)),
        // Of the C library's waits, the preloaded library translates the deadline.
        ("deadline", None),
    ] {
        assert_eq!(unavailable_reasons(&all[name]), BTreeSet::from([unavailable]), "{name}");
    }
}
