//! The rustc wrapper: passes every compiler call through, with a hash for symbols that no version number changes, and
//! sets the linker shim as the linker of each bench target and program.
//!
//! At this point the command is final, whichever config file, `[target]` table or `RUSTFLAGS` produced it, so none of
//! the user's settings have to be parsed or repeated.
//!
//! The roles of this program besides the command line: rustc's wrapper, the linker, the supervisor of cargo, the
//! tracer, and a benchmark.
//!
//! Cargo and rustc only accept the path of a program for these, so the name of the program selects the role:
//! [`install_wrapper`] and [`install_shim`] make links to this executable. The benchmark is started as any other is.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use super::{files, key::KeyMaker, recipe::Recipe, tool};
use crate::{
    error::{Context, Error, Exit, Result},
    process::{CONTROL_ARGUMENT, KEEPER, sandbox::SANDBOX, trace::TRACER},
};

/// Passes the directory of the compilation, in which the shims are made, to the wrapper.
pub const HOME_VARIABLE: &str = "RBENCH_HOME";
/// Passes the user's own `RUSTC_WORKSPACE_WRAPPER`, which then runs rustc.
pub const USERS_WRAPPER_VARIABLE: &str = "RBENCH_WORKSPACE_WRAPPER";
/// Passes the linker for the shim to run, if the user chose one.
pub const LINKER_VARIABLE: &str = "RBENCH_LINKER";
/// Passes a salt for `-C metadata`, if builds cannot be made different at link time.
pub const SALT_VARIABLE: &str = "RBENCH_SALT";

/// The option that cargo passes for crates from a registry.
const CAP_LINTS: &[u8] = b"--cap-lints";

/// Tells the shim that it links a program, not a bench target: the two may have the same name.
const PROGRAM_VARIABLE: &str = "RBENCH_PROGRAM";

/// Runs as `cargo-rbench-rustc <rustc> <arguments>`.
pub fn run_as_rustc(args: &[OsString]) -> ExitCode {
    let Some((rustc, arguments)) = args.split_first() else {
        anstream::eprintln!("error: {} expects the path of rustc and its arguments", WRAPPER);
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
    // Cargo compiles the programs of a package for its bench targets, too, and not again for themselves later.
    let is_program = is_program(arguments);
    if is_bench_target(arguments) || is_program {
        let linker = chosen_linker(arguments);
        if is_program {
            command.env(PROGRAM_VARIABLE, "1");
        }
        if let Some(home) = std::env::var_os(HOME_VARIABLE) {
            let shim = match install_shim(Path::new(&home), linker.as_deref()) {
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

/// True for the compiler call that makes the executable of a program.
fn is_program(arguments: &[OsString]) -> bool {
    // Cargo sets this variable for no build script, but also for the tests in a program.
    std::env::var_os("CARGO_BIN_NAME").is_some() && !is_bench_target(arguments)
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

const DEFAULT_LINKER: &str = "cc";

/// Runs as the linker of one bench target or program: records its link recipe, then runs the real linker.
pub fn run_as_linker(arguments: Vec<OsString>) -> ExitCode {
    let linker = std::env::var_os(LINKER_VARIABLE).unwrap_or(DEFAULT_LINKER.into());
    if let Some(recipes) = std::env::var_os(RECIPES_VARIABLE) {
        let is_program = std::env::var_os(PROGRAM_VARIABLE).is_some();
        // rustc deletes its temporary objects when the linker returns, so the recipe must be recorded now.
        if let Err(error) = Recipe::record(&linker, &arguments, Path::new(&recipes), is_program) {
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

fn with_flags(arguments: &[OsString]) -> impl Iterator<Item = (&str, &OsString)> {
    let before = arguments.iter().map(|flag| flag.to_str().unwrap_or_default());
    std::iter::once("").chain(before).zip(arguments)
}

/// The name of the rustc wrapper. Cargo gets this bare name, found through `PATH`: it hashes the name into every
/// symbol, so a path would make symbols depend on rbench's directory.
pub const WRAPPER: &str = "cargo-rbench-rustc";

pub const SUPERVISOR: &str = "cargo-rbench-supervisor";

/// The directory of the linker shims, below the wrapper's.
pub const SHIMS: &str = "cargo-rbench-linkers";

/// The shim for the target's default linker. rustc infers the kind of linker from the file stem; for an unknown stem,
/// it assumes the target's default.
const DEFAULT_SHIM: &str = "cargo-rbench-linker";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `cargo rbench …`, by a user.
    Command,
    /// `cargo-rbench-rustc <rustc> <arguments>`, by cargo.
    Wrapper,
    /// As a linker, by rustc.
    Linker,
    /// `cargo-rbench-supervisor <cargo> <arguments>`, by rbench itself.
    Supervisor,
    /// `cargo-rbench-tracer <plan> <ahead> <program> <arguments>`, by rbench itself.
    Tracer,
    /// `cargo-rbench-keeper`, by rbench itself.
    Keeper,
    /// `cargo-rbench-sandbox <program> <arguments>`, by rbench itself.
    Sandbox,
    /// `cargo-rbench --bench --rbench-protocol …`, by rbench itself: the benchmark that it measures beside those of a user.
    Control,
}

impl Role {
    /// The role for the name by which the process was started, and its arguments.
    pub fn from_command_line(argv0: &OsStr, arguments: &[OsString]) -> Self {
        let path = Path::new(argv0);
        if path.file_stem() == Some(OsStr::new(WRAPPER)) {
            Self::Wrapper
        } else if path == Path::new(SUPERVISOR) {
            Self::Supervisor
        } else if path == Path::new(TRACER) {
            Self::Tracer
        } else if path == Path::new(KEEPER) {
            Self::Keeper
        } else if path == Path::new(SANDBOX) {
            Self::Sandbox
        } else if path.parent().and_then(Path::file_name) == Some(OsStr::new(SHIMS)) {
            Self::Linker
        } else if arguments.get(1).is_some_and(|argument| argument == CONTROL_ARGUMENT) {
            Self::Control
        } else {
            Self::Command
        }
    }
}

/// Installs the wrapper in `directory`, as a link to this executable.
pub fn install_wrapper(directory: &Path) -> Result<()> {
    files::point(&directory.join(WRAPPER), &this_executable()?)
}

/// Installs the shim for `linker` below `directory` and returns its path.
pub fn install_shim(directory: &Path, linker: Option<&Path>) -> Result<PathBuf> {
    let shim = shim(directory, linker);
    files::point(&shim, &this_executable()?)?;
    Ok(shim)
}

pub fn this_executable() -> Result<PathBuf> {
    let path = std::env::current_exe()
        .context(Exit::Build, || "cannot find the executable of rbench itself")?;
    still_there(path)
}

/// The path of this executable. Fails if an update has replaced it meanwhile: Linux then gives a path that leads
/// nowhere, and the new executable may disagree with this process.
fn still_there(path: PathBuf) -> Result<PathBuf> {
    if path.exists() {
        return Ok(path);
    }
    let what = "the executable of rbench was replaced or removed while it runs";
    let error = Error::new(Exit::Build, what).cause(path.display().to_string());
    Err(error.hint("run the same command again to resume"))
}

/// The path of the shim for `linker` (`None`: the target's default), below `directory`. It keeps the linker's file
/// stem, from which rustc infers its options.
fn shim(directory: &Path, linker: Option<&Path>) -> PathBuf {
    let stem = linker.and_then(Path::file_stem).unwrap_or(OsStr::new(DEFAULT_SHIM));
    directory.join(SHIMS).join(stem)
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

#[cfg(test)]
mod role_tests {
    use super::*;

    #[test]
    fn role_follows_from_the_name() {
        let role = |argv0: &Path| Role::from_command_line(argv0.as_os_str(), &[]);
        assert_eq!(role(Path::new("cargo-rbench")), Role::Command);
        assert_eq!(role(Path::new("/x/bin/cargo-rbench-rustc")), Role::Wrapper);
        let bin = Path::new("/x/bin");
        assert_eq!(role(&shim(bin, None)), Role::Linker);
        assert_eq!(role(&shim(bin, Some(Path::new("/usr/bin/clang")))), Role::Linker);
        let request = ["--bench", "--rbench-protocol", "1"].map(OsString::from);
        assert_eq!(Role::from_command_line(OsStr::new("cargo-rbench"), &request), Role::Control);
    }

    #[test]
    fn replaced_executable_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cargo-rbench");
        std::fs::write(&path, "").unwrap();
        assert_eq!(still_there(path.clone()).unwrap(), path);
        let gone = PathBuf::from(format!("{} (deleted)", path.display()));
        let error = still_there(gone).unwrap_err().to_string();
        assert!(error.contains("was replaced or removed while it runs"), "{error}");
    }

    #[test]
    fn shim_keeps_the_stem_of_its_linker() {
        let shim = shim(Path::new("/x"), Some(Path::new("/opt/lld/bin/rust-lld")));
        assert_eq!(shim.file_stem(), Some(OsStr::new("rust-lld")));
    }
}
