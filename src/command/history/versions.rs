//! Selects the versions of a history, and restricts it to commits that changed files at given paths (`--path`).

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    cli::HistoryArgs,
    error::{Error, Exit, Result},
    git::{Contents, Repository},
    model::{CommitRange, Variant, Version},
    report::history::BenchmarkHistory,
    shell::CommandLine as _,
    verdict::{Results, TimelineEntry, timeline},
};

const SHOWN: usize = 20;

/// The default number of versions if only changes are shown.
const SEARCHED: usize = 200;

/// The number of candidates for each shown version: commit dates preselect candidates, since ordering by ancestry is
/// slow for a large store.
const CANDIDATES: usize = 4;

pub(super) struct ChosenVersions {
    /// The versions, oldest first.
    pub entries: Vec<TimelineEntry>,
    /// The number of other stored versions of the same variant.
    pub hidden: usize,
    /// The variant; plain versions if absent.
    pub variant: Option<Variant>,
}

pub(super) fn chosen(
    args: &HistoryArgs,
    repository: &Repository,
    results: &Results<'_>,
) -> Result<ChosenVersions> {
    let shown = match (args.last, &args.since) {
        (Some(last), _) => last as usize,
        (None, Some(_)) => usize::MAX,
        (None, None) if args.changes_only || args.top.is_some() || !args.path.is_empty() => {
            SEARCHED
        }
        (None, None) => SHOWN,
    };
    let variant = variant(args, repository, results)?;
    let commits = commits_by_date(results, variant.as_ref());
    let candidates = if let Some(revision) = &args.since {
        repository.since(revision, commits.iter().copied())?
    } else {
        let newest = commits.iter().take(shown.saturating_mul(CANDIDATES));
        newest.map(|commit| (*commit).to_owned()).collect()
    };
    let placed = repository.in_order(candidates.iter().map(String::as_str))?;
    let entries = timeline(&results.experiments, &placed, variant.as_ref());
    let all = entries.len();
    // Versions older than the candidates, or not since the revision, are not on this timeline.
    let is_candidate = |entry: &TimelineEntry| {
        let commit = entry.version.commit.as_ref();
        commit.map_or(args.since.is_none(), |commit| candidates.contains(commit))
    };
    let kept: Vec<bool> = entries.iter().map(is_candidate).collect();
    let count = kept.iter().filter(|kept| **kept).count();
    if let (0, Some(revision)) = (count, &args.since) {
        let measure = args.given.suggest("run", &[&format!("{revision}..HEAD")], &[]);
        let what = format!("no results are stored since `{revision}`");
        return Err(
            Error::new(Exit::Usage, what).hint(format!("measure newer commits with: {measure}"))
        );
    }
    let skipped = count.saturating_sub(shown);
    let entries = retain(entries, &kept, skipped);
    Ok(ChosenVersions { entries, hidden: all - count + skipped, variant })
}

/// Drops the entries that are not kept, and `skipped` more: first those that are no ancestors of HEAD, then the oldest.
/// An entry that followed a dropped one follows nothing.
fn retain(entries: Vec<TimelineEntry>, kept: &[bool], skipped: usize) -> Vec<TimelineEntry> {
    let mut indices: Vec<usize> = (0..entries.len()).filter(|index| kept[*index]).collect();
    indices.sort_by_key(|index| (entries[*index].in_head, *index));
    indices.drain(..skipped);
    indices.sort_unstable();
    let new_index = |old: usize| indices.binary_search(&old).ok();
    entries
        .into_iter()
        .enumerate()
        .filter(|(index, _)| new_index(*index).is_some())
        .map(|(_, entry)| TimelineEntry { follows: entry.follows.and_then(new_index), ..entry })
        .collect()
}

/// The names of the stored variants besides this one, sorted.
pub(super) fn others(results: &Results<'_>, variant: Option<&Variant>) -> Vec<String> {
    let stored: BTreeSet<&str> = stored(results).map(|variant| &*variant.name).collect();
    let is_other = |name: &&str| variant.is_none_or(|variant| variant.name != **name);
    stored.into_iter().filter(is_other).map(str::to_owned).collect()
}

/// The variants of all results, the newest last.
fn stored<'r>(results: &'r Results<'_>) -> impl DoubleEndedIterator<Item = &'r Variant> {
    let versions = results.experiments.iter().flat_map(|stored| &stored.plan.versions);
    let variants = versions.filter_map(|planned| planned.version.variant.as_ref());
    variants.filter(|variant| !variant.is_implementation())
}

/// The requested variant as `bench.toml` defines it, or with its newest stored settings if it does not.
fn variant(
    args: &HistoryArgs,
    repository: &Repository,
    results: &Results<'_>,
) -> Result<Option<Variant>> {
    let Some(name) = &args.variant else { return Ok(None) };
    let mut all = repository.variants().iter().chain(stored(results).rev());
    let found = all.find(|variant| variant.name == *name).cloned();
    let unknown = || {
        let what = format!("no results of a variant `{name}` are stored");
        Error::new(Exit::Usage, what).hint(match &others(results, None)[..] {
            [] => "measure one with: cargo rbench run REV+NAME".to_owned(),
            names => format!("stored are {}", names.join(", ")),
        })
    };
    found.map(Some).ok_or_else(unknown)
}

/// Returns every stored commit of this variant once, the newest date first.
fn commits_by_date<'r>(results: &'r Results<'_>, variant: Option<&Variant>) -> Vec<&'r str> {
    let versions = results.experiments.iter().flat_map(|stored| &stored.plan.versions);
    let mut dated: Vec<(Option<i64>, &str)> = versions
        .filter(|planned| planned.version.variant.as_ref() == variant)
        .filter_map(|planned| Some((planned.version.time, planned.version.commit.as_deref()?)))
        .collect();
    dated.sort_by(|one, other| other.cmp(one));
    let mut met = HashSet::new();
    dated.into_iter().map(|(_, commit)| commit).filter(|commit| met.insert(*commit)).collect()
}

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
