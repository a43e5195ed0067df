//! Whole programs, started by this process or by a launcher.

use std::{ffi::OsString, hint::black_box, path::PathBuf, time::Duration};

use cargo_rbench::{
    harness::{Command, Conditions, Executable, Harness},
    model::{Execution, Name},
    process::Interrupt,
};

use super::{execute, failure, ids, request};

fn shell(script: &str, launcher: Option<PathBuf>) -> Command {
    Command {
        id: "script".to_owned(),
        program: Some("/bin/sh".into()),
        arguments: ["-c", script].map(OsString::from).to_vec(),
        input: None,
        statuses: Vec::new(),
        launcher,
    }
}

fn both_ways() -> [Option<PathBuf>; 2] {
    [None, Some(env!("CARGO_BIN_EXE_rbench-launcher").into())]
}

fn place() -> Executable {
    Executable { target: "commands".to_owned(), directory: "/".into(), ..Executable::default() }
}

fn metrics(execution: &Execution) -> Vec<String> {
    execution.series.iter().map(|series| series.metric.to_string()).collect()
}

#[test]
fn program_run_is_one_measurement_of_each_metric() {
    for launcher in both_ways() {
        let busy = shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done", launcher);
        assert_eq!(ids(&busy, &place()), ["script"]);
        let execution = execute(&busy, &place(), "script", &request(30)).unwrap();
        assert_eq!(metrics(&execution)[..4], ["wall [ns]", "cpu [ns]", "user [ns]", "system [ns]"]);
        assert_eq!(execution.measurements(), 1);
        assert_eq!(execution.series[0].values, [execution.resources.wall.as_nanos() as f64]);
        let resources = &execution.resources;
        assert_eq!(execution.series[1].values, [resources.cpu().as_nanos() as f64]);
        assert!(resources.user <= resources.wall, "{execution:?}");
        // It has one thread, whose time the kernel counts exactly.
        let first_thread = resources.at_end.unwrap().first_thread;
        assert!(
            first_thread.abs_diff(resources.cpu()) < Duration::from_micros(10),
            "{resources:?}"
        );
    }
}

#[test]
fn executions_of_tiny_programs_have_the_same_metrics() {
    let expected = ["wall [ns]", "cpu [ns]", "user [ns]", "system [ns]", "peak-memory [bytes]"];
    for (launcher, count) in both_ways().into_iter().zip([4, 5]) {
        for script in [":", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"] {
            let program = shell(script, launcher.clone());
            for _ in 0..5 {
                let execution = execute(&program, &place(), "script", &request(1)).unwrap();
                assert_eq!(metrics(&execution), expected[..count]);
                assert_eq!(execution.defect(), None);
            }
        }
    }
}

#[test]
fn processes_that_a_program_starts_are_noticed() {
    for launcher in both_ways() {
        for (script, expected) in [
            (":", false),
            ("exec /bin/true", false),
            ("/bin/true; :", true),
            ("i=$(/bin/true)", true),
        ] {
            let program = shell(script, launcher.clone());
            let execution = execute(&program, &place(), "script", &request(1)).unwrap();
            assert_eq!(execution.resources.at_end.unwrap().had_children, expected, "{script}");
        }
    }
    // Nobody waited for it, and only the launcher sees that.
    let [_, launcher] = both_ways();
    let program = shell("(sleep 3601 &)", launcher);
    let execution = execute(&program, &place(), "script", &request(1)).unwrap();
    assert!(execution.resources.at_end.unwrap().had_children);
}

#[test]
fn peak_memory_of_a_program_excludes_this_process() {
    let large = black_box(vec![1_u8; 100 << 20]);
    let peak_of = |script, launcher| {
        let execution = execute(&shell(script, launcher), &place(), "script", &request(1)).unwrap();
        execution.resources.peak_memory
    };
    for (script, megabytes) in [(":", 0..4), ("dd if=/dev/zero of=/dev/null bs=8M count=1", 8..12)]
    {
        let [direct, launched] = both_ways().map(|launcher| peak_of(script, launcher));
        assert_eq!(direct, None, "it cannot be known");
        let launched = launched.unwrap();
        assert!(megabytes.contains(&(launched >> 20)), "{script}: {launched}");
    }
    drop(large);
}

#[test]
fn failing_program_is_a_failed_benchmark() {
    for launcher in both_ways() {
        let fails =
            |script| failure(&shell(script, launcher.clone()), &place(), "script").to_string();
        let text = fails("echo cannot open; exit 2");
        assert!(text.contains("status 2\n") && text.contains("    cannot open"), "{text}");
        let alone = Command { program: Some("/bin/false".into()), ..shell("", launcher.clone()) };
        let alone = Command { arguments: Vec::new(), ..alone };
        let text = failure(&alone, &place(), "script").to_string();
        assert!(text.contains("status 1; it was started without arguments\n"), "{text}");
        assert!(fails("kill -ABRT $$").contains("it was killed by signal 6"));
        assert!(fails("kill -TERM $$").contains("it was killed by signal 15"));
        let missing = Command { program: Some("/no/such".into()), ..shell("", launcher) };
        let text = execute(&missing, &place(), "script", &request(1)).unwrap_err().to_string();
        assert!(text.starts_with("cannot run /no/such\n  No such file"), "{text}");
        assert!(text.contains("hint: reproduce with: cd / && /no/such -c ''"), "{text}");
    }
}

#[test]
#[ignore = "takes long"]
fn hanging_program_that_ignores_signals_is_killed() {
    for launcher in both_ways() {
        let directory = tempfile::tempdir().unwrap();
        let alive = directory.path().join("alive");
        let script = format!(
            "trap '' TERM; (trap '' TERM; while :; do echo >>'{0}'; sleep 0.02; done) & \
             while :; do sleep 0.02; done",
            alive.display()
        );
        let interrupt = Interrupt::new().unwrap();
        let deadline = Some(Duration::from_secs(1));
        let conditions = Conditions { deadline, ..Conditions::new(&interrupt) };
        let deaf = shell(&script, launcher);
        let failure = deaf.execute(&place(), &Name::plain("script"), &request(1), &conditions);
        let text = failure.unwrap_err().to_string();
        assert!(text.contains("still running after 1.0 s"), "{text}");
        let size = || std::fs::metadata(&alive).unwrap().len();
        let before = size();
        assert!(before > 0);
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(size(), before, "nothing of it runs on");
    }
}
