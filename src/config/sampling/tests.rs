//! Tests the precedence of the sources of sample sizes, and the defaults.

use super::*;
use crate::{error::Result, model::Name};

fn no_options() -> SamplingOptions {
    SamplingOptions::default()
}

fn file(text: &str) -> Result<BenchToml> {
    BenchToml::parse(text.to_owned(), "bench.toml".into())
}

fn alone(file: &BenchToml, flags: SamplingOptions) -> SamplingConfigs {
    SamplingConfigs::resolve(file, flags, Purpose::OneVersion)
}

const fn comparison(mode: Mode, stopping: StoppingRule) -> Purpose {
    Purpose::Comparison { mode, stopping }
}

fn benchmark(target: &str, id: &str) -> Benchmark {
    Benchmark { package: "p".to_owned(), target: target.to_owned(), name: Name::plain(id) }
}

#[test]
fn one_version_has_10_builds_2_executions_10_measurements() {
    let configs = alone(&BenchToml::default(), no_options());
    assert_eq!(configs.common(), SamplingConfig::default_for(Purpose::OneVersion));
    assert_eq!(
        configs.for_benchmark(&benchmark("t", "x")),
        SamplingConfig::default_for(Purpose::OneVersion)
    );
    let common = configs.common();
    let min_time = Duration::from_millis(5);
    assert_eq!(
        (common.interim_analyses, common.executions, common.measurements, common.min_time),
        (InterimAnalyses::fixed(10), 2, 10, min_time)
    );
}

#[test]
fn interleaved_mode_defaults_to_more_shorter_measurements() {
    let interleaved = |text: &str, flags: SamplingOptions| {
        let purpose = comparison(Mode::Interleaved, StoppingRule::Usual);
        let config = SamplingConfigs::resolve(&file(text).unwrap(), flags, purpose).common();
        (
            config.interim_analyses.to_string(),
            config.executions,
            config.measurements,
            config.min_time.as_micros(),
        )
    };
    let of = |builds: &str, m, n, min_time| (builds.to_owned(), m, n, min_time);
    assert_eq!(interleaved("", no_options()), of("5..20", 1, 80, 300));
    let text = "[experiment]\nmeasurements = 7\nmin-time = '3ms'\n";
    assert_eq!(interleaved(text, no_options()), of("5..20", 1, 7, 3000));
    let quick = SamplingOptions::quick(Mode::Interleaved);
    assert_eq!(interleaved(text, quick), of("5", 1, 20, 3000));
    let own = SamplingOptions { measurements: Some(9), ..no_options() }.or_else(quick);
    assert_eq!(interleaved(text, own), of("5", 1, 9, 3000));
}

#[test]
fn stopping_rule_sets_the_maximum_unless_builds_are_given() {
    let analyses = |text: &str, stopping| {
        let purpose = comparison(Mode::Sequential, stopping);
        let configs = SamplingConfigs::resolve(&file(text).unwrap(), no_options(), purpose);
        configs.common().interim_analyses.to_string()
    };
    let stopping = [StoppingRule::Usual, StoppingRule::Budget, StoppingRule::UntilDecided];
    assert_eq!(stopping.map(|one| analyses("", one)), ["5..20", "5..40", "5..160"]);
    let text = "[experiment]\nbuilds = '6..9'\n";
    assert_eq!(stopping.map(|one| analyses(text, one)), ["6..9"; 3]);
    // One version has no interim analyses.
    assert_eq!(
        alone(&file(text).unwrap(), no_options()).common().interim_analyses,
        InterimAnalyses::fixed(9)
    );
}

#[test]
fn sampling_flag_overrides_benchmark_table_and_experiment() {
    let file = file(
        "[experiment]\nbuilds = 6\nexecutions = 3\nmin-time = '2ms'\ndeadline = '1h'\n\
         [[benchmark]]\nfilter = '^slow/'\nbuilds = 20\nexecutions = 4\nwarm-up = '9ms'\n",
    )
    .unwrap();
    let flags = SamplingOptions { executions: Some(1), ..no_options() };
    let configs = alone(&file, flags);
    let slow = configs.for_benchmark(&benchmark("t", "slow/1"));
    let expected = SamplingConfig {
        interim_analyses: InterimAnalyses::fixed(20),
        executions: 1,
        most_repeats: 1,
        measurements: 10,
        warm_up: Duration::from_millis(9),
        min_time: Duration::from_millis(2),
        deadline: Some(Duration::from_secs(3600)),
    };
    assert_eq!(slow, expected);
    let other = configs.for_benchmark(&benchmark("t", "fast"));
    assert_eq!((other.interim_analyses, other.executions), (InterimAnalyses::fixed(6), 1));
    assert_eq!(other.warm_up, Duration::from_millis(10));
}

#[test]
fn requested_executions_are_never_repeated() {
    let comparison = comparison(Mode::Interleaved, StoppingRule::Usual);
    let of = |file: &BenchToml, executions: Option<u32>| {
        let flags = SamplingOptions { executions, ..no_options() };
        let configs = SamplingConfigs::resolve(file, flags, comparison);
        let of_program = configs.for_program(&benchmark("t", "a"), Some(Duration::ZERO), false);
        [configs.for_benchmark(&benchmark("t", "a")), of_program]
            .map(|sampling| (sampling.executions, sampling.most_repeats))
    };
    assert_eq!(of(&file("").unwrap(), None), [(1, 5), (32, 5)]);
    assert_eq!(of(&file("").unwrap(), Some(2)), [(2, 1); 2]);
    assert_eq!(of(&file("[experiment]\nexecutions = 3\n").unwrap(), None), [(3, 1); 2]);
}

#[test]
fn first_matching_benchmark_table_applies() {
    let file = file(
        "[[benchmark]]\nfilter = 'x'\nbench = 'other'\nbuilds = 3\n\
         [[benchmark]]\nfilter = 'x'\nbuilds = 4\n[[benchmark]]\nfilter = ''\nbuilds = 5\n",
    )
    .unwrap();
    let configs = alone(&file, no_options());
    let builds = |target, id| configs.for_benchmark(&benchmark(target, id)).interim_analyses.most;
    assert_eq!([builds("other", "x"), builds("t", "x"), builds("t", "y")], [3, 4, 5]);
}

#[test]
fn quick_overrides_the_file_but_not_flags() {
    let file = file("[experiment]\nmeasurements = 100\nmin-time = '50ms'\n").unwrap();
    let flags = SamplingOptions { builds: Some(InterimAnalyses::fixed(8)), ..no_options() };
    let flags = flags.or_else(SamplingOptions::quick(Mode::Sequential));
    let config = alone(&file, flags).common();
    assert_eq!((config.interim_analyses.most, config.executions, config.measurements), (8, 1, 5));
    // The necessary duration of a measurement is a property of the benchmark.
    assert_eq!(config.min_time, Duration::from_millis(50));
}

#[test]
fn measurement_settings_ignore_their_source_and_counts() {
    let same =
        "[experiment]\nbuilds = 6\nmin-time = '5ms'\n[[benchmark]]\nfilter = 'x'\nbuilds = 20\n";
    let other = "[[benchmark]]\nfilter = 'x'\nmin-time = '2ms'\n";
    let flags = SamplingOptions { executions: Some(7), measurements: Some(10), ..no_options() };
    let [plain, same, other] = ["", same, other].map(|text| alone(&file(text).unwrap(), flags));
    assert_eq!(plain.measurement_settings(), same.measurement_settings());
    assert_ne!(plain.measurement_settings(), other.measurement_settings());
    let min_time = Some(Duration::from_millis(3));
    let longer = SamplingOptions { min_time, ..no_options() };
    let longer = alone(&BenchToml::default(), longer);
    assert_ne!(plain.measurement_settings(), longer.measurement_settings());
}

#[test]
fn measurement_settings_are_stored_with_units() {
    let text = "[[benchmark]]\nfilter = '^x'\nbench = 'b'\nmin-time = '2ms'\n";
    let configs = alone(&file(text).unwrap(), no_options());
    assert_eq!(
        serde_json::json!(configs.measurement_settings()),
        serde_json::json!({
            "measurements": 10,
            "warm_up_ns": 10_000_000,
            "min_time_ns": 5_000_000,
            "benchmarks": [{
                "filter": "^x",
                "bench": "b",
                "measurements": 10,
                "warm_up_ns": 10_000_000,
                "min_time_ns": 2_000_000
            }]
        })
    );
}

#[test]
fn long_iterations_have_fewer_measurements_unless_a_number_is_requested() {
    let measurements = |milliseconds: u64, flags: SamplingOptions| {
        let purpose = comparison(Mode::Interleaved, StoppingRule::Usual);
        let configs = SamplingConfigs::resolve(&BenchToml::default(), flags, purpose);
        let iteration = Some(Duration::from_millis(milliseconds));
        configs.for_iterations(&benchmark("t", "x"), iteration).measurements
    };
    let by_default = |milliseconds| measurements(milliseconds, no_options());
    assert_eq!([0, 12, 13, 25, 26, 50, 51, 1500].map(by_default), [80, 80, 40, 40, 20, 20, 10, 10]);
    let requested = SamplingOptions { measurements: Some(30), ..no_options() };
    assert_eq!(measurements(1500, requested), 30);
    let alone = alone(&BenchToml::default(), no_options());
    let sampling = alone.for_iterations(&benchmark("t", "x"), Some(Duration::from_secs(5)));
    assert_eq!(sampling, alone.common());
}

#[test]
fn short_programs_have_more_executions_unless_a_number_is_requested() {
    let executions = |milliseconds: u64, flags: SamplingOptions, is_prepared: bool| {
        let purpose = comparison(Mode::Interleaved, StoppingRule::Usual);
        let configs = SamplingConfigs::resolve(&BenchToml::default(), flags, purpose);
        let run = Some(Duration::from_millis(milliseconds));
        configs.for_program(&benchmark("t", "x"), run, is_prepared).executions
    };
    let by_default = |milliseconds| executions(milliseconds, no_options(), false);
    assert_eq!([0, 7, 8, 31, 32, 62].map(by_default), [32, 32, 16, 8, 4, 4]);
    assert_eq!([250, 251, 500, 501, 9000].map(by_default), [4, 2, 2, 1, 1]);
    assert_eq!([0, 250, 251].map(|run| executions(run, no_options(), true)), [4, 4, 2]);
    assert_eq!(executions(70, SamplingOptions { executions: Some(3), ..no_options() }, false), 3);
    let alone = alone(&BenchToml::default(), no_options());
    let sampling = alone.for_program(&benchmark("t", "x"), Some(Duration::from_millis(1)), false);
    assert_eq!(sampling, SamplingConfig { measurements: 1, ..alone.common() });
    let quick = SamplingOptions::quick(Mode::Interleaved);
    let quick = SamplingConfigs::resolve(
        &BenchToml::default(),
        quick,
        comparison(Mode::Interleaved, StoppingRule::Usual),
    );
    assert_eq!(quick.for_program(&benchmark("t", "x"), None, false).measurements, 1);
    assert!(!quick.requests_measurements(&benchmark("t", "x")));
}
