//! Shows where the time of a run went.
//!
//! `cargo run -p lab --bin phases -- LOG...` reads the logs of runs, which `cargo rbench` writes to
//! `target/rbench/logs/runs/`, and prints the duration of each phase and its share of the whole. Measuring is divided
//! into measurements, warm-ups, and what executions need besides.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{collections::BTreeMap, env, error::Error, fs, process::ExitCode};

fn main() -> ExitCode {
    let logs: Vec<String> = env::args().skip(1).collect();
    if logs.is_empty() {
        println!("usage: phases LOG...");
        return ExitCode::from(2);
    }
    for log in &logs {
        match fs::read_to_string(log).map_err(Into::into).and_then(|text| Phases::read(&text)) {
            Ok(phases) => println!("{log}\n{}", phases.table()),
            Err(error) => {
                println!("cannot read {log}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// The durations of a run, in seconds.
#[derive(Debug, Default, PartialEq)]
struct Phases {
    /// From the first line of the log to the last.
    whole: f64,
    /// Each phase, all its parts together.
    phases: BTreeMap<String, f64>,
    executions: usize,
    warm_ups: f64,
    measurements: f64,
}

impl Phases {
    fn read(log: &str) -> Result<Self, Box<dyn Error>> {
        let mut found = Self::default();
        let mut times = log.lines().filter_map(time_of);
        let first = times.next().ok_or("no line of it has a time")?;
        found.whole = (times.next_back().unwrap_or(first) - first).rem_euclid(86_400.0);
        for line in log.lines() {
            if let Some((before, busy)) = line.split_once(" close time.busy=") {
                if let (Some(phase), Some(busy)) = (phase_of(before), seconds(busy)) {
                    *found.phases.entry(phase.to_owned()).or_default() += busy;
                }
            } else if let Some((_, of_one)) = line.split_once(" warm_up=Some(") {
                let (warm_up, rest) = of_one.split_once(')').ok_or("a warm-up without an end")?;
                let measured = rest.split_once("measured=").map_or("", |(_, measured)| measured);
                found.executions += 1;
                found.warm_ups += seconds(warm_up).unwrap_or_default();
                found.measurements += seconds(measured).unwrap_or_default();
            }
        }
        Ok(found)
    }

    fn table(&self) -> String {
        let row = |name: &str, time: f64| {
            format!("  {name:<24}{time:>8.2} s {:>5.1} %\n", 100.0 * time / self.whole)
        };
        let mut table = String::new();
        for (phase, time) in &self.phases {
            table += &row(phase, *time);
            if phase == "measure" {
                let rest = time - self.warm_ups - self.measurements;
                table += &row("  measurements", self.measurements);
                table += &row("  warm-ups", self.warm_ups);
                table += &row("  the rest of executions", rest);
                let each = 1e3 * time / self.executions.max(1) as f64;
                table += &format!("    {} executions, {each:.0} ms each\n", self.executions);
            }
        }
        let other = self.whole - self.phases.values().sum::<f64>();
        table + &row("other", other) + &row("whole", self.whole)
    }
}

/// The time of day of a line, in seconds.
fn time_of(line: &str) -> Option<f64> {
    let (_, time) = line.split_once(' ').map_or(line, |(stamp, _)| stamp).split_once('T')?;
    let mut parts = time.trim_end_matches('Z').split(':').map(str::parse::<f64>);
    let mut next = || parts.next()?.ok();
    Some(next()? * 3600.0 + next()? * 60.0 + next()?)
}

/// The innermost span of a line, unless others are measured in it.
fn phase_of(line: &str) -> Option<&str> {
    let (_, spans) = line.split_once(" INFO ")?;
    let (spans, _module) = spans.rsplit_once(": ")?;
    // Names of versions may have any character but a closing brace that is followed by a colon.
    let last = spans.rsplit_once("}:").map_or(spans, |(_, last)| last);
    let name = last.split('{').next()?.trim();
    (name != "version").then_some(name)
}

/// A duration as the log writes it: `1.45s`, `85.6ms`, `17.5µs`.
fn seconds(text: &str) -> Option<f64> {
    let end = text.find([' ', ')']).unwrap_or(text.len());
    let text = &text[..end];
    let number = text.trim_end_matches(|c: char| c.is_alphabetic());
    let unit = match &text[number.len()..] {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
2026-11-27T23:59:59.000000Z  INFO cargo_rbench::log: cargo-rbench 0.1.0: cargo rbench compare
2026-11-27T00:00:00.500000Z  INFO version{HEAD: ~1 (5be)}:compile: a::b: close time.busy=1.5s time.idle=17.5µs
2026-11-27T00:00:00.500000Z  INFO version{HEAD: ~1 (5be)}: a::b: close time.busy=1.5s time.idle=17.5µs
2026-11-27T00:00:01.000000Z DEBUG measure{stage=First}: a::run: measured p b x warm_up=Some(10ms) measured=90ms turns=A
2026-11-27T00:00:02.000000Z  INFO measure{stage=First builds=5}: a::run: close time.busy=500ms time.idle=12µs
2026-11-27T00:00:09.000000Z  INFO cargo_rbench: exit code 1
";

    #[test]
    fn phases_are_summed_and_measuring_is_divided() {
        let phases = Phases::read(LOG).unwrap();
        let expected = [("compile".to_owned(), 1.5), ("measure".to_owned(), 0.5)];
        assert_eq!(phases.phases, BTreeMap::from(expected));
        assert_eq!((phases.whole, phases.executions), (10.0, 1));
        assert_eq!((phases.warm_ups, phases.measurements), (0.01, 0.09));
        let table = phases.table();
        assert!(table.contains("the rest of executions    0.40 s   4.0 %"), "{table}");
        assert!(table.contains("other                       8.00 s  80.0 %"), "{table}");
    }
}
