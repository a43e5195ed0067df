//! The difference between two versions for people: a line for each function that differs.

use super::{
    DiffReport, TargetDiff, label,
    reached::{Has, Reached},
};
use crate::{
    code::{Cause, ChangedFunction, FunctionDiff, Name, SizedFunction},
    report::{
        quantity::{change_of_stack, count},
        visible::visible,
    },
};

/// How many callees of a function are named at most.
const MOST_CALLEES: usize = 5;

impl DiffReport {
    pub(super) fn write_text(&self) -> String {
        let versions = format!("machine code of {} and {}", self.base, self.head);
        let mut text = visible(&versions).into_owned() + "\n";
        for target in &self.targets {
            text += &target.text();
        }
        for (version, targets) in [(&self.base, &self.only_base), (&self.head, &self.only_head)] {
            for target in targets {
                text += &format!("\n{}\n", visible(&format!("{target}: only in {version}")));
            }
        }
        text += &self.reaching_nothing().unwrap_or_default();
        text
    }

    /// How many benchmarks of all bench targets reach nothing, if there are any benchmarks.
    fn reaching_nothing(&self) -> Option<String> {
        let reached = || self.targets.iter().filter_map(|target| target.reached.as_ref());
        let nothing: usize = reached().map(Reached::reaching_nothing).sum();
        let all: usize = reached().map(|reached| reached.benchmarks.len()).sum();
        let verbs = if nothing == 1 { "executes and reads" } else { "execute and read" };
        let of = count(all, "benchmark");
        (all > 0).then(|| format!("\n{nothing} of {of} {verbs} nothing that changed\n"))
    }
}

impl TargetDiff {
    fn text(&self) -> String {
        let FunctionDiff { added, removed, changed, unchanged, .. } = &self.diff;
        let mut text = format!("\n{}: ", visible(&self.target.to_string()));
        text += &if self.diff.is_empty() {
            format!("all {unchanged} functions are the same\n")
        } else {
            let [changed, added, removed] = [changed.len(), added.len(), removed.len()];
            format!("{changed} changed, {added} added, {removed} removed, {unchanged} the same\n")
        };
        let shared = self.diff.shared_names();
        for function in changed {
            let mut sizes = if function.base_size == function.head_size {
                format!("{} bytes", function.base_size)
            } else {
                format!("{} -> {} bytes", function.base_size, function.head_size)
            };
            sizes += &change_of_stack(function.base_stack, function.head_stack);
            text += &line('~', &label(&function.name, function.instance, &shared), &sizes);
            text += &what_differs(function)
                .map_or_else(String::new, |what| format!("      {}\n", visible(&what)));
            text += &self.who_executes(&function.name, function.instance, Has::Both);
        }
        let of_one = [('+', added, Has::OnlyHead), ('-', removed, Has::OnlyBase)];
        for (sign, functions, has) in of_one {
            for SizedFunction { name, instance, size, .. } in functions {
                text += &line(sign, &label(name, *instance, &shared), &format!("{size} bytes"));
                text += &self.who_executes(name, *instance, has);
            }
        }
        for what in &self.diff.elsewhere {
            text += &format!("  ~ {}\n", visible(what));
        }
        for input in &self.not_comparable {
            let input = format!("{}: {}", input.input, input.reason);
            text += &format!("  ? {}\n", visible(&input));
        }
        let benchmarks = self.reached.as_ref().map(Reached::lines).unwrap_or_default();
        if !benchmarks.is_empty() {
            text += "  benchmarks:\n";
        }
        for benchmark in benchmarks {
            text += &format!("    {benchmark}\n");
        }
        text
    }

    /// The line below a function that tells which benchmarks execute it, if that is known.
    fn who_executes(&self, name: &Name, instance: u64, has: Has) -> String {
        let reached = self.reached.as_ref();
        reached.map_or_else(String::new, |reached| {
            format!("      {}\n", reached.who_executes(name, instance, has))
        })
    }
}

/// The data that differs, or which functions only one version refers to, if there are any.
fn what_differs(function: &ChangedFunction) -> Option<String> {
    let callees = |verb: &str, names: &[Name]| {
        let shown: Vec<&str> = names.iter().take(MOST_CALLEES).map(Name::as_str).collect();
        let more = names.len().checked_sub(MOST_CALLEES + 1).map(|more| more + 1);
        let more = more.map_or_else(String::new, |more| format!(" and {more} more"));
        (!names.is_empty()).then(|| format!("{verb} {}{more}", shown.join(", ")))
    };
    match &function.cause {
        Cause::Data(Some(name)) => Some(format!("the same code; static {name} differs")),
        Cause::Data(None) => Some("the same code; data without a name differs".to_owned()),
        Cause::Code => {
            let gained = callees("now refers to", &function.callees_gained);
            let lost = callees("no longer refers to", &function.callees_lost);
            let parts: Vec<String> = gained.into_iter().chain(lost).collect();
            (!parts.is_empty()).then(|| parts.join("; "))
        }
    }
}

fn line(sign: char, name: &str, size: &str) -> String {
    format!("  {sign} {}  ({size})\n", visible(name))
}
