//! `cargo rbench init`: inspects the project, reports the findings and the next commands, and writes `bench.toml` and a
//! workflow. It must not replace files without `--force`.

mod found;

use std::{
    fs,
    path::{Path, PathBuf},
};

pub use self::found::{ProjectSummary, inspect};
use crate::{
    cli::{CompareArgs, ExperimentArgs, InitArgs, RevisionPair, Service, TargetArgs},
    console::Console,
    error::{Context as _, Error, Exit, Result},
    escape::escape_untrusted_lines,
    project::Project,
    shell::cargo,
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

/// A file that `init` writes.
struct NewFile {
    /// The path relative to the workspace, or for a workflow to the repository.
    shown: &'static str,
    path: PathBuf,
    text: String,
    /// A description for the report.
    purpose: &'static str,
}

/// Inspects the project, writes the files, and reports.
pub fn run(args: &InitArgs) -> Result<Exit> {
    let project = Project::find(args.manifest_path.as_deref(), &[])?;
    let found = inspect(&project)?;
    let files = files(&project, args.ci);
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
    if args.ci == Some(Service::Gitlab) {
        text += "  in .gitlab-ci.yml: include: { local: .gitlab/rbench.yml }\n";
    }
    text += &next(&project, &found, args);
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
/// uncommitted tree. Without bench targets, a program is the benchmark; `None` if there is no program either.
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

/// The next commands to run.
fn next(project: &Project, found: &ProjectSummary, args: &InitArgs) -> String {
    let mut text = "\nnext:\n".to_owned();
    match first_comparison(project, found) {
        Some(mut comparison) => {
            comparison.experiment.measure.quick = true;
            let mut command = comparison.suggest_itself();
            if found.needs_nightly() {
                command = command.replacen(cargo(), "cargo +nightly", 1);
            }
            text += &format!("  {command}  # a first comparison\n");
        }
        None if found.has_benches() => {
            text += "  follow a hint above, or add a bench target with criterion or divan\n";
        }
        None => text += "  add a bench target, for example with criterion or divan\n",
    }
    if args.ci.is_some() && !args.dry_run {
        text += "  git add, commit and push the written files\n";
    }
    text + &format!("  {} rbench doctor  # checks this machine for sources of noise\n", cargo())
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
