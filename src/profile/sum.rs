//! What each function executed in the parts of a dump that are measured.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    callgrind::{Calls, Dump, Symbol},
    function::Function,
    graph::components,
};

/// What functions executed, in so many iterations of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The functions, in the order of their first appearance; places in the other fields refer to them.
    pub functions: Vec<Function>,
    /// The instructions that each of them executed itself.
    pub own: Vec<u64>,
    /// The calls between them, from caller to callee.
    pub calls: BTreeMap<(usize, usize), Calls>,
    /// The iterations of the benchmark that all of this is of.
    pub iterations: u64,
}

/// A sum of parts that becomes a profile.
pub struct Sum<'n> {
    named: &'n dyn Fn(&Symbol) -> Function,
    functions: Vec<Function>,
    places: HashMap<Function, usize>,
    own: Vec<i64>,
    /// The number of calls, and the instructions that these took.
    calls: BTreeMap<(usize, usize), [i64; 2]>,
}

impl<'n> Sum<'n> {
    /// An empty sum of functions that `named` tells by their symbols.
    pub fn new(named: &'n dyn Fn(&Symbol) -> Function) -> Self {
        Self {
            named,
            functions: Vec::new(),
            places: HashMap::new(),
            own: Vec::new(),
            calls: BTreeMap::new(),
        }
    }

    /// Adds all parts of a dump, or takes them away.
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
        *self.places.entry((self.named)(symbol)).or_insert_with_key(|function| {
            self.functions.push(function.clone());
            self.own.push(0);
            self.functions.len() - 1
        })
    }

    /// The profile of so many iterations: what was executed or called at all.
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
        let functions = self.functions.into_iter().enumerate();
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
    /// The instructions that were executed, of all iterations.
    pub fn total(&self) -> u64 {
        self.own.iter().fold(0, |sum, own| sum.saturating_add(*own))
    }

    /// The instructions that each function executed together with what it called. Functions that call each other
    /// in a circle have what the circle executed.
    pub fn inclusive(&self) -> Vec<u64> {
        let circles = components(self.functions.len(), self.calls.keys().copied());
        let mut sums = vec![0_u64; self.functions.len()];
        for (function, own) in self.own.iter().enumerate() {
            let sum = &mut sums[circles[function]];
            *sum = sum.saturating_add(*own);
        }
        for ((from, to), calls) in &self.calls {
            if circles[*from] != circles[*to] {
                let sum = &mut sums[circles[*from]];
                *sum = sum.saturating_add(calls.inclusive);
            }
        }
        circles.into_iter().map(|circle| sums[circle]).collect()
    }

    /// How often each function was called by another one, or by itself.
    pub fn call_counts(&self) -> Vec<u64> {
        let mut counts = vec![0_u64; self.functions.len()];
        for ((_, to), calls) in &self.calls {
            counts[*to] = counts[*to].saturating_add(calls.count);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            callgrind::parse,
            testing::{function, profile},
        },
        *,
    };

    #[test]
    fn what_is_taken_away_cancels_and_functions_that_executed_nothing_are_left_out() {
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
    fn inclusive_costs_are_those_of_a_function_and_of_what_it_called() {
        let profile =
            profile(1, &[("a", 10), ("b", 20), ("c", 5)], &[("a", "b", 2, 25), ("b", "c", 1, 5)]);
        assert_eq!(profile.inclusive(), [35, 25, 5]);
        assert_eq!(profile.call_counts(), [0, 2, 1]);
        assert_eq!(profile.total(), 35);
    }

    #[test]
    fn functions_that_call_each_other_in_a_circle_have_what_the_circle_executed() {
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
}
