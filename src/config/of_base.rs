//! What the `bench.toml` of the base decides in a job, so that no change sets the limits that it has to keep: the criteria
//! (`[verdict]`, `[metric]`, `[gate]`, and `min-effect` of `[[benchmark]]`), what code may read and write (`[sandbox]`,
//! `pass-environment`), and where rbench itself writes (`[store]`).

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::{BenchToml, bench_toml::Tables};

/// The keys and tables that are the base's as a whole.
const TABLES: [&str; 6] = ["gate", "metric", "pass-environment", "sandbox", "store", "verdict"];

const BENCHMARK: &str = "benchmark";
const MIN_EFFECT: &str = "min-effect";

impl BenchToml {
    /// Leaves these decisions to another file from now on.
    #[must_use]
    pub fn judged_by(self, other: &Self) -> Self {
        let mut judged = self;
        judged.judge = Some(Box::new(other.tables.clone()));
        judged
    }

    pub(super) fn judge(&self) -> &Tables {
        self.judge.as_deref().unwrap_or(&self.tables)
    }

    /// The keys that differ between two files, of those that the base decides about: `verdict.min-effect`.
    pub fn differing_from(&self, other: &Self) -> Vec<String> {
        let [ours, theirs] = [self, other].map(|file| {
            // Parsed before; an empty file has no table.
            let text: Table = file.text().parse().unwrap_or_default();
            (decisive(&text), benchmarks(&text))
        });
        let names = ours.0.keys().chain(theirs.0.keys());
        let mut differing: Vec<String> =
            names.filter(|name| ours.0.get(*name) != theirs.0.get(*name)).cloned().collect();
        let has_min_effect = |(_, tables): &(_, Vec<Table>)| {
            tables.iter().any(|table| table.contains_key(MIN_EFFECT))
        };
        if ours.1 != theirs.1 && (has_min_effect(&ours) || has_min_effect(&theirs)) {
            differing.push(format!("{BENCHMARK}.{MIN_EFFECT}"));
        }
        differing.sort();
        differing.dedup();
        differing
    }
}

fn decisive(file: &Table) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut open: Vec<(String, &Value)> =
        TABLES.iter().filter_map(|name| Some(((*name).to_owned(), file.get(*name)?))).collect();
    while let Some((name, value)) = open.pop() {
        match value {
            Value::Table(table) => {
                open.extend(table.iter().map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            value => drop(found.insert(name, value.clone())),
        }
    }
    found
}

/// What decides which min-effect a benchmark has: the first table that matches it, even if that has none.
fn benchmarks(file: &Table) -> Vec<Table> {
    let tables = file.get(BENCHMARK).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let decisive = |table: &Value| -> Option<Table> {
        let mut table = table.as_table()?.clone();
        table.retain(|key, _| ["filter", "package", "bench", MIN_EFFECT].contains(&key));
        Some(table)
    };
    tables.iter().filter_map(decisive).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CriteriaOptions, VerdictSettings, deciding};

    fn file(text: &str) -> BenchToml {
        BenchToml::parse(text.to_owned(), "bench.toml".into()).unwrap()
    }

    const HEAD: &str =
        "[verdict]\nmin-effect = '500%'\n[gate]\nfail-on = []\n[experiment]\nbuilds = 7\n";

    #[test]
    fn only_the_criteria_are_those_of_the_other_file() {
        let base = file("[verdict]\nmin-effect = '2%'\n[gate]\nfail-on = ['instructions']\n");
        let judged = file(HEAD).judged_by(&base);
        let settings = VerdictSettings::resolve(&judged, &CriteriaOptions::default()).unwrap();
        assert_eq!(settings.criteria.min_effect.to_string(), "0.02");
        assert_eq!(deciding(&judged, None), deciding(&base, None));
        assert!(judged.tables.experiment.builds.is_some());
        let defaults = file(HEAD).judged_by(&BenchToml::default());
        let settings = VerdictSettings::resolve(&defaults, &CriteriaOptions::default()).unwrap();
        assert_eq!(settings.criteria.min_effect.to_string(), "0.01");
    }

    #[test]
    fn sandbox_variables_and_store_are_those_of_the_other_file() {
        let head =
            "pass-environment = ['KEY']\n[sandbox]\nread = ['/']\n[store]\npath = '/tmp/x'\n";
        let judged = file(head).judged_by(&BenchToml::default());
        assert!(judged.sandbox(None).read.is_empty());
        assert!(judged.store("/w".as_ref()).starts_with("/w"));
        let differing = file(head).differing_from(&BenchToml::default());
        assert_eq!(differing, ["pass-environment", "sandbox.read", "store.path"]);
    }

    #[test]
    fn differing_keys_are_named_once_and_others_are_not() {
        let none = BenchToml::default();
        assert_eq!(file(HEAD).differing_from(&none), ["gate.fail-on", "verdict.min-effect"]);
        assert_eq!(none.differing_from(&file(HEAD)), ["gate.fail-on", "verdict.min-effect"]);
        assert!(file(HEAD).differing_from(&file(HEAD)).is_empty());
        assert!(file("[experiment]\nbuilds = 7\n").differing_from(&none).is_empty());
        let metric = file("[metric.instructions]\nmin-effect = '3%'\n");
        assert_eq!(metric.differing_from(&none), ["metric.instructions.min-effect"]);
    }

    #[test]
    fn first_matching_benchmark_table_is_a_criterion() {
        let own = "[[benchmark]]\nfilter = 'slow'\nmin-effect = '9%'\n";
        let before = format!("[[benchmark]]\nfilter = 'slow'\nbuilds = 7\n{own}");
        assert_eq!(file(own).differing_from(&file(&before)), ["benchmark.min-effect"]);
        let builds = "[[benchmark]]\nfilter = 'slow'\nbuilds = 7\n";
        assert!(file(builds).differing_from(&BenchToml::default()).is_empty());
    }
}
