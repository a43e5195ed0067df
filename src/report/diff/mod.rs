//! The report of `diff`: functions whose machine code was added, removed or changed.

mod json;
mod text;

use std::collections::BTreeSet;

use super::Report;
use crate::{
    code::{FunctionDiff, FunctionSet, Name, NotComparable},
    failure::Result,
    model::{BenchTarget, Version},
};

/// The difference between two versions.
#[derive(Clone, Debug)]
pub struct DiffReport {
    /// The version that the other is compared with.
    pub base: Version,
    /// The other version.
    pub head: Version,
    /// Bench targets of both versions.
    pub targets: Vec<TargetDiff>,
    /// Bench targets that only the base has.
    pub only_base: Vec<BenchTarget>,
    /// Bench targets that only the head has.
    pub only_head: Vec<BenchTarget>,
}

/// The difference in one bench target.
#[derive(Clone, Debug)]
pub struct TargetDiff {
    /// The bench target.
    pub target: BenchTarget,
    /// Its functions.
    pub diff: FunctionDiff,
    /// Link inputs of either version that nothing is known about.
    pub not_comparable: Vec<NotComparable>,
}

impl TargetDiff {
    /// The difference of a bench target between two versions.
    pub fn new(target: &BenchTarget, base: &FunctionSet, head: &FunctionSet) -> Self {
        let mut not_comparable = base.not_comparable().to_vec();
        not_comparable.extend_from_slice(head.not_comparable());
        not_comparable.sort();
        not_comparable.dedup();
        Self { target: target.clone(), diff: FunctionSet::diff(base, head), not_comparable }
    }
}

/// The name of a function, with a part of its instance where it is one of those that several have.
pub(super) fn label(name: &Name, instance: u64, shared: &BTreeSet<&Name>) -> String {
    if shared.contains(name) {
        format!("{name} #{:08x}", instance >> 32)
    } else {
        name.as_str().to_owned()
    }
}

impl Report for DiffReport {
    fn text(&self, _columns: usize) -> String {
        self.write_text()
    }

    fn json(&self) -> Result<String> {
        self.write_json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        code::{Cause, ChangedFunction, SizedFunction},
        report::{
            style,
            testing::{HOSTILE, assert_harmless, assert_keeps, target, version},
        },
    };

    fn report(name: &str) -> DiffReport {
        let changed = |name: &str, head_size| ChangedFunction {
            name: Name::of(name),
            instance: 0x1a2b_3c4d << 32,
            base_instance: 0x1a2b_3c4d << 32,
            base_size: 2316,
            head_size,
            cause: Cause::Code,
            callees_gained: vec![],
            callees_lost: vec![],
        };
        let reads = |name: &str, data: Option<&str>| ChangedFunction {
            cause: Cause::Data(data.map(Name::of)),
            ..changed(name, 2316)
        };
        let inlines = ChangedFunction {
            callees_gained: ["a", "b", "c", "d", "e", "f", "g"].map(Name::of).into(),
            callees_lost: vec![Name::of(name)],
            ..changed("inlines", 5000)
        };
        let sized = |name: &str| SizedFunction { name: Name::of(name), instance: 1, size: 10 };
        let diff = FunctionDiff {
            added: vec![sized("new")],
            removed: vec![sized("old")],
            changed: vec![
                changed(name, 2352),
                changed("same_size", 2316),
                reads("reads", Some(name)),
                reads("reads_other", None),
                inlines,
            ],
            unchanged: 4309,
            elsewhere: vec![format!("the section {name}")],
            incomplete: false,
        };
        let same = FunctionDiff { unchanged: 12, ..FunctionDiff::default() };
        let of =
            |name: &str, diff| TargetDiff { target: target(name), diff, not_comparable: vec![] };
        DiffReport {
            base: version("main", 'a'),
            head: version("HEAD", 'b'),
            targets: vec![of("work", diff), of("other", same)],
            only_base: vec![target("gone")],
            only_head: vec![],
        }
    }

    #[test]
    fn each_function_that_differs_is_a_line() {
        insta::assert_snapshot!(style::plain(&report("parse").text(80)));
    }

    #[test]
    fn functions_of_one_name_are_told_apart_by_their_symbols() {
        let mut report = report("iter");
        report.targets[0].diff.added =
            vec![SizedFunction { name: Name::of("iter"), instance: 0x0005_6789 << 32, size: 10 }];
        let text = style::plain(&report.text(80));
        for line in ["~ iter #1a2b3c4d  (2316 ->", "+ iter #00056789  (10", "~ same_size  (2316"] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn a_program_reads_what_the_schema_says() {
        assert_keeps(include_str!("../../../schemas/diff.json"), &report("parse"));
    }

    #[test]
    fn nothing_from_elsewhere_steers_the_terminal() {
        assert_harmless(&report(HOSTILE));
    }
}
