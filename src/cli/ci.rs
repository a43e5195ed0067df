//! The command line of `ci`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{CompareArgs, FailOn};
use crate::model::is_plain_web_address;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct CiArgs {
    /// A subcommand instead of comparing.
    #[command(subcommand)]
    pub command: Option<CiCommand>,
    #[command(flatten)]
    pub run: CiRunArgs,
}

/// The subcommands of `ci`.
#[derive(Debug, Subcommand)]
pub enum CiCommand {
    /// Write the comment for a comparison of another job, such as that of a fork; needs no checkout.
    Comment(CiCommentArgs),
    /// Merge the comparisons of all parts of --partition and report them as one; needs no checkout.
    Merge(CiMergeArgs),
}

/// A comparison in a job.
#[derive(Debug, Args)]
#[command(mut_arg("base", |base| base.long("base").value_name("REV").help_heading("Versions").help(
    "The version to compare with [default: where HEAD left the target branch; after a push, the previous commit]"
)))]
#[command(mut_arg("head", |head| head.long("head").value_name("REV").help_heading("Versions").help(
    "The new version [default: the commit that the job is about]"
)))]
#[command(mut_arg("variants", |variants| variants.hide(true)))]
#[command(mut_arg("audit", |audit| audit.hide(true)))]
#[command(mut_arg("pack", |pack| pack.hide(true)))]
#[command(mut_arg("watch", |watch| watch.hide(true)))]
// A misspelled subcommand is no filter.
#[command(mut_arg("positional", |filter| filter.last(true)))]
pub struct CiRunArgs {
    #[command(flatten)]
    pub compare: CompareArgs,
    /// Compare both versions as this variant of bench.toml.
    #[arg(long, value_name = "NAME", help_heading = "Versions")]
    pub variant: Option<String>,
    #[command(flatten)]
    pub place: CiPlaceArgs,
}

/// Options for publishing a comparison.
#[derive(Debug, Args)]
#[command(next_help_heading = "CI")]
pub struct CiPlaceArgs {
    /// The service that runs the job [default: the one whose variables are set]
    #[arg(long, value_name = "NAME")]
    pub provider: Option<CiProvider>,
    /// Write compare.json, report.md and other reports into this directory.
    #[arg(long, value_name = "DIR", default_value = "target/rbench-report")]
    pub output_dir: PathBuf,
    /// The name that identifies the comment: jobs with different names write separate comments.
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = comment_name)]
    pub comment_name: String,
    /// Do not write a comment.
    #[arg(long)]
    pub no_comment: bool,
    /// The address of the pages that `site` made, which reports and comments link as their history.
    #[arg(long, value_name = "URL", value_parser = web_address)]
    pub site: Option<String>,
    /// If the pull request has this label, only failed benchmarks make the command fail, as with --fail-on never. The
    /// report names the account that set it.
    #[arg(long, value_name = "LABEL")]
    pub advisory_label: Option<String>,
}

#[derive(Debug, Args)]
pub struct CiCommentArgs {
    /// The JSON file that `ci` or `compare --output` wrote. If it does not exist, an earlier comment is updated to
    /// report that nothing was compared.
    #[arg(long, value_name = "FILE", required_unless_present = "stale")]
    pub from: Option<PathBuf>,
    /// Mark an earlier comment as stale, since a comparison of a newer commit has started.
    #[arg(long, conflicts_with = "from")]
    pub stale: bool,
    /// The name that identifies the comment.
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = comment_name)]
    pub comment_name: String,
    /// The address of the pages that `site` made, which the comment links as the history.
    #[arg(long, value_name = "URL", value_parser = web_address)]
    pub site: Option<String>,
}

#[derive(Debug, Args)]
pub struct CiMergeArgs {
    /// The compare.json of each part.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
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
    /// No service: flags give all information.
    None,
}

/// Parses the name of a comment. It is part of an HTML comment, so it must not end that.
fn comment_name(name: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || name.len() > 50 || name.contains("--") || !name.chars().all(is_plain) {
        return Err("a name has up to 50 letters, digits, `.`, `_` and single `-`".to_owned());
    }
    Ok(name.to_owned())
}

fn web_address(text: &str) -> Result<String, String> {
    if !is_plain_web_address(text) {
        return Err(
            "an address begins with https:// and has only letters, digits and `/:._-~`".to_owned()
        );
    }
    Ok(text.to_owned())
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
            Some(Command::Ci(args)) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ci_takes_versions_as_flags_and_options_of_compare() {
        let args = parsed("ci --base main --head topic --budget 5min --partition hash:1/2 --quick");
        assert_eq!(args.run.compare.versions.typed(), [Some("main"), Some("topic")]);
        assert!(
            args.run.compare.stopping.budget.is_some() && args.run.compare.experiment.measure.quick
        );
        assert_eq!(parsed("ci").run.compare.versions.typed(), [None, None]);
        assert!(Cli::parse_words(&["ci", "main"].map(str::to_owned)).is_err());
    }

    #[test]
    fn merge_and_comment_are_subcommands() {
        let merge = parsed("ci merge a.json b.json --fail-on never").command;
        assert!(matches!(merge, Some(CiCommand::Merge(args)) if args.files.len() == 2));
        let comment = parsed("ci comment --from compare.json --comment-name fast").command;
        assert!(matches!(comment, Some(CiCommand::Comment(args)) if args.comment_name == "fast"));
    }

    #[test]
    fn comment_name_cannot_end_an_html_comment() {
        for wrong in ["", "a b", "a-->", "a--b", "ä", &"a".repeat(51)] {
            assert!(comment_name(wrong).is_err(), "{wrong}");
        }
        assert_eq!(comment_name("x86-64_fast.1").unwrap(), "x86-64_fast.1");
    }
}
