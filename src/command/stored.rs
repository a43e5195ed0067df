//! `cargo rbench compare --stored`: judges the stored results of two versions, without measuring.

use std::{collections::BTreeSet, path::Path};

use super::compare::parts;
use crate::{
    cli::CompareArgs,
    compare::{Acceptances, ComparedExperiment, Outcome, Warning, release},
    console::Console,
    failure::{Exit, Failure, Result},
    harness::Filter,
    judge::{Judge, JudgeOptions, JudgedRow, Relation, Results, VersionRef},
    machine::state,
    model::{Benchmark, Resources, Version},
    project::Project,
    report::quantity::count,
    settings::{Gate, VerdictSettings},
    shell::CommandLine,
    stats::Verdict,
    store::Store,
};

/// The comparison of what is stored.
pub fn compared(project: &Project, args: &CompareArgs, console: &Console) -> Result<Outcome> {
    let verdicts = VerdictSettings::resolve(&project.file, &args.verdict.criteria)?;
    let command_line = args.command_line();
    let versions = args.versions.resolve(
        |revision| project.repository.resolve(revision),
        |words| command_line.suggest("compare", words, &[]),
    )?;
    // What the file says is for those who measure: not every release is stored.
    let gate = Gate::resolve(&project.file, &args.gate).filter(|gate| !gate.is_of_file);
    let release = match &gate {
        Some(gate) => release::version(project, gate, versions.each_ref(), console)?,
        None => None,
    };
    let acceptances = Acceptances::read(project)?;
    let store = store(project, console, &*command_line)?;
    let benchmarks = benchmarks(&store, args, &*command_line)?;
    let comparisons = if release.is_some() { 2 } else { 1 };
    let verdicts = verdicts.shared_by(comparisons * parts(args));
    let compared = |verdicts: &VerdictSettings| {
        let results = finished(&store, verdicts.counts(), &benchmarks, &*command_line)?;
        let results = results.only_for(verdicts.metrics.first());
        results.check_metrics(&verdicts.metrics, &benchmarks)?;
        let stored =
            Stored { args, results: &results, benchmarks: &benchmarks, acceptances: &acceptances };
        let mut outcome = stored.compared(versions.clone(), verdicts)?;
        if let Some(release) = &release {
            let limit = gate.as_ref().and_then(|gate| gate.min_effect);
            let versions = [release.clone(), versions[1].clone()];
            outcome.also = Some(Box::new(stored.compared(versions, &verdicts.with_limit(limit))?));
        }
        Ok::<_, Failure>(outcome)
    };
    let kinds = verdicts.kinds();
    let (first, others) = kinds.split_first().unwrap_or((&verdicts, &[]));
    let mut all = compared(first)?;
    for kind in others {
        all.add_counts(compared(kind)?);
    }
    Ok(all)
}

/// What is stored of some benchmarks.
struct Stored<'s> {
    args: &'s CompareArgs,
    results: &'s Results<'s>,
    benchmarks: &'s [Benchmark],
    acceptances: &'s Acceptances<'s>,
}

impl Stored<'_> {
    /// The comparison of two versions.
    fn compared(&self, versions: [Version; 2], verdicts: &VerdictSettings) -> Result<Outcome> {
        let args = self.args;
        let (metrics, allow_different) = (verdicts.metrics.clone(), args.allow_different);
        let options = JudgeOptions { metrics, allow_different };
        let mut comparison =
            Comparison::new(self.results, versions, options, verdicts, &args.given)?;
        for benchmark in self.benchmarks {
            comparison.add(benchmark)?;
        }
        let mut outcome = comparison.finish();
        let compared = [&outcome.base, &outcome.head];
        self.acceptances.apply(&mut outcome.rows, compared, |one| verdicts.of(one))?;
        outcome.idle = self.acceptances.idle(&outcome.rows, compared, None)?;
        if outcome.is_empty() {
            let [base, head] = compared;
            let revisions = [&*base.to_type(), &head.to_type()];
            let measure = args.command_line().suggest("compare", &revisions, &[]);
            let what = format!("nothing is stored of these benchmarks of {base} and {head}");
            let hint = format!("measure them with: {measure}");
            return Err(Failure::new(Exit::Usage, what).hint(hint));
        }
        Ok(outcome)
    }
}

/// The store. That there is none is a failure with commands that are like the present one; none is made.
pub fn store<'a>(
    project: &Project,
    console: &'a Console,
    given: &dyn CommandLine,
) -> Result<Store<'a>> {
    let path = project.store();
    if path.exists() { Store::open(&path, console) } else { Err(nothing_stored(&path, given)) }
}

/// The results of these benchmarks in finished experiments that timed, or in those that counted. That there is none is
/// such a failure too.
pub fn finished<'s>(
    store: &'s Store<'s>,
    counts: bool,
    benchmarks: &[Benchmark],
    given: &dyn CommandLine,
) -> Result<Results<'s>> {
    let results = Results::finished_on(store, counts, benchmarks)?;
    match (results.experiments.len(), results.unfinished) {
        (0, 0) => Err(nothing_stored(store.path(), given)),
        (0, unfinished) => {
            let what = format!("no experiment has finished yet in {}", store.path().display());
            let shown = given.suggest("show", &[], &[]);
            Err(Failure::new(Exit::Usage, what)
                .because(format!("unfinished: {}", count(unfinished, "experiment")))
                .hint("rerun the interrupted command to resume")
                .hint(format!("show what there is with: {shown}")))
        }
        _ => Ok(results),
    }
}

/// The failure of finding no results at all.
pub fn nothing_stored(path: &Path, given: &dyn CommandLine) -> Failure {
    let run = given.suggest("run", &[], &[]);
    let compare = given.suggest("compare", &[], &[]);
    Failure::new(Exit::Usage, format!("no results are stored yet in {}", path.display()))
        .hint(format!("measure the latest commit with: {run}"))
        .hint(format!("or compare it with the one before: {compare}"))
}

/// The stored benchmarks that a filter chooses. A store without any is such a failure as having none.
pub fn chosen(
    store: &Store<'_>,
    filter: &Filter,
    given: &dyn CommandLine,
) -> Result<Vec<Benchmark>> {
    let all = store.benchmarks()?;
    if all.is_empty() { Err(nothing_stored(store.path(), given)) } else { filter.choose(all) }
}

/// The stored benchmarks that are meant.
fn benchmarks(
    store: &Store<'_>,
    args: &CompareArgs,
    given: &dyn CommandLine,
) -> Result<Vec<Benchmark>> {
    let experiment = &args.experiment;
    let target = &experiment.target;
    let filter =
        Filter::new(&experiment.patterns, experiment.exact, &target.package, &target.bench)
            .within(experiment.partition);
    let mut benchmarks = chosen(store, &filter, given)?;
    let is_meant =
        |one: &Benchmark| !target.exclude.contains(&one.package) && filter.has_in_part(one);
    benchmarks.retain(is_meant);
    Ok(benchmarks)
}

/// A comparison that goes on.
struct Comparison<'r> {
    results: &'r Results<'r>,
    judge: Judge<'r>,
    verdicts: &'r VerdictSettings,
    /// Where the files of base and head were measured.
    measured: [Vec<VersionRef>; 2],
    outcome: Outcome,
    /// The experiments that rows are from.
    used: BTreeSet<usize>,
    /// What the executions took that rows are from.
    resources: Vec<Resources>,
    /// How many benchmarks were judged across experiments, and how many could not be.
    across: usize,
    refused: usize,
    different: Vec<String>,
}

impl<'r> Comparison<'r> {
    fn new(
        results: &'r Results<'r>,
        versions: [Version; 2],
        options: JudgeOptions,
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
            judge: Judge::new(results, options),
            verdicts,
            measured,
            outcome: Outcome::new(versions, verdicts.criteria),
            used: BTreeSet::new(),
            resources: Vec::new(),
            across: 0,
            refused: 0,
            different: Vec::new(),
        })
    }

    fn add(&mut self, benchmark: &Benchmark) -> Result<()> {
        let experiments = self.measured.iter().flatten().map(|place| place.experiment);
        let of_benchmark = self.results.of_benchmark(benchmark, experiments)?;
        let [mut base, mut head] =
            self.measured.each_ref().map(|places| of_benchmark.among(places));
        // A benchmark that fails in one version is not executed in the other any more.
        if base.is_empty() {
            base = self.planned_with(&head, benchmark, &self.measured[0]);
        } else if head.is_empty() {
            head = self.planned_with(&base, benchmark, &self.measured[1]);
        }
        let [all_base, all_head] = &self.measured;
        let relation = of_benchmark.relation([all_base, all_head], [&base, &head])?;
        let Some(relation) = relation else {
            match (base.is_empty(), head.is_empty()) {
                (true, false) => self.outcome.added.push(benchmark.clone()),
                (false, true) => self.outcome.removed.push(benchmark.clone()),
                _ => {}
            }
            return Ok(());
        };
        let rows = self.judge.rows(&of_benchmark, &relation, &self.verdicts.of(benchmark))?;
        self.used.extend(relation.versions().map(|place| place.experiment));
        let stored = relation.versions().map(|place| of_benchmark.rows(place));
        let executions = stored.iter().flat_map(|rows| rows.iter());
        self.resources.extend(
            executions.filter_map(|row| Some(row.outcome.as_ref().ok()?.resources.clone())),
        );
        self.note(&relation, &rows);
        self.outcome.rows.extend(rows);
        Ok(())
    }

    /// Those of `places` in whose experiment the benchmark was to be measured, together with one of
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
    fn note(&mut self, relation: &Relation, rows: &[JudgedRow]) {
        let is_judged = rows.iter().any(|row| row.decisive().is_some());
        let is_refused =
            rows.iter().any(|row| matches!(row.verdict, Verdict::NotComparable { .. }));
        match relation {
            Relation::AcrossExperiments(_) if is_judged => self.across += 1,
            Relation::AcrossExperiments(_) if is_refused => self.refused += 1,
            Relation::Incomparable { reasons, .. } if is_judged => {
                for reason in reasons {
                    if !self.different.contains(reason) {
                        self.different.push(reason.clone());
                    }
                }
            }
            _ => {}
        }
    }

    fn finish(self) -> Outcome {
        let Self { results, mut outcome, used, resources, across, refused, different, .. } = self;
        // Of all that disturbed the measurements, this alone is stored.
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
        outcome.machine_state = (!states.is_empty()).then(|| states.join("; then "));
        outcome.stored = used
            .into_iter()
            .map(|stored| ComparedExperiment {
                identity: stored.identity.clone(),
                begun: stored.begun,
                dimensions: stored.plan.dimensions,
            })
            .collect();
        outcome
    }
}

/// The failure of finding results of a version, with commands that are like the present one.
pub fn not_stored(version: &Version, given: &dyn CommandLine) -> Failure {
    let measure = given.suggest("run", &[&version.to_type()], &[]);
    let list = given.suggest("history", &[], &[]);
    Failure::new(Exit::Usage, format!("no results are stored for {version}"))
        .hint(format!("measure it with: {measure}"))
        .hint(format!("list the stored results with: {list}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{CriteriaOptions, GivenOptions},
        judge::testing::{Filling, benchmark, version},
        machine::disturbance::Disturbance,
        model::{Execution, Sameness, Stage},
        settings::BenchToml,
    };

    /// What is said of `base` and `head` with these benchmarks, by what is stored.
    fn compared(store: &Store, options: JudgeOptions, ids: &[&str]) -> Outcome {
        let results = Results::new(store, store.experiments().unwrap());
        let verdicts =
            VerdictSettings::resolve(&BenchToml::default(), &CriteriaOptions::default()).unwrap();
        let versions = [version("base"), version("head")];
        let given = GivenOptions::default();
        let mut comparison =
            Comparison::new(&results, versions, options, &verdicts, &given).unwrap();
        for id in ids {
            comparison.add(&benchmark(id)).unwrap();
        }
        comparison.finish()
    }

    #[test]
    fn the_different_conditions_of_all_benchmarks_are_told_each_once() {
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
        let options = JudgeOptions { allow_different: true, ..JudgeOptions::default() };
        let outcome = compared(&store, options, &["a", "b", "c", "d"]);
        let reasons = ["A", "B"].map(|cpu| format!("machine: CPU: {cpu}, not C"));
        let expected = Warning::DifferentConditions { reasons: reasons.into() };
        assert_eq!(outcome.warnings, [expected]);
    }

    #[test]
    fn a_benchmark_that_was_not_measured_because_nothing_affects_it_is_no_new_one() {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["other"]);
        store.record_unmeasured(filling.id, &benchmark("a"), Sameness::Unaffected).unwrap();
        // It is known in the head alone.
        let alone = Filling::begin(&store, &["head"], &["a"]);
        alone.measure("a", 0, Stage::First, &[("wall", 100.0)]);
        let outcome = compared(&store, JudgeOptions::default(), &["a"]);
        assert_eq!(outcome.rows, [JudgedRow::of_benchmark(&benchmark("a"), Verdict::Unaffected)]);
        assert_eq!((outcome.added, outcome.stored.len()), (vec![], 1));
    }

    #[test]
    fn that_others_preempted_the_executions_is_told_as_when_they_were_measured() {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["a"]);
        let preempted = |one: &mut Execution| one.resources.involuntary_switches = 1000;
        filling.measure("a", 0, Stage::First, &[("wall", 100.0)]);
        filling.measure_with(preempted, "a", 1, Stage::First, &[("wall", 100.0)]);
        let outcome = compared(&store, JudgeOptions::default(), &["a"]);
        let expected = Warning::Disturbance(Disturbance::Preempted { share: 0.5 });
        assert_eq!(outcome.warnings, [expected]);
    }

    #[test]
    fn a_store_without_results_is_told_with_what_to_measure() {
        let directory = tempfile::tempdir().unwrap();
        let console = Console::attach();
        let store = Store::open(&directory.path().join("results.sqlite"), &console).unwrap();
        let failure = chosen(&store, &Filter::default(), &GivenOptions::default()).unwrap_err();
        assert!(failure.to_string().contains("no results are stored yet"), "{failure}");
    }
}
