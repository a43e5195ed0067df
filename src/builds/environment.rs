//! The environment of a cargo run: the user's environment without variables that would mix up two builds. Also selects
//! the variables that identify a compilation.
//!
//! With an inherited `CARGO_TARGET_DIR`, cargo builds into a directory that another version may share, and then runs
//! the wrong commit's code. Variables that an outer cargo sets for its own children (`cargo rbench` or `cargo test`
//! may have started this program) describe another package.

use std::ffi::{OsStr, OsString};

use crate::model::{secret::hash_of, variables::is_of_outer_build};

/// Variables that change the output of cargo, rustc, linkers and C compilers. Others that a build script reads are
/// [conditions](super::conditions) of a compilation.
const IDENTIFYING: &str = "
    CARGO_BUILD_DEP_INFO_BASEDIR CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER
    CARGO_BUILD_RUSTC_WRAPPER CARGO_BUILD_RUSTFLAGS CARGO_BUILD_TARGET CARGO_ENCODED_RUSTFLAGS
    COMPILER_PATH CPATH CPLUS_INCLUDE_PATH CRATE_CC_NO_DEFAULTS CROSS_COMPILE C_INCLUDE_PATH
    GCC_EXEC_PREFIX LIBCLANG_PATH LIBRARY_PATH LLVM_CONFIG_PATH RUSTC RUSTC_BOOTSTRAP
    RUSTC_WORKSPACE_WRAPPER RUSTC_WRAPPER RUSTFLAGS SOURCE_DATE_EPOCH
";
/// Prefixes of such variables; the rest of the name is the name of a setting.
const IDENTIFYING_PREFIXES: &str = "
    CARGO_PROFILE_ CARGO_RESOLVER_ CARGO_UNSTABLE_
";
/// The settings of a target, as `CARGO_TARGET_<TRIPLE>_<SETTING>`, and of the host.
const TARGET_SETTINGS: &str = "
    _LINKER _RUSTFLAGS
";
/// Variables that build scripts look up through the crates cc, cmake, pkg-config and bindgen: unchanged, as
/// `<NAME>_<triple>`, `HOST_<NAME>` and `TARGET_<NAME>`.
const OF_BUILD_SCRIPTS: &str = "
    AR ARFLAGS BINDGEN_EXTRA_CLANG_ARGS CC CFLAGS CMAKE CMAKE_GENERATOR CMAKE_PREFIX_PATH
    CMAKE_TOOLCHAIN_FILE CPPFLAGS CXX CXXFLAGS CXXSTDLIB LDFLAGS PKG_CONFIG PKG_CONFIG_ALL_DYNAMIC
    PKG_CONFIG_ALL_STATIC PKG_CONFIG_ALLOW_CROSS PKG_CONFIG_LIBDIR PKG_CONFIG_PATH
    PKG_CONFIG_SYSROOT_DIR RANLIB RANLIBFLAGS
";

/// The variables of the toolchain that rustup chose, and of the reason; rustup's proxy sets both for its children.
pub(super) const TOOLCHAIN: &str = "RUSTUP_TOOLCHAIN";
const TOOLCHAIN_SOURCE: &str = "RUSTUP_TOOLCHAIN_SOURCE";

/// An environment: names and values, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// The user's environment for building a version; `has_toolchain_file` is true if the version has its own
    /// toolchain file.
    ///
    /// `cargo rbench` runs through rustup's proxy, which pins the toolchain that it chose for the *working tree*. A
    /// version's own toolchain file must take precedence over that, but not over `cargo +nightly rbench` or a
    /// `RUSTUP_TOOLCHAIN` that the user set.
    pub fn from_user(
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
        has_toolchain_file: bool,
    ) -> Self {
        let mut variables: Vec<_> = inherited
            .into_iter()
            .filter(|(name, _)| !is_of_outer_build(&name.to_string_lossy()))
            .collect();
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

    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.remove(name);
        self.variables.push((name.into(), value.into()));
        self.variables.sort();
    }

    pub fn remove(&mut self, name: &str) {
        self.variables.retain(|(other, _)| other != name);
    }

    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_os_str())
    }

    /// Names and values, sorted by name.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The [identifying](Self::identifying) variables as `NAME=blake3:<16 hex digits>`; only hashes, since a value may
    /// be a secret.
    pub fn identity(&self) -> Vec<String> {
        let hashed = |(name, value): (&OsStr, &OsStr)| {
            format!("{}={}", name.display(), hash_of(value.as_encoded_bytes()))
        };
        self.identifying().map(hashed).collect()
    }

    /// The variables that may change the output of a compilation.
    ///
    /// The toolchain's name is not included: the output of `rustc -vV` identifies it.
    pub fn identifying(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables().filter(|(name, _)| name.to_str().is_some_and(is_identifying))
    }
}

fn is_identifying(name: &str) -> bool {
    let of_a_target = || {
        (name.starts_with("CARGO_TARGET_") || name.starts_with("CARGO_HOST_"))
            && words(TARGET_SETTINGS).any(|setting| name.ends_with(setting))
    };
    words(IDENTIFYING).any(|known| name == known)
        || words(IDENTIFYING_PREFIXES).any(|prefix| name.starts_with(prefix))
        || of_a_target()
        || words(OF_BUILD_SCRIPTS).any(|known| is_form_of(name, known))
}

fn words(list: &str) -> std::str::SplitWhitespace<'_> {
    list.split_whitespace()
}

/// True if a build script that looks up `known` also looks up `name`.
fn is_form_of(name: &str, known: &str) -> bool {
    let name = name.strip_prefix("HOST_").or(name.strip_prefix("TARGET_")).unwrap_or(name);
    let Some(rest) = name.strip_prefix(known) else { return false };
    rest.is_empty() || rest.strip_prefix('_').is_some_and(is_triple)
}

/// True if this may name a target: `x86_64-unknown-linux-gnu`, or the same with underscores. Names of other variables
/// continue in capitals.
fn is_triple(text: &str) -> bool {
    text.split(['-', '_']).count() > 2
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(text: &str, has_toolchain_file: bool) -> String {
        let pairs = text.split_whitespace().map(|pair| {
            let (name, value) = pair.split_once('=').unwrap();
            (OsString::from(name), OsString::from(value))
        });
        Environment::from_user(pairs, has_toolchain_file)
            .variables()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn shared_target_dir_and_outer_cargo_are_not_inherited() {
        let inherited =
            "CARGO_TARGET_DIR=/shared CARGO_PKG_NAME=x CARGO=/c MAKEFLAGS=-j2 HOME=/h RUSTFLAGS=-g";
        assert_eq!(environment(inherited, false), "HOME=/h RUSTFLAGS=-g");
    }

    #[test]
    fn toolchain_file_of_the_version_overrides_rustup() {
        let chosen = |source| format!("RUSTUP_TOOLCHAIN=t RUSTUP_TOOLCHAIN_SOURCE={source}");
        assert_eq!(environment(&chosen("default"), true), "");
        assert_eq!(environment(&chosen("default"), false), "RUSTUP_TOOLCHAIN=t");
        assert_eq!(environment(&chosen("toolchain-file"), false), "");
        assert_eq!(environment(&chosen("path-override"), false), "RUSTUP_TOOLCHAIN=t");
    }

    #[test]
    fn toolchain_from_the_user_overrides_every_file() {
        assert_eq!(
            environment("RUSTUP_TOOLCHAIN=n RUSTUP_TOOLCHAIN_SOURCE=cli", true),
            "RUSTUP_TOOLCHAIN=n"
        );
        assert_eq!(
            environment("RUSTUP_TOOLCHAIN=n RUSTUP_TOOLCHAIN_SOURCE=env", true),
            "RUSTUP_TOOLCHAIN=n"
        );
    }

    fn identifying(names: &[&str]) -> Vec<String> {
        let mut environment = Environment::default();
        for name in names {
            environment.set(name, "x");
        }
        environment.identifying().map(|(name, _)| name.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn compiler_variables_identify_in_all_their_forms() {
        let names = [
            "AR_aarch64-unknown-linux-gnu",
            "CARGO_PROFILE_BENCH_LTO",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
            "CC",
            "CC_x86_64_unknown_linux_gnu",
            "HOST_CFLAGS",
            "PKG_CONFIG_PATH_x86_64-unknown-linux-gnu",
            "RUSTFLAGS",
            "TARGET_CC",
        ];
        assert_eq!(identifying(&names), names);
    }

    #[test]
    fn variables_with_similar_names_do_not_identify() {
        let names = [
            "ARTIFACTORY_TOKEN",
            "ARM_CLIENT_SECRET",
            "AR_TOKEN",
            "CARGO_REGISTRY_TOKEN",
            "CARGO_TOKEN2",
            "CARGO_TARGET_SECRET",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "CARGO_TERM_COLOR",
            "CC_SECRET",
            "CC_TEST_REPORTER_ID",
            "CC_token",
            "CCACHE_REMOTE_STORAGE",
            "HOME",
            "CARGO_HOST_TOKEN",
            "HOST_KEY",
            "RUST_LOG",
            "TARGET_DB_PASSWORD",
        ];
        assert_eq!(identifying(&names), [""; 0]);
    }

    #[test]
    fn identity_has_only_hashes_of_values() {
        let identity = |value| {
            let mut environment = Environment::default();
            environment.set("RUSTFLAGS", value);
            environment.identity()
        };
        assert_eq!(identity("--cfg secret"), ["RUSTFLAGS=blake3:5df3ac63131a010b"]);
        assert_ne!(identity("--cfg other"), identity("--cfg secret"));
    }

    #[test]
    fn toolchain_name_does_not_identify() {
        assert_eq!(identifying(&["RUSTUP_TOOLCHAIN"]), [""; 0]);
    }
}
