//! Measures one benchmark for a diagnosis: its executions, measurements of other lengths, and executions after other
//! benchmarks in one process. The sample sizes are the largest that fit into the time.

use std::{slice::from_ref, time::Duration};

use rbench_stats::Criteria;

use super::evidence::{Evidence, OrderEffectSources, Source, Sources, not_after_others};
use crate::{
    cli::DiagnosisSampling,
    config::{Purpose, SamplingConfigs, SamplingOptions},
    console::{Console, announcement},
    error::Result,
    measure::{
        ControlRun, DiagnosedBenchmark, ExperimentSettings, OrderEffectPair, Probe, Runner,
        StartedExperiment,
    },
    model::{DiagnosisPart, DiagnosisSettings, InterimAnalyses, Name, Unmeasured},
    report::quantity::count,
};

/// The time for measurements of other lengths.
const LENGTHS_BUDGET: Duration = Duration::from_secs(4);
const AFTER_ALL_BUDGET: Duration = Duration::from_secs(8);
/// The time for executions after each of the others.
const AFTER_EACH_BUDGET: Duration = Duration::from_secs(6);
/// The number of measurements of each benchmark in a process with others.
const AFTER_MEASUREMENTS: u32 = 20;
/// The number of pairs for the effect of all others: the minimum, and the maximum of each build.
const PAIRS: (usize, u32) = (6, 2);
/// The number of pairs for the effect of one other benchmark.
const FEW_PAIRS: usize = 6;
/// The maximum number of other benchmarks to test alone, the nearest ones first.
const MOST_OTHERS: usize = 20;

/// The running diagnosis of one benchmark.
pub struct Measuring<'m, 'r> {
    pub runner: &'m mut Runner<'r>,
    pub settings: &'m ExperimentSettings,
    pub one: DiagnosedBenchmark<'m>,
    pub criteria: &'m Criteria,
    pub effort: &'m DiagnosisSampling,
    pub console: &'m Console,
    /// The started experiments. They are finished together, so that an interrupted diagnosis is resumed as a whole.
    pub begun: &'m mut Vec<StartedExperiment>,
}

impl Measuring<'_, '_> {
    pub fn measure(&mut self) -> Result<Result<Sources, Unmeasured>> {
        let candidates = candidates(self.effort.typed(), self.effort.long);
        let left = self.left_of(&candidates)?;
        self.set(DiagnosisPart::Executions, left.unwrap_or(candidates[0]));
        let probe = match self.runner.probe(self.one)? {
            Ok(probe) => probe,
            Err(unmeasured) => return Ok(Err(unmeasured)),
        };
        let effort = left.unwrap_or_else(|| chosen(&candidates, &probe, self.effort.long));
        self.set(DiagnosisPart::Executions, effort);
        let outline = self.runner.outline(self.one.versions, from_ref(self.one.benchmark));
        announcement::plan(self.console, &outline, false);
        let begun = self.begin()?;
        if begun.resumed() > 0 {
            announcement::resumed(self.console, &begun);
        }
        let (executions, control) = self.executions(begun, &probe, effort)?;
        let lengths = self.lengths(&probe, effort)?;
        let order_effect = self.order_effect(effort)?;
        Ok(Ok(Sources { executions, control: Some(control), lengths, order_effect }))
    }

    /// Measures the executions, interleaved with those of the control.
    fn executions(
        &mut self,
        begun: StartedExperiment,
        probe: &Probe,
        effort: SamplingOptions,
    ) -> Result<(Source, Source)> {
        self.set(DiagnosisPart::Control, effort);
        let control = self.begin()?;
        self.set(DiagnosisPart::Executions, effort);
        let beside = ControlRun::new(&control, probe.measurement)?;
        self.runner.measure_beside(&begun, &beside, self.one)?;
        let sources = (source(&begun), source(&control));
        self.begun.extend([begun, control]);
        Ok(sources)
    }

    /// The sample sizes of an interrupted diagnosis that can be resumed.
    fn left_of(&mut self, candidates: &[SamplingOptions]) -> Result<Option<SamplingOptions>> {
        for candidate in candidates {
            self.set(DiagnosisPart::Executions, *candidate);
            let plan = self.runner.plan_of(self.one.versions, from_ref(self.one.benchmark));
            if self.runner.store.find_unfinished(&plan)?.is_some() {
                return Ok(Some(*candidate));
            }
        }
        Ok(None)
    }

    /// Selects the part to measure, with these sample sizes.
    fn set(&mut self, part: DiagnosisPart, effort: SamplingOptions) {
        let (load, uninterrupted) = (self.effort.load, self.runner.leaves_out_interruptions());
        let diagnosis = DiagnosisSettings { part, load, uninterrupted };
        let efforts = SamplingConfigs::uniform(effort, Purpose::OneVersion);
        self.runner.measure_by(self.settings.for_part(diagnosis, efforts));
    }

    fn begin(&self) -> Result<StartedExperiment> {
        let DiagnosedBenchmark { versions, builds, benchmark } = self.one;
        self.runner.begin(versions, from_ref(benchmark), builds)
    }

    /// Measures 1, 2, 4 iterations and so on, up to four times the number in use.
    fn lengths(
        &mut self,
        probe: &Probe,
        effort: SamplingOptions,
    ) -> Result<Result<Source, String>> {
        /// The maximum and minimum number of measurements of each execution, and the executions of each length.
        const MOST: u32 = 30;
        const FEWEST: u32 = 5;
        const EACH: u32 = 3;
        let Some(in_use) = probe.iterations else {
            let reason = format!(
                "{} itself chooses the number of iterations of a measurement",
                probe.harness
            );
            return Ok(Err(reason));
        };
        let last = in_use.next_power_of_two().trailing_zeros().saturating_add(2).min(40);
        let each = probe.measurement.as_secs_f64() / in_use as f64;
        // The time of one measurement of every length.
        let one_of_each = f64::from(EACH) * each * 2_f64.powi(last.cast_signed() + 1);
        let affordable = LENGTHS_BUDGET.as_secs_f64() / one_of_each.max(1e-12);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let measurements = (affordable as u32).min(MOST);
        if measurements < FEWEST {
            let reason = "a single iteration takes so long that the clock's error does not matter";
            return Ok(Err(reason.to_owned()));
        }
        let effort = SamplingOptions {
            builds: effort.builds.map(|analyses| InterimAnalyses::fixed(analyses.most.min(EACH))),
            executions: Some(last + 1),
            measurements: Some(measurements),
            ..effort
        };
        self.set(DiagnosisPart::Lengths, effort);
        let begun = self.begin()?;
        self.console.line("measuring with more and more iterations");
        self.runner.measure_lengths(&begun, self.one, last)?;
        let source = source(&begun);
        self.begun.push(begun);
        Ok(Ok(source))
    }

    /// Measures the order effect: the benchmark in fresh processes and after all benchmarks before it. If they differ,
    /// also after each of these alone.
    fn order_effect(
        &mut self,
        effort: SamplingOptions,
    ) -> Result<Result<OrderEffectSources, String>> {
        let others = self.runner.before_in_target(self.one)?;
        if others.is_empty() {
            let reason = "it comes first in its bench target, so nothing runs before it there";
            return Ok(Err(reason.to_owned()));
        }
        if !self.one.can_execute_together() {
            let reason = "only Criterion.rs and rbench-harness execute several benchmarks in one process for rbench";
            return Ok(Err(reason.to_owned()));
        }
        let effort = SamplingOptions {
            executions: Some(PAIRS.1),
            measurements: Some(AFTER_MEASUREMENTS.min(effort.measurements.unwrap_or(1)).max(2)),
            ..effort
        };
        self.set(DiagnosisPart::OwnProcess, effort);
        let fresh = self.begin()?;
        self.console.line(&format!(
            "measuring in fresh processes, and after the benchmarks before it: {}",
            count(others.len(), "other")
        ));
        let most = self.one.builds.seeds.len() * PAIRS.1 as usize;
        let pairs = (PAIRS.0, most, AFTER_ALL_BUDGET);
        let after_all = self.after(&fresh, &others, effort, pairs)?;
        let mut after_each = Vec::new();
        let (benchmark, criteria) = (self.one.benchmark, self.criteria);
        let evidence = Evidence { store: &self.runner.store, benchmark, criteria };
        let fresh_source = source(&fresh);
        let matters = match &after_all {
            Ok(all) => evidence.has_order_effect(&fresh_source, all)?,
            Err(_) => false,
        };
        if matters && others.len() > 1 {
            let nearest = others.len().saturating_sub(MOST_OTHERS);
            let of_each = AFTER_EACH_BUDGET / u32::try_from(others.len() - nearest).unwrap_or(1);
            for other in &others[nearest..] {
                let other_alone = from_ref(other);
                let pairs = (2, FEW_PAIRS.min(most), of_each);
                if let Ok(after) = self.after(&fresh, other_alone, effort, pairs)? {
                    after_each.push((other.id.clone(), after));
                }
            }
        }
        self.begun.push(fresh);
        let ids = others.into_iter().map(|name| name.id).collect();
        Ok(after_all.map(|all| OrderEffectSources {
            fresh: fresh_source,
            after_all: (ids, all),
            after_each,
        }))
    }

    /// Measures pairs of a fresh process and a process that runs these others first.
    fn after(
        &mut self,
        fresh: &StartedExperiment,
        others: &[Name],
        effort: SamplingOptions,
        pairs: (usize, usize, Duration),
    ) -> Result<Result<Source, String>> {
        let ids = others.iter().map(|name| name.id.clone()).collect();
        self.set(DiagnosisPart::After { others: ids }, effort);
        let after = self.begin()?;
        let pair = OrderEffectPair { fresh, after: &after, others };
        let measured = self.runner.measure_order_effect(&pair, self.one, pairs)?;
        let source = source(&after);
        self.begun.push(after);
        Ok(measured.map(|()| source).map_err(|unmeasured| not_after_others(&unmeasured)))
    }
}

fn source(begun: &StartedExperiment) -> Source {
    Source { id: begun.id, identity: begun.identity.clone(), version: 0 }
}

/// The time for the executions of one benchmark, of about a minute for the whole diagnosis.
const BUDGET: Duration = Duration::from_secs(38);
const LONG_BUDGET: Duration = Duration::from_secs(420);

/// Numbers of builds, executions of each and measurements of each, from the most useful to the fewest.
///
/// Level shifts are only detectable in at least 200 measurements, so executions are reduced first.
const LADDER: [[u32; 3]; 11] = [
    [10, 10, 200],
    [10, 7, 200],
    [10, 5, 200],
    [10, 3, 200],
    [10, 2, 200],
    [10, 2, 100],
    [10, 2, 50],
    [10, 2, 20],
    [10, 2, 5],
    [5, 2, 5],
    [4, 2, 3],
];
const LONG_LADDER: [[u32; 3]; 3] = [[10, 10, 2000], [10, 10, 1000], [10, 10, 500]];

/// The default minimum duration of a measurement. It is short, so that a benchmark's first iterations are not averaged
/// away in the first measurement.
const MIN_TIME: Duration = Duration::from_millis(1);

/// The sample sizes to choose from, the largest first. Given options are part of each.
pub fn candidates(typed: SamplingOptions, long: bool) -> Vec<SamplingOptions> {
    let of = |[builds, executions, measurements]: &[u32; 3]| {
        typed.or_else(SamplingOptions {
            builds: Some(InterimAnalyses::fixed(*builds)),
            executions: Some(*executions),
            measurements: Some(*measurements),
            warm_up: Some(Duration::ZERO),
            min_time: Some(MIN_TIME),
            ..SamplingOptions::default()
        })
    };
    let ladder = LONG_LADDER.iter().filter(|_| long).chain(&LADDER);
    let mut all: Vec<SamplingOptions> = ladder.map(of).collect();
    all.dedup();
    all
}

/// Chooses the largest sample sizes that fit into the time, or the smallest.
pub fn chosen(candidates: &[SamplingOptions], probe: &Probe, long: bool) -> SamplingOptions {
    let budget = if long { LONG_BUDGET } else { BUDGET };
    let fits = |sampling: &&SamplingOptions| time(sampling, probe) <= budget;
    candidates.iter().find(fits).or(candidates.last()).copied().unwrap_or_default()
}

fn time(sampling: &SamplingOptions, probe: &Probe) -> Duration {
    let number = |number: Option<u32>| number.unwrap_or(1);
    let each = probe.measurement.saturating_mul(number(sampling.measurements));
    let executions = number(sampling.builds.map(|analyses| analyses.most))
        .saturating_mul(number(sampling.executions));
    let all = each.saturating_add(probe.beyond).saturating_mul(executions);
    // The control runs after every second execution.
    all.saturating_mul(3) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HarnessKind;

    fn chosen_for(milliseconds: u64, typed: SamplingOptions, long: bool) -> [u32; 3] {
        let probe = Probe {
            measurement: Duration::from_millis(milliseconds),
            beyond: Duration::from_millis(10),
            iterations: None,
            harness: HarnessKind::Native,
        };
        let sampling = chosen(&candidates(typed, long), &probe, long);
        [sampling.builds.map(|analyses| analyses.most), sampling.executions, sampling.measurements]
            .map(Option::unwrap)
    }

    #[test]
    fn slow_benchmarks_get_smaller_samples() {
        let none = SamplingOptions::default();
        assert_eq!(chosen_for(1, none, false), [10, 10, 200]);
        assert_eq!(chosen_for(2, none, false), [10, 5, 200]);
        assert_eq!(chosen_for(100, none, false), [10, 2, 5]);
        assert_eq!(chosen_for(1000, none, false), [4, 2, 3]);
        assert_eq!(chosen_for(1, none, true), [10, 10, 2000]);
        assert_eq!(chosen_for(2, none, true), [10, 10, 1000]);
    }

    #[test]
    fn given_sample_sizes_ignore_the_budget() {
        let typed = SamplingOptions {
            builds: Some(InterimAnalyses::fixed(3)),
            measurements: Some(700),
            ..SamplingOptions::default()
        };
        assert_eq!(chosen_for(1, typed, false), [3, 10, 700]);
        assert_eq!(chosen_for(1000, typed, false), [3, 2, 700]);
        let all = SamplingOptions { executions: Some(4), ..typed };
        assert_eq!(chosen_for(100_000, all, false), [3, 4, 700]);
        assert_eq!(candidates(all, false).len(), 1);
    }
}
