//! Secrets of a job that code prints appear nowhere.

use std::{fs, path::Path};

use data_encoding::{BASE64, BASE64_NOPAD};

use super::{Job, TOKEN, branches};
use crate::support::{
    QUICK, TestProject,
    rbench::{Outcome, Rbench},
};

const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\nQyNTUxOQAAACB7n0a5uWk2v1LrJ3\n-----END OPENSSH PRIVATE KEY-----";

/// Variables with the part of their values that is secret.
const PLANTED: [(&str, &str, &str); 30] = [
    ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "eyJ0eXAiOiJKV1QiLCJhb", "eyJ0eXAiOiJKV1QiLCJhb"),
    ("ACTIONS_RUNTIME_TOKEN", "eyJ0eXAiOiJSVU5USU1F", "eyJ0eXAiOiJSVU5USU1F"),
    ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPx", "wJalrXUtnFEMI/K7MDENG+bPx"),
    ("AWS_SESSION_TOKEN", "FwoGZXIvYXdzEBYaDH", "FwoGZXIvYXdzEBYaDH"),
    ("AZURE_CLIENT_SECRET", "Q~8Q.pl4nt3d-azure_", "Q~8Q.pl4nt3d-azure_"),
    ("CARGO_REGISTRIES_OWN_TOKEN", "cio-own-registry-1", "cio-own-registry-1"),
    ("CARGO_REGISTRY_TOKEN", "cioPl4ntedRegistry", "cioPl4ntedRegistry"),
    ("CI_JOB_TOKEN", "glcbt-64_pl4nted", "glcbt-64_pl4nted"),
    ("CI_REGISTRY_PASSWORD", "registry \"quoted\" pa$$", "registry \"quoted\" pa$$"),
    ("CODECOV_TOKEN", "0b1f7f3e-codecov-pl4nted", "0b1f7f3e-codecov-pl4nted"),
    ("DATABASE_URL", "postgres://app:db-pl4nted@db/x", "db-pl4nted"),
    ("DEPLOY_PAT", "github_pat_11PL4NTED", "github_pat_11PL4NTED"),
    ("DOCKER_AUTH_CONFIG", "{\"auths\":{\"r\":{\"auth\":\"cGw0bnRlZA\"}}}", "cGw0bnRlZA"),
    ("GH_TOKEN", "gho_pl4ntedGhToken", "gho_pl4ntedGhToken"),
    ("GITHUB_TOKEN", TOKEN, TOKEN),
    ("GITLAB_TOKEN", "glpat-pl4nted-gitlab", "glpat-pl4nted-gitlab"),
    ("GIT_CONFIG_VALUE_1", "AUTHORIZATION: basic eC1hY2Nlc3M6cGw0", "eC1hY2Nlc3M6cGw0"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "{\"private_key\":\"MIIEpl4nted\"}", "MIIEpl4nted"),
    ("HTTPS_PROXY", "http://me:proxy-pl4nted@proxy:3128", "proxy-pl4nted"),
    ("NPM_TOKEN", "npm_pl4ntedNpmToken", "npm_pl4ntedNpmToken"),
    ("ORDINARY_NAME", "gho_pl4ntedGhToken", "gho_pl4ntedGhToken"),
    ("PGPASSWORD", "pl4nted pg password", "pl4nted pg password"),
    ("RBENCH_SHARED", "postgres://ci:shared-pl4nted@127.0.0.1:1/x", "shared-pl4nted"),
    ("REDIS_URL", "redis://:redis-pl4nted@cache:6379", "redis-pl4nted"),
    ("SENTRY_DSN", "https://5entrypl4nted@sentry.example/1", "5entrypl4nted"),
    ("SLACK_WEBHOOK_URL", "https://hooks.example/T0/B0/sl4ckPlanted", "sl4ckPlanted"),
    ("SSH_PRIVATE_KEY", KEY, "QyNTUxOQAAACB7n0a5uWk2v1LrJ3"),
    ("STORAGE_CONNECTION_STRING", "AccountName=a;Acc=pl4ntedStorage", "pl4ntedStorage"),
    ("VAULT_TOKEN", "hvs.CAESIPl4ntedVault", "hvs.CAESIPl4ntedVault"),
];

/// The secrets as they leak: as they are, quoted, in base64, behind a user, and in an address.
fn forms() -> String {
    let forms = |(_, value, _): &(&str, &str, &str)| {
        let percent: String = value
            .bytes()
            .map(|byte| match byte {
                b if b.is_ascii_alphanumeric() || b"-._~".contains(&b) => char::from(b).to_string(),
                b => format!("%{b:02X}"),
            })
            .collect();
        [
            (*value).to_owned(),
            format!("{value:?}"),
            BASE64.encode(value.as_bytes()),
            format!("Basic {}", BASE64.encode(format!("x:{value}").as_bytes())),
            percent,
        ]
        .join("\n")
    };
    PLANTED.iter().map(forms).collect::<Vec<_>>().join("\n")
}

/// Code that prints all forms, if it is given none of the variables.
fn leak(planted: &str) -> String {
    let names: Vec<String> = PLANTED.iter().map(|(name, ..)| format!("{name:?}")).collect();
    format!(
        "fn leak() -> String {{\n    for name in [{}] {{\n        assert!(std::env::var_os(name).is_none(), \"it has {{name}}\");\n    }}\n    \
         let text = include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {planted:?}));\n    \
         for line in text.lines() {{\n        println!(\"cargo::warning={{line}}\");\n        eprintln!(\"{{line}}\");\n    }}\n    text.to_owned()\n}}\n",
        names.join(", ")
    )
}

/// A project all of whose code prints the secrets.
fn leaking() -> TestProject {
    let project = TestProject::of("counted");
    project.write("planted", &forms());
    let (in_macro, leak) = (leak("/../planted"), leak("/planted"));
    project.write("build.rs", &format!("//! Leaks.\n\nfn main() {{\n    leak();\n}}\n\n{leak}"));
    project.write(
        "spy/Cargo.toml",
        "[package]\nname = \"spy\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\nproc-macro = true\n",
    );
    project.write(
        "spy/src/lib.rs",
        &format!(
            "//! Leaks.\n\n#[proc_macro]\npub fn spy(_: proc_macro::TokenStream) -> proc_macro::TokenStream {{\n    \
             leak();\n    Default::default()\n}}\n\n{in_macro}"
        ),
    );
    project.append("Cargo.toml", "\n[[bench]]\nname = \"tool\"\nharness = false\n\n[dependencies]\nspy = { path = \"spy\" }\n");
    project.append("src/lib.rs", "\nspy::spy!();\n");
    project.append("benches/work.rs", &format!("\n{leak}"));
    project.replace(
        "benches/work.rs",
        "suite: &mut Suite) {",
        "suite: &mut Suite) {\n    leak();\n    suite.bench(\"leaking\", |_| panic!(\"{}\", leak()));",
    );
    project.write(
        "benches/tool.rs",
        &format!("//! Leaks.\n\nfn main() {{\n    leak();\n}}\n\n{leak}"),
    );
    let names: Vec<&str> = PLANTED.iter().map(|(name, ..)| *name).collect();
    project.write(
        "bench.toml",
        &format!(
            "[[command]]\nid = \"tool\"\nbench = \"tool\"\n\n[setup]\nprepare = \"cat planted; cat planted >&2; ! env | cut -d= -f1 | grep -xE '{}'\"\n",
            names.join("|")
        ),
    );
    project.commit("Leak");
    branches(&project);
    project
}

fn with_secrets(mut command: Rbench) -> Rbench {
    for (name, value, _) in PLANTED {
        command = command.env(name, value);
    }
    command.env("GIT_CONFIG_COUNT", "2").env("GIT_CONFIG_KEY_1", "http.extraheader")
}

/// The texts that must not appear.
fn forbidden() -> Vec<String> {
    let forms = |(_, _, secret): &(&str, &str, &'static str)| {
        let debug = format!("{secret:?}");
        let base64 = BASE64_NOPAD.encode(secret.as_bytes());
        // The last characters of base64 depend on what follows.
        [
            (*secret).to_owned(),
            debug[1..debug.len() - 1].to_owned(),
            base64[..base64.len() - 4].to_owned(),
        ]
    };
    PLANTED.iter().flat_map(forms).collect()
}

#[track_caller]
fn assert_without_secrets(what: &str, text: &[u8], forbidden: &[String]) {
    for secret in forbidden {
        let found = text.windows(secret.len()).position(|part| part == secret.as_bytes());
        let near = found.map(|at| {
            String::from_utf8_lossy(&text[at.saturating_sub(200)..(at + 100).min(text.len())])
        });
        assert_eq!(near, None, "{what} has `{secret}`");
    }
}

/// Searches the files below a directory.
#[track_caller]
fn assert_files_without_secrets(directory: &Path, forbidden: &[String]) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_files_without_secrets(&path, forbidden);
        } else {
            assert_without_secrets(
                &path.display().to_string(),
                &fs::read(&path).unwrap(),
                forbidden,
            );
        }
    }
}

#[track_caller]
fn assert_nowhere(job: &Job<'_>, outcome: &Outcome) {
    let forbidden = forbidden();
    assert_without_secrets("the output", outcome.printed().as_bytes(), &forbidden);
    for place in [
        job.directory.clone(),
        job.project.root().join(".rbench"),
        job.project.storage().join("logs"),
        job.project.beside("documents"),
        job.project.beside("exported.jsonl"),
    ] {
        assert_files_without_secrets(&place, &forbidden);
    }
    for comment in job.api.comments() {
        assert_without_secrets("the comment", comment.body.as_bytes(), &forbidden);
    }
}

#[test]
fn secrets_that_code_prints_appear_nowhere() {
    let project = leaking();
    let job = Job::of_request(&project, "leaking");
    let ci = || with_secrets(job.ci(&[&["-vv"], &QUICK[..]].concat()));
    let outcome = ci().run();
    assert!(outcome.stderr().contains("***"), "{}", outcome.printed());
    let report = job.read("report/compare.json");
    for part in ["\"leaking\"", "***", "\"tool\"", "\"changing\""] {
        assert!(report.contains(part), "no {part} in {report}\n{}", outcome.printed());
    }
    assert!(!job.api.comments().is_empty(), "{}", outcome.printed());
    for place in ["documents", "exported.jsonl"] {
        let place = project.beside(place);
        let push = project.rbench(&["push", place.to_str().unwrap()]);
        with_secrets(push).ok();
        assert!(place.exists());
    }
    assert_nowhere(&job, &outcome);

    let json = with_secrets(job.ci(&["--stored", "--format", "json"])).run();
    assert_nowhere(&job, &json);
}

#[test]
fn secrets_in_errors_and_names_appear_nowhere() {
    let project = leaking();
    let job = Job::of_request(&project, "failing");
    let ci = || with_secrets(job.ci(&[&["-v"], &QUICK[..]].concat()));
    let toml = project.read("bench.toml");
    project.write("bench.toml", "[setup]\nprepare = \"cat planted; exit 3\"\n");
    let outcome = ci().fails_with(3);
    outcome.assert_stderr_has(&["`prepare` of a set-up failed", "***"]);
    assert_nowhere(&job, &outcome);
    project.write("bench.toml", &toml);

    project.replace(
        "benches/work.rs",
        "\"steady\"",
        "&format!(\"of {}\", leak().lines().next().unwrap())",
    );
    project.replace("benches/work.rs", "suite.bench(\"leaking\"", "suite.bench(\"leaking again\"");
    let list = || with_secrets(project.rbench(&["list", "."]));
    let outcome = list().ok();
    outcome.assert_stdout_has(&["of ***", "leaking again"]);
    assert_nowhere(&job, &outcome);

    project.replace(
        "benches/work.rs",
        "    leak();\n    suite",
        "    panic!(\"{}\", leak());\n    suite",
    );
    let outcome = list().run();
    outcome.assert_stderr_has(&["cannot list the benchmarks of", "***"]);
    assert_nowhere(&job, &outcome);

    project.replace("build.rs", "    leak();\n}", "    panic!(\"{}\", leak());\n}");
    let outcome = list().fails_with(3);
    outcome.assert_stderr_has(&["build script of `counted", "***"]);
    assert_nowhere(&job, &outcome);
}
