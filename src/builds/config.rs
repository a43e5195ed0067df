//! Cargo's config files outside of the repository (the user's own, which apply to every version), and the settings of
//! these and of a version's files for the compiler and for the sources of registry crates.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::{environment::Environment, key::KeyMaker};

/// Tables that change nothing that is compiled or run. All others count, including unknown ones.
const WITHOUT_EFFECT: &str = "
    alias cache cargo-new credential-alias doc future-incompat-report http include install net
    registries registry term
";
/// Keys of the table `build` without effect.
const WITHOUT_EFFECT_IN_BUILD: &str = "build-dir incremental jobs target-dir";
/// The table with the sources of dependencies. A lock file determines the dependencies' contents.
const SOURCES: &str = "source";

/// A variable of an `[env]` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredVariable {
    /// Its value, absolute if the table says that it is a path relative to the file.
    pub value: OsString,
    /// True if it overrides a variable that is already set.
    pub force: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFiles {
    /// The files above the user's repository, farthest first, which cargo does not find from a checkout elsewhere.
    pub above: Vec<PathBuf>,
    /// The directory above which cargo finds the files for a checkout.
    outside: PathBuf,
    /// The file in cargo's home, which applies everywhere.
    of_home: Option<PathBuf>,
}

impl ConfigFiles {
    /// The config files outside of the repository at `root`, for checkouts below `outside`.
    pub fn find(root: &Path, outside: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let home = variable("CARGO_HOME").map(PathBuf::from);
        let default_home = || variable("HOME").map(|home| Path::new(&home).join(".cargo"));
        let of_home = home.or_else(default_home).and_then(|home| config_file(&home));
        let mut above: Vec<PathBuf> = root
            .ancestors()
            .skip(1)
            .filter(|directory| !outside.starts_with(directory))
            .filter_map(|directory| config_file(&directory.join(".cargo")))
            .filter(|path| Some(path) != of_home.as_ref())
            .collect();
        above.reverse();
        Self { above, outside: outside.to_owned(), of_home }
    }

    /// A hash of the settings that affect compilation; `None` if there are none.
    pub fn compilation_text(&self) -> Option<String> {
        self.hash(&[])
    }

    /// A hash of the settings that affect how a version is built and run; `None` if there are none. Only a hash, since
    /// a value may be a secret.
    pub fn identity(&self) -> Option<String> {
        self.hash(&[SOURCES]).map(|hash| format!("blake3:{}", &hash[..16]))
    }

    /// The program `build.<name>`, for instance `rustc`, that cargo uses in this environment for the version whose
    /// workspace is `workspace`; `None` if none is configured.
    pub fn program(
        &self,
        name: &str,
        environment: &Environment,
        workspace: &Path,
    ) -> Option<OsString> {
        let variable = name.to_uppercase().replace('-', "_");
        let given = |name: &str| environment.get(name).map(OsString::from);
        // Passed by `--config`, the files above take precedence over all others.
        let mut above = self.above.iter().rev();
        given(&variable)
            .or_else(|| above.find_map(|path| program_in(path, name)))
            .or_else(|| given(&format!("CARGO_BUILD_{variable}")))
            .or_else(|| self.seen_from(workspace).iter().find_map(|path| program_in(path, name)))
            .filter(|program| !program.is_empty())
    }

    /// The profiles and variables in the config files of a version, as arguments for `--config`, where files above the
    /// repository set them too. Those files are passed by `--config` and would take precedence otherwise. `workspace`
    /// is a directory of `checkout`.
    pub fn own_settings(&self, checkout: &Path, workspace: &Path) -> Vec<String> {
        let settings_in = |path: &Path| -> Vec<Value> {
            let settings = tables(path).into_iter().map(|(_, mut table)| {
                table.retain(|name, _| matches!(name, "env" | "profile"));
                Value::Table(table)
            });
            settings.collect()
        };
        let above: Vec<Value> = self.above.iter().flat_map(|path| settings_in(path)).collect();
        let is_above = |keys: &[String]| {
            above.iter().any(|settings| {
                keys.iter().try_fold(settings, |value, key| value.get(key.as_str())).is_some()
            })
        };
        let mut settings = Vec::new();
        // The last of several equal keys takes precedence: it has to be that of the nearest file.
        for below in workspace.ancestors().collect::<Vec<_>>().into_iter().rev() {
            let file = config_file(&checkout.join(below).join(".cargo"));
            for own in file.iter().flat_map(|path| settings_in(path)).rev() {
                leaves(&own, &mut Vec::new(), &mut |keys, value| {
                    // The JSON form of these values is valid TOML.
                    if let (true, Ok(value)) = (is_above(keys), serde_json::to_string(value)) {
                        settings.push(format!("{}={value}", dotted(keys)));
                    }
                });
            }
        }
        settings
    }

    /// An argument for `--config` that makes `target_dir` the directory of intermediate files, if a file above the
    /// repository names another one, which all versions would share: it takes precedence over a variable.
    pub fn own_build_dir(&self, target_dir: &Path) -> Option<String> {
        let mut tables = self.above.iter().flat_map(|path| tables(path));
        let is_above = tables.any(|(_, table)| {
            table.get("build").is_some_and(|build| build.get("build-dir").is_some())
        });
        let directory = serde_json::to_string(target_dir.to_str()?).ok()?;
        is_above.then(|| format!("build.build-dir={directory}"))
    }

    /// The variables that the config files set for a version whose workspace is `workspace`, a directory of `checkout`.
    pub fn variables(
        &self,
        checkout: &Path,
        workspace: &Path,
    ) -> BTreeMap<String, ConfiguredVariable> {
        let (own, outside): (Vec<_>, Vec<_>) =
            self.seen_from(workspace).into_iter().partition(|file| file.starts_with(checkout));
        let above = self.above.iter().rev().cloned();
        variables_in(own.into_iter().chain(above).chain(outside))
    }

    /// Adds flags for rustc to those of the user, wherever these come from: cargo takes the flags of one source only.
    /// Adds them to the environment if it has flags; otherwise returns arguments for `--config`, which cargo joins with
    /// the lists of other config files. `cargo_args` are the user's own arguments.
    pub fn add_rustflags(
        &self,
        flags: &[String],
        environment: &mut Environment,
        workspace: &Path,
        cargo_args: &[String],
    ) -> Vec<String> {
        const SEPARATOR: &str = "\x1f";
        const ENCODED: &str = "CARGO_ENCODED_RUSTFLAGS";
        let given = |name: &str| {
            let value = environment.get(name).map(|value| value.to_string_lossy().into_owned());
            value.filter(|value| !value.trim().is_empty())
        };
        if flags.is_empty() {
            return Vec::new();
        }
        let spaced = |text: String| text.split_whitespace().collect::<Vec<_>>().join(SEPARATOR);
        if let Some(own) = given(ENCODED).or_else(|| given("RUSTFLAGS").map(spaced)) {
            environment.set(ENCODED, [&[own][..], flags].concat().join(SEPARATOR));
            return Vec::new();
        }
        let of_targets = |name: &OsStr| {
            let name = name.to_str()?.strip_prefix("CARGO_TARGET_")?.strip_suffix("_RUSTFLAGS")?;
            Some(format!("CARGO_TARGET_{name}_RUSTFLAGS"))
        };
        let names: Vec<String> =
            environment.variables().filter_map(|(name, _)| of_targets(name)).collect();
        for name in names {
            let own = environment.get(&name).map(OsStr::to_string_lossy).unwrap_or_default();
            let all = format!("{own} {}", flags.join(" "));
            environment.set(&name, all);
        }
        // The flags of a target hide those of `build`. Which of the targets apply, only cargo knows.
        let files = self.above.iter().cloned().chain(self.seen_from(workspace));
        let mut targets = BTreeSet::new();
        let in_arguments = cargo_args.iter().filter_map(|word| {
            word.strip_prefix("--config=").unwrap_or(word).parse::<Table>().ok()
        });
        let in_files = files.flat_map(|path| tables(&path)).map(|(_, table)| table);
        for table in in_files.chain(in_arguments) {
            let of_file = table.get("target").and_then(Value::as_table).into_iter().flatten();
            let with_flags = of_file.filter(|(_, target)| target.get("rustflags").is_some());
            targets
                .extend(with_flags.map(|(name, _)| dotted(&["target".to_owned(), name.clone()])));
        }
        // The JSON form of a list is valid TOML.
        let list = serde_json::Value::from(flags);
        let keys = std::iter::once("build".to_owned()).chain(targets);
        keys.map(|key| format!("{key}.rustflags={list}")).collect()
    }

    fn hash(&self, left_out: &[&str]) -> Option<String> {
        let mut maker = KeyMaker::new("config v1");
        let mut is_empty = true;
        let files = self.above.iter().rev().cloned().chain(self.seen_from(&self.outside));
        for (_, mut table) in files.flat_map(|path| tables(&path)) {
            remove(&mut table, left_out.iter().copied());
            if let (false, Ok(json)) = (table.is_empty(), serde_json::to_vec(&table)) {
                maker.add("file", &json);
                is_empty = false;
            }
        }
        (!is_empty).then(|| maker.key())
    }

    /// The files that cargo finds from a directory, highest precedence first.
    fn seen_from(&self, directory: &Path) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = directory
            .ancestors()
            .filter_map(|directory| config_file(&directory.join(".cargo")))
            .collect();
        let of_home = self.of_home.clone().filter(|path| !files.contains(path));
        files.extend(of_home);
        files
    }
}

/// The config file in a directory; like cargo, prefers the name without an extension.
fn config_file(directory: &Path) -> Option<PathBuf> {
    ["config", "config.toml"].iter().map(|name| directory.join(name)).find(|path| path.is_file())
}

/// The program that a config file names. Cargo resolves one with a `/` relative to the directory that contains
/// `.cargo`.
fn program_in(path: &Path, name: &str) -> Option<OsString> {
    tables(path).iter().find_map(|(path, table)| {
        let program = table.get("build")?.get(name)?.as_str()?;
        let directory = path.parent().and_then(Path::parent).filter(|_| program.contains('/'));
        Some(directory.map_or(program.into(), |directory| directory.join(program).into()))
    })
}

/// The variables that the config files of a checkout itself set, as seen from `workspace` in it.
pub fn variables_of_checkout(
    checkout: &Path,
    workspace: &Path,
) -> BTreeMap<String, ConfiguredVariable> {
    let own = workspace.ancestors().take_while(|directory| directory.starts_with(checkout));
    variables_in(own.filter_map(|directory| config_file(&directory.join(".cargo"))))
}

/// The variables that cargo takes from these config files, the first of which has the highest precedence.
pub fn variables_in(
    files: impl IntoIterator<Item = PathBuf>,
) -> BTreeMap<String, ConfiguredVariable> {
    let mut all = BTreeMap::new();
    for (path, table) in files.into_iter().flat_map(|path| tables(&path)) {
        // A relative value refers to the directory that has `.cargo`, also in a file that another one includes.
        let root = path.parent().and_then(Path::parent).unwrap_or(Path::new(""));
        for (name, variable) in variables_of(&table, root) {
            all.entry(name).or_insert(variable);
        }
    }
    all
}

/// The variables of the table `env` of a configuration whose relative values refer to `root`.
pub fn variables_of(
    config: &Table,
    root: &Path,
) -> impl Iterator<Item = (String, ConfiguredVariable)> {
    let set = config.get("env").and_then(Value::as_table).into_iter().flatten();
    set.filter_map(move |(name, set)| {
        let is = |key: &str| set.get(key).and_then(Value::as_bool) == Some(true);
        let value = set.get("value").unwrap_or(set).as_str()?;
        let value = if is("relative") { root.join(value).into() } else { value.into() };
        Some((name.clone(), ConfiguredVariable { value, force: is("force") }))
    })
}

/// The tables of a config file, followed by those of the files that it includes.
fn tables(path: &Path) -> Vec<(PathBuf, Table)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut wanted = vec![path.to_owned()];
    while let Some(path) = wanted.pop() {
        let text = fs::read_to_string(&path).unwrap_or_default();
        // Cargo reports a file that it cannot read.
        let Ok(table) = text.parse::<Table>() else { continue };
        if seen.insert(path.clone()) {
            // The last included file has the highest precedence and is taken next.
            wanted.extend(included(&table).iter().map(|file| path.with_file_name(file)));
            found.push((path, table));
        }
    }
    found
}

fn included(table: &Table) -> Vec<String> {
    let files = match table.get("include") {
        Some(Value::Array(files)) => files.as_slice(),
        Some(file) => std::slice::from_ref(file),
        None => &[],
    };
    let path = |file: &Value| {
        let path = file.get("path").unwrap_or(file);
        path.as_str().map(str::to_owned)
    };
    files.iter().filter_map(path).collect()
}

/// Calls `found` with the keys and value of every string, number and boolean in `value`.
pub(super) fn leaves(
    value: &Value,
    keys: &mut Vec<String>,
    found: &mut impl FnMut(&[String], &Value),
) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                keys.push(key.clone());
                leaves(value, keys, found);
                keys.pop();
            }
        }
        // Cargo joins the arrays of all files.
        Value::Array(_) => {}
        _ => found(keys, value),
    }
}

/// Keys in TOML's one-line notation. A JSON string is a TOML string.
fn dotted(keys: &[String]) -> String {
    let quoted = keys.iter().filter_map(|key| serde_json::to_string(key).ok());
    quoted.collect::<Vec<_>>().join(".")
}

/// Removes tables without effect, and the tables `left_out`.
fn remove<'a>(table: &mut Table, left_out: impl Iterator<Item = &'a str>) {
    for name in WITHOUT_EFFECT.split_whitespace().chain(left_out) {
        table.remove(name);
    }
    if let Some(build) = table.get_mut("build").and_then(Value::as_table_mut) {
        for name in WITHOUT_EFFECT_IN_BUILD.split_whitespace() {
            build.remove(name);
        }
    }
    table.retain(|_, value| value.as_table().is_none_or(|table| !table.is_empty()));
}

/// Settings for cargo's `--config` that override the relative paths in the config files of `workspace`, a directory of
/// the checkout, and of those above it: of sources, of patches and of variables. `at` is the path at which cargo sees
/// the checkout, the same for all versions.
///
/// Cargo resolves a relative path in a config file relative to the checkout's own path. This path would appear in every
/// panic message of such a crate, and would differ between versions; a package of the repository would be another
/// package by it.
pub fn relative_paths(checkout: &Path, workspace: &Path, at: &Path) -> Vec<String> {
    let mut paths = BTreeMap::new();
    // The config file nearest to the workspace takes precedence, so it comes last.
    for below in workspace.ancestors().collect::<Vec<_>>().into_iter().rev() {
        let file = config_file(&checkout.join(below).join(".cargo"));
        for (file, table) in file.iter().flat_map(|file| tables(file)).rev() {
            let root = file.parent().and_then(Path::parent);
            let Some(root) = root.and_then(|root| root.strip_prefix(checkout).ok()) else {
                continue;
            };
            leaves(&Value::Table(table.clone()), &mut Vec::new(), &mut |keys, value| {
                let is_relative = match keys.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                    ["source", _, "directory" | "local-registry"] | ["patch", _, _, "path"] => true,
                    ["env", name, "value"] => {
                        let set = table.get("env").and_then(|variables| variables.get(name));
                        let relative = set.and_then(|set| set.get("relative"));
                        relative.and_then(Value::as_bool) == Some(true)
                    }
                    _ => false,
                };
                if let (true, Some(path)) = (is_relative, value.as_str().map(Path::new))
                    && path.is_relative()
                {
                    paths.insert(dotted(keys), at.join(root).join(path));
                }
            });
        }
    }
    let setting = |(keys, path): (String, PathBuf)| {
        // A JSON string is a TOML string.
        Some(format!("{keys}={}", serde_json::to_string(path.to_str()?).ok()?))
    };
    paths.into_iter().filter_map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository at `user/repository`, and checkouts at `cache/checkouts`.
    struct ConfigLocation(tempfile::TempDir);

    impl ConfigLocation {
        fn with(files: &[(&str, &str)]) -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            for (path, text) in files {
                place.write(path, text);
            }
            place
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn configs(&self) -> ConfigFiles {
            let home = self.path("home");
            ConfigFiles::find(&self.path("user/repository"), &self.path("cache"), |name| {
                (name == "CARGO_HOME").then(|| home.clone().into())
            })
        }
    }

    const FLAGS: &str = "[build]\nrustflags = ['--cfg', 'a']\n";

    #[test]
    fn identity_covers_all_config_files_outside_the_repository() {
        let files = ["user/.cargo/config.toml", "cache/.cargo/config", "home/config.toml"];
        for path in files {
            let place = ConfigLocation::with(&[(path, FLAGS)]);
            let first = place.configs();
            assert_eq!(first.above.is_empty(), path != files[0], "{path}");
            let identity = first.identity().unwrap();
            assert!(identity.starts_with("blake3:") && identity.len() == 23, "{identity}");
            place.write(path, &FLAGS.replace("'a'", "'b'"));
            assert_ne!(place.configs().identity(), Some(identity), "{path}");
        }
        let own = ConfigLocation::with(&[("user/repository/.cargo/config.toml", FLAGS)]);
        assert_eq!(own.configs().compilation_text(), None, "it is part of the tree");
    }

    #[test]
    fn program_follows_the_precedence_of_cargo() {
        let place = ConfigLocation::with(&[]);
        let workspace = place.path("cache/checkouts/tree");
        let mut environment = Environment::default();
        let found = |environment: &Environment| {
            place.configs().program("rustc", environment, &workspace).unwrap_or_default()
        };
        assert_eq!(found(&environment), "");
        for (path, program, expected) in [
            ("home/config.toml", "from-path", "from-path".into()),
            ("cache/checkouts/tree/.cargo/config.toml", "./own", workspace.join("./own")),
            ("user/.cargo/config.toml", "bin/above", place.path("user/bin/above")),
        ] {
            place.write(path, &format!("[build]\nrustc = '{program}'\n"));
            assert_eq!(found(&environment), *expected);
        }
        fs::remove_file(place.path("user/.cargo/config.toml")).unwrap();
        environment.set("CARGO_BUILD_RUSTC", "given");
        assert_eq!(found(&environment), "given");
        environment.set("RUSTC", "given first");
        assert_eq!(found(&environment), "given first");
    }

    #[test]
    fn own_settings_repeats_what_files_above_set() {
        let profile = |text: &str| format!("[profile.bench]\n{text}\n");
        let place = ConfigLocation::with(&[
            ("user/.cargo/config.toml", &profile("lto = true\npackage.'*'.debug = 1\n")),
            ("tree/.cargo/config.toml", &profile("lto = 'off'\nopt-level = 2\n")),
            ("tree/a/.cargo/config", &profile("lto = 'thin'\npackage.'*'.debug = 0\n")),
        ]);
        let own = |configs: &ConfigFiles| configs.own_settings(&place.path("tree"), Path::new("a"));
        let expected = [
            r#""profile"."bench"."lto"="off""#,
            r#""profile"."bench"."lto"="thin""#,
            r#""profile"."bench"."package"."*"."debug"=0"#,
        ];
        assert_eq!(own(&place.configs()), expected);
        fs::remove_file(place.path("user/.cargo/config.toml")).unwrap();
        assert!(own(&place.configs()).is_empty(), "cargo reads its own files itself");
    }

    #[test]
    fn rustflags_are_added_to_those_of_their_source() {
        let target = "[target.'cfg(all())']\nrustflags = ['-g']\n[target.x]\nlinker = 'l'\n";
        let place = ConfigLocation::with(&[("user/.cargo/config.toml", target)]);
        let flags = ["-C", "target-cpu=native"].map(str::to_owned);
        let mut environment = Environment::default();
        let added = |environment: &mut Environment, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            place.configs().add_rustflags(&flags, environment, &place.path("tree"), &words)
        };
        let of = |key: &str| format!(r#"{key}.rustflags=["-C","target-cpu=native"]"#);
        assert_eq!(added(&mut environment, &[]), [of("build"), of(r#""target"."cfg(all())""#)]);
        let word = "--config=target.y.rustflags=['-O']";
        assert_eq!(added(&mut environment, &[word])[2], of(r#""target"."y""#));
        environment.set("CARGO_TARGET_X_RUSTFLAGS", "-g");
        added(&mut environment, &[]);
        let of_target = environment.get("CARGO_TARGET_X_RUSTFLAGS");
        assert_eq!(of_target, Some(OsStr::new("-g -C target-cpu=native")));
        environment.set("RUSTFLAGS", "-g  -O");
        assert_eq!(added(&mut environment, &[]), [""; 0]);
        let all = OsStr::new("-g\x1f-O\x1f-C\x1ftarget-cpu=native");
        assert_eq!(environment.get("CARGO_ENCODED_RUSTFLAGS"), Some(all));
    }

    #[test]
    fn included_config_files_count() {
        let text = "include = ['more.toml', { path = 'even/more.toml', optional = true }]\n";
        let place = ConfigLocation::with(&[("home/config.toml", text), ("home/more.toml", FLAGS)]);
        let first = place.configs().identity();
        assert!(first.is_some());
        place.write("home/even/more.toml", "include = '../config.toml'\n[env]\nA = '1'\n");
        assert_ne!(place.configs().identity(), first);
    }

    #[test]
    fn identity_ignores_network_and_speed_settings() {
        let text = "[net]\noffline = true\n[registries.x]\ntoken = 's3cr3t'\n\
                    [build]\njobs = 1\ntarget-dir = '/t'\n[alias]\nb = 'bench'\n";
        let place = ConfigLocation::with(&[("home/config.toml", text)]);
        assert_eq!(place.configs().compilation_text(), None);
        place.write("home/config.toml", "[source.crates-io]\nreplace-with = 'mirror'\n");
        assert_eq!(place.configs().identity(), None);
        assert!(place.configs().compilation_text().is_some());
    }

    fn overrides_of(files: &[(&str, &str)]) -> Vec<String> {
        let checkout = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = checkout.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        relative_paths(checkout.path(), Path::new("a/b"), Path::new("/at/src"))
    }

    #[test]
    fn relative_paths_come_from_the_nearest_config_file() {
        let top = "[source.crates-io]\nreplace-with = 'v'\n[source.v]\ndirectory = 'vendor'\n\
                   [source.'git+https://x']\ndirectory = 'git'\n";
        assert_eq!(
            overrides_of(&[(".cargo/config.toml", top), ("c/.cargo/config.toml", "[source")]),
            [
                r#""source"."git+https://x"."directory"="/at/src/git""#,
                r#""source"."v"."directory"="/at/src/vendor""#
            ]
        );
        let nearer = "[source.v]\ndirectory = 'third party'\n";
        assert_eq!(
            overrides_of(&[(".cargo/config.toml", top), ("a/.cargo/config", nearer)])[1],
            r#""source"."v"."directory"="/at/src/a/third party""#
        );
    }

    #[test]
    fn relative_paths_of_patches_variables_and_included_files_are_those_of_cargo() {
        let files = [
            ("a/.cargo/config.toml", "include = 'more.toml'\n[patch.crates-io]\nx.path = '../x'\n"),
            ("a/.cargo/more.toml", "[env]\nD = { value = 'data', relative = true }\nE = 'text'\n"),
        ];
        assert_eq!(
            overrides_of(&files),
            [
                r#""env"."D"."value"="/at/src/a/data""#,
                r#""patch"."crates-io"."x"."path"="/at/src/a/../x""#
            ]
        );
    }

    #[test]
    fn variables_come_from_the_nearest_file_and_from_those_that_it_includes() {
        let more = "[env]\nA = 'more'\nB = { value = 'b', relative = true, force = true }\n";
        let place = ConfigLocation::with(&[
            ("user/.cargo/config.toml", "[env]\nA = 'above'\nC = 'above'\n"),
            ("home/config.toml", "[env]\nC = 'home'\nD = 'home'\n"),
            ("cache/tree/.cargo/config.toml", "include = ['more.toml']\n[env]\nA = 'own'\n"),
            ("cache/tree/.cargo/more.toml", more),
        ]);
        let tree = place.path("cache/tree");
        let all = place.configs().variables(&tree, &tree.join("a"));
        let plain = |value: &str| ConfiguredVariable { value: value.into(), force: false };
        let b = ConfiguredVariable { value: tree.join("b").into(), force: true };
        let own = [("A", plain("own")), ("B", b)];
        let outside = [("C", plain("above")), ("D", plain("home"))];
        let map = |all: &[(&str, ConfiguredVariable)]| -> BTreeMap<String, ConfiguredVariable> {
            all.iter().map(|(name, set)| ((*name).to_owned(), set.clone())).collect()
        };
        assert_eq!(all, map(&[own.clone(), outside].concat()));
        assert_eq!(variables_of_checkout(&tree, &tree.join("a")), map(&own));
    }

    #[test]
    fn relative_paths_ignore_absolute_ones() {
        let config = "[source.v]\ndirectory = '/usr/share/cargo/registry'\n[build]\njobs = 1\n";
        assert!(overrides_of(&[(".cargo/config.toml", config)]).is_empty());
        assert!(overrides_of(&[(".cargo/config.toml", "no [ toml")]).is_empty());
    }
}
