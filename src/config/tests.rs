//! Tests the precedence of build settings, and `bench.toml.example` against keys, defaults and the help.

use std::{path::Path, time::Duration};

use clap::CommandFactory;
use rbench_stats::Criteria;

use super::*;
use crate::{
    cli::Cli,
    error::Result,
    model::{Metric, Mode},
};

const EXAMPLE: &str = include_str!("../../bench.toml.example");

fn parse(text: &str) -> Result<BenchToml> {
    BenchToml::parse(text.to_owned(), "bench.toml".into())
}

/// The valid keys of a table, as the error for an unknown key lists them.
fn keys_of(table: &str) -> Vec<String> {
    let needed = match table {
        "[[benchmark]]" => "filter = 'x'\n",
        "[[harness]]" => "bench = 'x'\nharness = 'divan'\n",
        "[[command]]" => "id = 'x'\nbench = 'x'\n",
        _ => "",
    };
    let refusal = parse(&format!("{table}\n{needed}no-such-key = 1\n")).unwrap_err().to_string();
    let expected = refusal.rsplit_once("expected ").unwrap_or_else(|| panic!("{refusal}")).1;
    let expected = expected.lines().next().unwrap_or_default();
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The example's lines of a table, with commented-out keys uncommented.
fn lines_of(table: &str) -> Vec<String> {
    let lines = EXAMPLE.lines().map(|line| {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let is_key = bare.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
        if is_key || bare.starts_with('[') { bare.to_owned() } else { line.to_owned() }
    });
    let lines = lines.skip_while(|line| line != table).skip(1);
    lines.take_while(|line| !line.starts_with('[')).collect()
}

const TABLES: [&str; 9] = [
    "[build]",
    "[experiment]",
    "[[benchmark]]",
    "[setup]",
    "[verdict]",
    "[gate]",
    "[store]",
    "[[harness]]",
    "[[command]]",
];

#[test]
fn example_parses_and_documents_every_key() {
    let with_own = Metric::KNOWN.into_iter().filter(|known| known.min_effect.is_some());
    let metrics = with_own.map(|known| format!("[metric.{}]", known.name));
    for table in TABLES.map(str::to_owned).into_iter().chain(metrics) {
        let table = table.as_str();
        let lines = lines_of(table);
        parse(&format!("{table}\n{}", lines.join("\n"))).unwrap();
        for key in keys_of(table) {
            let has = |line: &String| line.starts_with(&format!("{key} = "));
            assert!(lines.iter().any(has), "{table} {key} is not in the example");
        }
    }
    for paragraph in EXAMPLE.split("\n\n") {
        let is_comment = |line: &str| line.starts_with("# ") && !line.contains(" = ");
        assert!(paragraph.lines().any(is_comment), "not explained: {paragraph}");
    }
}

fn comparison(mode: Mode) -> Purpose {
    Purpose::Comparison { mode, stopping: StoppingRule::Usual }
}

#[test]
fn reference_has_every_metric() {
    let reference = include_str!("../../docs/reference.md");
    for name in Metric::KNOWN.map(|known| known.name) {
        assert!(reference.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn example_has_the_defaults() {
    let file = parse(EXAMPLE).unwrap();
    assert_eq!(BuildSettings::resolve(&file, BuildOptions::default()), BuildSettings::default());
    assert_eq!(file.mode(None), Mode::default());
    for purpose in
        [Purpose::OneVersion, comparison(Mode::Interleaved), comparison(Mode::Sequential)]
    {
        let configs = SamplingConfigs::resolve(&file, SamplingOptions::default(), purpose);
        assert_eq!(configs.common(), SamplingConfig::default_for(purpose));
    }
    let verdict = VerdictSettings::resolve(&file, &CriteriaOptions::default()).unwrap();
    assert_eq!((verdict.criteria, verdict.metrics), (Criteria::default(), Vec::new()));
    assert_eq!(file.store(Path::new("/w")), BenchToml::default().store(Path::new("/w")));
}

#[test]
fn help_of_each_flag_has_the_default_of_the_example() {
    let mut checked = 0;
    // These have their own defaults, regardless of the file.
    let is_other = |name: &str| ["diagnose", "selftest"].contains(&name);
    for command in Cli::command().get_subcommands().filter(|one| !is_other(one.get_name())) {
        for table in ["[build]", "[experiment]", "[verdict]"] {
            for line in lines_of(table) {
                let Some((key, value)) = line.split_once(" = ").filter(|(key, _)| *key != "jobs")
                else {
                    continue;
                };
                let mut arguments = command.get_arguments();
                let Some(flag) = arguments.find(|argument| argument.get_long() == Some(key)) else {
                    continue;
                };
                let help = flag.get_help().unwrap_or_default().to_string();
                let default = flag.get_default_values().first().map_or_else(
                    || help.rsplit_once("[default: ").map(|(_, rest)| rest.replace(']', "")),
                    |value| Some(value.to_string_lossy().into_owned()),
                );
                if ["true", "false", "[]"].contains(&value) {
                    continue;
                }
                // These depend on other settings.
                if ["builds", "executions", "deadline", "measurements", "min-time", "estimator"]
                    .contains(&key)
                {
                    assert!(default.is_some(), "{key}");
                    continue;
                }
                assert_eq!(default.as_deref(), Some(value.trim_matches('"')), "--{key}: {help}");
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "only {checked} flags were found");
}

#[test]
fn mode_flag_overrides_the_file_for_all_benchmarks() {
    let file = parse("[experiment]\nmode = 'sequential'\n").unwrap();
    assert_eq!(file.mode(None), Mode::Sequential);
    assert_eq!(file.mode(Some(Mode::Interleaved)), Mode::Interleaved);
    assert!(parse("[experiment]\nmode = 'iterations'\n").is_err());
    assert!(!keys_of("[[benchmark]]").contains(&"mode".to_owned()));
}

#[test]
fn build_flag_overrides_the_file_and_the_default() {
    let file = parse(
        "[build]\nprofile = 'release'\nfeatures = ['a']\njobs = 1\ncargo-args = ['-Zx', '-q']\n",
    );
    let file = file.unwrap();
    let flags =
        BuildOptions { features: vec!["b".to_owned()], jobs: Some(2), ..BuildOptions::default() };
    let compile = BuildSettings::resolve(&file, flags.clone()).compile;
    assert_eq!(compile.profile, "release");
    assert_eq!(compile.features, ["b"]);
    assert_eq!(compile.jobs, Some(2));
    assert_eq!(compile.cargo_args, ["-Zx", "-q"]);
    let flags = BuildOptions { cargo_args: vec!["-v".to_owned()], ..flags };
    let compile = BuildSettings::resolve(&file, flags.clone()).compile;
    assert_eq!(compile.cargo_args, ["-v"]);
}

#[test]
fn file_values_have_the_syntax_of_flags() {
    let file = parse(
        "[experiment]\nwarm-up = '1.5s'\nmin-time = '20ms'\ndeadline = '10min'\n\
         [verdict]\nmin-effect = '2%'\nfalse-alarm-rate = 0.01\nconfidence = '99%'\n",
    );
    let file = file.unwrap();
    let purpose = comparison(Mode::default());
    let sampling = SamplingConfigs::resolve(&file, SamplingOptions::default(), purpose).common();
    assert_eq!(sampling.warm_up, Duration::from_millis(1500));
    assert_eq!(sampling.min_time, Duration::from_millis(20));
    assert_eq!(sampling.deadline, Some(Duration::from_secs(600)));
    let criteria = VerdictSettings::resolve(&file, &CriteriaOptions::default()).unwrap().criteria;
    let shares = [criteria.min_effect, criteria.false_alarm_rate, criteria.confidence];
    assert_eq!(shares.map(|share| share.to_string()), ["0.02", "0.01", "0.99"]);
}
