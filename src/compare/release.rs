//! The release that the head of a comparison is judged against as well.

use super::{Event, Observer};
use crate::{
    config::{Gate, Release, VerdictSettings},
    error::Result,
    model::Version,
    project::Project,
};

/// A release that the head is compared with besides the base.
#[derive(Clone, Debug)]
pub struct AlsoAgainst {
    /// The release.
    pub release: Version,
    /// The smallest change of interest since it; that of the other comparison where it has none of its own.
    min_effect: Option<f64>,
}

impl AlsoAgainst {
    /// The release that is asked for. None, with a note, where a second judgement would say nothing: where the base is that
    /// release, and where the file names a release that the head does not descend from.
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
        let release = found.map_err(|failure| {
            if gate.is_of_file { failure.cause("[gate] in bench.toml names it") } else { failure }
        })?;
        if release.tree == base.tree {
            let note = format!("{release} has the files of the base: one comparison judges both");
            observer.compare_event(Event::Note(&note));
            return Ok(None);
        }
        let is_before = || match &release.commit {
            Some(commit) => repository.has_in_history(head, commit),
            None => Ok(true),
        };
        if gate.is_of_file && !is_before()? {
            let note = format!(
                "not judged against {release} of [gate] in bench.toml: {head} does not descend from it"
            );
            observer.compare_event(Event::Note(&note));
            return Ok(None);
        }
        Ok(Some(Self { release, min_effect: gate.min_effect }))
    }

    /// How the comparison with the release is judged, where the other is judged so.
    pub(super) fn verdicts(&self, of_base: &VerdictSettings) -> VerdictSettings {
        of_base.with_limit(self.min_effect)
    }
}

/// How the comparison with the base is judged, which shares the false-alarm rate with that with a release.
pub(super) fn shared_verdicts(
    verdicts: &VerdictSettings,
    also: Option<&AlsoAgainst>,
) -> VerdictSettings {
    let comparisons = 1 + usize::from(also.is_some());
    let judgements = verdicts.criteria.judgements * comparisons;
    verdicts.clone().shared_by(judgements)
}
