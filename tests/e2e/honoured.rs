//! rbench honours the settings of the user and of the version: its builds are those of cargo.
//!
//! The fixture prints its compilation settings; plain `cargo bench` in the same environment gives
//! the expected output.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    harness::libtest::assert_nightly,
    support::{
        TestProject, rbench,
        script::{logging, script},
        tree,
    },
};

const ONE: [&str; 4] = ["--config", "build.strategy=relink", "--builds", "2"];

/// The output of plain cargo's bench target in the working tree and the same environment.
fn as_cargo_prints(
    project: &TestProject,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> String {
    let mut command = Command::new("cargo");
    rbench::hermetic(&mut command, &project.home());
    let output = command
        .current_dir(project.root())
        .envs(environment.iter().copied())
        .args(["bench", "--bench", "work", "--target-dir"])
        .arg(project.beside("plain-target"))
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "plain cargo failed: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Builds the working tree's commit and asserts that it prints what plain cargo's build does.
#[track_caller]
fn prints_as_with_cargo(
    project: &TestProject,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> String {
    let mut command = project.build_command(&[&ONE[..], arguments].concat());
    for (name, value) in environment {
        command = command.env(name, value);
    }
    let builds = crate::support::Builds::of(command.ok());
    assert_eq!(builds.distinct(0), (2, 2));
    let printed = builds.printed(0);
    assert_eq!(printed, as_cargo_prints(project, arguments, environment));
    printed
}

#[track_caller]
fn assert_has(printed: &str, lines: &[&str]) {
    for line in lines {
        assert!(printed.lines().any(|other| other == *line), "no `{line}` in:\n{printed}");
    }
}

#[test]
#[ignore = "takes long"]
fn flags_in_a_version_config_apply_to_that_version_alone() {
    let project = TestProject::of("settings");
    project.write(".cargo/config.toml", "[build]\nrustflags = ['--cfg', 'flag_one']\n");
    project.commit("Flag one");
    assert_has(&prints_as_with_cargo(&project, &[], &[]), &["flag one: true", "flag two: false"]);
    let table = "[target.'cfg(unix)']\nrustflags = ['--cfg', 'flag_two']\n";
    project.write(".cargo/config.toml", table);
    project.commit("Flag two, by a target table");
    assert_has(&prints_as_with_cargo(&project, &[], &[]), &["flag one: false", "flag two: true"]);
    let builds = project.build(&[&ONE[..], &["HEAD~2", "HEAD~1", "HEAD"]].concat());
    assert_has(&builds.printed(0), &["flag one: false", "flag two: false"]);
    assert_has(&builds.printed(1), &["flag one: true", "flag two: false"]);
    assert_has(&builds.printed(2), &["flag one: false", "flag two: true"]);
}

#[test]
fn rustflags_variable_is_honoured_and_recompiles() {
    let project = TestProject::of("settings");
    let plain = prints_as_with_cargo(&project, &[], &[]);
    assert_has(&plain, &["flag one: false", "flag two: false"]);
    let flags = [("RUSTFLAGS", "--cfg flag_one --cfg flag_two")];
    let flagged = prints_as_with_cargo(&project, &[], &flags);
    assert_has(&flagged, &["flag one: true", "flag two: true"]);
}

#[test]
fn config_above_the_repository_applies_to_every_version() {
    let project = TestProject::at("settings", "projects/repository");
    let config = project.beside("projects/.cargo/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "[build]\nrustflags = ['--cfg', 'flag_one']\n").unwrap();
    assert_has(&prints_as_with_cargo(&project, &[], &[]), &["flag one: true"]);
    fs::write(&config, "[build]\nrustflags = ['--cfg', 'flag_two']\n").unwrap();
    assert_has(&prints_as_with_cargo(&project, &[], &[]), &["flag one: false", "flag two: true"]);
}

#[test]
fn profile_in_a_version_config_overrides_one_above() {
    let project = TestProject::at("settings", "projects/repository");
    let profile = |switch| format!("[profile.bench]\ndebug-assertions = {switch}\n");
    fs::create_dir(project.beside("projects/.cargo")).unwrap();
    fs::write(project.beside("projects/.cargo/config.toml"), profile(true)).unwrap();
    assert_has(&prints_as_with_cargo(&project, &[], &[]), &["debug assertions: true"]);
    project.write(".cargo/config.toml", &profile(false));
    project.commit("Assert nothing");
    assert_has(&prints_as_with_cargo(&project, &[], &[]), &["debug assertions: false"]);
}

#[test]
fn config_in_cargo_home_applies_to_every_version() {
    let project = TestProject::of("settings");
    let home = project.beside("cargo-home");
    fs::create_dir(&home).unwrap();
    let environment = [("CARGO_HOME", home.to_str().unwrap())];
    let config = home.join("config.toml");
    fs::write(&config, "[build]\nrustflags = ['--cfg', 'flag_one']\n").unwrap();
    assert_has(&prints_as_with_cargo(&project, &[], &environment), &["flag one: true"]);
    fs::write(&config, "[build]\nrustflags = ['--cfg', 'flag_two']\n").unwrap();
    let printed = prints_as_with_cargo(&project, &[], &environment);
    assert_has(&printed, &["flag one: false", "flag two: true"]);
    // The number of jobs does not change the result.
    fs::write(&config, "[build]\nrustflags = ['--cfg', 'flag_two']\njobs = 1\n").unwrap();
    let again = project.build_command(&ONE).env("CARGO_HOME", &home).ok();
    assert!(crate::support::Builds::of(again).nothing_was_made(0));
}

#[test]
fn experiments_under_different_configs_are_kept_apart() {
    let project = TestProject::at("counted", "projects/repository");
    fs::create_dir(project.beside("projects/.cargo")).unwrap();
    let keys = |config: &str| -> BTreeSet<String> {
        fs::write(project.beside("projects/.cargo/config.toml"), config).unwrap();
        let few = [
            "-l",
            "2",
            "-m",
            "1",
            "-n",
            "2",
            "--config",
            "experiment.warm-up=1ms",
            "--config",
            "build.strategy=relink",
        ];
        project.rbench(&[&["run", "HEAD"], &few[..]].concat()).ok();
        let export = project.rbench(&["push", "-"]).ok().stdout();
        assert!(!export.contains("s3cr3t"), "{export}");
        let lines = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let key = |line: Value| line["experiment"]["settings_key"].as_str().map(str::to_owned);
        lines.filter_map(key).collect()
    };
    assert_eq!(keys("[net]\noffline = true\n").len(), 1);
    assert_eq!(keys("[build]\njobs = 2\n").len(), 1);
    assert_eq!(keys("[env]\nPASSWORD = 's3cr3t'\n").len(), 2);
}

#[test]
fn compiler_of_a_config_file_is_used() {
    let project = TestProject::of("settings");
    project.write(".cargo/config.toml", "[build]\nrustc = './my-rustc'\n");
    for word in ["first", "second"] {
        let lines = format!("[ \"$*\" = -vV ] && echo 'mine: {word}'\nexec rustc \"$@\"");
        script(&project.root().join("my-rustc"), &lines);
        project.commit("Compile in a way of our own");
    }
    project.build(&[&ONE[..], &["HEAD~1", "HEAD"]].concat());
    let compilations = fs::read_dir(project.storage().join("compilations")).unwrap();
    let records = compilations.map(|home| home.unwrap().path().join("compilation.json"));
    let records: Vec<String> = records.map(|path| fs::read_to_string(path).unwrap()).collect();
    for word in ["first", "second"] {
        let of_word = records.iter().filter(|text| text.contains(&format!("mine: {word}")));
        assert_eq!(of_word.count(), 1, "{records:#?}");
    }
}

#[test]
#[ignore = "takes long"]
fn features_and_profiles_are_as_requested() {
    let project = TestProject::of("settings");
    let log = project.beside("rustc.log");
    let wrapper = logging(&project.beside("rustc-wrapper"), &log, "\"$@\"");
    let environment = [("RUSTC_WRAPPER", wrapper.as_str())];

    let arguments = ["--features", "extra", "--profile", "careful"];
    let printed = prints_as_with_cargo(&project, &arguments, &environment);
    let expected = ["feature usual: true", "feature extra: true", "debug assertions: true"];
    assert_has(&printed, &expected);
    let bench = bench_compilations(&log, &project);
    assert!(bench.contains("lto=off") && bench.contains("codegen-units=3"), "{bench}");

    fs::remove_file(&log).unwrap();
    let printed = prints_as_with_cargo(&project, &["--no-default-features"], &environment);
    let expected = ["feature usual: false", "feature extra: false", "debug assertions: false"];
    assert_has(&printed, &expected);
    let bench = bench_compilations(&log, &project);
    assert!(!bench.contains("lto=off") && !bench.contains("codegen-units"), "{bench}");

    let printed = prints_as_with_cargo(&project, &["--all-features"], &environment);
    assert_has(&printed, &["feature usual: true", "feature extra: true"]);
}

/// The logged compiler calls that made the bench target for rbench.
fn bench_compilations(log: &Path, project: &TestProject) -> String {
    let log = fs::read_to_string(log).unwrap();
    let plain = project.beside("plain-target").display().to_string();
    let of_rbench =
        |line: &&str| line.contains("--crate-name work") && !line.contains(plain.as_str());
    let lines: Vec<&str> = log.lines().filter(of_rbench).collect();
    assert!(!lines.is_empty(), "rbench called no wrapper:\n{log}");
    lines.join("\n")
}

#[test]
fn bench_toml_settings_apply_unless_a_flag_overrides_them() {
    let project = TestProject::of("settings");
    project.write(
        "bench.toml",
        "[build]\nfeatures = ['extra']\nstrategy = 'relink'\n[experiment]\nbuilds = 3\n",
    );
    let builds = project.build(&[]);
    assert_eq!(builds.distinct(0), (3, 3));
    assert_has(&builds.printed(0), &["feature extra: true"]);
    let builds = project.build(&["--builds", "1", "--features", "usual"]);
    assert_eq!(builds.distinct(0), (1, 1));
    assert_has(&builds.printed(0), &["feature extra: false"]);
}

#[test]
fn linker_of_the_user_links_every_build() {
    let project = TestProject::of("settings");
    let log = project.beside("linker.log");
    let linker = logging(&project.beside("my-cc"), &log, "cc \"$@\"");
    let flags = format!("-Clinker={linker}");
    prints_as_with_cargo(&project, &[], &[("RUSTFLAGS", &flags)]);
    let links = fs::read_to_string(&log).unwrap();
    let builds = project.storage().join("builds").display().to_string();
    let of_builds = links.lines().filter(|line| line.contains(&format!("-o {builds}"))).count();
    assert_eq!(of_builds, 2, "{links}");

    fs::remove_file(&log).unwrap();
    let table = format!("[target.'cfg(all())']\nlinker = '{linker}'\n");
    project.write(".cargo/config.toml", &table);
    project.commit("Choose the linker in a config file");
    prints_as_with_cargo(&project, &[], &[]);
    assert!(fs::read_to_string(&log).unwrap().contains(&format!("-o {builds}")));
}

#[test]
fn linker_in_the_repository_is_that_of_the_version() {
    let project = TestProject::of("sums");
    project.write(".cargo/config.toml", "[target.'cfg(all())']\nlinker = './my-cc'\n");
    let log = project.beside("linker.log");
    for word in ["first", "second"] {
        let lines = format!("echo {word} >> '{}'\nexec cc \"$@\"", log.display());
        script(&project.root().join("my-cc"), &lines);
        project.commit("Link in a way of our own");
    }
    let builds = project.build(&[&ONE[..], &["HEAD~1"]].concat());
    assert_eq!(builds.distinct(0), (2, 2));
    let links = fs::read_to_string(&log).unwrap();
    assert!(links.lines().count() >= 3, "one link by cargo and one for each build: {links}");
    assert!(links.lines().all(|word| word == "first"), "{links}");
}

#[test]
fn rustc_wrappers_of_the_user_are_called() {
    let project = TestProject::at("settings", "projects/repository");
    let log = project.beside("wrapper.log");
    let workspace_log = project.beside("workspace-wrapper.log");
    let wrapper = logging(&project.beside("wrapper"), &log, "\"$@\"");
    let workspace_wrapper =
        logging(&project.beside("workspace-wrapper"), &workspace_log, "\"$@\" --cfg flag_two");
    let printed = prints_as_with_cargo(
        &project,
        &[],
        &[("RUSTC_WRAPPER", &wrapper), ("RUSTC_WORKSPACE_WRAPPER", &workspace_wrapper)],
    );
    assert_has(&printed, &["flag two: true"]);
    bench_compilations(&log, &project);
    bench_compilations(&workspace_log, &project);

    let config = format!("[build]\nrustc-workspace-wrapper = '{workspace_wrapper}'\n");
    project.write(".cargo/config.toml", &config);
    project.commit("Wrap rustc in a config file");
    assert_has(&prints_as_with_cargo(&project, &[], &[]), &["flag two: true"]);

    project.git(&["rm", "--quiet", ".cargo/config.toml"]);
    project.commit("Wrap nothing");
    fs::create_dir(project.beside("projects/.cargo")).unwrap();
    fs::write(project.beside("projects/.cargo/config.toml"), config).unwrap();
    assert_has(&prints_as_with_cargo(&project, &[], &[]), &["flag two: true"]);
}

#[test]
fn toolchain_file_of_a_version_applies_to_it_alone() {
    let project = TestProject::of("settings");
    assert_nightly();
    project.write("rust-toolchain.toml", "[toolchain]\nchannel = 'nightly'\n");
    project.commit("Use nightly");
    project.git(&["rm", "--quiet", "rust-toolchain.toml"]);
    project.commit("Use what there is");
    // The working tree has no toolchain file; `cargo rbench` runs through the proxy of rustup.
    let host = rbench::host_path();
    let own = Path::new(rbench::PROGRAM).parent().unwrap().to_owned();
    let path = std::iter::once(own).chain(std::env::split_paths(&host));
    let builds = project
        .rbench(&[&["rbench", "build", "--format", "json", "HEAD~1", "HEAD"], &ONE[..]].concat())
        .program("cargo")
        .env("PATH", std::env::join_paths(path).unwrap())
        .ok();
    let builds = crate::support::Builds::of(builds);
    assert!(builds.printed(0).contains("-nightly"), "{}", builds.printed(0));
    assert!(!builds.printed(1).contains("-nightly"), "{}", builds.printed(1));
}

#[test]
fn missing_toolchain_is_named() {
    let project = TestProject::of("settings");
    project.write("rust-toolchain.toml", "[toolchain]\nchannel = '1.2.3'\n");
    project.commit("Use an old toolchain");
    project.git(&["rm", "--quiet", "rust-toolchain.toml"]);
    project.commit("Use what there is");
    // Only the proxies of rustup read the file.
    let build = project.rbench(&["build", "HEAD~1"]).env("PATH", rbench::host_path());
    let outcome = build.fails_with(3);
    outcome.assert_stderr_has(&["HEAD~1", "1.2.3", "not installed"]);
    project.build(&ONE);
}

#[test]
fn locked_rejects_a_stale_lock_file_and_accepts_a_good_one() {
    let project = TestProject::of("settings");
    project.build(&[&ONE[..], &["--config=build.locked=true"]].concat());
    project.replace("Cargo.toml", "version = \"1.0.0\"", "version = \"1.0.1\"");
    project.commit("Forget the lock file");
    let outcome = project.rbench(&["build", "--config=build.locked=true"]).fails_with(3);
    outcome.assert_stderr_has(&["HEAD", "--locked", "Cargo.lock"]);
    project.build(&ONE);
}

#[test]
fn locked_rejects_a_missing_lock_file_despite_the_cache() {
    let project = TestProject::of("settings");
    project.git(&["rm", "-q", "Cargo.lock"]);
    project.commit("Leave the lock file out");
    for _ in 0..2 {
        let outcome = project.rbench(&["build", "--config=build.locked=true"]).fails_with(3);
        outcome.assert_stderr_has(&[
            "cannot compile HEAD (",
            "it has no Cargo.lock",
            "commit Cargo",
        ]);
        project.build(&ONE);
    }
}

#[test]
fn package_needing_a_newer_toolchain_gets_suggestions() {
    let project = TestProject::of("settings");
    project.replace("Cargo.toml", "edition = ", "rust-version = \"1.999\"\nedition = ");
    project.commit("Need a newer toolchain");
    project.rbench(&["build"]).fails_with(3).assert_stderr_has(&[
        "requires rustc 1.999",
        "hint: update the toolchain with `rustup update`, or choose one: cargo +TOOLCHAIN rbench",
        "hint: to compile anyway: --cargo-arg=--ignore-rust-version",
    ]);
    project.build(&[&ONE[..], &["--cargo-arg=--ignore-rust-version"]].concat());
}

#[test]
fn secrets_of_the_environment_are_not_stored_in_a_recipe() {
    let project = TestProject::of("sums");
    let names = ["LD_SECRET", "ARTIFACTORY_TOKEN", "CC_SECRET", "MOLD_TOKEN"];
    let command =
        names.iter().fold(project.build_command(&ONE), |command, name| command.env(name, "s3cr3t"));
    // A value that is not UTF-8 is no reason to fail.
    let odd = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff");
    let odd: &std::ffi::OsStr = odd;
    command.env("LD_ODD", odd).ok();
    for path in tree::paths(&project.storage()).iter().filter(|path| path.ends_with("recipe.json"))
    {
        let recipe = fs::read_to_string(path).unwrap();
        assert!(recipe.contains("\"PATH\"") && !recipe.contains("s3cr3t"), "{recipe}");
    }
}

#[test]
fn offline_is_passed_on_to_cargo() {
    let project = TestProject::of("published-dependency");
    let outcome = project
        .rbench(&["build", "--config=build.offline=true"])
        .env("CARGO_NET_OFFLINE", "false")
        .fails_with(3);
    outcome.assert_stderr_has(&["leaf", "offline"]);
}

#[test]
fn shared_target_dir_keeps_versions_apart() {
    let project = TestProject::of("sums");
    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Take larger steps");
    let shared = project.beside("shared target");
    let arguments = [&ONE[..], &["HEAD~1", "HEAD"]].concat();
    let builds = project.build_command(&arguments).env("CARGO_TARGET_DIR", &shared).ok();
    let builds = crate::support::Builds::of(builds);
    assert!(builds.printed(0).starts_with("steps 135\n"));
    assert!(builds.printed(1).starts_with("steps 180\n"));
    let entries: Vec<_> =
        fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(entries, ["rbench"], "nothing else is written to the user's target dir");
}

#[test]
fn bench_target_without_its_required_features_is_left_out() {
    let project = TestProject::of("settings");
    let target = "\n[[bench]]\nname = 'more'\nharness = false\nrequired-features = ['extra']\n";
    project.append("Cargo.toml", target);
    project
        .write("benches/more.rs", "//! Another one.\n\nfn main() {\n    println!(\"more\");\n}\n");
    project.commit("Add a bench target that needs a feature");
    let without = project.build(&ONE);
    assert_eq!(without.version(0)["targets"].as_array().unwrap().len(), 1);
    let with = project.build(&[&ONE[..], &["--features", "extra"]].concat());
    assert_eq!(with.version(0)["targets"].as_array().unwrap().len(), 2);
    let both = project.rbench(&["build", "--bench", "more", "--bench", "work"]).fails_with(3);
    both.assert_stderr_has(&["requires the features: `extra`"]);
    let asked = project.rbench(&["build", "--bench", "more", "--builds", "1"]).ok();
    asked.assert_stderr_has(&["is compiled with --features extra, which"]);
}

#[test]
fn features_that_all_bench_targets_need_are_turned_on_in_each_version() {
    let project = TestProject::of("settings");
    let before = "name = \"work\"\n";
    let after = "name = \"work\"\nrequired-features = [\"extra\", \"usual\"]\n";
    project.replace("Cargo.toml", before, after);
    project.commit("Need a feature");
    let arguments = [&ONE[..], &["HEAD~1", "HEAD"]].concat();
    let builds = project.build(&arguments);
    assert!(builds.printed(0).contains("feature extra: false"));
    assert!(builds.printed(1).contains("feature extra: true"));
    let builds = project.build(&[&arguments[..], &["--no-default-features"]].concat());
    assert!(builds.printed(0).contains("feature usual: false"));
    assert!(builds.printed(1).contains("feature usual: true"));
}

#[test]
fn verbose_shows_the_commands_of_cargo_and_the_linker() {
    let project = TestProject::of("sums");
    let quiet = project.rbench(&[&["build"], &ONE[..]].concat()).ok();
    assert!(!quiet.stderr().contains("running: "), "{}", quiet.printed());
    project.rbench(&["clean", "--max-size", "0"]).ok();
    let verbose = project.rbench(&[&["build", "--verbose"], &ONE[..]].concat()).ok();
    let stderr = verbose.stderr();
    let commands: Vec<_> = stderr.lines().filter(|line| line.contains("running: ")).collect();
    let count = |part: &str| commands.iter().filter(|command| command.contains(part)).count();
    assert_eq!(count("cargo bench --no-run"), 1, "{}", verbose.printed());
    assert_eq!(count("--symbol-ordering-file="), 2, "{}", verbose.printed());
}
