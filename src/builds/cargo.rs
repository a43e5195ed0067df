//! Cargo's command lines. Pure: runs nothing.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Command,
};

use super::{environment::Environment, features::SourceAttributes};
use crate::{
    model::{BenchTarget, CompileSettings, secret::shown_cargo_args},
    shell::{self, quoted},
};

/// The directory, arguments and environment for running cargo.
#[derive(Clone, Debug)]
pub struct CargoContext {
    /// The cargo to run; a bare name is looked up in the `PATH`.
    pub program: OsString,
    /// The compiler that cargo will run.
    pub rustc: OsString,
    /// The directory to run in, which determines the config and toolchain files.
    pub directory: PathBuf,
    /// The manifest of the workspace at the build path, which all versions share.
    pub manifest: PathBuf,
    pub target_dir: PathBuf,
    /// Config files above the user's repository, farthest first.
    pub configs: Vec<PathBuf>,
    /// Settings that override those of config files, as `key=value`.
    pub overrides: Vec<String>,
    pub environment: Environment,
}

impl CargoContext {
    /// A cargo command with exactly this environment.
    pub fn command(&self, arguments: &[OsString]) -> Command {
        self.command_of(&self.program, arguments)
    }

    /// A command of the compiler that cargo would run, with the same environment.
    pub fn rustc_command(&self, arguments: &[OsString]) -> Command {
        self.command_of(&self.rustc, arguments)
    }

    fn command_of(&self, program: &OsStr, arguments: &[OsString]) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.directory)
            .env_clear()
            .envs(self.environment.variables())
            .args(arguments);
        command
    }

    fn common(&self, settings: &CompileSettings, manifest: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["--manifest-path".into(), manifest.into()];
        for config in &self.configs {
            arguments.extend(["--config".into(), config.into()]);
        }
        for setting in &self.overrides {
            arguments.extend(["--config".into(), setting.into()]);
        }
        for (is_set, flag) in [(settings.locked, "--locked"), (settings.offline, "--offline")] {
            if is_set {
                arguments.push(flag.into());
            }
        }
        arguments
    }
}

/// The arguments that download what the workspace of this manifest needs on all platforms: to resolve its features,
/// cargo reads all packages.
pub fn fetch(context: &CargoContext, settings: &CompileSettings, manifest: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["fetch".into()];
    arguments.extend(context.common(settings, manifest));
    arguments
}

/// The bench targets to build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The targets, in the order of their names.
    pub targets: Vec<Discovered>,
    /// The specifications of the packages to select: also those of which no target is built, since cargo turns on the
    /// features that any selected package needs.
    pub packages: BTreeSet<String>,
    /// The features to turn on besides those of the user.
    pub features: Vec<String>,
    /// True if another target in one of their packages has the same name and lacks its required features. If the name
    /// were passed to cargo, it would demand these features.
    pub has_namesake: bool,
    /// True if they are programs of the workspace instead of bench targets.
    pub programs: bool,
}

/// A bench target and the package it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    pub target: BenchTarget,
    pub package_id: String,
    /// The package specification for cargo's command line.
    pub package_spec: String,
    /// The directory of its package, where its benchmarks run.
    pub package_root: PathBuf,
    pub source_path: PathBuf,
    pub required_features: Vec<String>,
    pub source: SourceAttributes,
    pub is_example: bool,
}

impl Discovered {
    pub fn needs_features(&self) -> bool {
        !self.required_features.is_empty() || !self.source.features.is_empty()
    }
}

/// The arguments of `cargo metadata` with everything resolved.
pub fn metadata(context: &CargoContext, settings: &CompileSettings) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        ["metadata", "--format-version", "1"].map(OsString::from).into();
    arguments.extend(context.common(settings, &context.manifest));
    arguments.extend(features(settings));
    arguments.extend(shared(settings, &["--config", "-Z"]));
    arguments
}

/// The arguments of `cargo tree` for a line `PACKAGE|FEATURES` of each of these packages, with the features that cargo
/// turns on in their benches when it compiles only these packages.
pub fn feature_tree(
    context: &CargoContext,
    settings: &CompileSettings,
    package_specs: &BTreeSet<String>,
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        ["tree", "--depth", "0", "--prefix", "none", "--format", "{p}|{f}"]
            .map(OsString::from)
            .into();
    arguments.extend(context.common(settings, &context.manifest));
    arguments.extend(features(settings));
    arguments.extend(package_specs.iter().flat_map(|spec| ["--package".into(), spec.into()]));
    arguments.extend(shared(settings, &["--config", "-Z"]));
    arguments
}

/// The arguments of a cargo command that reads all settings as a compilation does, warns about those that it ignores,
/// and compiles nothing. `target` is any one of those to compile.
pub fn settings_check(
    context: &CargoContext,
    settings: &CompileSettings,
    target: &Discovered,
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["clean".into(), "--dry-run".into()];
    arguments.extend(context.common(settings, &context.manifest));
    arguments.extend(["--target-dir".into(), (&context.target_dir).into()]);
    arguments.extend(["--profile".into(), (&settings.profile).into()]);
    // A profile is read for a package only.
    arguments.extend(["--package".into(), (&target.package_spec).into()]);
    arguments.extend(shared(settings, &["--config", "-Z"]));
    arguments
}

/// The arguments of `cargo bench --no-run` for these bench targets, or of `cargo build` for these programs.
pub fn compile(
    context: &CargoContext,
    settings: &CompileSettings,
    chosen: &Chosen,
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = subcommand(chosen).iter().map(OsString::from).collect();
    arguments.push("--message-format=json-render-diagnostics".into());
    arguments.extend(context.common(settings, &context.manifest));
    arguments.extend(["--target-dir".into(), (&context.target_dir).into()]);
    arguments.extend(["--profile".into(), (&settings.profile).into()]);
    arguments.extend(features(&settings.with_features(&chosen.features)));
    if let Some(jobs) = settings.jobs {
        arguments.extend(["--jobs".into(), jobs.to_string().into()]);
    }
    arguments.extend(packages_and_benches(chosen).into_iter().map(OsString::from));
    arguments.extend(settings.cargo_args.iter().map(OsString::from));
    arguments
}

/// The command with which a user can reproduce a failed compilation without rbench, and the command that removes what
/// the first one leaves in the user's repository. The packages' specifications contain their present directories,
/// below `source`.
pub fn reproduction(
    commit: &str,
    source: &Path,
    workspace: &Path,
    settings: &CompileSettings,
    chosen: &Chosen,
) -> [String; 2] {
    let worktree = Path::new("/tmp/at").join(commit);
    let mut words: Vec<String> = subcommand(chosen).iter().map(|word| (*word).to_owned()).collect();
    if chosen.programs || settings.profile != CompileSettings::default().profile {
        words.extend(["--profile".to_owned(), settings.profile.clone()]);
    }
    let settings = &settings.with_features(&chosen.features);
    words.extend(features(settings).iter().map(|word| word.to_string_lossy().into_owned()));
    words.extend(
        packages_and_benches(chosen).into_iter().map(|word| moved(word, source, &worktree)),
    );
    words.extend(shown_cargo_args(&settings.cargo_args));
    let words: Vec<String> = words.iter().map(quoted).collect();
    let directory = quoted(&worktree);
    let command = format!(
        "git worktree add --detach {directory} {commit} && cd {} && {} {}",
        quoted(worktree.join(workspace)),
        shell::cargo(),
        words.join(" ")
    );
    [command, format!("git worktree remove --force {directory}")]
}

/// Moves a package specification from `source` to `worktree`.
fn moved(spec: String, source: &Path, worktree: &Path) -> String {
    // In a URL, the user's directories may be written differently, but those at the end are rbench's own.
    let source = source.display().to_string();
    let own = source.rmatch_indices('/').nth(2).map_or(0, |(start, _)| start);
    match (spec.split_once("://"), spec.split_once(&source[own..])) {
        (Some((scheme, _)), Some((_, rest))) => {
            format!("{scheme}://{}{rest}", worktree.display())
        }
        _ => spec,
    }
}

const fn subcommand(chosen: &Chosen) -> &'static [&'static str] {
    if chosen.programs { &["build"] } else { &["bench", "--no-run"] }
}

fn packages_and_benches(chosen: &Chosen) -> Vec<String> {
    let targets = &chosen.targets;
    let flag = |found: &Discovered| match (chosen.programs, found.is_example) {
        (false, _) => "--bench",
        (true, false) => "--bin",
        (true, true) => "--example",
    };
    let wanted: BTreeSet<(&str, &str)> =
        targets.iter().map(|found| (flag(found), &*found.target.target)).collect();
    let packages = chosen.packages.iter();
    let mut words: Vec<&str> = packages.flat_map(|spec| ["--package", spec]).collect();
    if chosen.has_namesake && !chosen.programs {
        // All of these packages are wanted; without their names cargo would leave them out without their features.
        words.push("--benches");
    } else {
        words.extend(wanted.into_iter().flat_map(|(flag, name)| [flag, name]));
    }
    words.into_iter().map(str::to_owned).collect()
}

/// The user's arguments that another command of cargo accepts too: `flags` with their values.
fn shared<'a>(
    settings: &'a CompileSettings,
    flags: &'a [&str],
) -> impl Iterator<Item = OsString> + 'a {
    let mut is_value = false;
    settings
        .cargo_args
        .iter()
        .filter(move |word| {
            let is_flag = flags.contains(&word.as_str());
            let has_value = flags.iter().any(|flag| {
                let value = word.strip_prefix(flag);
                value.is_some_and(|value| {
                    value.starts_with('=') || *flag == "-Z" && !value.is_empty()
                })
            });
            let is_shared = is_value || is_flag || has_value;
            is_value = is_flag;
            is_shared
        })
        .map(OsString::from)
}

fn features(settings: &CompileSettings) -> Vec<OsString> {
    let mut arguments = Vec::new();
    if !settings.features.is_empty() {
        arguments.extend(["--features".into(), settings.features.join(",").into()]);
    }
    if settings.all_features {
        arguments.push("--all-features".into());
    }
    if settings.no_default_features {
        arguments.push("--no-default-features".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{builds::cargo::Discovered, model::BenchTarget};

    fn context() -> CargoContext {
        CargoContext {
            program: "cargo".into(),
            rustc: "rustc".into(),
            directory: "/real/src".into(),
            manifest: "/at/src/Cargo.toml".into(),
            target_dir: "/at/target".into(),
            configs: vec!["/home/u/.cargo/config.toml".into()],
            overrides: Vec::new(),
            environment: Environment::default(),
        }
    }

    fn line(arguments: &[OsString]) -> String {
        arguments.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    fn chosen(targets: &[(&str, &str)]) -> Chosen {
        let targets: Vec<Discovered> =
            targets.iter().map(|(package, target)| discovered(package, target)).collect();
        let packages = targets.iter().map(|found| found.package_spec.clone()).collect();
        Chosen { targets, packages, ..Chosen::default() }
    }

    fn discovered(package: &str, target: &str) -> Discovered {
        Discovered {
            target: BenchTarget { package: package.to_owned(), target: target.to_owned() },
            package_id: String::new(),
            package_spec: format!("path+file:///a%20b/0/at/src/{package}#{package}@1.0.0"),
            package_root: PathBuf::new(),
            source_path: PathBuf::new(),
            required_features: Vec::new(),
            source: SourceAttributes::default(),
            is_example: false,
        }
    }

    #[test]
    fn compile_names_only_requested_targets_and_full_packages() {
        let targets = chosen(&[("json", "parse"), ("json", "print"), ("xml", "parse")]);
        assert_eq!(
            line(&compile(&context(), &CompileSettings::default(), &targets)),
            "bench --no-run --message-format=json-render-diagnostics \
             --manifest-path /at/src/Cargo.toml --config /home/u/.cargo/config.toml \
             --target-dir /at/target --profile bench \
             --package path+file:///a%20b/0/at/src/json#json@1.0.0 \
             --package path+file:///a%20b/0/at/src/xml#xml@1.0.0 --bench parse --bench print"
        );
    }

    #[test]
    fn packages_of_left_out_targets_turn_on_their_features() {
        let mut targets = chosen(&[("json", "parse"), ("xml", "read")]);
        targets.targets.pop();
        let line = line(&compile(&context(), &CompileSettings::default(), &targets));
        assert!(line.contains("--package path+file:///a%20b/0/at/src/xml#xml@1.0.0"), "{line}");
        assert!(line.ends_with(" --bench parse"), "{line}");
    }

    #[test]
    fn compile_builds_programs_in_the_bench_profile() {
        let programs = Chosen { programs: true, ..chosen(&[("json", "pretty")]) };
        let line = line(&compile(&context(), &CompileSettings::default(), &programs));
        assert!(line.starts_with("build --message-format"), "{line}");
        assert!(line.contains(" --profile bench ") && line.ends_with(" --bin pretty"), "{line}");
        let settings = CompileSettings::default();
        let [line, _] =
            reproduction("1a2b3c4", Path::new("/a/0/at/src"), Path::new(""), &settings, &programs);
        assert!(line.contains("cargo build --profile bench --package"), "{line}");
    }

    #[test]
    fn compile_passes_the_users_settings() {
        let settings = CompileSettings {
            profile: "release-lto".to_owned(),
            features: vec!["simd".to_owned(), "std".to_owned()],
            no_default_features: true,
            locked: true,
            offline: true,
            jobs: Some(1),
            ..CompileSettings::default()
        };
        let line = line(&compile(&context(), &settings, &chosen(&[("json", "parse")])));
        for part in [
            "--profile release-lto",
            "--features simd,std --no-default-features",
            "--locked --offline",
            "--jobs 1",
        ] {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn cargo_arguments_go_to_the_commands_that_accept_them() {
        let words =
            ["--ignore-rust-version", "--config", "a=1", "--config=b=2", "-Zc", "--target", "t"];
        let cargo_args = words.map(str::to_owned).to_vec();
        let settings = CompileSettings { cargo_args, ..CompileSettings::default() };
        let bench = line(&compile(&context(), &settings, &Chosen::default()));
        assert!(bench.ends_with(&words.join(" ")), "{bench}");
        let metadata = line(&metadata(&context(), &settings));
        assert!(metadata.ends_with("config.toml --config a=1 --config=b=2 -Zc"), "{metadata}");
    }

    #[test]
    fn reproduction_works_without_rbench() {
        assert_eq!(
            reproduction(
                "1a2b3c4",
                Path::new("/a b/0/at/src"),
                Path::new("rust"),
                &CompileSettings::default(),
                &chosen(&[("json", "parse")])
            ),
            [
                "git worktree add --detach /tmp/at/1a2b3c4 1a2b3c4 && cd /tmp/at/1a2b3c4/rust && \
             cargo bench --no-run --package 'path+file:///tmp/at/1a2b3c4/json#json@1.0.0' \
             --bench parse",
                "git worktree remove --force /tmp/at/1a2b3c4"
            ]
        );
    }

    #[test]
    fn reproduction_has_no_secrets() {
        let cargo_args = ["--config", "env.A='s3cret'"].map(str::to_owned).to_vec();
        let settings = CompileSettings { cargo_args, ..CompileSettings::default() };
        let [line, _] = reproduction(
            "1a2b3c4",
            Path::new("/a/0/at/src"),
            Path::new(""),
            &settings,
            &Chosen::default(),
        );
        assert!(line.ends_with("cargo bench --no-run --config env.A=VALUE"), "{line}");
    }
}
