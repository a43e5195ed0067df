//! Every build holds the code of its version, wherever that code lies and whatever was compiled
//! before.

use std::fs;

use crate::support::{Builds, TestProject, builds};

const ONE: [&str; 4] = ["--config", "build.strategy=relink", "--builds", "1"];

#[track_caller]
fn build(project: &TestProject, revisions: &[&str]) -> Builds {
    project.build(&[&ONE[..], revisions].concat())
}

/// Two lines of a workspace that lies below the top of its repository.
#[track_caller]
fn first_line(builds: &Builds, version: usize) -> String {
    builds::printed(builds.named(version, "first")).lines().next().unwrap().to_owned()
}

#[test]
fn versions_with_different_libraries_print_their_own_answers() {
    let project = TestProject::of("sums");
    for step in [4, 5, 3] {
        let source = project.read("src/lib.rs");
        let (before, rest) = source.split_once("STEP: u64 = ").unwrap();
        let after = rest.split_once(';').unwrap().1;
        project.write("src/lib.rs", &format!("{before}STEP: u64 = {step};{after}"));
        project.commit("Change the step");
    }
    // Each compilation after the first starts from a copy of another version's dependencies.
    let builds = build(&project, &["HEAD~1", "HEAD~3", "HEAD~2", "HEAD"]);
    for (version, steps) in [225, 135, 180, 135].into_iter().enumerate() {
        let printed = builds.printed(version);
        assert!(printed.starts_with(&format!("steps {steps}\n")), "{version}: {printed}");
    }
    assert_eq!(builds.digests(1), builds.digests(3), "the step is what it was at first");
}

/// `cargo clean` ignores a configured platform, and a configured build directory is the same for all
/// versions.
#[test]
fn configured_platform_and_build_dir_keep_versions_apart() {
    for setting in ["target", "build-dir"] {
        let project = TestProject::of("sums");
        let value = match setting {
            "target" => format!("{}-unknown-linux-gnu", std::env::consts::ARCH),
            _ => project.beside("shared").display().to_string(),
        };
        project.write(".cargo/config.toml", &format!("[build]\n{setting} = '{value}'\n"));
        project.commit("Configure the build");
        project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
        project.commit("Change the library alone");
        build(&project, &["HEAD~1", "HEAD"]);
        // The second checkout is older than what was compiled of the first.
        fs::remove_dir_all(project.storage()).unwrap();
        let builds = build(&project, &["HEAD", "HEAD~1"]);
        for (version, steps) in [180, 135].into_iter().enumerate() {
            let printed = builds.printed(version);
            let expected = format!("steps {steps}\n");
            assert!(printed.starts_with(&expected), "{setting}, {version}: {printed}");
        }
    }
}

/// The files of a version that was checked out earlier are older than what was compiled since, so
/// cargo takes them for unchanged.
#[test]
#[ignore = "takes long"]
fn earlier_checkout_is_compiled_despite_older_files() {
    let project = TestProject::of("workspace-below").in_workspace("rust");
    project.replace("shared/src/lib.rs", "shared 1", "shared 2");
    project.replace("rust/engine/src/lib.rs", "engine 1", "engine 2");
    project.commit("Change two packages");
    build(&project, &["HEAD~1", "HEAD"]);
    fs::remove_dir_all(project.storage()).unwrap();
    let builds = build(&project, &["HEAD", "HEAD~1"]);
    assert_eq!(first_line(&builds, 0), "engine 2, shared 2");
    assert_eq!(first_line(&builds, 1), "engine 1, shared 1");
}

#[test]
fn range_lists_its_commits_newest_first() {
    let project = TestProject::of("sums");
    project.git(&["tag", "v1"]);
    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Take larger steps");
    project.replace("src/lib.rs", "STEP: u64 = 4", "STEP: u64 = 5");
    project.commit("Take even larger steps");
    let builds = build(&project, &["v1..main"]);
    assert_eq!(builds.report["versions"].as_array().unwrap().len(), 2);
    assert!(builds.printed(0).starts_with("steps 225\n"));
    assert!(builds.printed(1).starts_with("steps 180\n"));
}

#[test]
fn nested_workspace_sees_path_dependencies_and_files() {
    let project = TestProject::of("workspace-below").in_workspace("rust");
    project.replace("shared/src/lib.rs", "shared 1", "shared 2");
    project.commit("Change the package outside of the workspace");
    project.write("data/words.txt", "other words\n");
    project.commit("Change a file outside of every package");
    let builds = build(&project, &["HEAD~2", "HEAD~1", "HEAD"]);
    assert_eq!(first_line(&builds, 0), "engine 1, shared 1");
    assert_eq!(first_line(&builds, 1), "engine 1, shared 2");
    assert_eq!(builds::printed(builds.named(1, "second")), "second: engine 1, shared 2\n");
    let [base, head] = [0, 2].map(|version| builds::printed(builds.named(version, "first")));
    assert!(base.ends_with("\nsome words\n"), "{base}");
    assert!(head.ends_with("\nother words\n"), "{head}");

    let place = |text: &str| text.lines().find(|line| line.starts_with("at ")).map(str::to_owned);
    assert!(place(&base).is_some_and(|place| place.ends_with("/rust/tools")), "{base}");
    assert_eq!(place(&base), place(&head), "all versions are compiled at one path");
    let root = project.root().display().to_string();
    assert!(!base.contains(&root), "nothing is compiled in the user's repository: {base}");
}

#[test]
fn only_requested_bench_targets_are_built() {
    let project = TestProject::of("workspace-below").in_workspace("rust");
    let builds = build(&project, &["--bench", "second"]);
    let targets = builds.version(0)["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 1);
    assert_eq!(targets[0]["target"], "second");
    let all = build(&project, &["--package", "tools", "--exclude", "engine"]);
    assert_eq!(all.version(0)["targets"].as_array().unwrap().len(), 2);
    let manifest = project.root().join("rust/Cargo.toml");
    let elsewhere = project.in_workspace("shared");
    let arguments = ["--manifest-path", manifest.to_str().unwrap(), "--bench", "second"];
    let builds = build(&elsewhere, &arguments);
    assert_eq!(builds::printed(builds.named(0, "second")), "second: engine 1, shared 1\n");
}

/// A published crate that the benches use may depend on a published version of the crate itself.
#[test]
fn crate_that_benches_its_published_version_is_itself() {
    let project = TestProject::of("self-dependent");
    project.write("README.md", "# Twin\n");
    project.commit("Describe");
    let builds = build(&project, &["HEAD~1", "HEAD"]);
    for version in 0..2 {
        assert_eq!(builds.printed(version), "twin 2.0.0, helper uses 1.0.0\n");
    }
}

#[test]
fn reproduction_command_names_the_package_in_full() {
    let project = TestProject::of("self-dependent");
    project.append("benches/work.rs", "fn broken() -> u32 { \"text\" }\n");
    project.commit("Break the bench target");
    let failed = project.rbench(&["build"]).fails_with(3);
    let text = failed.stderr();
    let command = text.lines().find_map(|line| line.strip_prefix("hint: reproduce with: "));
    let elsewhere = project.beside("elsewhere").display().to_string();
    let command = command.expect("a command").replace("/tmp/at", &elsewhere);
    let shell = project.rbench(&["-c", &command]).program("sh").run().assert_exit(101);
    shell.assert_stderr_has(&["could not compile `twin` (bench \"work\")"]);
}

/// Publishes a version of the dependency in the registry of the tests' config file.
fn publish(project: &TestProject, version: &str) {
    let package = project.beside(&format!("projects/registry/leaf-{version}"));
    fs::create_dir_all(package.join("src")).unwrap();
    let manifest = format!("[package]\nname = 'leaf'\nversion = '{version}'\nedition = '2021'\n");
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    let code =
        "//! Says its version.\npub fn answer() -> &'static str { env!(\"CARGO_PKG_VERSION\") }\n";
    fs::write(package.join("src/lib.rs"), code).unwrap();
    fs::write(package.join(".cargo-checksum.json"), "{\"files\":{}}").unwrap();
}

fn with_a_registry() -> TestProject {
    let project = TestProject::at("published-dependency", "projects/repository");
    let config = project.beside("projects/.cargo/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let text = "[source.crates-io]\nreplace-with = 'here'\n[source.here]\ndirectory = 'registry'\n";
    fs::write(config, text).unwrap();
    publish(&project, "1.0.0");
    project
}

#[test]
fn versions_without_a_lock_file_resolve_only_once() {
    let project = with_a_registry();
    project.replace("src/lib.rs", "own 1", "own 2");
    project.commit("Change the package");
    let builds = build(&project, &["HEAD~1"]);
    assert_eq!(builds.printed(0), "own 1, leaf 1.0.0\n");
    publish(&project, "1.1.0");
    let builds = build(&project, &["HEAD"]);
    assert_eq!(builds.printed(0), "own 2, leaf 1.0.0\n", "the dependency is the one of before");
    assert!(!project.root().join("Cargo.lock").exists());
}

#[test]
fn each_workspace_has_its_own_lock_file() {
    let project = with_a_registry();
    project.write("other/Cargo.toml", "[package]\nname = 'other'\nedition = '2021'\n[workspace]\n");
    project.write(
        "other/Cargo.lock",
        "version = 4\n[[package]]\nname = \"other\"\nversion = \"0.0.0\"\n",
    );
    project.write("other/src/lib.rs", "//! Nothing.\n");
    project.write("other/benches/work.rs", "//! Nothing much.\n\n#[test]\nfn nothing() {}\n");
    project.commit("Add a workspace with a lock file");
    project.git(&["rm", "--quiet", "other/Cargo.lock"]);
    project.replace("src/lib.rs", "own 1", "own 2");
    project.commit("Do without the lock file");
    let other = ["--manifest-path", "other/Cargo.toml"];
    build(&project, &[&other[..], &["HEAD"]].concat());
    assert_eq!(build(&project, &["HEAD~1"]).printed(0), "own 1, leaf 1.0.0\n");
    publish(&project, "1.1.0");
    assert_eq!(build(&project, &["HEAD"]).printed(0), "own 2, leaf 1.0.0\n");
    // The other workspace's lock file was an added one; this workspace's own must not be taken for
    // that.
    build(&project, &[&other[..], &["--config=build.locked=true", "HEAD~1"]].concat());
}

#[test]
fn ignored_lock_file_counts_and_its_change_recompiles() {
    let project = with_a_registry();
    project.write(".gitignore", "target\nCargo.lock\n");
    project.commit("Keep the lock file to oneself");
    let lock = |version: &str| {
        let package = "[[package]]\nname = \"published-dependency\"\nversion = \"1.0.0\"\n\
            dependencies = [\"leaf\"]\n";
        let leaf = format!(
            "[[package]]\nname = \"leaf\"\nversion = \"{version}\"\n\
             source = \"registry+https://github.com/rust-lang/crates.io-index\"\n"
        );
        project.write("Cargo.lock", &format!("version = 4\n{leaf}{package}"));
    };
    publish(&project, "1.1.0");
    lock("1.0.0");
    assert_eq!(build(&project, &["HEAD"]).printed(0), "own 1, leaf 1.0.0\n");
    lock("1.1.0");
    assert_eq!(build(&project, &["HEAD"]).printed(0), "own 1, leaf 1.1.0\n");
}

/// The number of times that cargo reports having compiled this package.
fn compiled(project: &TestProject, package: &str) -> usize {
    let logs = fs::read_dir(project.storage().join("logs")).unwrap();
    let said = format!("Compiling {package} v");
    // Runs have logs in a directory of their own.
    let texts = logs.filter_map(|log| fs::read_to_string(log.unwrap().path()).ok());
    texts.filter(|text| text.contains(&said)).count()
}

#[test]
fn second_version_reuses_compiled_dependencies() {
    let project = with_a_registry();
    project.replace("src/lib.rs", "own 1", "own 2");
    project.commit("Change the package");
    let builds = build(&project, &["HEAD~1", "HEAD"]);
    assert_eq!(builds.printed(0), "own 1, leaf 1.0.0\n");
    assert_eq!(builds.printed(1), "own 2, leaf 1.0.0\n");
    let often = ["leaf", "published-dependency"].map(|package| compiled(&project, package));
    assert_eq!(often, [1, 2]);
}

/// Benchmark libraries depend on many small crates, whose own benchmarks use the library.
#[test]
fn published_version_of_the_package_itself_is_reused() {
    let project = with_a_registry();
    let registry = project.beside("projects/registry");
    let own = registry.join("own-0.9.0");
    fs::create_dir_all(own.join("src")).unwrap();
    let manifest = "[package]\nname = 'published-dependency'\nversion = '0.9.0'\n";
    fs::write(own.join("Cargo.toml"), manifest).unwrap();
    fs::write(own.join("build.rs"), "fn main() {}\n").unwrap();
    fs::write(own.join("src/lib.rs"), "//! An older version.\n").unwrap();
    fs::write(own.join(".cargo-checksum.json"), "{\"files\":{}}").unwrap();
    let leaf = registry.join("leaf-1.0.0/Cargo.toml");
    let depends = "[dependencies]\npublished-dependency = '0.9'\n";
    fs::write(&leaf, fs::read_to_string(&leaf).unwrap() + depends).unwrap();
    project.replace("src/lib.rs", "own 1", "own 2");
    project.commit("Change the package");
    let builds = build(&project, &["HEAD~1", "HEAD"]);
    assert_eq!(builds.printed(0), "own 1, leaf 1.0.0\n");
    assert_eq!(builds.printed(1), "own 2, leaf 1.0.0\n");
    assert_eq!(compiled(&project, "leaf"), 1);
}

#[test]
fn reproducibility_check_and_rebuilds_reuse_dependencies() {
    let project = with_a_registry();
    let checked = project.build(&["--builds", "2", "HEAD"]);
    checked.outcome.assert_stderr_has(&["again, to check that compiling is reproducible"]);
    let often = || ["leaf", "published-dependency"].map(|package| compiled(&project, package));
    assert_eq!(often(), [1, 2]);
    project.build(&["--builds", "2", "--config", "build.strategy=rebuild", "HEAD"]);
    // The first of these takes the place of the compilation that the check has removed.
    assert_eq!(often(), [1, 3]);
}

/// `cargo vendor` puts the sources of registry crates into the repository, where people edit them.
#[test]
fn vendored_dependency_changed_in_place_is_recompiled() {
    let project = TestProject::of("published-dependency");
    let package = project.root().join("vendor/leaf");
    fs::create_dir_all(package.join("src")).unwrap();
    project.write("vendor/leaf/Cargo.toml", "[package]\nname = 'leaf'\nversion = '1.0.0'\n");
    project.write("vendor/leaf/src/lib.rs", "pub fn answer() -> &'static str { \"first\" }\n");
    project.write("vendor/leaf/.cargo-checksum.json", "{\"files\":{}}");
    project.write(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = 'v'\n[source.v]\ndirectory = 'vendor'\n",
    );
    project.commit("Vendor the dependency");
    project.replace("vendor/leaf/src/lib.rs", "first", "second");
    project.commit("Patch the dependency");
    let builds = build(&project, &["HEAD~1", "HEAD"]);
    assert_eq!(builds.printed(0), "own 1, leaf first\n");
    assert_eq!(builds.printed(1), "own 1, leaf second\n");
}

#[test]
fn submodule_code_is_that_of_the_version() {
    let project = TestProject::of("sums");
    let library = TestProject::of("sums");
    library.replace("Cargo.toml", "name = \"sums\"", "name = \"inner\"");
    library.commit("Be a library of another");
    let from = library.root().to_str().unwrap();
    project.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "--quiet",
        from,
        "inner",
    ]);
    exclude(&project, "inner");
    project.append("Cargo.toml", "\n[dependencies]\ninner = { path = 'inner' }\n");
    project.replace("benches/work.rs", "sums::steps(", "inner::steps(");
    project.write(".gitignore", "target\nCargo.lock\n");
    project.git(&["rm", "--quiet", "--cached", "Cargo.lock"]);
    fs::remove_file(project.root().join("Cargo.lock")).unwrap();
    project.commit("Use the submodule");
    library.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    library.commit("Take larger steps");
    project.git(&[
        "-C",
        "inner",
        "-c",
        "protocol.file.allow=always",
        "pull",
        "--quiet",
        from,
        "main",
    ]);
    project.commit("Follow the submodule");
    let builds = build(&project, &["HEAD~1", "HEAD"]);
    assert!(builds.printed(0).starts_with("steps 135\n"), "{}", builds.printed(0));
    assert!(builds.printed(1).starts_with("steps 180\n"), "{}", builds.printed(1));
}

/// Excludes this directory from the workspace.
fn exclude(project: &TestProject, directory: &str) {
    let workspace = format!("[workspace]\nexclude = ['{directory}']");
    project.replace("Cargo.toml", "[workspace]", &workspace);
}

/// The tree does not record whether a submodule is initialised.
#[test]
fn compilation_without_a_submodule_is_not_reused_with_it() {
    let project = TestProject::of("sums");
    let library = TestProject::of("settings");
    let allowed = ["-c", "protocol.file.allow=always", "submodule"];
    let from = library.root().to_str().unwrap();
    project.git(&[&allowed[..], &["add", "--quiet", from, "inner"]].concat());
    exclude(&project, "inner");
    let there = "std::path::Path::new(\"inner/Cargo.toml\").exists()";
    let script = format!("fn main() {{ println!(\"cargo::rustc-env=THERE={{}}\", {there}); }}\n");
    project.write("build.rs", &format!("//! Looks for the submodule.\n{script}"));
    project.replace(
        "benches/work.rs",
        "fn main() {",
        "fn main() {\n    println!(env!(\"THERE\"));",
    );
    project.commit("Say whether the submodule is there");
    let clone = project.clone_elsewhere();
    let without = build(&clone, &["HEAD"]);
    without.outcome.assert_stderr_has(&["the submodule inner is not initialised"]);
    assert!(without.printed(0).starts_with("false\n"), "{}", without.printed(0));
    clone.git(&[&allowed[..], &["update", "--quiet", "--init"]].concat());
    let with = build(&clone, &["HEAD"]).printed(0);
    assert!(with.starts_with("true\n"), "{with}");
}

/// Cargo passes a library that a build script made to a bench target by name if the package has no
/// library itself.
#[test]
fn c_code_linked_by_name_is_that_of_the_version() {
    let project = with_c_code_and_no_library();
    project.replace("src/native.c", "number * 2", "number * 3");
    project.commit("Change the C code");
    let builds = build(&project, &["HEAD~1", "HEAD"]);
    assert_eq!([0, 1].map(|version| builds.printed(version)), ["C 375\n", "C 420\n"]);
}

#[test]
fn executables_with_different_own_libraries_differ() {
    let project = with_c_code_and_no_library();
    project.replace(
        "build.rs",
        "Command::new(\"ar\").arg(\"crs\")",
        "Command::new(\"cc\").args([\"-shared\", \"-o\"])",
    );
    project.replace("build.rs", "libnative.a", "libnative.so");
    project.replace("build.rs", "static=native", "dylib=native");
    project.commit("Load the C code");
    project.write("README.md", "# Loads C\n");
    project.commit("Describe");
    project.replace("src/native.c", "number * 2", "number * 3");
    project.commit("Change the C code");
    let builds = build(&project, &["HEAD~2", "HEAD~1", "HEAD"]);
    assert_eq!(builds.digests(0), builds.digests(1));
    assert_ne!(builds.digests(1), builds.digests(2));
}

fn with_c_code_and_no_library() -> TestProject {
    let project = TestProject::of("native-code");
    project.git(&["rm", "--quiet", "src/lib.rs"]);
    let bench = "extern \"C\" {\n    fn c_sum(count: u64) -> u64;\n}\n\n\
                 fn main() {\n    println!(\"C {}\", unsafe { c_sum(10) });\n}\n";
    project.write("benches/work.rs", &format!("//! Prints what C gives.\n\n{bench}"));
    project.commit("Do without a library");
    project
}

#[test]
fn target_without_its_features_leaves_namesakes_alone() {
    let project = TestProject::of("workspace-below").in_workspace("rust");
    project.append(
        "rust/engine/Cargo.toml",
        "[features]\nextra = []\n\
         [[bench]]\nname = 'first'\nharness = false\nrequired-features = ['extra']\n\
         [[bench]]\nname = 'third'\nharness = false\n",
    );
    for name in ["first", "third"] {
        let code =
            "//! Says what all say.\n\nfn main() {\n    println!(\"{}\", engine::answer());\n}\n";
        project.write(&format!("rust/engine/benches/{name}.rs"), code);
    }
    project.commit("Measure the engine itself");
    let targets = |arguments: &[&str]| -> Vec<String> {
        let builds = build(&project, arguments);
        let targets = builds.version(0)["targets"].as_array().unwrap().iter();
        let name = |key: &str, target: &serde_json::Value| target[key].as_str().unwrap().to_owned();
        targets.map(|one| name("package", one) + " " + &name("target", one)).collect()
    };
    assert_eq!(targets(&[]), ["engine third", "tools first", "tools second"]);
    let all = ["engine first", "engine third", "tools first", "tools second"];
    assert_eq!(targets(&["--features", "engine/extra"]), all);
}

#[test]
fn generated_code_is_that_of_the_version() {
    let project = TestProject::of("random-macro");
    let host = host();
    project.write(".cargo/config.toml", &format!("[build]\ntarget = '{host}'\n"));
    let build_script = "fn main() { println!(\"cargo::rustc-env=SAID=first\"); }\n";
    project.write("build.rs", &format!("//! Says something.\n{build_script}"));
    project.replace("benches/work.rs", "fn main() {", "fn main() {\n    println!(env!(\"SAID\"));");
    project.commit("Choose a target and say something");
    project.replace("build.rs", "first", "second");
    project.commit("Change the build script");
    project.replace("macro/src/lib.rs", "number * number)", "number * number + 1)");
    project.commit("Change the procedural macro");
    let builds = build(&project, &["HEAD~2", "HEAD~1", "HEAD"]);
    assert_eq!(builds.printed(0), "first\nall 85344\n");
    assert_eq!(builds.printed(1), "second\nall 85344\n");
    assert_eq!(builds.printed(2), "second\nall 85408\n");
}

/// The default target triple of rustc.
fn host() -> String {
    let output = std::process::Command::new("rustc").arg("-vV").output().unwrap().stdout;
    let text = String::from_utf8(output).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

#[test]
fn partial_clone_fetches_the_files_of_a_version() {
    let project = TestProject::of("sums");
    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Take larger steps");
    project.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = TestProject::bare("clone");
    let url = format!("file://{}", project.root().display());
    clone.git(&["clone", "--quiet", "--filter=blob:none", &url, "."]);
    let outcome = clone.build_command(&[&["HEAD~1"], &ONE[..]].concat()).ok();
    outcome.assert_stderr_has(&["fetching 1 file", "HEAD~1"]);
    // Without the remote, the hint remains.
    let alone = TestProject::bare("alone");
    alone.git(&["clone", "--quiet", "--filter=blob:none", &url, "."]);
    alone.git(&["remote", "set-url", "origin", "file:///nowhere"]);
    let outcome = alone.rbench(&["build", "HEAD~1"]).fails_with(3);
    outcome.assert_stderr_has(&["archive --output=/dev/null", "partial clone"]);
}
