//! The command line of `explain`.

use clap::Args;

use super::{CompileArgs, GivenOptions, ReportArgs, RevisionPair, TargetArgs};
use crate::git::is_range;

/// `cargo rbench explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The two versions, or a range A..B, or none for HEAD~1 and HEAD; and last a benchmark, as a regular expression
    /// that only its id matches.
    #[arg(value_names = ["A", "B", "BENCH"], required = true, num_args = 1..=3)]
    words: Vec<String>,
    /// Match the benchmark against whole ids, not as a regular expression.
    #[arg(long)]
    pub exact: bool,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How cargo compiles.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How results are printed.
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

    /// Whether the only word is a version that was typed without a benchmark behind it: a range. Behind versions, two
    /// dots are part of a regular expression.
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
    fn the_last_word_is_the_benchmark_and_those_before_are_versions() {
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
