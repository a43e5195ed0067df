//! The rustc wrapper: passes every compiler call through, with a hash for symbols that no version number
//! changes, and sets the linker shim as the linker of each bench target.
//!
//! At this point the command is final, whatever config file, `[target]` table or `RUSTFLAGS` produced
//! it, so none of the user's settings have to be parsed or repeated.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use super::{role, symbol_hash};

/// Names the directory with the wrapper and the shims, to the wrapper.
pub const BIN_VARIABLE: &str = "RBENCH_BIN";
/// Names the user's own `RUSTC_WORKSPACE_WRAPPER`, which then runs rustc instead.
pub const USERS_WRAPPER_VARIABLE: &str = "RBENCH_WORKSPACE_WRAPPER";
/// Names the linker that the shim has to run, if the user chose one.
pub const LINKER_VARIABLE: &str = "RBENCH_LINKER";
/// A salt for `-C metadata`, where builds cannot be made different at link time.
pub const SALT_VARIABLE: &str = "RBENCH_SALT";

/// Set where programs are compiled, not bench targets.
pub const PROGRAMS_VARIABLE: &str = "RBENCH_PROGRAMS";

/// Runs as `cargo-rbench-rustc <rustc> <arguments>`.
pub fn main(args: &[OsString]) -> ExitCode {
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
    command.args(symbol_hash::without_version(arguments, &package));
    if is_bench_target(arguments) || is_wanted_program() {
        let linker = chosen_linker(arguments);
        if let Some(bin) = std::env::var_os(BIN_VARIABLE) {
            let shim = match role::install_shim(Path::new(&bin), linker.as_deref()) {
                Ok(shim) => shim,
                Err(failure) => {
                    anstream::eprintln!("error: {failure}");
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
    super::tool::replace_process(&mut command)
}

/// Whether these are the arguments of the compiler call that makes a bench target's executable.
///
/// With `harness = false` it has `--cfg test` and no `--test`; in both cases no `--crate-type`,
/// which libraries, build scripts and proc macros have. No test target comes this way. Where cargo
/// also makes a library or a program with its own benchmarks, their recipes are not used.
fn is_bench_target(arguments: &[OsString]) -> bool {
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let cfg_test = arguments.windows(2).any(|pair| pair[0] == "--cfg" && pair[1] == "test");
    has("--crate-name") && !has("--crate-type") && (cfg_test || has("--test"))
}

/// Whether this is the compiler call that makes the executable of a program, where that is wanted.
fn is_wanted_program() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    // Cargo sets that for programs alone, and for no build script.
    is_set(PROGRAMS_VARIABLE) && is_set("CARGO_BIN_NAME")
}

/// The linker the user chose by any of the ways that end in rustc's arguments; the last one counts.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_bench_target_is_told_from_libraries_and_build_scripts() {
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
    fn the_last_linker_given_in_any_form_is_the_users() {
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
}
