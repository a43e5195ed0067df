//! A comparison as a code quality report of GitLab, which shows it beside the changed lines.

use serde::Serialize;

use super::{Comparison, Place, Places, Row};
use crate::{
    failure::{Exit, OrFail as _, Result},
    judge::VerdictKind,
    report::quantity::changed,
};

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// What regressed and what failed. GitLab wants a place of everything: what executes no function that is known to
/// have changed is shown where its bench target begins, or else at the manifest.
pub fn code_quality(comparison: &Comparison, places: &Places) -> Result<String> {
    let mut issues = Vec::new();
    for (number, one) in comparison.both().enumerate() {
        let names = one.names();
        for row in &one.benchmarks {
            let (check_name, severity) = match row.verdict {
                VerdictKind::Regressed => ("benchmark regressed", "major"),
                VerdictKind::Failed => ("benchmark failed", "critical"),
                _ => continue,
            };
            let functions = row.functions();
            let place = functions.iter().find_map(|function| places.of_function(&function.name));
            let place = place.or_else(|| places.of_bench_target(&row.benchmark.target));
            let Place { path, line } =
                place.unwrap_or_else(|| Place { path: "Cargo.toml".to_owned(), line: 1 });
            let change = row
                .change
                .map_or_else(String::new, |change| format!(" {}", changed(change.estimate())));
            let name = row.name(&names);
            issues.push(Issue {
                description: format!("{name}: {}{change}", row.verdict.name()),
                check_name,
                fingerprint: fingerprint(row, number),
                severity,
                location: Location { path, lines: Lines { begin: line } },
            });
        }
    }
    let text = serde_json::to_string_pretty(&issues);
    Ok(text.or_fail(Exit::Internal, || "cannot write the code quality report")? + "\n")
}

/// The same for one benchmark in every run.
fn fingerprint(row: &Row, comparison: usize) -> String {
    let mut hasher = blake3::Hasher::new();
    for word in row.key() {
        hasher.update(&(word.len() as u64).to_le_bytes()).update(word.as_bytes());
    }
    hasher.update(&[u8::from(comparison > 0)]);
    hasher.finalize().to_hex()[..32].to_owned()
}
