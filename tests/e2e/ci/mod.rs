//! `cargo rbench ci` compares in a CI job and publishes the result, here to a made-up API.

mod comment;
mod gitlab;
mod history;
mod of_base;
mod partition;
mod secrets;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::support::{
    QUICK, TestProject,
    api::Api,
    rbench::{Outcome, Rbench},
    schema,
};

const TOKEN: &str = "s3cret-of-this-job";

/// A branch `topic` that does thirty times the work, and a branch `main` with a newer commit.
fn branches(project: &TestProject) {
    project.git(&["checkout", "--quiet", "-b", "topic"]);
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
    project.commit("Do more");
    project.git(&["checkout", "--quiet", "main"]);
    project.write("notes.txt", "news");
    project.commit("Write notes");
    project.git(&["checkout", "--quiet", "topic"]);
}

/// The same, with the comparison already stored.
fn compared() -> TestProject {
    TestProject::shared("ci", "counted", |project| {
        branches(project);
        project
            .rbench(&[&["compare", "main~1", "topic"], &QUICK[..]].concat())
            .run()
            .assert_exit(1);
    })
}

fn commit(project: &TestProject, revision: &str) -> String {
    project.git(&["rev-parse", revision])
}

/// The event of a pull request of these commits.
fn pull_request(base: &str, head: &str) -> Value {
    json!({ "pull_request": {
        "number": 7,
        "head": { "sha": head, "ref": "topic" },
        "base": { "sha": base, "ref": "main" },
    } })
}

/// A job of GitHub Actions.
struct Job<'p> {
    project: &'p TestProject,
    directory: PathBuf,
    api: Api,
}

impl<'p> Job<'p> {
    /// A job whose files are in a directory of this name.
    fn new(project: &'p TestProject, name: &str, event: &Value) -> Self {
        let directory = project.beside(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("event.json"), event.to_string()).unwrap();
        Self { project, directory, api: Api::start() }
    }

    /// A job for the pull request of `topic`.
    fn of_request(project: &'p TestProject, name: &str) -> Self {
        let [base, head] = ["main", "topic"].map(|branch| commit(project, branch));
        Self::new(project, name, &pull_request(&base, &head))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn ci(&self, words: &[&str]) -> Rbench {
        let directory = self.path("report");
        let place = ["--output-dir", directory.to_str().unwrap()];
        self.with_variables(self.project.rbench(&[&["ci"], words, &place].concat()))
    }

    fn with_variables(&self, command: Rbench) -> Rbench {
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_PATH", self.path("event.json"))
            .env("GITHUB_REPOSITORY", "owner/name")
            .env("GITHUB_STEP_SUMMARY", self.path("summary.md"))
            .env("GITHUB_OUTPUT", self.path("output.txt"))
            .env("GITHUB_API_URL", &self.api.address)
            .env("GITHUB_SERVER_URL", "https://github.com")
            .env("GITHUB_RUN_ID", "5")
            .env("GITHUB_TOKEN", TOKEN)
    }
}

/// Asserts that neither the output nor a file of the job has the token.
#[track_caller]
fn assert_no_token(job: &Job<'_>, outcome: &Outcome) {
    assert!(!outcome.printed().contains(TOKEN), "{}", outcome.printed());
    for directory in [job.directory.clone(), job.path("report"), job.project.root().join(".rbench")]
    {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let content = fs::read(entry.path()).unwrap_or_default();
            let has_token = content.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes());
            assert!(!has_token, "{}", entry.path().display());
        }
    }
}

#[test]
fn pull_request_is_compared_with_its_merge_base_and_published() {
    let project = TestProject::of("counted");
    branches(&project);
    let job = Job::of_request(&project, "everywhere");
    let outcome = job.ci(&QUICK).run().assert_exit(1);
    let document: Value = serde_json::from_str(&job.read("report/compare.json")).unwrap();
    schema::check("compare", &document).unwrap();
    assert_eq!(document["base"]["commit"], commit(&project, "main~1"));
    assert_eq!(document["head"]["commit"], commit(&project, "topic"));

    let line = project.read("src/lib.rs").lines().position(|line| line.contains("fn changing"));
    let annotation = format!(
        "::error file=src/lib.rs,line={},title=benchmark regressed::changing: ",
        line.unwrap() + 1
    );
    let stdout = outcome.stdout();
    let lines: Vec<&str> = stdout.lines().collect();
    // Between the first line and the last but one, the runner obeys no command.
    let token = lines[0].strip_prefix("::stop-commands::").unwrap();
    assert_eq!(lines[lines.len() - 2], format!("::{token}::"));
    assert!(lines[lines.len() - 1].starts_with(&annotation), "{}", outcome.printed());

    let summary = job.read("summary.md");
    assert!(summary.starts_with("### Benchmarks: regressed\n"), "{summary}");
    assert!(summary.contains("| `changing` |") && summary.contains("1 regressed"), "{summary}");
    let outputs = job.read("output.txt");
    for part in ["verdict=regressed\n", "regressed=1\n", "improved=0\n", "exit-code=1\n", "report="]
    {
        assert!(outputs.contains(part), "{outputs}");
    }
    let junit = job.read("report/junit.xml");
    let junit = roxmltree::Document::parse(&junit).unwrap();
    let totals =
        ["tests", "failures", "errors"].map(|name| junit.root_element().attribute(name).unwrap());
    assert_eq!(totals, ["2", "1", "0"]);
    assert!(job.read("report/report.md").starts_with("### Benchmarks: regressed\n"));

    let comments = job.api.comments();
    assert_eq!(job.api.changes(), ["POST /repos/owner/name/issues/7/comments"]);
    assert!(comments[0].body.starts_with("<!-- cargo-rbench comment: default -->\n"));
    assert!(comments[0].body.ends_with(&summary), "the comment says what the summary says");
    assert!(job.api.asked().iter().all(|asked| asked.token == format!("Bearer {TOKEN}")));
    assert_no_token(&job, &outcome);
}

#[test]
fn built_and_measured_programs_do_not_get_the_token() {
    let project = TestProject::of("counted");
    branches(&project);
    project.write(
        "build.rs",
        "//! Tells whether it has the token.\n\nfn main() {\n    \
         for name in [\"GITHUB_TOKEN\", \"RBENCH_TOKEN\", \"GITLAB_TOKEN\"] {\n        \
         assert!(std::env::var_os(name).is_none());\n    }\n}\n",
    );
    project.commit("Look for the token");
    let job = Job::of_request(&project, "inherited");
    let words = [&QUICK[..], &["--dry-run"]].concat();
    job.ci(&words).ok();
    let others = |rbench: Rbench| rbench.env("RBENCH_TOKEN", "one").env("GITLAB_TOKEN", "two");
    others(job.ci(&words)).ok();
    let without_service = ["--provider", "none", "--base", "main", "--head", "topic"];
    others(job.ci(&[&words[..], &without_service].concat())).ok();
}

#[test]
fn event_that_is_no_file_of_limited_size_is_refused() {
    let project = TestProject::of("counted");
    branches(&project);
    let job = Job::of_request(&project, "endless");
    let ci = || job.ci(&["--dry-run"]);
    let outcome = ci().env("GITHUB_EVENT_PATH", "/dev/zero").fails_with(2);
    outcome.assert_stderr_has(&["cannot read the event /dev/zero", "it is not a regular file"]);
    let large = job.path("large.json");
    fs::File::create(&large).unwrap().set_len(1 << 33).unwrap();
    let outcome = ci().env("GITHUB_EVENT_PATH", &large).fails_with(2);
    outcome.assert_stderr_has(&["it is larger than 64 MiB"]);
}

#[test]
fn outdated_run_does_not_change_a_newer_comment() {
    let project = compared();
    let job = Job::of_request(&project, "outdated");
    job.api.set_newest(&"e".repeat(40));
    let outcome = job.ci(&["--stored"]).run().assert_exit(1);
    outcome.assert_stderr_has(&["request 7 has newer commits"]);
    assert!(job.api.changes().is_empty(), "{:?}", job.api.changes());
    job.api.set_newest(&commit(&project, "topic"));
    job.ci(&["--stored"]).run().assert_exit(1);
    assert_eq!(job.api.comments().len(), 1);
}

#[test]
fn failed_stale_mark_does_not_prevent_the_comment() {
    let project = compared();
    let job = Job::of_request(&project, "recovered");
    job.api.add("github-actions[bot]", true, "<!-- cargo-rbench comment: default -->\nold");
    job.api.fails("PATCH", "", 422);
    let outcome = job.ci(&["--stored"]).run().assert_exit(1);
    assert!(!outcome.stderr().contains("cannot write the comment"), "{}", outcome.printed());
    assert!(job.api.comments()[0].body.contains("### Benchmarks: regressed"));
}

#[test]
fn comment_is_marked_stale_then_updated_in_place() {
    let project = compared();
    let job = Job::of_request(&project, "updated");
    job.ci(&["--stored"]).run().assert_exit(1);
    let first = job.api.comments();
    job.ci(&["--stored"]).run().assert_exit(1);
    let changes = job.api.changes();
    let update = "PATCH /repos/owner/name/issues/comments/1";
    assert_eq!(changes, ["POST /repos/owner/name/issues/7/comments", update, update]);
    let updates = job.api.asked().into_iter().filter(|asked| asked.method == "PATCH");
    let stale: Vec<bool> = updates.map(|asked| asked.body.contains("**Stale:**")).collect();
    assert_eq!(stale, [true, false]);
    assert_eq!(job.api.comments()[0].body, first[0].body);
}

#[test]
fn jobs_with_different_names_have_separate_comments() {
    let project = compared();
    let job = Job::of_request(&project, "named");
    for name in ["x86-64", "aarch64", "x86-64"] {
        job.ci(&["--stored", "--comment-name", name]).run().assert_exit(1);
    }
    let comments = job.api.comments();
    assert_eq!(comments.len(), 2);
    assert!(comments[1].body.contains("**aarch64**"), "{}", comments[1].body);
}

#[test]
fn deleted_comment_is_created_again() {
    let project = compared();
    let job = Job::of_request(&project, "removed");
    job.api.add("github-actions[bot]", true, "<!-- cargo-rbench comment: default -->\nold");
    // Once when it should be marked as stale, and once when it should be updated.
    job.api.fails("PATCH", "", 404);
    job.api.fails("PATCH", "", 404);
    let outcome = job.ci(&["--stored"]).run().assert_exit(1);
    assert!(!outcome.stderr().contains("cannot write the comment"), "{}", outcome.printed());
    assert!(job.api.comments()[1].body.contains("### Benchmarks: regressed"));
}

#[test]
fn no_change_creates_no_comment_but_updates_an_old_one() {
    let project = TestProject::of("counted");
    let before = commit(&project, "HEAD");
    project.append("src/lib.rs", "// A comment.\n");
    project.commit("Comment");
    let event = pull_request(&before, &commit(&project, "HEAD"));
    let job = Job::new(&project, "quiet", &event);
    job.ci(&QUICK).ok();
    assert!(job.api.changes().is_empty(), "{:?}", job.api.changes());
    assert!(
        job.read("output.txt").starts_with("verdict=identical\n"),
        "{}",
        job.read("output.txt")
    );
    let old = "<!-- cargo-rbench comment: default -->\n### Benchmarks: regressed\n";
    job.api.add("github-actions[bot]", true, old);
    job.ci(&QUICK).ok();
    assert!(job.api.comments()[0].body.contains("### Benchmarks: identical"));
}

#[test]
fn forbidden_comment_is_one_warning_and_the_summary_stays() {
    let project = compared();
    let job = Job::of_request(&project, "forbidden");
    job.api.fails("POST", "", 403);
    let outcome = job.ci(&["--stored"]).run().assert_exit(1);
    outcome.assert_stderr_has(&["the API answered 403: refused", "pull-requests: write"]);
    assert_eq!(outcome.stderr().matches("warning: cannot write the comment").count(), 1);
    assert!(job.read("summary.md").contains("**regressed**"));
    assert_no_token(&job, &outcome);
}

#[test]
fn rejected_comment_is_replaced_by_a_short_one() {
    let project = compared();
    let job = Job::of_request(&project, "short");
    job.api.fails("POST", "", 422);
    job.ci(&["--stored"]).run().assert_exit(1);
    let body = &job.api.comments()[0].body;
    assert!(body.contains("1 regressed") && !body.contains('|'), "{body}");
}

#[test]
fn compile_error_is_reported_and_its_output_is_no_command() {
    let project = TestProject::of("counted");
    branches(&project);
    project.write("src/lib.rs", "compile_error!(\"\n::error::forged\n\");\n");
    project.commit("Break it");
    let job = Job::of_request(&project, "broken");
    job.api.add("github-actions[bot]", true, "<!-- cargo-rbench comment: default -->\nold");
    let outcome = job.ci(&QUICK).fails_with(3);
    assert!(outcome.stdout().starts_with("::stop-commands::"), "{}", outcome.printed());
    assert_eq!(outcome.stdout().lines().count(), 1, "{}", outcome.printed());
    assert!(job.read("output.txt").starts_with("verdict=error\n"));
    assert!(job.read("output.txt").contains("exit-code=3\n"));
    let summary = job.read("summary.md");
    assert!(summary.starts_with("### Benchmarks: not compared\n"), "{summary}");
    assert!(summary.contains("/report/rbench.log\n"), "{summary}");
    let log = job.read("report/rbench.log");
    for part in ["cargo ended with exit status: 101", "not compared: ", "GET /repos/owner/name/"] {
        assert!(log.contains(part), "no `{part}` in\n{log}");
    }
    assert_no_token(&job, &outcome);
    assert!(job.api.comments()[0].body.contains("### Benchmarks: not compared"));
}

#[test]
fn failed_run_removes_earlier_reports() {
    let project = compared();
    let job = Job::of_request(&project, "earlier");
    job.ci(&["--stored"]).run().assert_exit(1);
    assert!(job.path("report/compare.json").exists());
    job.ci(&["--stored", "--filter", "no such benchmark"]).fails_with(2);
    for name in ["compare.json", "junit.xml", "report.md"] {
        assert!(!job.path("report").join(name).exists(), "{name} is still there");
    }
}

#[test]
fn label_makes_a_job_advisory_and_its_account_is_named() {
    let project = compared();
    let job = Job::of_request(&project, "advisory");
    let words = ["--stored", "--advisory-label", "slow-is-fine"];
    job.ci(&words).run().assert_exit(1);
    assert!(!job.read("summary.md").contains("Advisory"));
    job.api.label("slow-is-fine", "ada", true);
    let outcome = job.ci(&words).ok();
    assert!(
        outcome.stdout().contains("::warning title=benchmark regressed"),
        "{}",
        outcome.printed()
    );
    let advisory = "Advisory: regressions do not fail this job, because `ada` set the label \
                    `slow-is-fine`";
    assert!(job.read("summary.md").contains(advisory), "{}", job.read("summary.md"));
    assert!(job.api.comments()[0].body.contains(advisory));
    let without_token = job.ci(&words).env("GITHUB_TOKEN", "").run().assert_exit(1);
    without_token.assert_stderr_has(&["the label slow-is-fine has no effect"]);
}
