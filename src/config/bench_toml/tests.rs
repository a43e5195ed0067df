//! Tests the keys and tables of `bench.toml`, and errors with their line.

use std::{fs, os::unix::fs::symlink};

use super::*;

fn parse(text: &str) -> Result<BenchToml> {
    BenchToml::parse(text.to_owned(), "bench.toml".into())
}

fn target(package: &str, target: &str) -> BenchTarget {
    BenchTarget { package: package.to_owned(), target: target.to_owned() }
}

#[test]
fn errors_name_the_line_and_the_fix() {
    for (text, line, words) in [
        ("[build]\nseeed = 3", 2, "unknown field `seeed`, expected one of `layout`"),
        ("[build]\njobs = 0", 2, "the minimum is 1"),
        ("[build]\nprofile = ''", 2, "a profile has a name"),
        ("[experiment]\n\nfloors = '5ms'", 3, "hint: bench.toml.example"),
        ("[experiment]\nmin-time = 5", 2, "`5` has no unit: write 5ms"),
        ("[experiment]\nwarm-up = 'long'", 2, "`long` is not a duration; examples: 5ms"),
        ("[experiment]\nmin-time = true", 2, "expected a number or a string, not a boolean"),
        ("[experiment]\nexecutions = 0", 2, "the minimum is 1"),
        ("[experiment]\nbuilds = 1", 2, "at least 2 builds are needed to know how layouts vary"),
        ("[verdict]\nmin-effect = 5", 2, "did you mean 5% (0.05)?"),
        ("[verdict]\nconfidence = 95.0", 2, "did you mean 95% (0.95)?"),
        ("[verdict]\nrule = 'luck'", 2, "luck"),
        ("[[benchmark]]\nfilter = ''\n[[benchmark]]\nfilter = '('", 4, "unclosed group"),
        ("[[benchmark]]\nbuilds = 3", 1, "missing field `filter`"),
        ("[[benchmark]]\nfilter = 'x'\nbuilds = 1", 3, "at least 2 builds"),
        ("[[command]]\nbench = 'b'\nid = ''", 3, "an id cannot be empty"),
        ("[[command]]\nbench = 'b'\nid = \"a\\nb\"", 3, "an id cannot have a line break"),
        ("[[harness]]\nbench = 'x'\nharness = 'diwan'", 3, "there is no harness `diwan`"),
        ("[store]\npath = ''", 2, "the path names no file"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        let message = error.to_string();
        assert!(
            message.contains("bench.toml") && message.contains(&format!("line {line}")),
            "{message}"
        );
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn harness_table_matches_one_target_of_one_package() {
    let file = parse("[[harness]]\npackage = 'a'\nbench = 'x'\nharness = 'divan'\n").unwrap();
    assert_eq!(file.harness_of(&target("a", "x")), Some(HarnessKind::Divan));
    assert_eq!(file.harness_of(&target("b", "x")), None);
}

#[test]
fn command_ids_are_unique_within_a_target() {
    let command = |id: &str, more: &str| format!("[[command]]\nid = '{id}'\n{more}\n");
    let both = |one: &str, two: &str| parse(&(command("run", one) + &command("run", two)));
    let refused = both("bench = 'b'", "bench = 'b'\npackage = 'p'").unwrap_err().to_string();
    assert!(refused.contains("line 4: [[command]] `run`"), "{refused}");
    assert!(refused.contains("in line 1 already"), "{refused}");
    assert!(both("bench = 'b'", "bench = 'c'").is_ok());
    assert!(both("bench = 'b'\npackage = 'p'", "bench = 'b'\npackage = 'q'").is_ok());
    assert!(parse(&(command("run", "bench = 'b'") + &command("quiet", "bench = 'b'"))).is_ok());
}

#[test]
fn unknown_bench_target_is_reported_with_its_line() {
    let known = [target("p", "parse"), target("q", "write")];
    let unknown = |text: &str| parse(text).unwrap().unknown_target(&known);
    for text in [
        "[[command]]\nid = 'x'\nbench = 'parse'",
        "[[harness]]\npackage = 'q'\nbench = 'write'\nharness = 'divan'",
        "[[benchmark]]\nfilter = 'x'",
        "[[benchmark]]\nfilter = 'x'\npackage = 'q'",
    ] {
        assert_eq!(unknown(text), None);
    }
    for (text, words) in [
        (
            "\n[[command]]\nid = 'x'\nbench = 'prase'",
            "line 2: [[command]] is about bench target `prase`",
        ),
        (
            "[[harness]]\nbench = 'nonexist'\nharness = 'divan'",
            "bench target `nonexist`, which the working tree does not have",
        ),
        ("[[harness]]\npackage = 'p'\nbench = 'write'\nharness = 'divan'", "`p/write`"),
        ("[[benchmark]]\nfilter = 'x'\npackage = 'z'", "bench target of package `z`"),
    ] {
        let refused = unknown(text).unwrap();
        assert_eq!(refused.exit(), Exit::Usage);
        let message = refused.to_string();
        assert!(message.contains(words) && message.contains("`p/parse`, `q/write`"), "{message}");
    }
}

#[test]
fn store_path_is_relative_to_the_workspace() {
    let store = |text: &str| parse(text).unwrap().store(Path::new("/w"));
    assert_eq!(store(""), Path::new("/w/.rbench/results.sqlite"));
    assert_eq!(store("[store]\npath = 'a/b.sqlite'"), Path::new("/w/a/b.sqlite"));
    assert_eq!(store("[store]\npath = '/srv/b.sqlite'"), Path::new("/srv/b.sqlite"));
}

#[test]
fn unreadable_file_is_an_error_and_absent_file_is_empty() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(BenchToml::NAME);
    let read = || BenchToml::read(directory.path());
    assert!(read().is_ok());
    // A link to itself, a link to nothing, a directory, and a pipe that nobody writes to.
    symlink(&path, &path).unwrap();
    assert_eq!(read().unwrap_err().exit(), Exit::Usage);
    fs::remove_file(&path).unwrap();
    symlink(directory.path().join("absent"), &path).unwrap();
    assert_eq!(read().unwrap_err().exit(), Exit::Usage);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(read().unwrap_err().to_string().contains("it is not a file"));
    fs::remove_dir(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
    assert!(read().unwrap_err().to_string().contains("it is not a file"));
    fs::remove_file(&path).unwrap();
    let real = directory.path().join("real.toml");
    fs::write(&real, "[build]\nseed = 7\n").unwrap();
    symlink(&real, &path).unwrap();
    assert_eq!(read().unwrap().tables.build.seed, Some(7));
}

#[test]
fn config_options_override_keys_of_the_file() {
    let set = |text: &str, settings: &[&str]| {
        let settings: Vec<String> = settings.iter().copied().map(str::to_owned).collect();
        BenchToml::parse(text.to_owned(), "bench.toml".into()).and_then(|file| file.with(&settings))
    };
    let text = "[build]\nprofile = 'dev'\njobs = 3\n[[harness]]\nbench = 'x'\nharness = 'divan'\n";
    let file =
        set(text, &["build.jobs=2", "build.strategy=relink", "experiment.warm-up='9ms'"]).unwrap();
    let build = file.tables.build;
    assert_eq!((build.profile.as_deref(), build.jobs), (Some("dev"), Some(2)));
    assert_eq!(build.strategy, Some(crate::model::Strategy::Relink));
    assert_eq!(file.tables.experiment.warm_up, Some(Duration::from_millis(9)));
    assert_eq!(file.tables.harness.len(), 1, "tables of the file stay");
    let file = set("", &["verdict.min-effect=2%", "metric.instructions.min-effect=0.5%"]).unwrap();
    assert_eq!(file.tables.verdict.min_effect, Some(0.02));
    assert_eq!(file.tables.metric["instructions"].min_effect, Some(0.005));
    for (setting, reason) in [
        ("build.jobs=0", "--config build.jobs=0"),
        ("build.speed=high", "unknown field `speed`"),
        ("speed=high", "it names no table"),
        ("build", "cannot use --config build"),
        ("tool.x=1", "unknown field `tool`"),
        ("metric.wall.min-effect=2%", "the metrics that have are peak-memory, instructions,"),
        ("command.x=1", "command"),
        ("build.cargo-args=['-Zx']", "use --cargo-arg"),
    ] {
        let refusal = set(text, &[setting]).unwrap_err().to_string();
        assert!(refusal.contains(reason), "{setting}: {refusal}");
    }
}
