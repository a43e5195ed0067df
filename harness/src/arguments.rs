//! Parses the command line, as `cargo bench`, `cargo test`, users and `cargo rbench` write it.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use crate::measure::Settings;

/// The action of a process of a bench target.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Print ids; `terse` omits the final count.
    List { terse: bool },
    /// Run one iteration of each benchmark: the behaviour for `cargo test --benches`.
    Smoke,
    /// Measure and print a table.
    Bench,
    /// Carry out a request of `cargo rbench`, and write the answer to a file.
    Rbench(Request),
}

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) action: Action,
    pub(crate) selection: Selection,
}

/// The user's selection of benchmarks, with libtest's rules for filters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    filters: Vec<String>,
    skips: Vec<String>,
    exact: bool,
    /// `--ignored`: only benchmarks marked as ignored, of which there are none.
    none: bool,
}

impl Selection {
    /// True if the benchmark `id` is selected.
    pub(crate) fn wants(&self, id: &str) -> bool {
        let matches = |filter: &String| {
            if self.exact { id == filter } else { id.contains(filter.as_str()) }
        };
        !self.none
            && (self.filters.is_empty() || self.filters.iter().any(matches))
            && !self.skips.iter().any(matches)
    }
}

/// A request of `cargo rbench` (protocol 1).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The protocol of the requester, if it names one.
    pub(crate) protocol: Option<u64>,
    /// Path of the answer.
    pub(crate) output: PathBuf,
    /// Only list the benchmarks.
    pub(crate) list: bool,
    /// The ids to run, each with its number of iterations if known; all benchmarks if empty.
    pub(crate) wanted: Vec<(String, Option<u64>)>,
    /// Settings of the measurements; `wanted` overrides `iterations` for each benchmark.
    pub(crate) settings: Settings,
    /// Seed of the initial positions of stack and heap.
    pub(crate) seed: Option<u64>,
}

/// Parses `arguments`, without the program's name. The error is a sentence.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Arguments, String> {
    let mut words = Words(arguments);
    let mut options = Options::default();
    while let Some(word) = words.0.next() {
        let word = word.into_string().map_err(|word| format!("{} is not UTF-8", word.display()))?;
        options.take(&word, &mut words)?;
    }
    options.finish()
}

/// The options parsed so far.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
struct Options {
    bench: bool,
    test: bool,
    list: bool,
    terse: bool,
    selection: Selection,
    output: Option<PathBuf>,
    protocol: Option<u64>,
    wanted: Vec<(String, Option<u64>)>,
    measurements: Option<u64>,
    warm_up: Option<u64>,
    floor: Option<u64>,
    seed: Option<u64>,
}

impl Options {
    fn take<I: Iterator<Item = OsString>>(
        &mut self,
        word: &str,
        words: &mut Words<I>,
    ) -> Result<(), String> {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word, None),
        };
        let mut value = || attached.clone().map_or_else(|| words.value(name), Ok);
        match name {
            "--bench" => self.bench = true,
            "--test" => self.test = true,
            "--list" => self.list = true,
            "--exact" => self.selection.exact = true,
            "--ignored" => self.selection.none = true,
            "--skip" => self.selection.skips.push(value()?),
            "--format" => self.terse = value()? == "terse",
            // Users and tools pass these to every test binary; they have no meaning here.
            "--nocapture" | "--no-capture" | "--show-output" | "--include-ignored" | "--quiet"
            | "-q" => {}
            "--color" | "--test-threads" | "--logfile" => drop(value()?),
            "--rbench-protocol" => self.protocol = Some(number(name, &value()?)?),
            "--rbench-output" => self.output = Some(value()?.into()),
            "--rbench-id" => self.wanted.push((value()?, None)),
            "--rbench-iterations" => {
                let iterations = positive(name, &value()?)?;
                let (_, slot) = self.wanted.last_mut().ok_or("--rbench-iterations before an id")?;
                *slot = Some(iterations);
            }
            "--rbench-measurements" => self.measurements = Some(positive(name, &value()?)?),
            "--rbench-warm-up" => self.warm_up = Some(number(name, &value()?)?),
            "--rbench-floor" => self.floor = Some(number(name, &value()?)?),
            "--rbench-seed" => self.seed = Some(number(name, &value()?)?),
            _ if name.starts_with('-') => return Err(format!("unknown argument {word}")),
            _ => self.selection.filters.push(word.to_owned()),
        }
        Ok(())
    }

    fn finish(self) -> Result<Arguments, String> {
        let action = if let Some(output) = self.output {
            Action::Rbench(Request {
                protocol: self.protocol,
                output,
                list: self.list,
                wanted: self.wanted,
                settings: settings(self.measurements, self.warm_up, self.floor)?,
                seed: self.seed,
            })
        } else if self.list {
            Action::List { terse: self.terse }
        } else if self.bench && !self.test {
            Action::Bench
        } else {
            Action::Smoke
        };
        Ok(Arguments { action, selection: self.selection })
    }
}

/// The settings of a plain `cargo bench`: about a third of a second per benchmark.
pub(crate) fn plain_settings() -> Settings {
    Settings {
        measurements: 100,
        warm_up: Duration::from_millis(100),
        floor: Duration::from_millis(2),
        iterations: None,
    }
}

/// The settings of a request; omitted ones are those of a plain `cargo bench`.
fn settings(
    measurements: Option<u64>,
    warm_up: Option<u64>,
    floor: Option<u64>,
) -> Result<Settings, String> {
    /// More would not fit in memory; a clear message is better than an abort.
    const MOST: usize = 1 << 24;
    let plain = plain_settings();
    let measurements = match measurements.map(usize::try_from) {
        None => plain.measurements,
        Some(Ok(measurements)) if measurements <= MOST => measurements,
        Some(_) => return Err(format!("more than {MOST} measurements")),
    };
    Ok(Settings {
        measurements,
        warm_up: warm_up.map_or(plain.warm_up, Duration::from_nanos),
        floor: floor.map_or(plain.floor, Duration::from_nanos),
        iterations: None,
    })
}

/// The remaining words.
struct Words<I>(I);

impl<I: Iterator<Item = OsString>> Words<I> {
    fn value(&mut self, name: &str) -> Result<String, String> {
        let value = self.0.next().ok_or_else(|| format!("{name} needs a value"))?;
        value.into_string().map_err(|value| format!("{name} {} is not UTF-8", value.display()))
    }
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{name} needs a whole number, not {value:?}"))
}

fn positive(name: &str, value: &str) -> Result<u64, String> {
    match number(name, value)? {
        0 => Err(format!("{name} needs at least 1")),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Arguments, String> {
        parse(words.split_whitespace().map(OsString::from))
    }

    fn action(words: &str) -> Action {
        parsed(words).unwrap().action
    }

    #[test]
    fn cargo_bench_measures_and_cargo_test_runs_once() {
        assert_eq!(action("--bench"), Action::Bench);
        assert_eq!(action(""), Action::Smoke);
        assert_eq!(action("--bench --test"), Action::Smoke);
        assert_eq!(action("--nocapture --test-threads 1 -q --color=always"), Action::Smoke);
    }

    #[test]
    fn list_is_long_or_terse() {
        assert_eq!(action("--list --bench"), Action::List { terse: false });
        assert_eq!(action("--list --format terse"), Action::List { terse: true });
        assert_eq!(action("--list --format=terse"), Action::List { terse: true });
    }

    #[test]
    fn filters_are_substrings_unless_exact() {
        let wants = |words, id| parsed(words).unwrap().selection.wants(id);
        assert!(wants("--bench", "parse/64"));
        assert!(wants("--bench rse/6", "parse/64"));
        assert!(wants("sort parse", "parse/64"));
        assert!(!wants("sort", "parse/64"));
        assert!(!wants("--exact parse", "parse/64"));
        assert!(wants("--exact parse/64", "parse/64"));
        assert!(!wants("parse --skip 64", "parse/64"));
        assert!(wants("parse --skip 64 --exact", "parse"));
        assert!(!wants("--ignored", "parse/64"));
    }

    #[test]
    fn rbench_request_is_parsed_completely() {
        let words = "--bench --rbench-protocol 1 --rbench-output /tmp/x --rbench-id a/1 \
                     --rbench-iterations 12 --rbench-id b --rbench-measurements 30 \
                     --rbench-warm-up 5000 --rbench-floor 1000 --rbench-seed 9";
        let settings = Settings {
            measurements: 30,
            warm_up: Duration::from_micros(5),
            floor: Duration::from_micros(1),
            iterations: None,
        };
        let request = Request {
            protocol: Some(1),
            output: "/tmp/x".into(),
            list: false,
            wanted: vec![("a/1".to_owned(), Some(12)), ("b".to_owned(), None)],
            settings,
            seed: Some(9),
        };
        assert_eq!(action(words), Action::Rbench(request));
    }

    #[test]
    fn invalid_arguments_are_named_in_the_error() {
        for (words, part) in [
            ("--frobnicate", "--frobnicate"),
            ("--skip", "needs a value"),
            ("--rbench-seed x", "whole number"),
            ("--rbench-id a --rbench-iterations 0", "at least 1"),
            ("--rbench-iterations 4", "before an id"),
            ("--rbench-output f --rbench-measurements 99999999999", "16777216"),
        ] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains(part), "{words}: {error}");
        }
    }
}
