//! The report of `diff` for people: an entry for each function that differs.

use super::{
    DiffReport, TargetDiff,
    executed::{ExecutedFunctions, InVersions},
    label,
};
use crate::{
    elf::{Cause, ChangedFunction, FunctionDiff, Name, SizedFunction},
    report::{
        document::{Block, Document, Item, Text},
        quantity::{and_more, change_of_stack, count},
    },
};

/// The maximum number of callees named for a function.
const MOST_CALLEES: usize = 5;

impl DiffReport {
    pub(super) fn write_document(&self) -> Document {
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

    /// The number of benchmarks without impact, over all bench targets; `None` if there are no
    /// benchmarks.
    fn without_impact(&self) -> Option<String> {
        let reached = || self.targets.iter().filter_map(|target| target.executed.as_ref());
        let nothing: usize = reached().map(ExecutedFunctions::count_without_impact).sum();
        let all: usize = reached().map(|reached| reached.benchmarks.len()).sum();
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
            let who = self.executed_by(&function.name, function.instance, InVersions::Both);
            let name = label(&function.name, function.instance, &shared);
            items.push(function_item("~", &name, &sizes(function), what.into_iter().chain(who)));
        }
        let of_one = [("+", added, InVersions::OnlyHead), ("-", removed, InVersions::OnlyBase)];
        for (sign, functions, has) in of_one {
            for SizedFunction { name, instance, size, .. } in functions {
                let who = self.executed_by(name, *instance, has);
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

    /// The benchmarks that execute a function, if known.
    fn executed_by(&self, name: &Name, instance: u64, has: InVersions) -> Option<Text> {
        Some(self.executed.as_ref()?.executed_by(name, instance, has))
    }
}

/// The sizes of a function and of its stack frame: `2316 -> 2352 bytes`.
pub(in crate::report) fn sizes(function: &ChangedFunction) -> String {
    let ChangedFunction { base_size, head_size, base_stack, head_stack, .. } = function;
    let base = if base_size == head_size { String::new() } else { format!("{base_size} -> ") };
    format!("{base}{head_size} bytes{}", change_of_stack(*base_stack, *head_stack))
}

/// The data that differs, if the code is the same.
pub(in crate::report) fn data_text(cause: &Cause) -> Option<String> {
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
