//! A fixture copied into a new git repository, in a scratch directory that holds everything rbench
//! may write.

use std::{
    fs,
    fs::File,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::fs::{StatVfsMountFlags, statvfs};
use tempfile::TempDir;

use super::{
    builds::Builds,
    preloaded,
    rbench::{Rbench, hermetic},
};

/// A repository made from a fixture.
pub struct TestProject {
    /// The scratch directory, which holds everything of this project.
    scratch: PathBuf,
    root: PathBuf,
    workspace: PathBuf,
    /// Removes the scratch directory when dropped; none for a shared project.
    _removed: Option<TempDir>,
}

/// Lets code in the sandbox read the harness, which is not in the repository of a test, and its workspace.
pub const WITH_HARNESS: &str = concat!(
    "--config=sandbox.read=[\"",
    env!("CARGO_MANIFEST_DIR"),
    "/harness\", \"",
    env!("CARGO_MANIFEST_DIR"),
    "/Cargo.toml\"]"
);

impl TestProject {
    /// The fixture of this name as a repository with one commit.
    pub fn of(fixture: &str) -> Self {
        Self::at(fixture, "repository")
    }

    /// The same, in a directory of this name.
    pub fn at(fixture: &str, directory: &str) -> Self {
        let project = Self::bare(directory);
        project.begin(fixture);
        project
    }

    /// A project that is compiled once for all tests that ask for this name. `changes` makes it
    /// from a fixture, and its users change nothing. Its dependencies are kept between test runs,
    /// because criterion takes a while to compile.
    pub fn shared(name: &str, fixture: &str, changes: impl FnOnce(&Self)) -> Self {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared");
        fs::create_dir_all(&place).unwrap();
        // Tests may run in several processes.
        let lock = File::create(place.join(format!("{name}.lock"))).unwrap();
        lock.lock().unwrap();
        let scratch = place.join(name);
        let stamp = scratch.join("made by");
        let maker = identity_of_this_program();
        if fs::read_to_string(&stamp).is_ok_and(|known| known == maker) {
            return Self::in_scratch(&scratch, "repository", None);
        }
        let kept = place.join(format!("{name} kept"));
        if scratch.exists() {
            let compilations = Self::in_scratch(&scratch, "repository", None).compilations();
            keep_dependencies(&compilations, &kept);
            fs::remove_dir_all(&scratch).unwrap();
        }
        let project = Self::in_scratch(&scratch, "repository", None);
        project.begin(fixture);
        if kept.exists() {
            fs::create_dir_all(project.storage()).unwrap();
            fs::rename(&kept, project.compilations()).unwrap();
        }
        changes(&project);
        fs::write(stamp, maker).unwrap();
        project
    }

    /// The project's harness with good and bad benchmarks, for tests that change nothing.
    pub fn native() -> Self {
        Self::shared("native", "native", |_| {})
    }

    /// Criterion.rs with good and bad benchmarks, for tests that change nothing. On the branch
    /// `short`, benchmarks measure briefly even where Criterion.rs itself decides for how long.
    pub fn criterion() -> Self {
        Self::shared("criterion", "criterion-0-8", |project| {
            project.fetch();
            project.git(&["checkout", "--quiet", "-b", "short"]);
            let shortly = "criterion_group! {\n    name = benches;\n    config = Criterion::default()\n        \
                           .sample_size(10)\n        .warm_up_time(std::time::Duration::from_millis(1))\n        \
                           .measurement_time(std::time::Duration::from_millis(10));\n    targets = same\n}";
            project.replace("benches/same.rs", "criterion_group!(benches, same);", shortly);
            project.commit("Measure shortly");
            // Versions of one program, in which a benchmark reads a file.
            project.git(&["checkout", "--quiet", "-b", "reads"]);
            let open = "group.bench_with_input(";
            let read = "let _ = std::fs::read(\"words.txt\");\n        ";
            project.replace(
                "benches/same.rs",
                open,
                &format!("if words == 64 {{ {read} }}\n{open}"),
            );
            project.commit("Read a file");
            project.write("CHANGELOG.md", "Words");
            project.commit("Describe");
            project.write("words.txt", "one two");
            project.commit("Add words");
            project.git(&["checkout", "--quiet", "main"]);
        })
    }

    /// Divan with good and bad benchmarks, for tests that change nothing but its results.
    pub fn divan() -> Self {
        Self::shared("divan", "divan", Self::fetch)
    }

    /// The first commit: the fixture, with this repository's harness if it depends on it.
    fn begin(&self, fixture: &str) {
        let project = Path::new(env!("CARGO_MANIFEST_DIR"));
        copy(&project.join("fixtures").join(fixture), &self.root);
        let manifest = self.root.join("Cargo.toml");
        if let Ok(text) = fs::read_to_string(&manifest) {
            let harness = format!("{:?}", project.join("harness").display().to_string());
            fs::write(manifest, text.replace("\"../../harness\"", &harness)).unwrap();
        }
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.write(".gitignore", "target\n");
        self.commit("First version");
    }

    /// Downloads the project's dependencies into cargo's home, because commands run offline.
    pub fn fetch(&self) {
        self.cargo(&["fetch", "--locked"]);
    }

    /// Resolves the dependencies of a new project, and downloads them.
    pub fn lock(&self) {
        self.cargo(&["fetch"]);
    }

    fn cargo(&self, arguments: &[&str]) {
        let mut command = Command::new("cargo");
        hermetic(&mut command, &self.home());
        command.env("CARGO_NET_OFFLINE", "false").args(arguments);
        let output = command.current_dir(&self.workspace).output().expect("cargo runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo {arguments:?} failed: {error}");
    }

    /// An empty directory that is no repository.
    pub fn bare(directory: &str) -> Self {
        let mut maker = tempfile::Builder::new();
        maker.prefix("rbench-e2e-");
        let in_memory = in_memory().and_then(|place| maker.tempdir_in(place).ok());
        let scratch = in_memory.unwrap_or_else(|| maker.tempdir().unwrap());
        let path = scratch.path().to_owned();
        Self::in_scratch(&path, directory, Some(scratch))
    }

    fn in_scratch(scratch: &Path, directory: &str, removed: Option<TempDir>) -> Self {
        fs::create_dir_all(scratch.join("home/tmp")).unwrap();
        let scratch = scratch.canonicalize().unwrap();
        let root = scratch.join(directory);
        fs::create_dir_all(&root).unwrap();
        Self { scratch, workspace: root.clone(), root, _removed: removed }
    }

    /// Runs later commands in this directory of the repository.
    pub fn in_workspace(mut self, directory: &str) -> Self {
        self.workspace = self.root.join(directory);
        self
    }

    /// Another clone of the repository, in another directory with a separate home.
    pub fn clone_elsewhere(&self) -> Self {
        let clone = Self::bare("a clone elsewhere");
        let from = self.root.to_str().unwrap();
        clone.git(&["clone", "--quiet", from, "."]);
        clone
    }

    /// Makes this project use the cache directory of another, as two clones of one user do.
    pub fn share_home(self, other: &Self) -> Sharing {
        Sharing { home: other.home(), project: self }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home directory of the user who runs the commands.
    pub fn home(&self) -> PathBuf {
        self.scratch.join("home")
    }

    /// A path beside the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// The directory of rbench's compilations and builds.
    pub fn storage(&self) -> PathBuf {
        self.workspace.join("target/rbench")
    }

    fn compilations(&self) -> PathBuf {
        self.storage().join("compilations")
    }

    pub fn rbench(&self, arguments: &[&str]) -> Rbench {
        const MEASURING: [&str; 6] = ["bisect", "ci", "compare", "diagnose", "run", "selftest"];
        if arguments.first().is_some_and(|command| MEASURING.contains(command)) {
            preloaded::offer(&self.home(), &self.workspace);
        }
        let mut arguments = arguments.to_vec();
        let manifest = fs::read_to_string(self.root.join("Cargo.toml")).unwrap_or_default();
        // Its subcommands measure nothing.
        let is_comparison = arguments.first() == Some(&"ci")
            && arguments.get(1).is_none_or(|word| word.starts_with('-'));
        if is_comparison && manifest.contains("rbench-harness") {
            arguments.insert(1, WITH_HARNESS);
        }
        Rbench::new(&self.workspace, &self.home(), &arguments)
    }

    /// Runs `cargo rbench build` with these arguments and `--format json`, which must succeed.
    #[track_caller]
    pub fn build(&self, arguments: &[&str]) -> Builds {
        Builds::of(self.build_command(arguments).ok())
    }

    /// The same command, not yet run.
    pub fn build_command(&self, arguments: &[&str]) -> Rbench {
        self.rbench(&[&["build", "--format", "json"], arguments].concat())
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    pub fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn append(&self, path: &str, content: &str) {
        self.write(path, &(self.read(path) + content));
    }

    /// Replaces a text that the file must have.
    #[track_caller]
    pub fn replace(&self, path: &str, old: &str, new: &str) {
        let content = self.read(path);
        assert!(content.contains(old), "{path} has no `{old}`");
        self.write(path, &content.replace(old, new));
    }

    /// Commits all changes, new files included.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// Adds the bench target `own`, which rbench cannot run, because it has a harness that rbench does not know.
    pub fn add_unsupported_target(&self) {
        self.write("brunch/Cargo.toml", "[package]\nname = \"brunch\"\nedition = \"2021\"\n");
        self.write("brunch/src/lib.rs", "");
        self.write("benches/own.rs", "use brunch as _;\n\nfn main() {}\n");
        let manifest = self.read("Cargo.toml");
        let (section, line) = ("[dev-dependencies]\n", "brunch = { path = \"brunch\" }\n");
        let manifest = if manifest.contains(section) {
            manifest.replace(section, &format!("{section}{line}"))
        } else {
            format!("{manifest}\n{section}{line}")
        };
        let target = "\n[[bench]]\nname = \"own\"\nharness = false\n";
        self.write("Cargo.toml", &format!("{manifest}{target}"));
    }

    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        hermetic(&mut command, &self.home());
        let output = command
            .current_dir(&self.root)
            .envs([
                ("GIT_AUTHOR_NAME", "A U Thor"),
                ("GIT_AUTHOR_EMAIL", "author@example.com"),
                ("GIT_AUTHOR_DATE", "1700000000 +0000"),
                ("GIT_COMMITTER_NAME", "C O Mitter"),
                ("GIT_COMMITTER_EMAIL", "committer@example.com"),
                ("GIT_COMMITTER_DATE", "1700000001 +0000"),
            ])
            .args(arguments)
            .output()
            .expect("git runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?} failed: {error}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

impl Drop for TestProject {
    fn drop(&mut self) {
        preloaded::keep(&self.home());
    }
}

/// A project that uses the home of another one.
pub struct Sharing {
    home: PathBuf,
    pub project: TestProject,
}

impl Sharing {
    #[track_caller]
    pub fn build(&self, arguments: &[&str]) -> Builds {
        let arguments = [&["build", "--format", "json"], arguments].concat();
        Builds::of(Rbench::new(&self.project.workspace, &self.home, &arguments).ok())
    }
}

/// A file system in memory, if it can execute programs and has room for several projects. Creating
/// and removing many files is faster there.
fn in_memory() -> Option<&'static str> {
    const ROOM: u64 = 4 << 30;
    let place = "/dev/shm";
    let system = statvfs(place).ok()?;
    let executes = !system.f_flag.contains(StatVfsMountFlags::NOEXEC);
    let has_room = system.f_bavail.saturating_mul(system.f_frsize) >= ROOM;
    (executes && has_room).then_some(place)
}

/// The size and time of the tests' own program, which differ after each change of the project.
fn identity_of_this_program() -> String {
    let metadata = std::env::current_exe().and_then(fs::metadata).unwrap();
    format!("{} {:?}", metadata.len(), metadata.modified().unwrap())
}

/// Moves the target directory of the newest compilation to `kept`, as that of a version whose
/// dependencies the next compilation of its family starts from. Nothing else that rbench made is
/// reused.
fn keep_dependencies(compilations: &Path, kept: &Path) {
    let _ = fs::remove_dir_all(kept);
    let all = fs::read_dir(compilations).into_iter().flatten().flatten();
    let made = |compilation: &fs::DirEntry| {
        fs::metadata(compilation.path().join("compilation.json")).ok()?.modified().ok()
    };
    let Some(newest) = all.filter(|one| made(one).is_some()).max_by_key(made) else { return };
    let name = newest.file_name().into_string().unwrap();
    let (family, _) = name.split_once('-').expect("the family and the version");
    let earlier = kept.join(format!("{family}-another"));
    fs::create_dir_all(&earlier).unwrap();
    fs::rename(newest.path().join("target"), earlier.join("target")).unwrap();
    fs::write(earlier.join("compilation.json"), "of another version").unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_name() == "target" {
        } else if entry.file_type().unwrap().is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}
