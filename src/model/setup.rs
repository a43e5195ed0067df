//! Commands that prepare what benchmarks need outside of their own processes: a database, a server, data to download.

use std::time::Duration;

use regex::Regex;

use super::{BenchTarget, Benchmark};

/// The commands for some benchmarks, each for the shell; hyperfine has the same words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Runs once in each version before its executions.
    pub setup: Option<String>,
    /// Runs before each execution.
    pub prepare: Option<String>,
    /// Runs after each execution.
    pub conclude: Option<String>,
    /// Runs once in each version after its executions, however they ended.
    pub cleanup: Option<String>,
    /// The longest time of each command.
    pub timeout: Duration,
}

impl Setup {
    /// The commands with their keys, as they are stored among the settings of an experiment.
    pub fn words(&self) -> String {
        let commands = [
            ("setup", &self.setup),
            ("prepare", &self.prepare),
            ("conclude", &self.conclude),
            ("cleanup", &self.cleanup),
        ];
        let words = commands.into_iter().filter_map(|(key, command)| {
            command.as_ref().map(|command| format!("{key} `{command}`"))
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The set-ups of a project, each for some of its benchmarks. The first that matches a benchmark applies.
#[derive(Clone, Debug, Default)]
pub struct Setups(Vec<SetupRule>);

/// A set-up, and the benchmarks that it is for; an absent condition matches all.
#[derive(Clone, Debug)]
pub struct SetupRule {
    pub package: Option<String>,
    pub bench: Option<String>,
    /// Matches the id.
    pub filter: Option<Regex>,
    pub setup: Setup,
}

impl SetupRule {
    fn is_about(&self, package: &str, bench: &str) -> bool {
        self.package.as_ref().is_none_or(|name| name == package)
            && self.bench.as_ref().is_none_or(|name| name == bench)
    }
}

impl Setups {
    /// Set-ups in the order of precedence.
    pub const fn new(rules: Vec<SetupRule>) -> Self {
        Self(rules)
    }

    /// The set-up of a benchmark, and its number.
    pub fn find(&self, package: &str, bench: &str, id: &str) -> Option<(usize, &Setup)> {
        let is_it = |rule: &SetupRule| {
            rule.is_about(package, bench)
                && rule.filter.as_ref().is_none_or(|filter| filter.is_match(id))
        };
        let found = self.0.iter().enumerate().find(|(_, rule)| is_it(rule));
        found.map(|(number, rule)| (number, &rule.setup))
    }

    /// The set-up of a benchmark.
    pub fn of_benchmark(&self, benchmark: &Benchmark) -> Option<&Setup> {
        let Benchmark { package, target, name } = benchmark;
        self.find(package, target, &name.id).map(|(_, setup)| setup)
    }

    /// True if some benchmark of a bench target may have a set-up.
    pub fn may_have(&self, BenchTarget { package, target }: &BenchTarget) -> bool {
        self.0.iter().any(|rule| rule.is_about(package, target))
    }

    /// All commands in words, with the benchmarks that they are for.
    pub fn words(&self) -> Vec<String> {
        let words = |rule: &SetupRule| {
            let SetupRule { package, bench, filter, setup } = rule;
            let filter = filter.as_ref().map(Regex::as_str);
            let place = [package.as_deref(), bench.as_deref(), filter];
            let place = place.into_iter().flatten().collect::<Vec<_>>().join(" ");
            format!("{place}: {}", setup.words())
        };
        self.0.iter().map(words).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_matching_setup_applies() {
        let rule = |bench: Option<&str>, filter: Option<&str>, command: &str| SetupRule {
            package: None,
            bench: bench.map(str::to_owned),
            filter: filter.map(|filter| Regex::new(filter).unwrap()),
            setup: Setup {
                setup: Some(command.to_owned()),
                prepare: None,
                conclude: None,
                cleanup: None,
                timeout: Duration::from_secs(1),
            },
        };
        let rules = vec![
            rule(Some("db"), Some("^read/"), "a"),
            rule(Some("db"), None, "b"),
            rule(None, None, "c"),
        ];
        let setups = Setups::new(rules);
        let number = |bench, id| setups.find("p", bench, id).map(|(number, _)| number);
        assert_eq!(number("db", "read/1"), Some(0));
        assert_eq!(number("db", "write"), Some(1));
        assert_eq!(number("other", "read/1"), Some(2));
        assert_eq!(setups.words()[0], "db ^read/: setup `a`");
        assert!(Setups::default().find("p", "db", "read/1").is_none());
    }
}
