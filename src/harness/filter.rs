//! Which benchmarks are meant, and what to say when none is.

use regex::Regex;

use crate::{
    failure::{Exit, Failure, Result},
    model::Benchmark,
};

/// What the user typed to choose benchmarks.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    patterns: Vec<Pattern>,
    packages: Vec<String>,
    targets: Vec<String>,
}

#[derive(Clone, Debug)]
enum Pattern {
    Regex(Regex),
    Exact(String),
}

impl Filter {
    /// Benchmarks whose id matches any of `patterns` (regular expressions, or whole ids if `exact`),
    /// in any of `packages` and any of the bench targets `targets`. An empty list leaves out nothing.
    pub fn new(
        patterns: &[String],
        exact: bool,
        packages: &[String],
        targets: &[String],
    ) -> Result<Self> {
        let patterns = patterns.iter().map(|pattern| {
            if exact {
                return Ok(Pattern::Exact(pattern.clone()));
            }
            Regex::new(pattern).map(Pattern::Regex).map_err(|error| {
                Failure::new(Exit::Usage, format!("cannot use the filter `{pattern}`"))
                    .because(error.to_string())
                    .hint("take it literally with --exact, or write \\ before special characters")
            })
        });
        Ok(Self {
            patterns: patterns.collect::<Result<_>>()?,
            packages: packages.to_vec(),
            targets: targets.to_vec(),
        })
    }

    /// Whether the filter can mean a benchmark of this bench target: others need not be listed.
    pub fn may_match(&self, package: &str, target: &str) -> bool {
        let among =
            |names: &[String], name: &str| names.is_empty() || names.iter().any(|n| n == name);
        among(&self.packages, package) && among(&self.targets, target)
    }

    /// Whether the filter means `benchmark`.
    pub fn matches(&self, benchmark: &Benchmark) -> bool {
        let id = &benchmark.name.id;
        self.may_match(&benchmark.package, &benchmark.target)
            && (self.patterns.is_empty()
                || self.patterns.iter().any(|pattern| match pattern {
                    Pattern::Regex(regex) => regex.is_match(id),
                    Pattern::Exact(exact) => exact == id,
                }))
    }

    /// The benchmarks of `all` that are meant, in their order; that there is none is a failure that
    /// names some whose names are near.
    pub fn choose(&self, all: Vec<Benchmark>) -> Result<Vec<Benchmark>> {
        let (chosen, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|benchmark| self.matches(benchmark));
        if chosen.is_empty() { Err(self.nothing_among(&others)) } else { Ok(chosen) }
    }

    fn nothing_among(&self, others: &[Benchmark]) -> Failure {
        if others.is_empty() {
            return Failure::new(Exit::Usage, "there is no benchmark to run")
                .hint("cargo rbench list shows every benchmark and its harness");
        }
        let failure = Failure::new(Exit::Usage, "no benchmark matches")
            .because(format!("there are {} that do not", others.len()));
        if let Some(failure) = self.unknown_place(others, &failure) {
            return failure;
        }
        let ids = others
            .iter()
            .filter(|benchmark| self.may_match(&benchmark.package, &benchmark.target))
            .map(|benchmark| benchmark.name.id.as_str());
        let wanted: Vec<&str> = self.patterns.iter().map(Pattern::text).collect();
        with_near_names(failure, "benchmarks", &wanted, ids)
    }

    /// A package or target that no benchmark is in.
    fn unknown_place(&self, others: &[Benchmark], failure: &Failure) -> Option<Failure> {
        let packages = || others.iter().map(|benchmark| benchmark.package.as_str());
        let targets = || others.iter().map(|benchmark| benchmark.target.as_str());
        let unknown = |names: &[String], known: &[&str]| {
            names.iter().find(|name| !known.contains(&name.as_str())).cloned()
        };
        if let Some(package) = unknown(&self.packages, &packages().collect::<Vec<_>>()) {
            let failure = failure.clone().because(format!("no package `{package}` has benchmarks"));
            return Some(with_near_names(failure, "packages", &[&package], packages()));
        }
        let target = unknown(&self.targets, &targets().collect::<Vec<_>>())?;
        let failure = failure.clone().because(format!("no bench target is called `{target}`"));
        Some(with_near_names(failure, "bench targets", &[&target], targets()))
    }
}

impl Pattern {
    fn text(&self) -> &str {
        match self {
            Self::Regex(regex) => regex.as_str(),
            Self::Exact(exact) => exact,
        }
    }
}

/// Adds a hint with the few of `names` that are nearest to what was wanted.
fn with_near_names<'n>(
    failure: Failure,
    kind: &str,
    wanted: &[&str],
    names: impl Iterator<Item = &'n str>,
) -> Failure {
    /// As many as one reads.
    const MOST: usize = 5;
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    let nearness = |name: &str| {
        let near = wanted.iter().map(|wanted| {
            let (wanted, name) = (wanted.to_lowercase(), name.to_lowercase());
            strsim::jaro_winkler(&wanted, &name)
        });
        near.fold(0.0, f64::max)
    };
    names.sort_by(|a, b| nearness(b).total_cmp(&nearness(a)));
    names.truncate(MOST);
    if names.is_empty() {
        return failure;
    }
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    failure.hint(format!("{kind} with near names: {}", quoted.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Name;

    fn all() -> Vec<Benchmark> {
        let of = |package: &str, target: &str, id: &str| Benchmark {
            package: package.to_owned(),
            target: target.to_owned(),
            name: Name::plain(id),
        };
        vec![
            of("json", "parse", "words/64"),
            of("json", "parse", "words/1024"),
            of("json", "write", "words/64"),
            of("xml", "parse", "Attributes (quoted)"),
        ]
    }

    fn words(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    fn chosen(
        patterns: &[&str],
        exact: bool,
        packages: &str,
        targets: &str,
    ) -> Result<Vec<String>> {
        let patterns: Vec<_> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let filter = Filter::new(&patterns, exact, &words(packages), &words(targets))?;
        Ok(filter.choose(all())?.iter().map(ToString::to_string).collect())
    }

    fn failure(patterns: &[&str], exact: bool, packages: &str, targets: &str) -> String {
        let failure = chosen(patterns, exact, packages, targets).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        failure.to_string()
    }

    #[test]
    fn nothing_typed_means_every_benchmark() {
        assert_eq!(chosen(&[], false, "", "").unwrap().len(), 4);
    }

    #[test]
    fn patterns_are_regular_expressions_and_any_of_them_may_match() {
        assert_eq!(chosen(&["/10"], false, "", "").unwrap(), ["json parse words/1024"]);
        assert_eq!(chosen(&["^words/64$", "ttri"], false, "", "").unwrap().len(), 3);
    }

    #[test]
    fn exact_patterns_are_whole_ids_taken_literally() {
        let chosen = chosen(&["Attributes (quoted)"], true, "", "");
        assert_eq!(chosen.unwrap(), ["xml parse Attributes (quoted)"]);
    }

    #[test]
    fn packages_and_targets_narrow() {
        assert_eq!(chosen(&["words"], false, "json", "write").unwrap(), ["json write words/64"]);
        assert_eq!(chosen(&[], false, "xml json", "parse").unwrap().len(), 3);
    }

    #[test]
    fn a_filter_that_matches_nothing_names_what_is_near() {
        let failure = failure(&["word/1024"], true, "", "");
        assert!(
            failure.starts_with("no benchmark matches\n  there are 4 that do not"),
            "{failure}"
        );
        assert!(failure.contains("near names: `words/1024`"), "{failure}");
    }

    #[test]
    fn an_unknown_package_or_target_is_named_with_what_is_near() {
        let text = failure(&[], false, "jso", "");
        assert!(text.contains("no package `jso`") && text.contains("near names: `json`"), "{text}");
        let text = failure(&[], false, "", "writer");
        assert!(text.contains("called `writer`") && text.contains("near names: `write`"), "{text}");
    }

    #[test]
    fn a_broken_regular_expression_is_a_usage_error_with_the_way_out() {
        let text = failure(&["(quoted"], false, "", "");
        assert!(text.contains("unclosed group") && text.contains("--exact"), "{text}");
    }
}
