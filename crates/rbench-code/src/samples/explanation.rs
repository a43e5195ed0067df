//! Explains the difference in time between two versions, function by function. Pure.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    fold::{FoldedStack, folded},
    inlining::{Inlined, inlined_functions, key, mean},
    profile::{SampledExecution, SampledStack, SampledState, SampledThread, TimeProfile},
    tally::{Key, Tally, usable_pairs},
};
use crate::{
    callgrind::{Code, Function, Place},
    elf::{FunctionSet, Name},
    matching::{Matched, matched},
};

/// Functions are tested that have at least this share of the time of an iteration in both versions together. The share
/// of each version alone would depend on the difference that is tested.
const TESTED: f64 = 0.005;

/// The probabilities that any function is called beyond noise although none differs: of those whose code differs, and of
/// the others. The first are few, and it is known before that they may have changed.
const ERROR_RATES: [f64; 2] = [0.05, 0.01];

/// Functions within noise changed together if no change of their sum has a smaller p value.
const TOGETHER: f64 = 0.01;

/// The share of the change that the selected functions leave unexplained, at most, and their maximum number.
const LEFT: f64 = 0.2;
const MOST: usize = 6;

/// One of the two compared versions.
#[derive(Clone, Copy, Debug)]
pub struct Side<'s> {
    /// The sampled executions.
    pub profile: &'s TimeProfile,
    /// The machine code of its functions.
    pub functions: &'s FunctionSet,
}

/// The explanation of the difference in time between two versions of a benchmark. Times are in ns per iteration, and
/// means over the pairs of builds.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The number of pairs of builds that were sampled.
    pub pairs: usize,
    /// The numbers of samples of the measuring thread in base and head.
    pub samples: [u64; 2],
    /// The share of all samples whose stack could not be unwound to its end.
    pub cut: f64,
    /// The share of all samples that were dropped.
    pub dropped: f64,
    /// The time of the base, and the sum of the self times there.
    pub base: f64,
    /// The time of the head, and the sum of the self times there.
    pub head: f64,
    /// The change in sampled executions, and the sum of the changes of self times.
    pub change: Change,
    /// The functions that have samples in either version, by the size of their change.
    pub functions: Vec<FunctionTime>,
    /// True if the functions within noise are taken as unchanged, so that the others have the whole change.
    pub others_are_unchanged: bool,
    /// The work of other threads, if they have samples. It is not part of the time of an iteration.
    pub threads: Option<Threads>,
    /// The stacks of both versions.
    pub stacks: Vec<FoldedStack>,
}

/// An additional time of the head in ns per iteration, estimated over pairs of builds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TimeChange")]
pub struct Change {
    /// The mean over the pairs.
    pub mean: f64,
    /// The lower end of its 95 % confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The two-sided p value of no change.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
}

/// A function in two versions; or the time of the kernel, or of waiting, in a call of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FunctionTime {
    /// Its demangled name.
    pub name: Name,
    /// Its place: in the head, if sampled there.
    #[serde(flatten)]
    pub place: Place,
    /// The thread that executed it.
    pub thread: SampledThread,
    /// The state of the thread.
    pub state: SampledState,
    /// The difference in its machine code.
    pub code: Code,
    /// Its time in the base; null without samples there.
    pub base: Option<Spent>,
    /// Its time in the head; null without samples there.
    pub head: Option<Spent>,
    /// The change of its self time.
    #[serde(rename = "self")]
    pub own: Change,
    /// The part of the benchmark's change that is attributed to it: the change of its self time and, if the functions within
    /// noise together did not change either, its share of what they seem to have gained or lost.
    pub attributed: Change,
    /// The change of its time with callees.
    pub inclusive: Change,
    /// True if the self time changed beyond noise: in a t test over pairs, with an error rate of 5 % for all functions
    /// together whose code differs, and of 1 % for all others (Holm 1979).
    pub is_beyond_noise: bool,
    /// If its code is not known to differ: the nearest caller whose code does, if there is one.
    pub changed_caller: Option<Caller>,
    /// The functions whose self time is part of its own, because one version inlines them here.
    pub inlined: Vec<Inlined>,
}

impl FunctionTime {
    /// Its mean self time in both versions.
    fn time(&self) -> f64 {
        [self.base, self.head].into_iter().flatten().map(|spent| spent.own).sum::<f64>() / 2.0
    }
}

/// The time of a function in ns per iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Spent {
    /// Outside of its callees.
    #[serde(rename = "self")]
    #[schemars(range(min = 0))]
    pub own: f64,
    /// With its callees.
    #[schemars(range(min = 0))]
    pub inclusive: f64,
}

/// A function that calls another one, directly or not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Caller {
    /// Its demangled name.
    pub name: Name,
    /// The difference in its machine code.
    pub code: Code,
}

/// The time of threads besides the measuring one, in ns for an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Threads {
    /// Their work in the base.
    #[schemars(range(min = 0))]
    pub base: f64,
    /// Their work in the head.
    #[schemars(range(min = 0))]
    pub head: f64,
    /// The change.
    pub change: Change,
}

/// The functions that explain a change, the largest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection<'e> {
    /// The selected functions.
    pub functions: Vec<&'e FunctionTime>,
    /// The sum of what is attributed to them.
    pub sum: f64,
    /// The other functions beyond noise: their number, and the sum of what is attributed to them.
    pub others: (usize, f64),
    /// The functions within noise: their number, and the sum of the changes of their self times.
    pub within_noise: (usize, f64),
}

impl Explanation {
    /// The functions of the measuring thread beyond noise, until what they leave unexplained is at most 20 % of the
    /// change, and at most six.
    pub fn selection(&self) -> Selection<'_> {
        let measuring = self.of_thread(SampledThread::Measuring);
        let (beyond, within): (Vec<_>, Vec<_>) = measuring.partition(|one| one.is_beyond_noise);
        let mut selected = 0;
        let mut sum = 0.0;
        let is_left = |sum: f64| (self.change.mean - sum).abs() > LEFT * self.change.mean.abs();
        while selected < beyond.len().min(MOST) && is_left(sum) {
            sum += beyond[selected].attributed.mean;
            selected += 1;
        }
        let (functions, others) = beyond.split_at(selected);
        Selection {
            functions: functions.to_vec(),
            sum,
            others: total(others, |one| one.attributed.mean),
            within_noise: total(&within, |one| one.own.mean),
        }
    }

    /// The functions that a thread spent time in themselves, by the size of their change.
    pub fn of_thread(&self, thread: SampledThread) -> impl Iterator<Item = &FunctionTime> {
        self.functions.iter().filter(move |one| {
            let has_own = |spent: Option<Spent>| spent.is_some_and(|spent| spent.own > 0.0);
            one.thread == thread && (has_own(one.base) || has_own(one.head))
        })
    }
}

fn total(functions: &[&FunctionTime], of: impl Fn(&FunctionTime) -> f64) -> (usize, f64) {
    (functions.len(), functions.iter().map(|one| of(one)).sum())
}

/// Explains the difference between the base and the head. `estimate` estimates the mean of the differences of the pairs.
/// `None` unless two pairs have samples in both versions.
pub fn explain(sides: [Side<'_>; 2], estimate: &dyn Fn(&[f64]) -> Change) -> Option<Explanation> {
    let profiles = sides.map(|side| side.profile);
    let pairs = usable_pairs(profiles);
    if pairs.len() < 2 {
        return None;
    }
    let all =
        matched(profiles.map(|profile| &profile.functions[..]), sides.map(|side| side.functions));
    let [base, head] = profiles;
    let tallies = [
        &Tally::new(base, &pairs, &all, |one| one.base),
        &Tally::new(head, &pairs, &all, |one| one.head),
    ];
    let comparison = TimeComparison { tallies, profiles, all: &all, pairs: pairs.len(), estimate };
    let times = tallies.map(|tally| Some(&tally.times));
    let executions = || profiles.into_iter().flat_map(|profile| &profile.executions);
    let sampled: u64 = executions().map(|one| samples(one, |_| true)).sum();
    let dropped: u64 = executions().map(|one| one.dropped).sum();
    let cut: u64 = executions().map(|one| one.cut).sum();
    let of_measuring = |profile: &TimeProfile| {
        let is_measuring = |stack: &SampledStack| stack.thread == SampledThread::Measuring;
        profile.executions.iter().map(|one| samples(one, is_measuring)).sum()
    };
    let (functions, others_are_unchanged) = comparison.functions();
    Some(Explanation {
        pairs: pairs.len(),
        samples: profiles.map(of_measuring),
        cut: cut as f64 / sampled.max(1) as f64,
        dropped: dropped as f64 / (sampled + dropped).max(1) as f64,
        base: mean(times[0]),
        head: mean(times[1]),
        change: comparison.change(times),
        functions,
        others_are_unchanged,
        threads: comparison.threads(),
        stacks: folded(tallies, [base, head].map(|profile| &profile.functions[..]), &all),
    })
}

fn samples(execution: &SampledExecution, is_meant: impl Fn(&SampledStack) -> bool) -> u64 {
    let stacks = execution.stacks.iter().filter(|stack| is_meant(stack));
    stacks.map(|stack| stack.samples).sum()
}

/// The samples of two versions, by function.
struct TimeComparison<'c> {
    tallies: [&'c Tally<'c>; 2],
    profiles: [&'c TimeProfile; 2],
    all: &'c [Matched],
    pairs: usize,
    estimate: &'c dyn Fn(&[f64]) -> Change,
}

/// A function with the differences of its self time, one for each pair.
type WithDifferences = (FunctionTime, Vec<f64>);

impl TimeComparison<'_> {
    /// The change between two series over the pairs.
    fn change(&self, series: [Option<&Vec<f64>>; 2]) -> Change {
        (self.estimate)(&self.differences(series))
    }

    /// The differences between two series by pairs; a function without samples has no time.
    fn differences(&self, [base, head]: [Option<&Vec<f64>>; 2]) -> Vec<f64> {
        let value = |series: Option<&Vec<f64>>, pair: usize| series.map_or(0.0, |one| one[pair]);
        (0..self.pairs).map(|pair| value(head, pair) - value(base, pair)).collect()
    }

    /// The functions, and whether those within noise are taken as unchanged.
    fn functions(&self) -> (Vec<FunctionTime>, bool) {
        let inlined = inlined_functions(self.tallies);
        let mut own = self.tallies.map(|tally| tally.own.clone());
        for series in &mut own {
            join(series, &inlined);
        }
        let on_stacks = self.tallies.into_iter().flat_map(|tally| tally.inclusive.keys());
        let on_stacks = on_stacks.map(|(thread, one)| (*thread, SampledState::Working, *one));
        let keys: BTreeSet<Key> =
            own.iter().flat_map(BTreeMap::keys).copied().chain(on_stacks).collect();
        let mut functions: Vec<_> =
            keys.into_iter().map(|key| self.function(key, &own, &inlined)).collect();
        self.mark_beyond_noise(&mut functions);
        let others_are_unchanged = self.attribute(&mut functions);
        let mut functions: Vec<FunctionTime> = functions.into_iter().map(|(one, _)| one).collect();
        functions.sort_by(|one, other| {
            let size = |one: &FunctionTime| [one.own.mean.abs(), one.inclusive.mean.abs()];
            size(other).partial_cmp(&size(one)).unwrap_or(Ordering::Equal)
        });
        (functions, others_are_unchanged)
    }

    /// Attributes to the functions beyond noise what the others seem to have gained or lost, in proportion to their time,
    /// unless the others together changed too. True if it did.
    ///
    /// The samples of an execution are a multinomial sample: what one function has by chance, all others lack in proportion to
    /// their time. So this is the conditional expectation of the errors, given that the others are unchanged.
    fn attribute(&self, functions: &mut [WithDifferences]) -> bool {
        let measuring = functions.iter_mut();
        let measuring = measuring.filter(|(one, _)| one.thread == SampledThread::Measuring);
        let (named, others): (Vec<_>, Vec<_>) = measuring.partition(|(one, _)| one.is_beyond_noise);
        let of_others = sum(self.pairs, others.iter().map(|(_, differences)| differences));
        let of_named: f64 = named.iter().map(|(one, _)| one.time()).sum();
        if of_named == 0.0 || (self.estimate)(&of_others).p < TOGETHER {
            return false;
        }
        for (function, differences) in named {
            let share = function.time() / of_named;
            let own = differences.iter().zip(&of_others).map(|(own, others)| own + share * others);
            function.attributed = (self.estimate)(&own.collect::<Vec<_>>());
        }
        true
    }

    fn function(
        &self,
        key: Key,
        own: &[BTreeMap<Key, Vec<f64>>; 2],
        inlined: &BTreeMap<usize, (usize, bool)>,
    ) -> WithDifferences {
        let (thread, state, index) = key;
        let own = own.each_ref().map(|series| series.get(&key));
        let inclusive = self.tallies.map(|tally| tally.inclusive.get(&(thread, index)));
        // What calls the kernel is not the kernel's callee.
        let inclusive = if state == SampledState::Working { inclusive } else { own };
        let spent = |version: usize| {
            let (own, inclusive) = (own[version], inclusive[version]);
            let is_sampled = own.or(inclusive).is_some();
            is_sampled.then(|| Spent { own: mean(own), inclusive: mean(inclusive) })
        };
        let differences = self.differences(own);
        let change = (self.estimate)(&differences);
        let Function { name, place } = self.named(index);
        let code = &self.all[index].code;
        let is_of_one = state == SampledState::Working && thread == SampledThread::Measuring;
        let joined = inlined.iter().filter(|(_, (caller, _))| is_of_one && *caller == index);
        let joined = joined.map(|(function, (_, in_head))| Inlined {
            name: self.named(*function).name,
            in_head: *in_head,
        });
        let function = FunctionTime {
            thread,
            state,
            code: code.clone(),
            base: spent(0),
            head: spent(1),
            own: change,
            attributed: change,
            inclusive: self.change(inclusive),
            is_beyond_noise: false,
            changed_caller: if code.differs() && state == SampledState::Working {
                None
            } else {
                self.changed_caller(key, usize::from(change.mean >= 0.0))
            },
            inlined: joined.collect(),
            name,
            place,
        };
        (function, differences)
    }

    fn named(&self, index: usize) -> Function {
        let Matched { base, head, .. } = self.all[index];
        let [of_base, of_head] = self.profiles.map(|profile| &profile.functions);
        let function = head.map(|at| &of_head[at]).or_else(|| base.map(|at| &of_base[at]));
        function.cloned().unwrap_or_else(|| Function {
            name: Name::demangle(""),
            place: Place::Library(String::new()),
        })
    }

    /// The nearest function outside of this one whose code differs, for most of its time in a version. For the kernel
    /// and for waiting, that may be the function itself.
    fn changed_caller(&self, (thread, state, index): Key, version: usize) -> Option<Caller> {
        let tally = self.tallies[version];
        let mut callers: BTreeMap<usize, f64> = BTreeMap::new();
        for (stack, time) in tally.stacks() {
            let mut outwards = tally.functions(stack).rev().peekable();
            if (stack.thread, stack.state) == (thread, state) && outwards.peek() == Some(&index) {
                let caller = outwards.find(|function| self.all[*function].code.differs());
                if let Some(caller) = caller {
                    *callers.entry(caller).or_default() += time;
                }
            }
        }
        let (caller, _) =
            callers.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        Some(Caller { name: self.named(caller).name, code: self.all[caller].code.clone() })
    }

    /// Marks the functions whose self time differs, of those that have enough of it. Those whose code differs are tested
    /// apart from the others.
    fn mark_beyond_noise(&self, functions: &mut [WithDifferences]) {
        let all: f64 = self.tallies.iter().map(|tally| mean(Some(&tally.times))).sum();
        let functions = functions.iter_mut().map(|(one, _)| one);
        let tested = functions.filter(|one| one.time() >= TESTED * all / 2.0);
        let (changed, others): (Vec<_>, Vec<_>) = tested.partition(|one| one.code.differs());
        for (mut group, rate) in [changed, others].into_iter().zip(ERROR_RATES) {
            group.sort_by(|one, other| one.own.p.total_cmp(&other.own.p));
            let count = group.len();
            for (at, function) in group.into_iter().enumerate() {
                // Holm's procedure ends at the first that is not rejected.
                if function.own.p > rate / (count - at) as f64 || function.own.p.is_nan() {
                    break;
                }
                function.is_beyond_noise = true;
            }
        }
    }

    fn threads(&self) -> Option<Threads> {
        let sums = self.tallies.map(|tally| {
            let others =
                tally.own.iter().filter(|((thread, ..), _)| *thread == SampledThread::Other);
            sum(self.pairs, others.map(|(_, series)| series))
        });
        let [base, head] = sums.each_ref().map(|sum| mean(Some(sum)));
        let change = self.change(sums.each_ref().map(Some));
        (base > 0.0 || head > 0.0).then_some(Threads { base, head, change })
    }
}

/// The sum of series over the pairs.
fn sum<'s>(pairs: usize, all: impl Iterator<Item = &'s Vec<f64>>) -> Vec<f64> {
    all.fold(vec![0.0; pairs], |mut sum, series| {
        sum.iter_mut().zip(series).for_each(|(sum, time)| *sum += time);
        sum
    })
}

/// Adds the self time of inlined functions to that of their callers.
fn join(series: &mut BTreeMap<Key, Vec<f64>>, inlined: &BTreeMap<usize, (usize, bool)>) {
    for (function, (caller, _)) in inlined {
        if let Some(times) = series.remove(&key(*function)) {
            let own = series.entry(key(*caller)).or_insert_with(|| vec![0.0; times.len()]);
            own.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
        }
    }
}
