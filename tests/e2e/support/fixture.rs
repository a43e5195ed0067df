//! Copies the crates of `fixtures/` and builds their bench targets.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use cargo_metadata::{Message, TargetKind};
use cargo_rbench::harness::Executable;

use super::TestProject;

/// The bench targets of one fixture, built once per test process.
pub struct Fixture {
    name: &'static str,
    builder: Builder,
    built: OnceLock<Vec<Executable>>,
}

enum Builder {
    Cargo,
    CargoOf {
        toolchain: &'static str,
    },
    CargoWith {
        features: &'static str,
    },
    /// Uses `rbench build`, in a project shared with other tests.
    Rbench(fn() -> TestProject),
}

impl Fixture {
    pub const fn new(name: &'static str) -> Self {
        Self { name, builder: Builder::Cargo, built: OnceLock::new() }
    }

    pub const fn with_toolchain(name: &'static str, toolchain: &'static str) -> Self {
        Self { name, builder: Builder::CargoOf { toolchain }, built: OnceLock::new() }
    }

    pub const fn with_features(name: &'static str, features: &'static str) -> Self {
        Self { name, builder: Builder::CargoWith { features }, built: OnceLock::new() }
    }

    pub const fn of_project(name: &'static str, project: fn() -> TestProject) -> Self {
        Self { name, builder: Builder::Rbench(project), built: OnceLock::new() }
    }

    /// The executable of the bench target `target`.
    pub fn executable(&self, target: &str) -> &Executable {
        let built = self.built.get_or_init(|| match self.builder {
            Builder::Cargo => build_with_cargo(self.name, None, ""),
            Builder::CargoOf { toolchain } => build_with_cargo(self.name, Some(toolchain), ""),
            Builder::CargoWith { features } => build_with_cargo(self.name, None, features),
            Builder::Rbench(project) => build_with_rbench(self.name, &project()),
        });
        built.iter().find(|executable| executable.target == target).expect("no such target")
    }
}

/// The directory of the copies and their target directory. It is kept between test runs, because
/// criterion takes a while to build.
fn place() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures")
}

fn build_with_rbench(name: &str, project: &TestProject) -> Vec<Executable> {
    let builds = project.build(&[".", "--config", "build.strategy=relink", "--builds", "1"]);
    let targets = builds.version(0)["targets"].as_array().unwrap().iter();
    targets
        .map(|target| {
            let path = target["builds"][0]["executable"].as_str().unwrap();
            executable(name, target["target"].as_str().unwrap(), path.into(), project.root())
        })
        .collect()
}

fn executable(name: &str, target: &str, path: PathBuf, directory: &Path) -> Executable {
    Executable {
        package: format!("fixture-{name}"),
        target: target.to_owned(),
        path,
        directory: directory.to_owned(),
        variables: vec![("CARGO_MANIFEST_DIR".into(), directory.into())],
        selection: None,
    }
}

fn build_with_cargo(name: &str, toolchain: Option<&str>, features: &str) -> Vec<Executable> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = place().join(name);
    // Other tests may need other features of the same fixture at the same time.
    fs::create_dir_all(place()).unwrap();
    let lock = File::create(place().join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    copy_directory(&root.join("fixtures").join(name), &copy);
    let manifest = copy.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let harness = root.join("harness");
    let harness = harness.to_str().unwrap();
    fs::write(&manifest, text.replace("\"../../harness\"", &format!("{harness:?}"))).unwrap();

    let output = Command::new("cargo")
        .args(toolchain.map(|toolchain| format!("+{toolchain}")))
        .args(["bench", "--no-run", "--benches", "--message-format=json-render-diagnostics"])
        .args(["--features", features])
        .arg("--target-dir")
        .arg(place().join("target"))
        .current_dir(&copy)
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTUP_TOOLCHAIN")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Message::parse_stream(&output.stdout[..])
        .filter_map(|message| match message.unwrap() {
            Message::CompilerArtifact(artifact) if artifact.target.kind == [TargetKind::Bench] => {
                let path = artifact.executable?.into();
                Some(executable(name, &artifact.target.name, path, &copy))
            }
            _ => None,
        })
        .collect()
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else if fs::read(&target).ok() != fs::read(entry.path()).ok() {
            // An unchanged file keeps its time, so that Cargo need not build again.
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
