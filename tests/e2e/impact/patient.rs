//! Benchmarks whose code requests seconds of measurement, and one that leaves the time to rbench.

use std::fs;

use super::LITTLE;
use crate::support::TestProject;

/// Each execution appends a line to a file: the benchmark and its number of iterations.
const SOURCE: &str = r#"
use std::{fs::File, io::Write, time::Duration};
use criterion::{criterion_group, criterion_main, Criterion};
use fixture_criterion_0_8::sum;

fn patient(criterion: &mut Criterion) {
    for (name, seconds) in [("first", 1), ("second", 1), ("modest", 0)] {
        let mut group = criterion.benchmark_group("group");
        if seconds > 0 {
            let time = Duration::from_secs(seconds);
            group.warm_up_time(time).measurement_time(time);
        }
        let mut iterations = 0_u64;
        group.bench_function(name, |bencher| bencher.iter(|| { iterations += 1; sum() }));
        if iterations > 0 {
            let mut file = File::options().append(true).create(true).open("PATH").unwrap();
            writeln!(file, "{name} {iterations}").unwrap();
        }
    }
}

criterion_group!(benches, patient);
criterion_main!(benches);
"#;

#[test]
#[ignore = "takes long"]
fn slow_benchmark_is_traced_in_a_fraction_of_its_time() {
    let project = TestProject::shared("patient", "criterion-0-8", TestProject::fetch);
    let executed = project.beside("executed");
    // What a traced execution creates is removed after it.
    fs::write(&executed, "").unwrap();
    // The versions differ from those of the last run of this test, whose traces are cached.
    let source = SOURCE.replace("PATH", &executed.display().to_string());
    let before = project.git(&["rev-parse", "HEAD"]);
    project.write("benches/same.rs", &format!("{source}// Not as in {before}."));
    project.commit("Measure for seconds");
    project.write("README.md", &before);
    project.commit("Change nothing that is executed");
    // Benchmarks that are measured in any case are traced by themselves.
    let arguments = ["compare", "--no-skip", "--dry-run", "--bench", "same"];
    project.rbench(&[&arguments, &LITTLE[..]].concat()).ok();

    let lines = fs::read_to_string(&executed).unwrap();
    let executions: Vec<(&str, u64)> = lines
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, iterations)| (name, iterations.parse().unwrap()))
        .collect();
    // The program is the same in both versions, and so is traced once. The time that the first
    // benchmark requested is tried first for the others, so `modest` runs twice.
    let names: Vec<&str> = executions.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["first", "second", "modest", "modest"]);
    let of = |wanted: &str| executions.iter().find(|(name, _)| *name == wanted).unwrap().1;
    assert!(of("second") < of("first") / 5, "{executions:?}");
}
