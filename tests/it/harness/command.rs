//! Whole programs.

use std::ffi::OsString;

use cargo_rbench::harness::{Command, Executable};

use super::{asked, execute, failure, ids};

fn shell(script: &str) -> Command {
    Command {
        id: "script".to_owned(),
        program: Some("/bin/sh".into()),
        arguments: ["-c", script].map(OsString::from).to_vec(),
    }
}

fn place() -> Executable {
    Executable { target: "commands".to_owned(), directory: "/".into(), ..Executable::default() }
}

#[test]
fn one_run_of_a_program_is_one_measurement_of_each_of_its_metrics() {
    let busy = shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done");
    assert_eq!(ids(&busy, &place()), ["script"]);
    let execution = execute(&busy, &place(), "script", &asked(30)).unwrap();
    let metrics: Vec<_> = execution.series.iter().map(|series| series.metric.to_string()).collect();
    assert_eq!(metrics[..2], ["wall [ns]", "user [ns]"]);
    assert_eq!(execution.measurements(), 1);
    assert_eq!(execution.series[0].values, [execution.resources.wall.as_nanos() as f64]);
}

#[test]
fn a_program_that_fails_is_a_failed_benchmark() {
    let text = failure(&shell("echo cannot open; exit 2"), &place(), "script").to_string();
    assert!(text.contains("status 2") && text.contains("    cannot open"), "{text}");
    let missing = Command { program: Some("/no/such".into()), ..shell("") };
    let failure = execute(&missing, &place(), "script", &asked(1)).unwrap_err().to_string();
    assert!(failure.contains("cannot run /no/such"), "{failure}");
}
