//! Searches the commits inside of merges that a search found to change benchmarks.

use super::{comparisons::SampleLimits, finder::Finder, versions::Versions};
use crate::{
    error::{Exit, Result},
    git::Line,
    model::{Benchmark, Version},
    report::bisect::{Commit, CommitPlace, Merged, Outcome, SearchedLine, Skipped},
};

impl Finder<'_> {
    /// Searches the merged commits of each merge that was found, for the benchmarks that it changed.
    pub(super) fn merges(
        &self,
        searched: &mut SearchedLine,
        alpha: f64,
        depth: usize,
        (versions, effort): (&mut Versions<'_>, &mut SampleLimits),
    ) -> Result<()> {
        let mut merges: Vec<(Version, Vec<Benchmark>)> = Vec::new();
        for one in &searched.benchmarks {
            let Outcome::Changed { places, .. } = &one.outcome else { continue };
            let named =
                places.iter().filter_map(CommitPlace::named).filter(|commit| commit.is_merge);
            for Commit { version, .. } in named {
                match merges.iter_mut().find(|(known, _)| known == version) {
                    Some((_, benchmarks)) => benchmarks.push(one.benchmark.clone()),
                    None => merges.push((version.clone(), vec![one.benchmark.clone()])),
                }
            }
        }
        let share = alpha / merges.len().max(1) as f64;
        for (merge, benchmarks) in merges {
            let merged = match self.project.repository.merged_line(&merge)? {
                _ if effort.stopped => Merged::NotSearched("there was no time left".to_owned()),
                None => Merged::NotSearched("it does not merge a single branch".to_owned()),
                Some(line) => {
                    self.console.line(&format!("searching what {merge} merged"));
                    self.inside(line, &benchmarks, share, depth + 1, (versions, effort))?
                }
            };
            for place in named_merges(searched) {
                if place.commits.last().is_some_and(|commit| commit.version == merge) {
                    place.merged = Some(merged.clone());
                }
            }
        }
        Ok(())
    }

    /// Searches the commits of one merge, without unusable commits at both ends.
    fn inside(
        &self,
        mut line: Line,
        benchmarks: &[Benchmark],
        alpha: f64,
        depth: usize,
        (versions, effort): (&mut Versions<'_>, &mut SampleLimits),
    ) -> Result<Merged> {
        let mut skipped = Vec::new();
        let mut skip = |version: Version, reason| {
            skipped.push(Skipped { version, benchmarks: Vec::new(), reason });
        };
        while let Some(last) = line.commits.last()
            && let Some(reason) = versions.prepare(&last.version)?
        {
            skip(last.version.clone(), reason);
            line.commits.pop();
        }
        while !line.commits.is_empty()
            && let Some(reason) = versions.prepare(&line.base)?
        {
            let base = line.commits.remove(0).version;
            skip(std::mem::replace(&mut line.base, base), reason);
        }
        if line.commits.is_empty() {
            let reason = skipped.pop().map_or_else(String::new, |one| one.reason);
            return Ok(Merged::NotSearched(reason));
        }
        match self.line(&line, Some(benchmarks), alpha, depth, (versions, effort)) {
            Ok(mut inside) => {
                inside.skipped.extend(skipped);
                Ok(Merged::Searched(Box::new(inside)))
            }
            // An error inside of one merge must not discard the other results.
            Err(error) if matches!(error.exit(), Exit::Build | Exit::Usage) => {
                Ok(Merged::NotSearched(error.what().to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}

/// The places where the search named one commit, and that commit is a merge.
pub(super) fn named_merges(searched: &mut SearchedLine) -> impl Iterator<Item = &mut CommitPlace> {
    let places = searched.benchmarks.iter_mut().filter_map(|one| match &mut one.outcome {
        Outcome::Changed { places, .. } => Some(places),
        _ => None,
    });
    places.flatten().filter(|place| place.named().is_some_and(|commit| commit.is_merge))
}
