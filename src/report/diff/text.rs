//! The difference between two versions for people: a line for each function that differs.

use super::{DiffReport, TargetDiff, label};
use crate::{
    code::{FunctionDiff, SizedFunction},
    report::visible::visible,
};

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
        text
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
            let sizes = if function.base_size == function.head_size {
                format!("{} bytes", function.base_size)
            } else {
                format!("{} -> {} bytes", function.base_size, function.head_size)
            };
            text += &line('~', &label(&function.name, function.instance, &shared), &sizes);
        }
        for (sign, functions) in [('+', added), ('-', removed)] {
            for SizedFunction { name, instance, size } in functions {
                text += &line(sign, &label(name, *instance, &shared), &format!("{size} bytes"));
            }
        }
        for input in &self.not_comparable {
            let input = format!("{}: {}", input.input, input.reason);
            text += &format!("  ? {}\n", visible(&input));
        }
        text
    }
}

fn line(sign: char, name: &str, size: &str) -> String {
    format!("  {sign} {}  ({size})\n", visible(name))
}
