//! Sums the instructions of each function over the measured parts of a dump. Functions are identified by names that are
//! the same in every version, and parts by the values that the process read from a counting clock. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    graph::components,
    output::{Calls, Dump, Symbol},
};
use crate::{
    elf::{LinkedFunction, Name, instance_of},
    matching::{Function, FunctionTable, NO_SYMBOL, Place},
};

/// The instructions of functions in a number of iterations of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The functions, in the order of their first appearance; indices in the other fields refer to them.
    pub functions: Vec<Function>,
    /// The self cost of each function, in instructions.
    pub own: Vec<u64>,
    /// The calls between them, from caller to callee.
    pub calls: BTreeMap<(usize, usize), Calls>,
    /// The number of iterations that the profile covers.
    pub iterations: u64,
}

/// A signed sum of parts that becomes a profile.
pub struct Sum<'n> {
    named: &'n dyn Fn(&Symbol) -> Function,
    functions: FunctionTable,
    own: Vec<i64>,
    /// The number of calls, and their instructions.
    calls: BTreeMap<(usize, usize), [i64; 2]>,
}

impl<'n> Sum<'n> {
    /// An empty sum; `named` identifies the functions by their symbols.
    pub fn new(named: &'n dyn Fn(&Symbol) -> Function) -> Self {
        let functions = FunctionTable::default();
        Self { named, functions, own: Vec::new(), calls: BTreeMap::new() }
    }

    /// Adds all parts of a dump, or subtracts them.
    pub fn add(&mut self, dump: &Dump, is_taken_away: bool) {
        let sign = if is_taken_away { -1 } else { 1 };
        let number = |count: u64| sign * i64::try_from(count).unwrap_or(i64::MAX);
        let places: Vec<usize> = dump.symbols.iter().map(|symbol| self.place(symbol)).collect();
        for part in &dump.parts {
            for (index, own) in &part.own {
                let sum = &mut self.own[places[*index]];
                *sum = sum.saturating_add(number(*own));
            }
            for ((from, to), calls) in &part.calls {
                let [count, inclusive] =
                    self.calls.entry((places[*from], places[*to])).or_default();
                *count = count.saturating_add(number(calls.count));
                *inclusive = inclusive.saturating_add(number(calls.inclusive));
            }
        }
    }

    fn place(&mut self, symbol: &Symbol) -> usize {
        let place = self.functions.index((self.named)(symbol));
        self.own.resize(self.own.len().max(place + 1), 0);
        place
    }

    /// The profile of `iterations` iterations, without functions that executed nothing and calls that never happened.
    pub fn profile(self, iterations: u64) -> Profile {
        let number = |sum: i64| u64::try_from(sum).unwrap_or_default();
        let calls = self.calls.into_iter().filter_map(|(key, [count, inclusive])| {
            let calls = Calls { count: number(count), inclusive: number(inclusive) };
            (calls != Calls::default()).then_some((key, calls))
        });
        let calls: BTreeMap<_, _> = calls.collect();
        let own: Vec<u64> = self.own.into_iter().map(number).collect();
        let is_called: BTreeSet<usize> = calls.keys().flat_map(|(from, to)| [*from, *to]).collect();
        let is_kept: Vec<bool> =
            (0..own.len()).map(|place| own[place] > 0 || is_called.contains(&place)).collect();
        let mut next = 0;
        let places = is_kept.iter().map(|is_kept| {
            next += usize::from(*is_kept);
            next.saturating_sub(1)
        });
        let places: Vec<usize> = places.collect();
        let kept = |place: &usize| is_kept[*place];
        let functions = self.functions.into_functions().into_iter().enumerate();
        Profile {
            functions: functions.filter(|(place, _)| kept(place)).map(|(_, one)| one).collect(),
            own: (0..own.len()).filter(kept).map(|place| own[place]).collect(),
            calls: calls
                .into_iter()
                .map(|((from, to), calls)| ((places[from], places[to]), calls))
                .collect(),
            iterations,
        }
    }
}

impl Profile {
    pub fn total(&self) -> u64 {
        self.own.iter().fold(0, |sum, own| sum.saturating_add(*own))
    }

    /// The inclusive cost of each function in instructions, with its callees. Functions that call each other in a cycle
    /// have the cost of the cycle.
    pub fn inclusive(&self) -> Vec<u64> {
        let cycles = components(self.functions.len(), self.calls.keys().copied());
        let mut sums = vec![0_u64; self.functions.len()];
        for (function, own) in self.own.iter().enumerate() {
            let sum = &mut sums[cycles[function]];
            *sum = sum.saturating_add(*own);
        }
        for ((from, to), calls) in &self.calls {
            if cycles[*from] != cycles[*to] {
                let sum = &mut sums[cycles[*from]];
                *sum = sum.saturating_add(calls.inclusive);
            }
        }
        cycles.into_iter().map(|cycle| sums[cycle]).collect()
    }

    /// The number of calls of each function, by others or by itself.
    pub fn call_counts(&self) -> Vec<u64> {
        let mut counts = vec![0_u64; self.functions.len()];
        for ((_, to), calls) in &self.calls {
            counts[*to] = counts[*to].saturating_add(calls.count);
        }
        counts
    }
}

/// Names the functions of an executable and of its libraries.
pub struct Functions<'p> {
    /// The path of the executable, as in callgrind's output.
    program: &'p str,
    /// The first symbol of each function, by each of its symbols.
    symbols: HashMap<&'p str, &'p str>,
}

impl<'p> Functions<'p> {
    /// Names for the executable at this path, with the functions that the linker kept.
    pub fn new(program: &'p str, kept: &'p [LinkedFunction]) -> Self {
        let of = |function: &'p LinkedFunction| {
            function.symbols().map(|symbol| (symbol, function.symbol.as_str()))
        };
        Self { program, symbols: kept.iter().flat_map(of).collect() }
    }

    pub fn named(&self, symbol: &Symbol) -> Function {
        let name = without_level(&symbol.name);
        if symbol.object == self.program {
            let name = self.symbols.get(name).copied().unwrap_or(name);
            let name = if is_address(name) { NO_SYMBOL } else { name };
            return Function {
                name: Name::demangle(name),
                place: Place::Program(instance_of(name)),
            };
        }
        let file = symbol.object.rsplit('/').next().unwrap_or_default();
        let name = if is_address(name) { NO_SYMBOL } else { name };
        Function { name: Name::demangle(name), place: Place::Library(file.to_owned()) }
    }
}

/// Strips the recursion level from a symbol: `walk'2`.
fn without_level(name: &str) -> &str {
    match name.rsplit_once('\'') {
        Some((name, level)) if level.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

fn is_address(name: &str) -> bool {
    name.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Pairs of indices of readings; each pair bounds one stretch of a measurement.
pub type Stretches = Vec<(usize, usize)>;

/// Finds the stretches of each measurement: `executed` has the instructions of each, in the order of measurement, and
/// `counts` the instructions up to each reading of the clock.
///
/// A measurement is one stretch between consecutive readings, or several, with one stretch in between that prepares the
/// following one. If possible, a measurement starts at the reading after the end of the one before. None if there are
/// no such stretches.
pub fn stretches(counts: &[u64], executed: &[u64]) -> Option<Vec<Stretches>> {
    let in_succession = (0..counts.len()).find_map(|start| from(counts, start, executed, 0));
    in_succession.or_else(|| from(counts, 0, executed, counts.len()))
}

/// Like [`stretches`], where the first measurement starts at reading `start` or up to `patience` readings later, and
/// each of the others up to `patience` readings after the one before.
fn from(counts: &[u64], start: usize, executed: &[u64], patience: usize) -> Option<Vec<Stretches>> {
    let mut next = start;
    let mut all = Vec::with_capacity(executed.len());
    for executed in executed {
        let mut starts = next..counts.len().min(next + patience + 1);
        let (found, end) = starts.find_map(|start| fitting(counts, start, *executed))?;
        all.push(found);
        next = end + 1;
    }
    Some(all)
}

/// The stretches from a reading that execute this number of instructions together, and the last of their readings.
fn fitting(counts: &[u64], start: usize, executed: u64) -> Option<(Stretches, usize)> {
    let mut sum = 0;
    let mut found = Stretches::new();
    let mut start = start;
    loop {
        let end = start + 1;
        sum += counts.get(end)?.checked_sub(*counts.get(start)?)?;
        found.push((start, end));
        if sum == executed {
            return Some((found, end));
        }
        if sum > executed {
            return None;
        }
        start = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::callgrind::{
        output::parse,
        testing::{function, profile},
    };

    #[test]
    fn subtracted_parts_cancel_and_idle_functions_are_left_out() {
        let named = |symbol: &Symbol| function(&symbol.name);
        let of = |iterations: u64| {
            let text = format!(
                "events: Ir\nfn=now\n0 30\nfn=work\n0 {}\ncfn=leaf\ncalls={} 0\n0 {}\nfn=leaf\n0 {}\n",
                7 * iterations,
                iterations,
                20 * iterations,
                20 * iterations
            );
            parse(text.as_bytes()).unwrap()
        };
        let mut sum = Sum::new(&named);
        sum.add(&of(2), true);
        sum.add(&of(5), false);
        let found = sum.profile(3);
        let expected = profile(3, &[("work", 21), ("leaf", 60)], &[("work", "leaf", 3, 60)]);
        assert_eq!(found, expected);
    }

    #[test]
    fn inclusive_cost_includes_callees() {
        let profile =
            profile(1, &[("a", 10), ("b", 20), ("c", 5)], &[("a", "b", 2, 25), ("b", "c", 1, 5)]);
        assert_eq!(profile.inclusive(), [35, 25, 5]);
        assert_eq!(profile.call_counts(), [0, 2, 1]);
        assert_eq!(profile.total(), 35);
    }

    #[test]
    fn inclusive_cost_of_a_cycle_is_shared() {
        let profile = profile(
            1,
            &[("walk", 100), ("step", 60), ("leaf", 7), ("main", 1)],
            &[
                ("main", "walk", 1, 167),
                ("walk", "step", 5, 400),
                ("step", "walk", 4, 300),
                ("walk", "walk", 4, 200),
                ("step", "leaf", 7, 7),
            ],
        );
        assert_eq!(profile.inclusive(), [167, 167, 7, 168]);
    }

    #[test]
    fn functions_are_identified_by_first_symbol_or_library() {
        let kept = [LinkedFunction {
            symbol: "_ZN4work5parse17h0123456789abcdefE".to_owned(),
            name: Name::demangle("_ZN4work5parse17h0123456789abcdefE"),
            address: 16,
            size: 4,
            aliases: vec!["alias".to_owned()],
        }];
        let functions = Functions::new("/tmp/work", &kept);
        let named = |object: &str, name: &str| {
            functions.named(&Symbol { object: object.to_owned(), name: name.to_owned() })
        };
        let parse = named("/tmp/work", "alias");
        assert_eq!(parse.name.as_str(), "work::parse");
        assert_eq!(parse.place, Place::Program(instance_of(&kept[0].symbol)));
        assert_eq!(parse, named("/tmp/work", &kept[0].symbol));
        assert_eq!(parse, named("/tmp/work", "alias'2"));
        let memcpy = named("/usr/lib/libc.so.6", "memcpy");
        assert_eq!(memcpy.place, Place::Library("libc.so.6".to_owned()));
        assert_eq!(named("/tmp/work", "0x00001230"), named("/tmp/work", "0x00001240"));
    }

    #[test]
    fn stretches_are_found_after_other_work() {
        // Set-up, one warm-up, and three measurements with other work in between.
        let counts = [5_000, 5_090, 5_100, 5_300, 5_307, 5_607, 5_614, 6_014];
        let found = stretches(&counts, &[200, 300, 400]).unwrap();
        assert_eq!(found, [vec![(2, 3)], vec![(4, 5)], vec![(6, 7)]]);
        assert_eq!(stretches(&counts, &[201]), None);
        assert_eq!(stretches(&counts, &[400, 200]), None, "in their order");
    }

    proptest! {
        #[test]
        fn stretches_are_found_for_split_measurements(
            measurements in prop::collection::vec(prop::collection::vec((1..50_u64, 100..200_u64), 1..5), 1..6),
            before in 1_000_000..2_000_000_u64,
        ) {
            let (mut counts, mut now) = (Vec::new(), before);
            let mut executed = Vec::new();
            for measurement in &measurements {
                let mut sum = 0;
                for (preparation, own) in measurement {
                    now += preparation;
                    counts.push(now);
                    now += own;
                    counts.push(now);
                    sum += own;
                }
                executed.push(sum);
            }
            let found = stretches(&counts, &executed).unwrap();
            for (found, executed) in found.iter().zip(&executed) {
                let own = |(start, end): &(usize, usize)| counts[*end] - counts[*start];
                prop_assert_eq!(found.iter().map(own).sum::<u64>(), *executed);
            }
        }
    }
}
