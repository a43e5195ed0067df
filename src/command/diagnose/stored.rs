//! Finds the stored experiments for a diagnosis that measures nothing (`--from-stored`).

use super::evidence::{OrderEffectSources, Source, Sources};
use crate::{
    error::Result,
    model::{Benchmark, DiagnosisPart, DiagnosisSettings, Version},
    store::{Store, StoredExperiment},
};

/// The stored experiments of one benchmark.
pub struct Stored {
    /// The experiments for each part.
    pub sources: Sources,
    /// The number of busy processes that ran at the same time.
    pub load: u32,
    /// Notes for the report.
    pub notes: Vec<String>,
    /// The newest experiment.
    pub newest: StoredExperiment,
}

/// Returns the newest diagnosis of a benchmark in a version, or else the newest experiment that measured it.
pub fn find(
    store: &Store<'_>,
    experiments: &[StoredExperiment],
    version: &Version,
    benchmark: &Benchmark,
) -> Result<Option<Stored>> {
    let executed = store.experiments_with(benchmark)?;
    let mut all: Vec<(&StoredExperiment, usize)> = Vec::new();
    for stored in experiments.iter().rev().filter(|stored| executed.contains(&stored.id)) {
        let mut versions = stored.plan.versions.iter();
        let place = versions.position(|planned| planned.version.key() == version.key());
        all.extend(place.map(|place| (stored, place)));
    }
    Ok(diagnosis(&all).or_else(|| comparison(&all)))
}

/// The experiments of the newest diagnosis, all with the same load. `all` has the newest first.
fn diagnosis(all: &[(&StoredExperiment, usize)]) -> Option<Stored> {
    let part_of = |stored: &StoredExperiment| stored.plan.diagnosis();
    let (newest, place) = newest(all, |stored| {
        matches!(part_of(stored), Some(DiagnosisSettings { part: DiagnosisPart::Executions, .. }))
    })?;
    let load = part_of(newest)?.load;
    let of_load = |stored: &StoredExperiment| {
        part_of(stored).filter(|diagnosis| diagnosis.load == load).map(|diagnosis| diagnosis.part)
    };
    let (mut lengths, mut control, mut fresh) = (None, None, None);
    let (mut after_all, mut after_each) = (None::<(Vec<String>, Source)>, Vec::new());
    for (stored, place) in all.iter().filter(|(stored, _)| stored.begun >= newest.begun) {
        let found = source(stored, *place);
        match of_load(stored) {
            Some(DiagnosisPart::Control) => control = Some(found),
            Some(DiagnosisPart::Lengths) => lengths = Some(found),
            Some(DiagnosisPart::OwnProcess) => fresh = Some(found),
            Some(DiagnosisPart::After { others }) => {
                if let [other] = &others[..] {
                    after_each.push((other.clone(), found.clone()));
                }
                if after_all.as_ref().is_none_or(|(ids, _)| ids.len() < others.len()) {
                    after_all = Some((others, found));
                }
            }
            Some(DiagnosisPart::Executions) | None => {}
        }
    }
    let order_effect = match fresh.zip(after_all) {
        Some((fresh, after_all)) => {
            after_each.retain(|(_, source)| *source != after_all.1);
            after_each.reverse();
            Ok(OrderEffectSources { fresh, after_all, after_each })
        }
        None => Err("that was not measured: nothing comes before it in its bench target, or its harness cannot \
                     execute several benchmarks in one process"
            .to_owned()),
    };
    let lengths = lengths.ok_or_else(|| "that was not measured".to_owned());
    let mut notes = Vec::new();
    if newest.finished.is_none() {
        notes.push(
            "the diagnosis was interrupted, so there are fewer executions than planned".to_owned(),
        );
    }
    let sources = Sources { executions: source(newest, place), control, lengths, order_effect };
    Some(Stored { sources, load, notes, newest: newest.clone() })
}

/// The newest experiment that is not a diagnosis.
fn comparison(all: &[(&StoredExperiment, usize)]) -> Option<Stored> {
    let is_comparison =
        |stored: &StoredExperiment| !stored.plan.is_diagnosis() && !stored.plan.is_counting();
    let (newest, place) = newest(all, is_comparison)?;
    let cannot = "the stored results come from a comparison, and cannot answer this";
    let sources = Sources {
        executions: source(newest, place),
        control: None,
        lengths: Err(cannot.to_owned()),
        order_effect: Err(cannot.to_owned()),
    };
    let notes = vec![
        "the stored results come from a comparison: without --from-stored, more can be answered"
            .to_owned(),
    ];
    Some(Stored { sources, load: 0, notes, newest: newest.clone() })
}

/// The newest finished experiment of this kind, or else the newest.
fn newest<'s>(
    all: &'s [(&'s StoredExperiment, usize)],
    is_one: impl Fn(&StoredExperiment) -> bool,
) -> Option<(&'s StoredExperiment, usize)> {
    let of_kind = || all.iter().copied().filter(|(stored, _)| is_one(stored));
    of_kind().find(|(stored, _)| stored.finished.is_some()).or_else(|| of_kind().next())
}

fn source(stored: &StoredExperiment, version: usize) -> Source {
    Source { id: stored.id, identity: stored.identity.clone(), version }
}
