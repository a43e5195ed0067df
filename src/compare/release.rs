//! The release that the head of a comparison is judged against as well.

use super::{Event, Observer};
use crate::{
    failure::Result,
    model::Version,
    project::Project,
    settings::{Gate, Release},
};

/// The release that is meant, whether it says anything or not. Who asks for one that is not there is told so before
/// anything else is looked at.
pub fn find_release(project: &Project, gate: &Gate, head: &Version) -> Result<Version> {
    let found = match &gate.against {
        Release::Last => project.repository.last_release(head),
        Release::Revision(revision) => project.repository.resolve(revision),
    };
    found.map_err(|failure| {
        if gate.is_of_file { failure.because("[gate] in bench.toml names it") } else { failure }
    })
}

/// The version of the release. None, with a note, where a second judgement would say nothing: where the base is that
/// release, and where the file names a release that the head does not descend from.
pub fn version(
    project: &Project,
    gate: &Gate,
    [base, head]: [&Version; 2],
    observer: &dyn Observer,
) -> Result<Option<Version>> {
    let repository = &project.repository;
    let release = find_release(project, gate, head)?;
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
    Ok(Some(release))
}
