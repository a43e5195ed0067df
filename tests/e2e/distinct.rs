//! Builds of one version really differ, and are the same whenever and wherever they are made.

use crate::support::TestProject;

const EIGHT: [&str; 4] = ["--config", "build.strategy=relink", "--builds", "8"];

#[test]
fn eight_builds_are_distinct_equivalent_and_cached() {
    let project = TestProject::of("sums");
    let builds = project.build(&EIGHT);
    assert_eq!(builds.distinct(0), (8, 8));
    let printed = builds.printed(0);
    assert!(printed.starts_with("steps 135\ngeneric 818\ndigits 7\nwords 22\n"), "{printed}");

    let again = project.build(&EIGHT);
    assert_eq!(again.digests(0), builds.digests(0));
    assert!(again.nothing_was_made(0), "{}", again.outcome.printed());
}

#[test]
fn more_builds_extend_the_list_and_another_seed_replaces_it() {
    let project = TestProject::of("sums");
    let builds = project.build(&EIGHT);
    let more = project.build(&["--config", "build.strategy=relink", "--builds", "9"]);
    assert_eq!(more.digests(0)[..8], builds.digests(0));
    assert_eq!(more.distinct(0), (9, 9));
    assert_eq!(more.version(0)["compiled"], false);
    let fresh = more.target(0)["builds"].as_array().unwrap().iter().filter(|b| b["fresh"] == true);
    assert_eq!(fresh.count(), 1, "{}", more.outcome.printed());

    let other = project.build(&[&EIGHT[..], &["--config", "build.seed=2"]].concat());
    assert!(other.digests(0).iter().all(|digest| !builds.digests(0).contains(digest)));
}

#[test]
fn clone_in_another_directory_gives_the_same_builds() {
    let project = TestProject::of("sums");
    let clone = project.clone_elsewhere().share_home(&project);
    let here = project.build(&["--config", "build.strategy=relink", "--builds", "2"]);
    let there = clone.build(&["--config", "build.strategy=relink", "--builds", "2"]);
    assert_eq!(there.digests(0), here.digests(0));
    assert!(!there.nothing_was_made(0), "the clone has a target dir of its own");
    assert_ne!(there.executables(0), here.executables(0));
}

#[test]
fn layouts_give_working_programs_that_differ_by_seed() {
    let project = TestProject::of("sums");
    let default = ["--config", "build.strategy=relink", "--builds", "3", "--layout", "default"];
    let default = project.build(&default);
    assert_eq!(default.distinct(0), (1, 1));
    let text = project.rbench(&["build", "--layout", "default", "--builds", "3"]).ok();
    text.assert_stdout_has(&["1 of 3 builds distinct", "only 1 of 3 builds differ"]);

    let mut seen = default.digests(0);
    for layout in ["same-address", "shuffled", "padded", "aligned"] {
        let arguments = ["--config", "build.strategy=relink", "--builds", "3", "--layout", layout];
        let builds = project.build(&arguments);
        assert_eq!(builds.distinct(0), (3, 3), "{layout}");
        assert_eq!(builds.printed(0), default.printed(0), "{layout}");
        assert_eq!(builds.report["layout"], layout);
        // Same addresses need another version to share them with.
        let made = if layout == "same-address" { "same-order" } else { layout };
        assert_eq!(builds.target(0)["layout"], made);
        assert_eq!(builds.version(0)["compiled"], false, "one compilation serves all layouts");
        assert!(builds.digests(0).iter().all(|digest| !seen.contains(digest)), "{layout}");
        seen.extend(builds.digests(0));
    }
}

#[test]
fn rebuild_strategy_compiles_once_per_build() {
    let project = TestProject::of("sums");
    let builds = project.build(&["--config", "build.strategy=rebuild", "--builds", "2"]);
    assert_eq!(builds.version(0)["strategy"], "rebuild");
    assert_eq!(builds.version(0)["compilations"], 2);
    builds.outcome.assert_stderr_has(&["\nlinked sums/work of HEAD (", ") 1 time\n"]);
    assert_eq!(builds.distinct(0), (2, 2));
    let relinked = project.build(&["--config", "build.strategy=relink", "--builds", "2"]);
    assert_eq!(relinked.digests(0), builds.digests(0), "compiling this is reproducible");
}

/// A benchmark runs in its checkout too. A build script does the same in less time.
#[test]
fn changes_of_a_program_to_its_sources_are_not_compiled() {
    let project = TestProject::of("sums");
    project.write("step", "3");
    project.write(
        "build.rs",
        "fn main() {\n\
         println!(\"cargo:rustc-env=STEP={}\", std::fs::read_to_string(\"step\").unwrap());\n\
         std::fs::write(\"step\", \"5\").unwrap();\n\
         std::fs::create_dir_all(\".cargo\").unwrap();\n\
         let added = \"build.rustflags = ['--cfg', 'added']\";\n\
         std::fs::write(\".cargo/config.toml\", added).unwrap();\n}\n",
    );
    let lines =
        "println!(\"step {}, added {}\", env!(\"STEP\"), cfg!(added));\n    println!(\"steps";
    project.replace("benches/work.rs", "println!(\"steps", lines);
    project.commit("Write into the sources");
    let builds = project.build(&["--config", "build.strategy=rebuild", "--builds", "2"]);
    let printed = builds.printed(0);
    assert!(printed.starts_with("step 3, added false\n"), "{printed}");
    builds.outcome.assert_stderr_has(&["warning: ", " has changed step in the sources of HEAD"]);
}

/// Before something else is compiled there, the sources are written again without the additions.
#[test]
fn additions_of_a_build_script_exist_when_the_benchmark_runs() {
    let project = TestProject::of("sums");
    project.append("Cargo.toml", "[features]\nother = []\n");
    project.write(
        "build.rs",
        "fn main() {\n\
         let name = if cfg!(feature = \"other\") { \"other\" } else { \"data\" };\n\
         std::fs::write(name, \"what was added\\n\").unwrap();\n}\n",
    );
    let line = "print!(\"{}\", std::fs::read_to_string(concat!(env!(\"CARGO_MANIFEST_DIR\"), \
                \"/data\")).unwrap_or_default());\n    println!(\"steps";
    project.replace("benches/work.rs", "println!(\"steps", line);
    project.commit("Read what the build script adds");
    let build = |arguments: &[&str]| {
        project
            .build(&[&["--config", "build.strategy=relink", "--builds", "1"], arguments].concat())
    };
    build(&[]);
    let again = build(&[]);
    assert!(again.nothing_was_made(0), "{}", again.outcome.printed());
    build(&["--features", "other"]);
    let printed = build(&[]).printed(0);
    assert!(printed.starts_with("what was added\nsteps 135\n"), "{printed}");
}
