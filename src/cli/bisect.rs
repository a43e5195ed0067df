//! The command line of `bisect`.

use std::time::Duration;

use clap::Args;

use super::{ExperimentArgs, GivenOptions, ProjectArgs, ReportArgs};
use crate::{
    config::{CriteriaOptions, values},
    model::{Benchmark, Mode},
};

/// `cargo rbench bisect`.
#[derive(Debug, Default, Args)]
pub struct BisectArgs {
    /// The options that were given, for suggested commands.
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
    /// The search for these benchmarks in this range, in this project.
    pub fn for_range<'b>(
        range: &str,
        benchmarks: impl IntoIterator<Item = &'b Benchmark>,
        project: &ProjectArgs,
    ) -> Self {
        let mut experiment = ExperimentArgs { exact: true, ..ExperimentArgs::default() };
        let (patterns, target) = (&mut experiment.patterns, &mut experiment.target);
        target.project = project.clone();
        for Benchmark { package, target: bench, name } in benchmarks {
            for (values, value) in [
                (&mut target.package, package),
                (&mut target.bench, bench),
                (&mut *patterns, &name.id),
            ] {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
        }
        let manifest = project.manifest_path.iter().map(|path| path.display().to_string());
        let given = [
            ("package", target.package.clone()),
            ("bench", target.bench.clone()),
            ("filter", patterns.clone()),
            ("manifest-path", manifest.collect()),
            ("config", project.config.clone()),
        ];
        let given = GivenOptions::new(&["exact"], given);
        Self { given, range: range.to_owned(), experiment, ..Self::default() }
    }

    /// The filters with and without `--filter`.
    pub fn patterns(&self) -> Vec<String> {
        self.positional.iter().chain(&self.experiment.patterns).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Name, shell::CommandLine as _};

    #[test]
    fn search_has_the_benchmarks_and_the_project() {
        let benchmark = |id: &str| Benchmark {
            package: "p".into(),
            target: "work".into(),
            name: Name::plain(id),
        };
        let both = [benchmark("--exact"), benchmark("a, b")];
        let project = ProjectArgs {
            manifest_path: Some("x/Cargo.toml".into()),
            config: vec!["build.seed=2".to_owned()],
        };
        let args = BisectArgs::for_range("a..b", &both, &project);
        assert_eq!((args.range.as_str(), args.experiment.exact), ("a..b", true));
        assert_eq!(args.patterns(), ["--exact", "a, b"]);
        let target = &args.experiment.target;
        assert_eq!(
            (&target.package[..], &target.bench[..]),
            (&["p".to_owned()][..], &["work".to_owned()][..])
        );
        assert_eq!(target.project.config, project.config);
        assert_eq!(
            args.given.suggest("diff", &[], &[]),
            "cargo rbench diff --package p --bench work --manifest-path x/Cargo.toml \
             --config build.seed=2"
        );
    }
}
