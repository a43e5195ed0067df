//! The command line of `explain`.

use clap::Args;

use super::{CompileArgs, GivenOptions, ReportArgs, RevisionPair, TargetArgs};
use crate::git::is_range;

/// `cargo rbench explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The options that were given, for suggested commands.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The two versions, or a range A..B, or nothing for HEAD~1 and HEAD; then the benchmark, as a regular expression
    /// that matches only its id.
    #[arg(value_names = ["A", "B", "BENCH"], required = true, num_args = 1..=3)]
    words: Vec<String>,
    /// Match BENCH as a whole id, not as a regular expression.
    #[arg(long)]
    pub exact: bool,
    /// The bench targets to use.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Options for cargo.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// The format and the files of the report.
    #[command(flatten)]
    pub report: ReportArgs,
}

impl ExplainArgs {
    /// The two versions.
    pub fn versions(&self) -> RevisionPair {
        RevisionPair::parse_words(self.words.split_last().map_or(&[], |(_, versions)| versions))
    }

    /// The benchmark.
    pub fn benchmark(&self) -> &str {
        self.words.last().map_or("", String::as_str)
    }

    /// True if the only argument is a range, so that the benchmark is missing. After versions, two dots are part of a
    /// regular expression.
    pub fn lacks_benchmark(&self) -> bool {
        !self.exact && self.words.len() == 1 && is_range(self.benchmark())
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        cli::{Cli, Command},
        error::Result,
    };

    fn typed(words: &[&str]) -> (Result<[String; 2]>, String, bool) {
        let words: Vec<String> =
            ["explain"].iter().chain(words).map(|word| (*word).to_owned()).collect();
        let Command::Explain(args) = Cli::parse_words(&words).unwrap().command else { panic!() };
        let versions = args.versions().names().map(|names| names.map(str::to_owned));
        (versions, args.benchmark().to_owned(), args.lacks_benchmark())
    }

    #[test]
    fn last_argument_is_the_benchmark_after_versions() {
        for (words, versions) in [
            (&["parse"][..], ["HEAD~1", "HEAD"]),
            (&["main", "parse"], ["main", "HEAD"]),
            (&["main", ".", "parse"], ["main", "."]),
            (&["main..topic", "parse"], ["main", "topic"]),
        ] {
            let (names, benchmark, lacks) = typed(words);
            assert_eq!(
                (names.unwrap(), benchmark.as_str(), lacks),
                (versions.map(str::to_owned), "parse", false)
            );
        }
        assert!(typed(&["main..topic", "other", "parse"]).0.is_err());
        assert!(typed(&["main..topic"]).2);
        assert!(!typed(&["main", "topic", "max..parse"]).2, "a regular expression");
    }
}
