//! The command line of `bisect`.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    time::Duration,
};

use clap::{Args, Parser as _};

use super::{Cli, Command, CriteriaOptions, ExperimentArgs, GivenOptions, ReportArgs, values};
use crate::{
    error::{Context as _, Error, Exit, Result},
    model::{Benchmark, Mode},
};

/// `cargo rbench bisect`.
#[derive(Debug, Args)]
pub struct BisectArgs {
    /// The options that were given, for suggested commands.
    #[command(flatten)]
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
    /// Settings of the experiment.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// The criteria of verdicts.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// The format and the files of the report.
    #[command(flatten)]
    pub report: ReportArgs,
}

impl BisectArgs {
    /// Parses the command for these benchmarks and this range, in this workspace, as if it was typed.
    ///
    /// Fails if clap refuses it.
    pub fn for_range<'b>(
        range: &str,
        benchmarks: impl IntoIterator<Item = &'b Benchmark>,
        manifest_path: Option<&Path>,
    ) -> Result<Self> {
        let mut words: Vec<OsString> =
            ["cargo-rbench", "bisect", "--exact"].map(OsString::from).to_vec();
        let mut add = |flag: &str, value: &OsStr| {
            let mut word = OsString::from(flag);
            word.push("=");
            word.push(value);
            if !words.contains(&word) {
                words.push(word);
            }
        };
        for Benchmark { package, target, name } in benchmarks {
            add("--package", package.as_ref());
            add("--bench", target.as_ref());
            add("--filter", name.id.as_ref());
        }
        if let Some(path) = manifest_path {
            add("--manifest-path", path.as_os_str());
        }
        words.extend(["--".into(), range.into()]);
        let what = || format!("cannot search `{range}`");
        match Cli::try_parse_from(words).context(Exit::Usage, what)?.command {
            Command::Bisect(args) => Ok(args),
            _ => Err(Error::new(Exit::Internal, what())),
        }
    }

    /// The filters with and without `--filter`.
    pub fn patterns(&self) -> Vec<String> {
        self.positional.iter().chain(&self.experiment.patterns).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Name;

    #[test]
    fn benchmark_ids_that_look_like_flags_are_no_flags() {
        let benchmark = |id: &str| Benchmark {
            package: "p".into(),
            target: "work".into(),
            name: Name::plain(id),
        };
        let both = [benchmark("--exact"), benchmark("a, b")];
        let args = BisectArgs::for_range("a..b", &both, Some(Path::new("x/Cargo.toml"))).unwrap();
        assert_eq!((args.range.as_str(), args.experiment.exact), ("a..b", true));
        assert_eq!(args.patterns(), ["--exact", "a, b"]);
        assert_eq!(
            (&args.experiment.target.package[..], &args.experiment.target.bench[..]),
            (&["p".to_owned()][..], &["work".to_owned()][..])
        );
    }
}
