//! Tests parsing, errors with their line, and editing that keeps the user's comments.

use super::*;
use crate::model::Name;

fn entry(id: &str, digit: char) -> AcceptedEntry {
    AcceptedEntry {
        package: "parser".to_owned(),
        bench: "work".to_owned(),
        benchmark: id.to_owned(),
        metric: Metric::wall(),
        commit: digit.to_string().repeat(40),
        base: "0".repeat(40),
        change: 0.0521,
        ceiling: 0.08,
        reason: "checks more input".to_owned(),
    }
}

fn parse(text: &str) -> Result<AcceptedToml> {
    AcceptedToml::parse(text.to_owned(), "accepted.toml".into())
}

fn with(entries: &[AcceptedEntry]) -> AcceptedToml {
    let empty = parse("").unwrap();
    entries.iter().fold(empty, |file, entry| file.with(entry).unwrap())
}

#[test]
fn new_file_explains_itself_and_has_one_line_per_key() {
    insta::assert_snapshot!(with(&[entry("parse/1", 'a')]).text);
}

#[test]
fn entries_are_sorted_in_any_insertion_order() {
    let all = [entry("b", 'a'), entry("a", 'c'), entry("a", 'b')];
    let ids = |file: &AcceptedToml| -> Vec<String> {
        file.entries().iter().map(|one| one.benchmark.clone() + &one.commit[..1]).collect()
    };
    let file = with(&all);
    assert_eq!(ids(&file), ["ab", "ac", "ba"]);
    let mut backwards = all.clone();
    backwards.reverse();
    assert_eq!(with(&backwards).text, file.text);
    assert!(file.text.starts_with("# Benchmarks that became slower"), "{}", file.text);
}

#[test]
fn entry_with_the_same_key_is_replaced() {
    let changed = AcceptedEntry { ceiling: 0.1, ..entry("a", 'a') };
    let file = with(&[entry("a", 'a'), entry("b", 'a'), changed.clone()]);
    assert_eq!(file.entries(), [changed, entry("b", 'a')]);
}

#[test]
fn comments_stay_with_their_entries() {
    let file = with(&[entry("b", 'a'), entry("c", 'a')]);
    let commented = file.text.replace(
        "[[accepted]]\npackage = \"parser\"\nbench = \"work\"\nbenchmark = \"c\"",
        "# Until the next format.\n[[accepted]]\npackage = \"parser\"\nbench = \"work\" # the only one\n\
         benchmark = \"c\"",
    );
    let file = parse(&commented).unwrap().with(&entry("a", 'a')).unwrap();
    let changed = AcceptedEntry { ceiling: 0.1, ..entry("c", 'a') };
    let file = file.with(&changed).unwrap();
    let whole = "\n\n# Until the next format.\n[[accepted]]\npackage = \"parser\"\nbench = \"work\" # the \
                 only one\nbenchmark = \"c\"\n";
    assert!(file.text.contains(whole), "{}", file.text);
    assert!(file.text.starts_with("# Benchmarks that became slower"), "{}", file.text);
    assert!(file.text.contains("ceiling = \"10%\""), "{}", file.text);
    assert_eq!(file.entries().len(), 3);
}

#[test]
fn user_written_head_stays_at_the_top() {
    let text = with(&[entry("b", 'a')]).text;
    let (_, tables) = text.split_once("\n\n").unwrap();
    let own = format!("# Ask the team first.\n\n# The first.\n{tables}");
    let file = parse(&own).unwrap().with(&entry("a", 'a')).unwrap();
    assert!(file.text.starts_with("# Ask the team first.\n\n[[accepted]]"), "{}", file.text);
    assert!(file.text.contains("\n\n# The first.\n[[accepted]]"), "{}", file.text);
}

#[test]
fn inline_list_becomes_tables() {
    let text = with(&[entry("b", 'a')]).text;
    let keys: Vec<&str> = text.lines().filter(|line| line.contains(" = ")).collect();
    let list = format!("accepted = [{{ {} }}]\n", keys.join(", "));
    let file = parse(&list).unwrap().with(&entry("a", 'a')).unwrap();
    assert_eq!(file.entries(), [entry("a", 'a'), entry("b", 'a')]);
}

#[test]
fn names_and_reasons_round_trip() {
    let hostile = AcceptedEntry {
        benchmark: "a\u{1b}[2J\n\"]'''|\u{202e}".to_owned(),
        reason: "\"quoted\" \\ 'and' # more".to_owned(),
        ..entry("", 'a')
    };
    assert_eq!(with(std::slice::from_ref(&hostile)).entries(), [hostile]);
}

#[test]
fn change_from_zero_has_an_infinite_ceiling() {
    let new = AcceptedEntry { change: f64::INFINITY, ceiling: f64::INFINITY, ..entry("a", 'a') };
    let file = with(std::slice::from_ref(&new));
    assert!(file.text.contains("change = \"from 0\"\nceiling = \"any size\"\n"), "{}", file.text);
    assert_eq!(file.entries(), [new]);
}

#[test]
fn errors_name_their_line() {
    let good = with(&[entry("a", 'a')]).text;
    let refused = |old: &str, new: &str| {
        assert!(good.contains(old), "{good}");
        let error = parse(&good.replace(old, new)).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        error.to_string()
    };
    for (old, new, line, message) in [
        ("metric = \"wall\"", "metric = \"walls\"", 8, "no metric is called `walls`"),
        ("commit = \"aaaa", "commit = \"xyz", 9, "all digits of a commit"),
        ("ceiling = \"8%\"", "ceiling = \"8\"", 12, "did you mean 8%"),
        ("ceiling = \"8%\"", "ceiling = 8", 12, "invalid type"),
        ("reason = \"checks more input\"", "reason = \" \"", 13, "why the change is accepted"),
        ("reason = \"checks", "reason = \"checks\\n", 13, "no line break"),
        ("reason", "because", 13, "unknown field `because`"),
        ("[[accepted]]", "[[acepted]]", 4, "unknown field `acepted`"),
        ("[[accepted]]", "[[accepted", 4, ""),
    ] {
        let text = refused(old, new);
        assert!(text.contains(&format!("line {line}")), "{new}: {text}");
        assert!(text.contains(message), "{new}: {text}");
    }
    let (head, table) = good.split_at(good.find("[[").unwrap());
    let twice = parse(&format!("{head}{table}\n{table}")).unwrap_err().to_string();
    assert!(twice.contains("line 15: this benchmark of this commit is in line 4"), "{twice}");
}

#[test]
fn entry_applies_to_one_benchmark_of_one_target() {
    let benchmark = |target: &str, id: &str| Benchmark {
        package: "parser".to_owned(),
        target: target.to_owned(),
        name: Name::plain(id),
    };
    let entry = entry("a", 'a');
    assert!(entry.applies_to(&benchmark("work", "a"), &Metric::wall()));
    assert!(!entry.applies_to(&benchmark("other", "a"), &Metric::wall()));
    assert!(!entry.applies_to(&benchmark("work", "b"), &Metric::wall()));
    assert!(!entry.applies_to(&benchmark("work", "a"), &"peak-memory".parse().unwrap()));
}

#[test]
fn gitignore_tracks_the_file_but_not_the_results() {
    let directory = tempfile::tempdir().unwrap();
    let rbench = directory.path().join(".rbench");
    let write = || AcceptedToml::read(directory.path()).unwrap().with(&entry("a", 'a')).unwrap();
    write().write().unwrap();
    let ignore = || std::fs::read_to_string(rbench.join(".gitignore")).unwrap();
    assert_eq!(ignore(), "*\n!.gitignore\n!accepted.toml\n");
    // As a new store creates it, and as a user may have changed it.
    for (before, after) in [("*\n", "*\n!.gitignore\n!accepted.toml\n"), ("mine\n", "mine\n")] {
        std::fs::write(rbench.join(".gitignore"), before).unwrap();
        write().write().unwrap();
        assert_eq!(ignore(), after);
    }
    assert_eq!(AcceptedToml::read(directory.path()).unwrap().entries(), [entry("a", 'a')]);
}
