//! Selects benchmarks by filters, and explains filters that match none.

use std::collections::BTreeSet;

use regex::Regex;
use regex_syntax::hir::{Hir, HirKind};

use crate::{
    error::{Error, Exit, Result},
    model::{BenchTarget, Benchmark, Partition, TargetFilter},
};

/// The user's selection of benchmarks.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    patterns: Vec<Pattern>,
    targets: TargetFilter,
    partition: Option<Partition>,
}

#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    matching: Matching,
}

#[derive(Clone, Debug)]
enum Matching {
    Exact,
    /// A regular expression or a literal part of the id: `f64[0]` is both.
    Regex(Regex),
    /// A literal part of the id; not a valid regular expression, for this reason.
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

    /// For each way in which an id can match, the number of words that it must have and that a lowercase text lacks.
    fn lacking_words(&self, text: &str) -> Vec<usize> {
        match &self.matching {
            Matching::Exact | Matching::Part(_) => vec![lacking_words(&self.text, text)],
            Matching::Regex(_) => {
                regex_syntax::parse(&self.text).map_or(vec![0], |regex| lacking_for(&regex, text))
            }
        }
    }
}

/// The same for a regular expression, of which each alternative is another way.
fn lacking_for(regex: &Hir, text: &str) -> Vec<usize> {
    /// With more ways, nothing is known of any.
    const MOST_WAYS: usize = 64;
    let lacking = |part: &Hir| lacking_for(part, text);
    let ways = match regex.kind() {
        HirKind::Literal(literal) => {
            vec![lacking_words(&String::from_utf8_lossy(&literal.0), text)]
        }
        HirKind::Capture(group) => lacking(&group.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => lacking(&repeated.sub),
        HirKind::Concat(parts) => parts.iter().map(lacking).fold(vec![0], |before, part| {
            let sums = before.iter().flat_map(|one| part.iter().map(move |other| one + other));
            sums.take(MOST_WAYS + 1).collect()
        }),
        HirKind::Alternation(parts) => parts.iter().flat_map(lacking).collect(),
        HirKind::Repetition(_) | HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) => vec![0],
    };
    if ways.len() > MOST_WAYS { vec![0] } else { ways }
}

/// The number of words of a literal that a lowercase text lacks. Programs put ids together: `words/64` is written nowhere.
fn lacking_words(literal: &str, text: &str) -> usize {
    let words = literal.split(|letter: char| !letter.is_alphabetic());
    words.filter(|word| !text.contains(&word.to_lowercase())).count()
}

impl Filter {
    /// Selects benchmarks in these bench targets whose id matches any of `patterns`; no pattern excludes nothing. A
    /// pattern is a regular expression or a part of an id, or a whole id if `exact`.
    pub fn new(patterns: &[String], exact: bool, targets: TargetFilter) -> Self {
        Self {
            patterns: patterns.iter().map(|pattern| Pattern::new(pattern, exact)).collect(),
            targets,
            partition: None,
        }
    }

    /// Restricts the filter to one part of all benchmarks. An empty part is no error: other parts have the selected
    /// benchmarks.
    #[must_use]
    pub fn within(self, partition: Option<Partition>) -> Self {
        Self { partition, ..self }
    }

    /// Leaves out these bench targets, and no others, of those that it selects.
    pub fn leave_out(&mut self, targets: BTreeSet<BenchTarget>) {
        self.targets.left_out = targets;
    }

    /// True if the user named benchmarks, but not where they are.
    pub const fn names_only_benchmarks(&self) -> bool {
        let TargetFilter { benches, programs, .. } = &self.targets;
        !self.patterns.is_empty() && benches.is_empty() && programs.is_empty()
    }

    /// For each way in which an id can match one of the patterns, the number of words that it must have and that a text lacks: 0
    /// if a benchmark with the words in its source can match. Equally many for each text.
    pub fn lacking_words(&self, text: &str) -> Vec<usize> {
        let text = text.to_lowercase();
        self.patterns.iter().flat_map(|pattern| pattern.lacking_words(&text)).collect()
    }

    pub const fn means_all(&self) -> bool {
        let Self { patterns, targets, partition } = self;
        patterns.is_empty() && targets.means_all() && partition.is_none()
    }

    /// True if all benchmarks of the selected bench targets are measured.
    pub const fn means_whole_targets(&self) -> bool {
        self.patterns.is_empty() && self.partition.is_none()
    }

    /// The bench targets whose benchmarks it selects.
    pub const fn targets(&self) -> &TargetFilter {
        &self.targets
    }

    /// The selected part of all benchmarks, if only one is.
    pub const fn partition(&self) -> Option<Partition> {
        self.partition
    }

    /// True if the filter selects `benchmark`, in any part.
    pub fn matches(&self, benchmark: &Benchmark) -> bool {
        let id = &benchmark.name.id;
        self.targets.admits(&benchmark.bench_target())
            && (self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(id)))
    }

    pub fn has_in_part(&self, benchmark: &Benchmark) -> bool {
        self.partition.is_none_or(|partition| partition.has(benchmark))
    }

    /// The selected benchmarks of `all`, in any part, in their order. If there is none, the error lists similar names.
    pub fn choose(&self, all: Vec<Benchmark>) -> Result<Vec<Benchmark>> {
        let (chosen, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|benchmark| self.matches(benchmark));
        if chosen.is_empty() { Err(self.nothing_among(&others)) } else { Ok(chosen) }
    }

    fn nothing_among(&self, others: &[Benchmark]) -> Error {
        if others.is_empty() {
            return Error::new(Exit::Usage, "there is no benchmark to run").hint(
                "define benchmarks; a bench target with its own main, as those of criterion and \
                 divan, needs `harness = false` in Cargo.toml",
            );
        }
        if let Some(error) = self.unknown_place(others) {
            return error;
        }
        let candidates: Vec<&str> = others
            .iter()
            .filter(|benchmark| self.targets.admits(&benchmark.bench_target()))
            .map(|benchmark| benchmark.name.id.as_str())
            .collect();
        let patterns: Vec<&str> =
            self.patterns.iter().map(|pattern| pattern.text.as_str()).collect();
        let quoted: Vec<_> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
        let what = match &quoted[..] {
            [] => "no benchmark matches".to_owned(),
            quoted => format!("no benchmark matches {}", quoted.join(" or ")),
        };
        let mut error = Error::new(Exit::Usage, what).cause(match candidates.len() {
            1 => "there is 1 benchmark".to_owned(),
            count => format!("there are {count} benchmarks"),
        });
        for pattern in &self.patterns {
            if let Matching::Part(reason) = &pattern.matching {
                error = error
                    .cause(format!(
                        "`{}` was matched literally, because it is not a valid \
                                      regular expression:",
                        pattern.text
                    ))
                    .cause(reason);
            }
        }
        with_near_names(error, "benchmarks", &patterns, candidates)
    }

    /// The error for a package without benchmarks, or an unknown bench target.
    fn unknown_place(&self, others: &[Benchmark]) -> Option<Error> {
        let packages: Vec<_> = others.iter().map(|other| other.package.as_str()).collect();
        let targets: Vec<_> = others.iter().map(|other| other.target.as_str()).collect();
        let unknown = |names: &[String], known: &[&str]| {
            names.iter().find(|name| !known.contains(&name.as_str())).cloned()
        };
        let (what, kind, name, known) = match unknown(&self.targets.packages, &packages) {
            Some(package) => ("no package with benchmarks", "packages", package, packages),
            None => (
                "no bench target",
                "bench targets",
                unknown(&self.targets.benches, &targets)?,
                targets,
            ),
        };
        let error = Error::new(Exit::Usage, format!("{what} is called `{name}`"));
        Some(with_near_names(error, kind, &[&name], known))
    }
}

/// The benchmark with this id in these bench targets, or else the only one whose id matches it as a filter does.
pub fn choose_one(all: &[Benchmark], typed: &str, targets: &TargetFilter) -> Result<Benchmark> {
    const MOST: usize = 10;
    let filter = |exact| Filter::new(&[typed.to_owned()], exact, targets.clone());
    let matching = filter(true).choose(all.to_vec());
    match &matching.or_else(|_| filter(false).choose(all.to_vec()))?[..] {
        [only] => Ok(only.clone()),
        several => {
            let what = format!("{} benchmarks match `{typed}`, and not just one", several.len());
            Err(Error::new(Exit::Usage, what)
                .listing(several, MOST)
                .hint("use a whole id, and -p or --bench if needed"))
        }
    }
}

/// Adds a hint with the names nearest to the typed one: a single one if it is probably a typo, else a few.
pub(super) fn with_near_names(error: Error, kind: &str, typed: &[&str], names: Vec<&str>) -> Error {
    /// As many as a user reads.
    const MOST: usize = 5;
    /// Jaro-Winkler similarity from which a name is probably the intended one.
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
            error.hint(format!("did you mean `{name}`?"))
        }
        Some(_) => error.hint(format!("{kind} with similar names: {}", quoted.join(", "))),
        None => error,
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

    #[test]
    fn one_benchmark_is_chosen_by_its_id_or_by_what_only_it_has() {
        let one = |typed: &str, benches: &str| {
            let targets = TargetFilter { benches: words(benches), ..TargetFilter::default() };
            choose_one(&all(), typed, &targets).map(|one| one.name.id)
        };
        assert_eq!(one("1024", "").unwrap(), "words/1024");
        assert_eq!(one("^Attr", "").unwrap(), "Attributes (quoted)");
        assert_eq!(one("words/64", "write").unwrap(), "words/64");
        for (several, benches) in [("words/64", ""), ("words", "parse")] {
            let error = one(several, benches).unwrap_err().to_string();
            assert!(error.starts_with(&format!("2 benchmarks match `{several}`")), "{error}");
        }
        assert!(one("nothing", "").unwrap_err().to_string().starts_with("no benchmark matches"));
    }

    fn chosen(
        patterns: &[&str],
        exact: bool,
        packages: &str,
        targets: &str,
    ) -> Result<Vec<String>> {
        let patterns: Vec<_> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let targets = TargetFilter {
            packages: words(packages),
            benches: words(targets),
            ..TargetFilter::default()
        };
        let filter = Filter::new(&patterns, exact, targets);
        Ok(filter.choose(all())?.iter().map(ToString::to_string).collect())
    }

    fn error(patterns: &[&str], exact: bool, packages: &str, targets: &str) -> String {
        let error = chosen(patterns, exact, packages, targets).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        error.to_string()
    }

    #[test]
    fn empty_filter_selects_every_benchmark() {
        assert_eq!(chosen(&[], false, "", "").unwrap().len(), 5);
    }

    #[test]
    fn patterns_are_regular_expressions_joined_by_or() {
        assert_eq!(chosen(&["/10"], false, "", "").unwrap(), ["json parse words/1024"]);
        assert_eq!(chosen(&["^words/64$", "ttri"], false, "", "").unwrap().len(), 3);
    }

    #[test]
    fn pattern_matches_a_literal_part_of_an_id() {
        assert_eq!(chosen(&["f64[0]"], false, "", "").unwrap(), ["json write f64[0]"]);
        assert_eq!(chosen(&["(quo"], false, "", "").unwrap(), ["xml parse Attributes (quoted)"]);
    }

    #[test]
    fn exact_patterns_are_literal_whole_ids() {
        let chosen = chosen(&["Attributes (quoted)"], true, "", "");
        assert_eq!(chosen.unwrap(), ["xml parse Attributes (quoted)"]);
    }

    #[test]
    fn packages_and_targets_narrow_the_selection() {
        let narrowed = chosen(&["words"], false, "json", "write").unwrap();
        assert_eq!(narrowed, ["json write words/64"]);
        assert_eq!(chosen(&[], false, "xml json", "parse").unwrap().len(), 3);
    }

    #[test]
    fn unmatched_filter_is_shown_with_similar_names() {
        assert_eq!(
            error(&["word/1024"], true, "", ""),
            "no benchmark matches `word/1024`\n  there are 5 benchmarks\n\
             hint: did you mean `words/1024`?"
        );
        let text = error(&["64 words", "zip"], true, "json", "write");
        assert!(
            text.starts_with("no benchmark matches `64 words` or `zip`\n  there are 2"),
            "{text}"
        );
        assert!(text.contains("similar names: `words/64`, `f64[0]`"), "{text}");
    }

    #[test]
    fn unknown_package_or_target_is_named_with_a_suggestion() {
        assert_eq!(
            error(&[], false, "jso", ""),
            "no package with benchmarks is called `jso`\nhint: did you mean `json`?"
        );
        assert_eq!(
            error(&[], false, "", "wriet"),
            "no bench target is called `wriet`\nhint: did you mean `write`?"
        );
    }

    #[test]
    fn source_of_a_benchmark_has_the_words_of_its_filter() {
        let lacking = |pattern: &str, exact: bool, text: &str| {
            let filter = Filter::new(&[pattern.to_owned()], exact, TargetFilter::default());
            filter.lacking_words(text)
        };
        let has =
            |pattern: &str, exact: bool, text: &str| lacking(pattern, exact, text).contains(&0);
        let source = "c.benchmark_group(\"words\").bench_function(\"Sort_Unstable\", f64)";
        for pattern in [
            "words/64",
            "sort.*unst",
            "^(words|numbers)/",
            "f64[0]",
            "sorte?d?",
            "(?i)NUMBERS",
            "64",
            ".*",
            "w[aeo]rds",
            "words/(64",
        ] {
            assert!(has(pattern, false, source), "{pattern}");
        }
        for pattern in
            ["numbers", "words/sorted", "numbers|letters", "(sort|words)_stablest", "(numbers"]
        {
            assert!(!has(pattern, false, source), "{pattern}");
        }
        assert_eq!(lacking("(words|letters)/ascending/sort/64", true, source), [2]);
        assert_eq!(lacking("^(words|numbers)/(sort|a|b)", false, source), [0, 0, 0, 1, 1, 1]);
        assert!(has("sort_unstable(words)/64", true, source) && !has(".*numbers", true, source));
    }

    #[test]
    fn invalid_regular_expression_is_explained() {
        let text = error(&["(unclosed"], false, "", "");
        assert!(text.contains("matched literally") && text.contains("unclosed group"), "{text}");
    }
}
