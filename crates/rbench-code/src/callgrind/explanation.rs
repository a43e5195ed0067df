//! Explains the difference in instructions between two versions, function by function. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{attribution::attributed, sum::Profile};
use crate::{
    elf::{FunctionSet, Name},
    matching::{Code, Function, Matched, Place, is_about_opposite, matched},
};

/// One of the two compared versions.
#[derive(Clone, Copy, Debug)]
pub struct Side<'s> {
    pub profile: &'s Profile,
    pub functions: &'s FunctionSet,
}

/// The explanation of the difference between two versions of a benchmark. All numbers are per iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    pub base: f64,
    pub head: f64,
    /// The functions executed in either version, in the order of their contribution.
    pub functions: Vec<FunctionDifference>,
}

/// A function in two versions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FunctionDifference {
    /// Its demangled name.
    pub name: Name,
    /// Its place: in the head, if executed there.
    #[serde(flatten)]
    pub place: Place,
    /// The difference in its machine code.
    pub code: Code,
    /// Its execution in the base; absent if it was not called there.
    pub base: Option<Executed>,
    /// Its execution in the head; absent if it was not called there.
    pub head: Option<Executed>,
    /// The functions that only the head's version calls, the most instructions first.
    #[serde(rename = "called_gained")]
    pub callees_gained: Vec<Callee>,
    /// The functions that only the base's version calls, the most instructions first.
    #[serde(rename = "called_lost")]
    pub callees_lost: Vec<Callee>,
    /// If only one version calls it: the caller into which the other version probably inlines it. That caller's self
    /// cost grew by about as many instructions as are missing here.
    pub inlined_into: Option<Name>,
}

/// The execution of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Executed {
    /// Its self cost: instructions outside of its callees.
    #[serde(rename = "self")]
    #[schemars(range(min = 0))]
    pub own: f64,
    /// Its inclusive cost, with its callees; for functions that call each other in a cycle, that of the whole cycle.
    #[schemars(range(min = 0))]
    pub inclusive: f64,
    /// The number of calls.
    #[schemars(range(min = 0))]
    pub calls: f64,
    /// The instructions that it causes: if its code differs, its own and those of called functions with the same code.
    /// Those cause none themselves, unless no function that differs called them.
    #[serde(rename = "caused")]
    #[schemars(range(min = 0))]
    pub attributed: f64,
}

/// A function that is called.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Callee {
    /// Its demangled name.
    pub name: Name,
    /// The number of calls.
    #[schemars(range(min = 0))]
    pub calls: f64,
    /// The instructions of these calls.
    #[schemars(range(min = 0))]
    pub inclusive: f64,
}

impl Explanation {
    /// The additional instructions of the head.
    pub fn difference(&self) -> f64 {
        self.head - self.base
    }

    /// The executed functions with different machine code, or that only one version has.
    pub fn reasons(&self) -> impl Iterator<Item = &FunctionDifference> {
        self.functions.iter().filter(|function| function.code.differs())
    }
}

impl FunctionDifference {
    /// The additional self cost in the head, in instructions.
    pub fn own(&self) -> f64 {
        self.difference(|executed| executed.own)
    }

    /// The additional inclusive cost in the head, in instructions.
    pub fn inclusive(&self) -> f64 {
        self.difference(|executed| executed.inclusive)
    }

    /// The additional instructions that it causes in the head.
    pub fn attributed(&self) -> f64 {
        self.difference(|executed| executed.attributed)
    }

    /// The numbers of calls in the base and in the head.
    pub fn calls(&self) -> [f64; 2] {
        [self.base, self.head].map(|executed| executed.unwrap_or_default().calls)
    }

    fn difference(&self, of: impl Fn(Executed) -> f64) -> f64 {
        of(self.head.unwrap_or_default()) - of(self.base.unwrap_or_default())
    }
}

/// Explains the difference between the base and the head.
pub fn explain(sides: [Side<'_>; 2]) -> Explanation {
    let all =
        matched(sides.map(|side| &side.profile.functions[..]), sides.map(|side| side.functions));
    let indices = Matched::indices(&all, sides.map(|side| side.profile.functions.len()));
    let [base, head] = [0, 1]
        .map(|version| Executions::new(sides[version].profile, &all, version, &indices[version]));
    let mut functions: Vec<_> =
        (0..all.len()).map(|index| difference(index, &all, [&base, &head])).collect();
    let absent = absent(&all, &functions, [&base, &head]);
    for (function, inlined_into) in functions.iter_mut().zip(absent) {
        function.inlined_into = inlined_into;
    }
    sort(&mut functions);
    Explanation { base: base.total, head: head.total, functions }
}

/// Sorts functions by their contribution: those with different code by the instructions that they cause, others by
/// their self cost. If functions with different code cause less than half of the difference, all are sorted by self
/// cost.
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

/// The execution of a version, by the functions of both.
struct Executions {
    /// The instructions.
    total: f64,
    /// The execution of each function, by these indices.
    executed: Vec<Option<Executed>>,
    /// The calls from each function, by callee: their number and instructions.
    callees: Vec<BTreeMap<usize, (f64, f64)>>,
}

impl Executions {
    fn new(profile: &Profile, all: &[Matched], version: usize, indices: &[usize]) -> Self {
        let per_iteration = |sum: f64| sum / profile.iterations.max(1) as f64;
        let is_reason = reasons(profile, indices, all);
        let attributed = attributed(profile, &is_reason);
        let (inclusive, calls) = (profile.inclusive(), profile.call_counts());
        let executed = |place: usize| Executed {
            own: per_iteration(profile.own[place] as f64),
            inclusive: per_iteration(inclusive[place] as f64),
            calls: per_iteration(calls[place] as f64),
            attributed: per_iteration(attributed[place]),
        };
        let executed = all.iter().map(|one| one.places[version].map(executed)).collect();
        let mut callees = vec![BTreeMap::new(); all.len()];
        for ((from, to), calls) in profile.calls.iter().filter(|(_, calls)| calls.count > 0) {
            let numbers = [calls.count, calls.inclusive].map(|sum| per_iteration(sum as f64));
            callees[indices[*from]].insert(indices[*to], (numbers[0], numbers[1]));
        }
        Self { total: per_iteration(profile.total() as f64), executed, callees }
    }
}

/// Marks the functions of a profile that cause the instructions of themselves and their callees: those that both
/// versions have and that differ. A function of only this version belongs to its caller if that differs, too; otherwise
/// it counts by itself.
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

fn difference(index: usize, all: &[Matched], [base, head]: [&Executions; 2]) -> FunctionDifference {
    let Matched { function: Function { name, place }, code, .. } = &all[index];
    let only = |own: &Executions, other: &Executions| -> Vec<Callee> {
        let is_alone = |(callee, _): &(&usize, &(f64, f64))| {
            **callee != index && !other.callees[index].contains_key(callee)
        };
        let mut callees: Vec<_> = own.callees[index]
            .iter()
            .filter(is_alone)
            .map(|(callee, (calls, inclusive))| {
                let name = all[*callee].function.name.clone();
                Callee { name, calls: *calls, inclusive: *inclusive }
            })
            .collect();
        callees.sort_by(|one: &Callee, other| {
            other.inclusive.total_cmp(&one.inclusive).then_with(|| one.name.cmp(&other.name))
        });
        callees
    };
    FunctionDifference {
        name: name.clone(),
        place: place.clone(),
        code: code.clone(),
        base: base.executed[index],
        head: head.executed[index],
        callees_gained: only(head, base),
        callees_lost: only(base, head),
        inlined_into: None,
    }
}

/// For each function that only one version calls, the caller into which the other version seems to inline it.
fn absent(
    all: &[Matched],
    functions: &[FunctionDifference],
    versions: [&Executions; 2],
) -> Vec<Option<Name>> {
    let inlined_into = |index: usize| {
        let (function, executed) = (&functions[index], &all[index]);
        let version = match executed.places {
            [Some(_), None] => versions[0],
            [None, Some(_)] => versions[1],
            _ => return None,
        };
        let callers = (0..all.len())
            .filter(|caller| *caller != index && version.callees[*caller].contains_key(&index));
        let callers = callers.filter(|caller| {
            let is_in_both = all[*caller].places.iter().all(Option::is_some);
            is_in_both && is_about_opposite(functions[*caller].own(), function.own())
        });
        let most = callers.max_by(|one, other| {
            functions[*one].own().abs().total_cmp(&functions[*other].own().abs())
        })?;
        Some(functions[most].name.clone())
    };
    (0..all.len()).map(inlined_into).collect()
}

#[cfg(test)]
mod tests;
