//! The table of docs/research/interleaving.md, "Workloads": benchmarks that are hard to measure, with several threads, async
//! runtimes, data larger than the caches, and whole programs.
//!
//! `cargo run --release -p lab --bin workloads` compares each with a version that has other code which nothing executes, and with
//! one that does 5 % more work: sequentially, and as `cargo rbench compare` does by default. It prints a table, and exits with
//! an error if a verdict is false. `--rounds` repeats the comparisons with other layouts.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

use std::{
    collections::BTreeMap,
    error::Error,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use clap::Parser;
use lab::WorkingTree;
use serde_json::Value;

/// The options of the study.
#[derive(Debug, Parser)]
struct Options {
    /// Comparisons of each pair of versions in each mode.
    #[arg(long, default_value_t = 1)]
    rounds: u32,
}

/// The benchmarks of the fixture: bench targets, and programs.
const WHAT: [&[&str]; 2] =
    [&["--workspace"], &["--command", "one-thread", "--command", "many-threads"]];

/// The modes: the default, which interleaves what it can, and one execution after the other.
const MODES: [&[&str]; 2] = [&["--mode", "sequential"], &[]];

/// What one benchmark gave in one metric.
#[derive(Debug, Default)]
struct Row {
    /// In each mode: its value in the base, and how it was measured.
    values: [Option<(f64, String)>; 2],
    /// In each mode: the halves of the intervals of a change, in %, where nothing differs.
    halves: [Vec<f64>; 2],
    /// In each mode: the verdicts where nothing differs, and on more work.
    verdicts: [[Vec<String>; 2]; 2],
    /// By default: the changes by 5 % more work, in %.
    changes: Vec<f64>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    lab::end(study(&options))
}

fn study(options: &Options) -> Result<bool, Box<dyn Error>> {
    let rbench = lab::rbench::build("release")?;
    let scratch = tempfile::tempdir()?;
    let tree = WorkingTree::of_fixture("workloads", scratch.path().join("project"))?;
    let base = tree.head()?;
    let unrelated = "    if seed == 77 {\n        let text: Vec<String> = (0..seed).map(|n| \
                     format!(\"{n:?}\")).collect();\n        return text.concat().len() as u64;\n    }\n    seed\n}\n";
    tree.edit("src/lib.rs", |lib| replace_last(&lib, "    seed\n}\n", unrelated))?;
    tree.commit("Other code that nothing executes")?;
    let unrelated = tree.head()?;
    tree.edit("src/lib.rs", |lib| lib.replace("WORK: u64 = 100", "WORK: u64 = 105"))?;
    tree.commit("More work")?;
    let heads = [unrelated.clone(), tree.head()?];
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut seconds = [0.0; 2];
    for round in 0..options.rounds {
        for (mode, words) in MODES.into_iter().enumerate() {
            for (more, head) in heads.iter().enumerate() {
                let base = if more == 1 { &unrelated } else { &base };
                for what in WHAT {
                    eprintln!(
                        "round {round}: {} {} {}",
                        words.join(" "),
                        what[0],
                        ["unrelated", "more"][more]
                    );
                    let seed = format!("build.seed={round}");
                    let all = [&[base, head, "--no-skip", "--config", &seed], words, what].concat();
                    let start = Instant::now();
                    let report = compare(&rbench, tree.path(), &all)?;
                    seconds[mode] += start.elapsed().as_secs_f64();
                    add(&report, mode, more, &mut rows);
                }
            }
        }
    }
    println!(
        "| benchmark | alone | by default | half of the interval: sequential | by default | verdicts: sequential | by default | 5 % more: sequential | by default | change |"
    );
    println!("|---|--:|--:|--:|--:|---|---|---|---|--:|");
    for (name, row) in &rows {
        println!("{}", row.line(name));
    }
    println!(
        "\nseconds in all, with compiling: sequential {:.0}, by default {:.0}",
        seconds[0], seconds[1]
    );
    let is_false = |row: &&Row| {
        row.verdicts.iter().any(|[same, more]| {
            same.iter().any(|verdict| verdict == "regressed" || verdict == "improved")
                || more.iter().any(|verdict| verdict == "improved")
        })
    };
    Ok(!rows.values().any(|row| is_false(&row)))
}

/// Compares two versions; returns the report.
fn compare(rbench: &Path, project: &Path, words: &[&str]) -> Result<Value, Box<dyn Error>> {
    let output = Command::new(rbench)
        .args(["compare", "--quiet", "--format", "json"])
        .args(words)
        .current_dir(project)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    // A regression gives exit code 1.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(format!("cargo rbench compare {}: {}", words.join(" "), output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn add(report: &Value, mode: usize, more: usize, rows: &mut BTreeMap<String, Row>) {
    for found in report["benchmarks"].as_array().into_iter().flatten() {
        let text = |key: &str| found[key].as_str().unwrap_or_default();
        let change = |key: &str| found["change"][key].as_f64().map(|share| 100.0 * share);
        let name = match text("metric") {
            "wall" => text("id").to_owned(),
            other => format!("{}, {other}", text("id")),
        };
        let row = rows.entry(name).or_default();
        let reason = found["interleaving_unavailable"].as_str().map(|why| format!(" ({why})"));
        let how = text("mode").to_owned() + &reason.filter(|_| mode == 1).unwrap_or_default();
        if let Some(value) = found["base"]["value"].as_f64() {
            row.values[mode].get_or_insert((value, how));
        }
        row.verdicts[mode][more].push(text("verdict").to_owned());
        if more == 0
            && let (Some(low), Some(high)) = (change("low"), change("high"))
        {
            row.halves[mode].push((high - low) / 2.0);
        }
        if more == 1 && mode == 1 {
            row.changes.extend(change("estimate"));
        }
    }
}

impl Row {
    fn line(&self, name: &str) -> String {
        let alone = self.values[0].as_ref().map(|(value, _)| *value);
        let default = self.values[1].as_ref().map_or_else(String::new, |(value, how)| {
            let multiple = alone.map_or(f64::NAN, |alone| value / alone);
            format!("{multiple:.2}, {how}")
        });
        let halves = self.halves.each_ref().map(|all| match middle(all) {
            Some(half) => format!("{half:.2} %"),
            None => String::new(),
        });
        let verdicts = self.verdicts.each_ref().map(|both| both.each_ref().map(|all| counted(all)));
        let change = middle(&self.changes).map_or_else(String::new, |one| format!("{one:+.1} %"));
        format!(
            "| {name} | {} | {default} | {} | {} | {} | {} | {} | {} | {change} |",
            alone.map_or_else(String::new, shown),
            halves[0],
            halves[1],
            verdicts[0][0],
            verdicts[1][0],
            verdicts[0][1],
            verdicts[1][1],
        )
    }
}

fn middle(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// `3 unchanged, 1 inconclusive`; without numbers if there is only one.
fn counted(verdicts: &[String]) -> String {
    if let [only] = verdicts {
        return only.clone();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for verdict in verdicts {
        *counts.entry(verdict).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(verdict, count)| format!("{count} {verdict}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// A time in ns, with its unit.
fn shown(time: f64) -> String {
    match time {
        time if time < 1e3 => format!("{time:.0} ns"),
        time if time < 1e6 => format!("{:.1} µs", time / 1e3),
        time => format!("{:.1} ms", time / 1e6),
    }
}

fn replace_last(text: &str, from: &str, to: &str) -> String {
    match text.rfind(from) {
        Some(at) => format!("{}{to}{}", &text[..at], &text[at + from.len()..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_collect_verdicts_and_intervals() {
        let report = |verdict: &str, change: f64| {
            serde_json::json!({"benchmarks": [{
                "id": "sum", "metric": "wall", "verdict": verdict, "mode": "interleaved",
                "interleaving_unavailable": null, "base": {"value": 2e6},
                "change": {"estimate": change, "low": change - 0.01, "high": change + 0.01},
            }]})
        };
        let mut rows = BTreeMap::new();
        for mode in 0..2 {
            add(&report("unchanged", 0.0), mode, 0, &mut rows);
            add(&report("regressed", 0.05), mode, 1, &mut rows);
        }
        let line = rows["sum"].line("sum");
        let expected = "| sum | 2.0 ms | 1.00, interleaved | 1.00 % | 1.00 % | unchanged | unchanged | \
                        regressed | regressed | +5.0 % |";
        assert_eq!(line, expected);
    }

    #[test]
    fn verdicts_are_counted() {
        let verdicts = ["unchanged", "inconclusive", "unchanged"].map(str::to_owned);
        assert_eq!(counted(&verdicts), "1 inconclusive, 2 unchanged");
        assert_eq!(counted(&verdicts[..1]), "unchanged");
    }

    #[test]
    fn last_occurrence_is_replaced() {
        assert_eq!(replace_last("a b a", "a", "c"), "a b c");
        assert_eq!(replace_last("b", "a", "c"), "b");
    }
}
