//! One benchmark in the experiments of a store, judged version against version: by stages where two
//! were measured together, with the variance between sessions where they were not.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
};

use super::{
    Past,
    counted::{Linked, counted},
};
use crate::{
    failure::Result,
    model::{BenchTarget, Benchmark, BuildValues, Layout, Metric, Part, Relation, Stage},
    stats::{
        Criteria, Judged, Judgement, Measurements, Pairing, Repeat, SessionVariance, Summary,
        Verdict,
    },
    store::ExperimentId,
};

/// What the chosen experiments say about one benchmark.
pub struct BenchmarkPast<'p> {
    past: &'p Past<'p>,
    /// The benchmark.
    pub benchmark: Benchmark,
    /// What was measured.
    pub metric: Metric,
    values: BTreeMap<(ExperimentId, usize, Stage), BuildValues>,
    variance: RefCell<HashMap<usize, Option<SessionVariance>>>,
}

/// How stored results are judged.
#[derive(Clone, Copy)]
pub struct Judging<'c> {
    /// The criteria.
    pub criteria: &'c Criteria,
    /// Whether results of other machines and settings may be compared.
    pub allow_different: bool,
}

impl<'p> BenchmarkPast<'p> {
    pub(super) fn new(
        past: &'p Past<'p>,
        benchmark: &Benchmark,
        metric: Metric,
        values: BTreeMap<(ExperimentId, usize, Stage), BuildValues>,
    ) -> Self {
        let benchmark = benchmark.clone();
        Self { past, benchmark, metric, values, variance: RefCell::default() }
    }

    /// Those of the parts where this benchmark was measured; if there is none, those where it failed.
    pub fn among(&self, all: &[Part]) -> Result<Vec<Part>> {
        let (mut measured, mut failed) = (Vec::new(), Vec::new());
        for part in all {
            if self.past.failure(&self.benchmark, *part)?.is_some() {
                failed.push(*part);
            } else if self.values.contains_key(&self.key(*part, Stage::First)) {
                measured.push(*part);
            }
        }
        Ok(if measured.is_empty() { failed } else { measured })
    }

    /// The value of a version in an experiment, each program counted as one build.
    pub fn summary(&self, part: Part, criteria: &Criteria) -> Result<Option<Summary>> {
        let Some(values) = self.values.get(&self.key(part, Stage::First)) else { return Ok(None) };
        let builds = self.past.builds(part, &self.target())?;
        let [values] = counted([values.clone()], [&builds]);
        Ok(self.measurements(values).map(|data| Summary::of(&data, criteria.estimator)))
    }

    /// The judgement on how the head differs from the base, and the first stage of an experiment on both.
    pub fn judge(
        &self,
        relation: &Relation,
        judging: &Judging<'_>,
    ) -> Result<(Judgement, Option<Judged>)> {
        let [base, head] = relation.parts();
        for part in [base, head] {
            if let Some(reason) = self.past.failure(&self.benchmark, part)? {
                return Ok((Judgement::of(Verdict::Failed { reason }), None));
            }
        }
        if self.past.version(base).tree == self.past.version(head).tree
            || self.same_programs([base, head])?
        {
            return Ok((Judgement::of(Verdict::Identical), None));
        }
        match relation {
            Relation::Together(parts) => self.judge_together(*parts, judging.criteria),
            Relation::Unlike { reasons, .. } if !judging.allow_different => {
                let reason = format!("measured differently ({})", reasons.join("; "));
                Ok((Judgement::of(Verdict::NotComparable { reason }), None))
            }
            Relation::Apart(parts) | Relation::Unlike { parts, .. } => {
                Ok((self.judge_apart(*parts, judging.criteria)?, None))
            }
        }
    }

    /// By both stages, as when they were measured.
    fn judge_together(
        &self,
        parts: [Part; 2],
        criteria: &Criteria,
    ) -> Result<(Judgement, Option<Judged>)> {
        let builds = self.builds(parts)?;
        let layouts = builds.iter().flatten().map(|(_, layout, _)| *layout);
        let pairing = Pairing::of_layouts(layouts);
        let stage = |stage| {
            let values = parts.map(|part| self.values.get(&self.key(part, stage)).cloned());
            let [Some(base), Some(head)] = values else { return None };
            let [base, head] = counted([base, head], builds.each_ref().map(Vec::as_slice));
            let data = [self.measurements(base)?, self.measurements(head)?];
            Some(Judged::of(data.each_ref(), pairing, criteria))
        };
        let Some(first) = stage(Stage::First) else { return Ok((no_measurements(), None)) };
        let second = if first.needs_confirmation(criteria) { stage(Stage::Second) } else { None };
        let judged = match second {
            Some(_) => self.past.judged_in(parts[0].experiment, &parts.map(|part| part.version))?,
            None => 1,
        };
        let judgement = Judgement::by_stages(&first, second.as_ref(), judged, criteria);
        Ok((judgement, Some(first)))
    }

    /// With the variance between sessions, or not at all.
    fn judge_apart(&self, parts: [Part; 2], criteria: &Criteria) -> Result<Judgement> {
        let [base, head] = parts;
        let Some(sessions) = self.session_variance(head.experiment, criteria)? else {
            let reason = "measured in two experiments, and no commit was measured twice that would \
                          tell how much the machine varies between them";
            return Ok(Judgement::of(Verdict::NotComparable { reason: reason.to_owned() }));
        };
        let builds = self.builds(parts)?;
        let matched = |layout: &Layout| matches!(layout, Layout::Matched | Layout::Pin);
        let mut layouts = builds.iter().flatten().map(|(_, layout, _)| layout);
        let pairing = if builds.iter().all(|builds| !builds.is_empty()) && layouts.all(matched) {
            Pairing::BySeed
        } else {
            Pairing::Unpaired
        };
        let values = parts.map(|part| self.values.get(&self.key(part, Stage::First)).cloned());
        let [Some(one), Some(other)] = values else { return Ok(no_measurements()) };
        let values = counted([one, other], builds.each_ref().map(Vec::as_slice));
        let [Some(one), Some(other)] = values.map(|values| self.measurements(values)) else {
            return Ok(no_measurements());
        };
        let summaries = [one, other].map(|data| Summary::of(&data, criteria.estimator));
        let judged = self
            .past
            .judged_in(base.experiment, &[base.version])?
            .min(self.past.judged_in(head.experiment, &[head.version])?);
        let stored = Judged::across(summaries, pairing, &sessions, criteria);
        Ok(Judgement::by_sessions(stored, judged, criteria))
    }

    /// How much the benchmark varies between sessions like that of an experiment.
    pub fn session_variance(
        &self,
        like: usize,
        criteria: &Criteria,
    ) -> Result<Option<SessionVariance>> {
        let known = self.variance.borrow().get(&like).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let repeats = self.past.repeats(like);
        let wanted = repeats.iter().flatten().map(|part| part.experiment);
        let again = self.past.of_benchmark(&self.benchmark, wanted)?;
        let mut summaries = Vec::with_capacity(repeats.len());
        for group in repeats.iter() {
            let mut of_group = Vec::with_capacity(group.len());
            for part in group {
                let Some(again) = again.as_ref().filter(|again| again.metric == self.metric) else {
                    continue;
                };
                if let Some(summary) = again.summary(*part, criteria)? {
                    of_group.push((*part, summary));
                }
            }
            let parts: Vec<Part> = of_group.iter().map(|(part, _)| *part).collect();
            summaries.push((of_group, self.same_programs_by_seed(&parts)?));
        }
        let repeats: Vec<Repeat<'_>> = summaries
            .iter()
            .map(|(group, same_programs)| Repeat {
                sessions: group.iter().map(|(part, one)| (part.experiment, one)).collect(),
                same_programs: *same_programs,
            })
            .collect();
        let variance = SessionVariance::of(&repeats);
        self.variance.borrow_mut().insert(like, variance);
        Ok(variance)
    }

    fn key(&self, part: Part, stage: Stage) -> (ExperimentId, usize, Stage) {
        (self.past.told[part.experiment].id, part.version, stage)
    }

    fn target(&self) -> BenchTarget {
        let Benchmark { package, target, .. } = &self.benchmark;
        BenchTarget { package: package.clone(), target: target.clone() }
    }

    fn builds(&self, parts: [Part; 2]) -> Result<[Vec<Linked>; 2]> {
        let target = self.target();
        let [base, head] = parts.map(|part| self.past.builds(part, &target));
        Ok([base?, head?])
    }

    fn measurements(&self, values: BuildValues) -> Option<Measurements> {
        Measurements::new(self.metric.clone(), values).ok()
    }

    /// Whether both versions are the same programs: in all builds of the one that has fewer, since only
    /// one of them may have been measured again on fresh builds.
    fn same_programs(&self, parts: [Part; 2]) -> Result<bool> {
        let [base, head] = self.builds(parts)?;
        let (fewer, more) = if base.len() < head.len() { (base, head) } else { (head, base) };
        Ok(!fewer.is_empty() && fewer.iter().all(|build| more.contains(build)))
    }

    /// Whether builds of equal seeds are the same programs.
    fn same_programs_by_seed(&self, parts: &[Part]) -> Result<bool> {
        let mut programs = HashMap::new();
        for part in parts {
            for (seed, _, digest) in self.past.builds(*part, &self.target())? {
                if *programs.entry(seed).or_insert(digest) != digest {
                    return Ok(false);
                }
            }
        }
        Ok(!programs.is_empty())
    }
}

fn no_measurements() -> Judgement {
    Judgement::of(Verdict::Failed { reason: "it gave no measurements".to_owned() })
}
