//! Reads protocol 1 of `rbench-harness`; its own `protocol.rs` describes the format.
//!
//! The file may contain anything: the reader never panics, and uses memory of at most a small
//! multiple of the file's size.

use std::fmt;

use crate::model::Throughput;

pub(super) const VERSION: &str = "1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// One for each benchmark, in the order of registration.
    pub(super) records: Vec<Record>,
    /// The reason why the harness ran nothing, or nothing more.
    pub(super) refused: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) throughput: Option<Throughput>,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Listed,
    Measured(Measured),
    Skipped(String),
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    /// Time before the first measurement, in nanoseconds.
    pub(super) warm_up: u64,
    pub(super) iterations: u64,
    /// Time of each measurement in nanoseconds, for all its iterations together.
    pub(super) times: Vec<u64>,
}

/// The reason why a file is not a valid answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    NotAnAnswer,
    OtherProtocol(u64),
    Truncated,
    /// This line, counted from 1, is unknown or misplaced.
    Line(usize),
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnAnswer => f.write_str("its result file is not one of rbench-harness"),
            Self::OtherProtocol(other) => write!(
                f,
                "its rbench-harness uses protocol {other}, but this rbench uses {VERSION}"
            ),
            Self::Truncated => f.write_str("its result file is truncated"),
            Self::Line(line) => write!(f, "line {line} of its result file is invalid"),
        }
    }
}

pub(super) fn parse(bytes: &[u8]) -> Result<Answer, Defect> {
    let header = bytes.strip_prefix(b"rbench-harness ").ok_or(Defect::NotAnAnswer)?;
    let line_end = header.iter().position(|byte| *byte == b'\n').ok_or(Defect::Truncated)?;
    let protocol = std::str::from_utf8(&header[..line_end]).map_err(|_| Defect::NotAnAnswer)?;
    if protocol != VERSION {
        let other = number(protocol).map_or(Defect::NotAnAnswer, Defect::OtherProtocol);
        return Err(other);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Defect::NotAnAnswer)?;
    // Text after the last line break is an incomplete line.
    let whole = text.strip_suffix('\n').ok_or(Defect::Truncated)?;
    let mut lines = Lines { lines: whole.split('\n').skip(1), number: 1 };
    lines.answer()
}

/// The lines after the first.
struct Lines<'t, I: Iterator<Item = &'t str>> {
    lines: I,
    number: usize,
}

impl<'t, I: Iterator<Item = &'t str>> Lines<'t, I> {
    fn next(&mut self) -> Result<&'t str, Defect> {
        self.number += 1;
        self.lines.next().ok_or(Defect::Truncated)
    }

    fn answer(&mut self) -> Result<Answer, Defect> {
        if words(self.next()?).0 != "version" {
            return Err(Defect::Line(self.number));
        }
        let mut answer = Answer { records: Vec::new(), refused: None };
        loop {
            let (word, rest) = words(self.next()?);
            match word {
                "end" => return self.finish(rest, answer),
                "seed" => drop(self.number(rest)?),
                "refused" => answer.refused = Some(unescaped(rest)),
                "benchmark" => answer.records.push(Record {
                    id: unescaped(rest),
                    throughput: None,
                    outcome: Outcome::Listed,
                }),
                _ => {
                    let record = answer.records.last_mut().ok_or(Defect::Line(self.number))?;
                    self.extend(record, word, rest)?;
                }
            }
        }
    }

    /// Parses a line about the last named benchmark.
    fn extend(&mut self, record: &mut Record, word: &str, rest: &str) -> Result<(), Defect> {
        match (word, &record.outcome) {
            ("throughput", _) => record.throughput = Some(self.throughput(rest)?),
            ("skipped", Outcome::Listed) => record.outcome = Outcome::Skipped(unescaped(rest)),
            ("failed", Outcome::Listed) => record.outcome = Outcome::Failed(unescaped(rest)),
            ("warm-up", Outcome::Listed) => {
                record.outcome = Outcome::Measured(self.measured(rest)?);
            }
            _ => return Err(Defect::Line(self.number)),
        }
        Ok(())
    }

    /// Parses the lines from `warm-up` on.
    fn measured(&mut self, rest: &str) -> Result<Measured, Defect> {
        let warm_up = self.number(words(rest).0)?;
        let (word, rest) = words(self.next()?);
        let iterations = match word {
            "iterations" => self.number(words(rest).0)?,
            _ => return Err(Defect::Line(self.number)),
        };
        let (word, rest) = words(self.next()?);
        let count = match word {
            "measurements" => self.number(rest)?,
            _ => return Err(Defect::Line(self.number)),
        };
        // Grows with the lines found: the count may be wrong.
        let mut times = Vec::new();
        for _ in 0..count {
            let line = self.next()?;
            times.push(self.number(line)?);
        }
        Ok(Measured { warm_up, iterations, times })
    }

    fn throughput(&self, rest: &str) -> Result<Throughput, Defect> {
        let (unit, amount) = words(rest);
        let amount = self.number(amount)?;
        match unit {
            "bytes" => Ok(Throughput::Bytes(amount)),
            "elements" => Ok(Throughput::Elements(amount)),
            _ => Err(Defect::Line(self.number)),
        }
    }

    fn finish(&mut self, rest: &str, answer: Answer) -> Result<Answer, Defect> {
        let complete = number(rest) == Some(answer.records.len() as u64);
        if !complete || self.lines.next().is_some() {
            return Err(Defect::Line(self.number));
        }
        Ok(answer)
    }

    fn number(&self, word: &str) -> Result<u64, Defect> {
        number(word).ok_or(Defect::Line(self.number))
    }
}

/// The first word of a line, and the rest.
fn words(line: &str) -> (&str, &str) {
    line.split_once(' ').unwrap_or((line, ""))
}

/// Parses a number as the harness writes it: digits only.
fn number(word: &str) -> Option<u64> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            other => plain.extend(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
