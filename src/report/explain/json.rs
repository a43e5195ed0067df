//! The explanation for programs.

use serde::Serialize;

use super::ExplainReport;
use crate::{
    code::{ChangedFunction, Name, SizedFunction},
    failure::Result,
    profile::{Callee, Code, Executed, FunctionDifference, Place},
    report::{
        json::{Dependency, FullName, Version, document},
        reach::{Difference, ReachFields},
    },
};

#[derive(Serialize)]
struct Explained<'r> {
    base: Version<'r>,
    head: Version<'r>,
    #[serde(flatten)]
    benchmark: FullName<'r>,
    base_instructions: f64,
    head_instructions: f64,
    without_reason: f64,
    functions: Vec<FunctionFields<'r>>,
    reach: ReachFields<'r>,
    dependencies: Vec<Dependency<'r>>,
}

#[derive(Serialize)]
struct FunctionFields<'r> {
    name: &'r str,
    /// Absent in a library.
    instance: Option<String>,
    library: Option<&'r str>,
    code: &'static str,
    base_bytes: Option<u64>,
    head_bytes: Option<u64>,
    base_stack_bytes: Option<u64>,
    head_stack_bytes: Option<u64>,
    difference: Option<Difference<'r>>,
    base: Option<ExecutedFields>,
    head: Option<ExecutedFields>,
    caused: f64,
    #[serde(rename = "self")]
    own: f64,
    inclusive: f64,
    called_gained: Vec<CalleeFields<'r>>,
    called_lost: Vec<CalleeFields<'r>>,
    inlined_into: Option<&'r str>,
}

#[derive(Serialize)]
struct ExecutedFields {
    #[serde(rename = "self")]
    own: f64,
    inclusive: f64,
    caused: f64,
    calls: f64,
}

#[derive(Serialize)]
struct CalleeFields<'r> {
    name: &'r str,
    calls: f64,
    inclusive: f64,
}

impl ExplainReport {
    pub(super) fn write_json(&self) -> Result<String> {
        document(&Explained {
            base: (&self.base).into(),
            head: (&self.head).into(),
            benchmark: (&self.benchmark).into(),
            base_instructions: self.explanation.base,
            head_instructions: self.explanation.head,
            without_reason: self.without_reason(),
            functions: self.explanation.functions.iter().map(FunctionFields::from).collect(),
            reach: (&self.reach).into(),
            dependencies: self.dependencies.iter().map(Dependency::from).collect(),
        })
    }
}

impl<'r> From<&'r FunctionDifference> for FunctionFields<'r> {
    fn from(function: &'r FunctionDifference) -> Self {
        let (code, [base, head]) = sizes(&function.code);
        let difference = match &function.code {
            Code::Changed(changed) => Some(Difference::new(
                &changed.cause,
                &changed.callees_gained,
                &changed.callees_lost,
            )),
            _ => None,
        };
        let (instance, library) = match &function.place {
            Place::Program(instance) => (Some(format!("{instance:016x}")), None),
            Place::Library(file) => (None, Some(file.as_str())),
        };
        Self {
            name: function.name.as_str(),
            instance,
            library,
            code,
            base_bytes: base.map(|(size, _)| size),
            head_bytes: head.map(|(size, _)| size),
            base_stack_bytes: base.and_then(|(_, stack)| stack),
            head_stack_bytes: head.and_then(|(_, stack)| stack),
            difference,
            base: function.base.map(ExecutedFields::from),
            head: function.head.map(ExecutedFields::from),
            caused: function.attributed(),
            own: function.own(),
            inclusive: function.inclusive(),
            called_gained: function.callees_gained.iter().map(CalleeFields::from).collect(),
            called_lost: function.callees_lost.iter().map(CalleeFields::from).collect(),
            inlined_into: function.inlined_into.as_ref().map(Name::as_str),
        }
    }
}

/// A size in bytes, and how many bytes of the stack its frame takes, where that is known.
type Size = (u64, Option<u64>);

/// What the JSON calls the difference of code, and the sizes in base and head.
fn sizes(code: &Code) -> (&'static str, [Option<Size>; 2]) {
    match code {
        Code::Same => ("same", [None, None]),
        Code::Unknown => ("unknown", [None, None]),
        Code::Changed(changed) => {
            let ChangedFunction { base_size, head_size, base_stack, head_stack, .. } = &**changed;
            ("changed", [Some((*base_size, *base_stack)), Some((*head_size, *head_stack))])
        }
        Code::OnlyBase(SizedFunction { size, stack, .. }) => {
            ("only-base", [Some((*size, *stack)), None])
        }
        Code::OnlyHead(SizedFunction { size, stack, .. }) => {
            ("only-head", [None, Some((*size, *stack))])
        }
    }
}

impl From<Executed> for ExecutedFields {
    fn from(Executed { own, inclusive, calls, attributed }: Executed) -> Self {
        Self { own, inclusive, caused: attributed, calls }
    }
}

impl<'r> From<&'r Callee> for CalleeFields<'r> {
    fn from(Callee { name, calls, inclusive }: &'r Callee) -> Self {
        Self { name: name.as_str(), calls: *calls, inclusive: *inclusive }
    }
}
