//! `cargo rbench compare --watch`: compares with the uncommitted tree after each save, and prints one line.
//!
//! Nothing watches files while something is measured. A save meanwhile is found when the comparison has ended, since the
//! tree is then another one than that which was compared.

use jiff::Zoned;

use super::{
    compare::{compared, policy, report},
    project_of,
};
use crate::{
    ci,
    cli::CompareArgs,
    console::Console,
    error::{Error, Exit, Result},
    escape::escape_untrusted,
    git::UNCOMMITTED,
    process::{Changes, Interrupt, SavedHandler},
    project::Project,
    secrets,
    shell::CommandLine as _,
};

/// The longest reason of an error, in characters: rustc quotes types, which may be long.
const LONGEST: usize = 300;

/// Compares once, and then after each save until a signal ends it.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    let mut console = Console::attach();
    refuse_other_heads(args)?;
    if ci::is_job(|name| secrets::variable(name)?.into_string().ok()) {
        return Err(Error::new(Exit::Usage, "cannot watch in a CI job")
            .cause("nobody saves a file there")
            .hint("compare once: leave out --watch"));
    }
    let args = &once(args);
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    let mut project = project_of(&args.experiment.target)?;
    project.check_tables(&args.versions.names()?, &console)?;
    let mut is_first = true;
    loop {
        // Before the comparison, because a later tree than the compared one is another save.
        let mut seen = tree(&project);
        let outcomes = compared(&project, args, false, &console, &interrupt);
        console.erase();
        // Until the next comparison begins, Ctrl-C is the usual end.
        let _in_order = interrupt.in_order();
        match outcomes {
            Ok(outcomes) => {
                for outcome in outcomes.into_iter().flatten() {
                    seen = Some(outcome.head.tree.clone());
                    let policy = policy(&project, &args.verdict);
                    print(&report(outcome, policy, args).line(), tree(&project) != seen)?;
                }
            }
            // A tree that does not compile is the usual one at the desk.
            Err(error) if is_first && error.exit() != Exit::Build => return Err(error),
            Err(error) => print_or_end(error)?,
        }
        if std::mem::take(&mut is_first) {
            let root = project.repository.root().display();
            console.line(&format!("watching {root}: each save is compared; Ctrl-C ends it"));
            console.be_brief();
        }
        loop {
            if !next_save(&project, &mut seen, &interrupt)? {
                return Ok(Exit::Success);
            }
            // A save may change the workspace and the settings.
            match project_of(&args.experiment.target) {
                Ok(found) => {
                    project = found;
                    break;
                }
                Err(error) => print_or_end(error)?,
            }
        }
    }
}

/// Fails unless the head is the uncommitted tree: no save changes another version.
fn refuse_other_heads(args: &CompareArgs) -> Result<()> {
    let [base, head] = args.versions.names()?;
    let is_uncommitted =
        head.strip_prefix(UNCOMMITTED).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'));
    if is_uncommitted {
        return Ok(());
    }
    let base = if args.versions.typed()[0].is_some() { base } else { "HEAD" };
    let command = args.given.suggest("compare", &[base, UNCOMMITTED], &[("watch", None)]);
    Err(Error::new(Exit::Usage, format!("cannot watch `{head}`"))
        .cause("--watch compares the uncommitted tree, `.`, after each save")
        .hint(format!("watch it with: {command}")))
}

/// The options of each comparison: short, and with one base.
fn once(args: &CompareArgs) -> CompareArgs {
    let mut args = args.clone();
    args.experiment.measure.quick = true;
    args.gate.also_base = Some("none".to_owned());
    args
}

/// The uncommitted tree as it is now; none if it cannot be read, which the next comparison reports.
fn tree(project: &Project) -> Option<String> {
    Some(project.repository.resolve(UNCOMMITTED).ok()?.tree)
}

/// Waits until the uncommitted tree differs from `seen`, which it updates. False if a signal ends it.
fn next_save(project: &Project, seen: &mut Option<String>, interrupt: &Interrupt) -> Result<bool> {
    loop {
        // Directories come and go; what changes from now on is not missed.
        let changes = Changes::new()?;
        project.repository.visit_directories(|directory| changes.include(directory))?;
        let now = tree(project);
        if now != *seen {
            *seen = now;
            return Ok(true);
        }
        if !changes.wait(interrupt)? {
            return Ok(false);
        }
    }
}

/// Prints why there is no comparison, unless the error ends the command.
fn print_or_end(error: Error) -> Result<()> {
    match error.exit() {
        Exit::Interrupted | Exit::Internal => Err(error),
        _ => print(&reason(&error), false),
    }
}

/// The failed operation and its reason: the compiler's own first error, if it has one.
fn reason(error: &Error) -> String {
    let text = error.to_string();
    let is_error = |line: &&str| line.starts_with("error[") || line.starts_with("error: ");
    let first = text.lines().skip(1).map(str::trim).find(is_error);
    let reason: String = first.unwrap_or_else(|| error.reason()).chars().take(LONGEST).collect();
    let text = if reason == error.what() { reason } else { format!("{}: {reason}", error.what()) };
    escape_untrusted(&text).into_owned()
}

/// Prints a line with the time of day, and whether the tree was saved again meanwhile.
fn print(line: &str, is_old: bool) -> Result<()> {
    let old = if is_old { "; saved again since" } else { "" };
    Console::result(&format!("{}  {line}{old}\n", Zoned::now().strftime("%H:%M:%S")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};

    fn parsed(words: &str) -> CompareArgs {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        match Cli::parse_words(&words).unwrap().command {
            Some(Command::Compare(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_the_uncommitted_tree_is_watched() {
        for words in ["compare HEAD . parse --watch", "compare HEAD .+lto --watch"] {
            assert_eq!(refuse_other_heads(&parsed(words)), Ok(()), "{words}");
        }
        for (words, suggested) in [
            ("compare --watch", "HEAD ."),
            ("compare main --watch --no-skip", "main . "),
            ("compare main..topic --watch", "main . "),
            ("compare HEAD parse --watch", "HEAD . "),
        ] {
            let error = refuse_other_heads(&parsed(words)).unwrap_err();
            let hint = format!("watch it with: cargo rbench compare {suggested}");
            assert!(error.to_string().contains(&hint), "{error}");
            assert!(error.to_string().contains("--watch"), "{error}");
            assert_eq!(error.exit(), Exit::Usage);
        }
    }

    #[test]
    fn what_makes_no_sense_with_it_is_refused() {
        for option in [
            "--stored",
            "--push",
            "--dry-run",
            "--reasons",
            "--explain",
            "--format=json",
            "--output=a.html",
            "--also-base=v1",
            "--fail-on=never",
            "--variants=lto",
            "--pack=a.pack",
            "--audit",
        ] {
            let words = ["compare", "--watch", "--budget=1min", option].map(str::to_owned);
            let refusal = Cli::parse_words(&words).unwrap_err().to_string();
            assert!(refusal.contains("'--watch' cannot be used with"), "{refusal}");
        }
    }

    #[test]
    fn reason_is_the_first_error_of_the_compiler_on_one_line() {
        let error = Error::new(Exit::Build, "cannot compile lib of `a` of .")
            .cause("error[E0308]: mismatched types (src/lib.rs:3:5)")
            .cause("cargo ended with exit status: 101; the end of its output:")
            .cause("  error: could not compile `a` (lib)");
        let expected =
            "cannot compile lib of `a` of .: error[E0308]: mismatched types (src/lib.rs:3:5)";
        assert_eq!(reason(&error), expected);
        assert_eq!(reason(&Error::new(Exit::Usage, "no\u{1b}[2J")), "no\\u{1b}[2J");
        let long = Error::new(Exit::Usage, "no").cause("x".repeat(10_000));
        assert_eq!(reason(&long).len(), "no: ".len() + LONGEST);
    }
}
