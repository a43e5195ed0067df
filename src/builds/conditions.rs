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

use serde::{Deserialize, Serialize};

use super::{
    environment::Environment,
    files::{self, RealPaths},
    inputs::InputFile,
};
use crate::{elf::Digest, error::Result, model::secret::hash_of};

/// The programs that build scripts usually start. Others are unknown.
const TOOLS: &str = "
    ar as c++ cc clang clang++ cmake g++ gcc ld nasm pkg-config protoc
";

/// The file in the directory of a compilation with the programs that its build scripts may start, written before cargo
/// starts, so that it also describes an interrupted compilation.
const TOOLS_FILE: &str = "tools.json";

/// A build script that was run.
pub struct Script {
    /// The directory of its package.
    pub package: PathBuf,
    /// The directory for its output.
    pub out_dir: PathBuf,
}

/// Where a compilation finds its files.
pub struct Places<'a> {
    /// The target dir.
    pub target: &'a Path,
    /// The directory in which cargo starts rustc for the packages of the workspace.
    pub workspace: &'a Path,
    /// Directories whose files the compilation's key determines: the checkout, the compilation itself, the toolchain.
    pub known: Vec<PathBuf>,
}

/// Programs by the names with which they were looked up; `None` where there was none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools(BTreeMap<String, Option<InputFile>>);

/// The conditions of one compilation.
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
    /// Reads what cargo and rustc recorded about a complete compilation with these build scripts. Without any, no tools
    /// were used.
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
            tools: if scripts.is_empty() { Tools::default() } else { tools },
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
        let tools = &self.tools.0;
        let digests: Vec<_> =
            tools.iter().map(|(name, file)| (name, file.as_ref().map(InputFile::digest))).collect();
        format!("{:?} {digests:?}", self.variables)
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
