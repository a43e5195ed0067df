//! The command lines of `compare` and `bisect`, and the two versions of a comparison, as revisions or as a range.

use std::{path::PathBuf, rc::Rc, time::Duration};

use clap::{Args, ValueEnum};

use super::{ExperimentArgs, GateArgs, GivenOptions, ReportArgs, VerdictArgs};
use crate::{
    config::{CriteriaOptions, StoppingRule, values},
    error::{Error, Exit, Result},
    git::{is_range, range_ends},
    model::Mode,
    shell::CommandLine,
};

#[derive(Clone, Debug, Default, Args)]
pub struct CompareArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    #[command(flatten)]
    pub versions: RevisionPair,
    /// Compare BASE [default: HEAD] with these variants of it, separated by commas, and rank them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Experiment")]
    pub variants: Vec<String>,
    /// Only benchmarks whose id matches one of these regular expressions, like --filter.
    #[arg(value_name = "FILTER")]
    pub positional: Vec<String>,
    /// Measure the versions of a pack that `build BASE HEAD --pack FILE` wrote, here or elsewhere: without cargo, and
    /// without a clone of the repository. A pack has programs, and is as trustworthy as who wrote it.
    #[arg(long, value_name = "FILE", help_heading = "Experiment", conflicts_with_all = [
        "base", "head", "positional", "variants", "stored", "profile", "features", "all_features",
        "no_default_features", "cargo_args", "commands", "package", "bench", "workspace", "exclude", "manifest_path",
        "also_base",
    ])]
    pub pack: Option<PathBuf>,
    /// Compare again after each save, and print one line.
    ///
    /// It says slower, faster, the same or not yet decided. The head is the uncommitted tree, `.`, and sample sizes are those of --quick unless they are given. A tree that is
    /// saved during a comparison is compared next. Ctrl-C ends it, with exit code 0 while it waits for a save, and 130
    /// during a comparison.
    #[arg(long, help_heading = "Experiment", conflicts_with_all = [
        "variants", "pack", "stored", "push", "audit", "dry_run", "also_base", "fail_on", "reasons", "explain", "format",
        "output",
    ])]
    pub watch: bool,
    /// Compare stored results of both versions instead of measuring.
    #[arg(long, help_heading = "Stored results", conflicts_with_all = [
        "no_skip", "budget", "dry_run", "quick", "builds", "executions", "measurements", "cpu",
        "mode", "layout", "profile", "features", "all_features", "no_default_features", "cargo_args", "commands",
    ])]
    pub stored: bool,
    /// With --stored: also compare results from different machines, compilers or settings.
    #[arg(long, help_heading = "Stored results", requires = "stored")]
    pub ignore_environment: bool,
    /// Then send all finished experiments to the place of `RBENCH_SHARED`, as `push` does.
    #[arg(long, help_heading = "Stored results", conflicts_with = "stored")]
    pub push: bool,
    /// Also measure benchmarks that are unaffected: they execute no changed code and read no changed data.
    #[arg(long, help_heading = "Experiment")]
    pub no_skip: bool,
    /// Spend what is left of the budget on measuring skipped benchmarks, to check that they do not differ: a difference is
    /// a bug in rbench (exit code 70). `ci` does this whenever it has a budget.
    #[arg(long, help_heading = "Experiment", requires = "budget")]
    pub audit: bool,
    #[command(flatten)]
    pub stopping: StoppingArgs,
    /// Mode of both versions: interleaved on one CPU, or sequential [default: interleaved]
    #[arg(long, value_name = "HOW", help_heading = "Experiment")]
    pub mode: Option<Mode>,
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    #[command(flatten)]
    pub verdict: VerdictArgs,
    #[command(flatten)]
    pub gate: GateArgs,
    /// Explain every verdict, not only those that need attention.
    #[arg(long, help_heading = "Output")]
    pub reasons: bool,
    /// Also show which functions make benchmarks slower or faster, by sampling both versions interleaved after the
    /// verdicts: those that regressed or improved, or only the regressed ones [`ci`: regressed]
    #[arg(
        long, value_name = "ROWS", num_args = 0..=1, require_equals = true, default_missing_value = "changed",
        help_heading = "Output", conflicts_with = "stored",
    )]
    pub explain: Option<ExplainRows>,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// The rows that `compare --explain` explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplainRows {
    /// Those that regressed or improved.
    Changed,
    /// Those that regressed.
    Regressed,
}

impl CompareArgs {
    /// Moves the filters without `--filter` to those with it: the words after both versions, or after a range.
    pub(super) fn take_positional_filters(&mut self) {
        // A range already names both versions.
        let RevisionPair { base, head } = &mut self.versions;
        if let Some(filter) = head.take_if(|_| base.as_deref().is_some_and(is_range)) {
            self.given.0.push(("filter".to_owned(), Some(filter.clone())));
            self.positional.insert(0, filter);
        }
        self.experiment.patterns.splice(0..0, self.positional.drain(..));
    }

    /// The writer of suggested commands, which repeat the options of this one that they share.
    pub fn command_line(&self) -> Rc<dyn CommandLine> {
        Rc::new(self.given.clone())
    }

    /// The options of the comparison with one of the variants.
    #[must_use]
    pub fn with_variant(&self, base: &str, name: &str) -> Self {
        let versions = [base.to_owned(), format!("{base}+{name}")];
        Self {
            versions: RevisionPair::from_revisions(versions),
            given: self.given.without(&["variants"]),
            variants: Vec::new(),
            ..self.clone()
        }
    }

    /// The command line of these versions and programs, as a user would type it.
    pub fn suggest_itself(&self) -> String {
        let versions: Vec<&str> = self.versions.typed().into_iter().flatten().collect();
        let commands = self.experiment.target.commands.iter();
        let mut options: Vec<_> =
            commands.map(|command| ("command", Some(command.id.as_str()))).collect();
        let manifest = self.experiment.target.project.manifest_path.as_ref();
        let manifest = manifest.map(|path| path.display().to_string());
        if let Some(path) = &manifest {
            options.push(("manifest-path", Some(path)));
        }
        if self.experiment.measure.quick {
            options.push(("quick", None));
        }
        self.given.suggest("compare", &versions, &options)
    }
}

/// When to stop measuring undecided benchmarks.
#[derive(Clone, Debug, Default, Args)]
pub struct StoppingArgs {
    /// Measure for at most about this long, preferring the benchmarks that it most likely decides, with up to 40 builds
    /// of each. Compiling and linking do not count, and the first interim analysis is not limited. With `unlimited`,
    /// measure until all benchmarks are decided, with up to 160 builds of each.
    #[arg(long, value_name = "TIME", value_parser = Budget::parse, help_heading = "Experiment")]
    pub budget: Option<Budget>,
}

/// A limit for the time of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// At most about this long.
    Time(Duration),
    /// Until all benchmarks are decided.
    Unlimited,
}

impl Budget {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "unlimited" => Ok(Self::Unlimited),
            time => values::deadline(time).map(Self::Time),
        }
    }
}

impl StoppingArgs {
    /// The rule that these options choose.
    pub const fn rule(&self) -> StoppingRule {
        match self.budget {
            Some(Budget::Unlimited) => StoppingRule::UntilDecided,
            Some(Budget::Time(_)) => StoppingRule::Budget,
            None => StoppingRule::Usual,
        }
    }

    /// The limit of the time, shared by several comparisons.
    pub fn time_for_each(&self, comparisons: usize) -> Option<Duration> {
        match self.budget? {
            Budget::Time(time) => Some(time.div_f64(comparisons as f64)),
            Budget::Unlimited => None,
        }
    }
}

#[derive(Debug, Default, Args)]
pub struct BisectArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    /// The commits to search: A..B, the first-parent line of B without the commits of A; `A..` ends at HEAD.
    #[arg(value_name = "A..B")]
    pub range: String,
    /// Only benchmarks whose id matches one of these regular expressions, like --filter [default: all that changed
    /// between A and B]
    #[arg(value_name = "BENCH")]
    positional: Vec<String>,
    /// Start no further comparison after measuring for this long, and report the progress; the same command then
    /// continues the search. Compiling does not count.
    #[arg(long, value_name = "TIME", value_parser = values::deadline, help_heading = "Experiment")]
    pub budget: Option<Duration>,
    /// Mode of both versions: interleaved on one CPU, or sequential [default: interleaved]
    #[arg(long, value_name = "HOW", help_heading = "Experiment")]
    pub mode: Option<Mode>,
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    #[command(flatten)]
    pub report: ReportArgs,
}

impl BisectArgs {
    /// The filters with and without `--filter`.
    pub fn patterns(&self) -> Vec<String> {
        self.positional.iter().chain(&self.experiment.patterns).cloned().collect()
    }
}

/// The base and the head of a comparison.
#[derive(Clone, Debug, Default, Args)]
pub struct RevisionPair {
    /// The version to compare with, or a range BASE..HEAD [default: HEAD~1]
    #[arg(value_name = "BASE")]
    base: Option<String>,
    /// The new version; `.` for the uncommitted tree [default: HEAD]
    #[arg(value_name = "HEAD")]
    head: Option<String>,
}

impl RevisionPair {
    /// Makes the pair from two revisions, as if they were typed.
    pub fn from_revisions([base, head]: [String; 2]) -> Self {
        Self { base: Some(base), head: Some(head) }
    }

    /// The given arguments for base and head.
    pub fn typed(&self) -> [Option<&str>; 2] {
        [self.base.as_deref(), self.head.as_deref()]
    }

    /// The revisions of base and head, with defaults. Fails if there is a range and another revision.
    pub fn names(&self) -> Result<[&str; 2]> {
        match (self.base.as_deref(), self.head.as_deref()) {
            (Some(range), None) if is_range(range) => range_ends(range).map(<[&str; 2]>::from),
            (Some(one), other) if is_range(one) || other.is_some_and(is_range) => {
                let other = other.unwrap_or_default();
                let what = format!("cannot compare `{one}` with `{other}`");
                Err(Error::new(Exit::Usage, what)
                    .cause("a range already names both versions")
                    .hint("use either a range A..B or two revisions"))
            }
            (base, head) => Ok([base.unwrap_or("HEAD~1"), head.unwrap_or("HEAD")]),
        }
    }

    /// Resolves base and head with `resolve`. `uncommitted` writes the suggested command that compares the only commit
    /// of a repository with the uncommitted tree.
    pub fn resolve<T>(
        &self,
        resolve: impl Fn(&str) -> Result<T>,
        uncommitted: impl FnOnce(&[&str]) -> String,
    ) -> Result<[T; 2]> {
        let [base, head] = self.names()?;
        let base = resolve(base).map_err(|error| match self.base {
            // A repository without any commit has nothing to compare with, so there is no hint.
            None if resolve("HEAD").is_ok() => error.hint(format!(
                "if the repository has only one commit, compare it with the uncommitted tree: {}",
                uncommitted(&["HEAD", "."])
            )),
            _ => error,
        })?;
        Ok([base, resolve(head)?])
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Cli, Command},
        *,
    };

    #[test]
    fn words_after_the_versions_are_filters() {
        for (line, versions, filters) in [
            ("compare HEAD . a 'b c'", ["HEAD", "."], &["a", "b c"][..]),
            ("compare HEAD . a --filter b", ["HEAD", "."], &["a", "b"]),
            ("compare main.. a b", ["main", "HEAD"], &["a", "b"]),
            ("compare main..topic", ["main", "topic"], &[]),
            ("ci --base main --head topic -- a", ["main", "topic"], &["a"]),
        ] {
            let args = match Cli::parse_words(&shlex::split(line).unwrap()).unwrap().command {
                Some(Command::Compare(args)) => args,
                Some(Command::Ci(args)) => args.run.compare,
                _ => panic!("another command: {line}"),
            };
            assert_eq!(args.versions.names().unwrap(), versions, "{line}");
            assert_eq!(args.experiment.patterns, filters, "{line}");
            let again = args.given.suggest("compare", &[], &[]);
            let repeated = again.matches("--filter").count();
            assert_eq!(repeated, filters.len(), "{again}");
        }
        assert!(Cli::parse_words(&["ci".into(), "mrege".into()]).is_err(), "no filter");
    }

    #[test]
    fn default_is_the_command_without_options() {
        let Some(Command::Compare(typed)) = Cli::parse_words(&["compare".into()]).unwrap().command
        else {
            panic!("another command")
        };
        assert_eq!(format!("{typed:?}"), format!("{:?}", CompareArgs::default()));
    }
}

#[cfg(test)]
mod revisions_tests {
    use super::*;

    fn names(words: &[&str]) -> Result<[String; 2]> {
        let word = |index: usize| words.get(index).map(|word| (*word).to_owned());
        let pair = RevisionPair { base: word(0), head: word(1) };
        pair.resolve(|name| Ok(name.to_owned()), |_| String::new())
    }

    #[test]
    fn pair_defaults_to_the_last_commit_and_its_parent() {
        for (words, versions) in [
            (&[][..], ["HEAD~1", "HEAD"]),
            (&["main"], ["main", "HEAD"]),
            (&["main", "."], ["main", "."]),
            (&["main..topic"], ["main", "topic"]),
            (&["v1.."], ["v1", "HEAD"]),
            (&["..topic"], ["HEAD", "topic"]),
        ] {
            assert_eq!(names(words).unwrap(), versions);
        }
    }

    #[test]
    fn range_with_another_revision_is_refused() {
        for words in [["a..b", "c"], ["c", "a..b"]] {
            let text = names(&words).unwrap_err().to_string();
            assert!(text.contains("use either a range A..B"), "{text}");
        }
        assert_eq!(names(&["a...b"]).unwrap_err().exit(), Exit::Usage);
    }

    #[test]
    fn only_commit_gets_a_hint_for_the_uncommitted_tree() {
        let failed = |base: Option<&str>, known: &str| {
            let resolve = |revision: &str| match revision {
                _ if revision == known => Ok(()),
                _ => Err(Error::new(Exit::Usage, "unknown")),
            };
            let pair = RevisionPair { base: base.map(str::to_owned), head: None };
            pair.resolve(resolve, |words| format!("compare {}", words.join(" ")))
                .unwrap_err()
                .to_string()
        };
        let hint = "compare it with the uncommitted tree: compare HEAD .";
        assert!(failed(None, "HEAD").contains(hint));
        assert!(!failed(Some("main"), "HEAD").contains(hint));
        assert_eq!(failed(None, "no commit at all"), "unknown");
    }
}
