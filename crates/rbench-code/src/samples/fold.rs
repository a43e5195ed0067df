//! Folds the stacks of two versions into lines for flame graphs. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    profile::{SampledStack, SampledState, SampledThread},
    tally::Tally,
};
use crate::matching::Matched;

/// The innermost function that has this share of the time of a thread with its callees is shown as the first: what calls it
/// belongs to the harness, and differs between executions. The rest are stacks that could not be unwound to their end.
const COMMON: f64 = 0.98;

/// A stack of both versions with its time in ns per iteration, the mean over pairs of builds.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldedStack {
    /// The names of the frames, the outermost first, separated by `;`.
    pub frames: String,
    pub base: f64,
    pub head: f64,
}

/// The stacks of both versions.
pub fn folded(tally: &Tally<'_>, all: &[Matched]) -> Vec<FoldedStack> {
    let mut stacks: BTreeMap<(SampledThread, Vec<String>, SampledState), [f64; 2]> =
        BTreeMap::new();
    for version in [0, 1] {
        for (stack, time) in tally.stacks(version) {
            let names = tally.frames(version, stack).map(|index| all[index].function.name.as_str());
            let key = (stack.thread, labels(stack, names), stack.state);
            stacks.entry(key).or_default()[version] += time;
        }
    }
    let common = [SampledThread::Measuring, SampledThread::Other].map(|thread| {
        let of_thread = stacks.iter().filter(|((own, ..), _)| *own == thread);
        common_functions(of_thread.map(|((_, labels, _), times)| (&labels[..], times.iter().sum())))
    });
    let mut folded: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for ((thread, labels, state), times) in &stacks {
        let is_other = *thread == SampledThread::Other;
        let common = &common[usize::from(is_other)];
        // Of a function that calls itself, all calls are shown.
        let places = common.iter().filter_map(|one| labels.iter().position(|label| label == one));
        let first = places.max().unwrap_or(0);
        let shown = labels[first..].iter().map(String::as_str);
        let shown = is_other.then_some("other threads").into_iter().chain(shown);
        let state = match state {
            SampledState::Working => None,
            SampledState::InKernel => Some("kernel"),
            SampledState::Waiting => Some("waiting"),
        };
        let sums = folded.entry(shown.chain(state).collect::<Vec<_>>().join(";")).or_default();
        sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
    }
    folded.into_iter().map(|(frames, [base, head])| FoldedStack { frames, base, head }).collect()
}

/// A label for each frame.
fn labels<'n>(stack: &SampledStack, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let frames = stack.frames.iter().zip(names).map(|(frame, name)| {
        // A semicolon separates frames; an array type has one in its name.
        let name = name.replace(';', ",");
        if frame.is_inlined { format!("{name} (inlined)") } else { name }
    });
    frames.collect()
}

/// The labels of functions that nearly all of the time is spent in, with their callees.
fn common_functions<'s>(stacks: impl Iterator<Item = (&'s [String], f64)>) -> BTreeSet<String> {
    let (mut all, mut inclusive) = (0.0, BTreeMap::<&str, f64>::new());
    for (labels, time) in stacks {
        all += time;
        // A function that is on the stack several times counts once.
        for label in labels.iter().map(String::as_str).collect::<BTreeSet<_>>() {
            *inclusive.entry(label).or_default() += time;
        }
    }
    let common = inclusive.into_iter().filter(|(_, time)| *time >= COMMON * all);
    common.map(|(label, _)| label.to_owned()).collect()
}
