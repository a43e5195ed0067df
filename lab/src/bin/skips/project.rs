//! The projects, and their mutants as commits and variants.

use std::{
    error::Error,
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::mutate::{Change, Files, Mutant};

/// A project, and how one of its benchmarks is run.
pub struct Kind {
    pub name: &'static str,
    /// The arguments of an execution with a fixed number of iterations, before the id of the benchmark. None for a
    /// program, which has its own.
    pub arguments: Option<&'static [&'static str]>,
    pub profile: &'static str,
    /// True if all can be compiled with other flags in a few seconds.
    pub is_quick_to_compile: bool,
    /// Variables that only this project asks for.
    pub variables: &'static [(&'static str, &'static str)],
}

const NATIVE: Kind = Kind {
    name: "native",
    arguments: Some(&["--exact"]),
    profile: "bench",
    is_quick_to_compile: true,
    variables: &[],
};

/// Each has benchmarks of the same five modules, of which `own` is its own.
pub const PROJECTS: [Kind; 10] = [
    Kind {
        name: "criterion",
        arguments: Some(&["--profile-time", "1", "--exact"]),
        is_quick_to_compile: false,
        ..NATIVE
    },
    Kind {
        name: "divan",
        arguments: Some(&["--sample-count", "20", "--sample-size", "5", "--exact", "--"]),
        is_quick_to_compile: false,
        ..NATIVE
    },
    Kind { name: "libtest", ..NATIVE },
    NATIVE,
    Kind { name: "program", arguments: None, profile: "release", ..NATIVE },
    Kind { name: "c", ..NATIVE },
    Kind { name: "dynamic", variables: &[("SCALE_ROUNDS", "41"), ("SCALE_MORE", "13")], ..NATIVE },
    Kind { name: "threads", ..NATIVE },
    Kind { name: "files", ..NATIVE },
    Kind {
        name: "variables",
        variables: &[
            ("SKIPS_ELEMENT", "33"),
            ("SKIPS_IDLE", "8"),
            ("SKIPS_COMPILED", "14"),
            ("SKIPS_LATE", "21"),
        ],
        ..NATIVE
    },
];

/// The benchmarks of each project.
pub const BENCHMARKS: [&str; 5] = ["table", "shapes", "text", "case", "own"];

/// Settings of a variant, for bench.toml and for cargo.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    toml: String,
    pub cargo: Vec<String>,
    pub variables: Vec<(String, String)>,
}

impl Settings {
    pub fn variable(name: &str, value: &str) -> Self {
        Self {
            toml: format!("environment = {{ {name} = \"{value}\" }}"),
            variables: vec![(name.to_owned(), value.to_owned())],
            ..Self::default()
        }
    }

    pub fn feature(name: &str) -> Self {
        let cargo = vec!["--features".to_owned(), name.to_owned()];
        Self { toml: format!("features = [\"{name}\"]"), cargo, ..Self::default() }
    }

    pub fn rustflags(flags: &[&str]) -> Self {
        Self {
            toml: format!("rustflags = {flags:?}"),
            variables: vec![("RUSTFLAGS".to_owned(), flags.join(" "))],
            ..Self::default()
        }
    }

    pub fn profile(profile: &str, key: &str, value: &str) -> Self {
        let cargo = vec!["--config".to_owned(), format!("profile.{profile}.{key}={value}")];
        Self { toml: format!("profile-settings = {{ {key} = {value} }}"), cargo, ..Self::default() }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.toml)
    }
}

pub struct Project {
    pub kind: &'static Kind,
    pub path: PathBuf,
    base: git2::Oid,
}

impl Project {
    /// The files of a project: what all have in common, and its own.
    pub fn files(kind: &Kind) -> Result<Files, Box<dyn Error>> {
        let fixture = lab::root().join("lab/skips");
        let mut files = Files::new();
        for part in ["common", kind.name] {
            collect(&fixture.join(part), "", &mut files)?;
        }
        let harness = format!("\"{}\"", lab::root().join("harness").display());
        if let Some(manifest) = files.get_mut("Cargo.toml") {
            *manifest = manifest.replace("\"../../harness\"", &harness);
        }
        files.insert(".gitignore".into(), "target\n.rbench\n".into());
        Ok(files)
    }

    /// Writes the files to a new repository at `path`, with a variant for each mutant that is one, and commits them.
    pub fn new(
        kind: &'static Kind,
        path: PathBuf,
        mutants: &[(usize, Mutant)],
    ) -> Result<Self, Box<dyn Error>> {
        let mut files = Self::files(kind)?;
        let mut variants = String::new();
        for (number, mutant) in mutants {
            if let Change::Settings(settings) = &mutant.change {
                variants.push_str(&format!("[variant.m{number}]\n{settings}\n\n"));
            }
        }
        files.insert("bench.toml".into(), variants);
        write(&path, &files)?;
        let repository = git2::Repository::init(&path)?;
        let base = commit(&repository, "refs/heads/base", "The base", &[])?;
        repository.set_head("refs/heads/base")?;
        Ok(Self { kind, path, base })
    }

    /// The revisions of the base and of a mutant. Its files stay until [`Self::restore`].
    pub fn apply(&self, number: usize, mutant: &Mutant) -> Result<[String; 2], Box<dyn Error>> {
        let base = "base".to_owned();
        let Change::Files(files) = &mutant.change else {
            return Ok([base, format!("base+m{number}")]);
        };
        write(&self.path, files)?;
        let repository = git2::Repository::open(&self.path)?;
        let parent = repository.find_commit(self.base)?;
        let branch = format!("m{number}");
        commit(&repository, &format!("refs/heads/{branch}"), &mutant.what, &[&parent])?;
        Ok([base, branch])
    }

    /// Makes the files those of the base again.
    pub fn restore(&self, mutant: &Mutant) -> Result<(), Box<dyn Error>> {
        let Change::Files(files) = &mutant.change else { return Ok(()) };
        let repository = git2::Repository::open(&self.path)?;
        let tree = repository.find_commit(self.base)?.tree()?;
        for path in files.keys() {
            match tree.get_path(Path::new(path)) {
                Ok(entry) => {
                    fs::write(self.path.join(path), repository.find_blob(entry.id())?.content())?;
                }
                Err(_) => fs::remove_file(self.path.join(path))?,
            }
        }
        Ok(())
    }

    /// A command of cargo or rbench in the project, without the settings of whoever runs the study.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.path);
        for name in [
            "CARGO_TARGET_DIR",
            "CARGO_INCREMENTAL",
            "RUSTFLAGS",
            "RUSTC_BOOTSTRAP",
            "CARGO_ENCODED_RUSTFLAGS",
        ] {
            command.env_remove(name);
        }
        if self.kind.name == "libtest" {
            // Its `#[bench]` is not stable yet.
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        command
    }
}

fn commit(
    repository: &git2::Repository,
    branch: &str,
    message: &str,
    parents: &[&git2::Commit<'_>],
) -> Result<git2::Oid, Box<dyn Error>> {
    // The index of the base is not written: git's own view of the files stays the same.
    let mut index = repository.index()?;
    index.read(true)?;
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None)?;
    if parents.is_empty() {
        index.write()?;
    }
    let tree = repository.find_tree(index.write_tree()?)?;
    let author =
        git2::Signature::new("A U Thor", "author@example.com", &git2::Time::new(1_700_000_000, 0))?;
    Ok(repository.commit(Some(branch), &author, &author, message, &tree, parents)?)
}

fn collect(directory: &Path, below: &str, files: &mut Files) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.insert(name, fs::read_to_string(entry.path())?);
        }
    }
    Ok(())
}

fn write(directory: &Path, files: &Files) -> Result<(), Box<dyn Error>> {
    for (path, text) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().ok_or("a file has a directory")?)?;
        fs::write(path, text)?;
    }
    Ok(())
}
