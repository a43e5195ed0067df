//! Who decides how much is spent on a benchmark.

use std::path::Path;

use super::*;
use crate::{failure::Result, model::Name};

fn flags() -> MeasureArgs {
    MeasureArgs::default()
}

fn file(text: &str) -> Result<BenchToml> {
    BenchToml::parse(text, Path::new("bench.toml"))
}

fn benchmark(target: &str, id: &str) -> Benchmark {
    Benchmark { package: "p".to_owned(), target: target.to_owned(), name: Name::plain(id) }
}

#[test]
fn nothing_said_is_ten_builds_two_executions_and_ten_measurements() {
    let efforts = Efforts::resolve(&BenchToml::default(), &flags());
    assert_eq!(efforts.common(), Effort::default());
    assert_eq!(efforts.of(&benchmark("t", "x")), Effort::default());
}

#[test]
fn a_flag_wins_over_the_benchmarks_own_table_and_that_over_the_common_one() {
    let file = file(
        "[build]\nbuilds = 6\n[experiment]\nexecutions = 3\nfloor-ms = 2\n\
         [[benchmark]]\nfilter = '^slow/'\nbuilds = 20\nexecutions = 4\nwarm-up-ms = 9\n",
    )
    .unwrap();
    let flags = MeasureArgs { executions: Some(1), ..flags() };
    let efforts = Efforts::resolve(&file, &flags);
    let slow = efforts.of(&benchmark("t", "slow/1"));
    assert_eq!(
        slow,
        Effort { builds: 20, executions: 1, measurements: 10, warm_up_ms: 9, floor_ms: 2 }
    );
    let other = efforts.of(&benchmark("t", "fast"));
    assert_eq!((other.builds, other.executions, other.warm_up_ms), (6, 1, 10));
}

#[test]
fn the_first_table_that_names_a_benchmark_counts() {
    let file = file(
        "[[benchmark]]\nfilter = 'x'\nbench = 'other'\nbuilds = 3\n\
         [[benchmark]]\nfilter = 'x'\nbuilds = 4\n[[benchmark]]\nfilter = ''\nbuilds = 5\n",
    )
    .unwrap();
    let efforts = Efforts::resolve(&file, &flags());
    let builds = |target, id| efforts.of(&benchmark(target, id)).builds;
    assert_eq!([builds("other", "x"), builds("t", "x"), builds("t", "y")], [3, 4, 5]);
}

#[test]
fn a_first_look_is_quick_whatever_the_file_says_and_flags_still_win() {
    let file = file("[experiment]\nmeasurements = 100\n").unwrap();
    let flags = MeasureArgs { quick: true, builds: Some(8), ..flags() };
    let effort = Efforts::resolve(&file, &flags).common();
    assert_eq!((effort.builds, effort.executions, effort.measurements), (8, 1, 5));
}

#[test]
fn executions_measure_alike_whatever_said_so_and_however_many_there_are() {
    let same = file(
        "[build]\nbuilds = 6\n[experiment]\nfloor-ms = 5\n[[benchmark]]\nfilter = 'x'\nbuilds = 20\n",
    );
    let other = file("[[benchmark]]\nfilter = 'x'\nfloor-ms = 2\n").unwrap();
    let flags = MeasureArgs { executions: Some(7), measurements: Some(10), ..flags() };
    let [plain, same, other] =
        [BenchToml::default(), same.unwrap(), other].map(|file| Efforts::resolve(&file, &flags));
    assert_eq!(plain.manners(), same.manners());
    assert_ne!(plain.manners(), other.manners());
    let longer = MeasureArgs { floor: Some(3), ..MeasureArgs::default() };
    let longer = Efforts::resolve(&BenchToml::default(), &longer);
    assert_ne!(plain.manners(), longer.manners());
}

#[test]
fn tables_that_cannot_measure_anything_are_refused() {
    for (text, words) in [
        ("[experiment]\nexecutions = 0\n", "`executions` in [experiment] is less than 1"),
        ("[[benchmark]]\nfilter = 'x'\nbuilds = 1\n", "`builds` in [[benchmark]] of `x`"),
        ("[[benchmark]]\nfilter = '('\n", "`filter` in [[benchmark]]"),
        ("[[benchmark]]\nbuilds = 3\n", "missing field `filter`"),
    ] {
        let refused = file(text).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
