//! The report of `diff`: functions whose machine code was added, removed or changed, and the
//! benchmarks that execute them.

use std::collections::BTreeSet;

use rbench_code::{
    elf::{Cause, ChangedFunction, FunctionDiff, FunctionSet, Name, NotComparable, SizedFunction},
    impact::{EnteredFunction, Impact},
};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    Report,
    document::{Block, Document, Item, Medium, Text},
    grouped,
    impact::{self, benchmarks_text, listed},
    json,
    quantity::{MOST_NAMES, and_more, change_of_stack, count},
};
use crate::{
    error::Result,
    model::{BenchTarget, Benchmark, Version},
};

/// The functions that differ between two versions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiffReport {
    pub base: Version,
    pub head: Version,
    /// Bench targets of both versions.
    #[serde(serialize_with = "target_fields")]
    #[schemars(with = "Vec<TargetFields<'_>>")]
    pub targets: Vec<TargetDiff>,
    /// Bench targets that only the base has.
    pub only_base: Vec<BenchTarget>,
    /// Bench targets that only the head has.
    pub only_head: Vec<BenchTarget>,
}

#[derive(Clone, Debug)]
pub struct TargetDiff {
    pub target: BenchTarget,
    pub diff: FunctionDiff,
    /// Link inputs of either version that could not be compared.
    pub not_comparable: Vec<NotComparable>,
    /// The functions that its benchmarks execute; `None` if not requested, or the benchmarks could
    /// not be listed.
    pub executed: Option<ExecutedFunctions>,
}

/// The differences of a bench target, for programs.
#[derive(Serialize, JsonSchema)]
struct TargetFields<'r> {
    #[serde(flatten)]
    target: &'r BenchTarget,
    /// Functions of both versions whose machine code differs, or the data that they refer to.
    changed: Vec<Executable<'r, ChangedFunction>>,
    /// Functions that only the head has.
    added: Vec<Executable<'r, SizedFunction>>,
    /// Functions that only the base has.
    removed: Vec<Executable<'r, SizedFunction>>,
    /// The number of functions with the same machine code and the same data.
    unchanged: usize,
    /// Absent without --by-benchmark, or if the benchmarks could not be listed.
    #[serde(flatten)]
    executed: Option<&'r ExecutedFunctions>,
    /// Other differences, certain or possible, of code and data: each a phrase that names one, such as `the section
    /// .init_array`.
    #[schemars(inner(length(min = 1)))]
    elsewhere: &'r [String],
    /// Link inputs that could not be compared.
    not_comparable: Vec<Input<'r>>,
}

/// A function, and the benchmarks that execute it.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Executable<'r, F> {
    #[serde(flatten)]
    function: &'r F,
    /// The ids of the benchmarks that execute it; absent if `benchmarks` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    executed_by: Option<Vec<&'r str>>,
}

/// A link input that could not be compared, and the reason.
#[derive(Serialize, JsonSchema)]
struct Input<'r> {
    input: &'r str,
    reason: String,
}

fn target_fields<S: Serializer>(targets: &[TargetDiff], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(targets.iter().map(TargetDiff::fields))
}

impl TargetDiff {
    /// The difference of a bench target between two versions, without its benchmarks.
    pub fn new(target: &BenchTarget, base: &FunctionSet, head: &FunctionSet) -> Self {
        let mut not_comparable = base.not_comparable().to_vec();
        not_comparable.extend_from_slice(head.not_comparable());
        not_comparable.sort();
        not_comparable.dedup();
        let diff = FunctionSet::diff(base, head);
        Self { target: target.clone(), diff, not_comparable, executed: None }
    }

    fn fields(&self) -> TargetFields<'_> {
        let Self { target, diff, not_comparable, executed } = self;
        let executed_by = |instance, has| {
            let executing = executed.as_ref()?.executing(instance, has);
            Some(executing.into_iter().map(|benchmark| benchmark.name.id.as_str()).collect())
        };
        let changed = diff.changed.iter().map(|function| Executable {
            function,
            executed_by: executed_by(function.instance, [true, true]),
        });
        let of_one = [(&diff.added, [false, true]), (&diff.removed, [true, false])];
        let [added, removed] = of_one.map(|(functions, has)| {
            let sized = functions.iter().map(|function| Executable {
                function,
                executed_by: executed_by(function.instance, has),
            });
            sized.collect()
        });
        let inputs = not_comparable.iter();
        TargetFields {
            target,
            changed: changed.collect(),
            added,
            removed,
            unchanged: diff.unchanged,
            executed: executed.as_ref(),
            elsewhere: &diff.elsewhere,
            not_comparable: inputs
                .map(|one| Input { input: &one.input, reason: one.reason.to_string() })
                .collect(),
        }
    }
}

/// The name of a function, with a part of its instance if several functions share the name.
pub(super) fn label(name: &Name, instance: u64, shared: &BTreeSet<&Name>) -> String {
    if shared.contains(name) {
        format!("{name} #{:08x}", instance >> 32)
    } else {
        name.as_str().to_owned()
    }
}

impl Report for DiffReport {
    fn document(&self, _medium: Medium) -> Document {
        let title = format!("machine code of {} and {}", self.base, self.head);
        let mut document = Document::new("diff").titled(title);
        for target in &self.targets {
            document.add([Block::List(vec![target.item()])]);
        }
        for (version, targets) in [(&self.base, &self.only_base), (&self.head, &self.only_head)] {
            for target in targets {
                let name = Text::from_name(target.to_string());
                document.add(Block::list([name.then(format!(": only in {version}"))]));
            }
        }
        document.add(self.without_impact().map(|text| Block::Paragraph(vec![text.into()])));
        document
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }
}

/// The maximum number of callees named for a function.
const MOST_CALLEES: usize = 5;

impl DiffReport {
    /// The number of benchmarks without impact, over all bench targets; `None` if there are no
    /// benchmarks.
    fn without_impact(&self) -> Option<String> {
        let executed = || self.targets.iter().filter_map(|target| target.executed.as_ref());
        let impacts = executed().flat_map(|executed| &executed.benchmarks);
        let nothing = impacts.filter(|(_, impact)| impact.is_nothing()).count();
        let all: usize = executed().map(|executed| executed.benchmarks.len()).sum();
        let verbs = if nothing == 1 { "executes and reads" } else { "execute and read" };
        let of = count(all, "benchmark");
        (all > 0).then(|| format!("{nothing} of {of} {verbs} nothing that changed"))
    }
}

impl TargetDiff {
    fn item(&self) -> Item {
        let FunctionDiff { added, removed, changed, unchanged, .. } = &self.diff;
        let summary = if self.diff.is_empty() {
            format!(": all {unchanged} functions are the same")
        } else {
            let [changed, added, removed] = [changed.len(), added.len(), removed.len()];
            format!(": {changed} changed, {added} added, {removed} removed, {unchanged} the same")
        };
        let shared = self.diff.shared_names();
        let mut items = Vec::new();
        for function in changed {
            let what = what_differs(function).map(Text::from);
            let who = self.executed_by(function.instance, [true, true]);
            let name = label(&function.name, function.instance, &shared);
            items.push(function_item("~", &name, &sizes(function), what.into_iter().chain(who)));
        }
        let of_one = [("+", added, [false, true]), ("-", removed, [true, false])];
        for (sign, functions, has) in of_one {
            for SizedFunction { name, instance, size, .. } in functions {
                let who = self.executed_by(*instance, has);
                let name = label(name, *instance, &shared);
                items.push(function_item(sign, &name, &format!("{size} bytes"), who));
            }
        }
        items.extend(self.diff.elsewhere.iter().map(|what| Item::from(format!("~ {what}"))));
        let unknown = self.not_comparable.iter();
        items.extend(unknown.map(|one| Item::from(format!("? {}: {}", one.input, one.reason))));
        let benchmarks = self.executed.as_ref().map(ExecutedFunctions::lines).unwrap_or_default();
        items.extend(Block::list(benchmarks).map(|list| Item::new("benchmarks:", [list])));
        Item::new(Text::from_name(self.target.to_string()).then(summary), Block::list(items))
    }

    fn executed_by(&self, instance: u64, has: [bool; 2]) -> Option<Text> {
        Some(self.executed.as_ref()?.executed_by(instance, has))
    }
}

/// The sizes of a function and of its stack frame: `2316 -> 2352 bytes`.
pub(super) fn sizes(function: &ChangedFunction) -> String {
    let ChangedFunction { base_size, head_size, base_stack, head_stack, .. } = function;
    let base = if base_size == head_size { String::new() } else { format!("{base_size} -> ") };
    format!("{base}{head_size} bytes{}", change_of_stack(*base_stack, *head_stack))
}

/// The data that differs, if the code is the same.
pub(super) fn data_text(cause: &Cause) -> Option<String> {
    match cause {
        Cause::Code => None,
        Cause::Data(Some(name)) => Some(format!("same code, but static {name} differs")),
        Cause::Data(None) => Some("same code, but data without a name differs".to_owned()),
    }
}

/// The data that differs, or the functions that only one version refers to.
fn what_differs(function: &ChangedFunction) -> Option<String> {
    let callees = |verb: &str, names: &[Name]| {
        let shown: Vec<&str> = names.iter().take(MOST_CALLEES).map(Name::as_str).collect();
        let more = and_more(names.len(), MOST_CALLEES);
        (!names.is_empty()).then(|| format!("{verb} {}{more}", shown.join(", ")))
    };
    data_text(&function.cause).or_else(|| {
        let gained = callees("now refers to", &function.callees_gained);
        let lost = callees("no longer refers to", &function.callees_lost);
        let parts: Vec<String> = gained.into_iter().chain(lost).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    })
}

fn function_item(
    sign: &str,
    name: &str,
    size: &str,
    below: impl IntoIterator<Item = Text>,
) -> Item {
    let text = Text::from(format!("{sign} ")).name(name).then(format!("  ({size})"));
    Item::new(text, Block::list(below))
}

/// The impact of the differences on the benchmarks of a bench target.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ExecutedFunctions {
    /// The benchmarks that both versions have, in the head's order, and the impact on each.
    #[serde(serialize_with = "impact_fields")]
    #[schemars(with = "Vec<ImpactFields<'_>>")]
    pub benchmarks: Vec<(Benchmark, Impact)>,
    /// The benchmarks that only one version has, which are not traced.
    pub not_traced: Vec<Benchmark>,
}

/// The impact of the differences on a benchmark, for programs.
#[derive(Serialize, JsonSchema)]
struct ImpactFields<'r> {
    #[serde(flatten)]
    benchmark: &'r Benchmark,
    impact: &'r Impact,
}

fn impact_fields<S: Serializer>(all: &[(Benchmark, Impact)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(all.iter().map(|(benchmark, impact)| ImpactFields { benchmark, impact }))
}

impl ExecutedFunctions {
    /// The benchmarks that execute the function with this instance, which is the head's if the head
    /// has it. `has` is true for each version with the function, base and head.
    fn executing(&self, instance: u64, has: [bool; 2]) -> Vec<&Benchmark> {
        let is_it = |function: &EnteredFunction| {
            let sizes = [function.base_size, function.head_size];
            function.instance == instance && sizes.map(|size| size.is_some()) == has
        };
        let executing =
            self.benchmarks.iter().filter(|(_, impact)| impact.functions.iter().any(is_it));
        executing.map(|(benchmark, _)| benchmark).collect()
    }

    /// The benchmarks that execute a function, in words: `executed by parse/a and parse/b`.
    fn executed_by(&self, instance: u64, has: [bool; 2]) -> Text {
        let executing = self.executing(instance, has);
        match executing.len() {
            0 if self
                .benchmarks
                .iter()
                .any(|(_, impact)| impact.by_harness.contains(&instance)) =>
            {
                "no benchmark is known to execute it but its harness, before it measures".into()
            }
            0 if self.is_complete() => "no benchmark executes it".into(),
            0 => "no benchmark is known to execute it".into(),
            all if all == self.benchmarks.len() && all > MOST_NAMES => {
                format!("executed by all {all} benchmarks").into()
            }
            _ => {
                let name = |one: &&Benchmark| impact::name(&one.name.id);
                Text::from("executed by ").append(listed(&executing, name, "", impact::MOST))
            }
        }
    }

    /// A line for each group of benchmarks with the same impact, unless there is none.
    fn lines(&self) -> Vec<Text> {
        let with_impact = self.benchmarks.iter().filter(|(_, impact)| !impact.is_nothing());
        let alike = grouped(with_impact.map(|(benchmark, impact)| {
            let words = impact::words(impact, "may have more impact, because", impact::MOST);
            (words, impact::name(&benchmark.name.id))
        }));
        let line = |(words, names): (Text, Vec<Text>)| {
            let all = names.len();
            let whom = if all == self.benchmarks.len() && all > MOST_NAMES {
                format!("all {all} benchmarks").into()
            } else {
                Text::joined(names, ", ")
            };
            benchmarks_text(whom, all, words)
        };
        let mut lines: Vec<Text> = alike.into_iter().map(line).collect();
        if !self.not_traced.is_empty() {
            let name = |one: &Benchmark| impact::name(&one.name.id);
            let names = listed(&self.not_traced, name, "", impact::MOST);
            lines.push(Text::from("in one version only, so not traced: ").append(names));
        }
        lines
    }

    /// True if all executed functions are known.
    fn is_complete(&self) -> bool {
        let mut impacts = self.benchmarks.iter().map(|(_, impact)| impact);
        self.not_traced.is_empty() && impacts.all(|impact| impact.uncertainties.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use rbench_code::{
        elf::Cause,
        impact::{EnteredFunction, Impact},
    };

    use super::*;
    use crate::report::{
        style,
        testing::{HOSTILE, assert_harmless, assert_keeps, benchmark, target, version},
    };

    fn report(name: &str) -> DiffReport {
        let changed = |name: &str, head_size| ChangedFunction {
            name: Name::demangle(name),
            instance: 0x1a2b_3c4d << 32,
            base_instance: 0x1a2b_3c4d << 32,
            base_size: 2316,
            head_size,
            base_stack: Some(24),
            head_stack: Some(24),
            cause: Cause::Code,
            callees_gained: vec![],
            callees_lost: vec![],
        };
        let reads = |name: &str, data: Option<&str>| ChangedFunction {
            cause: Cause::Data(data.map(Name::demangle)),
            ..changed(name, 2316)
        };
        let inlines = ChangedFunction {
            callees_gained: ["a", "b", "c", "d", "e", "f", "g"].map(Name::demangle).into(),
            callees_lost: vec![Name::demangle(name)],
            head_stack: Some(4120),
            ..changed("inlines", 5000)
        };
        let sized = |name: &str| SizedFunction {
            name: Name::demangle(name),
            instance: 1,
            size: 10,
            stack: Some(8),
        };
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
        let of = |name: &str, diff| TargetDiff {
            target: target(name),
            diff,
            not_comparable: vec![],
            executed: None,
        };
        DiffReport {
            base: version("main", 'a'),
            head: version("HEAD", 'b'),
            targets: vec![of("work", diff), of("other", same)],
            only_base: vec![target("gone")],
            only_head: vec![],
        }
    }

    #[test]
    fn diff_has_a_line_for_each_function() {
        insta::assert_snapshot!(style::plain(&report("parse").text(80)));
    }

    /// The same report with benchmarks: two of the first target execute changed functions.
    fn by_benchmark(name: &str) -> DiffReport {
        let mut report = report(name);
        for (number, function) in report.targets[0].diff.changed.iter_mut().enumerate().skip(1) {
            function.instance = 0x100 + number as u64;
        }
        let function = |name: &str, instance, sizes: [Option<u64>; 2]| EnteredFunction {
            name: Name::demangle(name),
            instance,
            base_size: sizes[0],
            head_size: sizes[1],
            base_stack: sizes[0].map(|_| 24),
            head_stack: sizes[1].map(|_| 24),
            while_measuring: true,
            cause: Cause::Code,
            callees_gained: vec![],
            callees_lost: vec![],
        };
        let [parse, new] = [
            function(name, 0x1a2b_3c4d << 32, [Some(2316), Some(2352)]),
            function("new", 1, [None, Some(10)]),
        ];
        let fast = Impact { functions: vec![parse.clone()], ..Impact::default() };
        let reads = Impact {
            functions: vec![parse, new],
            files: vec![name.to_owned()],
            variables: vec![name.to_owned()],
            ..Impact::default()
        };
        let of = |id: &str, impact: &Impact| (benchmark(id), impact.clone());
        let nothing = Impact::default();
        report.targets[0].executed = Some(ExecutedFunctions {
            benchmarks: vec![
                of(name, &fast),
                of("fast", &fast),
                of("still", &nothing),
                of("slow", &reads),
                of("large", &fast),
                of("huge", &fast),
            ],
            not_traced: vec![],
        });
        let doubtful = Impact { uncertainties: vec![name.to_owned()], ..nothing.clone() };
        report.targets[1].executed = Some(ExecutedFunctions {
            benchmarks: vec![of("x", &nothing), of("y", &doubtful)],
            not_traced: vec![benchmark(name)],
        });
        report
    }

    #[test]
    fn benchmarks_follow_the_functions_they_execute() {
        insta::assert_snapshot!(style::plain(&by_benchmark("parse").text(80)));
        assert!(!report("parse").text(80).contains("benchmark"));
    }

    #[test]
    fn benchmarks_with_equal_impact_are_counted() {
        let mut report = by_benchmark("parse");
        let reached = report.targets[0].executed.as_mut().unwrap();
        let (_, impact) = reached.benchmarks[0].clone();
        reached.benchmarks =
            (0..9).map(|index| (benchmark(&format!("b{index}")), impact.clone())).collect();
        let text = style::plain(&report.text(80));
        for line in [
            "\n    executed by all 9 benchmarks\n",
            "\n    all 9 benchmarks: each executes parse (2316 -> 2352 bytes)\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn unexecuted_function_needs_complete_traces() {
        let certain = "no benchmark executes it";
        let said = |change: fn(&mut ExecutedFunctions)| {
            let mut reached = ExecutedFunctions::default();
            reached.benchmarks.push((benchmark("a"), Impact::default()));
            change(&mut reached);
            reached.executed_by(1, [true, true]).plain()
        };
        assert_eq!(said(|_| ()), certain);
        let uncertain = |reached: &mut ExecutedFunctions| {
            reached.benchmarks[0].1.uncertainties.push("x".to_owned());
        };
        let unknown = |reached: &mut ExecutedFunctions| reached.not_traced.push(benchmark("b"));
        let by_harness =
            |reached: &mut ExecutedFunctions| reached.benchmarks[0].1.by_harness.push(1);
        assert!(said(by_harness).ends_with("but its harness, before it measures"));
        for change in [uncertain as fn(&mut ExecutedFunctions), unknown] {
            assert_eq!(said(change), "no benchmark is known to execute it");
        }
    }

    #[test]
    fn json_has_executing_benchmarks_and_their_impact() {
        let json = |report: &DiffReport| -> serde_json::Value {
            serde_json::from_str(&report.json().unwrap()).unwrap()
        };
        let with = json(&by_benchmark("parse"));
        let target = &with["targets"][0];
        let executed_by = |kind: &str, index: usize| target[kind][index]["executed_by"].clone();
        assert_eq!(executed_by("added", 0), serde_json::json!(["slow"]));
        assert_eq!(executed_by("removed", 0), serde_json::json!([]), "another version's");
        assert_eq!(target["benchmarks"][3]["id"], "slow");
        let impact = &target["benchmarks"][3]["impact"];
        assert_eq!(impact["functions"][1]["name"], "new");
        assert_eq!(impact["functions"][1]["instance"], target["added"][0]["instance"]);
        assert_eq!([&impact["files"][0], &impact["variables"][0]], ["parse", "parse"]);
        assert_eq!(with["targets"][1]["not_traced"][0]["id"], "parse");
        let without = json(&report("parse"));
        let target = &without["targets"][0];
        for absent in
            [&target["benchmarks"], &target["not_traced"], &target["added"][0]["executed_by"]]
        {
            assert!(absent.is_null(), "{target}");
        }
    }

    #[test]
    fn equal_names_are_distinguished_by_their_symbols() {
        let mut report = report("iter");
        report.targets[0].diff.added = vec![SizedFunction {
            name: Name::demangle("iter"),
            instance: 0x0005_6789 << 32,
            size: 10,
            stack: None,
        }];
        let text = style::plain(&report.text(80));
        for line in ["~ iter #1a2b3c4d  (2316 ->", "+ iter #00056789  (10", "~ same_size  (2316"] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn json_keeps_its_schema() {
        assert_keeps("diff", &report("parse"));
        assert_keeps("diff", &by_benchmark("parse"));
    }

    #[test]
    fn untrusted_texts_are_harmless() {
        assert_harmless(&report(HOSTILE));
        assert_harmless(&by_benchmark(HOSTILE));
    }
}
