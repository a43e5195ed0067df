//! Compares two versions by their stored results, without measuring.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Acceptances, ComparedExperiment, Outcome, Warning,
    archive::{Archive, finished, not_stored},
};
use crate::{
    config::VerdictSettings,
    error::{Error, Exit, Result},
    machine::state,
    model::{Absence, AbsentBenchmark, Benchmark, Resources, Version},
    shell::CommandLine,
    store::ExperimentId,
    verdict::{DecidedRow, DecisionOptions, Relation, Results, Verdict, Verdicts, VersionRef},
};

/// A request to compare the stored results of two versions.
#[derive(Clone, Debug)]
pub struct StoredRequest {
    /// Base and head.
    pub versions: [Version; 2],
    pub benchmarks: Vec<Benchmark>,
    pub verdicts: VerdictSettings,
    /// True to compare results of different machines, settings and compilers.
    pub ignore_environment: bool,
}

/// Compares two versions by their newest comparable results, in each kind of metrics.
pub fn compare_stored(request: &StoredRequest, archive: &Archive<'_>) -> Result<Outcome> {
    let StoredRequest { versions: [base, head], verdicts, .. } = request;
    let kinds = verdicts.kinds();
    let (first, others) = kinds.split_first().unwrap_or((verdicts, &[]));
    let mut outcome = kind(request, archive, first)?;
    for other in others {
        outcome.add_counts(kind(request, archive, other)?);
    }
    outcome.changes = archive.acceptances.repository.changes(base, head)?;
    Ok(outcome)
}

/// Compares two versions in metrics of the same executions.
fn kind(
    request: &StoredRequest,
    archive: &Archive<'_>,
    verdicts: &VerdictSettings,
) -> Result<Outcome> {
    let StoredRequest { versions, benchmarks, ignore_environment, .. } = request;
    let Archive { store, acceptances, command_line } = archive;
    let results = finished(store, verdicts.counts(), benchmarks, &**command_line)?;
    let results = results.only_for(verdicts.metrics.first());
    results.check_metrics(&verdicts.metrics, benchmarks)?;
    let options = DecisionOptions { ignore_environment: *ignore_environment, ..verdicts.into() };
    let mut comparison =
        StoredPair::new(&results, versions.clone(), options, verdicts, &**command_line)?;
    for benchmark in benchmarks {
        comparison.add(benchmark)?;
    }
    let mut outcome = comparison.accepted(acceptances)?;
    let compared = [&outcome.base, &outcome.head];
    outcome.idle = acceptances.idle(&outcome.rows, compared, None)?;
    if outcome.is_empty() {
        let [base, head] = compared;
        let revisions = [&*base.revision_arg(), &head.revision_arg()];
        let measure = command_line.suggest("compare", &revisions, &[]);
        let what = format!("nothing is stored of these benchmarks of {base} and {head}");
        let hint = format!("measure them with: {measure}");
        return Err(Error::new(Exit::Usage, what).hint(hint));
    }
    Ok(outcome)
}

/// Compares the two versions of one finished experiment, whatever else is stored. `None` if it measured no two versions
/// to compare them.
pub fn compare_experiment(
    experiment: ExperimentId,
    verdicts: &VerdictSettings,
    archive: &Archive<'_>,
) -> Result<Option<Outcome>> {
    let Archive { store, acceptances, command_line } = archive;
    let results = Results::load(store, experiment)?;
    let Some(plan) = results.experiments.first().map(|stored| &stored.plan) else {
        return Ok(None);
    };
    let [base, head] = &plan.versions[..] else { return Ok(None) };
    if base.version.key() == head.version.key() || plan.is_diagnosis() {
        return Ok(None);
    }
    let versions = [base, head].map(|planned| planned.version.clone());
    let mut benchmarks = store.benchmarks_of(experiment)?;
    let skipped = store.unmeasured(experiment)?.into_iter().map(|(benchmark, _)| benchmark);
    let new: Vec<Benchmark> = skipped.filter(|skipped| !benchmarks.contains(skipped)).collect();
    benchmarks.extend(new);
    let options = DecisionOptions::default();
    let mut comparison = StoredPair::new(&results, versions, options, verdicts, &**command_line)?;
    for benchmark in &benchmarks {
        comparison.add(benchmark)?;
    }
    comparison.accepted(acceptances).map(Some)
}

/// A comparison in progress: benchmarks are added one by one.
struct StoredPair<'r> {
    results: &'r Results<'r>,
    decider: Verdicts<'r>,
    verdicts: &'r VerdictSettings,
    /// The experiments that measured the files of base and head.
    measured: [Vec<VersionRef>; 2],
    outcome: Outcome,
    /// The experiments that rows come from.
    used: BTreeSet<usize>,
    /// The resources of the executions that rows come from.
    resources: Vec<Resources>,
    /// The number of benchmarks decided across experiments, and the number that could not be.
    across: usize,
    refused: usize,
    different: Vec<String>,
    /// The benchmarks that only one version has.
    absent: Vec<AbsentBenchmark>,
    /// The absences that experiments on both versions recorded.
    recorded: BTreeMap<Benchmark, AbsentBenchmark>,
}

/// The absences that experiments on both versions recorded; the newest counts. Their order of the versions may be the
/// other one.
fn recorded_absences(
    results: &Results<'_>,
    [all_base, all_head]: &[Vec<VersionRef>; 2],
) -> Result<BTreeMap<Benchmark, AbsentBenchmark>> {
    let mut recorded = BTreeMap::new();
    for head in all_head {
        let Some(base) = all_base.iter().find(|base| base.experiment == head.experiment) else {
            continue;
        };
        for found in results.store().absent(results.experiments[head.experiment].id)? {
            let version = usize::from(found.version != base.version);
            recorded.insert(found.benchmark.clone(), AbsentBenchmark { version, ..found });
        }
    }
    Ok(recorded)
}

impl<'r> StoredPair<'r> {
    fn new(
        results: &'r Results<'r>,
        versions: [Version; 2],
        options: DecisionOptions,
        verdicts: &'r VerdictSettings,
        given: &dyn CommandLine,
    ) -> Result<Self> {
        let measured = versions.each_ref().map(|version| results.places_of(version));
        for (version, measured) in versions.iter().zip(&measured) {
            if measured.is_empty() {
                return Err(not_stored(version, given));
            }
        }
        Ok(Self {
            results,
            decider: Verdicts::new(results, options),
            verdicts,
            recorded: recorded_absences(results, &measured)?,
            measured,
            outcome: Outcome::new(versions, verdicts.criteria),
            used: BTreeSet::new(),
            resources: Vec::new(),
            across: 0,
            refused: 0,
            different: Vec::new(),
            absent: Vec::new(),
        })
    }

    fn add(&mut self, benchmark: &Benchmark) -> Result<()> {
        let experiments = self.measured.iter().flatten().map(|place| place.experiment);
        let of_benchmark = self.results.benchmark(benchmark, experiments)?;
        let [mut base, mut head] =
            self.measured.each_ref().map(|places| of_benchmark.find_in(places));
        // A benchmark that fails in one version is no longer executed in the other.
        if base.is_empty() {
            base = self.planned_with(&head, benchmark, &self.measured[0]);
        } else if head.is_empty() {
            head = self.planned_with(&base, benchmark, &self.measured[1]);
        }
        let [all_base, all_head] = &self.measured;
        let relation = of_benchmark.relation([all_base, all_head], [&base, &head])?;
        let Some(relation) = relation else {
            let version = match (base.is_empty(), head.is_empty()) {
                (true, false) => Some(0),
                (false, true) => Some(1),
                _ => None,
            };
            let alone = |version| AbsentBenchmark {
                benchmark: benchmark.clone(),
                version,
                absence: Absence::NotStored,
            };
            let absent = self.recorded.get(benchmark).cloned().or_else(|| version.map(alone));
            self.absent.extend(absent);
            return Ok(());
        };
        let rows =
            self.decider.rows(&of_benchmark, &relation, &self.verdicts.criteria(benchmark))?;
        self.used.extend(relation.versions().map(|place| place.experiment));
        let stored = relation.versions().map(|place| of_benchmark.rows(place));
        let executions = stored.iter().flat_map(|rows| rows.iter());
        self.resources.extend(
            executions.filter_map(|row| Some(row.outcome.as_ref().ok()?.resources.clone())),
        );
        let compilers = relation.versions().map(|place| {
            let plan = &self.results.experiments[place.experiment].plan;
            plan.versions[place.version].compiler().to_owned()
        });
        self.outcome.compilers = Some(compilers).filter(|[base, head]| base != head);
        self.note(&relation, &rows);
        self.outcome.rows.extend(rows);
        Ok(())
    }

    /// Those of `places` in whose experiment the benchmark was planned together with one of
    /// `others`.
    fn planned_with(
        &self,
        others: &[VersionRef],
        benchmark: &Benchmark,
        places: &[VersionRef],
    ) -> Vec<VersionRef> {
        let is_planned = |place: &&VersionRef| {
            let plan = &self.results.experiments[place.experiment].plan;
            others.iter().any(|other| other.experiment == place.experiment)
                && plan.benchmarks.iter().any(|planned| planned.benchmark == *benchmark)
        };
        places.iter().filter(is_planned).copied().collect()
    }

    /// Notes how the benchmark was measured, for the warnings.
    fn note(&mut self, relation: &Relation, rows: &[DecidedRow]) {
        let is_decided = rows.iter().any(|row| row.decisive().is_some());
        let is_refused =
            rows.iter().any(|row| matches!(row.verdict, Verdict::NotComparable { .. }));
        match relation {
            Relation::AcrossExperiments(_) if is_decided => self.across += 1,
            Relation::AcrossExperiments(_) if is_refused => self.refused += 1,
            Relation::Incomparable { reasons, .. } if is_decided => {
                for reason in reasons {
                    if !self.different.contains(reason) {
                        self.different.push(reason.clone());
                    }
                }
            }
            _ => {}
        }
    }

    fn accepted(self, acceptances: &Acceptances<'_>) -> Result<Outcome> {
        let verdicts = self.verdicts;
        let mut outcome = self.finish();
        let compared = [&outcome.base, &outcome.head];
        acceptances.apply(&mut outcome.rows, compared, |one| verdicts.criteria(one))?;
        Ok(outcome)
    }

    fn finish(self) -> Outcome {
        let Self { results, mut outcome, used, resources, across, refused, different, .. } = self;
        outcome.set_absent(self.absent);
        // Preemption is the only disturbance that is stored.
        outcome.add_disturbances(state::preempted(&resources));
        if !different.is_empty() {
            outcome.warnings.push(Warning::DifferentConditions { reasons: different });
        }
        if across > 0 {
            outcome.warnings.push(Warning::AcrossExperiments { benchmarks: across });
        }
        if refused > 0 {
            let benchmarks = refused;
            outcome.warnings.push(Warning::NotComparableAcrossExperiments { benchmarks });
        }
        let used: Vec<_> = used.into_iter().map(|index| &results.experiments[index]).collect();
        outcome.machine = used.last().map(|newest| (*newest.plan.machine).clone());
        let mut states: Vec<&str> =
            used.iter().filter_map(|stored| stored.machine_state.as_deref()).collect();
        states.dedup();
        outcome.environment = (!states.is_empty()).then(|| states.join("; then "));
        outcome.stored = used
            .into_iter()
            .map(|stored| ComparedExperiment {
                identity: stored.identity.clone(),
                started: stored.begun,
                sample_sizes: stored.plan.sample_sizes,
            })
            .collect();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::GivenOptions,
        config::{BenchToml, CriteriaOptions},
        model::{Disturbance, Execution, SkipReason, Stage},
        store::Store,
        verdict::testing::{Filling, benchmark, version},
    };

    /// The stored comparison of `base` and `head` with these benchmarks.
    fn compared(store: &Store, options: DecisionOptions, ids: &[&str]) -> Outcome {
        let results = Results::new(store, store.experiments().unwrap());
        let verdicts =
            VerdictSettings::resolve(&BenchToml::default(), &CriteriaOptions::default()).unwrap();
        let versions = [version("base"), version("head")];
        let given = GivenOptions::default();
        let mut comparison =
            StoredPair::new(&results, versions, options, &verdicts, &given).unwrap();
        for id in ids {
            comparison.add(&benchmark(id)).unwrap();
        }
        comparison.finish()
    }

    #[test]
    fn different_conditions_are_reported_once_each() {
        let store = Store::in_memory().unwrap();
        for (cpu, ids) in [("A", ["a", "c"]), ("B", ["b", "d"])] {
            let filling = Filling::begin_on(cpu, &store, &["base"], &ids);
            for id in ids {
                filling.measure(id, 0, Stage::First, &[("wall", 100.0)]);
            }
        }
        // Twice, so that the variation between experiments is known.
        for value in [100.0, 100.2] {
            let filling = Filling::begin_on("C", &store, &["head"], &["a", "b", "c", "d"]);
            for id in ["a", "b", "c", "d"] {
                filling.measure(id, 0, Stage::First, &[("wall", value)]);
            }
        }
        let options = DecisionOptions { ignore_environment: true, ..DecisionOptions::default() };
        let outcome = compared(&store, options, &["a", "b", "c", "d"]);
        let reasons = ["A", "B"].map(|cpu| format!("machine: CPU: {cpu}, not C"));
        let expected = Warning::DifferentConditions { reasons: reasons.into() };
        assert_eq!(outcome.warnings, [expected]);
    }

    #[test]
    fn unaffected_benchmark_is_not_reported_as_added() {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["other"]);
        store.record_unmeasured(filling.id, &benchmark("a"), SkipReason::Unaffected).unwrap();
        // Only the head knows it.
        let alone = Filling::begin(&store, &["head"], &["a"]);
        alone.measure("a", 0, Stage::First, &[("wall", 100.0)]);
        let outcome = compared(&store, DecisionOptions::default(), &["a"]);
        assert_eq!(
            outcome.rows,
            [DecidedRow::without_metric(&benchmark("a"), Verdict::Unaffected)]
        );
        assert_eq!((outcome.added, outcome.stored.len()), (vec![], 1));
    }

    #[test]
    fn preemption_is_reported_for_stored_results() {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["a"]);
        let preempted = |one: &mut Execution| one.resources.involuntary_switches = 1000;
        filling.measure("a", 0, Stage::First, &[("wall", 100.0)]);
        filling.measure_with(preempted, "a", 1, Stage::First, &[("wall", 100.0)]);
        let outcome = compared(&store, DecisionOptions::default(), &["a"]);
        let expected = Warning::Disturbance(Disturbance::Preempted { share: 0.5 });
        assert_eq!(outcome.warnings, [expected]);
    }
}
