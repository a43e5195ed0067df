//! Adds up the samples of two versions by function, in ns per iteration. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::profile::{SampledExecution, SampledStack, SampledState, SampledThread, TimeProfile};
use crate::matching::Matched;

/// What a sample is attributed to: the thread, its state, and the index of the innermost function among those of both
/// versions.
pub type Key = (SampledThread, SampledState, usize);

/// Times in base and head, for each pair in ns per iteration.
pub type Series = [Vec<f64>; 2];

/// The time of functions in both versions.
pub struct Tally<'p> {
    profiles: [&'p TimeProfile; 2],
    /// The indices of the executions that are used, one for each pair.
    pairs: Vec<usize>,
    /// The index among the functions of both versions of each function of a profile.
    indices: [Vec<usize>; 2],
    /// The time of an iteration.
    pub times: Series,
    pub own: BTreeMap<Key, Series>,
    /// The time with callees. A function that is several times on a stack counts once.
    pub inclusive: BTreeMap<(SampledThread, usize), Series>,
}

impl<'p> Tally<'p> {
    /// `None` unless two pairs have samples in both versions.
    pub fn new(profiles: [&'p TimeProfile; 2], all: &[Matched]) -> Option<Self> {
        let pairs = usable_pairs(profiles);
        let times = |profile: &TimeProfile| {
            pairs.iter().map(|&execution| profile.executions[execution].time).collect()
        };
        let mut tally = Self {
            profiles,
            indices: Matched::indices(all, profiles.map(|profile| profile.functions.len())),
            times: profiles.map(times),
            own: BTreeMap::new(),
            inclusive: BTreeMap::new(),
            pairs,
        };
        let (mut own, mut inclusive) = (BTreeMap::new(), BTreeMap::new());
        for version in [0, 1] {
            for (pair, stack, worth) in tally.samples(version) {
                let time = worth * stack.samples as f64;
                let functions: Vec<usize> = tally.functions(version, stack).collect();
                let Some(&innermost) = functions.last() else { continue };
                let own = own.entry((stack.thread, stack.state, innermost));
                own.or_insert_with(|| tally.nothing())[version][pair] += time;
                for function in functions.into_iter().collect::<BTreeSet<_>>() {
                    let inclusive = inclusive.entry((stack.thread, function));
                    inclusive.or_insert_with(|| tally.nothing())[version][pair] += time;
                }
            }
        }
        (tally.own, tally.inclusive) = (own, inclusive);
        (tally.pairs.len() >= 2).then_some(tally)
    }

    /// The number of pairs.
    pub const fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// No time in any pair.
    pub fn nothing(&self) -> Series {
        [0, 1].map(|_| vec![0.0; self.pairs()])
    }

    /// The functions on a stack, the outermost first, by their indices among those of both versions. Inlined code belongs
    /// to the function that it is part of: only its machine code is compared.
    pub fn functions(
        &self,
        version: usize,
        stack: &'p SampledStack,
    ) -> impl DoubleEndedIterator<Item = usize> {
        let frames = stack.frames.iter().enumerate();
        // The outermost one has none around it.
        let own_code = frames.filter(|(depth, frame)| *depth == 0 || !frame.is_inlined);
        own_code.map(move |(_, frame)| self.indices[version][frame.function])
    }

    /// The index of each frame of a stack, also of inlined code.
    pub fn frames(&self, version: usize, stack: &'p SampledStack) -> impl Iterator<Item = usize> {
        stack.frames.iter().map(move |frame| self.indices[version][frame.function])
    }

    /// Each stack of all pairs, with its mean time in ns per iteration.
    pub fn stacks(&self, version: usize) -> impl Iterator<Item = (&'p SampledStack, f64)> {
        let pairs = self.pairs() as f64;
        let stacks = self.samples(version);
        stacks.map(move |(_, stack, worth)| (stack, worth / pairs * stack.samples as f64))
    }

    /// For each key in a version: the nearest function, from the innermost one outwards, that `is_one`, for most of its time.
    pub fn nearest(&self, version: usize, is_one: impl Fn(usize) -> bool) -> BTreeMap<Key, usize> {
        let mut found: BTreeMap<Key, BTreeMap<usize, f64>> = BTreeMap::new();
        for (stack, time) in self.stacks(version) {
            let mut outwards = self.functions(version, stack).rev().peekable();
            let Some(&innermost) = outwards.peek() else { continue };
            if let Some(one) = outwards.find(|function| is_one(*function)) {
                let times = found.entry((stack.thread, stack.state, innermost)).or_default();
                *times.entry(one).or_default() += time;
            }
        }
        let most = found.into_iter().map(|(key, times)| {
            let most = times.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
            most.map(|(one, _)| (key, one))
        });
        most.flatten().collect()
    }

    /// Each stack of a version, with its pair and the time that one of its samples stands for.
    fn samples(&self, version: usize) -> impl Iterator<Item = (usize, &'p SampledStack, f64)> {
        let pairs = self.pairs.iter().enumerate();
        pairs.flat_map(move |(pair, &execution)| {
            let execution = &self.profiles[version].executions[execution];
            let worth = worth_of_sample(execution);
            counted(execution).map(move |stack| (pair, stack, worth))
        })
    }
}

/// The indices of the executions whose samples show where the time went, in both versions.
fn usable_pairs(profiles: [&TimeProfile; 2]) -> Vec<usize> {
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
