//! Cargo's command lines, composed purely: what is run is decided here, and run elsewhere.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use super::environment::Environment;
use crate::{
    model::{BenchTarget, CompileSettings},
    shell::quoted,
};

/// Where cargo runs and what it sees.
#[derive(Clone, Debug)]
pub struct Place {
    /// The cargo to run: a bare name is looked up in the `PATH`.
    pub program: OsString,
    /// The directory to run in: decides which config and toolchain files count.
    pub directory: PathBuf,
    /// The manifest of the workspace, below the one path that all versions share.
    pub manifest: PathBuf,
    /// The target dir, below the same path.
    pub target_dir: PathBuf,
    /// Config files that lie above the user's repository, farthest first.
    pub configs: Vec<PathBuf>,
    /// Settings that override those of config files, as `key=value`.
    pub overrides: Vec<String>,
    /// Variables.
    pub environment: Environment,
}

impl Place {
    /// A cargo command with exactly this place's environment.
    pub fn command(&self, arguments: &[OsString]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.directory)
            .env_clear()
            .envs(self.environment.variables())
            .args(arguments);
        command
    }

    fn common(&self, settings: &CompileSettings) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["--manifest-path".into(), (&self.manifest).into()];
        for config in &self.configs {
            arguments.extend(["--config".into(), config.into()]);
        }
        for setting in &self.overrides {
            arguments.extend(["--config".into(), setting.into()]);
        }
        for (wanted, flag) in [(settings.locked, "--locked"), (settings.offline, "--offline")] {
            if wanted {
                arguments.push(flag.into());
            }
        }
        arguments
    }
}

/// `cargo metadata` with everything resolved.
pub fn metadata(place: &Place, settings: &CompileSettings) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        ["metadata", "--format-version", "1"].map(OsString::from).into();
    arguments.extend(place.common(settings));
    arguments.extend(features(settings));
    arguments
}

/// `cargo bench --no-run` for exactly these bench targets.
pub fn bench(place: &Place, settings: &CompileSettings, targets: &[BenchTarget]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        ["bench", "--no-run", "--message-format=json-render-diagnostics"]
            .map(OsString::from)
            .into();
    arguments.extend(place.common(settings));
    arguments.extend(["--target-dir".into(), (&place.target_dir).into()]);
    arguments.extend(["--profile".into(), (&settings.profile).into()]);
    arguments.extend(features(settings));
    if let Some(jobs) = settings.jobs {
        arguments.extend(["--jobs".into(), jobs.to_string().into()]);
    }
    let packages: BTreeSet<&str> = targets.iter().map(|target| target.package.as_str()).collect();
    let benches: BTreeSet<&str> = targets.iter().map(|target| target.target.as_str()).collect();
    arguments.extend(packages.into_iter().flat_map(|name| ["--package".into(), name.into()]));
    arguments.extend(benches.into_iter().flat_map(|name| ["--bench".into(), name.into()]));
    arguments
}

/// `cargo clean` for these packages, named by their ids.
pub fn clean(place: &Place, settings: &CompileSettings, packages: &[String]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["clean".into(), "--quiet".into()];
    arguments.extend(place.common(settings));
    arguments.extend(["--target-dir".into(), (&place.target_dir).into()]);
    arguments.extend(["--profile".into(), (&settings.profile).into()]);
    arguments.extend(packages.iter().flat_map(|id| ["--package".into(), id.into()]));
    arguments
}

/// The command with which a user finds a failed compilation again, without rbench.
pub fn reproduction(
    commit: &str,
    workspace: &Path,
    settings: &CompileSettings,
    targets: &[BenchTarget],
) -> String {
    let mut words = vec!["cargo bench --no-run".to_owned()];
    if settings.profile != CompileSettings::default().profile {
        words.push(format!("--profile {}", settings.profile));
    }
    words.extend(features(settings).iter().map(|word| word.to_string_lossy().into_owned()));
    words.extend(targets.iter().map(|t| format!("-p {} --bench {}", t.package, t.target)));
    let inside = Path::new("/tmp/at").join(commit).join(workspace);
    format!(
        "git worktree add --detach /tmp/at/{commit} {commit} && cd {} && {}",
        quoted(&inside),
        words.join(" ")
    )
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

    fn place() -> Place {
        Place {
            program: "cargo".into(),
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

    fn target(package: &str, target: &str) -> BenchTarget {
        BenchTarget { package: package.to_owned(), target: target.to_owned() }
    }

    #[test]
    fn only_the_bench_targets_asked_for_are_compiled() {
        let targets = [target("json", "parse"), target("json", "print"), target("xml", "parse")];
        assert_eq!(
            line(&bench(&place(), &CompileSettings::default(), &targets)),
            "bench --no-run --message-format=json-render-diagnostics \
             --manifest-path /at/src/Cargo.toml --config /home/u/.cargo/config.toml \
             --target-dir /at/target --profile bench --package json --package xml \
             --bench parse --bench print"
        );
    }

    #[test]
    fn what_the_user_asks_of_cargo_is_passed_on() {
        let settings = CompileSettings {
            profile: "release-lto".to_owned(),
            features: vec!["simd".to_owned(), "std".to_owned()],
            no_default_features: true,
            locked: true,
            offline: true,
            jobs: Some(1),
            ..CompileSettings::default()
        };
        let line = line(&bench(&place(), &settings, &[target("json", "parse")]));
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
    fn a_failure_can_be_found_again_without_rbench() {
        assert_eq!(
            reproduction(
                "1a2b3c4",
                Path::new("rust"),
                &CompileSettings::default(),
                &[target("json", "parse")]
            ),
            "git worktree add --detach /tmp/at/1a2b3c4 1a2b3c4 && cd /tmp/at/1a2b3c4/rust && \
             cargo bench --no-run -p json --bench parse"
        );
    }
}
