//! Measurements of a diagnosis beyond the executions of an ordinary experiment: the length of a
//! measurement, measurements of more and more iterations, and a benchmark after others in one
//! process.

use std::time::Duration;

use rbench_stats::{Random, median};

use super::{
    Builds, ExperimentSettings, ListedTarget, ListedVersion, Runner, StartedExperiment,
    preloaded::alone,
    run::{Ended, Measuring},
    schedule::Step,
    subject::{BuiltProgram, Subject, outcome_of},
};
use crate::{
    builds::this_executable,
    config::SamplingConfigs,
    error::{Error, Exit, Result},
    harness::{Conditions, Executable, Harness, Native},
    model::{
        Benchmark, DiagnosisSettings, Execution, ExecutionRequest, HarnessKind, Mode, Name,
        Outcome, Stage, Unmeasured,
    },
};

/// The findings of one execution of a benchmark, from which the number of further executions is
/// chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    pub measurement: Duration,
    /// The time of a process outside its measurements.
    pub beyond: Duration,
    /// The iterations of a measurement, if the harness reports them.
    pub iterations: Option<u64>,
    pub harness: HarnessKind,
}

/// One benchmark of the only version, in all its builds.
#[derive(Clone, Copy)]
pub struct DiagnosedBenchmark<'b> {
    /// Only one.
    pub versions: &'b [ListedVersion],
    pub builds: &'b Builds,
    pub benchmark: &'b Benchmark,
}

/// Two experiments on one benchmark: in fresh processes, and in processes after others.
pub struct OrderEffectPair<'b> {
    /// The experiment in fresh processes.
    pub fresh: &'b StartedExperiment,
    /// The experiment after others.
    pub after: &'b StartedExperiment,
    /// The benchmarks that run before it.
    pub others: &'b [Name],
}

/// A control that runs beside a benchmark: its code is known to be steady, so that noise of the
/// machine shows.
pub struct ControlRun<'b> {
    pub experiment: &'b StartedExperiment,
    /// The length of its measurements: the same as of the benchmark's.
    pub measurement: Duration,
    executable: Executable,
}

impl<'b> ControlRun<'b> {
    /// The control for this experiment, which rbench itself executes.
    pub fn new(experiment: &'b StartedExperiment, measurement: Duration) -> Result<Self> {
        Ok(Self { experiment, measurement, executable: control()? })
    }

    fn execute(&self, request: &ExecutionRequest, conditions: &Conditions<'_>) -> Result<Outcome> {
        Native.execute(&self.executable, &Name::plain("control"), request, conditions)
    }
}

/// The benchmark `control` of this program.
pub(super) fn control() -> Result<Executable> {
    let path = this_executable()?;
    let directory = path.parent().unwrap_or(&path).to_owned();
    Ok(Executable { target: "control".to_owned(), directory, path, ..Executable::default() })
}

impl DiagnosedBenchmark<'_> {
    /// True if rbench can execute it after others in one process.
    pub fn can_execute_together(&self) -> bool {
        self.target().is_some_and(|target| target.harness.facts().executes_together)
    }

    fn target(&self) -> Option<&ListedTarget> {
        self.versions[0].target_of(self.benchmark)
    }
}

impl ExperimentSettings {
    /// The same settings for another part of a diagnosis, with this sampling.
    #[must_use]
    pub fn for_part(&self, diagnosis: DiagnosisSettings, efforts: SamplingConfigs) -> Self {
        Self { diagnosis: Some(diagnosis), efforts, mode: Mode::Sequential, ..self.clone() }
    }
}

impl Runner<'_> {
    /// Executes a benchmark once, with a few measurements.
    pub fn probe(
        &self,
        DiagnosedBenchmark { versions, builds, benchmark }: DiagnosedBenchmark<'_>,
    ) -> Result<Result<Probe, Unmeasured>> {
        /// Enough for a median.
        const FEW: usize = 5;
        let mut subject = self.subject(versions, builds, benchmark)?;
        let step = step(0, 0, 1);
        self.tune(&mut subject, &step)?;
        let request = ExecutionRequest { measurements: FEW, ..subject.request.clone() };
        let execution = match self.execute_once(&subject, &step, 0, &request)? {
            Ok(execution) => execution,
            Err(unmeasured) => return Ok(Err(unmeasured)),
        };
        let measured = execution.measured_time();
        let times = execution.series.first().into_iter().flat_map(|series| {
            let totals = series.values.iter().zip(&series.iterations);
            totals.map(|(value, iterations)| value * *iterations as f64 / 1e9)
        });
        // A single disturbed measurement must not decide.
        let typical = median(&mut times.collect::<Vec<f64>>());
        let typical = Duration::try_from_secs_f64(typical).unwrap_or(request.min_time);
        Ok(Ok(Probe {
            measurement: typical.max(request.min_time),
            beyond: execution.resources.wall.saturating_sub(measured),
            iterations: subject.request.iterations,
            harness: subject.versions[0].harness.kind(),
        }))
    }

    /// The benchmarks that precede this one in its bench target, and run before it where all run in
    /// one process.
    pub fn before_in_target(&self, one: DiagnosedBenchmark<'_>) -> Result<Vec<Name>> {
        let Some(target) = one.target() else { return Ok(Vec::new()) };
        let all = target.harness.list(&target.executable, &self.conditions)?;
        Ok(all.into_iter().take_while(|name| *name != one.benchmark.name).collect())
    }

    /// Measures a benchmark alone, and executes the control after every other execution of it.
    pub fn measure_beside(
        &self,
        experiment: &StartedExperiment,
        control: &ControlRun<'_>,
        DiagnosedBenchmark { versions, builds, benchmark }: DiagnosedBenchmark<'_>,
    ) -> Result<()> {
        let wanted = std::slice::from_ref(benchmark);
        let steps = self.steps(
            &experiment.identity,
            Stage::First.into(),
            versions,
            builds.seeds.len(),
            wanted,
        );
        let measuring = Measuring::alone(experiment, builds);
        let mut subject = self.subject(versions, builds, benchmark)?;
        self.expect_what_is_known(&mut subject, experiment, Stage::First, false)?;
        self.note_limits(std::slice::from_ref(&subject));
        let total = steps.len();
        let mut iterations = None;
        for (index, step) in steps.iter().enumerate() {
            self.observer.executed(index, total);
            if let Some(left) = measuring.left(&subject, step) {
                self.conditions.interrupt.stop_between_executions()?;
                if subject.request.iterations.is_none() {
                    self.tune(&mut subject, &left)?;
                }
                let ended = self.one_after_the_other(&measuring, &mut subject, &left)?;
                if !matches!(ended, Ended::Measured) {
                    break;
                }
            }
            let slot = measuring.slot(step, 0);
            if index % 2 == 1 || control.experiment.done.contains(&(benchmark.clone(), slot)) {
                continue;
            }
            self.conditions.interrupt.stop_between_executions()?;
            let request = ExecutionRequest {
                iterations,
                min_time: control.measurement,
                seed: step.initial_state,
                ..subject.request.clone()
            };
            let outcome = alone(
                self.uninterrupted.as_ref(),
                &control.executable,
                &self.conditions,
                |conditions| outcome_of(control.execute(&request, conditions)),
            )?;
            self.store.record_execution(
                control.experiment.id,
                benchmark,
                slot,
                outcome.as_ref(),
            )?;
            let series = outcome.ok().and_then(|execution| execution.series.into_iter().next());
            iterations = iterations.or_else(|| series?.same_iterations());
        }
        self.observer.executed(total, total);
        Ok(())
    }

    /// Measures with 1, 2, 4 iterations and so on, up to 2^`last`, each in several builds, in
    /// random order.
    pub fn measure_lengths(
        &self,
        experiment: &StartedExperiment,
        DiagnosedBenchmark { versions, builds, benchmark }: DiagnosedBenchmark<'_>,
        last: u32,
    ) -> Result<()> {
        let subject = self.subject(versions, builds, benchmark)?;
        let of_each = (self.settings.efforts.for_benchmark(benchmark).interim_analyses.most
            as usize)
            .min(builds.seeds.len());
        let mut steps: Vec<(u32, usize)> =
            (0..=last).flat_map(|power| (0..of_each).map(move |build| (power, build))).collect();
        let mut random = Random::new(self.settings.builds.seed);
        random.shuffle(&mut steps);
        let total = steps.len();
        for (done, (power, build)) in steps.into_iter().enumerate() {
            self.observer.executed(done, total);
            let slot = builds.slot(Stage::First, 0, build, power as usize);
            let initial_state = random.bits() >> 48;
            if experiment.done.contains(&(benchmark.clone(), slot)) {
                continue;
            }
            self.conditions.interrupt.stop_between_executions()?;
            let request = ExecutionRequest {
                iterations: Some(1 << power),
                seed: initial_state,
                ..subject.request.clone()
            };
            let step = step(build, power as usize, initial_state);
            let outcome = self.execute_once(&subject, &step, 0, &request)?;
            self.store.record_execution(experiment.id, benchmark, slot, outcome.as_ref())?;
            if outcome.is_err() {
                break;
            }
        }
        self.observer.executed(total, total);
        Ok(())
    }

    /// Measures a benchmark in a fresh process and in one process after others, in random order, in
    /// pairs with the same build and initial state. Stops when `budget` is spent, but not before
    /// `least` pairs, and at `most` pairs.
    pub fn measure_order_effect(
        &self,
        pair: &OrderEffectPair<'_>,
        DiagnosedBenchmark { versions, builds, benchmark }: DiagnosedBenchmark<'_>,
        (least, most, budget): (usize, usize, Duration),
    ) -> Result<Result<(), Unmeasured>> {
        let subject = self.subject(versions, builds, benchmark)?;
        let mut random = Random::stream(self.settings.builds.seed, pair.others.len() as u64);
        let mut spent = Duration::ZERO;
        let used = builds.seeds.len().max(1);
        for index in 0..most {
            self.observer.executed(index, most);
            let (build, round) = (index % used, index / used);
            let initial_state = random.bits() >> 48;
            let slot = builds.slot(Stage::First, 0, build, round);
            let mut both = [pair.fresh, pair.after];
            if random.chance(0.5) {
                both.reverse();
            }
            let is_done = |experiment: &&StartedExperiment| {
                experiment.done.contains(&(benchmark.clone(), slot))
            };
            // What was measured before an interruption costs no time.
            let is_measured = both.iter().all(is_done);
            if !is_measured && index >= least && spent >= budget {
                break;
            }
            for experiment in both.into_iter().filter(|experiment| !is_done(experiment)) {
                self.conditions.interrupt.stop_between_executions()?;
                let others = if experiment.id == pair.after.id { pair.others } else { &[] };
                let step = step(build, round, initial_state);
                let outcome = self.execute_after(others, &subject, &step)?;
                self.store.record_execution(experiment.id, benchmark, slot, outcome.as_ref())?;
                match outcome {
                    Ok(execution) => spent += execution.resources.wall,
                    Err(unmeasured) => return Ok(Err(unmeasured)),
                }
            }
        }
        self.observer.executed(most, most);
        Ok(Ok(()))
    }

    /// Executes a benchmark in one process after others. Iterations are found in that process.
    fn execute_after(
        &self,
        others: &[Name],
        subject: &Subject<'_>,
        step: &Step,
    ) -> Result<Result<Execution, Unmeasured>> {
        let request = ExecutionRequest {
            iterations: None,
            seed: step.initial_state,
            ..subject.request.clone()
        };
        let BuiltProgram { executable, home } = subject.build(0, step.build)?;
        self.build_env.activate(home)?;
        let harness: &dyn Harness = subject.versions[0].harness;
        let mut names = others.to_vec();
        names.push(subject.benchmark.name.clone());
        let conditions = Conditions { deadline: Some(self.deadline_of(&names)), ..self.conditions };
        alone(self.library_alone(&subject.versions[0]), executable, &conditions, |conditions| {
            outcome_of(match &names[..] {
                [only] => harness.execute(executable, only, &request, conditions),
                several => {
                    let results =
                        harness.execute_together(executable, several, &request, conditions);
                    results.and_then(|results| {
                        let none = || Error::new(Exit::Internal, "a process gave too few results");
                        results.into_iter().next_back().unwrap_or_else(|| Err(none()))
                    })
                }
            })
        })
    }

    /// Not much longer than the executions can take: one that hangs among others must not delay a
    /// diagnosis for minutes.
    fn deadline_of(&self, names: &[Name]) -> Duration {
        /// Share of each benchmark.
        const EACH: Duration = Duration::from_secs(10);
        let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let all = Duration::from_secs(20).saturating_add(EACH.saturating_mul(count));
        self.conditions.deadline.map_or(all, |asked| asked.max(all))
    }
}

/// A step with the only version.
fn step(build: usize, round: usize, initial_state: u64) -> Step {
    Step { round, build, benchmark: 0, versions: vec![0], initial_state }
}
