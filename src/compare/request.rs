//! The request of a comparison as plain values, independent of the command that makes it; and the release that the head
//! may be compared with besides the base.

use std::time::Duration;

use super::{Event, Observer};
use crate::{
    config::{Gate, Release, StoppingRule, VerdictSettings},
    error::Result,
    model::{Benchmark, Version},
    project::Project,
    secrets,
};

/// A request to compare two versions.
#[derive(Clone, Debug)]
pub struct Request {
    /// Base and head.
    pub versions: [Version; 2],
    /// The benchmarks to measure, among those that both versions have.
    pub benchmarks: Benchmarks,
    pub verdicts: VerdictSettings,
    /// The rule that ends the measurements of an undecided benchmark.
    pub stopping: StoppingRule,
    /// The limit for the time of all measurements together, if any.
    pub budget: Option<Duration>,
    /// True to use finished experiments on the same versions with the same settings instead of
    /// measuring again.
    pub reuses: bool,
    /// True to find the skipped benchmarks that are the same machine code, which requires linking
    /// them.
    pub identifies: bool,
    /// True to explain changed instruction counts by function.
    pub explains: bool,
    /// The benchmarks whose changed times are explained by function, if any.
    pub explains_time: Option<ExplainedRows>,
    /// True to spend what is left of the budget on benchmarks that were skipped, to check that.
    pub audits: bool,
    /// True to measure nothing and report only the plan.
    pub only_plan: bool,
    /// True to fail if the base alone shows that no benchmark can be compared, and nothing else is compared.
    pub tries_base: bool,
}

/// The benchmarks to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Benchmarks {
    /// Those that execute or read something that differs between the versions.
    Affected,
    All,
    /// These, without impact analysis.
    These(Vec<Benchmark>),
}

/// The benchmarks whose changed times are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainedRows {
    /// Those that regressed.
    Regressed,
    /// Those that regressed or improved.
    Changed,
}

impl Request {
    /// A request to measure the affected benchmarks of base and head, and to decide.
    pub const fn new(versions: [Version; 2], verdicts: VerdictSettings) -> Self {
        Self {
            versions,
            benchmarks: Benchmarks::Affected,
            verdicts,
            stopping: StoppingRule::Usual,
            budget: None,
            reuses: false,
            identifies: false,
            explains: false,
            explains_time: None,
            audits: false,
            only_plan: false,
            tries_base: false,
        }
    }
}

/// The comparisons of a head with their settings: with the base and, if `gate` names one, with a release, since many small
/// slowdowns can add up to a large one. They share the false-alarm rate.
///
/// There is none with a release, and a note instead, where it would add nothing: if the base has the files of that
/// release, or if `bench.toml` names a release that the head does not descend from.
pub fn with_release(
    project: &Project,
    gate: Option<&Gate>,
    [base, head]: [Version; 2],
    verdicts: VerdictSettings,
    observer: &dyn Observer,
) -> Result<Vec<([Version; 2], VerdictSettings)>> {
    let release = match gate {
        Some(gate) => release(project, gate, [&base, &head], observer)?,
        None => None,
    };
    let Some((gate, release)) = gate.zip(release) else {
        return Ok(vec![([base, head], verdicts)]);
    };
    let of_base = verdicts.shared_by(2);
    let of_release = of_base.with_gate(gate.min_effect);
    Ok(vec![([base, head.clone()], of_base), ([release, head], of_release)])
}

fn release(
    project: &Project,
    gate: &Gate,
    [base, head]: [&Version; 2],
    observer: &dyn Observer,
) -> Result<Option<Version>> {
    let repository = &project.repository;
    let file = if secrets::base_decides() { "bench.toml of the base" } else { "bench.toml" };
    let found = match &gate.release {
        Release::Last => repository.last_release(head),
        Release::Revision(revision) => repository.resolve(revision),
    };
    let release = found.map_err(|error| {
        if gate.is_of_file { error.cause(format!("[gate] in {file} names it")) } else { error }
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
            "not compared with {release} of [gate] in {file}: {head} does not descend from it"
        );
        observer.compare_event(Event::Note(&note));
        return Ok(None);
    }
    Ok(Some(release))
}
