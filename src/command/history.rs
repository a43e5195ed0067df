//! `cargo rbench history`: how benchmarks changed over the stored commits, in the order of the repository.

use std::collections::HashSet;

use crate::{
    cli::{HistoryArgs, ReportFormat},
    console::Console,
    failure::{Exit, Failure, OrFail, Result},
    harness::Filter,
    judge::{BenchmarkPast, Judging, Past},
    model::{KnownCommit, Moment, Relation, timeline},
    project::Project,
    report::{BenchmarkHistory, HistoryReport, HistoryRow},
    settings,
    source::Repository,
    store::Store,
};

/// How many versions are shown unless something else is asked for.
const SHOWN: usize = 20;

/// The dates of commits choose so many times as many as are shown; the repository then orders them.
const CANDIDATES: usize = 4;

/// How many of a version's newest results are looked at, unless it was measured together with another.
const NEWEST: usize = 4;

/// Reads, judges, reports.
pub fn run(args: &HistoryArgs) -> Result<Exit> {
    let console = Console::new(false);
    let project = Project::find(args.target.manifest_path.as_deref())?;
    let criteria = settings::criteria(&project.file, &args.criteria)?;
    let filter = Filter::new(&args.patterns, args.exact, &args.target.package, &args.target.bench)?;
    let report = project.with_stored(&console, |store| {
        let past = Past::read(store, &project.store())?;
        let judging = Judging { criteria: &criteria, allow_different: args.allow_different };
        report(args, &project.repository, store, &past, &filter, &judging)
    })?;
    Console::result(&match args.format {
        ReportFormat::Text => report.text(Console::result_columns()),
        ReportFormat::Markdown => report.markdown(),
        ReportFormat::Json => {
            report.json().or_fail(Exit::Internal, || "cannot write the report")? + "\n"
        }
    })?;
    Ok(Exit::Success)
}

fn report(
    args: &HistoryArgs,
    repository: &Repository,
    store: &Store<'_>,
    past: &Past<'_>,
    filter: &Filter,
    judging: &Judging<'_>,
) -> Result<HistoryReport> {
    let benchmarks = filter.choose(store.benchmarks()?)?;
    let (moments, hidden) = chosen(args, repository, past)?;
    let mut report = HistoryReport::new(args.patterns.is_empty(), hidden, past.unfinished);
    if repository.is_shallow() && moments.iter().any(|moment| !moment.known) {
        report.warn(
            "this clone is shallow, so the order of older commits is not known; fetch them with: \
                     git fetch --unshallow",
        );
    }
    let experiments: Vec<usize> = moments
        .iter()
        .flat_map(|moment| experiments_for(moment, base_of(moment, &moments)))
        .collect();
    for benchmark in &benchmarks {
        if let Some(of_benchmark) = past.of_benchmark(benchmark, experiments.iter().copied())? {
            report.add(history(past, &of_benchmark, &moments, judging)?);
        }
    }
    Ok(report)
}

/// The versions to show, oldest first, and how many stored ones are not shown.
fn chosen(
    args: &HistoryArgs,
    repository: &Repository,
    past: &Past<'_>,
) -> Result<(Vec<Moment>, usize)> {
    let shown = match (args.last, &args.since) {
        (Some(last), _) => last as usize,
        (None, Some(_)) => usize::MAX,
        (None, None) => SHOWN,
    };
    let commits = commits_by_date(past);
    let candidates = if let Some(revision) = &args.since {
        repository.since(revision, commits.iter().copied())?
    } else {
        let newest = commits.iter().take(shown.saturating_mul(CANDIDATES));
        newest.map(|commit| (*commit).to_owned()).collect()
    };
    let placed = repository.in_order(candidates.iter().map(String::as_str))?;
    let known: Vec<KnownCommit> = placed
        .into_iter()
        .map(|place| KnownCommit { commit: place.commit, ancestor: place.ancestor })
        .collect();
    let moments = timeline(&past.plans, &known);
    let all = moments.len();
    // What is older than the candidates, or not since the revision, is known to nobody here.
    let is_candidate = |moment: &Moment| {
        let commit = moment.version.commit.as_ref();
        commit.map_or(args.since.is_none(), |commit| candidates.contains(commit))
    };
    let kept: Vec<bool> = moments.iter().map(is_candidate).collect();
    let count = kept.iter().filter(|kept| **kept).count();
    if let (0, Some(revision)) = (count, &args.since) {
        return Err(Failure::new(Exit::Usage, format!("nothing is stored since `{revision}`"))
            .hint(format!("measure what came since with: cargo rbench run {revision}..HEAD")));
    }
    let skipped = count.saturating_sub(shown);
    Ok((retain(moments, &kept, skipped), all - count + skipped))
}

/// The moments that are kept, less the first of them; what followed one that is not kept follows nothing.
fn retain(moments: Vec<Moment>, kept: &[bool], skipped: usize) -> Vec<Moment> {
    let indices: Vec<usize> =
        (0..moments.len()).filter(|index| kept[*index]).skip(skipped).collect();
    let new_index = |old: usize| indices.binary_search(&old).ok();
    moments
        .into_iter()
        .enumerate()
        .filter(|(index, _)| new_index(*index).is_some())
        .map(|(_, moment)| Moment { follows: moment.follows.and_then(new_index), ..moment })
        .collect()
}

/// Every stored commit once, the newest date first.
fn commits_by_date<'p>(past: &'p Past<'_>) -> Vec<&'p str> {
    let versions = past.plans.iter().flat_map(|plan| &plan.versions);
    let mut dated: Vec<(Option<i64>, &str)> = versions
        .filter_map(|planned| Some((planned.version.time, planned.version.commit.as_deref()?)))
        .collect();
    dated.sort_by(|one, other| other.cmp(one));
    let mut met = HashSet::new();
    dated.into_iter().map(|(_, commit)| commit).filter(|commit| met.insert(*commit)).collect()
}

fn base_of<'m>(moment: &Moment, moments: &'m [Moment]) -> Option<&'m Moment> {
    moments.get(moment.follows?)
}

/// The experiments that tell of a moment, and of how it changed since the one that it follows.
fn experiments_for(moment: &Moment, base: Option<&Moment>) -> Vec<usize> {
    let newest = |moment: &Moment| {
        moment.parts.iter().rev().take(NEWEST).map(|part| part.experiment).collect::<Vec<_>>()
    };
    let mut wanted = newest(moment);
    if let Some(base) = base {
        let of_base: HashSet<usize> = base.parts.iter().map(|part| part.experiment).collect();
        let together = moment.parts.iter().rev().map(|part| part.experiment);
        wanted.extend(together.filter(|experiment| of_base.contains(experiment)).take(NEWEST));
        wanted.extend(newest(base));
    }
    wanted
}

/// All versions of one benchmark, each against the nearest before it that was measured.
fn history(
    past: &Past<'_>,
    benchmark: &BenchmarkPast<'_>,
    moments: &[Moment],
    judging: &Judging<'_>,
) -> Result<BenchmarkHistory> {
    let mut parts = Vec::with_capacity(moments.len());
    let mut is_measured = Vec::with_capacity(moments.len());
    for moment in moments {
        let of_moment = benchmark.among(&moment.parts)?;
        let failed = match of_moment.last() {
            Some(part) => past.failure(&benchmark.benchmark, *part)?.is_some(),
            None => true,
        };
        is_measured.push(!failed);
        parts.push(of_moment);
    }
    let newest = parts.iter().rev().find_map(|parts| parts.last()).copied();
    let mut history = BenchmarkHistory::new(&benchmark.benchmark, &benchmark.metric);
    for (index, moment) in moments.iter().enumerate() {
        let Some(last) = parts[index].last().copied() else { continue };
        let mut base = moment.follows;
        while let Some(before) = base.filter(|before| !is_measured[*before]) {
            base = moments[before].follows;
        }
        let relation = base.and_then(|base| Relation::of(&parts[base], &parts[index], &past.plans));
        let part = relation.as_ref().map_or(last, |relation| relation.parts()[1]);
        let judgement = match &relation {
            Some(relation) => Some(benchmark.judge(relation, judging)?.0),
            None => None,
        };
        let alike = newest.is_none_or(|newest| {
            past.plans[part.experiment].obstacles(&past.plans[newest.experiment]).is_empty()
        });
        history.add(&HistoryRow {
            version: &moment.version,
            known: moment.known,
            measured: past.begun(part),
            machine: &past.plans[part.experiment].machine,
            toolchain: &past.plans[part.experiment].versions[part.version].toolchain,
            summary: benchmark.summary(part, judging.criteria)?,
            failure: past.failure(&benchmark.benchmark, part)?,
            confidence: judging.criteria.confidence,
            alike: alike || judging.allow_different,
            against: base.map(|base| &moments[base].version),
            relation: relation.as_ref(),
            judgement: judgement.as_ref(),
        });
    }
    if let Some(newest) = newest.filter(|_| history.has_sessions()) {
        history.sessions(benchmark.session_variance(newest.experiment, judging.criteria)?);
    }
    Ok(history)
}
