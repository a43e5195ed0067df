//! The sandbox: what code of a commit finds and reaches while it is compiled, traced, measured and set up.

use std::{
    fs,
    io::Write as _,
    os::unix::net::UnixListener,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::support::{
    TestProject,
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
        fs::remove_dir_all(planted.project.storage()).unwrap();
    }
}

#[test]
fn the_same_code_finds_secrets_outside_of_the_sandbox() {
    let planted = Planted::new();
    let outcome = planted.run(&[], &[&CI[..], &["--no-sandbox"]].concat());
    let printed = outcome.printed();
    for place in ["memory of", ".netrc", "agent.sock"] {
        assert!(printed.contains(place), "{place}: {printed}");
    }
}
