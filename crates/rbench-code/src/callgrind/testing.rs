//! Profiles for tests.

use super::{output::Calls, sum::Profile};
use crate::{
    elf::{Digest, FunctionCode, FunctionSet, Name, instance_of},
    matching::{Function, Place},
};

/// The function of the program with this symbol.
pub(crate) fn function(symbol: &str) -> Function {
    Function { name: Name::demangle(symbol), place: Place::Program(instance_of(symbol)) }
}

/// Functions of a program, each with its symbol and a byte that represents its code.
pub(crate) fn code_of(functions: &[(&str, u8)]) -> FunctionSet {
    let code = |(symbol, code): &(&str, u8)| {
        let function = function(symbol);
        let Place::Program(instance) = function.place else { panic!("{function:?}") };
        let digest = Digest::compute(&[*code]);
        FunctionCode { name: function.name, instance, size: 16, digest, stack: None }
    };
    functions.iter().map(code).collect()
}

/// A profile of `iterations` iterations: functions with their self cost; and calls with caller, callee, number and
/// instructions.
pub(super) fn profile(
    iterations: u64,
    functions: &[(&str, u64)],
    calls: &[(&str, &str, u64, u64)],
) -> Profile {
    let place = |name: &str| functions.iter().position(|(other, _)| *other == name).unwrap();
    let calls = calls.iter().map(|(from, to, count, inclusive)| {
        ((place(from), place(to)), Calls { count: *count, inclusive: *inclusive })
    });
    Profile {
        functions: functions.iter().map(|(name, _)| function(name)).collect(),
        own: functions.iter().map(|(_, own)| *own).collect(),
        calls: calls.collect(),
        iterations,
    }
}
