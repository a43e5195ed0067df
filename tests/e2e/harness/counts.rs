//! Each harness counts the instructions of the same functions, twice.

use cargo_metadata::semver::Version;
use cargo_rbench::{
    harness::{
        Conditions, Criterion, Executable, Harness, Libtest, Native, counting_request,
        iterations_needed,
    },
    model::{Metric, Name, Outcome},
    process::{
        Interrupt,
        counting::{COUNTING_LIBRARY_SOURCE, Counter, Counting, find_valgrind},
        interleaving::LIBRARY_FLAGS,
    },
};
use tempfile::TempDir;

use super::{
    criterion::FIXTURES,
    divan::{DIVAN, divan},
    libtest::LIBTEST,
    native::NATIVE,
};
use crate::support::library::library;

/// The counting tool, with a library made by the tests' own compiler.
fn counter(directory: &TempDir) -> Counter {
    let library = library(directory.path(), COUNTING_LIBRARY_SOURCE, LIBRARY_FLAGS);
    Counter { valgrind: find_valgrind().unwrap(), library }
}

/// The number of instructions of one iteration.
fn count(harness: &dyn Harness, executable: &Executable, id: &str, counter: &Counter) -> f64 {
    let interrupt = Interrupt::new().unwrap();
    let mut iterations = 1;
    loop {
        let counting = Counting::new(counter, 7).unwrap();
        let conditions = Conditions { counting: Some(&counting), ..Conditions::new(&interrupt) };
        let request = counting_request(harness, Some(iterations), 7);
        let outcome = harness.execute(executable, &Name::plain(id), &request, &conditions);
        let Outcome::Measured(execution) = outcome.unwrap() else { panic!("{id} was skipped") };
        let [series] = &execution.series[..] else { panic!("{execution:?}") };
        assert_eq!(series.metric, Metric::instructions());
        let each = series.values[0];
        match iterations_needed(harness, iterations, each) {
            Some(needed) => iterations = needed,
            None => return each,
        }
    }
}

#[test]
#[ignore = "takes long"]
fn instruction_counts_repeat_and_agree_across_harnesses() {
    let directory = tempfile::tempdir().unwrap();
    let counter = counter(&directory);
    let criterion = |minor| Criterion::new(Version::new(0, minor, 0));
    let (old, new, divan) = (criterion(5), criterion(8), divan());
    let all: [(&dyn Harness, &Executable, &str); 5] = [
        (&Native, NATIVE.executable("same"), "count/1024"),
        (&old, FIXTURES[0].executable("same"), "count/1024"),
        (&new, FIXTURES[1].executable("same"), "count/1024"),
        (&divan, DIVAN.executable("same"), "same::count::1024"),
        (&Libtest, LIBTEST.executable("same"), "count::words_1024"),
    ];
    let mut counts = Vec::new();
    for (harness, executable, id) in all {
        let [one, other] = [(); 2].map(|()| count(harness, executable, id, &counter));
        assert_eq!(one.to_bits(), other.to_bits(), "{} {id}: {one} {other}", harness.kind());
        counts.push(one);
    }
    // Each is compiled separately, that of rbench-harness with less optimisation.
    for count in &counts[2..] {
        assert!((count / counts[1] - 1.0).abs() < 0.02, "{counts:?}");
    }
}
