//! Adds up the samples of two versions by function, in ns per iteration. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::profile::{SampledExecution, SampledStack, SampledState, SampledThread, TimeProfile};
use crate::matching::Matched;

/// What a sample is attributed to: the thread, its state, and the index of the innermost function among those of both
/// versions.
pub type Key = (SampledThread, SampledState, usize);

/// The time of functions in one version, for each pair in ns per iteration.
pub struct Tally<'p> {
    profile: &'p TimeProfile,
    /// The indices of the executions that are used, one for each pair.
    pairs: &'p [usize],
    /// The index among the functions of both versions of each function of the profile.
    indices: Vec<usize>,
    /// The time of an iteration.
    pub times: Vec<f64>,
    pub own: BTreeMap<Key, Vec<f64>>,
    /// The time with callees. A function that is several times on a stack counts once.
    pub inclusive: BTreeMap<(SampledThread, usize), Vec<f64>>,
}

impl<'p> Tally<'p> {
    pub fn new(
        profile: &'p TimeProfile,
        pairs: &'p [usize],
        all: &[Matched],
        place: impl Fn(&Matched) -> Option<usize>,
    ) -> Self {
        let mut indices = vec![0; profile.functions.len()];
        for (index, one) in all.iter().enumerate() {
            if let Some(place) = place(one) {
                indices[place] = index;
            }
        }
        let mut tally = Self {
            profile,
            pairs,
            indices,
            times: Vec::new(),
            own: BTreeMap::new(),
            inclusive: BTreeMap::new(),
        };
        for (pair, &execution) in pairs.iter().enumerate() {
            tally.times.push(profile.executions[execution].time);
            tally.add(pair, execution);
        }
        tally
    }

    fn add(&mut self, pair: usize, execution: usize) {
        let execution = &self.profile.executions[execution];
        let (worth, count) = (worth_of_sample(execution), self.pairs.len());
        for stack in counted(execution) {
            let time = worth * stack.samples as f64;
            let functions: Vec<usize> = self.functions(stack).collect();
            let Some(&innermost) = functions.last() else { continue };
            let own = self.own.entry((stack.thread, stack.state, innermost));
            own.or_insert_with(|| vec![0.0; count])[pair] += time;
            for function in functions.into_iter().collect::<BTreeSet<_>>() {
                let inclusive = self.inclusive.entry((stack.thread, function));
                inclusive.or_insert_with(|| vec![0.0; count])[pair] += time;
            }
        }
    }

    /// The functions on a stack, the outermost first, by their indices among those of both versions. Inlined code belongs
    /// to the function that it is part of: only its machine code is compared.
    pub fn functions(&self, stack: &'p SampledStack) -> impl DoubleEndedIterator<Item = usize> {
        let frames = stack.frames.iter().enumerate();
        // The outermost one has none around it.
        let own_code = frames.filter(|(depth, frame)| *depth == 0 || !frame.is_inlined);
        own_code.map(|(_, frame)| self.indices[frame.function])
    }

    /// The index of each frame of a stack, also of inlined code.
    pub fn frames(&self, stack: &'p SampledStack) -> impl Iterator<Item = usize> {
        stack.frames.iter().map(|frame| self.indices[frame.function])
    }

    /// Each stack of all pairs, with its mean time in ns per iteration.
    pub fn stacks(&self) -> impl Iterator<Item = (&'p SampledStack, f64)> {
        self.pairs.iter().flat_map(|&execution| {
            let execution = &self.profile.executions[execution];
            let worth = worth_of_sample(execution) / self.pairs.len() as f64;
            counted(execution).map(move |stack| (stack, worth * stack.samples as f64))
        })
    }
}

/// The indices of the executions whose samples show where the time went, in both versions.
pub fn usable_pairs(profiles: [&TimeProfile; 2]) -> Vec<usize> {
    let [base, head] = profiles.map(|profile| &profile.executions);
    let is_usable = |execution: &SampledExecution| worth_of_sample(execution).is_finite();
    let pairs = base.iter().zip(head).enumerate();
    pairs.filter(|(_, (base, head))| is_usable(base) && is_usable(head)).map(|(at, _)| at).collect()
}

/// The stacks that count: other threads often wait for work, which costs nothing.
fn counted(execution: &SampledExecution) -> impl Iterator<Item = &SampledStack> {
    execution.stacks.iter().filter(|stack| {
        let waits_elsewhere =
            stack.thread == SampledThread::Other && stack.state == SampledState::Waiting;
        !stack.frames.is_empty() && !waits_elsewhere
    })
}

/// The time in ns per iteration that a sample stands for: the samples of the measuring thread make up the whole.
/// Infinite without any.
fn worth_of_sample(execution: &SampledExecution) -> f64 {
    let stacks = counted(execution).filter(|stack| stack.thread == SampledThread::Measuring);
    execution.time / stacks.map(|stack| stack.samples).sum::<u64>() as f64
}
