//! The release that the head of a comparison is compared with besides the base.

use super::{Event, Observer};
use crate::{
    config::{Gate, Release, VerdictSettings},
    error::Result,
    model::Version,
    project::Project,
};

/// A release to compare the head with besides the base: many small slowdowns since it can add up to
/// a large one.
#[derive(Clone, Debug)]
pub struct AlsoAgainst {
    /// The release.
    pub release: Version,
    /// The smallest change of interest since the release; that of the other comparison where
    /// absent.
    min_effect: Option<f64>,
}

impl AlsoAgainst {
    /// Resolves the requested release. `None`, with a note, where a second comparison would add
    /// nothing: if the base has the files of that release, or if `bench.toml` names a release that
    /// the head does not descend from.
    pub fn find(
        project: &Project,
        gate: Option<&Gate>,
        [base, head]: [&Version; 2],
        observer: &dyn Observer,
    ) -> Result<Option<Self>> {
        let Some(gate) = gate else { return Ok(None) };
        let repository = &project.repository;
        let found = match &gate.release {
            Release::Last => repository.last_release(head),
            Release::Revision(revision) => repository.resolve(revision),
        };
        let release = found.map_err(|error| {
            if gate.is_of_file { error.cause("[gate] in bench.toml names it") } else { error }
        })?;
        if release.key() == base.key() {
            let note = format!("{release} has the files of the base: one comparison covers both");
            observer.compare_event(Event::Note(&note));
            return Ok(None);
        }
        let is_ancestor = || match &release.commit {
            Some(commit) => repository.has_in_history(head, commit),
            None => Ok(true),
        };
        if gate.is_of_file && !is_ancestor()? {
            let note = format!(
                "not compared with {release} of [gate] in bench.toml: {head} does not descend from it"
            );
            observer.compare_event(Event::Note(&note));
            return Ok(None);
        }
        Ok(Some(Self { release, min_effect: gate.min_effect }))
    }

    /// The settings of the comparison with the release, derived from those of the other one.
    pub(super) fn verdicts(&self, of_base: &VerdictSettings) -> VerdictSettings {
        of_base.with_limit(self.min_effect)
    }
}

/// The settings of the comparison with the base: it shares the false-alarm rate with the one with a
/// release.
pub(super) fn shared_verdicts(
    verdicts: &VerdictSettings,
    also: Option<&AlsoAgainst>,
) -> VerdictSettings {
    let comparisons = 1 + usize::from(also.is_some());
    let comparisons = verdicts.criteria.comparisons * comparisons;
    verdicts.clone().shared_by(comparisons)
}
