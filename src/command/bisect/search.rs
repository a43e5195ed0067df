//! Searches a line of commits, and the lines that the merges it names brought in.

use std::collections::{BTreeMap, HashMap};

use rbench_stats::{
    Criteria,
    bisection::{Conclusion, Ending, Estimate, Finding, Found, Search, Strategy},
};

use super::{
    comparisons::{Comparisons, Finder, Subject},
    versions::Versions,
};
use crate::{
    compare::common_benchmarks,
    error::{Error, Exit, Result},
    git::{Line, LineCommit},
    measure::benchmarks_only_in,
    model::{Benchmark, CommitRange, Version},
    report::bisect::{
        CONFIDENCE, Commit, CommitPlace, Merged, Outcome, SearchedBenchmark, SearchedLine, Skipped,
    },
};

/// The maximum depth of merges inside of merges to search.
const DEEPEST: usize = 3;

impl Finder<'_> {
    /// The criteria in the first metric. All metrics are counted, each with its own min-effect, or none is.
    pub(super) fn criteria(&self, criteria: Criteria) -> Criteria {
        let metric = self.verdicts.metrics.first();
        metric.map_or(criteria, |metric| criteria.for_metric(metric))
    }

    /// Searches a line, and the merged commits of merges that are found.
    ///
    /// With merges, half of the false-alarm rate is for the line itself and half for the merged commits.
    pub(super) fn line(
        &self,
        line: &Line,
        only: Option<&[Benchmark]>,
        alpha: f64,
        depth: usize,
        versions: &mut Versions<'_>,
    ) -> Result<SearchedLine> {
        let commits = line.commits.len();
        let ends = [line.version(0), line.version(commits)];
        for end in ends {
            versions.session.list(end).map_err(|error| endpoint_error(error, end))?;
        }
        let mut searched = SearchedLine {
            base: ends[0].clone(),
            head: ends[1].clone(),
            commits,
            forks: line.forks,
            benchmarks: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
            skipped: Vec::new(),
            failed_targets: Vec::new(),
        };
        let is_meant = |benchmark: &Benchmark| only.is_none_or(|only| only.contains(benchmark));
        let mut benchmarks = if ends[0].key() == ends[1].key() {
            versions.benchmarks(ends[0])
        } else {
            versions.session.with(ends, |_, versions| {
                let [base, head] = versions;
                searched.added = benchmarks_only_in(head, base);
                searched.removed = benchmarks_only_in(base, head);
                for version in versions {
                    searched.failed_targets.extend(version.listing.failures.iter().cloned());
                }
                Ok(common_benchmarks(versions))
            })?
        };
        for some in [&mut benchmarks, &mut searched.added, &mut searched.removed] {
            some.retain(is_meant);
        }
        let subjects = self.subjects(&benchmarks);
        let has_merges = line.commits.iter().any(|commit| commit.parents > 1);
        let own = if has_merges && depth < DEEPEST { alpha / 2.0 } else { alpha };
        let search = |subject: &Subject| {
            let criteria = self.criteria(self.verdicts.criteria(&subject.benchmark));
            Search::new(commits, criteria.min_effect)
        };
        let mut strategy = Strategy::new(subjects.iter().map(search).collect(), own);
        let mut comparisons = Comparisons {
            finder: self,
            versions,
            line,
            subjects: &subjects,
            lacking: BTreeMap::new(),
            impacts: HashMap::new(),
            metrics: HashMap::new(),
        };
        comparisons.answer(&mut strategy)?;
        for (index, search) in strategy.searches().iter().enumerate() {
            searched.benchmarks.push(comparisons.searched(index, search)?);
        }
        searched.skipped = comparisons.skipped(strategy.searches());
        if depth < DEEPEST {
            self.merges(&mut searched, alpha - own, depth, versions)?;
        } else {
            let reason = "it is a merge within merges within merges";
            for place in named_merges(&mut searched) {
                place.merged = Some(Merged::NotSearched(reason.to_owned()));
            }
        }
        Ok(searched)
    }

    /// Each benchmark in each selected metric, or in its first metric.
    fn subjects(&self, benchmarks: &[Benchmark]) -> Vec<Subject> {
        let metrics = match self.verdicts.metrics.as_slice() {
            [] => vec![None],
            metrics => metrics.iter().cloned().map(Some).collect(),
        };
        let subjects = benchmarks.iter().flat_map(|benchmark| {
            metrics
                .iter()
                .map(|metric| Subject { benchmark: benchmark.clone(), metric: metric.clone() })
        });
        subjects.collect()
    }

    /// Searches the merged commits of each merge that was found, for the benchmarks that it changed.
    fn merges(
        &self,
        searched: &mut SearchedLine,
        alpha: f64,
        depth: usize,
        versions: &mut Versions<'_>,
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
                _ if versions.effort.stopped => {
                    Merged::NotSearched("there was no time left".to_owned())
                }
                None => Merged::NotSearched("it does not merge a single branch".to_owned()),
                Some(line) => {
                    self.console.line(&format!("searching the commits that {merge} merged"));
                    self.inside(line, &benchmarks, share, depth + 1, versions)?
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

    fn inside(
        &self,
        mut line: Line,
        benchmarks: &[Benchmark],
        alpha: f64,
        depth: usize,
        versions: &mut Versions<'_>,
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
        match self.line(&line, Some(benchmarks), alpha, depth, versions) {
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
fn named_merges(searched: &mut SearchedLine) -> impl Iterator<Item = &mut CommitPlace> {
    let places = searched.benchmarks.iter_mut().filter_map(|one| match &mut one.outcome {
        Outcome::Changed { places, .. } => Some(places),
        _ => None,
    });
    places.flatten().filter(|place| place.named().is_some_and(|commit| commit.is_merge))
}

/// Adds hints to an error of an end of the range, without which there is no search.
fn endpoint_error(error: Error, end: &Version) -> Error {
    match error.exit() {
        Exit::Build => error.hint(format!(
            "a search compares both ends of its range first: choose another commit than {} for this end",
            end.short()
        )),
        Exit::Usage => error.cause(format!("this is about {end}, an end of the range")),
        _ => error,
    }
}

impl Comparisons<'_, '_> {
    fn searched(&mut self, index: usize, search: &Search) -> Result<SearchedBenchmark> {
        let Ok(conclusion) = search.conclusion() else {
            return Err(Error::new(Exit::Internal, "a search ended without a conclusion"));
        };
        let outcome = match conclusion {
            Conclusion::Same => Outcome::Unaffected,
            Conclusion::Open => Outcome::NotCompared,
            Conclusion::Lacks(end) => Outcome::NotComparable {
                version: self.line.version(end).clone(),
                reason: self.why(end, index),
            },
            Conclusion::NotChanged(measured) => {
                let change = measured.estimate.change(CONFIDENCE);
                if measured.finding == Finding::Unchanged {
                    Outcome::Unchanged { change }
                } else {
                    Outcome::Inconclusive { change }
                }
            }
            Conclusion::Changed { total, found } => {
                let rest = found.iter().map(|one| one.change);
                let rest = rest.fold(total.estimate, Estimate::minus);
                let mut places = Vec::with_capacity(found.len());
                for one in found {
                    places.push(self.place(index, &one)?);
                }
                let [change, unexplained] =
                    [total.estimate, rest].map(|estimate| estimate.change(CONFIDENCE));
                Outcome::Changed { change, places, unexplained }
            }
        };
        let Subject { benchmark, metric } = self.subjects[index].clone();
        let range = |[after, until]: [usize; 2]| {
            let [after, until] = [after, until].map(|commit| self.line.version(commit).clone());
            CommitRange { after, until }
        };
        let whole = [0, self.line.commits.len()];
        Ok(SearchedBenchmark {
            benchmark,
            metric: metric.or_else(|| self.metrics.get(&index).cloned()),
            comparisons: search.comparisons(),
            same: search.same().filter(|pair| *pair != whole).map(range).collect(),
            outcome,
        })
    }

    fn place(&mut self, index: usize, found: &Found) -> Result<CommitPlace> {
        let Found { after, at, change, ending } = *found;
        let commits = &self.line.commits[after..at];
        let commit = |commit: &LineCommit| Commit {
            version: commit.version.clone(),
            authored: commit.authored,
            is_merge: commit.parents > 1,
        };
        let commits = commits.iter().map(commit).collect();
        if ending != Ending::Stopped && !self.impacts.contains_key(&([after, at], index)) {
            self.inspect([after, at], &[index])?;
        }
        Ok(CommitPlace {
            after: self.line.version(after).clone(),
            commits,
            ending,
            change: change.change(CONFIDENCE),
            impact: self.impacts.get(&([after, at], index)).cloned(),
            merged: None,
        })
    }

    /// The reason why a commit cannot be compared in a subject.
    fn why(&self, commit: usize, subject: usize) -> String {
        let all = self.lacking.get(&(commit, None));
        all.or_else(|| self.lacking.get(&(commit, Some(subject)))).cloned().unwrap_or_default()
    }

    fn skipped(&self, searches: &[Search]) -> Vec<Skipped> {
        let mut skipped: BTreeMap<(usize, String), Vec<Benchmark>> = BTreeMap::new();
        for (index, search) in searches.iter().enumerate() {
            for commit in search.unusable() {
                let whom = skipped.entry((*commit, self.why(*commit, index))).or_default();
                if !self.lacking.contains_key(&(*commit, None)) {
                    whom.push(self.subjects[index].benchmark.clone());
                }
            }
        }
        let of = |((commit, reason), mut benchmarks): ((usize, String), Vec<Benchmark>)| {
            benchmarks.dedup();
            Skipped { version: self.line.version(commit).clone(), benchmarks, reason }
        };
        skipped.into_iter().map(of).collect()
    }
}
