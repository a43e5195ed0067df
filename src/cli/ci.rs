//! The command line of `ci`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{CompareArgs, FailOn};

/// `cargo rbench ci`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct CiArgs {
    /// What to do instead of comparing.
    #[command(subcommand)]
    pub command: Option<CiCommand>,
    /// The comparison.
    #[command(flatten)]
    pub run: CiRunArgs,
}

/// What else a job can do.
#[derive(Debug, Subcommand)]
pub enum CiCommand {
    /// Write the comment for a comparison that another job made, such as that of a fork: needs no checkout.
    Comment(CiCommentArgs),
    /// Join the comparisons of all parts of --partition, and report them as one: needs no checkout.
    Merge(CiMergeArgs),
}

/// A comparison in a job.
#[derive(Debug, Args)]
#[command(mut_arg("base", |base| base.long("base").value_name("REV").help_heading("Versions").help(
    "The version to compare with [default: where HEAD left the target branch; after a push, what was there before]"
)))]
#[command(mut_arg("head", |head| head.long("head").value_name("REV").help_heading("Versions").help(
    "The new version [default: the commit that the job is about]"
)))]
pub struct CiRunArgs {
    /// What `compare` has.
    #[command(flatten)]
    pub compare: CompareArgs,
    /// Where it is told.
    #[command(flatten)]
    pub place: CiPlaceArgs,
}

/// Where a comparison is told.
#[derive(Debug, Args)]
#[command(next_help_heading = "CI")]
pub struct CiPlaceArgs {
    /// The service that runs the job [default: the one whose variables are there]
    #[arg(long, value_name = "NAME")]
    pub provider: Option<CiProvider>,
    /// Write compare.json, report.md and other reports into this directory.
    #[arg(long, value_name = "DIR", default_value = "target/rbench-report")]
    pub output_dir: PathBuf,
    /// How the comment is found again: jobs with different names have comments of their own.
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = comment_name)]
    pub comment_name: String,
    /// Write no comment.
    #[arg(long)]
    pub no_comment: bool,
}

/// `cargo rbench ci comment`.
#[derive(Debug, Args)]
pub struct CiCommentArgs {
    /// What `ci` or `compare --output` wrote; if there is no such file, an earlier comment says that nothing was compared.
    #[arg(long, value_name = "FILE", required_unless_present = "stale")]
    pub from: Option<PathBuf>,
    /// Mark an earlier comment as stale: a comparison of a newer commit has begun.
    #[arg(long, conflicts_with = "from")]
    pub stale: bool,
    /// How the comment is found again.
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = comment_name)]
    pub comment_name: String,
}

/// `cargo rbench ci merge`.
#[derive(Debug, Args)]
pub struct CiMergeArgs {
    /// The compare.json of each part.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Where it is told.
    #[command(flatten)]
    pub place: CiPlaceArgs,
    /// Verdicts that make the command fail; a failed benchmark always does.
    #[arg(long, value_name = "WHAT", default_value = "regression", help_heading = "Verdict")]
    pub fail_on: FailOn,
}

/// A service that runs jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CiProvider {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
    /// None: flags say everything.
    None,
}

/// The name of a comment, which stands in an HTML comment.
fn comment_name(name: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || name.len() > 50 || name.contains("--") || !name.chars().all(is_plain) {
        return Err("a name has up to 50 letters, digits, `.`, `_` and single `-`".to_owned());
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Cli, Command},
        *,
    };

    fn parsed(words: &str) -> CiArgs {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        match Cli::parse_words(&words).unwrap().command {
            Command::Ci(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn versions_are_flags_and_all_else_is_as_for_compare() {
        let args = parsed("ci --base main --head topic --budget 5min --partition hash:1/2 --quick");
        assert_eq!(args.run.compare.versions.typed(), [Some("main"), Some("topic")]);
        assert!(args.run.compare.budget.is_some() && args.run.compare.experiment.measure.quick);
        assert_eq!(parsed("ci").run.compare.versions.typed(), [None, None]);
        assert!(Cli::parse_words(&["ci", "main"].map(str::to_owned)).is_err());
    }

    #[test]
    fn what_else_a_job_can_do_is_a_command_of_its_own() {
        let merge = parsed("ci merge a.json b.json --fail-on never").command;
        assert!(matches!(merge, Some(CiCommand::Merge(args)) if args.files.len() == 2));
        let comment = parsed("ci comment --from compare.json --comment-name fast").command;
        assert!(matches!(comment, Some(CiCommand::Comment(args)) if args.comment_name == "fast"));
    }

    #[test]
    fn the_name_of_a_comment_ends_no_html_comment() {
        for wrong in ["", "a b", "a-->", "a--b", "ä", &"a".repeat(51)] {
            assert!(comment_name(wrong).is_err(), "{wrong}");
        }
        assert_eq!(comment_name("x86-64_fast.1").unwrap(), "x86-64_fast.1");
    }
}
