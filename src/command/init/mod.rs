//! `cargo rbench init`: inspects the project, reports the findings and the next commands, and writes `bench.toml` and a
//! workflow. It must not replace files without `--force`. Findings are the bench targets with their harnesses, programs,
//! and settings that would make measurements misleading.

mod agents;

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

use cargo_metadata::{Metadata, MetadataCommand, Package, Target, camino::Utf8Path};
use toml::Table;

use crate::{
    builds::{
        SourceAttributes, benches_in_sources, features_off, manifests_outside, need_nightly,
        run_tool_or,
    },
    cli::{CompareArgs, ExperimentArgs, InitArgs, RevisionPair, Service, TargetArgs},
    config::Once,
    console::Console,
    error::{Context as _, Error, Exit, Result},
    escape::escape_untrusted_lines,
    harness::{TargetFacts, detect},
    project::Project,
    shared::{Database, Place, SharedVariables},
    shell::{cargo, option, quoted},
};

/// A new `bench.toml`. It changes no setting.
const BENCH_TOML: &str = r#"# Settings of cargo-rbench, for all versions that it compares; flags override them. Every key is optional.
# All keys and their defaults: bench.toml.example in rbench's repository.

[experiment]
# builds = "5..20"     # builds of each version, each with a different code layout

[verdict]
# min-effect = "1%"    # the smallest change to report

# Other settings for some benchmarks:
# [[benchmark]]
# filter = "^slow/"
# builds = 20
"#;

struct NewFile {
    /// The path relative to the workspace, or for a workflow to the repository.
    shown: &'static str,
    path: PathBuf,
    text: String,
    purpose: &'static str,
}

pub fn run(args: &InitArgs, shared: &SharedVariables) -> Result<Exit> {
    if let Some(typed) = &args.shared {
        return set_up_shared(&shared.place(Some(typed))?);
    }
    let mut project = Project::find(args.manifest_path.as_deref(), &[])?;
    let mut found = inspect(&project)?;
    let mut manifest = args.manifest_path.clone();
    if !found.has_benches()
        && let [only] = &found.outside[..]
    {
        // The settings belong beside the benchmarks.
        let there = Project::find(Some(only), &[]).and_then(|there| Ok((inspect(&there)?, there)));
        match there {
            Ok(there) => {
                manifest = Some(only.clone());
                (found, project) = there;
            }
            Err(error) => {
                let note = format!("{} has bench targets, but: {error}", only.display());
                found.notes.push(note);
                found.outside.clear();
                found.are_elsewhere_refused = true;
            }
        }
    }
    let files = files(&project, args.ci);
    let agents = if args.agents { Some(agents_file(&project)?) } else { None };
    let mut text = found.text();
    let is_there = |file: &&NewFile| fs::symlink_metadata(&file.path).is_ok();
    let (old, new): (Vec<&NewFile>, Vec<&NewFile>) =
        files.iter().partition(|file| is_there(file) && !args.force);
    text += "\n";
    for file in &old {
        text +=
            &format!("{} already exists and stays unchanged (--force replaces it)\n", file.shown);
    }
    for file in &new {
        let verb = if args.dry_run { "would write" } else { "wrote" };
        text += &format!("{verb} {}: {}\n", file.shown, file.purpose);
        if !args.dry_run {
            write(file)?;
        }
    }
    if let Some(file) = &agents {
        let verb = if args.dry_run { "would write" } else { "wrote" };
        text += &format!("{verb} {}: {}\n", file.shown, file.purpose);
        if !args.dry_run {
            write(file)?;
        }
    }
    if args.ci == Some(Service::Gitlab) {
        text += "  in .gitlab-ci.yml: include: { local: .gitlab/rbench.yml }\n";
    }
    text += &next(&project, &found, args, manifest);
    Console::result(&escape_untrusted_lines(&text))?;
    Ok(Exit::Success)
}

/// Makes the tables in a database, and shows how to let users in.
fn set_up_shared(place: &Place) -> Result<Exit> {
    let Place::Database(address) = place else {
        return Err(Error::new(Exit::Usage, format!("cannot set up {place}"))
            .cause("only a database needs tables; push makes directories and files itself")
            .hint("name a database: postgres://HOST/DATABASE"));
    };
    let console = Console::attach();
    let members = Database::set_up(address, |text| console.line(text))?;
    let mut text = format!(
        "the {address} has the tables of rbench\n\nlet users in, in psql:\n  \
         GRANT rbench_push TO \"USER\";  -- sends results, and reads none\n  \
         INSERT INTO rbench.allowed VALUES ('USER', 'PROJECT', 'CLASS');  -- which ones; '*': all\n  \
         GRANT rbench_read TO \"USER\";  -- reads results of all projects\n"
    );
    if !members.is_empty() {
        text += &format!(
            "\nthese have such a role already, in every database of the server: {}\n",
            members.join(", ")
        );
    }
    Console::result(&escape_untrusted_lines(&text))?;
    Ok(Exit::Success)
}

fn files(project: &Project, ci: Option<Service>) -> Vec<NewFile> {
    let bench_toml = NewFile {
        shown: "bench.toml",
        path: project.workspace.join("bench.toml"),
        text: BENCH_TOML.to_owned(),
        purpose: "the most common settings, as comments with their defaults",
    };
    let workflow = |shown: &'static str, text: &str, purpose| NewFile {
        shown,
        path: project.repository.root().join(shown),
        text: text.to_owned(),
        purpose,
    };
    let workflow = ci.map(|service| match service {
        Service::Github => workflow(
            ".github/workflows/rbench.yml",
            include_str!("../../../docs/workflows/pull-request.yml"),
            "compares each pull request with its base",
        ),
        Service::Gitlab => workflow(
            ".gitlab/rbench.yml",
            include_str!("../../../docs/workflows/gitlab.yml"),
            "compares each merge request with its target",
        ),
    });
    [bench_toml].into_iter().chain(workflow).collect()
}

/// `AGENTS.md` with the section about rbench; nothing else in it is changed.
fn agents_file(project: &Project) -> Result<NewFile> {
    let path = project.repository.root().join("AGENTS.md");
    let old = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.context(Exit::Usage, || format!("cannot read {}", path.display()))?,
    };
    let Some(text) = agents::with_section(&old) else {
        let what = format!("cannot write the section about benchmarks into {}", path.display());
        return Err(Error::new(Exit::Usage, what)
            .cause("it has only one of the two lines around an older section")
            .hint("remove the line with `cargo-rbench: begin` or `cargo-rbench: end`"));
    };
    let purpose = if old == text {
        "its section about benchmarks was up to date"
    } else {
        "a section about benchmarks, for coding agents; the rest is unchanged"
    };
    Ok(NewFile { shown: "AGENTS.md", path, text, purpose })
}

fn write(file: &NewFile) -> Result<()> {
    let what = || format!("cannot write {}", file.path.display());
    // A link may lead out of the project, so its target is never replaced.
    if fs::symlink_metadata(&file.path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Error::new(Exit::Usage, what()).cause("it is not a file"));
    }
    let directory = file.path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).context(Exit::Usage, what)?;
    fs::write(&file.path, &file.text).context(Exit::Usage, what)
}

/// The comparison that a user most likely wants first: of the last two commits, or else of the only commit and the
/// uncommitted tree. Without bench targets, a program is the benchmark; `None` if there is no program either, or if the
/// benchmarks are elsewhere.
pub fn first_comparison(project: &Project, found: &ProjectSummary) -> Option<CompareArgs> {
    let has_two = project.repository.resolve("HEAD~1").is_ok();
    let versions = if has_two { ["HEAD~1", "HEAD"] } else { ["HEAD", "."] };
    let target = TargetArgs { commands: found.commands()?, ..TargetArgs::default() };
    Some(CompareArgs {
        versions: RevisionPair::from_revisions(versions.map(str::to_owned)),
        experiment: ExperimentArgs { target, ..ExperimentArgs::default() },
        ..CompareArgs::default()
    })
}

/// What is left to do, with the command to type last.
fn next(
    project: &Project,
    found: &ProjectSummary,
    args: &InitArgs,
    manifest: Option<PathBuf>,
) -> String {
    let mut text = "\nnext: ".to_owned();
    if args.ci.is_some() && !args.dry_run {
        text += "git add, commit and push the written files, and\n";
    }
    text + &match first_comparison(project, found) {
        Some(mut comparison) => {
            comparison.experiment.measure.quick = true;
            comparison.experiment.target.project.manifest_path = manifest;
            let command = comparison.suggest_itself();
            if found.need_all_nightly() {
                command.replacen(cargo(), "cargo +nightly", 1)
            } else {
                command
            }
        }
        None if found.has_benches() || !found.outside.is_empty() || found.are_elsewhere_refused => {
            "follow a hint above, or add a bench target with criterion or divan".to_owned()
        }
        None => "add a bench target, for example with criterion or divan".to_owned(),
    } + "\n"
}

#[derive(Debug, Default)]
pub struct ProjectSummary {
    place: String,
    /// Each bench target with its harness, or the reason why it cannot be run.
    benches: Vec<(String, std::result::Result<String, String>)>,
    /// The manifests of packages with bench targets elsewhere in the repository, from the current directory.
    outside: Vec<PathBuf>,
    /// True if there was one that cargo refuses, as a note says.
    are_elsewhere_refused: bool,
    /// The programs: a project without bench targets can be compared with `--command`.
    programs: Vec<String>,
    /// Problems that would make measurements misleading.
    notes: Vec<String>,
    /// The bench targets that need a nightly toolchain, if the present one is stable.
    unstable: Vec<String>,
    /// The bench targets that need features that are off, with these.
    without_features: Vec<(String, Vec<String>)>,
}

pub fn inspect(project: &Project) -> Result<ProjectSummary> {
    let metadata = metadata(project)?;
    let mut found = ProjectSummary {
        place: project.workspace.display().to_string(),
        ..ProjectSummary::default()
    };
    for package in metadata.workspace_packages() {
        let manifest = fs::read_to_string(&package.manifest_path).unwrap_or_default();
        for target in &package.targets {
            if target.is_bench() {
                found.add_bench(project, &metadata, (package, target), &manifest);
            } else if is_benchmark_itself(package, target) {
                found.programs.push(target.name.clone());
            }
        }
    }
    if !found.unstable.is_empty() && has_nightly(project) {
        found.unstable.clear();
    }
    // If none can be compiled without them, rbench turns them on.
    if found.without_features.len() < found.benches.len() {
        let needs = |(name, off): &(String, Vec<String>)| {
            // What needs nightly too is left out with them.
            let helps = !found.unstable.contains(name);
            helps.then(|| format!("{name} needs --features {}", off.join(",")))
        };
        found.notes.extend(found.without_features.iter().filter_map(needs));
    }
    found.outside = outside(project, &metadata)?;
    let root = project.workspace.join("Cargo.toml");
    let manifest = fs::read_to_string(&root).unwrap_or_default();
    found.notes.extend(notes_on_profiles(&manifest.parse().unwrap_or_default()));
    found.notes.extend(benches_in_sources(&metadata));
    Ok(found)
}

/// True for a program that may be worth measuring as a whole. `cargo xtask` by convention runs the tasks of a project, which
/// may publish it.
fn is_benchmark_itself(package: &Package, target: &Target) -> bool {
    let is_task = |name: &str| name.starts_with("xtask");
    let is_program = target.is_bin() || target.is_example() && target.name.contains("bench");
    is_program && !is_task(&package.name) && !is_task(&target.name)
}

/// The manifests of packages with bench targets in the repository that are in another workspace.
fn outside(project: &Project, metadata: &Metadata) -> Result<Vec<PathBuf>> {
    let Some(root) = Utf8Path::from_path(project.repository.root()) else { return Ok(Vec::new()) };
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let here = here.context(Exit::Usage, || "cannot find the current directory")?;
    // Without links, so that `..` leads to the parent.
    let up = here.strip_prefix(root).map_or(0, |below| below.components().count());
    let to_root: PathBuf = std::iter::repeat_n("..", up).collect();
    let from_here = |manifest: String| {
        let path = root.join(manifest).into_std_path_buf();
        path.strip_prefix(&here)
            .map_or_else(|_| to_root.join(path.strip_prefix(root).unwrap_or(&path)), Path::to_owned)
    };
    Ok(manifests_outside(metadata, root).into_iter().map(from_here).collect())
}

fn metadata(project: &Project) -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.current_dir(&project.workspace);
    let what = || format!("cannot read the packages of {}", project.workspace.display());
    let output = with_its_lock_file(project, || {
        run_tool_or(&mut command.cargo_command(), Exit::Usage, what)
    })?;
    MetadataCommand::parse(String::from_utf8_lossy(&output.stdout)).context(Exit::Usage, what)
}

/// Runs cargo in the working tree. Where cargo makes a lock file or updates it, for instance to a newer format, puts back
/// what was there: no stable option of cargo names another file.
fn with_its_lock_file<T>(project: &Project, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let path = project.workspace.join("Cargo.lock");
    let what = || format!("cannot keep {}", path.display());
    let read = || match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some).context(Exit::Usage, what),
    };
    let before = read()?;
    let result = run();
    if read()? != before {
        let put_back = match before {
            Some(text) => fs::write(&path, text),
            None => fs::remove_file(&path),
        };
        put_back.context(Exit::Usage, what)?;
    }
    result
}

impl ProjectSummary {
    fn add_bench(
        &mut self,
        project: &Project,
        metadata: &Metadata,
        (package, target): (&Package, &Target),
        manifest: &str,
    ) {
        let source = fs::read_to_string(&target.src_path).unwrap_or_default();
        let facts = TargetFacts { metadata, package, target, manifest, source: &source };
        let name = format!("{}/{}", package.name, target.name);
        let bench = crate::model::BenchTarget {
            package: package.name.to_string(),
            target: target.name.clone(),
        };
        let commands = project.file.commands_of(&bench).count();
        let harness = if commands > 0 {
            Ok(format!("{commands} [[command]] of bench.toml"))
        } else {
            let harness = detect(&facts, project.file.harness_of(&bench));
            harness.map(|harness| harness.kind().to_string()).map_err(|failure| failure.to_string())
        };
        if harness.as_deref() == Ok("libtest") {
            self.notes.extend(note_on_lost_main(&name, &source));
        }
        let needs_nightly = SourceAttributes::parse(&source).is_unstable
            || need_nightly(metadata, package, &target.required_features);
        if needs_nightly {
            self.unstable.push(name.clone());
        }
        let off = features_off(metadata, &package.id.repr, &target.required_features);
        if !off.is_empty() {
            self.without_features.push((name.clone(), off));
        }
        self.benches.push((name, harness));
    }

    /// True if the present toolchain is stable, and compiles none of the bench targets that can be run.
    fn need_all_nightly(&self) -> bool {
        let mut can_be_run = self.benches.iter().filter(|(_, harness)| harness.is_ok()).peekable();
        can_be_run.peek().is_some() && can_be_run.all(|(name, _)| self.unstable.contains(name))
    }

    /// True if there is a bench target, even if none can be run.
    pub const fn has_benches(&self) -> bool {
        !self.benches.is_empty()
    }

    /// The programs that a comparison has to run as benchmarks: none if there are bench targets. `None` if there is
    /// nothing to measure.
    pub fn commands(&self) -> Option<Vec<Once>> {
        if self.benches.iter().any(|(_, harness)| harness.is_ok()) {
            return Some(Vec::new());
        }
        let is_elsewhere = !self.has_benches() && !self.outside.is_empty();
        let program = self.programs.first().filter(|_| !is_elsewhere)?;
        Some(vec![quoted(program).parse().ok()?])
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.place);
        for (name, harness) in &self.benches {
            match harness {
                Ok(harness) => text += &format!("  bench target {name}: {harness}\n"),
                Err(reason) => {
                    let reason = reason.lines().collect::<Vec<_>>().join("\n    ");
                    text += &format!("  bench target {name} cannot be run:\n    {reason}\n");
                }
            }
        }
        if self.benches.is_empty() {
            text += "  no bench target\n";
            for program in &self.programs {
                let command = |typed| option("command", Some(typed));
                let (alone, more) =
                    (command(&quoted(program)), command(&format!("{} ARGUMENTS", quoted(program))));
                text += &format!(
                    "  program {program}: with {alone}, it is a benchmark itself; if it needs arguments: {more}\n"
                );
            }
        }
        for manifest in &self.outside {
            let option = option("manifest-path", Some(&manifest.display().to_string()));
            text += &format!("  another workspace has bench targets: use it with {option}\n");
        }
        let unstable = match &self.unstable[..] {
            [] => None,
            [one] => Some((format!("{one} needs"), "is")),
            [one, more @ ..] => Some((format!("{one} and {} more need", more.len()), "are")),
        };
        let unstable = unstable.map(|(names, are)| {
            let lost = if self.need_all_nightly() {
                String::new()
            } else {
                format!(" and {are} left out without it")
            };
            format!("{names} a nightly toolchain{lost}: cargo +nightly rbench")
        });
        for note in unstable.iter().chain(&self.notes) {
            text += &format!("  note: {note}\n");
        }
        text
    }
}

/// Explains why a bench target with libtest's `main` has no benchmarks: cargo replaced the target's own `main`.
fn note_on_lost_main(name: &str, source: &str) -> Option<String> {
    let of_others = ["criterion_main!", "divan::main", "rbench_harness::main"];
    let other = of_others.iter().find(|main| source.contains(*main))?;
    Some(format!(
        "{name} has {other}, but cargo gives it another `main`: add `harness = false` to its \
         [[bench]] in Cargo.toml"
    ))
}

/// True if the toolchain of the present command has unstable features.
fn has_nightly(project: &Project) -> bool {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.arg("-vV").current_dir(&project.workspace);
    let version = run_tool_or(&mut command, Exit::Usage, || "cannot ask rustc".to_owned());
    version.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        ["-nightly", "-dev"].iter().any(|channel| text.contains(channel))
    })
}

/// Finds profile settings that benchmarks should not have.
fn notes_on_profiles(manifest: &Table) -> Vec<String> {
    let key = |name: &str| {
        // The bench profile inherits from the release profile.
        ["bench", "release"].into_iter().find_map(|profile| {
            let value = manifest.get("profile")?.get(profile)?.get(name)?;
            Some((profile, value.clone()))
        })
    };
    let mut notes = Vec::new();
    if let Some((profile, level)) = key("opt-level")
        && let Some(level @ 0..=1) = level.as_integer()
    {
        notes.push(format!(
            "[profile.{profile}] has opt-level = {level}: the measured code differs from the \
             code that users run"
        ));
    }
    for name in ["debug-assertions", "overflow-checks"] {
        if let Some((profile, value)) = key(name)
            && value.as_bool() == Some(true)
        {
            notes.push(format!("[profile.{profile}] has {name} = true, which is measured too"));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BenchToml;

    #[test]
    fn new_bench_toml_is_short_and_sets_nothing() {
        assert!(BENCH_TOML.lines().count() <= 15);
        let is_set = |line: &str| line.contains('=') && !line.starts_with('#');
        assert!(!BENCH_TOML.lines().any(is_set));
        let without = |line: &str| {
            let setting = line.strip_prefix("# ").filter(|line| line.contains([']', '=']));
            setting.unwrap_or(line).to_owned() + "\n"
        };
        let directory = tempfile::tempdir().unwrap();
        let all: String = BENCH_TOML.lines().map(without).collect();
        fs::write(directory.path().join("bench.toml"), all).unwrap();
        BenchToml::read(directory.path()).unwrap();
    }
}

#[cfg(test)]
mod found_tests {
    use super::*;

    #[test]
    fn profile_without_optimization_is_reported() {
        let notes = |manifest: &str| notes_on_profiles(&manifest.parse().unwrap());
        assert_eq!(notes("[profile.release]\nlto = true"), [""; 0]);
        let of_release = notes("[profile.release]\nopt-level = 1\n[profile.bench]\ndebug = true");
        assert!(of_release[0].starts_with("[profile.release] has opt-level = 1"), "{of_release:?}");
        let checks = notes("[profile.bench]\noverflow-checks = true");
        assert!(checks[0].contains("overflow-checks = true"), "{checks:?}");
        assert_eq!(
            notes("[profile.release]\nopt-level = 1\n[profile.bench]\nopt-level = 3"),
            [""; 0]
        );
    }

    #[test]
    fn main_that_cargo_replaces_is_reported() {
        let note =
            note_on_lost_main("p/b", "criterion_group!(a, b);\ncriterion_main!(a);\n").unwrap();
        assert!(note.contains("harness = false"), "{note}");
        assert_eq!(note_on_lost_main("p/b", "fn main() {}"), None);
    }

    #[test]
    fn project_without_bench_targets_starts_with_its_program() {
        let found =
            ProjectSummary { programs: vec!["word count".to_owned()], ..ProjectSummary::default() };
        assert_eq!(found.commands().unwrap()[0].id, "'word count'");
        assert!(found.text().contains("no bench target\n  program word count"));
        assert_eq!(ProjectSummary::default().commands(), None);
    }
}
