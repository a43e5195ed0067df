//! The plan of an experiment, for the user and for the store, and the seeds of its two stages.
//!
//! The layouts of the first stage follow from the seed in the settings and, where two versions are
//! compared, from their trees: the same comparison finds its builds again and can be resumed, and
//! another one has other layouts. If every comparison used the same five layouts, a change that
//! they hide would be hidden for ever, since only a change that they show is measured on fresh
//! builds. Single versions keep the layouts of the seed, so that they are the same throughout a
//! history. The layouts of the second stage are drawn anew in each experiment, for the same reason.

use std::time::Duration;

use rbench_code::impact::Needs;
use serde::Serialize;

use super::{ListedTarget, ListedVersion, Runner};
use crate::{
    config::{MeasurementSettings, SamplingConfig},
    harness::Harness,
    machine::this_machine,
    model::{
        Benchmark, CompileSettings, DiagnosisSettings, ExperimentPlan, InterimAnalyses, Layout,
        LayoutSeed, Mode, PlannedBenchmark, PlannedVersion, SampleSizes, Stage, Variant,
        derive_seed, first_stage_seed, secret::stored_cargo_args,
    },
    process::sandbox,
};

/// The time of an execution beyond its request and the start of its program: tuning, storing.
const BEYOND_REQUEST: Duration = Duration::from_millis(5);

/// The time that a tracer may add to the start of a program.
const TRACED_START: Duration = Duration::from_millis(500);

/// The outline of an experiment, to be shown before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    pub benchmarks: usize,
    /// The number of versions, and what they are called.
    pub versions: (usize, &'static str),
    /// l, m and n, the same for all benchmarks, or for all without own settings.
    pub dimensions: SampleSizes,
    pub with_own_numbers: usize,
    pub layout: Layout,
    /// The time of measuring: up to the first interim analysis of each benchmark.
    pub planned_time: Duration,
    /// True if it takes at least that. Iterations that last longer than the request, and set-ups, are timed under the
    /// tracer, which can make them longer than they are, as can other programs meanwhile.
    pub is_least: bool,
}

/// All settings that decide what is measured, and nothing else: results may be compared where these
/// are equal. Sample sizes and the speed of cargo's compilation are not among them.
#[derive(Serialize)]
struct Settings<'a> {
    layout: Layout,
    profile: &'a str,
    features: &'a [String],
    all_features: bool,
    no_default_features: bool,
    /// Left out where they are those that cargo selects in the directory of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    packages: Option<&'a str>,
    /// With hashes of the values of cargo's settings.
    cargo_args: Vec<String>,
    /// Variables that cargo and rustc read, with hashes of their values.
    environment: Vec<String>,
    /// A hash of cargo's config files outside of the repository, if they have settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<String>,
    /// The programs whose clock readings are their measurements, with what these mean.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clock: Vec<String>,
    /// The sandbox was on: each system call took about 10 ns longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sandbox: bool,
    /// The commands that prepare what benchmarks need.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    setup: Vec<String>,
    cpu: Option<usize>,
    /// Left out where it is one, and where executions run alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel: Option<u32>,
    /// Left out where executions run alone, as those of a single version do.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    /// Absent in comparisons, so that results of a diagnosis are never compared with theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnosis: Option<&'a DiagnosisSettings>,
    #[serde(flatten)]
    measurement: MeasurementSettings<'a>,
}

impl Runner<'_> {
    /// l, m and n of benchmarks without own settings.
    pub fn sample_sizes(&self) -> SampleSizes {
        self.settings.efforts.common().sample_sizes()
    }

    pub fn outline(&self, versions: &[ListedVersion], benchmarks: &[Benchmark]) -> Outline {
        let all: Vec<SamplingConfig> = benchmarks.iter().map(|one| self.sampling(one)).collect();
        // Programs have other numbers than benchmarks, and may be all that is measured.
        let are_equal = all.windows(2).all(|pair| pair[0] == pair[1]);
        let shared = all.first().filter(|_| are_equal).copied();
        let common = shared.unwrap_or_else(|| self.settings.efforts.common());
        let is_implementation = |version: &ListedVersion| {
            version.version.variant.as_ref().is_some_and(Variant::is_implementation)
        };
        Outline {
            benchmarks: benchmarks.len(),
            versions: (
                versions.len(),
                if versions.iter().all(is_implementation) { "implementation" } else { "version" },
            ),
            dimensions: common.sample_sizes(),
            with_own_numbers: all.iter().filter(|one| **one != common).count(),
            layout: self.settings.builds.layout,
            planned_time: self.planned_time(versions, benchmarks),
            is_least: !self.is_timed_by_traces(versions, benchmarks),
        }
    }

    /// The expected time of the executions of these benchmarks of all versions, up to the first
    /// interim analysis.
    pub(super) fn planned_time(
        &self,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
    ) -> Duration {
        let is_interleaved = self.settings.mode == Mode::Interleaved && versions.len() == 2;
        let of_one = |(version, benchmark): (&ListedVersion, &Benchmark)| {
            let sampling = self.sampling(benchmark);
            let facts = version.target_of(benchmark)?.harness.facts();
            let at_once =
                if is_interleaved && !facts.measures_process { self.settings.parallel } else { 1 };
            let each = self.execution_time(version, benchmark)?;
            let before = self.time_before(version, benchmark)?;
            let executions = sampling.interim_analyses.first.saturating_mul(sampling.executions);
            // The first executions of a benchmark start alone.
            let timed = each.saturating_sub(before) / at_once.max(1);
            Some(timed.saturating_add(before).saturating_mul(executions))
        };
        let all = versions.iter().flat_map(|one| benchmarks.iter().map(move |two| (one, two)));
        all.filter_map(of_one).fold(Duration::ZERO, Duration::saturating_add)
    }

    /// The expected time of one execution of a benchmark; `None` if the version does not have it.
    pub fn execution_time(
        &self,
        version: &ListedVersion,
        benchmark: &Benchmark,
    ) -> Option<Duration> {
        let harness = &version.target_of(benchmark)?.harness;
        let requested = harness.least_time(&self.sampling(benchmark).request());
        let iterated = self.iterated_time(benchmark, harness.as_ref());
        let before = self.time_before(version, benchmark)?;
        Some(requested.max(iterated).saturating_add(before).saturating_add(BEYOND_REQUEST))
    }

    /// The expected time of an execution before and between its measurements: the start of the program, as its listing
    /// took it, and the set-up of the benchmark, where its traces show it.
    fn time_before(&self, version: &ListedVersion, benchmark: &Benchmark) -> Option<Duration> {
        let ListedTarget { harness, start, .. } = version.target_of(benchmark)?;
        let sampling = self.sampling(benchmark);
        let measurements = harness.measurements(sampling.measurements);
        let set_up = |needs: Needs| {
            let traced = needs.set_up?.saturating_sub(start.saturating_add(TRACED_START));
            if !harness.facts().sets_up_each_measurement {
                return Some(traced);
            }
            // A warm-up doubles the iterations, each time with a set-up.
            let iteration = needs.iteration?.as_nanos().max(1);
            let warm_up = (sampling.warm_up.as_nanos() / iteration).max(1).ilog2() + 1;
            let [measured, traced_often] = [f64::from(measurements), needs.measurements as f64]
                .map(|measurements| measurements + f64::from(warm_up));
            let set_up = traced.as_secs_f64() * measured / traced_often;
            Duration::try_from_secs_f64(set_up).ok()
        };
        // Both versions prepare much the same, and another program may have delayed one of the traces.
        let set_up = self.needs(benchmark).into_iter().filter_map(set_up).min();
        Some(start.saturating_add(set_up.unwrap_or_default()))
    }

    /// The time of the iterations of an execution, if each measurement has only one.
    fn iterated_time(&self, benchmark: &Benchmark, harness: &dyn Harness) -> Duration {
        let iteration = self.iteration(benchmark).unwrap_or_default();
        iteration.saturating_mul(harness.measurements(self.sampling(benchmark).measurements))
    }

    /// True if the time of any benchmark is known from its traces: it takes longer than requested, or has a long set-up.
    fn is_timed_by_traces(&self, versions: &[ListedVersion], benchmarks: &[Benchmark]) -> bool {
        let is_traced = |(version, benchmark): (&ListedVersion, &Benchmark)| {
            version.target_of(benchmark).is_some_and(|target| {
                let requested = target.harness.least_time(&self.sampling(benchmark).request());
                self.iterated_time(benchmark, target.harness.as_ref()) > requested
                    || self.time_before(version, benchmark) > Some(target.start)
            })
        };
        versions.iter().any(|one| benchmarks.iter().any(|two| is_traced((one, two))))
    }

    /// The plan as it is stored: versions with their compilers, and planned benchmarks.
    pub fn plan(&self, versions: Vec<PlannedVersion>, benchmarks: &[Benchmark]) -> ExperimentPlan {
        let settings = self.settings_json();
        let planned = |benchmark: &Benchmark| PlannedBenchmark {
            benchmark: benchmark.clone(),
            sample_sizes: self.sampling(benchmark).sample_sizes(),
        };
        ExperimentPlan {
            seed: self.settings.builds.seed,
            versions,
            benchmarks: benchmarks.iter().map(planned).collect(),
            machine: this_machine().into(),
            rbench: env!("CARGO_PKG_VERSION").to_owned(),
            settings_key: blake3::hash(settings.as_bytes()).to_hex()[..32].into(),
            settings: settings.into(),
            sample_sizes: self.sample_sizes(),
        }
    }

    fn settings_json(&self) -> String {
        let builds = &self.settings.builds;
        let CompileSettings { profile, features, all_features, no_default_features, .. } =
            &builds.compile;
        serde_json::json!(Settings {
            layout: builds.layout,
            profile,
            features,
            all_features: *all_features,
            no_default_features: *no_default_features,
            packages: self.packages.as_deref(),
            cargo_args: stored_cargo_args(&builds.compile.cargo_args),
            environment: self.build_env.identifying_environment(),
            config: self.build_env.identifying_configs(),
            clock: self.project.file.clocks(),
            sandbox: sandbox::is_confined(),
            setup: self.project.file.setups().words(),
            cpu: self.settings.cpu,
            parallel: Some(self.settings.parallel)
                .filter(|parallel| *parallel > 1 && self.settings.mode == Mode::Interleaved),
            mode: Some(self.settings.mode).filter(|mode| *mode == Mode::Interleaved),
            diagnosis: self.settings.diagnosis.as_ref(),
            measurement: self.settings.efforts.measurement_settings(),
        })
        .to_string()
    }
}

impl Runner<'_> {
    /// The numbers of builds after which a benchmark gets a verdict.
    pub fn interim_analyses(&self, benchmark: &Benchmark) -> InterimAnalyses {
        self.sampling(benchmark).interim_analyses
    }

    /// The planned number of executions of each build, and the most times as many that it may have after the first analysis.
    pub fn executions(&self, benchmark: &Benchmark) -> (u32, u32) {
        let SamplingConfig { executions, most_repeats, .. } = self.sampling(benchmark);
        (executions, most_repeats)
    }

    /// The seed of the first stage of an experiment with these versions: its layouts and the order
    /// of its executions are drawn from it.
    pub(super) fn seed(&self, versions: &[ListedVersion]) -> u64 {
        let versions: Vec<String> =
            versions.iter().map(|listed| listed.version.identity()).collect();
        first_stage_seed(self.settings.builds.seed, &versions)
    }

    /// The layout seeds of the first stage: as many as any of these benchmarks has builds.
    pub fn first_seeds(
        &self,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
    ) -> Vec<LayoutSeed> {
        let most = benchmarks.iter().map(|benchmark| self.interim_analyses(benchmark).most);
        LayoutSeed::list(self.seed(versions), most.max().unwrap_or_default())
    }

    /// The layout seeds of the builds that every one of these benchmarks has at its first interim
    /// analysis.
    pub fn first_analysis_seeds(
        &self,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
    ) -> Vec<LayoutSeed> {
        let fewest = benchmarks.iter().map(|benchmark| self.interim_analyses(benchmark).first);
        LayoutSeed::list(self.seed(versions), fewest.min().unwrap_or_default())
    }

    /// `wanted` layout seeds for the second stage of an experiment, none of which is in the first
    /// stage.
    pub fn fresh_seeds(
        &self,
        identity: &str,
        first: &[LayoutSeed],
        wanted: usize,
    ) -> Vec<LayoutSeed> {
        // At most as many as the first stage has can occur again.
        let enough = u32::try_from(wanted.saturating_add(first.len())).unwrap_or(u32::MAX);
        let seed = stage_seed(self.settings.builds.seed, identity, Stage::Second);
        let mut seeds = LayoutSeed::list(seed, enough);
        seeds.retain(|seed| !first.contains(seed));
        seeds.truncate(wanted);
        seeds
    }
}

/// The seed from which the order of executions of a stage and, in the second stage, its layouts are
/// drawn: the seed of the experiment and, from the second stage on, its identity.
pub(super) fn stage_seed(seed: u64, identity: &str, stage: Stage) -> u64 {
    if stage == Stage::First {
        return seed;
    }
    derive_seed("cargo-rbench second stage v1", &[&seed.to_le_bytes(), identity.as_bytes()])
}

/// The pace of a stage's first executions, which corrects the plan: that knows neither all of the set-up of benchmarks nor
/// the times that they set themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    planned: Duration,
    all: Executed,
    /// Those that took nothing besides. The first ones of a benchmark may be tuned, and compared with executions alone.
    usual: Executed,
    is_known: bool,
}

/// A number of executions, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Executed {
    pub(super) count: usize,
    pub(super) took: Duration,
}

impl Executed {
    fn add(&mut self, more: Self) {
        self.count += more.count;
        self.took += more.took;
    }
}

impl Pace {
    pub(super) const fn new(planned: Duration) -> Self {
        let none = Executed { count: 0, took: Duration::ZERO };
        Self { planned, all: none, usual: none, is_known: false }
    }

    /// Adds executions that measured. Returns the time of all `total` executions at the pace of usual ones, once there
    /// are a few, if that is much longer than planned.
    pub(super) fn correct(
        &mut self,
        more: Executed,
        is_usual: bool,
        total: usize,
    ) -> Option<Duration> {
        /// Three pairs: one alone may be of an unusual benchmark.
        const FEW: usize = 6;
        /// From this number on, they are taken for usual.
        const MANY: usize = 24;
        /// Less is not worth a line.
        const NEWS: Duration = Duration::from_secs(20);
        self.all.add(more);
        if is_usual {
            self.usual.add(more);
        }
        let pace = if self.usual.count >= FEW { self.usual } else { self.all };
        let is_enough = self.usual.count >= FEW || self.all.count >= MANY;
        if self.is_known || !is_enough || self.all.count >= total {
            return None;
        }
        self.is_known = true;
        let left = (total - self.all.count) as f64 / pace.count as f64;
        let expected = self.all.took.saturating_add(pace.took.mul_f64(left));
        (expected > self.planned.saturating_mul(2).max(NEWS)).then_some(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executed(count: usize, seconds: u64) -> Executed {
        Executed { count, took: Duration::from_secs(seconds) }
    }

    #[test]
    fn pace_corrects_a_plan_once_that_was_far_too_short() {
        let seconds = Duration::from_secs;
        let mut pace = Pace::new(seconds(14));
        assert_eq!(pace.correct(executed(2, 8), true, 100), None);
        assert_eq!(pace.correct(executed(2, 10), true, 100), None);
        assert_eq!(pace.correct(executed(2, 9), true, 100), Some(seconds(450)));
        assert_eq!(pace.correct(executed(2, 90), true, 100), None);
        assert_eq!(Pace::new(seconds(300)).correct(executed(6, 27), true, 100), None);
        assert_eq!(Pace::new(seconds(1)).correct(executed(6, 6), true, 12), None);
        assert_eq!(Pace::new(seconds(1)).correct(executed(6, 60), true, 6), None);
    }

    #[test]
    fn pace_is_that_of_usual_executions() {
        let seconds = Duration::from_secs;
        let mut pace = Pace::new(seconds(3));
        assert_eq!(pace.correct(executed(6, 30), false, 100), None);
        assert_eq!(pace.correct(executed(6, 6), true, 100), Some(seconds(30 + 6 + 88)));
        let mut others = Pace::new(seconds(3));
        assert_eq!(others.correct(executed(22, 44), false, 100), None);
        assert_eq!(others.correct(executed(2, 4), false, 100), Some(seconds(200)));
    }

    #[test]
    fn second_stage_seed_depends_on_the_experiment() {
        let second = |identity| stage_seed(1, identity, Stage::Second);
        assert_eq!(stage_seed(1, "a", Stage::First), stage_seed(1, "b", Stage::First));
        assert_ne!(second("a"), second("b"));
        assert_ne!(second("a"), stage_seed(1, "a", Stage::First));
        assert_eq!(second("a"), second("a"), "an experiment that is resumed has the same");
    }
}
