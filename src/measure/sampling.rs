//! Executes both versions of a benchmark once more, interleaved as when they were measured, and samples where their time
//! goes. Nothing of it is stored: sampling takes time of its own, so these measurements decide nothing.

use std::{collections::HashMap, fs, ops::RangeInclusive, time::Duration};

use rbench_code::samples::{
    Code, CodeFiles, Frame, FunctionTable, SampledExecution, SampledStack, SampledState,
    SampledThread, TimeProfile, stretches_of_time,
};
use rbench_stats::{Moments, median, paired_ratio::towards_ratio};
use tracing::{debug, info_span};

use super::{
    ListedVersion, Runner,
    interleaving_support::{Both, Cpus, Sharing, both, others, panicked},
    preloaded::PreloadedLibrary,
    schedule::{ScheduleShape, Step, schedule},
    subject::{InVersion, Obstacle, Subject, outcome_of},
};
use crate::{
    error::{Error, Exit, Result},
    harness::Conditions,
    model::{
        Benchmark, Execution, ExecutionRequest, InterleavingUnavailable, LayoutSeed, Metric, Stage,
        Threads,
    },
    process::interleaving::{InterleavedProcess, MOST_READINGS, Sampled},
    store::ExperimentId,
};

/// The number of pairs of builds: each gives one difference of each function.
const PAIRS: u32 = 10;
/// The mean interval of samples. Each costs what it costs to interrupt another CPU, some 15 µs of a virtual machine.
const PERIOD: Duration = Duration::from_micros(480);
/// The time of measurements that each version has in a pair.
const MEASURED: Duration = Duration::from_millis(140);
/// The most executions of a version in a pair: harnesses that cannot measure for longer are executed again.
const MOST_EXECUTIONS: usize = 6;
/// The number of measurements of a version in a pair, on average, that are enough if others are not found.
const ENOUGH: usize = 20;
/// The largest file whose functions are read, in bytes.
const LARGEST_FILE: u64 = 1 << 31;

/// Where the time of a benchmark went in both versions.
pub struct TimeProfiles {
    /// The profiles of base and head.
    pub profiles: [TimeProfile; 2],
    /// By how much a sampled measurement took longer than one that was not, as a share; absent if that is not known.
    pub overhead: Option<f64>,
    /// True if both versions were interleaved.
    pub is_interleaved: bool,
}

/// A sampled execution with its measurements.
struct Sampling {
    execution: Execution,
    sampled: Sampled,
}

impl Runner<'_> {
    /// Samples a benchmark in both versions, in pairs of builds. What these experiments have found out about it, such as
    /// its threads, is known from the start.
    ///
    /// # Errors
    /// If the benchmark fails, is a static program, or measures itself by something else than the clock.
    pub fn time_profiles(
        &self,
        versions: &[ListedVersion; 2],
        benchmark: &Benchmark,
        experiments: &[ExperimentId],
    ) -> Result<TimeProfiles> {
        let _phase = info_span!("sample", %benchmark).entered();
        let support = self.version_support(&versions[1], "nothing can be sampled")?;
        let Some(support) = support else {
            return Err(cannot_sample(benchmark, "rbench's library cannot be preloaded here"));
        };
        let seeds = LayoutSeed::list(self.seed(versions), PAIRS);
        let builds = self.link(versions, std::slice::from_ref(benchmark), seeds)?;
        let mut subject = self.subject(versions, &builds, benchmark)?;
        let earlier = self.store.rows(benchmark, experiments)?;
        self.expect_as_earlier(&mut subject, &earlier, Stage::First, true);
        self.examine_outside(std::slice::from_mut(&mut subject), versions)?;
        self.separate(&mut subject);
        let shape = ScheduleShape {
            versions: versions.len(),
            benchmarks: 1,
            builds: builds.seeds.len(),
            executions: 1,
        };
        let steps = schedule(shape, self.seed(versions));
        let pairs = self.sampled_pairs(&support, &mut subject, &steps)?;
        profiles(benchmark, &subject, &steps, pairs)
    }

    /// The sampled executions of base and head in each step.
    fn sampled_pairs(
        &self,
        support: &PreloadedLibrary,
        subject: &mut Subject<'_>,
        steps: &[Step],
    ) -> Result<Vec<[Vec<Sampling>; 2]>> {
        let mut cpus = Cpus::with_library(Some(support));
        let (mut pairs, mut pair) = (Vec::new(), [const { Vec::new() }; 2]);
        while pairs.len() < steps.len() {
            let step = &steps[pairs.len()];
            self.conditions.interrupt.stop_between_executions()?;
            if subject.request.iterations.is_none() {
                self.tune(subject, step)?;
            }
            let request = longer(subject);
            let usual = std::mem::replace(&mut subject.request, request);
            // Nothing is preloaded into programs that are interleaved.
            let sampled = if subject.is_interleaved() && !subject.is_program() {
                self.sampled_interleaved(support, subject, step, &mut cpus)
            } else {
                self.sampled_alone(support, subject, step).map(Ok)
            };
            subject.request = usual;
            match sampled? {
                Ok(executions) => {
                    for (version, one) in step.versions.iter().zip(executions) {
                        pair[*version].push(one);
                    }
                }
                Err(obstacle) => {
                    subject.meet(obstacle);
                    pairs.clear();
                    pair = [const { Vec::new() }; 2];
                    continue;
                }
            }
            let of_base: &[Sampling] = &pair[0];
            let measured: Duration = of_base.iter().map(|one| one.execution.measured_time()).sum();
            if measured * 2 >= MEASURED || of_base.len() == MOST_EXECUTIONS {
                pairs.push(std::mem::take(&mut pair));
            }
        }
        Ok(pairs)
    }

    /// Executes both versions interleaved, in the order of the step.
    fn sampled_interleaved(
        &self,
        support: &PreloadedLibrary,
        subject: &Subject<'_>,
        step: &Step,
        cpus: &mut Cpus,
    ) -> Result<Result<Vec<Sampling>, Obstacle>> {
        let sharing = match subject.threads {
            Threads::Together => Sharing::Cpu(cpus.take()),
            threads => Sharing::Cpus(threads),
        };
        let placed = [(subject, step, sharing)];
        let attempts = self.execute_interleaved(Some(support), &placed, Some(PERIOD))?;
        let mut attempts = attempts.into_iter().next().unwrap_or_else(|| Err(panicked()))?;
        let sampled = attempts.each_mut().map(|attempt| attempt.sampled.take());
        match both(attempts)? {
            Both::Measured(executions) => {
                let both = executions.into_iter().zip(sampled);
                let samplings = both.map(|(execution, sampled)| {
                    Ok(Sampling { execution, sampled: sampled.ok_or_else(panicked)? })
                });
                samplings.collect::<Result<_>>().map(Ok)
            }
            Both::Obstacle(obstacle) => Ok(Err(obstacle)),
            // Alone, it succeeds or says why not.
            Both::Failed(_) => {
                Ok(Err(Obstacle::Unavailable(InterleavingUnavailable::FailsInterleaved)))
            }
            Both::Skipped(_, skipped) => {
                Err(cannot_sample(&subject.benchmark, &skipped.to_string()))
            }
        }
    }

    /// Executes both versions one after the other, in the order of the step.
    fn sampled_alone(
        &self,
        support: &PreloadedLibrary,
        subject: &Subject<'_>,
        step: &Step,
    ) -> Result<Vec<Sampling>> {
        let execute = |&version: &usize| -> Result<Sampling> {
            let built = subject.build(version, step.build)?;
            self.build_env.activate(&built.home)?;
            let directory = &built.executable.directory;
            let member = InterleavedProcess::alone(&support.path, &support.cpus, directory)?;
            let conditions = Conditions { member: Some(&member), ..self.conditions };
            let request = ExecutionRequest { seed: step.initial_state, ..subject.request.clone() };
            let harness = subject.versions[version].harness;
            let name = &subject.benchmark.name;
            let execute = || harness.execute(&built.executable, name, &request, &conditions);
            let outcome = member.page.sampled_while(
                PERIOD,
                &others(&support.cpus, conditions.cpu),
                execute,
            )?;
            let outcome = outcome_of(outcome)?;
            // Without it, a harness may miss its clock readings.
            if !member.taken()?.joined {
                let why = "it is linked statically, or starts other programs that do the work: rbench's library was not \
                           loaded into it";
                return Err(cannot_sample(&subject.benchmark, why));
            }
            let execution =
                outcome.map_err(|why| cannot_sample(&subject.benchmark, &why.to_string()))?;
            Ok(Sampling { execution, sampled: member.sampled()? })
        };
        step.versions.iter().map(execute).collect()
    }
}

/// The request of an execution that measures for as long as a profile needs.
fn longer(subject: &Subject<'_>) -> ExecutionRequest {
    let request = subject.request.clone();
    let usual = request.measuring_time().as_nanos().max(1);
    let factor = usize::try_from(MEASURED.as_nanos().div_ceil(usual)).unwrap_or(usize::MAX);
    // Each measurement has two readings of the clock or more.
    let wanted = request.measurements.saturating_mul(factor).min(MOST_READINGS / 4);
    let is_limited = |version: &InVersion<'_>| {
        version.harness.measurement_limit(wanted, subject.is_interleaved()).is_some()
    };
    let is_limited = subject.versions.iter().any(is_limited);
    let measurements = if is_limited { request.measurements } else { wanted };
    ExecutionRequest { measurements, ..request }
}

fn cannot_sample(benchmark: &Benchmark, why: &str) -> Error {
    let what = format!("where the time of {benchmark} goes cannot be sampled");
    Error::new(Exit::Benchmark, what).cause(why.to_owned())
}

/// The bytes of a regular file of a usual size.
fn read(path: &str) -> Option<Vec<u8>> {
    let kind = fs::metadata(path).ok()?;
    (kind.is_file() && kind.len() <= LARGEST_FILE).then(|| fs::read(path).ok()).flatten()
}

/// The profiles of base and head.
fn profiles(
    benchmark: &Benchmark,
    subject: &Subject<'_>,
    steps: &[Step],
    pairs: Vec<[Vec<Sampling>; 2]>,
) -> Result<TimeProfiles> {
    let mut tables = [FunctionTable::default(), FunctionTable::default()];
    let mut versions = [TimeProfile::default(), TimeProfile::default()];
    let (mut slower, mut values) = (Vec::new(), Vec::new());
    // The CPU time of a program that computes alone decides it, too.
    let program = subject
        .is_program()
        .then(|| if subject.is_interleaved() { Metric::cpu() } else { Metric::wall() });
    for (step, pair) in steps.iter().zip(pairs) {
        let measured = pair.each_ref().map(|all| {
            all.iter().map(|one| Measured::of(one, program.as_ref())).collect::<Vec<_>>()
        });
        values.extend(measured.iter().flatten().flat_map(|one| one.values.iter().copied()));
        slower.extend(measured.iter().filter_map(|one| overhead(one)));
        let times = times(&measured);
        debug!(build = step.build, ?times, "sampled {benchmark}");
        for (version, all) in pair.into_iter().enumerate() {
            let program = &subject.build(version, step.build)?.executable.path;
            let program = fs::canonicalize(program).unwrap_or_else(|_| program.clone());
            let (program, table) = (program.to_string_lossy(), &mut tables[version]);
            let stacks = stacks(&all, &measured[version], &program, table);
            versions[version].executions.push(SampledExecution { time: times[version], ..stacks });
        }
    }
    let (found, wanted) = (values.iter().flatten().count(), values.len());
    debug!(found, wanted, "{benchmark}: measurements found among clock readings");
    // The first readings may be lost, and more than a few are not found by chance.
    if found < (wanted / 2).min(ENOUGH * 2 * steps.len()) {
        let why = "its measurements are not found among its readings of the clock";
        return Err(cannot_sample(benchmark, why));
    }
    for (profile, table) in versions.iter_mut().zip(tables) {
        profile.functions = table.into_functions();
    }
    // Means of single executions may be disturbed.
    let overhead = (!slower.is_empty()).then(|| median(&mut slower));
    let is_interleaved = subject.is_interleaved() && !subject.is_program();
    Ok(TimeProfiles { profiles: versions, overhead, is_interleaved })
}

/// The measurements of an execution.
struct Measured {
    /// For each: the time of an iteration in ns, and whether it was sampled; absent if it was not found among the readings.
    values: Vec<Option<(f64, bool)>>,
    /// The numbers of readings up to samples of its sampled measurements.
    counts: Vec<RangeInclusive<u64>>,
}

impl Measured {
    /// Of a whole program, all that it does is measured, by this metric.
    fn of(Sampling { execution, sampled }: &Sampling, program: Option<&Metric>) -> Self {
        if let Some(metric) = program {
            let value = execution.median_of(metric).map(|value| (value, true));
            return Self { values: vec![value], counts: vec![0..=u64::MAX] };
        }
        let (first, readings) = &sampled.readings;
        let series = execution.series.iter().find(|one| one.metric == Metric::wall());
        let (values, iterations) =
            series.map_or((&[][..], &[][..]), |series| (&*series.values, &*series.iterations));
        let lengths: Vec<f64> = values
            .iter()
            .zip(iterations.iter().chain(std::iter::repeat(&1)))
            .map(|(value, iterations)| value * *iterations as f64)
            .collect();
        let mut counts = Vec::new();
        let mut found = |value: f64, stretches: Vec<RangeInclusive<usize>>| {
            let spans: Vec<RangeInclusive<u64>> = stretches
                .iter()
                .map(|one| first + *one.start() as u64 + 1..=first + *one.end() as u64)
                .collect();
            let is_sampled =
                is_sampled(&sampled.slices, *spans.first()?.start(), *spans.last()?.end());
            counts.extend(spans.into_iter().filter(|_| is_sampled));
            Some((value, is_sampled))
        };
        let values = values.iter().zip(stretches_of_time(readings, &lengths));
        let values = values.map(|(value, stretches)| found(*value, stretches)).collect();
        Self { values, counts }
    }
}

/// The logarithm of the ratio of sampled to other measurements: of their means, because a short measurement has one sample or
/// none, and their median would be that of one with a sample, however many have none.
fn overhead(measured: &[Measured]) -> Option<f64> {
    let mean = |sampled: bool| {
        let values = measured.iter().flat_map(|one| &one.values).flatten();
        let values = values.filter(|(_, is)| *is == sampled).map(|(value, _)| *value);
        Moments::compute(&values.collect::<Vec<f64>>()).mean
    };
    Some((mean(true) / mean(false)).ln()).filter(|overhead| overhead.is_finite())
}

/// True if every slice from the reading before `from` up to `to` was sampled.
fn is_sampled(slices: &[(u64, bool)], from: u64, to: u64) -> bool {
    // A slice begins before the reading of its number.
    let first = slices.partition_point(|(readings, _)| *readings < from);
    let last = slices.partition_point(|(readings, _)| *readings < to);
    slices[first.saturating_sub(1)..last].iter().all(|(_, is_sampled)| *is_sampled) && last > 0
}

/// The fewest measurements without samples from which the time of an iteration is taken.
const UNSAMPLED: usize = 20;

/// The times of an iteration in base and head in ns: of measurements that were sampled in neither, which sampling does not
/// prolong. If there are too few, of all that were found.
fn times([base, head]: &[Vec<Measured>; 2]) -> [f64; 2] {
    let executions = base.iter().zip(head);
    let both = executions.flat_map(|(base, head)| base.values.iter().zip(&head.values));
    let all: Vec<[(f64, bool); 2]> =
        both.filter_map(|(base, head)| Some([(*base)?, (*head)?])).collect();
    let is_unsampled = |both: &[(f64, bool); 2]| both.iter().all(|(_, is_sampled)| !is_sampled);
    let unsampled: Vec<_> = all.iter().copied().filter(is_unsampled).collect();
    let used = if unsampled.len() < UNSAMPLED { all } else { unsampled };
    let [base, head] = [0, 1].map(|at| used.iter().map(|both| both[at].0).collect::<Vec<f64>>());
    let time =
        |own: &[f64], partner: &[f64]| median(&mut own.to_vec()) * towards_ratio(own, partner);
    [time(&base, &head), time(&head, &base)]
}

/// The stacks of sampled measurements.
fn stacks(
    all: &[Sampling],
    measured: &[Measured],
    program: &str,
    table: &mut FunctionTable,
) -> SampledExecution {
    // Each build has its own program.
    let mut files = CodeFiles::default();
    let mut counted: HashMap<(Vec<Frame>, SampledThread, SampledState), u64> = HashMap::new();
    let mut found = SampledExecution::default();
    for (Sampling { sampled, .. }, Measured { counts, .. }) in all.iter().zip(measured) {
        let mut code = Code::new(&sampled.mapped, program, &mut files, table, read);
        found.dropped += sampled.dropped;
        for sample in &sampled.samples {
            let behind = counts.partition_point(|span| *span.end() < sample.readings);
            if !counts.get(behind).is_some_and(|span| span.contains(&sample.readings)) {
                continue;
            }
            let (frames, is_whole) = code.frames(&sample.interrupted);
            found.cut += u64::from(!is_whole || sample.may_be_cut && frames.len() < 2);
            *counted.entry((frames, sample.thread, sample.state)).or_default() += 1;
        }
    }
    let one = |((frames, thread, state), samples)| SampledStack { frames, thread, state, samples };
    found.stacks = counted.into_iter().map(one).collect();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_is_that_of_measurements_with_and_without_a_sample() {
        // Each sample takes a tenth of a measurement, and three of five sampled measurements have one.
        let sampled = [110.0, 100.0, 110.0, 100.0, 110.0].map(|value| Some((value, true)));
        let others = [100.0; 4].map(|value| Some((value, false)));
        let values = [&sampled[..], &others, &[None]].concat();
        let found = overhead(&[Measured { values, counts: Vec::new() }]).unwrap();
        assert!((found.exp() - 1.06).abs() < 1e-9, "{found}");
        let values = sampled.to_vec();
        assert_eq!(overhead(&[Measured { values, counts: Vec::new() }]), None);
    }
}
