//! What a benchmark reaches, for programs.

use serde::Serialize;

use crate::{
    code::{Cause, Name},
    reach::{Reach, ReachedFunction},
};

/// What of the differences a benchmark executes or reads.
#[derive(Serialize)]
pub struct ReachFields<'r> {
    functions: Vec<ReachedFields<'r>>,
    files: &'r [String],
    variables: &'r [String],
    doubts: &'r [String],
}

/// A function that it enters.
#[derive(Serialize)]
struct ReachedFields<'r> {
    name: &'r str,
    instance: String,
    base_size_bytes: Option<u64>,
    head_size_bytes: Option<u64>,
    base_stack_bytes: Option<u64>,
    head_stack_bytes: Option<u64>,
    while_measuring: bool,
    #[serde(flatten)]
    difference: Difference<'r>,
}

/// What of a function differs.
#[derive(Serialize)]
pub struct Difference<'r> {
    differs: &'static str,
    data: Option<&'r str>,
    callees_gained: Vec<&'r str>,
    callees_lost: Vec<&'r str>,
}

impl<'r> Difference<'r> {
    /// By its cause, and the functions that only one of the versions refers to: the head, the base.
    pub fn new(cause: &'r Cause, gained: &'r [Name], lost: &'r [Name]) -> Self {
        let (differs, data) = match cause {
            Cause::Code => ("code", None),
            Cause::Data(name) => ("data", name.as_ref().map(Name::as_str)),
        };
        let names = |names: &'r [Name]| names.iter().map(Name::as_str).collect();
        Self { differs, data, callees_gained: names(gained), callees_lost: names(lost) }
    }
}

impl<'r> From<&'r Reach> for ReachFields<'r> {
    fn from(Reach { functions, files, variables, doubts }: &'r Reach) -> Self {
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
        Self { functions: functions.iter().map(function).collect(), files, variables, doubts }
    }
}
