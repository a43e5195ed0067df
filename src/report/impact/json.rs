//! The impact of the differences on a benchmark, for programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    elf::{Cause, Name},
    impact::{Impact, ReachedFunction},
    report::json::HASH,
};

/// The impact of the differences between the versions on a benchmark: those that it executes or
/// reads.
#[derive(Serialize, JsonSchema)]
pub struct ReachFields<'r> {
    /// The functions that differ and that it enters, in either version.
    functions: Vec<ReachedFields<'r>>,
    /// The files that it reads and that differ, below the root of the repository.
    files: &'r [String],
    /// The environment variables that it reads and that differ.
    variables: &'r [String],
    /// Reasons why it may execute or read more than is known.
    uncertainties: &'r [String],
}

/// A function that differs and that the benchmark enters.
#[derive(Serialize, JsonSchema)]
struct ReachedFields<'r> {
    /// Its demangled name, without hashes.
    name: &'r str,
    /// Distinguishes functions of one name: a digest of the symbol, in the head if that has it.
    #[schemars(regex(pattern = HASH))]
    instance: String,
    /// null if the base lacks it.
    base_size_bytes: Option<u64>,
    /// null if the head lacks it.
    head_size_bytes: Option<u64>,
    /// The size of its stack frame in the base; null if that is unknown, or the base lacks it.
    base_stack_bytes: Option<u64>,
    /// The size of its stack frame in the head; null if that is unknown, or the head lacks it.
    head_stack_bytes: Option<u64>,
    /// True if it is entered after the clock was first read; otherwise only in set-up.
    while_measuring: bool,
    #[serde(flatten)]
    difference: Difference<'r>,
}

/// The difference between two versions of a function.
#[derive(Serialize, JsonSchema)]
pub struct Difference<'r> {
    /// The part that differs: its code, or only the data that it refers to.
    #[schemars(extend("enum" = ["code", "data"]))]
    differs: &'static str,
    /// The static whose contents differ, if only data differs and it has a name.
    data: Option<&'r str>,
    /// The functions that only the head's refers to.
    callees_gained: Vec<&'r str>,
    /// The functions that only the base's refers to: inlined, or not called any more.
    callees_lost: Vec<&'r str>,
}

impl<'r> Difference<'r> {
    /// The difference by its cause, and the functions that only head (`gained`) or base (`lost`)
    /// refers to.
    pub fn new(cause: &'r Cause, gained: &'r [Name], lost: &'r [Name]) -> Self {
        let (differs, data) = match cause {
            Cause::Code => ("code", None),
            Cause::Data(name) => ("data", name.as_ref().map(Name::as_str)),
        };
        let names = |names: &'r [Name]| names.iter().map(Name::as_str).collect();
        Self { differs, data, callees_gained: names(gained), callees_lost: names(lost) }
    }
}

impl<'r> From<&'r Impact> for ReachFields<'r> {
    fn from(Impact { functions, files, variables, uncertainties }: &'r Impact) -> Self {
        let function = |function: &'r ReachedFunction| ReachedFields {
            name: function.name.as_str(),
            instance: format!("{:016x}", function.instance),
            base_size_bytes: function.base_size,
            head_size_bytes: function.head_size,
            base_stack_bytes: function.base_stack,
            head_stack_bytes: function.head_stack,
            while_measuring: function.while_measuring,
            difference: Difference::new(
                &function.cause,
                &function.callees_gained,
                &function.callees_lost,
            ),
        };
        Self {
            functions: functions.iter().map(function).collect(),
            files,
            variables,
            uncertainties,
        }
    }
}
