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
    while_measuring: bool,
    differs: &'static str,
    data: Option<&'r str>,
    callees_gained: Vec<&'r str>,
    callees_lost: Vec<&'r str>,
}

impl<'r> From<&'r Reach> for ReachFields<'r> {
    fn from(Reach { functions, files, variables, doubts }: &'r Reach) -> Self {
        let function = |function: &'r ReachedFunction| ReachedFields {
            name: function.name.as_str(),
            instance: format!("{:016x}", function.instance),
            base_size_bytes: function.base_size,
            head_size_bytes: function.head_size,
            while_measuring: function.while_measuring,
            differs: match function.cause {
                Cause::Code => "code",
                Cause::Data(_) => "data",
            },
            data: match &function.cause {
                Cause::Code => None,
                Cause::Data(name) => name.as_ref().map(Name::as_str),
            },
            callees_gained: function.callees_gained.iter().map(Name::as_str).collect(),
            callees_lost: function.callees_lost.iter().map(Name::as_str).collect(),
        };
        Self { functions: functions.iter().map(function).collect(), files, variables, doubts }
    }
}
