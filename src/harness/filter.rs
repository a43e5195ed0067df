//! Selects benchmarks by filters, and reports if none matches.

use regex::Regex;

use crate::{
    error::{Error, Exit, Result},
    model::{Benchmark, Partition},
    shell::cargo,
};

/// What the user typed to choose benchmarks.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    patterns: Vec<Pattern>,
    packages: Vec<String>,
    targets: Vec<String>,
    partition: Option<Partition>,
}

#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    matching: Matching,
}

#[derive(Clone, Debug)]
enum Matching {
    /// The whole id.
    Exact,
    /// A regular expression, or literally a part of the id: `f64[0]` is both.
    Regex(Regex),
    /// Literally a part of the id: it is no regular expression, for this reason.
    Part(String),
}

impl Pattern {
    fn new(text: &str, exact: bool) -> Self {
        let matching = match Regex::new(text) {
            _ if exact => Matching::Exact,
            Ok(regex) => Matching::Regex(regex),
            Err(error) => Matching::Part(error.to_string()),
        };
        Self { text: text.to_owned(), matching }
    }

    fn matches(&self, id: &str) -> bool {
        match &self.matching {
            Matching::Exact => id == self.text,
            Matching::Regex(regex) => regex.is_match(id) || id.contains(&self.text),
            Matching::Part(_) => id.contains(&self.text),
        }
    }
}

impl Filter {
    /// Benchmarks whose id matches any of `patterns`, in any of `packages` and any of the bench targets
    /// `targets`. An empty list leaves out nothing. A pattern is a regular expression or a part of an
    /// id, or a whole id if `exact`.
    pub fn new(patterns: &[String], exact: bool, packages: &[String], targets: &[String]) -> Self {
        Self {
            patterns: patterns.iter().map(|pattern| Pattern::new(pattern, exact)).collect(),
            packages: packages.to_vec(),
            targets: targets.to_vec(),
            partition: None,
        }
    }

    /// The same, of one part of all benchmarks. That it has none of those that are meant is no failure: another
    /// part has them.
    #[must_use]
    pub fn within(self, partition: Option<Partition>) -> Self {
        Self { partition, ..self }
    }

    /// Whether all benchmarks are meant.
    pub const fn means_all(&self) -> bool {
        let Self { patterns, packages, targets, partition } = self;
        patterns.is_empty() && packages.is_empty() && targets.is_empty() && partition.is_none()
    }

    /// The part of all benchmarks that is meant, if only one is.
    pub const fn partition(&self) -> Option<Partition> {
        self.partition
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
            && (self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(id)))
    }

    /// Whether a benchmark is in the part that is wanted.
    pub fn has_in_part(&self, benchmark: &Benchmark) -> bool {
        self.partition.is_none_or(|partition| partition.has(benchmark))
    }

    /// The benchmarks of `all` that are meant, whatever part they are in, in their order; that there is none is a failure that
    /// names some whose names are near.
    pub fn choose(&self, all: Vec<Benchmark>) -> Result<Vec<Benchmark>> {
        let (chosen, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|benchmark| self.matches(benchmark));
        if chosen.is_empty() { Err(self.nothing_among(&others)) } else { Ok(chosen) }
    }

    fn nothing_among(&self, others: &[Benchmark]) -> Error {
        if others.is_empty() {
            return Error::new(Exit::Usage, "there is no benchmark to run")
                .hint(format!("{} rbench list shows every benchmark and its harness", cargo()));
        }
        if let Some(failure) = self.unknown_place(others) {
            return failure;
        }
        let candidates: Vec<&str> = others
            .iter()
            .filter(|benchmark| self.may_match(&benchmark.package, &benchmark.target))
            .map(|benchmark| benchmark.name.id.as_str())
            .collect();
        let patterns: Vec<&str> =
            self.patterns.iter().map(|pattern| pattern.text.as_str()).collect();
        let quoted: Vec<_> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
        let what = match &quoted[..] {
            [] => "no benchmark matches".to_owned(),
            quoted => format!("no benchmark matches {}", quoted.join(" or ")),
        };
        let mut failure = Error::new(Exit::Usage, what).cause(match candidates.len() {
            1 => "there is 1 benchmark".to_owned(),
            count => format!("there are {count} benchmarks"),
        });
        for pattern in &self.patterns {
            if let Matching::Part(error) = &pattern.matching {
                failure = failure
                    .cause(format!(
                        "`{}` was matched literally, because it is not a valid \
                                      regular expression:",
                        pattern.text
                    ))
                    .cause(error);
            }
        }
        with_near_names(failure, "benchmarks", &patterns, candidates)
    }

    /// A package that has no benchmark, or a target that is none.
    fn unknown_place(&self, others: &[Benchmark]) -> Option<Error> {
        let packages: Vec<_> = others.iter().map(|other| other.package.as_str()).collect();
        let targets: Vec<_> = others.iter().map(|other| other.target.as_str()).collect();
        let unknown = |names: &[String], known: &[&str]| {
            names.iter().find(|name| !known.contains(&name.as_str())).cloned()
        };
        let (what, kind, name, known) = match unknown(&self.packages, &packages) {
            Some(package) => ("no package with benchmarks", "packages", package, packages),
            None => {
                ("no bench target", "bench targets", unknown(&self.targets, &targets)?, targets)
            }
        };
        let failure = Error::new(Exit::Usage, format!("{what} is called `{name}`"));
        Some(with_near_names(failure, kind, &[&name], known))
    }
}

/// Adds a hint with the names that are nearest to what was typed: one if it is a slip of the keyboard
/// away, else a few.
fn with_near_names(failure: Error, kind: &str, typed: &[&str], names: Vec<&str>) -> Error {
    /// As many as one reads.
    const MOST: usize = 5;
    /// The Jaro-Winkler similarity from which on a name is probably meant.
    const MEANT: f64 = 0.9;
    let nearness = |name: &str| {
        let near = typed
            .iter()
            .map(|typed| strsim::jaro_winkler(&typed.to_lowercase(), &name.to_lowercase()));
        near.fold(0.0, f64::max)
    };
    let mut names: Vec<(f64, &str)> =
        names.into_iter().map(|name| (nearness(name), name)).collect();
    names.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    names.dedup();
    let quoted: Vec<_> = names.iter().take(MOST).map(|(_, name)| format!("`{name}`")).collect();
    match names.first() {
        Some((nearness, name)) if *nearness >= MEANT => {
            failure.hint(format!("did you mean `{name}`?"))
        }
        Some(_) => failure.hint(format!("{kind} with similar names: {}", quoted.join(", "))),
        None => failure,
    }
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
            of("json", "write", "f64[0]"),
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
        let filter = Filter::new(&patterns, exact, &words(packages), &words(targets));
        Ok(filter.choose(all())?.iter().map(ToString::to_string).collect())
    }

    fn failure(patterns: &[&str], exact: bool, packages: &str, targets: &str) -> String {
        let failure = chosen(patterns, exact, packages, targets).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        failure.to_string()
    }

    #[test]
    fn nothing_typed_means_every_benchmark() {
        assert_eq!(chosen(&[], false, "", "").unwrap().len(), 5);
    }

    #[test]
    fn patterns_are_regular_expressions_and_any_of_them_may_match() {
        assert_eq!(chosen(&["/10"], false, "", "").unwrap(), ["json parse words/1024"]);
        assert_eq!(chosen(&["^words/64$", "ttri"], false, "", "").unwrap().len(), 3);
    }

    #[test]
    fn a_part_of_an_id_matches_even_if_it_reads_as_another_regular_expression_or_as_none() {
        assert_eq!(chosen(&["f64[0]"], false, "", "").unwrap(), ["json write f64[0]"]);
        assert_eq!(chosen(&["(quo"], false, "", "").unwrap(), ["xml parse Attributes (quoted)"]);
    }

    #[test]
    fn exact_patterns_are_whole_ids_taken_literally() {
        let chosen = chosen(&["Attributes (quoted)"], true, "", "");
        assert_eq!(chosen.unwrap(), ["xml parse Attributes (quoted)"]);
    }

    #[test]
    fn packages_and_targets_narrow() {
        let narrowed = chosen(&["words"], false, "json", "write").unwrap();
        assert_eq!(narrowed, ["json write words/64"]);
        assert_eq!(chosen(&[], false, "xml json", "parse").unwrap().len(), 3);
    }

    #[test]
    fn a_filter_that_matches_nothing_is_repeated_with_what_is_near() {
        assert_eq!(
            failure(&["word/1024"], true, "", ""),
            "no benchmark matches `word/1024`\n  there are 5 benchmarks\n\
             hint: did you mean `words/1024`?"
        );
        let text = failure(&["64 words", "zip"], true, "json", "write");
        assert!(
            text.starts_with("no benchmark matches `64 words` or `zip`\n  there are 2"),
            "{text}"
        );
        assert!(text.contains("similar names: `words/64`, `f64[0]`"), "{text}");
    }

    #[test]
    fn an_unknown_package_or_target_is_named_with_what_was_probably_meant() {
        assert_eq!(
            failure(&[], false, "jso", ""),
            "no package with benchmarks is called `jso`\nhint: did you mean `json`?"
        );
        assert_eq!(
            failure(&[], false, "", "wriet"),
            "no bench target is called `wriet`\nhint: did you mean `write`?"
        );
    }

    #[test]
    fn a_broken_regular_expression_that_is_part_of_no_id_is_explained() {
        let text = failure(&["(unclosed"], false, "", "");
        assert!(text.contains("matched literally") && text.contains("unclosed group"), "{text}");
    }
}
