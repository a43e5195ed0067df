//! Tests that suggested commands parse, with the intended meaning.

use super::*;
use crate::{
    cli::{Command as Subcommand, CompareArgs},
    model::{InterimAnalyses, Metric},
};

/// Parses a command line like the shell and clap.
fn parsed(line: &str) -> Subcommand {
    let words = shlex::split(line).unwrap();
    let words = words.strip_prefix(&["cargo".to_owned(), "rbench".to_owned()]).unwrap();
    Cli::parse_words(words).unwrap_or_else(|error| panic!("{line}: {error}")).command.unwrap()
}

fn compare(line: &str) -> CompareArgs {
    match parsed(line) {
        Subcommand::Compare(args) => args,
        other => panic!("{line}: {other:?}"),
    }
}

fn given(options: &str) -> GivenOptions {
    compare(&format!("cargo rbench compare A B {options}")).given
}

#[test]
fn suggestion_repeats_only_given_options() {
    let given = given(
        "-l5 --filter 'a|b' --filter c -F x,y --all-features --config verdict.confirm=false --dry-run --format json -v",
    );
    assert_eq!(
        given.suggest("compare", &["A", "B"], &[("executions", Some("4"))]),
        "cargo rbench compare A B --executions 4 --builds 5 --filter 'a|b' --filter c --features x \
         --features y --all-features --config verdict.confirm=false"
    );
    let nothing = GivenOptions::default();
    assert_eq!(nothing.suggest("list", &["HEAD~1"], &[]), "cargo rbench list HEAD~1");
}

#[test]
fn suggestion_repeats_filters_without_a_flag() {
    let typed = parsed("cargo rbench history HEAD~1 parse 'a b' --format json");
    let Subcommand::History(args) = typed else { panic!("it is another command") };
    let line = args.given.suggest("history", &[], &[]);
    assert_eq!(line, "cargo rbench history --filter parse --filter 'a b'");
}

#[test]
fn suggestion_has_no_secret_for_cargo() {
    let given = given(
        "--cargo-arg=--config --cargo-arg 'env.A=\"s3cret\"' --cargo-arg=--config=a.b='s3cret'",
    );
    assert_eq!(
        given.suggest("compare", &["A"], &[]),
        "cargo rbench compare A --cargo-arg=--config --cargo-arg env.A=VALUE \
         --cargo-arg=--config=a.b=VALUE"
    );
}

#[test]
fn suggestion_protects_revisions_that_look_like_options() {
    let line = given("-p parser").suggest("diff", &["-v", "HEAD"], &[]);
    assert_eq!(line, "cargo rbench diff --package parser -- -v HEAD");
    let Subcommand::Diff(args) = parsed(&line) else { panic!("it is another command") };
    assert_eq!(args.versions.names().unwrap(), ["-v", "HEAD"]);
    let line = given("-l 3").suggest("compare", &["A", "--help"], &[("exact", None)]);
    assert_eq!(compare(&line).versions.names().unwrap(), ["A", "--help"]);
}

#[test]
fn suggestion_runs_code_in_the_same_sandbox() {
    let given = given("--sandbox --config 'sandbox.read=[\"/a\"]'");
    let line = given.suggest("diff", &["A", "B"], &[]);
    assert_eq!(line, "cargo rbench diff A B --sandbox --config 'sandbox.read=[\"/a\"]'");
    assert!(Cli::parse_words(&shlex::split(&line).unwrap()[2..]).unwrap().sandbox);
    assert_eq!(given.suggest("accept", &["A"], &[]), "cargo rbench accept A");
}

#[test]
fn suggestion_replaces_a_given_option() {
    let given = given("-l 5 --filter 'a|b' --filter c -m 3");
    let only = [("exact", None), ("filter", Some("a b"))];
    assert_eq!(
        given.suggest("compare", &["A", "B"], &only),
        "cargo rbench compare A B --exact --filter 'a b' --builds 5 --executions 3"
    );
}

#[test]
fn suggestion_drops_options_that_the_command_lacks() {
    let given = given("-p parser --manifest-path 'a b/Cargo.toml' -m 3 --profile release -n 4");
    assert_eq!(
        given.suggest("diff", &["A"], &[]),
        "cargo rbench diff A --package parser --manifest-path 'a b/Cargo.toml' --profile release"
    );
    assert_eq!(
        given.suggest("history", &["A"], &[]),
        "cargo rbench history A --package parser --manifest-path 'a b/Cargo.toml'"
    );
}

#[test]
fn suggestion_has_no_explained_rows_where_diff_expects_a_benchmark() {
    let suggested = given("--explain --features fast").suggest("diff", &["main", "."], &[]);
    assert_eq!(suggested, "cargo rbench diff main . --features fast");
}

#[test]
fn suggestion_of_one_version_has_no_option_of_several() {
    let typed = parsed("cargo rbench history --since v1 --last 3 --top 2 -p parser");
    let Subcommand::History(args) = typed else { panic!("it is another command") };
    assert_eq!(args.option_of_several(), Some("since"));
    let several = args.given.suggest("history", &[], &[]);
    assert_eq!(several, "cargo rbench history --since v1 --last 3 --top 2 --package parser");
    let one = args.given.suggest("history", &["HEAD"], &[]);
    assert_eq!(one, "cargo rbench history HEAD --package parser");
    let Subcommand::History(args) = parsed(&one) else { panic!("{one}") };
    assert_eq!((args.revision.as_deref(), args.option_of_several()), (Some("HEAD"), None));
}

#[test]
fn suggestion_parses_with_the_intended_meaning() {
    let ids =
        ["-v", "--exact", "-", "it's", "a b", "\"q\"", "größe/1", "$(x)`y`\\", "a\nb", "=ls", ""];
    let options = "--exact --filter=-x -l 12 -m 1 --features a,b --min-effect 2% --config experiment.min-time=10ms \
                   --cargo-arg=-Zno-parallel --cargo-arg '--config a=\"b c\"' --metric wall";
    let given = given(options);
    for id in ids {
        let only = [("exact", None), ("filter", Some(id))];
        for (subcommand, revisions) in [
            ("compare", &["A", "B"][..]),
            ("diff", &["A", "B"]),
            ("run", &["A"]),
            ("history", &["A"]),
            ("list", &["A"]),
            ("exec", &["A"]),
            ("history", &[]),
        ] {
            let only = if subcommand == "diff" { &[][..] } else { &only };
            let line = given.suggest(subcommand, revisions, only);
            let command = parsed(&line);
            let patterns = match &command {
                Subcommand::Compare(args) => args.experiment.patterns.clone(),
                Subcommand::Run(args) => args.experiment.patterns.clone(),
                Subcommand::List(args) => args.filter.patterns(),
                Subcommand::Exec(args) => args.filter.patterns(),
                Subcommand::History(args) => args.filter.patterns(),
                _ => vec![id.to_owned()],
            };
            assert_eq!(patterns, [id], "{line}");
            if let Subcommand::Compare(args) = command {
                let sampling = args.experiment.measure.sampling;
                assert_eq!(
                    (sampling.builds, sampling.executions),
                    (Some(InterimAnalyses::fixed(12)), Some(1))
                );
                let compile = args.experiment.compile;
                assert_eq!(compile.features, ["a", "b"]);
                assert_eq!(compile.cargo_args, ["-Zno-parallel", "--config a=\"b c\""]);
                assert_eq!(args.verdict.criteria.min_effect, Some(0.02));
                assert_eq!(args.verdict.criteria.metrics, [Metric::wall()]);
            }
        }
    }
}

#[test]
fn word_that_is_no_revision_may_be_a_filter() {
    let given = given("-p parser");
    assert_eq!(
        given.as_filter("list", &["."], "f64").as_deref(),
        Some("did you mean `cargo rbench list . --filter f64 --package parser`?")
    );
    assert_eq!(
        given.as_filter("compare", &["HEAD", "."], "f64").as_deref(),
        Some("did you mean `cargo rbench compare HEAD . --filter f64 --package parser`?")
    );
    let Subcommand::List(args) = parsed("cargo rbench list f64 f32") else { panic!("no list") };
    assert_eq!(
        args.given.as_filter("list", &["."], "f64").as_deref(),
        Some("did you mean `cargo rbench list . --filter f64 --filter f32`?")
    );
    for revision in [".", "HEAD~9", "v1^2", ":/text", "main@{1}", "HEAD+lto"] {
        assert_eq!(given.as_filter("list", &["."], revision), None, "{revision}");
    }
}

#[test]
fn config_is_carried_to_commands_that_its_table_is_about() {
    let given = given(
        "--config build.strategy=relink --config experiment.warm-up=9ms --config gate.min-effect=2%",
    );
    let build = "--config build.strategy=relink";
    let experiment = "--config experiment.warm-up=9ms";
    let base = "cargo rbench";
    assert_eq!(given.suggest("diff", &[], &[]), format!("{base} diff {build}"));
    assert_eq!(given.suggest("run", &[], &[]), format!("{base} run {build} {experiment}"));
    let all = format!("{build} {experiment} --config gate.min-effect=2%");
    assert_eq!(given.suggest("compare", &[], &[]), format!("{base} compare {all}"));
}
