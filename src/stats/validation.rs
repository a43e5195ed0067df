//! The proof that the statistics do what they say: seeded simulations of known truth, and published
//! numbers, each against its target.
//!
//! `cargo run --release --example validate_statistics` prints the table in full precision; a short form
//! runs in the tests. The table depends on neither the number of threads nor their timing.

mod alarms;
mod intervals;
mod power;
mod replicate;
mod stages;
mod tables;

use std::fmt;

use replicate::{Estimate, Trials};

/// How many replications each check takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// So many that every tolerance is several Monte-Carlo standard errors wide.
    Full,
    /// So few that it takes seconds without optimisation. Three Monte-Carlo standard errors are added to
    /// every tolerance, so this form finds gross errors only.
    Short,
}

/// What a check must give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// This value, up to a tolerance.
    Within(f64, f64),
    /// This value, up to three Monte-Carlo standard errors and half a unit of its last printed digit.
    Rounded(f64, f64),
    /// From the first to the second value.
    Between(f64, f64),
    /// This value or less.
    AtMost(f64),
    /// This value or more.
    AtLeast(f64),
}

/// One check of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What is checked.
    pub check: String,
    /// What it must give.
    pub target: Target,
    /// What it gives.
    pub obtained: f64,
    /// The Monte-Carlo standard error of that; none for what is computed exactly.
    pub error: Option<f64>,
    /// True if and only if the target is met.
    pub ok: bool,
}

/// All checks, in the order of the documentation.
pub fn validate(precision: Precision) -> Vec<Row> {
    let mut sheet = Sheet { precision, seed: 0, rows: vec![] };
    intervals::components(&mut sheet);
    intervals::paper(&mut sheet);
    intervals::coverage(&mut sheet);
    alarms::overlap(&mut sheet);
    alarms::overlap_95(&mut sheet);
    power::one_stage(&mut sheet);
    stages::two_stages(&mut sheet);
    stages::suites(&mut sheet);
    power::pairing(&mut sheet);
    alarms::drifts(&mut sheet);
    tables::permutation(&mut sheet);
    tables::t_quantiles(&mut sheet);
    sheet.rows
}

/// The table while it is filled in.
struct Sheet {
    precision: Precision,
    seed: u64,
    rows: Vec<Row>,
}

impl Sheet {
    /// That many replications in full precision, with a seed of their own.
    fn trials(&mut self, full: usize) -> Trials {
        self.seed += 1;
        let count = match self.precision {
            Precision::Full => full,
            // At least as many as make a standard error of a rate of 4 % mean something.
            Precision::Short => 500 + full / 400,
        };
        Trials { seed: self.seed, count }
    }

    /// Enters what a simulation gave.
    fn estimated(&mut self, check: String, target: Target, estimate: Estimate) {
        let Estimate { mean: obtained, error } = estimate;
        let slack = match self.precision {
            Precision::Full => 0.0,
            Precision::Short => 3.0 * error,
        };
        let ok = target.is_met(obtained, error, slack);
        self.rows.push(Row { check, target, obtained, error: Some(error), ok });
    }

    /// Enters what is computed exactly.
    fn exact(&mut self, check: String, target: Target, obtained: f64) {
        let ok = target.is_met(obtained, 0.0, 0.0);
        self.rows.push(Row { check, target, obtained, error: None, ok });
    }
}

impl Target {
    fn is_met(self, obtained: f64, error: f64, slack: f64) -> bool {
        let near = |value: f64, tolerance: f64| (obtained - value).abs() <= tolerance + slack;
        match self {
            Self::Within(value, tolerance) => near(value, tolerance),
            Self::Rounded(value, unit) => near(value, 3.0 * error + unit / 2.0),
            Self::Between(low, high) => obtained >= low - slack && obtained <= high + slack,
            Self::AtMost(value) => obtained <= value + slack,
            Self::AtLeast(value) => obtained >= value - slack,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Within(value, tolerance) => write!(f, "{value} ± {tolerance}"),
            Self::Rounded(value, _) => write!(f, "{value}"),
            Self::Between(low, high) => write!(f, "{low} to {high}"),
            Self::AtMost(value) => write!(f, "<= {value}"),
            Self::AtLeast(value) => write!(f, ">= {value}"),
        }
    }
}

impl fmt::Display for Row {
    /// One line of a Markdown table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, target, obtained, error, ok } = self;
        let digits = if error.is_some() { 5 } else { 7 };
        let error = error.map_or_else(|| "exact".to_owned(), |error| format!("{error:.5}"));
        let ok = if *ok { "ok" } else { "MISSED" };
        write!(
            f,
            "| {check:<66} | {:<16} | {obtained:>11.digits$} | {error:>7} | {ok:<6} |",
            target.to_string()
        )
    }
}

/// The heading above rows in a Markdown table.
pub const HEADING: &str = "\
| check                                                              | target           |    obtained | MC err. | ok     |
| ------------------------------------------------------------------ | ---------------- | ----------: | ------: | ------ |";

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static SHORT: LazyLock<Vec<Row>> = LazyLock::new(|| validate(Precision::Short));

    #[test]
    fn the_short_form_meets_every_target() {
        let missed: Vec<String> =
            SHORT.iter().filter(|row| !row.ok).map(ToString::to_string).collect();
        assert!(missed.is_empty(), "{}", missed.join("\n"));
    }

    #[test]
    fn the_documentation_shows_these_checks_and_these_targets() {
        let page = include_str!("../../docs/validation.md");
        let table = page.lines().filter(|line| line.starts_with('|')).skip(2);
        let shown = table.map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            (cells[1].to_owned(), cells[2].to_owned())
        });
        let checked = SHORT.iter().map(|row| (row.check.clone(), row.target.to_string()));
        assert_eq!(shown.collect::<Vec<_>>(), checked.collect::<Vec<_>>());
    }

    #[test]
    fn a_target_is_met_up_to_its_tolerance_and_never_by_nan() {
        assert!(Target::Within(1.0, 0.5).is_met(1.5, 9.0, 0.0));
        assert!(!Target::Within(1.0, 0.5).is_met(1.6, 9.0, 0.0));
        assert!(Target::Rounded(0.33, 0.01).is_met(0.340_5, 0.002, 0.0));
        assert!(!Target::Rounded(0.33, 0.01).is_met(0.342, 0.002, 0.0));
        assert!(!Target::AtMost(0.05).is_met(0.051, 0.1, 0.0));
        assert!(Target::AtMost(0.05).is_met(0.051, 0.1, 0.3));
        assert!(!Target::AtLeast(0.05).is_met(f64::NAN, 0.1, 0.0));
        assert!(!Target::Between(0.0, 1.0).is_met(f64::NAN, 0.1, 0.0));
    }
}
