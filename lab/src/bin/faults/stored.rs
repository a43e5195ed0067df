//! Checks the stored results of an experiment with faults.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
};

use cargo_rbench::{
    model::{LayoutSeed, Mode, Schedule, Stage, Unmeasured},
    store::{ExperimentId, Store, StoredExecution},
};

use crate::{
    kind::Fault,
    tally::{Finding, Wrong},
};

/// The faults of an experiment and the expected number of results.
pub struct Happened<'f> {
    pub faults: &'f [Fault; 2],
    /// True if they came only once.
    pub once: bool,
    /// The number of executions of each benchmark, if the experiment was completed.
    pub whole: Option<usize>,
}

impl Happened<'_> {
    pub fn check(
        &self,
        store: &Store<'_>,
        experiment: ExperimentId,
    ) -> Result<Vec<Finding>, Box<dyn Error>> {
        let mut found = Vec::new();
        for benchmark in store.benchmarks()? {
            let rows = store.rows(&benchmark, &[experiment])?;
            let name = benchmark.name.id.as_str();
            let wrong = if name == "good" { self.of_good(&rows) } else { self.of_bad(&rows) };
            found.extend(wrong.into_iter().map(|(wrong, what)| (wrong, format!("{name}: {what}"))));
        }
        Ok(found)
    }

    fn of_good(&self, rows: &[StoredExecution]) -> Vec<Finding> {
        let is_taken = |row: &StoredExecution| matches!(&row.outcome, Ok(one) if one.schedule.mode() == Mode::Interleaved);
        let mut found: Vec<Finding> = rows
            .iter()
            .filter(|row| !is_taken(row))
            .map(|row| (Wrong::Error, format!("{:?}", row.outcome)))
            .collect();
        found.extend(halves(rows));
        found.extend(self.missing(rows));
        found
    }

    fn of_bad(&self, rows: &[StoredExecution]) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut alone = BTreeSet::new();
        let mut taken = Vec::new();
        let mut failures = 0;
        for row in rows {
            let fault = self.faults[row.slot.version];
            match &row.outcome {
                Ok(execution) => match &execution.schedule {
                    Schedule::Interleaved(_)
                    | Schedule::InterleavedThreads(_)
                    | Schedule::InterleavedFreeThreads(_) => {
                        taken.push(row.clone());
                    }
                    Schedule::Unavailable(unavailable) => drop(alone.insert(unavailable.clone())),
                    Schedule::NotRequested => {
                        found.push((Wrong::Half, format!("not asked: {:?}", row.slot)));
                    }
                },
                Err(Unmeasured::Skipped(reason)) => found.push((Wrong::Error, reason.clone())),
                Err(Unmeasured::Failed(text)) => {
                    failures += 1;
                    if !fault.kind.failures.iter().any(|part| text.contains(part)) {
                        let of =
                            format!("experiment {}, version {}", row.experiment, row.slot.version);
                        found.push((Wrong::Error, format!("{of}: {text}")));
                    }
                }
            }
        }
        // A fault that comes once and not again makes the benchmark fail only interleaved.
        let fails = |fault: &Fault| !fault.kind.failures.is_empty();
        for unavailable in &alone {
            let is_expected =
                self.faults.iter().any(|fault| fault.kind.obstacles.contains(unavailable))
                    || (*unavailable
                        == cargo_rbench::model::InterleavingUnavailable::FailsInterleaved
                        && self
                            .faults
                            .iter()
                            .any(|fault| fails(fault) && (self.once || fault.kind.may_measure)));
            if !is_expected {
                found.push((Wrong::Error, format!("obstacle: {unavailable}")));
            }
        }
        if !alone.is_empty() && !taken.is_empty() {
            found.push((Wrong::Half, "some executions took turns, and some did not".to_owned()));
        }
        found.extend(halves(&taken));
        let must_fail = self.faults.iter().any(|fault| !fault.kind.may_measure) && !self.once;
        match failures {
            0 if must_fail && self.whole.is_some() => {
                found.push((Wrong::Error, "no failure is stored".to_owned()));
            }
            0 => found.extend(self.missing(rows)),
            _ => {}
        }
        found
    }

    fn missing(&self, rows: &[StoredExecution]) -> Option<Finding> {
        let whole = self.whole.filter(|whole| *whole != rows.len())?;
        Some((Wrong::Half, format!("{} of {whole} executions are stored", rows.len())))
    }
}

/// Interleaved executions without their counterpart in the other version.
fn halves(rows: &[StoredExecution]) -> Vec<Finding> {
    let mut places: BTreeMap<(Stage, u32, LayoutSeed), Vec<usize>> = BTreeMap::new();
    for row in rows {
        let place = (row.slot.stage, row.slot.round, row.slot.seed);
        places.entry(place).or_default().push(row.slot.version);
    }
    let halves = places.into_iter().filter(|(_, versions)| versions.len() != 2);
    halves.map(|(place, versions)| (Wrong::Half, format!("{place:?} of {versions:?}"))).collect()
}
