//! The difference between two versions for programs.

use serde::Serialize;

use super::{DiffReport, TargetDiff, reached::Has};
use crate::{
    code::{ChangedFunction, SizedFunction},
    failure::Result,
    model::{BenchTarget, Benchmark},
    reach::Reach,
    report::{
        json::{Version, document},
        reach::{Difference, ReachFields},
    },
};

#[derive(Serialize)]
struct Diff<'r> {
    base: Version<'r>,
    head: Version<'r>,
    targets: Vec<TargetFields<'r>>,
    only_base: &'r [BenchTarget],
    only_head: &'r [BenchTarget],
}

#[derive(Serialize)]
struct TargetFields<'r> {
    #[serde(flatten)]
    target: &'r BenchTarget,
    changed: Vec<Changed<'r>>,
    added: Vec<Sized<'r>>,
    removed: Vec<Sized<'r>>,
    unchanged: usize,
    benchmarks: Option<Vec<Reaching<'r>>>,
    not_traced: Option<Vec<&'r str>>,
    elsewhere: &'r [String],
    not_comparable: Vec<Input<'r>>,
}

#[derive(Serialize)]
struct Changed<'r> {
    name: &'r str,
    instance: String,
    base_instance: String,
    base_bytes: u64,
    head_bytes: u64,
    base_stack_bytes: Option<u64>,
    head_stack_bytes: Option<u64>,
    #[serde(flatten)]
    difference: Difference<'r>,
    executed_by: Option<Vec<&'r str>>,
}

#[derive(Serialize)]
struct Sized<'r> {
    name: &'r str,
    instance: String,
    size_bytes: u64,
    stack_bytes: Option<u64>,
    executed_by: Option<Vec<&'r str>>,
}

#[derive(Serialize)]
struct Reaching<'r> {
    id: &'r str,
    reach: ReachFields<'r>,
}

#[derive(Serialize)]
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
    fn from(TargetDiff { target, diff, not_comparable, reached }: &'r TargetDiff) -> Self {
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
            executed_by: executed_by(function.instance, Has::Both),
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
        let reaching = |(benchmark, reach): &'r (Benchmark, Reach)| Reaching {
            id: &benchmark.name.id,
            reach: reach.into(),
        };
        let inputs = not_comparable.iter();
        Self {
            target,
            changed: diff.changed.iter().map(changed).collect(),
            added: sized(&diff.added, Has::OnlyHead),
            removed: sized(&diff.removed, Has::OnlyBase),
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
