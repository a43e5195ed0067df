//! Selects the versions of a history.

use std::collections::HashSet;

use crate::{
    cli::HistoryArgs,
    error::{Error, Exit, Result},
    git::{Placed, Repository},
    shell::CommandLine as _,
    verdict::{KnownCommit, Results, TimelineEntry, timeline},
};

/// The default number of versions.
const SHOWN: usize = 20;

/// The default number of versions if only changes are shown.
const LOOKED_AT: usize = 200;

/// The number of candidates for each shown version: commit dates preselect candidates, since ordering by ancestry is
/// slow for a large store.
const CANDIDATES: usize = 4;

/// Returns the versions to show, oldest first, and the number of other stored versions.
pub(super) fn chosen(
    args: &HistoryArgs,
    repository: &Repository,
    results: &Results<'_>,
) -> Result<(Vec<TimelineEntry>, usize)> {
    let shown = match (args.last, &args.since) {
        (Some(last), _) => last as usize,
        (None, Some(_)) => usize::MAX,
        (None, None) if args.changes_only || args.top.is_some() || !args.path.is_empty() => {
            LOOKED_AT
        }
        (None, None) => SHOWN,
    };
    let commits = commits_by_date(results);
    let candidates = if let Some(revision) = &args.since {
        repository.since(revision, commits.iter().copied())?
    } else {
        let newest = commits.iter().take(shown.saturating_mul(CANDIDATES));
        newest.map(|commit| (*commit).to_owned()).collect()
    };
    let placed = repository.in_order(candidates.iter().map(String::as_str))?;
    let known: Vec<KnownCommit> = placed
        .into_iter()
        .map(|Placed { commit, ancestor, in_head }| KnownCommit { commit, ancestor, in_head })
        .collect();
    let entries = timeline(&results.experiments, &known);
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
    Ok((retain(entries, &kept, skipped), all - count + skipped))
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

/// Returns every stored commit once, the newest date first.
fn commits_by_date<'r>(results: &'r Results<'_>) -> Vec<&'r str> {
    let versions = results.experiments.iter().flat_map(|stored| &stored.plan.versions);
    let mut dated: Vec<(Option<i64>, &str)> = versions
        .filter_map(|planned| Some((planned.version.time, planned.version.commit.as_deref()?)))
        .collect();
    dated.sort_by(|one, other| other.cmp(one));
    let mut met = HashSet::new();
    dated.into_iter().map(|(_, commit)| commit).filter(|commit| met.insert(*commit)).collect()
}
