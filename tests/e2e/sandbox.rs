//! The sandbox: what code of a commit finds and reaches while it is compiled, traced, measured and set up.

use std::{
    fs,
    io::Write as _,
    os::unix::net::UnixListener,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::support::{
    QUICK, TestProject,
    project::WITH_HARNESS,
    rbench::{Outcome, PROGRAM},
};

/// The beginning of every planted value.
const MARK: &str = "planted-secret-";

/// Variables that hold secrets on machines of developers and of CI.
const VARIABLES: [&str; 27] = [
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "CARGO_REGISTRIES_OWN_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "CI_JOB_TOKEN",
    "CI_REGISTRY_PASSWORD",
    "CODECOV_TOKEN",
    "DATABASE_PASSWORD",
    "DEPLOY_PAT",
    "DOCKER_AUTH_CONFIG",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "GPG_PASSPHRASE",
    "NPM_TOKEN",
    "PGPASSWORD",
    "RBENCH_TEST_UNUSED_TOKEN",
    "SENTRY_AUTH_TOKEN",
    "SIGNING_KEY",
    "SLACK_TOKEN",
    "SSH_PRIVATE_KEY",
    "VAULT_TOKEN",
    "WEBHOOK_SECRET",
];

/// Files with credentials, below the user's home.
const FILES: [&str; 11] = [
    ".aws/credentials",
    ".cargo/credentials.toml",
    ".config/gh/hosts.yml",
    ".docker/config.json",
    ".git-credentials",
    ".gitconfig",
    ".gnupg/secring.gpg",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".ssh/id_ed25519",
];

/// A project whose code looks for secrets, with secrets planted around it.
struct Planted {
    project: TestProject,
    /// Makes the agent stop.
    is_over: Arc<AtomicBool>,
}

impl Planted {
    fn new() -> Self {
        let project = TestProject::of("curious");
        project.write(
            "bench.toml",
            "[setup]\nsetup = 'grep -qas planted[-]secret- /proc/[0-9]*/environ ~/.netrc && echo the \
             set-up found a secret && exit 1 || exit 0'\n\n[[command]]\nid = \"program\"\nbench = \
             \"program\"\n",
        );
        project.replace("benches/search.rs", "0..1_000", "0..1_001");
        project.commit("Do more");
        for (number, name) in FILES.iter().enumerate() {
            let path = project.home().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{MARK}{number}")).unwrap();
        }
        let extra = format!("AUTHORIZATION: basic {MARK}extra");
        project.git(&["config", "http.https://example.org/.extraheader", &extra]);
        let is_over = Arc::new(AtomicBool::new(false));
        serve(&project.home().join("agent.sock"), &is_over);
        Self { project, is_over }
    }

    /// Runs rbench below a shell that has the secrets in its variables and in its arguments.
    fn run(&self, prefix: &[&str], arguments: &[&str]) -> Outcome {
        let script = format!("\"$@\"; code=$?; : {MARK}argument; exit $code");
        let words =
            [&["-c", &script, "sh"], prefix, &[PROGRAM], arguments, &[WITH_HARNESS]].concat();
        let mut shell = self.project.rbench(&words).program("sh");
        for (number, name) in VARIABLES.iter().enumerate() {
            shell = shell.env(name, format!("{MARK}{number}"));
        }
        shell.run()
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

/// An agent, which tells everybody who connects its secret.
fn serve(path: &Path, is_over: &Arc<AtomicBool>) {
    let listener = UnixListener::bind(path).unwrap();
    listener.set_nonblocking(true).unwrap();
    let is_over = Arc::clone(is_over);
    thread::spawn(move || {
        while !is_over.load(Ordering::SeqCst) {
            if let Ok((mut socket, _)) = listener.accept() {
                let _ = socket.write_all(format!("{MARK}agent").as_bytes());
            }
            thread::sleep(std::time::Duration::from_millis(5));
        }
    });
}

const CI: [&str; 12] = [
    "ci",
    "--provider=none",
    "--base=HEAD~1",
    "--head=HEAD",
    "--config=build.strategy=relink",
    "-l",
    "2",
    "-n",
    "3",
    "--no-comment",
    "--fail-on=never",
    "--no-skip",
];

/// A user without privileges, to whom the files belong all the same.
const ORDINARY: [&str; 4] = ["unshare", "--user", "--map-user=1000", "--map-group=1000"];

#[test]
fn code_of_a_commit_finds_no_secret() {
    let planted = Planted::new();
    for prefix in [&[][..], &ORDINARY] {
        let outcome = planted.run(prefix, &CI).assert_exit(0);
        outcome.assert_stderr_has(&["sandbox: Landlock "]);
        let printed = outcome.printed();
        assert!(!printed.contains("found a secret"), "{printed}");
        assert!(printed.contains("search") && printed.contains("program"), "{printed}");
        assert!(printed.contains("code of the commits ran in the sandbox"), "{printed}");
        fs::remove_dir_all(planted.project.storage()).unwrap();
    }
}

#[test]
fn the_same_code_finds_secrets_outside_of_the_sandbox() {
    let planted = Planted::new();
    planted.run(&[], &[&CI[..], &["--no-sandbox"]].concat());
    let logs = fs::read_dir(planted.project.storage().join("logs")).unwrap().flatten();
    let log: String = logs.filter_map(|log| fs::read_to_string(log.path()).ok()).collect();
    for place in ["environ of process", "cmdline of", "memory of", ".netrc", "agent.sock"] {
        assert!(log.contains(place), "{place}: {log}");
    }
}

#[test]
fn job_beside_secrets_is_refused_where_the_kernel_cannot_confine() {
    let project = TestProject::of("compared");
    project.commit("Nothing");
    let run = |token: &str, more: &[&str]| {
        let words = [&CI[..], more].concat();
        project.rbench(&words).env("GITHUB_TOKEN", token).without_landlock().run()
    };
    let refused = run("a-token-of-this-job", &[]).assert_exit(2);
    refused.assert_stderr_has(&["no Landlock", "GITHUB_TOKEN", "--no-sandbox"]);
    let without = run("", &[]).assert_exit(0);
    without.assert_stderr_has(&["note: cannot confine"]);
    let unconfined = run("a-token-of-this-job", &["--no-sandbox"]).assert_exit(0);
    for (outcome, reason) in [(without, "the kernel has no Landlock"), (unconfined, "--no-sandbox")]
    {
        let line = format!("code of the commits ran outside of the sandbox: {reason}");
        assert!(outcome.printed().contains(&line), "{}", outcome.printed());
    }
}

#[test]
fn benchmarks_in_the_sandbox_are_interleaved() {
    let project = TestProject::of("compared");
    project.replace("src/lib.rs", "= 1_000", "= 1_100");
    project.commit("Do more");
    let printed = project.rbench(&CI).run().assert_exit(0).printed();
    assert!(printed.contains("changing") && !printed.contains("sequentially"), "{printed}");
}

fn without_line_breaks(outcome: &Outcome) -> String {
    outcome.printed().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs the comparison of a project that needs something outside of it, first without and then with an exception.
fn refused_and_permitted(project: &TestProject, exception: &str) {
    let printed = without_line_breaks(&project.rbench(&CI).run());
    let line = format!(
        "in bench.toml of the base (in a change, it holds once merged): [sandbox] {exception}"
    );
    assert!(printed.contains(&line), "{line}: {printed}");
    // The last value of a key applies.
    let with = exception.strip_prefix("read = [").map_or_else(
        || format!("--config=sandbox.{exception}"),
        |paths| format!("{}, {paths}", WITH_HARNESS.trim_end_matches(']')),
    );
    project.rbench(&[&CI[..], &[&with]].concat()).run().assert_exit(0);
}

#[test]
fn file_that_a_benchmark_needs_is_named_with_the_line_to_add() {
    let project = TestProject::of("compared");
    let corpus = project.beside("corpus");
    fs::write(&corpus, "text").unwrap();
    let corpus = corpus.display().to_string();
    let read =
        format!("{{ std::fs::read({corpus:?}).unwrap(); bencher.iter(compared::changing) }}");
    project.replace("benches/work.rs", "bencher.iter(compared::changing)", &read);
    project.commit("Read a file");
    let at_the_desk = ["compare", "HEAD~1", "HEAD", "--sandbox", WITH_HARNESS];
    let outcome = project.rbench(&[&at_the_desk, &QUICK[..]].concat()).run();
    let printed = without_line_breaks(&outcome);
    assert!(
        printed.contains(&format!("in bench.toml: [sandbox] read = [{corpus:?}]")),
        "{printed}"
    );
    refused_and_permitted(&project, &format!("read = [{corpus:?}]"));
}

#[test]
fn file_that_a_build_script_does_not_find_is_named_with_the_line_to_add() {
    let project = TestProject::of("compared");
    let tool = project.beside("tool");
    fs::write(&tool, "text").unwrap();
    let tool = tool.display().to_string();
    let script = format!(
        "fn main() {{\n    assert!(std::fs::read({tool:?}).is_ok(), \"no tool found\");\n}}\n"
    );
    project.write("build.rs", &script);
    project.commit("Look for a tool");
    // Cargo looks there, and nobody should open it.
    fs::write(project.home().join(".gitconfig"), "").unwrap();
    let printed = project.rbench(&CI).run().printed();
    assert!(!printed.contains(".gitconfig"), "{printed}");
    refused_and_permitted(&project, &format!("read = [{tool:?}]"));
}

#[test]
fn package_outside_of_the_repository_is_named_with_what_to_add() {
    let project = TestProject::of("sums");
    let package = project.beside("cfg-if");
    project.append("Cargo.toml", &format!("[dependencies]\ncfg-if = {{ path = {package:?} }}\n"));
    fs::remove_file(project.root().join("Cargo.lock")).unwrap();
    fs::create_dir_all(package.join("src")).unwrap();
    let manifest =
        "[package]\nname = 'cfg-if'\nversion = '1.0.0'\nedition = '2021'\n\n[workspace]\n";
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::write(package.join("src/lib.rs"), "").unwrap();
    project.commit("Use a package outside");
    let words = ["ci", "--provider", "none", "--base", "HEAD", "--head", "HEAD"];
    let printed = without_line_breaks(&project.rbench(&words).run().assert_exit(2));
    let option = format!("--config 'sandbox.read=[{package:?}]'");
    assert!(printed.contains(&format!("if it is needed, add: {option}")), "{printed}");
    let listed = || project.rbench(&["list", "HEAD", "--sandbox"]).run();
    let line = format!("[sandbox] read = [{package:?}]");
    let printed = without_line_breaks(&listed().assert_exit(2));
    assert!(printed.contains(&format!("if it is needed, in bench.toml: {line}")), "{printed}");
    project.write("bench.toml", &format!("{}\n", line.replace("] read", "]\nread")));
    // The fixture has no harness, which is found only afterwards.
    listed().assert_stderr_has(&["compiled HEAD"]);
}

#[test]
fn directory_that_a_build_script_writes_is_named_with_the_line_to_add() {
    let project = TestProject::of("compared");
    let place = project.beside("notes");
    fs::create_dir(&place).unwrap();
    let place = place.display().to_string();
    project.write(
        "build.rs",
        &format!("fn main() {{\n    std::fs::write(\"{place}/a\", \"\").unwrap();\n}}\n"),
    );
    project.commit("Write a file");
    refused_and_permitted(&project, &format!("write = [{place:?}]"));
}

#[test]
fn daemon_of_a_build_script_ends_with_the_compilation() {
    for flag in ["--sandbox", "--no-sandbox"] {
        let project = TestProject::of("compared");
        project.write(
            "build.rs",
            r#"fn main() {
                let daemon = "exec >/dev/null 2>&1; setsid sh -c 'setsid sleep 361.7 &' & \
                    perl -MPOSIX -e 'while (1) { exit if fork; POSIX::setsid(); $0 = q(sleep 361.7) }' &";
                std::process::Command::new("sh").args(["-c", daemon]).status().unwrap();
            }"#,
        );
        project.commit("Start a daemon");
        project.rbench(&["build", "-l", "1", flag, WITH_HARNESS]).ok();
        let is_left = fs::read_dir("/proc").unwrap().flatten().any(|process| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("361.7")
        });
        assert!(!is_left, "{flag}");
    }
}

/// A home of cargo with a registry that has one package, which is not unpacked yet.
fn cargo_home_with_package(project: &TestProject) -> String {
    let home = project.beside("cargo-home");
    let registry = home.join("registry/own");
    let script = "mkdir -p index/el/se elsewhere-1.0.0/src && cd elsewhere-1.0.0 && touch src/lib.rs && \
                  printf '[package]\nname = \"elsewhere\"\nversion = \"1.0.0\"\n' > Cargo.toml && cd .. && \
                  tar -czf elsewhere-1.0.0.crate elsewhere-1.0.0 && sum=$(sha256sum elsewhere-1.0.0.crate) && \
                  printf '{\"name\":\"elsewhere\",\"vers\":\"1.0.0\",\"deps\":[],\"cksum\":\"%s\",\"features\":{},\"yanked\":false}\n' \
                  \"${sum%% *}\" > index/el/se/elsewhere";
    fs::create_dir_all(&registry).unwrap();
    let made = Command::new("sh").args(["-ec", script]).current_dir(&registry).status().unwrap();
    assert!(made.success());
    let config = format!(
        "[source.crates-io]\nreplace-with = 'own'\n[source.own]\nlocal-registry = '{}'\n",
        registry.display()
    );
    fs::write(home.join("config.toml"), config).unwrap();
    home.display().to_string()
}

#[test]
fn packages_for_other_platforms_are_there_before_the_sandbox_is() {
    let project = TestProject::of("compared");
    let home = cargo_home_with_package(&project);
    project.append("Cargo.toml", "\n[target.'cfg(windows)'.dependencies]\nelsewhere = \"1\"\n");
    project.commit("Depend on something for Windows");
    let list = project.rbench(&["list", "--sandbox", WITH_HARNESS]).env("CARGO_HOME", &home);
    list.env("CARGO_NET_OFFLINE", "false").run().assert_exit(0);
    let unpacked = fs::read_dir(format!("{home}/registry/src")).unwrap().flatten();
    assert!(unpacked.into_iter().any(|registry| registry.path().join("elsewhere-1.0.0").exists()));
}
