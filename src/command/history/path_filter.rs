//! What a history shows of commits that changed files at some paths.

use std::collections::HashMap;

use crate::{
    cli::HistoryArgs,
    error::{Error, Exit, Result},
    git::{Contents, Repository},
    model::Version,
    report::history::{BenchmarkHistory, SuspectedChange},
    verdict::TimelineEntry,
};

/// Between which versions files at some paths changed.
pub struct PathFilter(HashMap<Version, Contents>);

impl PathFilter {
    /// Reads what the entries have at the paths that were asked for, if any were. That none of the entries has
    /// something there, or that all of them have the same, is a failure.
    pub fn from_args(
        args: &HistoryArgs,
        repository: &Repository,
        entries: &[TimelineEntry],
    ) -> Result<Option<Self>> {
        if args.path.is_empty() {
            return Ok(None);
        }
        let paths = args.path.iter().map(|path| repository.path_inside(path));
        let paths = paths.collect::<Result<Vec<_>>>()?;
        let contents = entries.iter().filter_map(|TimelineEntry { version, .. }| {
            Some((version.clone(), repository.contents(version, &paths)?))
        });
        let touched = Self(contents.collect());
        let follows = |entry: &TimelineEntry| {
            let base = &entries[entry.follows?].version;
            Some(touched.differ([base, &entry.version]))
        };
        if entries.iter().any(|entry| follows(entry) == Some(true)) {
            return Ok(Some(touched));
        }
        let named = args.paths().join(", ");
        let what = if touched.0.values().all(Contents::is_nothing) {
            format!("no version that is shown has {named}")
        } else {
            format!("no commit between the versions that are shown changes {named}")
        };
        let failure =
            Error::new(Exit::Usage, what).hint("look at more versions with --last or --since");
        Err(match entries {
            [first, .., last] => {
                let [first, last] = [first, last].map(|entry| entry.version.short());
                failure
                    .cause(format!("these are {} versions, from {first} to {last}", entries.len()))
            }
            _ => failure,
        })
    }

    /// Keeps of each benchmark the versions before which files changed there, and the changes that may be
    /// due to it.
    pub fn keep(&self, benchmarks: &mut [BenchmarkHistory]) {
        for benchmark in benchmarks {
            benchmark.versions.retain(|row| {
                let base = row.against.as_ref().map(|against| &against.version);
                base.is_some_and(|base| self.differ([base, &row.version]))
            });
            let may_be_due =
                |change: &SuspectedChange| self.differ(change.place.possible.each_ref());
            benchmark.series.retain(may_be_due);
        }
    }

    /// Whether two versions differ there, as far as that is known.
    fn differ(&self, versions: [&Version; 2]) -> bool {
        let [base, head] = versions.map(|version| self.0.get(version));
        base.is_some() && head.is_some() && base != head
    }
}
