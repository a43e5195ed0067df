//! The report of `list`: the benchmarks of a version.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    document::{Block, Document, Item, Medium, Text},
    json,
};
use crate::{
    error::Result,
    model::{Benchmark, FailedTarget, HarnessKind, Version},
};

/// The benchmarks of a version.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListReport {
    pub version: Version,
    /// In the order of definition.
    pub benchmarks: Vec<ListedBenchmark>,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: Vec<FailedTarget>,
    /// Bench targets that rbench cannot run, and that the command did not name.
    pub unsupported_targets: Vec<FailedTarget>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListedBenchmark {
    /// The parts of its name are absent if the harness does not report them.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    pub harness: HarnessKind,
}

impl Report for ListReport {
    /// An entry for each bench target, and one below it for each id.
    fn document(&self, _medium: Medium) -> Document {
        let target = |one: &ListedBenchmark| one.benchmark.bench_target();
        let targets = self.benchmarks.chunk_by(|one, next| target(one) == target(next));
        let items = targets.map(|benchmarks| {
            let ids = benchmarks.iter().map(|one| Text::from_name(&*one.benchmark.name.id));
            let name = Text::from_name(target(&benchmarks[0]).to_string());
            Item::new(name.then(format!(" ({})", benchmarks[0].harness)), Block::list(ids))
        });
        let mut document = Document::new("list");
        document.add(Block::list(items));
        document
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::{Error, Exit},
        report::{
            style,
            testing::{HOSTILE, assert_harmless, assert_keeps, benchmark, target, version},
        },
    };

    fn listed(id: &str) -> ListedBenchmark {
        ListedBenchmark { benchmark: benchmark(id), harness: HarnessKind::Native }
    }

    fn report(id: &str) -> ListReport {
        let failure = Error::new(Exit::Benchmark, format!("cannot list `{id}`"));
        ListReport {
            version: version("HEAD", 'a'),
            benchmarks: ["parse/1", id].map(listed).to_vec(),
            failed_targets: vec![FailedTarget { target: target("other"), error: failure }],
            unsupported_targets: Vec::new(),
        }
    }

    #[test]
    fn list_has_a_heading_for_each_target_and_a_line_for_each_id() {
        let text = style::plain(&report("parse/2").text(80));
        assert_eq!(text, "parser/work (native)\n  parse/1\n  parse/2\n");
    }

    #[test]
    fn ids_are_printed_completely_and_escaped() {
        assert!(report("a\u{1b}[2J").text(80).ends_with("  a\\u{1b}[2J\n"));
        assert_harmless(&report(HOSTILE));
    }

    #[test]
    fn json_keeps_its_schema_and_unescaped_ids() {
        assert_keeps("list", &report(HOSTILE));
        let json = report(HOSTILE).json().unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["benchmarks"][1]["id"], HOSTILE);
    }
}
