//! `#[bench]` functions, which need an installed nightly toolchain.

use std::process::Command;

use cargo_rbench::{
    harness::{Conditions, Harness as _, Libtest},
    model::{Name, Outcome, Unit},
    process::Interrupt,
};

use super::{execute, failure, ids, request};
use crate::support::fixture::Fixture;

pub(super) static LIBTEST: Fixture = Fixture::with_toolchain("libtest", "nightly");

/// Only a nightly toolchain has `#[bench]`.
pub(crate) fn assert_nightly() {
    let rustc = Command::new("rustc").args(["+nightly", "--version"]).output();
    let is_installed = rustc.is_ok_and(|output| output.status.success());
    assert!(is_installed, "this test needs `rustup toolchain install nightly`");
}

#[test]
#[ignore = "takes long"]
fn listed_benchmarks_give_one_measurement_each() {
    assert_nightly();
    let executable = LIBTEST.executable("same");
    let mut listed = ids(&Libtest, executable);
    listed.sort();
    assert_eq!(listed, ["count::words_1024", "count::words_64", "panics", "sum"]);
    // libtest decides how long each takes.
    for id in ["count::words_1024", "sum"] {
        let execution = execute(&Libtest, executable, id, &request(30)).unwrap();
        assert_eq!(execution.measurements(), 1);
        assert_eq!(execution.series[0].metric.unit, Unit::Nanoseconds);
    }
    let interrupt = Interrupt::new().unwrap();
    let observed = |ids: [&str; 2]| {
        let (names, conditions) = (ids.map(Name::plain), Conditions::new(&interrupt));
        let outcome = Libtest.observe_together(executable, &names, &request(1), &conditions);
        matches!(outcome.unwrap(), Outcome::Measured(_))
    };
    assert!(observed(["count::words_1024", "sum"]) && !observed(["panics", "sum"]));
    for (id, reason) in [("panics", "no such luck"), ("absent", "it printed no measurement")] {
        let text = failure(&Libtest, executable, id).to_string();
        assert!(text.contains(reason), "{id}: {text}");
    }
}
