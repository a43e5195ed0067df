//! Selects implementations of one task by patterns.

use std::collections::BTreeSet;

use regex::Regex;

use super::filter::{choose_one, with_near_names};
use crate::{
    error::{Error, Exit, Result},
    model::{Benchmark, Implementation, Implementations, Name, TargetFilter},
};

/// The maximum number of implementations in one comparison: more than a reader of one table needs.
const MOST: usize = 20;

/// Expands braces as a shell does: `a/{b,c}` to `a/b` and `a/c`.
pub fn expand_braces(pattern: &str) -> Vec<String> {
    let Some((open, close)) = first_braces(pattern) else { return vec![pattern.to_owned()] };
    let (before, after) = (&pattern[..open], &pattern[close + 1..]);
    let words = words_between_commas(&pattern[open + 1..close]);
    let expanded = words.iter().flat_map(|word| expand_braces(&format!("{before}{word}{after}")));
    expanded.collect()
}

/// The first pair of braces with a comma between them, which are not those of braces within.
fn first_braces(pattern: &str) -> Option<(usize, usize)> {
    for (open, _) in pattern.match_indices('{') {
        let (mut depth, mut has_comma) = (0, false);
        for (at, c) in pattern[open..].char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => has_comma = true,
                _ => {}
            }
            if depth == 0 && has_comma {
                return Some((open, open + at));
            }
            if depth == 0 {
                break;
            }
        }
    }
    None
}

fn words_between_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut words) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words
}

/// Selects the benchmarks of each pattern among `all`: an id, or its beginning up to a separator. The rest of the
/// id is the parameter, and so is what a `*` stands for, which is any text without `/`. Fails if a pattern matches
/// nothing, or if two have no parameter in common.
pub fn select_implementations(patterns: &[String], all: &[Benchmark]) -> Result<Implementations> {
    let patterns = patterns.iter().flat_map(|word| expand_braces(word));
    let patterns: Vec<String> = patterns.map(|word| whole_name(&word, all)).collect();
    check_count(&patterns)?;
    let matching = patterns.iter().map(|pattern| matching(pattern, all));
    let matching = matching.collect::<Result<Vec<Vec<(String, &Benchmark)>>>>()?;
    let has = |found: &[(String, &Benchmark)], parameter: &str| {
        found.iter().any(|(other, _)| other == parameter)
    };
    let is_common = |parameter: &String| matching.iter().all(|found| has(found, parameter));
    let parameters = matching[0].iter().map(|(parameter, _)| parameter.clone());
    let parameters: Vec<String> = parameters.filter(is_common).collect();
    if parameters.is_empty() {
        return Err(nothing_in_common(&patterns, &matching));
    }
    check_one_target(&matching)?;
    let (name, names) = common_name(&patterns);
    let left_out = matching.iter().flatten().filter(|(one, _)| !parameters.contains(one));
    let left_out = left_out.map(|(_, benchmark)| (*benchmark).clone()).collect();
    let implementation = |(found, (own, pattern)): (&Vec<_>, (String, String))| {
        let benchmark = |(parameter, benchmark): &(String, &Benchmark)| {
            let id = with_parameter(&name, parameter);
            let common = Benchmark { name: Name::plain(id), ..(*benchmark).clone() };
            parameters.contains(parameter).then(|| (common, (*benchmark).clone()))
        };
        let benchmarks = found.iter().filter_map(benchmark).collect();
        Implementation { name: own, pattern, benchmarks }
    };
    let each = matching.iter().zip(names.into_iter().zip(patterns.iter().cloned()));
    Ok(Implementations { all: each.map(implementation).collect(), parameters, left_out, name })
}

fn with_parameter(name: &str, parameter: &str) -> String {
    let separator = if parameter.starts_with(|c: char| c.is_alphanumeric()) { "/" } else { "" };
    format!("{name}{separator}{parameter}")
}

fn check_count(patterns: &[String]) -> Result<()> {
    let what = "cannot compare implementations";
    let hint = "name two benchmarks, or use braces: cargo rbench versus 'parse/{serde,simd}'";
    let twice = patterns.iter().enumerate().find(|(at, one)| patterns[..*at].contains(one));
    let cause = match (patterns.len(), twice) {
        (0 | 1, _) => "a comparison needs at least two".to_owned(),
        (_, Some((_, twice))) => format!("`{twice}` is named twice"),
        (count, None) if count > MOST => format!("{count} are named, and at most {MOST} can be"),
        _ => return Ok(()),
    };
    Err(Error::new(Exit::Usage, what).cause(cause).hint(hint))
}

/// A pattern as ids begin: as typed if an id does, or with what stands before it in all ids that contain it after a
/// separator, such as divan's `bench_target::`, or else the only id that it matches as a filter does. As typed if it is
/// none of these, for the error.
fn whole_name(typed: &str, all: &[Benchmark]) -> String {
    if matching(typed, all).is_ok() {
        return typed.to_owned();
    }
    let parts: Vec<String> = typed.split('*').map(regex::escape).collect();
    let regex = format!("^(.*(?:/|::| )){}(?:(?:/|::| ).*)?$", parts.join("[^/]*"));
    let Ok(regex) = Regex::new(&regex) else { return typed.to_owned() };
    let before = |one: &Benchmark| Some(regex.captures(&one.name.id)?.get(1)?.as_str().to_owned());
    let before: BTreeSet<String> = all.iter().filter_map(before).collect();
    match before.first() {
        Some(only) if before.len() == 1 => format!("{only}{typed}"),
        _ => choose_one(all, typed, &TargetFilter::default())
            .map_or_else(|_| typed.to_owned(), |one| one.name.id),
    }
}

fn matching<'b>(pattern: &str, all: &'b [Benchmark]) -> Result<Vec<(String, &'b Benchmark)>> {
    let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
    // A separator, so that `sort` does not match `sort-unstable`.
    let regex = format!("^{}((?:/|::| ).*)?$", parts.join("([^/]*)"));
    let regex = Regex::new(&regex).map_err(|error| {
        Error::new(Exit::Usage, format!("`{pattern}` cannot select benchmarks"))
            .cause(error.to_string())
    })?;
    let parameter = |benchmark: &'b Benchmark| {
        let captures = regex.captures(&benchmark.name.id)?;
        let groups = captures.iter().skip(1).flatten().map(|group| group.as_str());
        let parts: Vec<&str> = groups.map(|text| text.trim_start_matches(['/', ':'])).collect();
        Some((parts.join("/"), benchmark))
    };
    let found: Vec<_> = all.iter().filter_map(parameter).collect();
    if found.is_empty() {
        let ids = all.iter().map(|benchmark| benchmark.name.id.as_str()).collect();
        let error = Error::new(Exit::Usage, format!("no benchmark is called `{pattern}`"));
        return Err(with_near_names(error, "benchmarks", &[pattern], ids));
    }
    let mut parameters = BTreeSet::new();
    match found.iter().find(|(parameter, _)| !parameters.insert(parameter.clone())) {
        None => Ok(found),
        Some((_, benchmark)) => {
            let id = &benchmark.name.id;
            Err(Error::new(Exit::Usage, format!("`{pattern}` matches several benchmarks"))
                .cause(format!("`{id}` is in several bench targets, or differs only in separators"))
                .hint("select one bench target with --bench NAME, or a package with -p NAME"))
        }
    }
}

fn nothing_in_common(patterns: &[String], matching: &[Vec<(String, &Benchmark)>]) -> Error {
    let what = "the implementations have no parameter in common";
    let each = patterns.iter().zip(matching);
    each.fold(Error::new(Exit::Usage, what), |error, (pattern, found)| {
        let ids: Vec<String> =
            found.iter().take(3).map(|(_, one)| format!("`{}`", one.name.id)).collect();
        let more = if found.len() > 3 { ", …" } else { "" };
        error.cause(format!("`{pattern}` matches {}{more}", ids.join(", ")))
    })
}

/// One executable runs both benchmarks of a pair, with one layout.
fn check_one_target(matching: &[Vec<(String, &Benchmark)>]) -> Result<()> {
    let target = |(_, benchmark): &(String, &Benchmark)| benchmark.bench_target();
    let targets: BTreeSet<_> = matching.iter().flatten().map(target).collect();
    if targets.len() == 1 {
        return Ok(());
    }
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    Err(Error::new(Exit::Usage, "cannot compare implementations of several bench targets")
        .cause(format!("they are in {}", names.join(" and ")))
        .hint("define the benchmarks in one bench target, so that one executable has both"))
}

/// The common name of patterns, and the part that distinguishes each. Names differ in whole parts of the path.
fn common_name(patterns: &[String]) -> (String, Vec<String>) {
    let parts: Vec<Vec<&str>> =
        patterns.iter().map(|pattern| pattern.split('/').collect()).collect();
    let shortest = parts.iter().map(Vec::len).min().unwrap_or_default();
    let all_have = |index: &dyn Fn(&Vec<&str>) -> usize| {
        parts.iter().all(|one| one[index(one)] == parts[0][index(&parts[0])])
    };
    let before = (0..shortest).take_while(|at| all_have(&|_| *at)).count();
    let after = (0..shortest - before).take_while(|at| all_have(&|one| one.len() - 1 - at)).count();
    let distinct: Vec<String> =
        parts.iter().map(|one| one[before..one.len() - after].join("/")).collect();
    if distinct.iter().any(String::is_empty) {
        return (format!("{{{}}}", patterns.join(",")), patterns.to_vec());
    }
    let first = &parts[0];
    let middle = format!("{{{}}}", distinct.join(","));
    let common = first[..before].iter().copied().chain([middle.as_str()]);
    let common: Vec<&str> = common.chain(first[first.len() - after..].iter().copied()).collect();
    (common.join("/"), distinct)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn benchmarks(ids: &[&str]) -> Vec<Benchmark> {
        let (package, target) = ("p".to_owned(), "t".to_owned());
        let benchmark = |id: &&str| Benchmark {
            package: package.clone(),
            target: target.clone(),
            name: Name::plain(*id),
        };
        ids.iter().map(benchmark).collect()
    }

    fn select(patterns: &[&str], ids: &[&str]) -> Result<Implementations> {
        let patterns: Vec<String> = patterns.iter().map(|&word| word.to_owned()).collect();
        select_implementations(&patterns, &benchmarks(ids))
    }

    #[test]
    fn implementations_are_found_without_the_beginning_of_their_ids() {
        let ids = ["b::rev_a::8", "b::rev_a::9", "b::rev_b::8", "c::sort", "c::sort_fast"];
        let selected = |patterns: &[&str]| {
            let found = select(patterns, &ids).unwrap();
            (found.name, found.all.into_iter().map(|one| one.pattern).collect::<Vec<_>>())
        };
        let expected = ["b::rev_a", "b::rev_b"].map(str::to_owned).to_vec();
        assert_eq!(selected(&["rev_a", "rev_b"]).1, expected);
        assert_eq!(selected(&["rev_{a,b}"]).0, selected(&["b::rev_a", "b::rev_b"]).0);
        assert_eq!(selected(&["sort", "fast$"]).1, ["c::sort", "c::sort_fast"]);
        let error = select(&["rev", "sort"], &ids).unwrap_err().to_string();
        assert!(error.starts_with("no benchmark is called `rev`"), "{error}");
    }

    #[test]
    fn braces_are_expanded_as_by_a_shell() {
        for (pattern, expanded) in [
            ("a/{b,c}/1", &["a/b/1", "a/c/1"][..]),
            ("{a,b}/{1,2}", &["a/1", "a/2", "b/1", "b/2"]),
            ("a{,b}", &["a", "ab"]),
            ("{a,b{c,d}}", &["a", "bc", "bd"]),
            ("Vec<{integer}>/{a,b}", &["Vec<{integer}>/a", "Vec<{integer}>/b"]),
            ("a{b", &["a{b"]),
            ("}a,b{", &["}a,b{"]),
        ] {
            assert_eq!(expand_braces(pattern), expanded, "{pattern}");
        }
    }

    #[test]
    fn benchmarks_with_one_parameter_belong_together() {
        let ids =
            ["encode/a/1", "encode/a/2", "encode/b/2", "encode/b/1", "encode/a-b/1", "encode/b/9"];
        let selected = select(&["encode/{a,b}"], &ids).unwrap();
        assert_eq!(selected.name, "encode/{a,b}");
        assert_eq!(selected.parameters, ["1", "2"]);
        let of_b: Vec<_> = selected.all[1].benchmarks.iter().collect();
        let ids: Vec<_> = of_b.iter().map(|(one, own)| (&*one.name.id, &*own.name.id)).collect();
        assert_eq!(ids, [("encode/{a,b}/2", "encode/b/2"), ("encode/{a,b}/1", "encode/b/1")]);
        assert_eq!(selected.left_out, benchmarks(&["encode/b/9"]));
    }

    #[test]
    fn star_is_a_parameter_within_the_id() {
        let ids = ["encode/1/a", "encode/1/b", "encode/2/a", "encode/2/b"];
        let selected = select(&["encode/*/{a,b}"], &ids).unwrap();
        assert_eq!(
            (&*selected.name, &selected.parameters[..]),
            ("encode/*/{a,b}", &["1".into(), "2".into()][..])
        );
        assert_eq!(selected.all[0].benchmarks[1].0.name.id, "encode/*/{a,b}/2");
    }

    #[test]
    fn names_differ_in_whole_parts() {
        for (patterns, name, names) in [
            (&["parse/serde", "parse/simd"][..], "parse/{serde,simd}", &["serde", "simd"][..]),
            (&["a", "b::c"], "{a,b::c}", &["a", "b::c"]),
            (&["a/b/1", "a/c/d/1"], "a/{b,c/d}/1", &["b", "c/d"]),
            (&["a", "a/b"], "{a,a/b}", &["a", "a/b"]),
        ] {
            let patterns: Vec<String> = patterns.iter().map(|&word| word.to_owned()).collect();
            let (common, distinct) = common_name(&patterns);
            assert_eq!(
                (&*common, &distinct[..]),
                (name, &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()[..])
            );
        }
    }

    #[test]
    fn impossible_comparisons_are_refused() {
        let ids = ["a/1", "b/2", "c"];
        for (patterns, words) in [
            (&["a"][..], "a comparison needs at least two"),
            (&["a", "a"], "`a` is named twice"),
            (&["a", "d"], "no benchmark is called `d`"),
            (&["a", "b"], "`b` matches `b/2`"),
        ] {
            let error = select(patterns, &ids).unwrap_err();
            assert_eq!(error.exit(), Exit::Usage);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
