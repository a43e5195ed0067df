//! The report of `diff`: functions whose machine code was added, removed or changed.

use serde::Serialize;

use crate::{
    code::{FunctionDiff, FunctionSet, NotComparable, SizedFunction},
    model::{BenchTarget, Version},
};

/// The version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// The difference between two versions.
#[derive(Clone, Debug, Serialize)]
pub struct DiffReport {
    schema_version: u32,
    base: Version,
    head: Version,
    /// Bench targets of both versions.
    pub targets: Vec<TargetDiff>,
    /// Bench targets that only the base has.
    pub only_base: Vec<BenchTarget>,
    /// Bench targets that only the head has.
    pub only_head: Vec<BenchTarget>,
}

/// The difference in one bench target.
#[derive(Clone, Debug, Serialize)]
pub struct TargetDiff {
    package: String,
    target: String,
    #[serde(flatten)]
    diff: FunctionDiff,
    /// Link inputs that nothing is known about.
    not_comparable: Vec<NotComparable>,
}

impl DiffReport {
    /// A report about two versions, without targets yet.
    pub const fn new(base: Version, head: Version) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            base,
            head,
            targets: Vec::new(),
            only_base: Vec::new(),
            only_head: Vec::new(),
        }
    }

    /// For programs.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("machine code of {} and {}\n", self.base, self.head);
        for target in &self.targets {
            target.write(&mut text);
        }
        for (version, targets) in [(&self.base, &self.only_base), (&self.head, &self.only_head)] {
            for target in targets {
                text += &format!("\n{target}: only in {version}\n");
            }
        }
        text
    }
}

impl TargetDiff {
    /// The difference of one target, and what could not be read of either version.
    pub fn new(
        target: &BenchTarget,
        diff: FunctionDiff,
        sets: (&FunctionSet, &FunctionSet),
    ) -> Self {
        let mut not_comparable = sets.0.not_comparable().to_vec();
        not_comparable.extend_from_slice(sets.1.not_comparable());
        not_comparable.sort();
        not_comparable.dedup();
        Self {
            package: target.package.clone(),
            target: target.target.clone(),
            diff,
            not_comparable,
        }
    }

    fn write(&self, text: &mut String) {
        let FunctionDiff { added, removed, changed, unchanged } = &self.diff;
        *text += &format!("\n{}/{}: ", self.package, self.target);
        *text += &if self.diff.is_empty() {
            format!("all {unchanged} functions are the same\n")
        } else {
            format!(
                "{} changed, {} added, {} removed, {unchanged} the same\n",
                changed.len(),
                added.len(),
                removed.len()
            )
        };
        for function in changed {
            let sizes = if function.base_size == function.head_size {
                format!("{} bytes", function.base_size)
            } else {
                format!("{} -> {} bytes", function.base_size, function.head_size)
            };
            *text += &format!("  ~ {}  ({sizes})\n", function.name);
        }
        write_all(text, '+', added);
        write_all(text, '-', removed);
        for input in &self.not_comparable {
            *text += &format!("  ? {}: {}\n", input.input, input.reason);
        }
    }
}

fn write_all(text: &mut String, sign: char, functions: &[SizedFunction]) {
    for function in functions {
        *text += &format!("  {sign} {}  ({} bytes)\n", function.name, function.size);
    }
}
