//! The report of `explain` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Benchmark, DependencyChange, Version};
use crate::{
    callgrind::{Callee, Code, Executed, FunctionDifference, Place},
    compare::ExplainedBenchmark,
    elf::{ChangedFunction, Name, SizedFunction},
    error::Result,
    impact::Impact,
    report::{
        impact::Difference,
        json::{HASH, document},
    },
};

/// The sources of the difference in a benchmark's instructions.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Explained<'r> {
    base: &'r Version,
    head: &'r Version,
    #[serde(flatten)]
    benchmark: &'r Benchmark,
    /// The instructions of one iteration in the base.
    #[schemars(range(min = 0))]
    base_instructions: f64,
    /// The instructions of one iteration in the head.
    #[schemars(range(min = 0))]
    head_instructions: f64,
    /// The additional instructions that no function with different machine code accounts for: other
    /// input, or another environment.
    unattributed: f64,
    /// The functions that either version executed during the measurement, those that explain most
    /// first. All numbers are of one iteration.
    functions: Vec<FunctionFields<'r>>,
    /// The impact, including set-up.
    impact: &'r Impact,
    /// The external packages whose version differs between base and head.
    dependencies: Vec<&'r DependencyChange>,
}

/// A function in both versions.
#[derive(Serialize, JsonSchema)]
struct FunctionFields<'r> {
    /// Its demangled name, without hashes.
    name: &'r str,
    /// Distinguishes functions of one name: a digest of the symbol, in the head if that executes it; null in a library.
    #[schemars(regex(pattern = HASH))]
    instance: Option<String>,
    /// The file of the shared library that contains it; null in the executable.
    library: Option<&'r str>,
    /// The difference in its machine code: `changed` also if only data that it refers to differs,
    /// `unknown` in libraries.
    #[schemars(extend("enum" = ["same", "changed", "only-base", "only-head", "unknown"]))]
    code: &'static str,
    /// The size of its code in the base; null unless it differs, or if the base lacks it.
    base_bytes: Option<u64>,
    /// The size of its code in the head; null unless it differs, or if the head lacks it.
    head_bytes: Option<u64>,
    /// The size of its stack frame in the base; null if `base_bytes` is, or if it is unknown.
    base_stack_bytes: Option<u64>,
    /// The size of its stack frame in the head; null if `head_bytes` is, or if it is unknown.
    head_stack_bytes: Option<u64>,
    /// null unless `code` is `changed`.
    difference: Option<Difference<'r>>,
    /// null if the base does not call it.
    base: Option<ExecutedFields>,
    /// null if the head does not call it.
    head: Option<ExecutedFields>,
    /// The additional instructions that it accounts for: if its code differs, its own and those of
    /// the functions that it calls and whose code does not differ. Over all functions, the sum is
    /// the difference of the totals.
    caused: f64,
    /// The additional instructions that it executes itself. Over all functions, the sum is the
    /// difference of the totals.
    #[serde(rename = "self")]
    own: f64,
    /// The additional instructions that it executes together with its callees.
    inclusive: f64,
    /// Functions that only the head's calls, the most instructions first.
    called_gained: Vec<CalleeFields<'r>>,
    /// Functions that only the base's calls, the most instructions first.
    called_lost: Vec<CalleeFields<'r>>,
    /// If only one version calls it: the caller that it seems to be inlined into in the other one,
    /// which executes about as many instructions more itself.
    inlined_into: Option<&'r str>,
}

/// The instructions of a function in one version.
#[derive(Serialize, JsonSchema)]
struct ExecutedFields {
    /// Instructions that it executes itself.
    #[serde(rename = "self")]
    #[schemars(range(min = 0))]
    own: f64,
    /// Instructions that it executes together with its callees; of functions that call each other
    /// in a cycle, of the whole cycle.
    #[schemars(range(min = 0))]
    inclusive: f64,
    /// Instructions that it accounts for.
    #[schemars(range(min = 0))]
    caused: f64,
    /// The number of its calls.
    #[schemars(range(min = 0))]
    calls: f64,
}

/// A function that is called by one version only.
#[derive(Serialize, JsonSchema)]
struct CalleeFields<'r> {
    name: &'r str,
    #[schemars(range(min = 0))]
    calls: f64,
    /// The instructions of these calls.
    #[schemars(range(min = 0))]
    inclusive: f64,
}

impl ExplainedBenchmark {
    pub(super) fn write_json(&self) -> Result<String> {
        document(&Explained {
            base: (&self.base).into(),
            head: (&self.head).into(),
            benchmark: (&self.benchmark).into(),
            base_instructions: self.explanation.base,
            head_instructions: self.explanation.head,
            unattributed: self.without_reason(),
            functions: self.explanation.functions.iter().map(FunctionFields::from).collect(),
            impact: &self.reach,
            dependencies: self.dependencies.iter().collect(),
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

/// The size of the code in bytes, and of the stack frame, if that is known.
type Size = (u64, Option<u64>);

/// The name of the difference in JSON, and the sizes in base and head.
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
