//! A benchmark and its name, as its harness reports it.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BenchTarget;

/// The kind of harness that lists and runs the benchmarks of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HarnessKind {
    /// `rbench-harness`.
    Native,
    /// Criterion.rs, or a fork of it that speaks its protocol.
    Criterion,
    /// Divan, or a fork of it.
    Divan,
    /// `#[bench]` functions, which need a nightly toolchain.
    Libtest,
    /// A whole program.
    Command,
    /// A program whose readings of the clock are its measurements.
    Custom,
}

/// What the readings of the clock by a program mean that measures itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockReadings {
    /// The first one begins a measurement, the second one ends it, and so on.
    Pairs,
    /// Each one ends a measurement and begins the next one.
    Laps,
}

names!(ClockReadings { Pairs = "pairs", Laps = "laps", });

names!(HarnessKind {
    Native = "native",
    Criterion = "criterion",
    Divan = "divan",
    Libtest = "libtest",
    Command = "command",
    Custom = "custom",
});

impl HarnessKind {
    /// True for programs that `bench.toml` runs: their benchmarks are no functions that a harness calls.
    pub const fn is_program(self) -> bool {
        matches!(self, Self::Command | Self::Custom)
    }
}

/// The name of a benchmark within its target.
///
/// `id` is the harness's own name and identifies the benchmark: names with equal ids are equal. The parts are known
/// where the harness reports them; they serve only to group reports.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Name {
    /// The whole id, for instance `parse/words/1024`.
    pub id: String,
    /// The group: `parse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The function: `words`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The parameter: `1024`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
}

impl Name {
    /// Makes a name of which only the id is known.
    pub fn plain(id: impl Into<String>) -> Self {
        Self { id: id.into(), group: None, function: None, parameter: None }
    }

    /// The same name with paths relative to the directory that is called by each of `roots`, where it has absolute ones.
    #[must_use]
    pub fn relative_to(&self, roots: &[String]) -> Self {
        let relative = |text: &String| relative_to(text, roots);
        Self {
            id: relative(&self.id),
            group: self.group.as_ref().map(relative),
            function: self.function.as_ref().map(relative),
            parameter: self.parameter.as_ref().map(relative),
        }
    }
}

/// A text with paths relative to the directory that is called by each of `roots`, where it has absolute ones.
pub fn relative_to(text: &str, roots: &[String]) -> String {
    roots.iter().fold(text.to_owned(), |text, root| text.replace(&format!("{root}/"), ""))
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

/// A benchmark: package, bench target and name.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Benchmark {
    /// The name of the package.
    pub package: String,
    /// The name of the bench target.
    pub target: String,
    /// The name within the target.
    #[serde(flatten)]
    pub name: Name,
}

impl Benchmark {
    /// The bench target of the benchmark.
    pub fn bench_target(&self) -> BenchTarget {
        BenchTarget { package: self.package.clone(), target: self.target.clone() }
    }
}

impl fmt::Display for Benchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.package, self.target, self.name.id)
    }
}

/// The amount of data that one iteration processes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Throughput {
    /// Bytes per iteration.
    Bytes(u64),
    /// Bytes per iteration, to be shown in powers of ten.
    BytesDecimal(u64),
    /// Bits per iteration.
    Bits(u64),
    /// Elements per iteration.
    Elements(u64),
}

impl Throughput {
    /// The amount and its unit.
    pub const fn amount(self) -> (u64, &'static str) {
        match self {
            Self::Bytes(amount) | Self::BytesDecimal(amount) => (amount, "bytes"),
            Self::Bits(amount) => (amount, "bits"),
            Self::Elements(amount) => (amount, "elements"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn relative_names_have_no_path_of_a_root() {
        let roots = ["/cache/checkouts/1", "/cache/at/src"].map(str::to_owned);
        let absolute = Name {
            parameter: Some("/cache/checkouts/1/corpus/a b.txt".to_owned()),
            ..Name::plain("parse//cache/checkouts/1/corpus/a b.txt")
        };
        let relative = absolute.relative_to(&roots);
        assert_eq!(relative.id, "parse/corpus/a b.txt");
        assert_eq!(relative.parameter.as_deref(), Some("corpus/a b.txt"));
        let debug = Name::plain(r#"f("/cache/at/src/a", "/cache/at/srcs/b")"#);
        assert_eq!(debug.relative_to(&roots).id, r#"f("a", "/cache/at/srcs/b")"#);
    }

    #[test]
    fn harness_kind_from_name_accepts_only_known_names() {
        for kind in HarnessKind::ALL {
            assert_eq!(HarnessKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(HarnessKind::from_name("Criterion"), None);
    }

    #[test]
    fn benchmark_with_a_renamed_group_is_the_same() {
        let named = |group: &str| Name { group: Some(group.to_owned()), ..Name::plain("parse/1") };
        assert_eq!(named("old"), named("new"));
        assert_eq!(named("old").cmp(&named("new")), Ordering::Equal);
        assert_eq!(HashSet::from([named("old"), named("new")]).len(), 1);
        assert_ne!(Name::plain("a"), Name::plain("b"));
    }

    #[test]
    fn benchmark_displays_its_package_target_and_id() {
        let benchmark = Benchmark {
            package: "p".to_owned(),
            target: "t".to_owned(),
            name: Name::plain("a b/1"),
        };
        assert_eq!(benchmark.to_string(), "p t a b/1");
    }
}
