//! Restricts a history to commits that changed files at given paths (`--path`).

use std::collections::HashMap;

use crate::{
    cli::HistoryArgs,
    error::{Error, Exit, Result},
    git::{Contents, Repository},
    model::{CommitRange, Version},
    report::history::BenchmarkHistory,
    verdict::TimelineEntry,
};

/// The contents at the given paths in each version of the history.
pub struct PathFilter(HashMap<Version, Contents>);

impl PathFilter {
    /// Reads the contents at the paths of `--path`; `None` without that option. Fails if no entry has any of the paths,
    /// or if they are equal in all entries.
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
        let error = Error::new(Exit::Usage, what).hint("show more versions with --last or --since");
        Err(match entries {
            [first, .., last] => {
                let [first, last] = [first, last].map(|entry| entry.version.short());
                error.cause(format!("these are {} versions, from {first} to {last}", entries.len()))
            }
            _ => error,
        })
    }

    /// Keeps only the versions whose predecessor has other files at the paths, and the changes that they may have
    /// caused.
    pub fn keep(&self, benchmarks: &mut [BenchmarkHistory]) {
        for benchmark in benchmarks {
            benchmark.versions.retain(|row| {
                let base = row.against.as_ref().map(|against| &against.version);
                base.is_some_and(|base| self.differ([base, &row.version]))
            });
            benchmark.series.retain(|change| {
                let CommitRange { after, until } = &change.place.possible;
                self.differ([after, until])
            });
        }
    }

    /// True if two versions are known to differ at the paths.
    fn differ(&self, versions: [&Version; 2]) -> bool {
        let [base, head] = versions.map(|version| self.0.get(version));
        base.is_some() && head.is_some() && base != head
    }
}
