//! The environment of a cargo run: the user's, without what would mix two builds up.
//!
//! Cargo with an inherited `CARGO_TARGET_DIR` builds into a directory that another version may
//! share, and then runs the wrong commit's code. Variables that an outer cargo sets for its own
//! children (this program may have been started by `cargo rbench` or by `cargo test`) describe
//! another package.

use std::ffi::{OsStr, OsString};

/// Set by cargo or rustup for their children, or naming a place to build at: never passed on.
const DROPPED: &[&str] = &[
    "CARGO",
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_INCREMENTAL",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_CRATE_NAME",
    "CARGO_INCREMENTAL",
    "CARGO_MAKEFLAGS",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_MANIFEST_PATH",
    "CARGO_PRIMARY_PACKAGE",
    "CARGO_TARGET_DIR",
    "CARGO_TARGET_TMPDIR",
    "MAKEFLAGS",
    "MFLAGS",
    "OUT_DIR",
    "RUST_RECURSION_COUNT",
];
/// The same, by prefix.
const DROPPED_PREFIXES: &[&str] =
    &["CARGO_BIN_", "CARGO_PKG_", "CARGO_CFG_", "CARGO_FEATURE_", "RBENCH_"];

/// Variables that may change what a compilation produces, by prefix: they are part of its identity.
const IDENTIFYING_PREFIXES: &[&str] = &[
    "AR",
    "CARGO_",
    "CC",
    "CFLAGS",
    "CPPFLAGS",
    "CXX",
    "HOST_",
    "LDFLAGS",
    "LIBRARY_PATH",
    "PKG_CONFIG",
    "RUST",
    "TARGET_",
    "SOURCE_DATE_EPOCH",
];
/// Identifying by prefix, and yet without effect on the product (or secret).
const HARMLESS: &[&str] = &[
    "CARGO_HOME",
    "CARGO_TERM_",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUSTUP_HOME",
    "RUSTUP_AUTO_INSTALL",
    "RUSTUP_TOOLCHAIN_SOURCE",
];

/// Who chose the toolchain in `RUSTUP_TOOLCHAIN`, which rustup sets for every child of a proxy.
const TOOLCHAIN: &str = "RUSTUP_TOOLCHAIN";
const TOOLCHAIN_SOURCE: &str = "RUSTUP_TOOLCHAIN_SOURCE";

/// An environment: names and values, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// The user's environment, fit for building a version that has a toolchain file of its own or
    /// not.
    ///
    /// `cargo rbench` runs through rustup's proxy, which pins the toolchain it chose for the
    /// *working tree*. A version's own toolchain file must win over that, but not over a
    /// `cargo +nightly rbench` or a `RUSTUP_TOOLCHAIN` that the user set.
    pub fn of_user(
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
        has_toolchain_file: bool,
    ) -> Self {
        let mut variables: Vec<_> =
            inherited.into_iter().filter(|(name, _)| !is_dropped(name)).collect();
        let source = variables.iter().find(|(name, _)| name == TOOLCHAIN_SOURCE);
        let chosen_by_user = source.is_some_and(|(_, source)| source == "cli" || source == "env");
        let of_working_tree = source.is_some_and(|(_, source)| source == "toolchain-file");
        if !chosen_by_user && (has_toolchain_file || of_working_tree) {
            variables.retain(|(name, _)| name != TOOLCHAIN);
        }
        variables.retain(|(name, _)| name != TOOLCHAIN_SOURCE);
        variables.sort();
        Self { variables }
    }

    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.into(), value.into()));
        self.variables.sort();
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_os_str())
    }

    /// Names and values, sorted by name.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The variables that may change what a compilation produces.
    pub fn identifying(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables().filter(|(name, _)| {
            let name = name.to_string_lossy();
            let has = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
            has(IDENTIFYING_PREFIXES) && !has(HARMLESS)
        })
    }
}

fn is_dropped(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    DROPPED.contains(&&*name) || DROPPED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(text: &str, has_toolchain_file: bool) -> String {
        let pairs = text.split_whitespace().map(|pair| {
            let (name, value) = pair.split_once('=').unwrap();
            (OsString::from(name), OsString::from(value))
        });
        Environment::of_user(pairs, has_toolchain_file)
            .variables()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn a_shared_target_dir_and_an_outer_cargo_are_not_inherited() {
        let inherited =
            "CARGO_TARGET_DIR=/shared CARGO_PKG_NAME=x CARGO=/c MAKEFLAGS=-j2 HOME=/h RUSTFLAGS=-g";
        assert_eq!(environment(inherited, false), "HOME=/h RUSTFLAGS=-g");
    }

    #[test]
    fn a_toolchain_file_of_the_version_wins_over_what_rustup_chose_for_the_working_tree() {
        let chosen = |source| format!("RUSTUP_TOOLCHAIN=t RUSTUP_TOOLCHAIN_SOURCE={source}");
        assert_eq!(environment(&chosen("default"), true), "");
        assert_eq!(environment(&chosen("default"), false), "RUSTUP_TOOLCHAIN=t");
        assert_eq!(environment(&chosen("toolchain-file"), false), "");
        assert_eq!(environment(&chosen("path-override"), false), "RUSTUP_TOOLCHAIN=t");
    }

    #[test]
    fn a_toolchain_the_user_asked_for_wins_over_every_file() {
        assert_eq!(
            environment("RUSTUP_TOOLCHAIN=n RUSTUP_TOOLCHAIN_SOURCE=cli", true),
            "RUSTUP_TOOLCHAIN=n"
        );
        assert_eq!(
            environment("RUSTUP_TOOLCHAIN=n RUSTUP_TOOLCHAIN_SOURCE=env", true),
            "RUSTUP_TOOLCHAIN=n"
        );
    }

    #[test]
    fn flags_identify_a_compilation_and_secrets_do_not() {
        let mut environment = Environment::default();
        for name in ["RUSTFLAGS", "CARGO_PROFILE_BENCH_LTO", "CARGO_REGISTRY_TOKEN", "HOME", "CC"] {
            environment.set(name, "x");
        }
        let names: Vec<_> = environment.identifying().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["CARGO_PROFILE_BENCH_LTO", "CC", "RUSTFLAGS"]);
    }
}
