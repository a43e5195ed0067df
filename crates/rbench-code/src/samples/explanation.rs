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
    profile::{SampledState, SampledThread, TimeProfile},
    tally::{Key, Series, Tally},
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
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The number of pairs of builds that were sampled.
    pub pairs: usize,
    /// The numbers of samples of the measuring thread in base and head.
    pub samples: [u64; 2],
    /// The share of samples whose callers are not all known.
    #[serde(rename = "cut_share")]
    #[schemars(range(min = 0, max = 1))]
    pub cut: f64,
    /// The share of samples that were lost.
    #[serde(rename = "dropped_share")]
    #[schemars(range(min = 0, max = 1))]
    pub dropped: f64,
    /// The time of the base in sampled executions, and the sum of the self times there.
    #[serde(rename = "base_ns")]
    #[schemars(range(min = 0))]
    pub base: f64,
    /// The time of the head in sampled executions, and the sum of the self times there.
    #[serde(rename = "head_ns")]
    #[schemars(range(min = 0))]
    pub head: f64,
    /// The change in sampled executions, and the sum of the changes of self times.
    #[serde(rename = "change_ns")]
    pub change: Change,
    /// The functions that have samples in either version, by the size of the change of their self time. Over those of
    /// the measuring thread, self times sum up to those of the benchmark.
    pub functions: Vec<FunctionTime>,
    /// True if the functions within noise are taken as unchanged, so that the others have the whole change.
    #[serde(skip)]
    pub others_are_unchanged: bool,
    /// The work of other threads, which is no part of the time of an iteration; null if there is none.
    pub threads: Option<Threads>,
    /// The stacks of both versions.
    #[serde(skip)]
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

/// The functions that explain a change.
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
    /// change, at most six: the first `most` of them, of which those that are against the change come last.
    pub fn selection(&self, most: usize) -> Selection<'_> {
        let measuring = self.of_thread(SampledThread::Measuring);
        let (beyond, within): (Vec<_>, Vec<_>) = measuring.partition(|one| one.is_beyond_noise);
        let (mut selected, mut left) = (0, self.change.mean);
        while selected < beyond.len().min(MOST) && left.abs() > LEFT * self.change.mean.abs() {
            left -= beyond[selected].attributed.mean;
            selected += 1;
        }
        let (functions, others) = beyond.split_at(selected);
        let mut functions = functions.to_vec();
        functions.sort_by_key(|one| one.attributed.mean * self.change.mean <= 0.0);
        let not_shown = functions.split_off(most.min(selected));
        Selection {
            sum: functions.iter().map(|one| one.attributed.mean).sum(),
            functions,
            others: total(&[&not_shown, others].concat(), |one| one.attributed.mean),
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
    let all =
        matched(profiles.map(|profile| &profile.functions[..]), sides.map(|side| side.functions));
    let tally = Tally::new(profiles, &all)?;
    let changed = [0, 1].map(|version| tally.nearest(version, |one| all[one].code.differs()));
    let comparison = TimeComparison { tally: &tally, all: &all, changed, estimate };
    let executions = || profiles.into_iter().flat_map(|profile| &profile.executions);
    let sampled: u64 = executions().flat_map(|one| &one.stacks).map(|stack| stack.samples).sum();
    let dropped: u64 = executions().map(|one| one.dropped).sum();
    let cut: u64 = executions().map(|one| one.cut).sum();
    let of_measuring = |profile: &TimeProfile| {
        let stacks = profile.executions.iter().flat_map(|one| &one.stacks);
        let measuring = stacks.filter(|stack| stack.thread == SampledThread::Measuring);
        measuring.map(|stack| stack.samples).sum()
    };
    let (functions, others_are_unchanged) = comparison.functions();
    Some(Explanation {
        pairs: tally.pairs(),
        samples: profiles.map(of_measuring),
        cut: cut as f64 / sampled.max(1) as f64,
        dropped: dropped as f64 / (sampled + dropped).max(1) as f64,
        base: mean(&tally.times[0]),
        head: mean(&tally.times[1]),
        change: comparison.change(&tally.times),
        functions,
        others_are_unchanged,
        threads: comparison.threads(),
        stacks: folded(&tally, &all),
    })
}

/// The samples of two versions, by function.
struct TimeComparison<'c> {
    tally: &'c Tally<'c>,
    all: &'c [Matched],
    /// The nearest function of each version whose code differs.
    changed: [BTreeMap<Key, usize>; 2],
    estimate: &'c dyn Fn(&[f64]) -> Change,
}

/// A function with the differences of its self time, one for each pair.
type WithDifferences = (FunctionTime, Vec<f64>);

impl TimeComparison<'_> {
    fn change(&self, series: &Series) -> Change {
        (self.estimate)(&differences(series))
    }

    /// The functions, and whether those within noise are taken as unchanged.
    fn functions(&self) -> (Vec<FunctionTime>, bool) {
        let inlined = inlined_functions(self.tally);
        let mut own = self.tally.own.clone();
        for (function, (caller, _)) in &inlined {
            if let Some(times) = own.remove(&key(*function)) {
                add(own.entry(key(*caller)).or_insert_with(|| self.tally.nothing()), &times);
            }
        }
        let on_stacks = self.tally.inclusive.keys();
        let on_stacks = on_stacks.map(|(thread, one)| (*thread, SampledState::Working, *one));
        let keys: BTreeSet<Key> = own.keys().copied().chain(on_stacks).collect();
        let mut functions: Vec<_> =
            keys.into_iter().map(|key| self.function(key, own.get(&key), &inlined)).collect();
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
        let mut of_others = vec![0.0; self.tally.pairs()];
        for (_, differences) in others {
            of_others.iter_mut().zip(&*differences).for_each(|(sum, own)| *sum += own);
        }
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
        own: Option<&Series>,
        inlined: &BTreeMap<usize, (usize, bool)>,
    ) -> WithDifferences {
        let (thread, state, index) = key;
        let nothing = self.tally.nothing();
        let own = own.unwrap_or(&nothing);
        let inclusive = match state {
            SampledState::Working => self.tally.inclusive.get(&(thread, index)).unwrap_or(own),
            // What calls the kernel is not the kernel's callee.
            SampledState::InKernel | SampledState::Waiting => own,
        };
        let spent = |version: usize| {
            let [own, inclusive] = [own, inclusive].map(|one| mean(&one[version]));
            (inclusive > 0.0).then_some(Spent { own, inclusive })
        };
        let (differences, change) = (differences(own), self.change(own));
        let Matched { function: Function { name, place }, code, .. } = &self.all[index];
        let is_of_one = state == SampledState::Working && thread == SampledThread::Measuring;
        let joined = inlined.iter().filter(|(_, (caller, _))| is_of_one && *caller == index);
        let joined = joined.map(|(function, (_, in_head))| Inlined {
            name: self.all[*function].function.name.clone(),
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
            name: name.clone(),
            place: place.clone(),
        };
        (function, differences)
    }

    /// The nearest function outside of this one whose code differs, for most of its time in a version. For the kernel
    /// and for waiting, that may be the function itself.
    fn changed_caller(&self, key: Key, version: usize) -> Option<Caller> {
        let Matched { function, code, .. } = &self.all[*self.changed[version].get(&key)?];
        Some(Caller { name: function.name.clone(), code: code.clone() })
    }

    /// Marks the functions whose self time differs, of those that have enough of it. Those whose code differs are tested
    /// apart from the others.
    fn mark_beyond_noise(&self, functions: &mut [WithDifferences]) {
        let all: f64 = self.tally.times.iter().map(|times| mean(times)).sum();
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
        let mut sums = self.tally.nothing();
        let others =
            self.tally.own.iter().filter(|((thread, ..), _)| *thread == SampledThread::Other);
        others.for_each(|(_, series)| add(&mut sums, series));
        let [base, head] = sums.each_ref().map(|sum| mean(sum));
        let change = self.change(&sums);
        (base > 0.0 || head > 0.0).then_some(Threads { base, head, change })
    }
}

/// The difference of the head in each pair.
fn differences([base, head]: &Series) -> Vec<f64> {
    head.iter().zip(base).map(|(head, base)| head - base).collect()
}

fn add(sum: &mut Series, series: &Series) {
    let times = sum.iter_mut().flatten().zip(series.iter().flatten());
    times.for_each(|(sum, time)| *sum += time);
}
