//! Folds the stacks of two versions into lines for flame graphs. Pure.

use std::collections::BTreeMap;

use super::{
    profile::{SampledStack, SampledState, SampledThread},
    tally::Tally,
};
use crate::{callgrind::Function, matching::Matched};

/// The frames that this share of the measured time has in common are left out, except for the last: they belong to the
/// harness. The rest are stacks that could not be unwound to their end.
const COMMON: f64 = 0.98;

/// A stack of both versions with its time in ns per iteration, the mean over pairs of builds.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldedStack {
    /// The names of the frames, the outermost first, separated by `;`.
    pub frames: String,
    /// The time in the base.
    pub base: f64,
    /// The time in the head.
    pub head: f64,
}

/// The stacks of both versions. `functions` has those of each profile; a function of both has the head's name.
pub fn folded(
    tallies: [&Tally<'_>; 2],
    functions: [&[Function]; 2],
    all: &[Matched],
) -> Vec<FoldedStack> {
    let mut stacks: BTreeMap<Vec<String>, [f64; 2]> = BTreeMap::new();
    for (version, tally) in tallies.into_iter().enumerate() {
        for (stack, time) in tally.stacks() {
            let names = tally.frames(stack).map(|index| {
                let Matched { base, head, .. } = all[index];
                let function = head.map(|at| &functions[1][at]);
                function
                    .or_else(|| base.map(|at| &functions[0][at]))
                    .map_or("", |one| one.name.as_str())
            });
            stacks.entry(labels(stack, names)).or_default()[version] += time;
        }
    }
    let common = common_frames(&stacks);
    let mut folded: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for (labels, times) in stacks {
        let own = labels.strip_prefix(&common[..common.len().saturating_sub(1)]);
        let sums = folded.entry(own.unwrap_or(&labels).join(";")).or_default();
        sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
    }
    folded.into_iter().map(|(frames, [base, head])| FoldedStack { frames, base, head }).collect()
}

/// A label for each frame, and for the state of the thread.
fn labels<'n>(stack: &SampledStack, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let thread = (stack.thread == SampledThread::Other).then(|| "other threads".to_owned());
    let frames = stack.frames.iter().zip(names).map(|(frame, name)| {
        // A semicolon separates frames; an array type has one in its name.
        let name = name.replace(';', ",");
        if frame.is_inlined { format!("{name} (inlined)") } else { name }
    });
    let state = match stack.state {
        SampledState::Working => None,
        SampledState::InKernel => Some("kernel".to_owned()),
        SampledState::Waiting => Some("waiting".to_owned()),
    };
    thread.into_iter().chain(frames).chain(state).collect()
}

/// The outermost frames that nearly all stacks have in common.
fn common_frames(stacks: &BTreeMap<Vec<String>, [f64; 2]>) -> Vec<String> {
    let least = COMMON * stacks.values().flatten().sum::<f64>();
    let mut common: Vec<String> = Vec::new();
    loop {
        let mut next: BTreeMap<&str, f64> = BTreeMap::new();
        for (labels, times) in stacks.iter().filter(|(labels, _)| labels.starts_with(&common)) {
            if let Some(label) = labels.get(common.len()) {
                *next.entry(label).or_default() += times.iter().sum::<f64>();
            }
        }
        match next.into_iter().find(|(_, time)| *time >= least) {
            Some((label, _)) => common.push(label.to_owned()),
            None => return common,
        }
    }
}
