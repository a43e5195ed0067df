//! Suggests commands, each with its purpose.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rbench_stats::{Summary, diagnosis::two_groups};

use super::{
    ComparisonReport, is_compiled,
    notes::{has_metric, is_instructions, is_time},
};
use crate::{
    compare::{Outcome, Warning},
    model::{BenchTarget, Benchmark, Metric, Mode, Threads, Version, WITHOUT_ARGUMENTS},
    report::{document::Step, quantity, sentence::USELESS},
    verdict::{Advice, DecidedRow, Repetition, UnmeasuredIn, Verdict, VerdictKind},
};

/// The maximum number of commands in a report for a terminal.
const MOST_STEPS: usize = 3;

/// The maximum number of benchmarks named in a command; beyond it, the command is about all.
const MOST_NAMED: usize = 4;

impl ComparisonReport {
    /// The commands worth running next, the most useful first, and the one that accepts a slowdown
    /// last.
    pub(super) fn next_steps(&self) -> Vec<Step> {
        if self.outcome.only_compilations {
            // Nothing was measured that could be explained or accepted.
            let of_sizes = self.different_functions().filter(|_| !self.outcome.sizes.is_empty());
            return of_sizes.into_iter().chain(self.more_compilations()).collect();
        }
        // The first of these is the most useful after a regression; without one, more certainty is.
        let mut changed = self.explain().into_iter().chain(self.different_functions());
        let mut steps: Vec<Step> =
            self.with_arguments().into_iter().chain(self.failing_again()).collect();
        if !self.regressed().is_empty() {
            steps.extend(changed.next());
        }
        for what in [Repetition::Builds, Repetition::Executions] {
            let open = self.with_verdict(VerdictKind::Inconclusive).filter(|row| !is_compiled(row));
            let lacking = open.filter_map(|row| {
                let advice = row.advice.filter(|advice| advice.what == what)?;
                Some((row, advice))
            });
            let lacking = lacking.filter(|(_, advice)| !is_useless(*advice));
            let (enough, half): (Vec<_>, Vec<_>) =
                lacking.partition(|(row, advice)| self.is_enough(row, *advice));
            steps.extend([enough, half].iter().filter_map(|lacking| self.more(lacking)));
        }
        steps.extend(self.less_noise());
        steps.extend(self.more_compilations());
        steps.extend(changed.chain(self.examine()).chain(self.values()).chain(self.acceptable()));
        steps
    }

    /// The first of the commands, and the last if that accepts a slowdown; all if every verdict is
    /// explained.
    pub(super) fn few_steps(&self) -> Vec<Step> {
        let mut steps = if self.suggests { self.next_steps() } else { Vec::new() };
        if !self.explains_all && steps.len() > MOST_STEPS {
            let accept = if self.acceptable().is_some() { steps.pop() } else { None };
            steps.truncate(MOST_STEPS - usize::from(accept.is_some()));
            steps.extend(accept);
        }
        steps
    }

    /// The comparison of a program that failed without arguments, with some.
    fn with_arguments(&self) -> Option<Step> {
        let lacks = |row: &&DecidedRow| matches!(&row.verdict, Verdict::Failed { reason } if reason.contains(WITHOUT_ARGUMENTS));
        let row = self.with_verdict(VerdictKind::Failed).find(lacks)?;
        let command = format!("{} ARGUMENTS", row.benchmark.name.id);
        Some(Step {
            command: self.suggest_of_both("compare", &[("command", Some(&command))]),
            purpose: format!("give {} the arguments that it needs", self.name(row)),
        })
    }

    /// The command that executes a failed benchmark once, and prints all of its output.
    fn failing_again(&self) -> Option<Step> {
        let row = self.with_verdict(VerdictKind::Failed).find(|row| !is_compiled(row))?;
        let Outcome { base, head, .. } = &self.outcome;
        let version =
            if row.unmeasured_in == Some(UnmeasuredIn::Base) { base } else { head }.revision_arg();
        let mut options = vec![("exact", None)];
        options.extend(self.target_options(&row.benchmark));
        let id = &row.benchmark.name.id;
        Some(Step {
            command: self.command_line.suggest("exec", &[&version, id], &options),
            purpose: format!("show the output of {}", self.name(row)),
        })
    }

    /// The command that lists the functions that differ, if a benchmark changed.
    fn different_functions(&self) -> Option<Step> {
        let has_change =
            self.ordered().iter().any(|row| VerdictKind::new(&row.verdict).is_change());
        (has_change && !self.functions_are_equal()).then(|| Step {
            command: self.suggest_of_both("diff", &[]),
            purpose: "list the functions whose machine code differs".to_owned(),
        })
    }

    /// The command that shows every build of the largest regression, or else of an inconclusive
    /// benchmark.
    fn values(&self) -> Option<Step> {
        let is_open = |row: &&DecidedRow| {
            let kind = VerdictKind::new(&row.verdict);
            let is_open = matches!(kind, VerdictKind::Regressed | VerdictKind::Inconclusive);
            is_open && !is_compiled(row)
        };
        let rows = self.ordered();
        let row = rows.into_iter().find(is_open)?;
        let filter = ("filter", Some(row.benchmark.name.id.as_str()));
        let options: Vec<_> =
            [("exact", None), filter].into_iter().chain(self.metric_option(row)).collect();
        let head = self.outcome.head.revision_arg();
        Some(Step {
            command: self.command_line.suggest("history", &[&head], &options),
            purpose: format!("show the values of {} in every build", self.name(row)),
        })
    }

    /// The command that explains a slowdown by its functions, if functions that it is known to
    /// execute may account for it, and that was not done yet.
    fn explain(&self) -> Option<Step> {
        let explained = &self.outcome.time_explanations;
        let is_meant = |row: &&DecidedRow| {
            let can_be_counted = self.outcome.explainable.contains(&row.benchmark);
            let is_new = explained.iter().all(|one| one.benchmark != row.benchmark);
            row.impact.as_ref().is_some_and(|impact| !impact.functions.is_empty())
                && (has_metric(row, is_time) && is_new
                    || has_metric(row, is_instructions) && can_be_counted)
        };
        let row = self.regressed().into_iter().find(is_meant)?;
        let mut options = vec![("explain", Some(row.benchmark.name.id.as_str()))];
        let mut what = "take more time";
        if has_metric(row, is_instructions) {
            options.push(("by", Some("instructions")));
            what = "execute more instructions";
        }
        options.extend(self.target_options(&row.benchmark));
        let [base, head] = [&self.outcome.base, &self.outcome.head].map(Version::revision_arg);
        Some(Step {
            command: self.command_line.suggest("diff", &[&base, &head], &options),
            purpose: format!(
                "show which functions of {} {what}",
                self.names().name(&row.benchmark)
            ),
        })
    }

    /// The options that name the bench target of a benchmark, if another one has its name.
    fn target_options<'b>(&self, benchmark: &'b Benchmark) -> Vec<(&'static str, Option<&'b str>)> {
        let Benchmark { package, target, name } = benchmark;
        let mut rows = self.outcome.rows.iter();
        let has_namesake =
            rows.any(|other| other.benchmark.name.id == name.id && other.benchmark != *benchmark);
        // Another part may have a benchmark of this name, too.
        if has_namesake || self.outcome.partition.is_some() {
            vec![("package", Some(package)), ("bench", Some(target))]
        } else {
            Vec::new()
        }
    }

    /// The option that names the metric of a benchmark, if the given ones are of compilations, too: no other command takes
    /// these.
    fn metric_option<'r>(&self, row: &'r DecidedRow) -> Option<(&'static str, Option<&'r str>)> {
        let name = row.metric.as_ref()?.name.as_str();
        self.outcome.rows.iter().any(is_compiled).then_some(("metric", Some(name)))
    }

    /// The command that accepts a slowdown that may be intended, of the same work. Only a commit
    /// can be accepted.
    fn acceptable(&self) -> Option<Step> {
        let Outcome { base, head, .. } = &self.outcome;
        let is_by_commit = !head.dirty && base.variant == head.variant;
        let mut rows = self.regressed().into_iter().filter(|_| is_by_commit);
        let row = rows.find(|row| row.work.is_none() && !is_compiled(row))?;
        let head = head.revision_arg();
        let arguments = [head.as_str(), row.benchmark.name.id.as_str()];
        let reason: Vec<_> =
            std::iter::once(("reason", Some("WHY"))).chain(self.metric_option(row)).collect();
        let purpose = format!("accept an intended slowdown of {}", self.name(row));
        let purpose = if self.outcome.base_decides {
            // The entry names a commit that the target branch need not have yet.
            purpose
                + "; it counts once the base has it: commit it to the target branch, and merge that"
        } else {
            purpose
        };
        Some(Step { command: self.command_line.suggest("accept", &arguments, &reason), purpose })
    }

    /// The command that examines a benchmark whose builds fall into two groups, which no verdict
    /// shows.
    fn examine(&self) -> Option<Step> {
        let has_two = |row: &DecidedRow| {
            let stages = row.stages.iter().flat_map(|stage| &stage.summaries);
            let min_effect = self.min_effect_of(row);
            let mut builds = stages.map(|summary| {
                summary.builds().iter().map(|build| build.value).collect::<Vec<_>>()
            });
            builds.any(|values| two_groups(&values, min_effect).is_some())
        };
        let rows = self.ordered();
        let row = rows.iter().find(|row| !is_compiled(row) && has_two(row))?;
        let id = row.benchmark.name.id.as_str();
        let options = [("exact", None), ("filter", Some(id))];
        Some(Step {
            command: self.command_line.suggest(
                "diagnose",
                &[&self.outcome.head.revision_arg()],
                &options,
            ),
            purpose: format!("show why the builds of {} fall into two groups", self.name(row)),
        })
    }

    /// The command that finds the cause of noise that more builds do not overcome.
    fn less_noise(&self) -> Option<Step> {
        let open = self.with_verdict(VerdictKind::Inconclusive).filter(|row| !is_compiled(row));
        let mut noisy = open.filter(|row| row.advice.is_some_and(is_useless));
        let row = noisy.next()?;
        let disturbed = |warning: &Warning| matches!(warning, Warning::Disturbance(_));
        if self.outcome.warnings.iter().any(disturbed) {
            return Some(Step {
                command: self.command_line.suggest("doctor", &[], &[]),
                purpose: "find what makes the times of this machine vary".to_owned(),
            });
        }
        let options = [("exact", None), ("filter", Some(row.benchmark.name.id.as_str()))];
        let head = self.outcome.head.revision_arg();
        Some(Step {
            command: self.command_line.suggest("diagnose", &[&head], &options),
            purpose: format!("show why the times of {} vary so much", self.name(row)),
        })
    }

    /// The commands that decide on the time of compiling if that was too noisy: more compilations, and another metric.
    fn more_compilations(&self) -> Vec<Step> {
        let open = self.with_verdict(VerdictKind::Inconclusive);
        let open: Vec<&DecidedRow> =
            open.filter(|row| has_metric(row, Metric::is_compile_time)).collect();
        let mut steps = Vec::new();
        let advised = open.iter().filter_map(|row| Some((row, row.advice?)));
        let advised = advised.filter(|(_, advice)| !is_useless(*advice));
        if let Some((row, advice)) = advised.max_by_key(|(_, advice)| advice.number) {
            let metrics: Vec<&str> =
                open.iter().filter_map(|row| Some(&*row.metric.as_ref()?.name)).collect();
            let (metrics, number) = (metrics.join(","), advice.number.to_string());
            let options = [("metric", Some(&*metrics)), ("builds", Some(&*number))];
            let size = quantity::size(advice.smallest_reported);
            let time = compiling(row, advice.number)
                .map_or_else(String::new, |time| format!("; takes {}", quantity::about(time)));
            steps.push(Step {
                command: self.suggest_of_both("compare", &options),
                purpose: format!(
                    "detect a change of {size} in {metrics}, with 80 % probability{time}"
                ),
            });
        }
        let has_cpu = self
            .outcome
            .rows
            .iter()
            .any(|row| has_metric(row, |metric| *metric == Metric::compile_cpu()));
        if !open.is_empty() && !has_cpu {
            let cpu = Metric::compile_cpu().name;
            steps.push(Step {
                command: self.suggest_of_both("compare", &[("metric", Some(&cpu))]),
                purpose: "compare the CPU time of compiling, which other programs change less"
                    .to_owned(),
            });
        }
        if !open.is_empty() && steps.is_empty() {
            steps.push(Step {
                command: self.command_line.suggest("doctor", &[], &[]),
                purpose: "find what makes the times of this machine vary".to_owned(),
            });
        }
        steps
    }

    /// A command about both versions, as typed or by the first digits of full hashes.
    pub(super) fn suggest_of_both(
        &self,
        subcommand: &str,
        options: &[(&str, Option<&str>)],
    ) -> String {
        let [base, head] = [&self.outcome.base, &self.outcome.head].map(Version::revision_arg);
        self.command_line.suggest(subcommand, &[&base, &head], options)
    }

    fn name(&self, row: &DecidedRow) -> String {
        super::name(&self.names(), row)
    }

    /// True if hardly more than the smallest change of interest in this benchmark would be
    /// reported.
    fn is_enough(&self, row: &DecidedRow, advice: Advice) -> bool {
        advice.detects(self.min_effect_of(row))
    }

    /// The command for more builds or executions of the rows that need them: enough for all of them
    /// to show the smallest change of interest, or else half of what they show now.
    fn more(&self, lacking: &[(&DecidedRow, Advice)]) -> Option<Step> {
        let (_, most) = *lacking.iter().max_by_key(|(_, advice)| advice.number)?;
        let whom = match lacking {
            [(only, _)] => self.name(only),
            several => format!("{} inconclusive benchmarks", several.len()),
        };
        let is_enough = lacking.iter().all(|(row, advice)| self.is_enough(row, *advice));
        let purpose = if lacking.len() == 1 || is_enough {
            let sizes = lacking.iter().map(|(_, advice)| advice.smallest_reported);
            let size = quantity::size(sizes.fold(0.0, f64::max));
            format!("detect a change of {size} in {whom}, with 80 % probability")
        } else {
            format!("detect changes half as small in {whom}")
        };
        let mut ids: Vec<&str> = lacking.iter().map(|(row, _)| &*row.benchmark.name.id).collect();
        ids.dedup();
        let number = most.number.to_string();
        let flag = match most.what {
            Repetition::Builds => "builds",
            Repetition::Executions => "executions",
        };
        let mut options = Vec::new();
        let is_of_all = ids.len() > MOST_NAMED;
        if !is_of_all {
            options.push(("exact", None));
            options.extend(ids.into_iter().map(|id| ("filter", Some(id))));
        }
        options.push((flag, Some(number.as_str())));
        let executions = self.more_executions(lacking);
        // What more executions show is known for a fixed number of builds.
        let builds = numbers_of(lacking, |summary| summary.builds().len());
        let builds = builds.map(|most| most.to_string());
        match most.what {
            Repetition::Builds => {
                options.extend(executions.as_deref().map(|number| ("executions", Some(number))));
            }
            Repetition::Executions => {
                options.extend(builds.as_deref().map(|number| ("builds", Some(number))));
            }
        }
        let command = self.suggest_of_both("compare", &options);
        // Without their names, the command is about all benchmarks.
        let time = if is_of_all { None } else { self.time_of_more(lacking, most) };
        let time = time.map_or_else(String::new, |[first, second]| {
            let [first, second] = [first, second].map(quantity::about);
            format!("; takes {first}, and {second} more if fresh builds have to confirm a change")
        });
        Some(Step { command, purpose: purpose + &time })
    }

    /// The time of an experiment on these rows, as the present builds and executions took: of its first stage, to make the builds that
    /// are not there yet and to execute all, and of a second one with as many fresh builds. `None` if it is unknown.
    fn time_of_more(
        &self,
        lacking: &[(&DecidedRow, Advice)],
        most: Advice,
    ) -> Option<[Duration; 2]> {
        let mut pair_times = BTreeMap::new();
        for (row, advice) in lacking {
            // All metrics of a benchmark come from the same executions.
            pair_times.insert(&row.benchmark, advice.pair_time?);
        }
        let targets: BTreeSet<BenchTarget> =
            pair_times.keys().map(|benchmark| benchmark.bench_target()).collect();
        let number_of_builds = match most.what {
            Repetition::Builds => most.number,
            Repetition::Executions => numbers_of(lacking, |summary| summary.builds().len())?,
        };
        // Fresh builds have other layouts than those of a new first stage.
        let firsts = lacking.iter().filter_map(|(row, _)| row.stages.first());
        let present = firsts.map(|stage| stage.summaries[0].builds().len()).max()?;
        let executions = match most.what {
            Repetition::Builds => executions_of(lacking)?,
            Repetition::Executions => most.number,
        };
        let times = |time: Duration, number: usize| {
            time.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX))
        };
        let of_builds = self.outcome.build_times.iter().filter(|(one, _)| targets.contains(one));
        let building: Duration = of_builds.map(|(_, time)| *time).sum();
        let executing: Duration = pair_times.values().sum();
        // Programs have no wall time, and nothing runs beside them.
        let is_alone = |(row, _): &(&DecidedRow, Advice)| {
            row.metric != Some(Metric::wall())
                || row.interleaving.as_ref().is_none_or(|how| {
                    (how.mode, how.threads) != (Mode::Interleaved, Threads::Together)
                })
        };
        let at_once = match self.outcome.parallel? as usize {
            _ if lacking.iter().any(is_alone) => 1,
            parallel => parallel.clamp(1, pair_times.len().max(1)),
        };
        let executing = executing / u32::try_from(at_once).unwrap_or(1);
        let executing = times(executing, number_of_builds.saturating_mul(executions));
        let missing = number_of_builds.saturating_sub(present);
        Some(
            [missing, number_of_builds]
                .map(|number| times(building, number).saturating_add(executing)),
        )
    }

    /// The most executions of a build that one of these rows got, if these are more than planned: what more builds show is known
    /// for this number, and a fixed number of builds has as many executions as planned.
    fn more_executions(&self, lacking: &[(&DecidedRow, Advice)]) -> Option<String> {
        let most = executions_of(lacking)?;
        let stored = self.outcome.stored.iter();
        let planned = stored.map(|experiment| experiment.sample_sizes.executions).max()?;
        (most > planned).then(|| most.to_string())
    }
}

/// The largest of these numbers of the rows' deciding builds.
fn numbers_of(
    lacking: &[(&DecidedRow, Advice)],
    number: impl Fn(&Summary) -> usize,
) -> Option<usize> {
    let stages = lacking.iter().filter_map(|(row, _)| row.decisive());
    stages.flat_map(|stage| stage.summaries.iter().map(&number)).max()
}

/// The most executions that a build of these rows got.
fn executions_of(lacking: &[(&DecidedRow, Advice)]) -> Option<usize> {
    let most = |summary: &Summary| summary.builds().iter().map(|build| build.executions).max();
    numbers_of(lacking, |summary| most(summary).unwrap_or_default())
}

/// True if the advised experiment would still detect only changes so large that it is not worth its time.
fn is_useless(advice: Advice) -> bool {
    advice.smallest_reported > USELESS
}

/// The time of compiling both versions this often; `None` if the row does not have it.
fn compiling(row: &DecidedRow, times: usize) -> Option<Duration> {
    if !has_metric(row, |metric| *metric == Metric::compile_time()) {
        return None;
    }
    let summaries = row.stages.first()?.summaries.iter();
    let pair: f64 = summaries.map(|summary| summary.values().mean).sum();
    Duration::try_from_secs_f64(pair * times as f64 / 1e9).ok()
}
