//! The report of `list`: the benchmarks of a version.

mod document;
pub(super) mod json;

use super::{
    Report,
    document::{Document, Medium},
};
use crate::{
    error::Result,
    model::{Benchmark, FailedTarget, HarnessKind, Version},
};

/// The benchmarks of a version.
#[derive(Clone, Debug)]
pub struct ListReport {
    /// The version listed.
    pub version: Version,
    /// The benchmarks of each bench target in the order of definition, with their harness.
    pub targets: Vec<(HarnessKind, Vec<Benchmark>)>,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: Vec<FailedTarget>,
}

impl Report for ListReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        self.write_json()
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

    fn report(id: &str) -> ListReport {
        let failure = Error::new(Exit::Benchmark, format!("cannot list `{id}`"));
        ListReport {
            version: version("HEAD", 'a'),
            targets: vec![(HarnessKind::Native, vec![benchmark("parse/1"), benchmark(id)])],
            failed_targets: vec![FailedTarget { target: target("other"), error: failure }],
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
