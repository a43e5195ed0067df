//! Allocation counts of benchmarks whose counts are known, by each harness and with two global
//! allocators.

use crate::support::{fixture::Fixture, library::library};
use cargo_metadata::semver::Version;
use cargo_rbench::{
    harness::{
        AllocationCounter, Conditions, Criterion, Divan, Harness, Native, allocations_request,
        count_allocations,
    },
    measure::allocator_of,
    model::Outcome,
    process::{
        Interrupt,
        counting::allocations::{LIBRARY_FLAGS, LIBRARY_SOURCE},
    },
};

static OF_C_LIBRARY: Fixture = Fixture::new("allocations");
static WRAPPED: Fixture = Fixture::with_features("allocations", "wrapper");

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

#[track_caller]
fn assert_known(fixture: &Fixture) {
    let directory = tempfile::tempdir().unwrap();
    let library = library(directory.path(), LIBRARY_SOURCE, LIBRARY_FLAGS);
    let interrupt = Interrupt::new().unwrap();
    let conditions = Conditions::new(&interrupt);
    let harnesses: [(&str, Box<dyn Harness>); 3] = [
        ("by_criterion", Box::new(Criterion { version: Version::new(0, 8, 0) })),
        ("by_divan", Box::new(Divan { version: Version::new(0, 1, 21) })),
        ("by_native", Box::new(Native)),
    ];
    for (target, harness) in harnesses {
        let executable = fixture.executable(target);
        let allocator = &allocator_of(&executable.path).unwrap();
        let counter = AllocationCounter { library: &library, allocator };
        let names = harness.list(executable, &conditions).unwrap();
        assert_eq!(names.len(), KNOWN.len(), "{target}");
        for (seed, name) in (0..).zip(names) {
            let request = allocations_request(harness.kind(), seed);
            let outcome =
                count_allocations(&*harness, executable, &name, &request, &conditions, counter);
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
fn allocation_counts_and_bytes_are_exact_in_each_harness() {
    assert_known(&OF_C_LIBRARY);
}

#[test]
#[ignore = "takes long"]
fn custom_global_allocator_gives_the_same_counts() {
    assert_known(&WRAPPED);
}
