//! Allocation counts of benchmarks whose counts are known, by each harness, and the refusal of a custom global allocator.

use crate::support::{fixture::Fixture, library::library};
use cargo_metadata::semver::Version;
use cargo_rbench::{
    harness::{Conditions, Criterion, Divan, Harness, Native, count_allocations},
    model::Outcome,
    process::{Interrupt, counting::allocations::LIBRARY_SOURCE, interleaving::LIBRARY_FLAGS},
};

static OF_C_LIBRARY: Fixture = Fixture::new("allocations");
static WITH_ARENA: Fixture = Fixture::with_features("allocations", "arena");

/// The allocations of one call of each function of the fixture, as in its `KNOWN`.
const KNOWN: [(&str, [f64; 2]); 7] = [
    ("nothing", [0.0, 0.0]),
    ("boxes", [5.0, 40.0]),
    ("grown", [6.0, 2016.0]),
    ("zeroed", [1.0, 1000.0]),
    ("aligned", [2.0, 256.0]),
    ("shrunk", [2.0, 110.0]),
    ("copied", [1.0, 256.0]),
];

#[test]
#[ignore = "takes long"]
fn allocation_counts_and_bytes_are_exact_in_each_harness() {
    let directory = tempfile::tempdir().unwrap();
    let library = library(directory.path(), LIBRARY_SOURCE, LIBRARY_FLAGS);
    let interrupt = Interrupt::new().unwrap();
    let conditions = Conditions::new(&interrupt);
    let harnesses: [(&str, Box<dyn Harness>); 3] = [
        ("by_criterion", Box::new(Criterion::new(Version::new(0, 8, 0)))),
        ("by_divan", Box::new(Divan { version: Version::new(0, 1, 21), is_fork: false })),
        ("by_native", Box::new(Native)),
    ];
    for (target, harness) in harnesses {
        let executable = OF_C_LIBRARY.executable(target);
        let names = harness.list(executable, &conditions).unwrap();
        assert_eq!(names.len(), KNOWN.len(), "{target}");
        for (seed, name) in (0..).zip(names) {
            let outcome =
                count_allocations(&*harness, executable, &name, seed, &conditions, &library);
            let Outcome::Measured(execution) = outcome.unwrap() else {
                panic!("{target} {name:?}")
            };
            let found: Vec<_> = execution.series.iter().map(|series| series.values[0]).collect();
            let known = KNOWN.iter().find(|(known, _)| name.id.ends_with(known)).unwrap();
            assert_eq!(found, known.1, "{target} {name:?}");
        }
    }
}

#[test]
#[ignore = "takes long"]
fn custom_allocator_is_refused_with_the_next_step() {
    let directory = tempfile::tempdir().unwrap();
    let library = library(directory.path(), LIBRARY_SOURCE, LIBRARY_FLAGS);
    let interrupt = Interrupt::new().unwrap();
    let conditions = Conditions::new(&interrupt);
    let executable = WITH_ARENA.executable("by_native");
    let name = Native.list(executable, &conditions).unwrap().swap_remove(0);
    let outcome = count_allocations(&Native, executable, &name, 0, &conditions, &library).unwrap();
    let Outcome::Skipped(reason) = outcome else { panic!("{outcome:?}") };
    assert!(
        reason.starts_with("its allocations cannot be counted: its global allocator"),
        "{reason}"
    );
    assert!(
        reason.ends_with("build it without a custom allocator, and without LTO, to count them"),
        "{reason}"
    );
}
