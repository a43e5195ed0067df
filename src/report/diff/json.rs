//! The report of `diff` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{DiffReport, TargetDiff, executed::InVersions};
use crate::{
    elf::{ChangedFunction, SizedFunction},
    error::Result,
    impact::Impact,
    model::{BenchTarget, Benchmark, Version},
    report::{
        impact::Difference,
        json::{HASH, document},
    },
};

/// The functions that differ between two versions.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Diff<'r> {
    base: &'r Version,
    head: &'r Version,
    /// Bench targets of both versions.
    targets: Vec<TargetFields<'r>>,
    /// Bench targets that only the base has.
    only_base: &'r [BenchTarget],
    /// Bench targets that only the head has.
    only_head: &'r [BenchTarget],
}

/// The differences of a bench target.
#[derive(Serialize, JsonSchema)]
struct TargetFields<'r> {
    #[serde(flatten)]
    target: &'r BenchTarget,
    /// Functions of both versions whose machine code differs, or the data that they refer to.
    changed: Vec<Changed<'r>>,
    /// Functions that only the head has.
    added: Vec<Sized<'r>>,
    /// Functions that only the base has.
    removed: Vec<Sized<'r>>,
    /// The number of functions with the same machine code and the same data.
    unchanged: usize,
    /// The benchmarks that both versions have; null without --by-benchmark, or if they could not be listed.
    benchmarks: Option<Vec<Reaching<'r>>>,
    /// The ids of the benchmarks that only one version has, and that were not traced; null if
    /// `benchmarks` is.
    not_traced: Option<Vec<&'r str>>,
    /// Other differences, certain or possible, of code and data: each a phrase that names one, such as `the section
    /// .init_array`.
    #[schemars(inner(length(min = 1)))]
    elsewhere: &'r [String],
    /// Link inputs that could not be compared.
    not_comparable: Vec<Input<'r>>,
}

/// A function of both versions that differs.
#[derive(Serialize, JsonSchema)]
struct Changed<'r> {
    /// Its demangled name, without hashes.
    name: &'r str,
    /// Distinguishes functions of one name: a digest of the symbol in the head.
    #[schemars(regex(pattern = HASH))]
    instance: String,
    /// A digest of the symbol in the base.
    #[schemars(regex(pattern = HASH))]
    base_instance: String,
    base_bytes: u64,
    head_bytes: u64,
    /// The size of its stack frame in the base; null if that is unknown.
    base_stack_bytes: Option<u64>,
    /// The size of its stack frame in the head; null if that is unknown.
    head_stack_bytes: Option<u64>,
    #[serde(flatten)]
    difference: Difference<'r>,
    /// The ids of the benchmarks that execute it; null if `benchmarks` is.
    executed_by: Option<Vec<&'r str>>,
}

/// A function of one version.
#[derive(Serialize, JsonSchema)]
struct Sized<'r> {
    /// Its demangled name, without hashes.
    name: &'r str,
    /// Distinguishes functions of one name: a digest of the symbol.
    #[schemars(regex(pattern = HASH))]
    instance: String,
    size_bytes: u64,
    /// The size of its stack frame; null if that is unknown.
    stack_bytes: Option<u64>,
    /// The ids of the benchmarks that execute it; null if `benchmarks` is.
    executed_by: Option<Vec<&'r str>>,
}

/// The differences that a benchmark executes or reads.
#[derive(Serialize, JsonSchema)]
struct Reaching<'r> {
    id: &'r str,
    impact: &'r Impact,
}

/// A link input that could not be compared, and the reason.
#[derive(Serialize, JsonSchema)]
struct Input<'r> {
    input: &'r str,
    reason: String,
}

impl DiffReport {
    pub(super) fn write_json(&self) -> Result<String> {
        document(&Diff {
            base: (&self.base).into(),
            head: (&self.head).into(),
            targets: self.targets.iter().map(TargetFields::from).collect(),
            only_base: &self.only_base,
            only_head: &self.only_head,
        })
    }
}

impl<'r> From<&'r TargetDiff> for TargetFields<'r> {
    fn from(
        TargetDiff { target, diff, not_comparable, executed: reached }: &'r TargetDiff,
    ) -> Self {
        let executed_by = |instance, has| Some(ids(reached.as_ref()?.executing(instance, has)));
        let changed = |function: &'r ChangedFunction| Changed {
            name: function.name.as_str(),
            instance: format!("{:016x}", function.instance),
            base_instance: format!("{:016x}", function.base_instance),
            base_bytes: function.base_size,
            head_bytes: function.head_size,
            base_stack_bytes: function.base_stack,
            head_stack_bytes: function.head_stack,
            difference: Difference::new(
                &function.cause,
                &function.callees_gained,
                &function.callees_lost,
            ),
            executed_by: executed_by(function.instance, InVersions::Both),
        };
        let sized = |functions: &'r [SizedFunction], has| {
            let sized = |SizedFunction { name, instance, size, stack }: &'r SizedFunction| Sized {
                name: name.as_str(),
                instance: format!("{instance:016x}"),
                size_bytes: *size,
                stack_bytes: *stack,
                executed_by: executed_by(*instance, has),
            };
            functions.iter().map(sized).collect()
        };
        let reaching = |(benchmark, impact): &'r (Benchmark, Impact)| Reaching {
            id: &benchmark.name.id,
            impact,
        };
        let inputs = not_comparable.iter();
        Self {
            target,
            changed: diff.changed.iter().map(changed).collect(),
            added: sized(&diff.added, InVersions::OnlyHead),
            removed: sized(&diff.removed, InVersions::OnlyBase),
            unchanged: diff.unchanged,
            benchmarks: reached.as_ref().map(|all| all.benchmarks.iter().map(reaching).collect()),
            not_traced: reached.as_ref().map(|all| ids(&all.not_traced)),
            elsewhere: &diff.elsewhere,
            not_comparable: inputs
                .map(|one| Input { input: &one.input, reason: one.reason.to_string() })
                .collect(),
        }
    }
}

fn ids<'r>(benchmarks: impl IntoIterator<Item = &'r Benchmark>) -> Vec<&'r str> {
    benchmarks.into_iter().map(|benchmark| benchmark.name.id.as_str()).collect()
}
