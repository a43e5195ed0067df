//! The result of `compare` in each output format: terminal, file, pull request.

use std::fs;

use crate::support::{COMPARE_QUICK, TestProject};

/// Reports again what [`compared`] stored.
const STORED: [&str; 2] = ["compare", "--stored"];

/// A benchmark with thirty times the work, one with the same, and one that is new.
fn change(project: &TestProject) {
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
    project.replace(
        "benches/work.rs",
        "    suite.bench(\"steady\"",
        "    suite.bench(\"new\", |bencher| bencher.iter(counted::steady));\n    suite.bench(\"steady\"",
    );
    project.commit("Change the work and add a benchmark");
}

/// A project whose two versions were compared.
fn compared() -> TestProject {
    TestProject::shared("compared", "counted", |project| {
        change(project);
        project.rbench(&COMPARE_QUICK).run().assert_exit(1);
    })
}

#[test]
fn colours_are_for_terminals_or_when_forced() {
    let project = compared();
    let plain = project.rbench(&STORED).env("TERM", "xterm-256color").run().assert_exit(1);
    assert!(!plain.stdout().contains('\u{1b}'), "{}", plain.printed());
    let file = project.beside("report.txt");
    let forced = [&STORED[..], &["--output", file.to_str().unwrap()]].concat();
    let forced = project.rbench(&forced).env("CLICOLOR_FORCE", "1").run().assert_exit(1);
    assert!(forced.stdout().contains("\u{1b}[1m\u{1b}[31mregressed"), "{}", forced.printed());
    assert!(!fs::read_to_string(file).unwrap().contains('\u{1b}'), "files are plain");
    let refused = project
        .rbench(&STORED)
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .run()
        .assert_exit(1);
    assert!(!refused.stdout().contains('\u{1b}'), "{}", refused.printed());
}

#[test]
fn table_width_follows_columns() {
    let project = compared();
    let shown = |columns: &str, more: &[&str]| {
        let arguments = [&STORED[..], more].concat();
        let outcome = project.rbench(&arguments).env("COLUMNS", columns).run().assert_exit(1);
        let stdout = outcome.stdout();
        let head = stdout.lines().find(|line| line.starts_with("benchmark")).unwrap();
        head.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let at = |columns: &str| shown(columns, &[]);
    assert_eq!(at("60"), ["benchmark", "base", "head", "change", "verdict"]);
    let at_80 = ["benchmark", "base", "head", "change", "95", "%", "interval", "verdict", "builds"];
    assert_eq!(at("80"), at_80);
    assert_eq!(at("200"), at_80);
    let detailed = shown("200", &["--reasons"]).join(" ");
    assert!(detailed.contains(" base ± (95 %) ") && detailed.ends_with(" builds"), "{detailed}");
}

#[test]
fn metric_without_results_is_rejected() {
    let project = compared();
    let outcome = project.rbench(&[&STORED[..], &["--metric", "user"]].concat()).fails_with(2);
    outcome.assert_stderr_has(&["these benchmarks have no results in user", "they have: wall"]);
}

#[test]
#[ignore = "takes long"]
fn several_files_of_one_comparison_agree() {
    let project = TestProject::of("counted");
    change(&project);
    let files = ["report.md", "report.json", "report.txt"].map(|name| project.beside(name));
    let mut arguments = [&COMPARE_QUICK[..], &["--bench", "work"]].concat();
    for file in &files {
        arguments.extend(["--output", file.to_str().unwrap()]);
    }
    let outcome = project.rbench(&[&arguments[..], &["--format", "json"]].concat()).run();
    let json = outcome.assert_exit(1).json("compare");
    let [markdown, written, text] = files.map(|file| fs::read_to_string(file).unwrap());
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), json);
    assert!(markdown.starts_with("### Benchmarks: regressed\n"), "{markdown}");
    assert_eq!(json["counts"]["regressed"], 1);
    assert_eq!(json["counts"]["added"], 1);
    assert_eq!(json["added"][0]["id"], "new");
    assert_eq!(json["sample_sizes"]["builds"], 4);
    assert_eq!(json["criteria"]["rule"], "paired");
    assert!(json["machine"]["cores"].as_u64().unwrap() > 0);
    assert!(json["functions"][0]["changed"].as_u64().unwrap() > 0, "{}", json["functions"]);
    let rows = json["benchmarks"].as_array().unwrap();
    let changing = rows.iter().find(|row| row["id"] == "changing").unwrap();
    assert_eq!(changing["builds"].as_array().unwrap().len(), 2);
    assert_eq!(changing["reason"]["kind"], "confirmed");
    for printed in [&text, &markdown] {
        for part in
            ["changing", "regressed", "cargo rbench diff HEAD~1 HEAD", "--bench work", "new"]
        {
            assert!(printed.contains(part), "no {part} in {printed}");
        }
    }
}

#[test]
fn html_page_is_complete_and_self_contained() {
    let project = compared();
    let file = project.beside("page.html");
    let to_file = ["--output", file.to_str().unwrap()];
    project.rbench(&[&STORED[..], &to_file].concat()).run().assert_exit(1);
    let comparison = fs::read_to_string(&file).unwrap();
    for part in ["<b>1</b> regressed", ">changing<", "fresh pairs of builds"] {
        assert!(comparison.contains(part), "no {part} in {comparison}");
    }
    let printed = [&STORED[..], &["--fail-on", "never", "--format", "html"]].concat();
    let printed = project.rbench(&printed).run().assert_exit(0);
    let count_tables = |page: &str| page.matches("<tbody").count();
    assert_eq!(count_tables(&printed.stdout()), count_tables(&comparison));
    project.rbench(&[&["history"], &to_file[..]].concat()).run().assert_exit(0);
    let history = fs::read_to_string(&file).unwrap();
    let diagnose = ["diagnose", "HEAD", "^changing$", "--from-stored", "--format", "html"];
    let diagnosis = project.rbench(&diagnose).run().assert_exit(0).stdout();
    for page in [comparison, history, diagnosis] {
        assert!(page.contains("changing") && page.contains("default-src &#39;none&#39;"), "{page}");
        assert!(!page.contains("http://") || !page.contains("src="), "{page}");
    }
}

#[test]
fn site_has_a_page_of_every_history_and_changed_comparison() {
    let project = compared();
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("site");
    let to = directory.to_str().unwrap();
    project.rbench(&["site", to]).ok();
    let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap();
    let changes: serde_json::Value = serde_json::from_str(&read("changes.json")).unwrap();
    let index = read("index.html");
    let of_benchmark = &changes["histories"][0]["benchmarks"][0];
    for (one, name) in [(&changes["comparisons"][0], "changing"), (of_benchmark, " of counted ")] {
        let page = one["page"].as_str().unwrap();
        assert!(index.contains(&format!("<a href=\"{page}\">")), "no {page} in {index}");
        assert!(read(page).contains(name), "{page}");
    }
    let page = changes["comparisons"][0]["page"].as_str().unwrap();
    let feed = read("feed.xml");
    assert!(
        feed.contains(&format!("href=\"{page}\"")) && feed.contains("changing regressed +"),
        "{feed}"
    );
    assert!(read("badge.json").contains("\"1 slower\""));
    let change = &changes["comparisons"][0]["changes"][0];
    assert_eq!((&change["id"], &change["verdict"]), (&"changing".into(), &"regressed".into()));
    let [old, foreign] = ["compare/old.html", "compare/notes.txt"];
    for file in [old, foreign] {
        fs::write(directory.join(file), "").unwrap();
    }
    project.rbench(&["site", to, "--since", "HEAD~1"]).ok();
    assert!(!directory.join(old).exists() && directory.join(foreign).exists());
    assert_eq!(read("index.html"), index, "the same results give the same pages");
    fs::remove_file(directory.join(".rbench-site")).unwrap();
    project.rbench(&["site", to]).fails_with(2).assert_stderr_has(&[
        "cannot write a site to",
        "it has files that are not of a site",
        "name a new or an empty directory",
    ]);
    assert_eq!(read("index.html"), index);
}

#[test]
fn changed_dependency_versions_are_reported() {
    let project = TestProject::of("published-dependency");
    project.write(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = 'v'\n[source.v]\ndirectory = 'vendor'\n",
    );
    let command = "[[command]]\nid = 'work'\npackage = 'published-dependency'\nbench = 'work'\n";
    project.write("bench.toml", command);
    project.write("vendor/leaf/.cargo-checksum.json", "{\"files\":{}}");
    project.write("vendor/leaf/src/lib.rs", "pub fn answer() -> &'static str { \"one\" }\n");
    for version in ["1.0.0", "1.0.1"] {
        let manifest = format!("[package]\nname = 'leaf'\nversion = '{version}'\n");
        project.write("vendor/leaf/Cargo.toml", &manifest);
        project.write(
            "Cargo.lock",
            &format!(
                "version = 4\n\n[[package]]\nname = \"leaf\"\nversion = \"{version}\"\nsource = \
                 \"registry+https://github.com/rust-lang/crates.io-index\"\n\n[[package]]\nname = \
                 \"published-dependency\"\nversion = \"1.0.0\"\ndependencies = [\"leaf\"]\n"
            ),
        );
        project.commit("Take another leaf");
    }
    let outcome = project.rbench(&[&COMPARE_QUICK[..], &["--format", "json"]].concat()).run();
    let expected = serde_json::json!([{ "name": "leaf", "base": ["1.0.0"], "head": ["1.0.1"] }]);
    assert_eq!(outcome.json("compare")["dependencies"], expected, "{}", outcome.printed());
    let text = project.rbench(&COMPARE_QUICK).run();
    text.assert_stdout_has(&["dependencies: leaf 1.0.0 -> 1.0.1"]);
    // Without lock files in the repository, cargo updates the one that all versions share.
    project.git(&["rm", "--quiet", "Cargo.lock"]);
    project.write(".gitignore", "target\n");
    project.commit("Leave the lock file to users");
    let manifest = project.read("vendor/leaf/Cargo.toml");
    project.write("vendor/leaf/Cargo.toml", &manifest.replace("1.0.1", "2.0.0"));
    project.replace("Cargo.toml", "leaf = \"1\"", "leaf = \"2\"");
    project.commit("Take a new leaf");
    let text = project.rbench(&COMPARE_QUICK).run();
    text.assert_stdout_has(&["dependencies: leaf 1.0.1 -> 2.0.0"]);
    project.append("src/lib.rs", "// More.\n");
    let of_edit = [&["compare", "HEAD", "."], &COMPARE_QUICK[1..]].concat();
    let text = project.rbench(&of_edit).run().stdout().clone();
    assert!(text.contains("compared with HEAD") && !text.contains("dependencies:"), "{text}");
}
