//! Compares two versions by measuring them, or by earlier results with the same settings.

use std::{collections::HashSet, time::Instant};

use super::{
    Event, Outcome, UnlistedTarget, Warning,
    audit::Audit,
    counts::{self, Counts},
    decide,
    earlier::EarlierResults,
    explanations,
    request::{Benchmarks, Request},
    selection::Selection,
    session::Session,
    stages::Stages,
    warning,
};
use crate::{
    builds::changed_dependencies,
    config::VerdictSettings,
    error::{Error, Exit, Result},
    machine::this_machine,
    measure::{Builds, COUNTED_LAYOUTS, Counter, ListedVersion, Runner, StartedExperiment},
    model::{AbsentBenchmark, BenchTarget, Benchmark, FailedTarget, SkipReason, Version},
    process::sandbox,
    secrets,
    store::ExperimentId,
    verdict::{DecidedRow, UnmeasuredIn, Verdict},
};

/// The index of the head among the two versions.
const HEAD: usize = 1;

/// Compares two versions: compiles and lists them, finds the benchmarks on which their changes have
/// an impact, measures these and decides.
///
/// Both versions stay listed in the session. If only the plan is requested, nothing is measured,
/// and the outcome has the stored results.
pub fn compare(request: &Request, session: &mut Session<'_>) -> Result<Outcome> {
    let mut outcomes = compare_all(std::slice::from_ref(request), session)?;
    outcomes.pop().ok_or_else(|| Error::new(Exit::Internal, "nothing was compared"))
}

/// Makes several comparisons, as [`compare`] does.
pub fn compare_all(requests: &[Request], session: &mut Session<'_>) -> Result<Vec<Outcome>> {
    // Compilation errors must show before anything is measured.
    session.list_any(requests.iter().flat_map(|one| &one.versions))?;
    session.has_benchmarks()?;
    let mut experiments = Vec::new();
    let outcomes = compare_listed(requests, session, &mut experiments)?;
    // All experiments are finished together, so an interrupted command is resumed as a whole.
    experiments.iter().try_for_each(|one| session.runner.finish(one))?;
    Ok(outcomes)
}

/// Makes comparisons of listed versions. The caller must finish the experiments.
pub(super) fn compare_listed(
    requests: &[Request],
    session: &mut Session<'_>,
    experiments: &mut Vec<StartedExperiment>,
) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let mut earlier: Option<&Version> = None;
    for request in requests {
        let Request { versions: [base, head], verdicts, .. } = request;
        if earlier.replace(head) == Some(head) {
            session.observer.compare_event(Event::AlsoAgainst(base));
        }
        outcomes.push(session.with([base, head], |session, versions| {
            let outcome =
                PairMeasurement { request, session, versions, verdicts, experiments }.pair();
            session.runner.end_setups();
            outcome
        })?);
    }
    Ok(outcomes)
}

struct PairMeasurement<'c, 's> {
    request: &'c Request,
    session: &'c Session<'s>,
    versions: &'c [ListedVersion; 2],
    verdicts: &'c VerdictSettings,
    experiments: &'c mut Vec<StartedExperiment>,
}

/// The part of a comparison with one kind of metrics, which the same executions measure.
struct Partial {
    verdicts: VerdictSettings,
    rows: Vec<DecidedRow>,
    measured: Vec<Benchmark>,
    /// The skipped benchmarks without a stored reason, which is then recorded.
    unmeasured: Vec<Benchmark>,
    /// The counter, if they are counted.
    counter: Option<Counter>,
}

impl PairMeasurement<'_, '_> {
    fn pair(&mut self) -> Result<Outcome> {
        let Self { request, session, versions, verdicts, .. } = *self;
        let Session { runner, observer, .. } = session;
        let absent = self.absent()?;
        let mut outcome = self.known(&absent)?;
        let mut chosen = self.selection(&mut outcome.warnings)?;
        let failed = if request.only_plan { Vec::new() } else { self.failed(&mut chosen)? };
        let mut parts = self.parts(&chosen)?;
        self.announce(&chosen, &parts);
        if request.only_plan {
            outcome.rows = parts.into_iter().flat_map(|part| part.rows).collect();
            return Ok(outcome);
        }
        outcome.warnings.extend(changing_ids(runner, &versions[HEAD], &outcome.added)?);
        outcome.warnings.extend(ignored_settings(versions));
        let names = secrets::passed_secrets();
        if !names.is_empty() {
            outcome.warnings.push(Warning::SecretsPassed { names });
        }
        if chosen.common.is_empty() {
            outcome.rows = failed;
            return Ok(outcome);
        }
        let builds = self.link(&chosen, &parts, &mut outcome.warnings)?;
        outcome.build_times = builds.iter().flat_map(Builds::build_times).collect();
        let unmeasured = match &builds {
            Some(builds) if request.identifies => chosen.unmeasured(builds),
            _ => chosen.unaffected(),
        };
        if !chosen.measured.is_empty() {
            self.note_conditions(&chosen, &mut outcome);
        }
        self.find_counters(&mut parts)?;
        let row = |(benchmark, skip_reason): &(Benchmark, SkipReason)| {
            DecidedRow::without_metric(benchmark, Verdict::from(*skip_reason))
        };
        let mut rows: Vec<DecidedRow> = unmeasured.iter().map(row).chain(failed).collect();
        let earlier = self.experiments.len();
        for mut part in parts {
            rows.append(&mut part.rows);
            if self.is_open(&part) {
                let of_part: Vec<(Benchmark, SkipReason)> = unmeasured
                    .iter()
                    .filter(|(one, _)| part.unmeasured.contains(one))
                    .cloned()
                    .collect();
                rows.extend(self.measure(part, &of_part, builds.as_ref(), &mut outcome)?);
            }
        }
        for row in self.audit(&unmeasured, &mut outcome)? {
            rows.retain(|other| other.benchmark != row.benchmark || other.metric.is_some());
            rows.push(row);
        }
        for experiment in &self.experiments[earlier..] {
            runner.store.record_absent(experiment.id, &absent)?;
        }
        for row in &mut rows {
            row.impact = chosen.impact(&row.benchmark).cloned();
        }
        if request.explains {
            outcome.explanations =
                explanations::explain_changed(runner, versions, &rows, *observer)?;
        }
        if let Some(acceptances) = &self.session.acceptances {
            let compared = [&versions[0].version, &versions[HEAD].version];
            acceptances.apply(&mut rows, compared, |benchmark| verdicts.criteria(benchmark))?;
            let listed = all_benchmarks(runner, &versions[HEAD]);
            outcome.idle = acceptances.idle(&rows, compared, listed.as_deref())?;
        }
        let is_spent = |budget| outcome.spent.unwrap_or_default() >= budget;
        if let Some(which) = request.explains_time.filter(|_| !request.budget.is_some_and(is_spent))
        {
            let experiments: Vec<ExperimentId> =
                self.experiments[earlier..].iter().map(|one| one.id).collect();
            outcome.time_explanations = explanations::explain_changed_times(
                runner,
                versions,
                &rows,
                &experiments,
                which,
                *observer,
                &outcome.explanations,
            )?;
        }
        rows.sort_by_key(|row| chosen.common.iter().position(|one| *one == row.benchmark));
        outcome.rows = rows;
        Ok(outcome)
    }

    /// Measures skipped benchmarks in the time that is left of the budget, if that is requested.
    fn audit(
        &mut self,
        skipped: &[(Benchmark, SkipReason)],
        outcome: &mut Outcome,
    ) -> Result<Vec<DecidedRow>> {
        let Self { session: Session { runner, observer, .. }, versions, verdicts, .. } = *self;
        let Some(budget) = self.request.budget.filter(|_| self.request.audits && verdicts.times())
        else {
            return Ok(Vec::new());
        };
        let left = budget.saturating_sub(outcome.spent.unwrap_or_default());
        let (verdicts, observer) = (&verdicts.only(false), *observer);
        let audit = Audit { runner, versions, skipped, verdicts, left, observer };
        let start = Instant::now();
        let Some((experiment, rows)) = audit.measure(outcome)? else { return Ok(Vec::new()) };
        *outcome.spent.get_or_insert_default() += start.elapsed();
        self.experiments.push(experiment);
        Ok(rows)
    }

    fn known(&self, absent: &[AbsentBenchmark]) -> Result<Outcome> {
        let [base, head] = self.versions;
        let compared = [base.version.clone(), head.version.clone()];
        let mut outcome = Outcome::new(compared, self.verdicts.criteria);
        outcome.changes = self.session.project.repository.changes(&base.version, &head.version)?;
        let compilers = self.versions.each_ref().map(ListedVersion::compiler);
        outcome.compilers = Some(compilers.map(str::to_owned)).filter(|[base, head]| base != head);
        outcome.partition = self.session.runner.partition();
        outcome.left_out = self.session.unneeded.iter().cloned().collect();
        outcome.sandbox = sandbox::state();
        outcome.dependencies = changed_dependencies(&base.locked, &head.locked);
        outcome.set_absent(absent.to_vec());
        let [of_base, of_head] = [base, head].map(|version| &version.listing.failures);
        let unlisted = |failed: &FailedTarget, place| UnlistedTarget::new(failed.clone(), place);
        let only_base =
            of_base.iter().filter(|failed| of_head.iter().all(|one| one.target != failed.target));
        let only_base = only_base.map(|failed| unlisted(failed, UnmeasuredIn::Base));
        outcome.failed_targets.extend(only_base);
        // What the base could measure is lost.
        let is_lost = |lost: &&FailedTarget| {
            let mut of_base = base.listing.targets.iter();
            of_base.any(|listed| listed.executable.target() == lost.target)
        };
        let lost = head.listing.unsupported.iter().filter(is_lost);
        outcome.failed_targets.extend(lost.map(|failed| unlisted(failed, UnmeasuredIn::Head)));
        // A target that fails in both versions is named once.
        outcome.failed_targets.extend(of_head.iter().map(|failed| {
            let Some(earlier) = of_base.iter().find(|one| one.target == failed.target) else {
                return unlisted(failed, UnmeasuredIn::Head);
            };
            let mut both = unlisted(failed, UnmeasuredIn::Both);
            let [reason, earlier] = [failed, earlier].map(|one| one.error.to_string());
            if reason != earlier {
                both.failed.error =
                    both.failed.error.cause(format!("in {}: {earlier}", base.version));
            }
            both
        }));
        Ok(outcome)
    }

    /// The benchmarks that only one version has, with the reasons.
    fn absent(&self) -> Result<Vec<AbsentBenchmark>> {
        let [base, head] = self.versions.each_ref();
        let mut all = Vec::new();
        if self.is_about_given_ones() {
            return Ok(all);
        }
        for (pair, version) in [([head, base], 0), ([base, head], HEAD)] {
            let absent = self.session.runner.absent(pair)?.into_iter();
            all.extend(absent.map(|(benchmark, absence)| AbsentBenchmark {
                benchmark,
                version,
                absence,
            }));
        }
        Ok(all)
    }

    /// True if the request names the benchmarks: the caller then knows about the others.
    const fn is_about_given_ones(&self) -> bool {
        matches!(self.request.benchmarks, Benchmarks::These(_))
    }

    fn selection(&self, warnings: &mut Vec<Warning>) -> Result<Selection> {
        let (runner, versions) = (&self.session.runner, self.versions);
        match &self.request.benchmarks {
            Benchmarks::Affected => Selection::new(runner, versions, false, warnings),
            Benchmarks::All => Selection::new(runner, versions, true, warnings),
            Benchmarks::These(benchmarks) => Ok(Selection::from_benchmarks(benchmarks.clone())),
        }
    }

    /// The rows of benchmarks that fail, which are then left out.
    fn failed(&self, chosen: &mut Selection) -> Result<Vec<DecidedRow>> {
        let runner = &self.session.runner;
        let Some((experiment, failed)) = runner.record_failing(self.versions, &chosen.failing)?
        else {
            return Ok(Vec::new());
        };
        let rows = decide::decide_rows(runner, self.verdicts, experiment, &failed)?;
        chosen.leave_out(&failed);
        Ok(rows)
    }

    /// The stored results and the remaining measurements, for each kind of metrics.
    fn parts(&self, chosen: &Selection) -> Result<Vec<Partial>> {
        let mut parts = Vec::new();
        for verdicts in self.verdicts.kinds() {
            let (mut rows, mut known) = (Vec::new(), HashSet::new());
            if self.request.reuses {
                let earlier = EarlierResults::load(&self.session.runner, self.versions, &verdicts)?;
                rows = earlier.rows(&chosen.measured, &verdicts)?;
                known = earlier.unmeasured()?;
            }
            let (unmeasured, measured): (Vec<_>, Vec<_>) =
                chosen.common.iter().cloned().partition(|one| !chosen.measured.contains(one));
            let is_stored = |one: &Benchmark| rows.iter().any(|row| row.benchmark == *one);
            parts.push(Partial {
                measured: measured.into_iter().filter(|one| !is_stored(one)).collect(),
                unmeasured: unmeasured.into_iter().filter(|one| !known.contains(one)).collect(),
                rows,
                verdicts,
                counter: None,
            });
        }
        Ok(parts)
    }

    /// True if something is left to measure. Skipped benchmarks are recorded too where later
    /// comparisons look them up.
    const fn is_open(&self, part: &Partial) -> bool {
        !part.measured.is_empty() || self.request.reuses && !part.unmeasured.is_empty()
    }

    fn announce(&self, chosen: &Selection, parts: &[Partial]) {
        let Session { runner, observer, .. } = self.session;
        if self.is_about_given_ones() {
            return;
        }
        if self.request.reuses && !parts.iter().any(|part| self.is_open(part)) {
            observer.compare_event(Event::AlreadyMeasured);
            return;
        }
        let not_measured = parts.iter().map(|part| part.unmeasured.len()).max().unwrap_or_default();
        observer.compare_event(Event::Unaffected { not_measured, of: chosen.common.len() });
        if let Some(timed) = parts.iter().find(|part| part.verdicts.times()) {
            let outline = runner.outline(self.versions, &timed.measured);
            let confirms = timed.verdicts.criteria.confirm;
            observer.compare_event(Event::Planned { outline: &outline, confirms });
        }
        if self.request.only_plan && chosen.common.is_empty() {
            observer.compare_event(Event::Warning("there is no benchmark in both versions"));
        }
    }

    /// Links the first builds of timed benchmarks, and of those that may be the same machine code,
    /// and warns where builds are equal or the rules of placement differ. Counters link the builds of counted benchmarks themselves.
    fn link(
        &self,
        chosen: &Selection,
        parts: &[Partial],
        warnings: &mut Vec<Warning>,
    ) -> Result<Option<Builds>> {
        let (runner, versions) = (&self.session.runner, self.versions);
        let timed = parts.iter().find(|part| part.verdicts.times());
        let linked = match timed.filter(|part| self.is_open(part)) {
            _ if self.request.identifies => chosen.linked(),
            Some(timed) => timed.measured.clone(),
            None => return Ok(None),
        };
        let seeds = match timed {
            Some(_) => runner.first_analysis_seeds(versions, &linked),
            None => runner.counted_seeds(COUNTED_LAYOUTS),
        };
        let builds = runner.link(versions, &linked, seeds)?;
        warnings.extend(warning::equal_builds(&builds.records(), builds.seeds.len()));
        warnings.extend(warning::other_placement(&builds, &linked));
        Ok(Some(builds))
    }

    /// Adds the conditions of the measurements to the outcome.
    fn note_conditions(&self, chosen: &Selection, outcome: &mut Outcome) {
        let Self { session: Session { project, runner, idle, .. }, versions, .. } = *self;
        // The functions of a bench target do not show what another program does.
        let runs_itself = |target: &BenchTarget| !project.file.runs_other_programs(target);
        outcome.functions = chosen.reported_functions(runs_itself);
        outcome.machine = Some(this_machine());
        outcome.explainable = explanations::possible(&versions[HEAD], &chosen.measured);
        if self.verdicts.times() {
            outcome.add_disturbances(idle.iter().cloned());
            outcome.environment.clone_from(&runner.machine_state);
            outcome.parallel = Some(runner.parallel());
            outcome.sample_sizes = Some(runner.sample_sizes());
        }
    }

    /// Finds the counters, so that missing tools are known before anything is timed.
    fn find_counters(&self, parts: &mut [Partial]) -> Result<()> {
        let Session { runner, observer, .. } = self.session;
        let head = &self.versions[HEAD];
        let is_alone = parts.len() == 1;
        for part in parts {
            if part.verdicts.counts() && self.is_open(part) {
                part.counter = counts::counter(runner, head, &part.verdicts, is_alone, *observer)?;
            }
        }
        Ok(())
    }

    fn measure(
        &mut self,
        part: Partial,
        unmeasured: &[(Benchmark, SkipReason)],
        builds: Option<&Builds>,
        outcome: &mut Outcome,
    ) -> Result<Vec<DecidedRow>> {
        let Self { session: Session { runner, observer, .. }, versions, .. } = *self;
        let (verdicts, measured, observer) = (&part.verdicts, &*part.measured, *observer);
        let start = Instant::now();
        let (experiment, rows) = match (builds, part.counter) {
            (_, Some(counter)) => {
                Counts { runner, counter, versions, measured, unmeasured, verdicts, observer }
                    .measure()?
            }
            (Some(builds), None) if verdicts.times() => {
                let Request { stopping, budget, .. } = *self.request;
                let experiment = runner.begin(versions, measured, builds)?;
                Stages {
                    runner,
                    versions,
                    measured,
                    unmeasured,
                    verdicts,
                    stopping,
                    budget,
                    observer,
                }
                .measure(experiment, builds, outcome)?
            }
            // It cannot be counted, and a warning was given.
            _ => return Ok(Vec::new()),
        };
        self.experiments.push(experiment);
        *outcome.spent.get_or_insert_default() += start.elapsed();
        Ok(rows)
    }
}

/// All benchmarks of a version; `None` if only some were requested or could be listed.
fn all_benchmarks(runner: &Runner<'_>, version: &ListedVersion) -> Option<Vec<Benchmark>> {
    let is_all =
        runner.means_all() && version.has_all_targets() && version.listing.has_all_targets();
    is_all.then(|| version.benchmarks())
}

/// Warnings about settings of one version that cargo ignores: both programs may be the same because of that.
fn ignored_settings(versions: &[ListedVersion; 2]) -> impl Iterator<Item = Warning> {
    let ignored = versions.each_ref().map(ListedVersion::ignored_settings);
    [0, HEAD].into_iter().filter_map(move |version| {
        let only = ignored[version].iter().filter(|one| !ignored[1 - version].contains(one));
        let sentences: Vec<String> = only.cloned().collect();
        let in_head = version == HEAD;
        (!sentences.is_empty()).then_some(Warning::IgnoredSettings { sentences, in_head })
    })
}

/// A warning if benchmarks that only the head has get a new id each time they are listed.
fn changing_ids(
    runner: &Runner<'_>,
    head: &ListedVersion,
    added: &[Benchmark],
) -> Result<Option<Warning>> {
    let changing = runner.with_changing_ids(head, added)?;
    let ids: Vec<String> = changing.into_iter().map(|benchmark| benchmark.name.id).collect();
    Ok((!ids.is_empty()).then_some(Warning::ChangingIds { ids }))
}
