//! The environment variables that code of a commit inherits: build scripts, procedural macros, benchmarks, set-ups and
//! programs. Pure; [`secrets`](crate::secrets) applies it.

use super::secret::{SecretValues, is_secret};

/// Names of variables, separated by white space: `NAME`, or `PREFIX_*` for all names that begin with `PREFIX_`.
struct Names(&'static str);

impl Names {
    fn contain(&self, name: &str) -> bool {
        self.0.split_whitespace().any(|pattern| matches(pattern, name))
    }
}

/// Without these, no program runs as the user expects. They are passed even if a secret's value occurs in one: such a
/// secret is a word like the name of the user.
const ESSENTIAL: Names = Names(
    "
    CARGO_HOME HOME LANG LOGNAME PATH PWD RUSTUP_HOME SHELL TERM TMPDIR TZ USER
",
);

/// The variables that code inherits in CI: what programs and compilers usually read. Of these, too, those whose names
/// or values look like secrets are not inherited.
const LISTED: Names = Names(
    "
    ALL_PROXY AR_* ARFLAGS AR BINDGEN_* CARGO CARGO_* CC CC_* CFLAGS CFLAGS_* CLICOLOR CLICOLOR_FORCE CMAKE CMAKE_*
    COLORTERM COLUMNS COMPILER_PATH CPATH CPLUS_INCLUDE_PATH CPPFLAGS CPPFLAGS_* CRATE_CC_NO_DEFAULTS CROSS_COMPILE CXX
    CXX_* CXXFLAGS CXXFLAGS_* CXXSTDLIB CXXSTDLIB_* C_INCLUDE_PATH GCC_EXEC_PREFIX GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM HOST_* HTTPS_PROXY HTTP_PROXY LC_*
    LDFLAGS LDFLAGS_* LD_LIBRARY_PATH LIBCLANG_PATH LIBRARY_PATH LLVM_* MALLOC_* NIX_* NO_COLOR NO_PROXY OPENSSL_*
    PKG_CONFIG PKG_CONFIG_* PROTOC PROTOC_INCLUDE RANLIB RANLIBFLAGS RANLIBFLAGS_* RANLIB_* RUST* SOURCE_DATE_EPOCH
    SQLX_OFFLINE SSL_CERT_DIR SSL_CERT_FILE TARGET_* XDG_CACHE_HOME XDG_CONFIG_HOME all_proxy http_proxy https_proxy
    no_proxy
",
);

/// Inherited in CI with the value `true` only: they say that a program runs there.
const FLAGS: Names = Names("CI GITHUB_ACTIONS GITLAB_CI");

/// Access that has another name than a secret: sockets of agents, of the session and of systemd, what a runner gives its
/// own actions, and git's configuration, which has the header with the token in CI.
const ACCESS: Names = Names(
    "
    ACTIONS_* DBUS_SESSION_BUS_ADDRESS GIT_CONFIG_COUNT GIT_CONFIG_KEY_* GIT_CONFIG_PARAMETERS GIT_CONFIG_VALUE_*
    GPG_AGENT_INFO JOURNAL_STREAM LISTEN_FDS LISTEN_PID NOTIFY_SOCKET SSH_AGENT_PID
    SSH_AUTH_SOCK
",
);

/// Never passed: who writes to the files of a runner decides about later steps of the job, and rbench's own variables
/// are no code's concern.
const NEVER: Names = Names(
    "
    GITHUB_ENV GITHUB_OUTPUT GITHUB_PATH GITHUB_STATE GITHUB_STEP_SUMMARY RBENCH_*
",
);

/// Variables that cargo, rustup or git (for hooks) set for their children, or that name a directory to build in; no
/// build inherits them.
const OF_OUTER_BUILDS: Names = Names(
    "
    CARGO CARGO_BIN_* CARGO_BUILD_BUILD_DIR CARGO_BUILD_INCREMENTAL CARGO_BUILD_TARGET_DIR CARGO_CFG_* CARGO_CRATE_NAME
    CARGO_FEATURE_* CARGO_INCREMENTAL CARGO_MAKEFLAGS CARGO_MANIFEST_DIR CARGO_MANIFEST_LINKS CARGO_MANIFEST_PATH
    CARGO_PKG_* CARGO_PRIMARY_PACKAGE CARGO_TARGET_DIR CARGO_TARGET_TMPDIR GIT_ALTERNATE_OBJECT_DIRECTORIES
    GIT_COMMON_DIR GIT_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_WORK_TREE MAKEFLAGS MFLAGS OUT_DIR RBENCH_*
    RUST_RECURSION_COUNT
",
);

/// Variables that would change how a benchmark behaves; no execution inherits them.
const OF_HARNESSES: Names = Names(
    "
    CARGO_CRITERION_* CODSPEED_* CRITERION_* DIVAN_* NEXTEST* RBENCH_* RUST_BACKTRACE* RUST_TEST_*
",
);

/// The agent that cargo asks where it fetches dependencies by SSH.
pub const SSH_AGENT: &str = "SSH_AUTH_SOCK";

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}

/// True if no build inherits the variable.
pub fn is_of_outer_build(name: &str) -> bool {
    OF_OUTER_BUILDS.contain(name)
}

/// True if no execution of a benchmark inherits the variable.
pub fn is_of_harness(name: &str) -> bool {
    OF_HARNESSES.contain(name)
}

/// True if the variable is no code's concern, whoever asks for it.
pub fn is_never_passed(name: &str) -> bool {
    NEVER.contain(name)
}

/// The variables that code of a commit inherits without being named in bench.toml.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inheritance {
    /// All but those that look like secrets: for a developer's own commits.
    #[default]
    AllButSecrets,
    /// A list, since the environment of a CI job has secrets by any name.
    Listed,
}

impl Inheritance {
    /// True if code inherits this variable. `secrets` are the values of all variables that look like secrets.
    pub fn includes(self, name: &str, value: &str, secrets: &SecretValues) -> bool {
        if ESSENTIAL.contain(name) {
            return true;
        }
        if NEVER.contain(name) || looks_secret(name) || secrets.are_in(value) {
            return false;
        }
        match self {
            Self::AllButSecrets => true,
            Self::Listed => LISTED.contain(name) || (FLAGS.contain(name) && value == "true"),
        }
    }
}

/// True if everybody may see the variable.
pub fn is_essential(name: &str) -> bool {
    ESSENTIAL.contain(name)
}

/// True if the name suggests that the variable gives access to something.
pub fn looks_secret(name: &str) -> bool {
    is_secret(name) || ACCESS.contain(name)
}

/// The variables that `pass-environment` in bench.toml names, besides those that code inherits anyway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassedNames(Vec<String>);

impl PassedNames {
    /// Checks the names. Fails with the reason for which one cannot be passed.
    pub fn parse(names: Vec<String>) -> Result<Self, String> {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for name in &names {
            let prefix = name.strip_suffix('*').unwrap_or(name);
            if prefix.is_empty() || !prefix.chars().all(is_letter) {
                return Err(format!("`{name}` is neither NAME nor PREFIX_*"));
            }
            if is_never_passed(name) {
                return Err(format!("no code gets the variable {name}"));
            }
        }
        Ok(Self(names))
    }

    /// True if this variable is to be passed. One that looks like a secret has to be named in full.
    pub fn include(&self, name: &str, value: &str, secrets: &SecretValues) -> bool {
        if is_never_passed(name) {
            return false;
        }
        if self.0.iter().any(|passed| passed == name) {
            return true;
        }
        let is_named = self.0.iter().any(|passed| matches(passed, name));
        is_named && !looks_secret(name) && !secrets.are_in(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> SecretValues {
        let variables = [("A_TOKEN", "s3cret-value"), ("DB_PASS", "/home")];
        SecretValues::of_variables(variables)
    }

    fn included(inheritance: Inheritance, variables: &[(&str, &str)]) -> Vec<String> {
        let secrets = secrets();
        let included =
            variables.iter().filter(|(name, value)| inheritance.includes(name, value, &secrets));
        included.map(|(name, _)| (*name).to_owned()).collect()
    }

    #[test]
    fn secrets_are_never_inherited() {
        let variables = [
            ("GITHUB_TOKEN", "x"),
            ("OTHER_NAME", "s3cret-value"),
            ("CC", "cc --token=s3cret-value"),
            ("DATABASE_URL", "postgres://me:s3cret@db/x"),
            ("HTTPS_PROXY", "http://me:s3cret@proxy:3128"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("CREDENTIALS_DIRECTORY", "/run/credentials"),
            ("ACTIONS_RESULTS_URL", "https://results"),
            ("GITHUB_ENV", "/tmp/env"),
            ("RBENCH_SHARED", "/results"),
        ];
        for inheritance in [Inheritance::AllButSecrets, Inheritance::Listed] {
            assert_eq!(included(inheritance, &variables), [""; 0]);
        }
    }

    #[test]
    fn essential_variables_are_inherited_whatever_a_password_is() {
        let variables = [("HOME", "/home/me"), ("PATH", "/home/me/bin:/bin"), ("USER", "me")];
        for inheritance in [Inheritance::AllButSecrets, Inheritance::Listed] {
            assert_eq!(included(inheritance, &variables).len(), 3);
        }
    }

    #[test]
    fn other_variables_are_inherited_if_listed_or_at_the_desk() {
        let listed = [
            ("LC_ALL", "C"),
            ("RUSTFLAGS", "-g"),
            ("CARGO_PROFILE_BENCH_LTO", "true"),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", "clang"),
            ("CC_x86_64_unknown_linux_gnu", "gcc"),
            ("PKG_CONFIG_PATH", "/opt"),
            ("HTTPS_PROXY", "http://proxy:3128"),
            ("CI", "true"),
        ];
        let others = [("WORK", "1"), ("CI", "1"), ("GITHUB_SHA", "abc"), ("MAKEFLAGS", "-j")];
        assert_eq!(included(Inheritance::Listed, &listed).len(), listed.len());
        assert_eq!(included(Inheritance::Listed, &others), [""; 0]);
        let all = [&listed[..], &others].concat();
        assert_eq!(included(Inheritance::AllButSecrets, &all).len(), all.len());
    }

    #[test]
    fn passed_names_include_a_secret_only_in_full() {
        let names = ["DATA_*", "DB_KEY"].map(str::to_owned).to_vec();
        let names = PassedNames::parse(names).unwrap();
        let secrets = secrets();
        let include = |name, value| names.include(name, value, &secrets);
        assert!(include("DATA_SET", "small") && include("DB_KEY", "s3cret"));
        assert!(!include("DATA_KEY", "s3cret") && !include("DATA_SET", "s3cret-value"));
        assert!(!include("DB_KEY_2", "s3cret") && !include("WORK", "1"));
    }

    #[test]
    fn passed_names_are_checked() {
        let parse = |name: &str| PassedNames::parse(vec![name.to_owned()]);
        for refused in ["*", "", "A B", "A*B", "A=1", "GITHUB_ENV", "RBENCH_SHARED", "RBENCH_*"] {
            assert!(parse(refused).is_err(), "{refused}");
        }
        let all_of_the_runner = parse("GITHUB_*").unwrap();
        assert!(all_of_the_runner.include("GITHUB_SHA", "abc", &SecretValues::default()));
        assert!(!all_of_the_runner.include("GITHUB_ENV", "/env", &SecretValues::default()));
    }
}
