//! Chooses names of benchmarks in a report: as short as is unambiguous.

use std::collections::{BTreeSet, HashMap};

use super::{escape::escape_untrusted, table::shorten};
use crate::model::{Benchmark, Metric};

/// The names of benchmarks: ids, with the bench target if another one has a benchmark of that id.
#[derive(Clone, Debug)]
pub struct Names<'b> {
    targets: HashMap<&'b str, BTreeSet<(&'b str, &'b str)>>,
}

impl<'b> Names<'b> {
    pub fn new(benchmarks: impl IntoIterator<Item = &'b Benchmark>) -> Self {
        let mut targets: HashMap<&str, BTreeSet<(&str, &str)>> = HashMap::new();
        for Benchmark { package, target, name } in benchmarks {
            targets.entry(&name.id).or_default().insert((package, target));
        }
        Self { targets }
    }

    /// The name of a benchmark, not yet [escaped](super::escape).
    pub fn name(&self, Benchmark { package, target, name }: &Benchmark) -> String {
        let is_unique = self.targets.get(&*name.id).is_none_or(|targets| targets.len() < 2);
        if is_unique { name.id.clone() } else { format!("{package}/{target} {}", name.id) }
    }
}

/// The maximum width of a name in a sentence, in columns.
pub const LONGEST: usize = 60;

/// A name for a sentence: escaped, and shortened in the middle.
pub fn short(name: &str) -> String {
    shorten(&escape_untrusted(name), LONGEST)
}

/// A name with the metric in brackets, unless that is wall time.
pub fn with_metric(name: String, metric: Option<&Metric>) -> String {
    match metric_name(metric) {
        "" => name,
        metric => format!("{name} ({metric})"),
    }
}

/// The name of a metric; empty for wall time, which readers expect.
pub fn metric_name(metric: Option<&Metric>) -> &str {
    metric.filter(|metric| **metric != Metric::wall()).map_or("", |metric| &metric.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Name;

    #[test]
    fn shared_id_has_its_bench_target() {
        let benchmark = |target: &str, id: &str| Benchmark {
            package: "p".to_owned(),
            target: target.to_owned(),
            name: Name::plain(id),
        };
        let all = [benchmark("a", "x"), benchmark("b", "x"), benchmark("b", "y")];
        let names = Names::new(all.iter().chain(&all));
        assert_eq!(all.each_ref().map(|one| names.name(one)), ["p/a x", "p/b x", "y"]);
    }

    #[test]
    fn wall_time_is_not_named() {
        let memory = Metric::peak_memory();
        assert_eq!(metric_name(Some(&memory)), "peak-memory");
        assert_eq!(metric_name(Some(&Metric::wall())), "");
        assert_eq!(metric_name(None), "");
    }
}
