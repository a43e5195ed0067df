//! Reports accepted slowdowns that no longer change a verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::{Names, short, with_metric};
use crate::model::{Benchmark, OBJECT_ID};
use crate::model::{Idle, IdleAcceptance};

/// The maximum number of names shown.
const MOST_NAMES: usize = 8;

/// The number of these entries.
pub fn idle_number(idle: &[IdleAcceptance]) -> Option<String> {
    let verb = if idle.len() == 1 { "changes" } else { "change" };
    let entries = if idle.len() == 1 { "entry" } else { "entries" };
    let number = idle.len();
    let text = format!(
        "{number} {entries} in .rbench/accepted.toml {verb} nothing any more (details: --reasons)"
    );
    (number > 0).then_some(text)
}

/// A note that names these entries, each with its reason.
pub fn idle_note(idle: &[IdleAcceptance]) -> Option<String> {
    let names = Names::new(idle.iter().map(|one| &one.benchmark));
    let of = |one: &IdleAcceptance| {
        let name = with_metric(short(&names.name(&one.benchmark)), Some(&one.metric));
        let commit = one.commit.get(..7).unwrap_or(&one.commit);
        format!("{name} of {commit}, {}", why(one.why))
    };
    let shown: Vec<String> = idle.iter().take(MOST_NAMES).map(of).collect();
    let more = idle.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    let (entries, verb) = match idle.len() {
        1 => ("an entry", "changes"),
        _ => ("entries", "change"),
    };
    (!shown.is_empty()).then(|| {
        let shown = shown.join("; ");
        format!("{entries} in .rbench/accepted.toml {verb} nothing any more: {shown}{more}")
    })
}

const fn why(why: Idle) -> &'static str {
    match why {
        Idle::NotInHistory => {
            "which is not in the history of HEAD (if it was rebased or squashed, accept it again)"
        }
        Idle::NoBenchmark => "a benchmark that the head does not have",
        Idle::Recovered => "which is as fast again as before",
    }
}

/// An entry of .rbench/accepted.toml that changes no verdict any more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UnusedAcceptance {
    #[serde(flatten)]
    benchmark: Benchmark,
    metric: String,
    #[schemars(regex(pattern = OBJECT_ID))]
    commit: String,
    why: Idle,
}

impl From<&IdleAcceptance> for UnusedAcceptance {
    fn from(IdleAcceptance { benchmark, metric, commit, why }: &IdleAcceptance) -> Self {
        let (benchmark, metric, commit) = (benchmark.clone(), metric.name.clone(), commit.clone());
        Self { benchmark, metric, commit, why: *why }
    }
}
