//! Criterion.rs of two versions, unchanged.

use std::time::Duration;

use cargo_metadata::semver::Version;
use cargo_rbench::{
    harness::Criterion,
    model::{Name, Throughput, Unit},
};

use super::{asked, execute, failure, list};
use crate::support::fixture::Fixture;

pub(super) static FIXTURES: [Fixture; 2] =
    [Fixture::new("criterion-0-5"), Fixture::new("criterion-0-8")];

/// Each version with its fixture.
fn versions() -> impl Iterator<Item = (Criterion, &'static Fixture)> {
    let of = |minor| Criterion { version: Version::new(0, minor, 0) };
    [of(5), of(8)].into_iter().zip(&FIXTURES)
}

fn name(group: &str, function: Option<&str>, parameter: Option<&str>) -> Name {
    let parts = [Some(group), function, parameter];
    Name {
        id: parts.into_iter().flatten().collect::<Vec<_>>().join("/"),
        group: Some(group.to_owned()),
        function: function.map(str::to_owned),
        parameter: parameter.map(str::to_owned),
    }
}

#[test]
fn every_listed_benchmark_gives_exactly_the_measurements_asked() {
    for (criterion, fixture) in versions() {
        let executable = fixture.executable("same");
        let names = list(&criterion, executable).unwrap();
        let expected = [
            name("sum", None, None),
            name("count", None, Some("64")),
            name("count", None, Some("1024")),
        ];
        assert_eq!(names, expected);
        for name in names {
            let execution = execute(&criterion, executable, &name.id, &asked(13)).unwrap();
            let series = &execution.series[0];
            assert_eq!(series.values.len(), 13, "{criterion:?} {name:?}");
            assert_eq!(series.metric.unit, Unit::Nanoseconds);
            assert_eq!(execution.warm_up, Some(Duration::from_millis(5)));
            let bytes = name.parameter.map(|words| words.parse::<u64>().unwrap() * 6);
            assert_eq!(
                execution.throughput,
                bytes.map(Throughput::Bytes).into_iter().collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn odd_names_survive_in_their_parts_and_select_their_benchmark_alone() {
    for (criterion, fixture) in versions() {
        let executable = fixture.executable("odd");
        let names = list(&criterion, executable).unwrap();
        assert_eq!(names[1].id.len(), 300);
        assert_eq!(names[2].id, "-v");
        assert_eq!(names[3], name("group/1", Some("function"), Some("parameter/2")));
        for name in &names[..4] {
            let execution = execute(&criterion, executable, &name.id, &asked(10)).unwrap();
            assert_eq!(execution.measurements(), 10, "{name:?}");
        }
    }
}

#[test]
fn a_group_with_settings_of_its_own_gives_what_it_wants_and_says_so() {
    for (criterion, fixture) in versions() {
        let execution =
            execute(&criterion, fixture.executable("odd"), "own/settings", &asked(30)).unwrap();
        assert_eq!(execution.asked.measurements, 30);
        assert_eq!(execution.measurements(), 12);
        assert_eq!(execution.warm_up, Some(Duration::from_millis(30)));
        assert!(execution.series[0].same_iterations().is_some(), "flat sampling");
    }
}

#[test]
fn each_bad_benchmark_fails_with_its_reason() {
    for (criterion, fixture) in versions() {
        let executable = fixture.executable("odd");
        for (id, reason) in [
            ("bad/panic", "no such luck"),
            ("bad/exit with success", "it ended without a measurement"),
            ("bad/never iterates", "must call Bencher::iter"),
            ("twice", "2 benchmarks have this id"),
            ("no time", "is 0 ns"),
            ("no such benchmark", "the executable has no benchmark of this id"),
        ] {
            let text = failure(&criterion, executable, id).to_string();
            assert!(text.contains(reason), "{criterion:?} {id}: {text}");
        }
    }
}
