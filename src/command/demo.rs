//! `cargo rbench demo`: creates a small project with a short history, compares its commits like a user, and explains
//! the results. It writes only below a temporary directory.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use tempfile::TempDir;

use super::compare;
use crate::{
    cli::{CompareArgs, DemoArgs, RevisionPair},
    console::Console,
    demo::{self, BASELINE, CHAPTERS, DemoStep, Explanation, PACKAGE},
    error::{Context, Error, Exit, Result},
    git::NewRepository,
    process::Interrupt,
    project::Project,
    report::{Report, quantity, style},
    verdict::ExitPolicy,
};

pub fn run(args: &DemoArgs) -> Result<Exit> {
    let start = Instant::now();
    let console = Console::attach();
    let interrupt = Interrupt::on_signals_in_order()?;
    let scratch = scratch(args.keep)?;
    let result = Demo::set_up(&scratch, &console, &interrupt)
        .and_then(|demo| demo.run(args.keep, start))
        .map_err(|error| if interrupt.is_set() { interrupted() } else { error });
    if args.keep {
        console.line(&format!("kept: {}", scratch.path().display()));
    } else {
        let path = scratch.path().to_owned();
        let removed = scratch.close();
        removed.context(Exit::Internal, || format!("cannot remove {}", path.display()))?;
    }
    result
}

fn interrupted() -> Error {
    Error::new(Exit::Interrupted, "the demo was stopped")
}

/// Creates the directory for all files of the demo. Dropping the value removes it, unless `keep` is set.
fn scratch(keep: bool) -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix("rbench-demo-")
        .disable_cleanup(keep)
        .tempdir()
        .context(Exit::Usage, || "cannot make a directory for the demo")
}

/// The demo's project with its commits, ready to compare.
struct Demo<'a> {
    project: Project,
    console: &'a Console,
    interrupt: &'a Interrupt,
}

impl<'a> Demo<'a> {
    /// Creates the project and its history below `scratch`. Cache and target directory are there too, even if the
    /// user's environment sets others.
    fn set_up(scratch: &TempDir, console: &'a Console, interrupt: &'a Interrupt) -> Result<Self> {
        let root = scratch.path().join(PACKAGE);
        let mut repository = NewRepository::create(&root)?;
        let baseline = BASELINE.files.iter().map(|(path, content)| ((*path).to_owned(), *content));
        repository.commit(BASELINE.message, baseline.chain(demo::harness()))?;
        for DemoStep { commit, .. } in CHAPTERS {
            repository.commit(commit.message, commit.files.iter().copied())?;
        }
        let mut project = Project::find(Some(&root.join("Cargo.toml")), &[])?;
        let cache = canonical(scratch.path())?.join("cache");
        let target = project.workspace.join("target");
        project.keep_in(&cache, &target)?;
        Ok(Self { project, console, interrupt })
    }

    fn run(&self, kept: bool, start: Instant) -> Result<Exit> {
        Console::result(&introduction(&self.project.workspace, kept))?;
        let mut explanations = Vec::with_capacity(CHAPTERS.len());
        for (index, chapter) in CHAPTERS.iter().enumerate() {
            explanations.push(self.chapter(index, chapter, kept)?);
        }
        Console::result(&conclusion(&explanations, start))?;
        let as_expected = explanations.iter().all(|explanation| explanation.as_expected);
        Ok(if as_expected { Exit::Success } else { Exit::Regression })
    }

    /// Compares a commit with its parent. Unless the project is `kept`, no command is suggested for it.
    fn chapter(&self, index: usize, chapter: &DemoStep, kept: bool) -> Result<Explanation> {
        if self.interrupt.is_set() {
            return Err(interrupted());
        }
        let DemoStep { title, commit, does, expected } = chapter;
        let behind = CHAPTERS.len() - index;
        let versions = versions(behind);
        Console::result(&format!(
            "\n{}\n{}\n\n  $ cargo rbench compare {}\n\n",
            style::paint(
                style::Role::Head,
                &format!("{} of {}: {title}", index + 1, CHAPTERS.len())
            ),
            wrapped(&format!("The commit \"{}\" {does}.", commit.message)),
            versions.join(" ")
        ))?;
        // The command that is shown, as if it was typed.
        let args = CompareArgs {
            versions: RevisionPair::from_revisions(versions),
            ..CompareArgs::default()
        };
        let outcomes =
            compare::compared(&self.project, &args, false, self.console, self.interrupt)?;
        let outcome = outcomes.and_then(|mut outcomes| outcomes.pop());
        let outcome = outcome.ok_or_else(|| Error::new(Exit::Internal, "nothing was compared"))?;
        let explanation = demo::explain(*expected, &outcome.rows);
        let mut report = compare::report(outcome, ExitPolicy::default(), &args);
        report.suggests = kept;
        Console::result(&report.text(Console::result_columns()))?;
        let (mark, style) = marked(&explanation);
        let text = wrapped(&format!("{mark}: {}", explanation.text));
        let text = text.replacen(mark, &style::paint(style, mark), 1);
        Console::result(&format!("\n{text}\n"))?;
        Ok(explanation)
    }
}

/// The commit `HEAD~behind` and its child, as they are typed.
fn versions(behind: usize) -> [String; 2] {
    let head = match behind {
        1 => "HEAD".to_owned(),
        _ => format!("HEAD~{}", behind - 1),
    };
    [format!("HEAD~{behind}"), head]
}

fn introduction(workspace: &Path, kept: bool) -> String {
    let fate = if kept { "kept" } else { "removed at the end; --keep keeps it" };
    let commits = CHAPTERS.len() + 1;
    let comparisons = CHAPTERS.len();
    format!(
        "{}\n{}\n\n  {} ({fate})\n",
        style::paint(style::Role::Head, "Is this commit slower, or is it only its code layout?"),
        wrapped(&format!(
            "The demo makes a project with {commits} commits and runs {comparisons} comparisons, \
             which takes about a minute. Each comparison builds both commits five times, \
             with the same five code layouts, and runs all builds interleaved; undecided benchmarks \
             are then measured with more builds. A benchmark is \
             reported as slower or faster only if these builds show it and fresh builds with new \
             layouts confirm it. The project:"
        )),
        workspace.display()
    )
}

fn conclusion(explanations: &[Explanation], start: Instant) -> String {
    let width = CHAPTERS.iter().map(|chapter| chapter.title.len()).max().unwrap_or_default();
    let mut text = format!(
        "\n{}\n",
        style::paint(
            style::Role::Head,
            &format!("Summary, after {}", quantity::duration(start.elapsed()))
        )
    );
    for (DemoStep { title, .. }, explanation) in CHAPTERS.iter().zip(explanations) {
        let (mark, style) = marked(explanation);
        let mark = style::paint(style, mark);
        text += &format!("  {title:width$}  {mark}: {}\n", explanation.summary);
    }
    text + "\nIn your own project with bench targets (criterion, divan, libtest or \
            rbench-harness):\n\n  \
            $ cargo rbench list                    # the benchmarks it has\n  \
            $ cargo rbench compare HEAD~1 HEAD     # is anything slower? exit code 1 if so\n  \
            $ cargo rbench diff HEAD~1 HEAD        # the functions whose machine code changed\n"
}

fn marked(explanation: &Explanation) -> (&'static str, style::Role) {
    if explanation.as_expected {
        ("As expected", style::Role::Good)
    } else {
        ("Not as expected", style::Role::Doubtful)
    }
}

/// Wraps a paragraph at 96 columns.
fn wrapped(text: &str) -> String {
    const LONGEST: usize = 96;
    let options = textwrap::Options::new(LONGEST)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options)
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().context(Exit::Internal, || format!("cannot find {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_of_consecutive_commits() {
        assert_eq!(versions(2), ["HEAD~2", "HEAD~1"]);
        assert_eq!(versions(1), ["HEAD~1", "HEAD"]);
    }
}
