//! The conditions of a compilation: everything that it depended on besides the version's files, the toolchain and the
//! settings, which its key contains. Cargo and rustc record most of it. A compilation is reused only under the same
//! conditions, since the version that it is compared with is compiled under the present ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rbench_code::elf::Digest;
use serde::{Deserialize, Serialize};

use super::{
    environment::Environment,
    files::{self, RealPaths},
    inputs::InputFile,
};
use crate::{error::Result, model::secret::hash_of};

/// The programs that build scripts usually start. Others are unknown.
const TOOLS: &str = "
    ar as c++ cc clang clang++ cmake g++ gcc ld nasm pkg-config protoc
";

/// Those that link, which every compilation does.
const LINKING: [&str; 2] = ["cc", "ld"];

/// The file in the directory of a compilation with the programs that its build scripts may start, written before cargo
/// starts, so that it also describes an interrupted compilation.
const TOOLS_FILE: &str = "tools.json";

pub struct Script {
    pub package: PathBuf,
    pub out_dir: PathBuf,
}

/// Where a compilation finds its files.
pub struct Places<'a> {
    pub target: &'a Path,
    /// The directory in which cargo starts rustc for the packages of the workspace.
    pub workspace: &'a Path,
    /// Directories whose files the compilation's key determines: the checkout, the compilation itself, the toolchain.
    pub known: Vec<PathBuf>,
}

/// Programs by the names with which they were looked up; `None` where there was none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools(BTreeMap<String, Option<InputFile>>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The variables that build scripts and crates read, with hashes of their values; `None` if unset.
    variables: BTreeMap<String, Option<String>>,
    /// The files that were read outside of the known directories.
    files: Vec<InputFile>,
    /// Digests of the names, sizes and times of all files below directories that build scripts depend on.
    directories: Vec<(PathBuf, Digest)>,
    /// Files that build scripts depend on and that do not exist.
    absent: Vec<PathBuf>,
    /// The programs that build scripts may have started.
    tools: Tools,
}

impl Tools {
    /// The present programs: those that build scripts usually start, and those that variables name.
    pub fn find(environment: &Environment) -> Self {
        let named = environment
            .identifying()
            .filter_map(|(_, value)| Some(value.to_str()?.split_whitespace().next()?.to_owned()));
        let names: BTreeSet<String> =
            TOOLS.split_whitespace().map(str::to_owned).chain(named).collect();
        let tool = |name: String| {
            let path = program(&name, environment);
            (name, path.and_then(|path| InputFile::by_contents(&path).ok()))
        };
        Self(names.into_iter().map(tool).collect())
    }

    /// Stores them with the compilation in `home`.
    pub fn keep(&self, home: &Path) -> Result<()> {
        files::write_json(&home.join(TOOLS_FILE), self)
    }

    /// The tools stored with the compilation in `home`.
    pub fn kept(home: &Path) -> Option<Self> {
        files::read_json(&home.join(TOOLS_FILE))
    }

    /// Without those that only build scripts start.
    fn for_linking(mut self) -> Self {
        let is_of_scripts = |name: &str| TOOLS.split_whitespace().any(|tool| tool == name);
        self.0.retain(|name, _| LINKING.contains(&name.as_str()) || !is_of_scripts(name));
        self
    }

    fn identity(&self) -> String {
        let digest = |file: &Option<InputFile>| file.as_ref().map(InputFile::digest);
        let tools: Vec<_> = self.0.iter().map(|(name, file)| (name, digest(file))).collect();
        format!("{tools:?}")
    }

    /// The name of a program that is another one now.
    pub fn difference(&self, environment: &Environment) -> Option<&str> {
        let is_other = |(name, file): &(&String, &Option<InputFile>)| {
            let now = program(name, environment);
            match file {
                Some(file) => now.as_deref() != Some(file.path()) || !file.is_whole(),
                None => now.is_some(),
            }
        };
        self.0.iter().find(is_other).map(|(name, _)| name.as_str())
    }
}

/// The real path of the program with this name or path.
fn program(name: &str, environment: &Environment) -> Option<PathBuf> {
    let directories = environment.get("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(directories).map(|directory| directory.join(name));
    let found = if name.contains('/') { Some(PathBuf::from(name)) } else { None };
    let mut candidates = found.into_iter().chain(in_path);
    candidates.find(|path| path.is_absolute() && path.is_file())?.canonicalize().ok()
}

impl Conditions {
    /// Reads what cargo and rustc recorded about a complete compilation with these build scripts.
    pub fn read(
        places: &Places<'_>,
        scripts: &[Script],
        environment: &Environment,
        tools: Tools,
    ) -> Result<Self> {
        let mut found = Recorded::default();
        for path in dep_infos(places.target) {
            found.add_dep_info(&fs::read_to_string(path).unwrap_or_default(), places.workspace);
        }
        for script in scripts {
            let output = script.out_dir.with_file_name("output");
            found.add_script(&fs::read_to_string(output).unwrap_or_default(), &script.package);
        }
        let hashed = |name: String| {
            let value = environment.get(&name).map(|value| hash_of(value.as_encoded_bytes()));
            (name, value)
        };
        let mut conditions = Self {
            variables: found.variables.into_iter().map(hashed).collect(),
            tools: if scripts.is_empty() { tools.for_linking() } else { tools },
            ..Self::default()
        };
        let mut real = RealPaths::default();
        let known: Vec<PathBuf> = places.known.iter().map(|path| files::real(path)).collect();
        let paths: BTreeSet<PathBuf> = found.paths.iter().map(|path| real.resolve(path)).collect();
        for path in paths {
            if known.iter().any(|known| path.starts_with(known)) {
                continue;
            }
            match fs::metadata(&path) {
                Ok(kind) if kind.is_dir() => {
                    let digest = digest_of_directory(&path);
                    conditions.directories.push((path, digest));
                }
                Ok(kind) if kind.is_file() => {
                    conditions.files.push(InputFile::by_contents(&path)?);
                }
                // The contents of a device or a pipe are unknown.
                Ok(_) => {}
                Err(_) => conditions.absent.push(path),
            }
        }
        Ok(conditions)
    }

    /// The variables and programs, without the files that only some versions read.
    pub fn identity(&self) -> String {
        format!("{:?} {}", self.variables, self.tools.identity())
    }

    /// The programs that link: the driver brings start-up code and libraries that no argument names.
    pub fn linking(&self) -> String {
        self.tools.clone().for_linking().identity()
    }

    /// The first condition that is another one now, in words; `None` if all agree.
    pub fn difference(&self, environment: &Environment) -> Option<String> {
        let value = |name: &str| environment.get(name).map(|one| hash_of(one.as_encoded_bytes()));
        if let Some((name, _)) = self.variables.iter().find(|(name, then)| value(name) != **then) {
            return Some(format!("the variable {name} has another value"));
        }
        let changed = self.files.iter().find(|file| !file.is_whole()).map(InputFile::path);
        let changed = changed.or_else(|| {
            let is_other =
                |(path, digest): &&(PathBuf, Digest)| digest_of_directory(path) != *digest;
            self.directories.iter().find(is_other).map(|(path, _)| path.as_path())
        });
        let changed =
            changed.or_else(|| self.absent.iter().find(|path| path.exists()).map(PathBuf::as_path));
        if let Some(path) = changed {
            return Some(format!("{} has changed", path.display()));
        }
        let tool = self.tools.difference(environment)?;
        Some(format!("the program `{tool}` is another one"))
    }
}

/// What cargo and rustc recorded: names of variables, and paths.
#[derive(Debug, Default)]
struct Recorded {
    variables: BTreeSet<String>,
    paths: BTreeSet<PathBuf>,
}

impl Recorded {
    /// Adds rustc's list of what a crate depends on; rustc ran in `directory`.
    fn add_dep_info(&mut self, text: &str, directory: &Path) {
        for line in text.lines() {
            if let Some(variable) = line.strip_prefix("# env-dep:") {
                let name = variable.split('=').next().unwrap_or_default();
                self.variables.insert(name.to_owned());
            } else if let Some(path) = line.strip_suffix(':') {
                // Each file stands on a separate line as a target without dependencies.
                self.paths.insert(directory.join(path.replace("\\ ", " ")));
            }
        }
    }

    /// Adds the instructions of a build script for a package in `directory`.
    fn add_script(&mut self, output: &str, directory: &Path) {
        let mut has_paths_or_variables = false;
        for line in output.lines() {
            let Some(line) = line.strip_prefix("cargo::").or(line.strip_prefix("cargo:")) else {
                continue;
            };
            if let Some(name) = line.strip_prefix("rerun-if-env-changed=") {
                self.variables.insert(name.trim().to_owned());
            } else if let Some(path) = line.strip_prefix("rerun-if-changed=") {
                self.paths.insert(directory.join(path.trim()));
            } else {
                continue;
            }
            has_paths_or_variables = true;
        }
        if !has_paths_or_variables {
            // For cargo, the script then depends on all files of the package.
            self.paths.insert(directory.to_owned());
        }
    }
}

/// The files with rustc's lists, in the directories of every platform and profile.
fn dep_infos(target: &Path) -> Vec<PathBuf> {
    let entries = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().filter_map(io::Result::ok);
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let profiles: Vec<PathBuf> =
        entries(target).into_iter().flat_map(|one| [entries(&one), vec![one]].concat()).collect();
    let mut directories: Vec<PathBuf> = profiles.iter().map(|one| one.join("deps")).collect();
    directories.extend(profiles.iter().flat_map(|one| entries(&one.join("build"))));
    let mut files: Vec<PathBuf> = directories.iter().flat_map(|one| entries(one)).collect();
    files.retain(|path| path.extension() == Some(OsStr::new("d")));
    files
}

/// The digest of names, sizes and times of all files below a directory, except those of git and of cargo.
fn digest_of_directory(directory: &Path) -> Digest {
    let mut found: Vec<(PathBuf, u64, i64, i64)> = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = fs::read_dir(&directory).into_iter().flatten().filter_map(io::Result::ok);
        for entry in entries {
            let Ok(metadata) = entry.metadata() else { continue };
            if !metadata.is_dir() {
                let times = (metadata.mtime(), metadata.mtime_nsec());
                found.push((entry.path(), metadata.len(), times.0, times.1));
            } else if entry.file_name() != "target" && entry.file_name() != ".git" {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    let text: Vec<String> = found.iter().map(|one| format!("{one:?}\n")).collect();
    Digest::compute(text.concat().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(place: &Path, scripts: &[Script], environment: &Environment) -> Conditions {
        let places = Places {
            target: &place.join("home/target"),
            workspace: &place.join("checkout"),
            known: vec![place.join("home"), place.join("checkout")],
        };
        let tools = Tools::find(environment);
        Conditions::read(&places, scripts, environment, tools).unwrap()
    }

    fn write(path: &Path, text: &str) {
        files::write_whole(path, text.as_bytes()).unwrap();
    }

    /// A place with a checkout, a target dir with this dependency information of a crate, and the output of a script.
    fn place(dep_info: &str, output: &str) -> (tempfile::TempDir, Vec<Script>) {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("home/target/release");
        let dep_info = dep_info.replace("PLACE", place.path().to_str().unwrap());
        let output = output.replace("PLACE", place.path().to_str().unwrap());
        write(&home.join("deps/own-0123456789abcdef.d"), &dep_info);
        write(&home.join("build/own-0123456789abcdee/output"), &output);
        write(&place.path().join("checkout/src/lib.rs"), "");
        let script = Script {
            package: place.path().join("package"),
            out_dir: home.join("build/own-0123456789abcdee/out"),
        };
        (place, vec![script])
    }

    #[test]
    fn conditions_have_hashes_of_variables_only() {
        let (place, scripts) = place(
            "# env-dep:SECRET_OPTION=s3cret\n# env-dep:UNSET\n",
            "cargo::rerun-if-env-changed=OLD\ncargo:rerun-if-env-changed=NEW\n",
        );
        let mut environment = Environment::default();
        environment.set("SECRET_OPTION", "s3cret");
        environment.set("NEW", "1");
        let conditions = read(place.path(), &scripts, &environment);
        let names: Vec<&str> = conditions.variables.keys().map(String::as_str).collect();
        assert_eq!(names, ["NEW", "OLD", "SECRET_OPTION", "UNSET"]);
        assert!(!serde_json::to_string(&conditions).unwrap().contains("s3cret"));
        assert_eq!(conditions.difference(&environment), None);
        environment.set("OLD", "");
        let difference = conditions.difference(&environment);
        assert_eq!(difference.unwrap(), "the variable OLD has another value");
    }

    #[test]
    fn conditions_have_files_outside_of_the_checkout() {
        let (place, scripts) = place(
            "/at/x.rlib: src/lib.rs\n\nsrc/lib.rs:\nPLACE/my\\ data:\nsrc/link.rs:\n",
            "cargo:rerun-if-changed=build.rs\ncargo:rerun-if-changed=PLACE/absent\n\
             cargo:rerun-if-changed=PLACE/headers\n",
        );
        let path = |name: &str| place.path().join(name);
        for name in ["my data", "linked", "headers/deep/x.h", "package/build.rs"] {
            write(&path(name), "1");
        }
        std::os::unix::fs::symlink(path("linked"), path("checkout/src/link.rs")).unwrap();
        let none = Environment::default();
        for (name, seen) in [
            ("my data", "my data"),
            ("linked", "linked"),
            ("headers/deep/x.h", "headers"),
            ("package/build.rs", "package/build.rs"),
            ("absent", "absent"),
        ] {
            let conditions = read(place.path(), &scripts, &none);
            assert_eq!(conditions.difference(&none), None);
            write(&path("checkout/src/lib.rs"), name);
            assert_eq!(conditions.difference(&none), None, "of the version");
            write(&path(name), "other text");
            let difference = conditions.difference(&none);
            assert_eq!(difference.unwrap(), format!("{} has changed", path(seen).display()));
        }
    }

    #[test]
    fn script_without_instructions_depends_on_its_package() {
        let (place, scripts) = place("", "cargo::rustc-cfg=fast\n");
        write(&place.path().join("package/list.txt"), "1");
        let none = Environment::default();
        let conditions = read(place.path(), &scripts, &none);
        assert_eq!(conditions.difference(&none), None);
        write(&place.path().join("package/list.txt"), "12");
        assert!(conditions.difference(&none).unwrap().ends_with("/package has changed"));
    }

    #[test]
    fn tools_are_other_ones_if_found_elsewhere_or_changed() {
        let (place, scripts) = place("", "");
        let path = |name: &str| place.path().join(name);
        write(&path("one/cc"), "gcc 13");
        write(&path("own-cc"), "own 1");
        let mut environment = Environment::default();
        environment.set("PATH", std::env::join_paths([path("two"), path("one")]).unwrap());
        environment.set("CC_x86_64_unknown_linux_gnu", path("own-cc"));
        let difference = |change: &str, text: &str| {
            let conditions = read(place.path(), &scripts, &environment);
            assert_eq!(conditions.difference(&environment), None);
            let without = read(place.path(), &[], &environment).tools;
            assert!(!without.0.contains_key("cmake") && without.0.contains_key("cc"));
            write(&path(change), text);
            conditions.difference(&environment).unwrap()
        };
        assert_eq!(difference("one/cc", "gcc 14"), "the program `cc` is another one");
        assert_eq!(difference("two/cc", "gcc 14"), "the program `cc` is another one");
        assert_eq!(difference("one/cmake", "4"), "the program `cmake` is another one");
        assert!(difference("own-cc", "own 2").contains("/own-cc` is another one"));
    }
}
