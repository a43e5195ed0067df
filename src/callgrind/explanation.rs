//! Where the difference between two versions went, function by function.

use std::{cmp::Ordering, collections::BTreeMap};

use super::{
    attribution::attributed,
    matching::{Code, Matched, Side, matched},
    sum::{Function, Place, Profile},
};
use crate::elf::Name;

/// Where the difference between two versions of a benchmark went. All numbers are of one iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// The instructions that the base executed.
    pub base: f64,
    /// The instructions that the head executed.
    pub head: f64,
    /// The functions that were executed in either version, those that explain most first.
    pub functions: Vec<FunctionDifference>,
}

/// What a function executed in two versions.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionDifference {
    /// Its demangled name.
    pub name: Name,
    /// Where it is: in the head, if that executed it.
    pub place: Place,
    /// How its machine code differs.
    pub code: Code,
    /// What it executed in the base; absent if it was not called there.
    pub base: Option<Executed>,
    /// What it executed in the head; absent if it was not called there.
    pub head: Option<Executed>,
    /// The functions that only the head's calls, the most instructions first.
    pub callees_gained: Vec<Callee>,
    /// The functions that only the base's calls, the most instructions first.
    pub callees_lost: Vec<Callee>,
    /// Where only one version calls it: the caller that it is inlined into in the other one, going by the numbers. That
    /// caller executes about as many instructions more itself as are missing here.
    pub inlined_into: Option<Name>,
}

/// What a function executed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Executed {
    /// Instructions that it executed itself.
    pub own: f64,
    /// The same together with what it called; of functions that call each other in a circle, of the whole circle.
    pub inclusive: f64,
    /// How often it was called.
    pub calls: f64,
    /// The instructions that it is the reason of: if its code differs, its own and those of functions that it called and
    /// whose code does not differ. These are the reason of nothing themselves, unless nothing that differs called them.
    pub attributed: f64,
}

/// A function that is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Callee {
    /// Its demangled name.
    pub name: Name,
    /// How often it was called.
    pub calls: f64,
    /// The instructions that these calls took.
    pub inclusive: f64,
}

impl Explanation {
    /// How many instructions more the head executed.
    pub fn difference(&self) -> f64 {
        self.head - self.base
    }

    /// The functions with other machine code that were executed, or that only one version has.
    pub fn reasons(&self) -> impl Iterator<Item = &FunctionDifference> {
        self.functions.iter().filter(|function| function.code.differs())
    }
}

impl FunctionDifference {
    /// How many instructions more the head's function executed itself.
    pub fn own(&self) -> f64 {
        self.difference(|executed| executed.own)
    }

    /// The same together with what it called.
    pub fn inclusive(&self) -> f64 {
        self.difference(|executed| executed.inclusive)
    }

    /// How many instructions more it is the reason of.
    pub fn attributed(&self) -> f64 {
        self.difference(|executed| executed.attributed)
    }

    /// How often the base and the head called it.
    pub fn calls(&self) -> [f64; 2] {
        [self.base, self.head].map(|executed| executed.unwrap_or_default().calls)
    }

    fn difference(&self, of: impl Fn(Executed) -> f64) -> f64 {
        of(self.head.unwrap_or_default()) - of(self.base.unwrap_or_default())
    }
}

/// Explains the difference between the base and the head.
pub fn explain(sides: [Side<'_>; 2]) -> Explanation {
    let all = matched(sides);
    let [base, head] = [0, 1].map(|version| {
        let place = |one: &Matched| if version == 0 { one.base } else { one.head };
        Executions::new(sides[version].profile, &all, place)
    });
    let mut functions: Vec<_> =
        all.iter().enumerate().map(|(index, one)| difference(index, one, [&base, &head])).collect();
    let absent = absent(&all, &functions, [&base, &head]);
    for (function, inlined_into) in functions.iter_mut().zip(absent) {
        function.inlined_into = inlined_into;
    }
    sort(&mut functions);
    Explanation { base: base.total(), head: head.total(), functions }
}

/// Sorts functions by how much they explain: those with other code by what they are the reason of, and others by what
/// they executed themselves. Where functions with other code are the reason of less than half of it, all go by the latter.
fn sort(functions: &mut [FunctionDifference]) {
    let sum = |differs: bool| -> f64 {
        let functions = functions.iter().filter(|function| function.code.differs() == differs);
        let attributed = functions.map(FunctionDifference::attributed);
        if differs { attributed.map(f64::abs).sum() } else { attributed.sum::<f64>().abs() }
    };
    let have_reasons = sum(true) >= sum(false);
    functions.sort_by(|one, other| {
        let is_reason = |one: &FunctionDifference| {
            one.code.differs() && have_reasons && one.attributed() != 0.0
        };
        let size = |one: &FunctionDifference| {
            if is_reason(one) { one.attributed().abs() } else { one.own().abs() }
        };
        is_reason(other)
            .cmp(&is_reason(one))
            .then_with(|| size(other).total_cmp(&size(one)))
            .then_with(|| other.inclusive().abs().total_cmp(&one.inclusive().abs()))
            .then_with(|| other.code.differs().cmp(&one.code.differs()))
            .then_with(|| (&one.name, &one.place).cmp(&(&other.name, &other.place)))
    });
}

/// What a version executed, by the functions of both.
struct Executions<'p> {
    profile: &'p Profile,
    /// The place of each function of both versions in the profile.
    places: Vec<Option<usize>>,
    /// What was executed, by these indices.
    executed: Vec<Option<Executed>>,
    /// The calls of each function, by the callee and with their number and instructions.
    callees: Vec<BTreeMap<usize, (f64, f64)>>,
}

impl<'p> Executions<'p> {
    fn new(
        profile: &'p Profile,
        all: &[Matched],
        place: impl Fn(&Matched) -> Option<usize>,
    ) -> Self {
        let places: Vec<Option<usize>> = all.iter().map(place).collect();
        let mut indices = vec![0; profile.functions.len()];
        for (index, place) in places.iter().enumerate() {
            if let Some(place) = place {
                indices[*place] = index;
            }
        }
        let per_iteration = |sum: f64| sum / profile.iterations.max(1) as f64;
        let is_reason = reasons(profile, &indices, all);
        let attributed = attributed(profile, &is_reason);
        let (inclusive, calls) = (profile.inclusive(), profile.call_counts());
        let executed = |place: usize| Executed {
            own: per_iteration(profile.own[place] as f64),
            inclusive: per_iteration(inclusive[place] as f64),
            calls: per_iteration(calls[place] as f64),
            attributed: per_iteration(attributed[place]),
        };
        let executed = places.iter().map(|place| place.map(executed)).collect();
        let mut callees = vec![BTreeMap::new(); all.len()];
        for ((from, to), calls) in profile.calls.iter().filter(|(_, calls)| calls.count > 0) {
            let numbers = [calls.count, calls.inclusive].map(|sum| per_iteration(sum as f64));
            callees[indices[*from]].insert(indices[*to], (numbers[0], numbers[1]));
        }
        Self { profile, places, executed, callees }
    }

    fn total(&self) -> f64 {
        self.profile.total() as f64 / self.profile.iterations.max(1) as f64
    }

    fn function(&self, index: usize) -> Option<&Function> {
        self.profile.functions.get(self.places.get(index).copied()??)
    }
}

/// Which functions of a profile are the reason of what they and their callees execute: those that both versions have
/// and that differ. One that only this version has is a part of whatever calls it and differs, too; only where nothing
/// does, it stands for itself.
fn reasons(profile: &Profile, indices: &[usize], all: &[Matched]) -> Vec<bool> {
    let code = |place: usize| &all[indices[place]].code;
    let mut is_called_by_reason = vec![false; profile.functions.len()];
    for ((from, to), calls) in &profile.calls {
        is_called_by_reason[*to] |= calls.count > 0 && from != to && code(*from).differs();
    }
    let is_reason = |place: usize| match code(place) {
        Code::Changed(_) => true,
        Code::OnlyBase(_) | Code::OnlyHead(_) => !is_called_by_reason[place],
        Code::Same | Code::Unknown => false,
    };
    (0..profile.functions.len()).map(is_reason).collect()
}

fn difference(index: usize, one: &Matched, versions: [&Executions<'_>; 2]) -> FunctionDifference {
    let [base, head] = versions;
    let function = match (one.head, one.base) {
        (Some(place), _) => head.profile.functions.get(place),
        (None, Some(place)) => base.profile.functions.get(place),
        (None, None) => None,
    };
    let (name, place) = function.map_or_else(
        || (Name::demangle(""), Place::Library(String::new())),
        |function| (function.name.clone(), function.place.clone()),
    );
    let only = |own: &Executions<'_>, other: &Executions<'_>| -> Vec<Callee> {
        let is_alone = |(callee, _): &(&usize, &(f64, f64))| {
            **callee != index && !other.callees[index].contains_key(callee)
        };
        let mut callees: Vec<_> = own.callees[index]
            .iter()
            .filter(is_alone)
            .filter_map(|(callee, (calls, inclusive))| {
                let name = own.function(*callee)?.name.clone();
                Some(Callee { name, calls: *calls, inclusive: *inclusive })
            })
            .collect();
        callees.sort_by(largest_first);
        callees
    };
    FunctionDifference {
        name,
        place,
        code: one.code.clone(),
        base: base.executed[index],
        head: head.executed[index],
        callees_gained: only(head, base),
        callees_lost: only(base, head),
        inlined_into: None,
    }
}

fn largest_first(one: &Callee, other: &Callee) -> Ordering {
    other.inclusive.total_cmp(&one.inclusive).then_with(|| one.name.cmp(&other.name))
}

/// Of each function that one version alone calls, the caller that it seems to be inlined into in the other one.
fn absent(
    all: &[Matched],
    functions: &[FunctionDifference],
    versions: [&Executions<'_>; 2],
) -> Vec<Option<Name>> {
    let inlined_into = |index: usize| {
        let (function, executed) = (&functions[index], &all[index]);
        let version = match (executed.base, executed.head) {
            (Some(_), None) => versions[0],
            (None, Some(_)) => versions[1],
            _ => return None,
        };
        let callers = (0..all.len())
            .filter(|caller| *caller != index && version.callees[*caller].contains_key(&index));
        let callers = callers.filter(|caller| {
            let is_in_both = all[*caller].base.is_some() && all[*caller].head.is_some();
            is_in_both && is_about_opposite(functions[*caller].own(), function.own())
        });
        let most = callers.max_by(|one, other| {
            functions[*one].own().abs().total_cmp(&functions[*other].own().abs())
        })?;
        Some(functions[most].name.clone())
    };
    (0..all.len()).map(inlined_into).collect()
}

/// Whether one is gained about as much as the other is lost. Code that is inlined is optimised with what is around it, and
/// needs neither call nor return.
fn is_about_opposite(one: f64, other: f64) -> bool {
    const LEAST: f64 = 0.25;
    const MOST: f64 = 1.5;
    one * other < 0.0 && (LEAST..=MOST).contains(&(one / other).abs())
}

#[cfg(test)]
mod tests;
