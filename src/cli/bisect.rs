//! The command line of `find`.

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
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The commits to search: A..B, those of B's own line of first parents that A does not have; `A..` ends at HEAD.
    #[arg(value_name = "A..B")]
    pub range: String,
    /// Only benchmarks whose id matches one of these regular expressions, as with --filter [default: all that changed
    /// between A and B]
    #[arg(value_name = "BENCH")]
    positional: Vec<String>,
    /// Begin no further comparison after measuring for this long, and tell how far the search came; the same command
    /// then goes on. Compiling is not counted.
    #[arg(long, value_name = "TIME", value_parser = values::deadline, help_heading = "Experiment")]
    pub budget: Option<Duration>,
    /// How the executions of both versions are interleaved [default: interleaved]
    #[arg(long, value_name = "HOW", help_heading = "Experiment")]
    pub mode: Option<Mode>,
    /// What is measured, and how.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// How benchmarks are judged.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// How results are printed.
    #[command(flatten)]
    pub report: ReportArgs,
}

impl BisectArgs {
    /// As if it was typed for these benchmarks and this range, in this workspace.
    ///
    /// Fails if clap does not understand that, as a range of a revision that looks like a flag.
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

    /// All filters.
    pub fn patterns(&self) -> Vec<String> {
        self.positional.iter().chain(&self.experiment.patterns).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Name;

    #[test]
    fn benchmarks_whose_names_look_like_flags_are_searched_like_others() {
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
