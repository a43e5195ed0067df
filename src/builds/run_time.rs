//! The environment that cargo gives to the bench targets that it runs, besides its data about their packages:
//! variables of build scripts and of its configuration, and directories of shared libraries.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use cargo_config2::{Config, ResolveOptions, de};
use rbench_code::elf::Digest;

use super::{
    build_env::{BuildEnv, Source},
    compilation::{CompilationRecord, CompiledTarget},
    config::{self, ConfiguredVariable},
};
use crate::error::{Error, Exit, Result};

/// The variable of the directory with the files of a build script.
pub(super) const OUT_DIR: &str = "OUT_DIR";

impl CompilationRecord {
    /// The variables that the build script of a target's package sets.
    pub fn script_variables<'r>(
        &'r self,
        target: &'r CompiledTarget,
    ) -> impl Iterator<Item = &'r (String, String)> + Clone {
        let own = self.scripts.iter().filter(|script| script.package_id == target.package_id);
        own.flat_map(|script| &script.variables)
    }

    /// A digest of the variables that a target's processes get from its build script and from cargo's configuration;
    /// `None` if there are none. Paths whose names differ between compilations are replaced by placeholders: the
    /// directory of the build script's files, and `places`.
    pub fn variables_digest(
        &self,
        target: &CompiledTarget,
        configured: &[(OsString, OsString)],
        places: &[&Path],
    ) -> Option<Digest> {
        let set = self.script_variables(target);
        let made = set.clone().find(|(name, _)| name == OUT_DIR).map(|(_, place)| place.as_str());
        let places: Vec<String> =
            places.iter().map(|place| place.to_string_lossy().into_owned()).collect();
        let places = || made.into_iter().chain(places.iter().map(String::as_str));
        let set = set.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        let configured =
            configured.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        // The build script's variables come last, since they hide those of the configuration.
        let mut variables: BTreeMap<&OsStr, &OsStr> = configured.chain(set).collect();
        variables.remove(OsStr::new(OUT_DIR));
        let mut text = String::new();
        for (name, value) in &variables {
            // The variables come from configuration and messages, which are text.
            let value = value.to_string_lossy().into_owned();
            let value = places()
                .zip(0..)
                .fold(value, |value, (place, number)| value.replace(place, &format!("\0{number}")));
            text.extend([&*name.to_string_lossy(), "\0", &value, "\0"]);
        }
        (!variables.is_empty()).then(|| Digest::compute(text.as_bytes()))
    }

    /// The directories in which a target's processes look for shared libraries first, in cargo's order. Those of build
    /// scripts count if they are inside the build directory.
    pub fn library_directories(&self, target: &CompiledTarget) -> Vec<PathBuf> {
        let dependencies = target.executable.parent().unwrap_or(Path::new(""));
        let root = dependencies.parent().unwrap_or(Path::new(""));
        let libraries = self.scripts.iter().flat_map(|script| &script.libraries);
        let native: BTreeSet<&Path> = libraries
            .map(|library| without_kind(library))
            .filter(|library| library.starts_with(root))
            .collect();
        let own = [dependencies.to_owned(), root.to_owned(), self.sysroot.join("lib")];
        native.into_iter().map(Path::to_owned).chain(own).collect()
    }
}

fn without_kind(library: &str) -> &Path {
    match library.split_once('=') {
        Some(("native" | "crate" | "dependency" | "framework" | "all", path)) => Path::new(path),
        _ => Path::new(library),
    }
}

impl BuildEnv<'_> {
    /// The variables of a variant, and those of the `[env]` tables that apply to a version whose compilation is the
    /// active one. If a variable is already set, that of the table is included only if the table forces it.
    ///
    /// Warns if the configuration names a runner, because rbench starts executables itself.
    pub fn configured_variables(
        &self,
        source: Source<'_>,
        record: &CompilationRecord,
    ) -> Vec<(OsString, OsString)> {
        if self.packed.is_some() {
            return self.variables_of_repository(source);
        }
        let cargo_args = &self.settings_of(source.version).cargo_args;
        if let Ok(config) = self.config(source, &record.rustc) {
            let given = self.given_configs(source);
            if let Some(runner) = runner(&config, given.iter(), cargo_args) {
                self.warn(&format!(
                    "cargo's configuration has a runner, {runner}, which is not used: rbench starts \
                     benchmarks itself"
                ));
            }
        }
        let (checkout, workspace) = self.place_of_all();
        let mut variables = self.configs.variables(&checkout, &workspace);
        for word in values_of(cargo_args, "--config") {
            let path = source.checkout.join(&self.workspace).join(word);
            if path.is_file() {
                variables.extend(config::variables_in([path]));
            } else if let Ok(given) = word.parse() {
                variables.extend(config::variables_of(&given, &workspace));
            }
        }
        self.with_variables(source, variables)
    }

    /// The same by the configuration in the repository alone, whoever runs it.
    pub(super) fn variables_of_repository(&self, source: Source<'_>) -> Vec<(OsString, OsString)> {
        let (checkout, workspace) = self.place_of_all();
        self.with_variables(source, config::variables_of_checkout(&checkout, &workspace))
    }

    /// The directory at which all versions have their files, so that a relative value is the same for all, and that of
    /// their workspace in it.
    fn place_of_all(&self) -> (PathBuf, PathBuf) {
        let checkout = self.cache_dirs.source_path();
        let workspace = checkout.join(&self.workspace);
        (checkout, workspace)
    }

    /// The variables of a version's variant, and those of `configured` that cargo would set beside the user's.
    fn with_variables(
        &self,
        source: Source<'_>,
        configured: BTreeMap<String, ConfiguredVariable>,
    ) -> Vec<(OsString, OsString)> {
        let environment = self.users_environment(source);
        let of_variant = self.settings_of(source.version).environment.iter();
        let mut all: BTreeMap<OsString, OsString> =
            of_variant.map(|(name, value)| (name.into(), value.into())).collect();
        let set = configured
            .into_iter()
            .filter(|(name, set)| set.force || environment.get(name).is_none());
        all.extend(set.map(|(name, set)| (name.into(), set.value)));
        all.into_iter().collect()
    }

    /// Refuses a platform, of cargo's configuration or of `--target`, whose programs this machine cannot run; `rustc`
    /// is the output of `rustc -vV`. A configuration that cannot be read is left to cargo, which reports it.
    pub(super) fn refuse_other_platform(&self, source: Source<'_>, rustc: &str) -> Result<()> {
        let Ok(config) = self.config(source, rustc) else { return Ok(()) };
        let cargo_args = &self.settings_of(source.version).cargo_args;
        let targets: Vec<&str> = values_of(cargo_args, "--target").collect();
        let targets = config.build_target_for_config(targets).unwrap_or_default();
        let host = host_of(rustc);
        let Some(other) = targets
            .iter()
            .map(cargo_config2::TargetTripleRef::triple)
            .find(|it| !runs_on(host, it))
        else {
            return Ok(());
        };
        Err(Error::new(Exit::Build, format!("cannot run benchmarks of {}", source.version))
            .cause(format!("they are configured for {other}, and this machine is {host}"))
            .hint(format!("choose the platform of this machine: CARGO_BUILD_TARGET={host}")))
    }

    /// Cargo's configuration for a version whose compilation is the active one.
    fn config(&self, source: Source<'_>, rustc: &str) -> Result<Config, cargo_config2::Error> {
        let environment = self.users_environment(source);
        let options =
            ResolveOptions::default().env(environment.variables()).host_triple(host_of(rustc));
        // All versions have their files at this path, so that a relative value is the same for all.
        Config::load_with_options(self.cache_dirs.source_path().join(&self.workspace), options)
    }

    /// The configurations that cargo gets by `--config`; a later one overrides earlier ones.
    fn given_configs(&self, source: Source<'_>) -> Vec<de::Config> {
        let directory = source.checkout.join(&self.workspace);
        let of_word = |word: &str| {
            let path = directory.join(word);
            if path.is_file() {
                return de::Config::load_file(path).ok();
            }
            toml::from_str(word).ok()
        };
        let above = self.configs.above.iter().filter_map(|path| de::Config::load_file(path).ok());
        let cargo_args = &self.settings_of(source.version).cargo_args;
        above.chain(values_of(cargo_args, "--config").filter_map(of_word)).collect()
    }
}

/// The runner by which cargo would start executables.
fn runner<'c>(
    config: &Config,
    given: impl Iterator<Item = &'c de::Config>,
    cargo_args: &[String],
) -> Option<String> {
    let targets: Vec<&str> = values_of(cargo_args, "--target").collect();
    let target = config.build_target_for_config(targets).ok()?.pop()?;
    let of_given = |config: &de::Config| config.target.get(target.triple())?.runner.clone();
    let name = |path: &OsStr| format!("`{}`", path.display());
    if let Some(runner) = given.filter_map(of_given).last() {
        return Some(name(OsStr::new(runner.path.raw_value())));
    }
    Some(name(config.runner(&target).ok()??.path.as_os_str()))
}

/// The platform of the compiler itself, in the output of `rustc -vV`.
pub(super) fn host_of(rustc: &str) -> &str {
    rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default()
}

/// True if a machine of the platform `host` runs programs of `target`: also those of another C library, and 32-bit
/// ones.
fn runs_on(host: &str, target: &str) -> bool {
    let parts = |triple: &str| {
        let (architecture, rest) = triple.split_once('-').unwrap_or((triple, ""));
        let is_x86 = matches!(architecture, "x86_64" | "i586" | "i686");
        let architecture = if is_x86 { "x86" } else { architecture };
        (architecture.to_owned(), rest.contains("linux"))
    };
    // A target may also be the file of its description.
    Path::new(target).extension().is_some_and(|extension| extension == "json")
        || parts(host) == parts(target)
}

/// The values of a flag among words, in the same word or in the next one.
fn values_of<'w>(words: &'w [String], flag: &'w str) -> impl Iterator<Item = &'w str> {
    words.iter().enumerate().filter_map(move |(index, word)| match word.strip_prefix(flag)? {
        "" => words.get(index + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    })
}

#[cfg(test)]
mod tests {
    use super::{super::conditions::Conditions, *};
    use crate::{builds::compilation::BuildScript, model::BenchTarget};

    #[test]
    fn runs_on_accepts_other_c_libraries_and_32_bits() {
        let host = "x86_64-unknown-linux-gnu";
        for (target, runs) in [
            (host, true),
            ("x86_64-unknown-linux-musl", true),
            ("i686-unknown-linux-gnu", true),
            ("kernel/x86_64.json", true),
            ("x86_64-pc-windows-gnu", false),
            ("aarch64-unknown-linux-gnu", false),
            ("wasm32-wasip1", false),
        ] {
            assert_eq!(runs_on(host, target), runs, "{target}");
        }
    }

    fn record(scripts: Vec<BuildScript>) -> CompilationRecord {
        CompilationRecord {
            version: String::new(),
            reproducibility: String::new(),
            rustc: String::new(),
            sysroot: "/rust".into(),
            milliseconds: 0,
            targets: Vec::new(),
            scripts,
            ignored: Vec::new(),
            namesakes: BTreeSet::new(),
            conditions: Conditions::default(),
            session: String::new(),
        }
    }

    fn target() -> CompiledTarget {
        CompiledTarget {
            target: BenchTarget { package: "own".to_owned(), target: "t".to_owned() },
            package_id: "own".to_owned(),
            package_root: PathBuf::new(),
            executable: "/at/target/release/deps/t-1".into(),
            recipe: String::new(),
            inputs: Digest::compute(b""),
            files: Vec::new(),
            made: Vec::new(),
        }
    }

    #[test]
    fn variables_digest_ignores_the_paths_of_compilations() {
        let digest = |scripts: &[(&str, &str)], configured: &[(&str, &str)], place: &str| {
            let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let variables = scripts.iter().map(text).collect();
            let package_id = "own".to_owned();
            let script = BuildScript { package_id, variables, libraries: Vec::new(), made: None };
            let configured: Vec<_> =
                configured.iter().map(|(name, value)| (name.into(), value.into())).collect();
            record(vec![script]).variables_digest(&target(), &configured, &[Path::new(place)])
        };
        let made = |id: u8, rest: &[(&'static str, &'static str)]| {
            let out =
                [("OUT_DIR", ["/at/build/own-1/out", "/at/build/own-2/out"][usize::from(id)])];
            let data =
                [("DATA", ["/at/build/own-1/out/d", "/at/build/own-2/out/d"][usize::from(id)])];
            digest(&[&out[..], &data, rest].concat(), &[], "/1")
        };
        assert_eq!(made(0, &[]), made(1, &[]));
        assert_ne!(made(0, &[]), made(1, &[("SIZE", "2")]));
        assert_eq!(digest(&[("OUT_DIR", "/at/build/own-1/out")], &[], "/1"), None);
        let set = |value, place| digest(&[], &[("A", value)], place);
        assert_ne!(set("1", "/1"), set("2", "/1"));
        assert_eq!(set("/1/data", "/1"), set("/2/data", "/2"));
        assert_ne!(set("/1/data", "/1"), set("/1/other", "/1"));
        assert_eq!(digest(&[("A", "1")], &[("A", "2")], "/1"), set("1", "/1"));
    }

    #[test]
    fn library_directories_are_those_of_cargo() {
        let script = |package: &str, libraries: &[&str]| BuildScript {
            package_id: package.to_owned(),
            variables: vec![("OF".to_owned(), package.to_owned())],
            libraries: libraries.iter().map(|library| (*library).to_owned()).collect(),
            made: None,
        };
        let scripts = vec![
            script("own", &["native=/at/target/release/build/own/out", "/usr/lib"]),
            script("other", &["/at/target/release/build/a/out", "all=/opt/lib"]),
        ];
        let (record, target) = (record(scripts), target());
        let directories = [
            "/at/target/release/build/a/out",
            "/at/target/release/build/own/out",
            "/at/target/release/deps",
            "/at/target/release",
            "/rust/lib",
        ];
        assert_eq!(record.library_directories(&target), directories.map(PathBuf::from));
        let variables: Vec<_> = record.script_variables(&target).collect();
        assert_eq!(variables, [&("OF".to_owned(), "own".to_owned())]);
    }

    #[test]
    fn values_of_finds_values_in_the_same_or_the_next_word() {
        let words = ["--config", "a=1", "-Zx", "--config=b=2", "--configs", "--config"];
        let words = words.map(str::to_owned);
        assert_eq!(values_of(&words, "--config").collect::<Vec<_>>(), ["a=1", "b=2"]);
    }
}
