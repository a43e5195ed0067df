//! The rustc wrapper: passes every compiler call through, with a hash for symbols that no version number changes, and
//! sets the linker shim as the linker of each bench target.
//!
//! At this point the command is final, whichever config file, `[target]` table or `RUSTFLAGS` produced it, so none of
//! the user's settings have to be parsed or repeated.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use super::{key::KeyMaker, recipe::Recipe, role, tool};

/// Passes the directory of the wrapper and the shims to the wrapper.
pub const BIN_VARIABLE: &str = "RBENCH_BIN";
/// Passes the user's own `RUSTC_WORKSPACE_WRAPPER`, which then runs rustc.
pub const USERS_WRAPPER_VARIABLE: &str = "RBENCH_WORKSPACE_WRAPPER";
/// Passes the linker for the shim to run, if the user chose one.
pub const LINKER_VARIABLE: &str = "RBENCH_LINKER";
/// Passes a salt for `-C metadata`, if builds cannot be made different at link time.
pub const SALT_VARIABLE: &str = "RBENCH_SALT";

/// The option that cargo passes for crates from a registry.
const CAP_LINTS: &[u8] = b"--cap-lints";

/// Set if programs are compiled instead of bench targets.
pub const PROGRAMS_VARIABLE: &str = "RBENCH_PROGRAMS";

/// Runs as `cargo-rbench-rustc <rustc> <arguments>`.
pub fn run_as_rustc(args: &[OsString]) -> ExitCode {
    let Some((rustc, arguments)) = args.split_first() else {
        anstream::eprintln!("error: {} expects the path of rustc and its arguments", role::WRAPPER);
        return ExitCode::from(2);
    };
    let mut command = match std::env::var_os(USERS_WRAPPER_VARIABLE) {
        Some(wrapper) => {
            let mut command = Command::new(wrapper);
            command.arg(rustc);
            command
        }
        None => Command::new(rustc),
    };
    let package = std::env::var_os("CARGO_PKG_NAME").unwrap_or_default();
    command.args(without_version(arguments, &package));
    // A lint that an old commit denies may be newer than the commit. Machine code does not depend on lints.
    if !arguments.iter().any(|argument| argument.as_encoded_bytes().starts_with(CAP_LINTS)) {
        command.arg("--cap-lints=warn");
    }
    if is_bench_target(arguments) || is_wanted_program() {
        let linker = chosen_linker(arguments);
        if let Some(bin) = std::env::var_os(BIN_VARIABLE) {
            let shim = match role::install_shim(Path::new(&bin), linker.as_deref()) {
                Ok(shim) => shim,
                Err(error) => {
                    anstream::eprintln!("error: {error}");
                    return ExitCode::from(2);
                }
            };
            let mut option = OsString::from("linker=");
            option.push(shim);
            command.arg("-C").arg(option);
        }
        if let Some(linker) = linker {
            command.env(LINKER_VARIABLE, linker);
        }
        if let Some(salt) = std::env::var_os(SALT_VARIABLE) {
            let mut option = OsString::from("metadata=");
            option.push(salt);
            command.arg("-C").arg(option);
        }
    }
    tool::replace_process(&mut command)
}

/// True for the arguments of the compiler call that makes a bench target's executable.
///
/// With `harness = false` they have `--cfg test` and no `--test`; in both cases no `--crate-type`, which libraries,
/// build scripts and proc macros have. Test targets are never compiled here. If cargo also makes a library or a
/// program with its own benchmarks, their recipes are not used.
fn is_bench_target(arguments: &[OsString]) -> bool {
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let cfg_test = arguments.windows(2).any(|pair| pair[0] == "--cfg" && pair[1] == "test");
    has("--crate-name") && !has("--crate-type") && (cfg_test || has("--test"))
}

/// True for the compiler call that makes the executable of a wanted program.
fn is_wanted_program() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    // Cargo sets this variable for programs alone, and for no build script.
    is_set(PROGRAMS_VARIABLE) && is_set("CARGO_BIN_NAME")
}

/// The linker that the user chose by any of the ways that end in rustc's arguments; the last one applies.
fn chosen_linker(arguments: &[OsString]) -> Option<PathBuf> {
    let mut chosen = None;
    let mut after_flag = false;
    for argument in arguments.iter().map(|argument| argument.to_str().unwrap_or_default()) {
        let option = if after_flag { Some(argument) } else { codegen_option(argument) };
        after_flag = !after_flag && matches!(argument, "-C" | "--codegen");
        if let Some(linker) = option.and_then(|option| option.strip_prefix("linker=")) {
            chosen = Some(PathBuf::from(linker));
        }
    }
    chosen
}

/// `linker=x` of `-Clinker=x` or `--codegen=linker=x`.
fn codegen_option(argument: &str) -> Option<&str> {
    argument.strip_prefix("-C").or_else(|| argument.strip_prefix("--codegen="))
}

/// Passes the directory of recipes to the shim.
pub const RECIPES_VARIABLE: &str = "RBENCH_RECIPES";

/// The default linker of a target.
const DEFAULT_LINKER: &str = "cc";

/// Runs as the linker of one bench target: records its link recipe, then runs the real linker.
pub fn run_as_linker(arguments: Vec<OsString>) -> ExitCode {
    let linker = std::env::var_os(LINKER_VARIABLE).unwrap_or(DEFAULT_LINKER.into());
    if let Some(recipes) = std::env::var_os(RECIPES_VARIABLE) {
        // rustc deletes its temporary objects when the linker returns, so the recipe must be recorded now.
        if let Err(error) = Recipe::record(&linker, &arguments, Path::new(&recipes)) {
            anstream::eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    tool::replace_process(Command::new(linker).args(arguments))
}

/// The prefix of the option with cargo's hash.
const METADATA: &str = "metadata=";

/// Options of code generation that contain this hash or name files: they do not distinguish crates.
const LEFT_OUT: [&str; 5] = [METADATA, "extra-filename=", "incremental=", "linker=", "link-arg"];

/// The arguments of a compiler call with another hash in place of cargo's: of the package's name, and of everything
/// that distinguishes the crates that cargo makes of a package: the source file, the kind, the features, the target,
/// and the options of code generation. Cargo gives the file relative to the root of the workspace, so that the hash
/// does not depend on the root.
///
/// Cargo's hash of a crate contains the version of its package and of all its dependencies. rustc puts it into every
/// symbol and sorts by symbols, so a mere release would reorder its constants.
fn without_version(arguments: &[OsString], package: &OsStr) -> Vec<OsString> {
    let mut maker = KeyMaker::new("crate v1");
    maker.add("package", package.as_encoded_bytes());
    for (flag, value) in with_flags(arguments) {
        let value = value.as_encoded_bytes();
        let is_left_out = LEFT_OUT.iter().any(|option| value.starts_with(option.as_bytes()));
        match flag {
            "-C" if is_left_out => {}
            "-C" | "--crate-name" | "--crate-type" | "--cfg" | "--target" => {
                maker.add(flag, value);
            }
            _ if value == b"--test" || value.ends_with(b".rs") => {
                maker.add("", value);
            }
            _ => {}
        }
    }
    let hash = format!("{METADATA}{}", maker.key());
    let replaced = with_flags(arguments).map(|(flag, value)| {
        let is_hash = flag == "-C" && value.as_encoded_bytes().starts_with(METADATA.as_bytes());
        if is_hash { OsString::from(&hash) } else { value.clone() }
    });
    replaced.collect()
}

/// Each argument, with the previous one.
fn with_flags(arguments: &[OsString]) -> impl Iterator<Item = (&str, &OsString)> {
    let before = arguments.iter().map(|flag| flag.to_str().unwrap_or_default());
    std::iter::once("").chain(before).zip(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn is_bench_target_excludes_libraries_and_build_scripts() {
        let bench = "--crate-name parse --edition=2024 benches/parse.rs --cfg test -C opt-level=3";
        let libtest = "--crate-name parse --edition=2024 benches/parse.rs --test";
        assert!(is_bench_target(&arguments(bench)));
        assert!(is_bench_target(&arguments(libtest)));
        for other in [
            "--crate-name ws src/lib.rs --crate-type lib",
            "--crate-name build_script_build build.rs --crate-type bin",
            "--crate-name ___ - --print=file-names --crate-type bin",
            "-vV",
        ] {
            assert!(!is_bench_target(&arguments(other)), "{other}");
        }
    }

    #[test]
    fn chosen_linker_is_the_last_one_in_any_form() {
        for (line, linker) in [
            ("-C linker=clang", Some("clang")),
            ("-Clinker=clang -C linker=/opt/mold", Some("/opt/mold")),
            ("--codegen linker=a --codegen=linker=b", Some("b")),
            ("-C linker-flavor=gcc -C link-arg=-fuse-ld=lld", None),
            ("--cfg linker=x", None),
        ] {
            assert_eq!(chosen_linker(&arguments(line)), linker.map(PathBuf::from), "{line}");
        }
    }

    fn hashed(line: &str) -> String {
        let arguments: Vec<_> = line.split_whitespace().map(OsString::from).collect();
        let replaced = without_version(&arguments, OsStr::new("json"));
        assert_eq!(replaced.len(), arguments.len());
        let [hash] = replaced
            .iter()
            .filter_map(|argument| argument.to_str()?.strip_prefix(METADATA))
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        assert_eq!(hash.len(), 32, "{replaced:?}");
        hash.to_owned()
    }

    const LIBRARY: &str = "--crate-name json --edition=2021 src/lib.rs --crate-type lib -C opt-level=3 \
        -C metadata=1234 -C extra-filename=-5678 --extern text=/t/libtext-9abc.rlib";

    #[test]
    fn hash_ignores_versions_lints_and_dependencies() {
        let hash = hashed(LIBRARY);
        for (old, new) in [
            ("1234", "4321"),
            ("5678", "8765"),
            ("9abc", "cba9"),
            ("--edition=2021", "--edition=2024 --warn=unused --check-cfg cfg(docsrs)"),
        ] {
            assert_eq!(hashed(&LIBRARY.replace(old, new)), hash, "{new}");
        }
    }

    #[test]
    fn hash_differs_for_all_crates_of_a_package() {
        let hash = hashed(LIBRARY);
        for (old, new) in [
            ("--crate-name json", "--crate-name json_bench"),
            ("src/lib.rs", "benches/json.rs"),
            ("--crate-type lib", "--test"),
            ("--crate-type lib", "--crate-type lib --cfg feature=\"std\""),
            ("opt-level=3", "opt-level=0"),
            ("-C opt", "--target x86_64-unknown-linux-gnu -C opt"),
        ] {
            assert_ne!(hashed(&LIBRARY.replace(old, new)), hash, "{new}");
        }
    }
}
