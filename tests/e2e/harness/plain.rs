//! A bench target of `rbench-harness` without rbench: under `cargo bench` and `cargo test`.

use std::process::{Command, Output};

use super::native::NATIVE;

fn run(target: &str, arguments: &[&str]) -> Output {
    let executable = NATIVE.executable(target);
    Command::new(&executable.path)
        .args(arguments)
        .current_dir(&executable.directory)
        .env_remove("RUST_BACKTRACE")
        .output()
        .unwrap()
}

fn stdout(target: &str, arguments: &[&str]) -> String {
    let output = run(target, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn cargo_bench_prints_a_row_per_matching_benchmark() {
    let table = stdout("same", &["count/", "--bench"]);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[0].starts_with("benchmark ") && lines[0].contains(" median "), "{table}");
    assert!(lines[1].starts_with("count/64 ") && lines[1].ends_with("B/s"), "{table}");
    assert!(lines[1].contains(" 100 x "), "{table}");
}

#[test]
fn cargo_test_runs_each_benchmark_once() {
    let text = stdout("same", &["--exact", "sum"]);
    assert_eq!(text, "sum: ok\n\n1 benchmarks tried, 0 failed\n");
    let failed = run("bad", &["panic", "--nocapture"]);
    assert_eq!(failed.status.code(), Some(101));
    let errors = String::from_utf8(failed.stderr).unwrap();
    assert!(errors.contains("error: panic: panicked: no such luck"), "{errors}");
}

#[test]
fn lists_have_the_format_of_libtest() {
    let terse = "sum: benchmark\ncount/64: benchmark\ncount/1024: benchmark\n";
    let arguments = ["--list", "--format", "terse", "--skip", "größe", "--skip", "long"];
    let rest = "-v: benchmark\nwith inputs: benchmark\nempty: benchmark\n";
    assert_eq!(stdout("same", &arguments), format!("{terse}{rest}"));
    assert_eq!(stdout("same", &["--list", "sum"]), "sum: benchmark\n\n0 tests, 1 benchmarks\n");
    assert_eq!(stdout("same", &["--list", "--format", "terse", "--ignored"]), "");
}

#[test]
fn closed_reader_is_not_a_failure() {
    let executable = NATIVE.executable("same");
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{} --list | head -c 1 >/dev/null", executable.path.display()))
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn unknown_flag_is_rejected() {
    let output = run("same", &["--frobnicate"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("unknown argument --frobnicate"));
}
