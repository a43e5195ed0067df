//! The table of checks: the target of each, and its result.

use std::fmt;

use super::replicate::{Estimate, Trials};

/// The number of replications of each check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Enough that every tolerance is several Monte-Carlo standard errors wide.
    Full,
    /// Few enough to take seconds without optimisation. Three Monte-Carlo standard errors are added
    /// to every tolerance, so this form finds gross errors only.
    #[cfg_attr(not(test), expect(dead_code, reason = "the form for the tests"))]
    Short,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// This value, up to a tolerance.
    Within(f64, f64),
    /// This value, up to three Monte-Carlo standard errors and half a unit of its last printed
    /// digit.
    Rounded(f64, f64),
    /// From the first to the second value.
    Between(f64, f64),
    /// This value or less.
    AtMost(f64),
    /// This value or more.
    AtLeast(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub check: String,
    pub target: Target,
    pub obtained: f64,
    /// The Monte-Carlo standard error of the result; none if it is computed exactly.
    pub error: Option<f64>,
    pub ok: bool,
}

/// The table while it is filled in.
pub struct Sheet {
    precision: Precision,
    seed: u64,
    /// The checks so far.
    pub rows: Vec<Row>,
}

impl Sheet {
    pub fn new(precision: Precision) -> Self {
        Self { precision, seed: 0, rows: vec![] }
    }

    /// The replications of a check: this many in full precision, with a new seed.
    pub fn trials(&mut self, full: usize) -> Trials {
        self.seed += 1;
        let count = match self.precision {
            Precision::Full => full,
            // Enough for a meaningful standard error of a rate of 4 %.
            Precision::Short => full.min(300 + full / 400),
        };
        Trials { seed: self.seed, count }
    }

    /// Like [`Self::trials`], for slow checks whose short form only detects near-certain failures.
    pub fn few_trials(&mut self, full: usize) -> Trials {
        let Trials { seed, count } = self.trials(full);
        match self.precision {
            Precision::Full => Trials { seed, count },
            Precision::Short => Trials { seed, count: full.div_ceil(20) },
        }
    }

    /// Records the result of a simulation.
    pub fn estimated(&mut self, check: String, target: Target, estimate: Estimate) {
        let Estimate { mean: obtained, error } = estimate;
        let slack = match self.precision {
            Precision::Full => 0.0,
            Precision::Short => 3.0 * error,
        };
        let ok = target.is_met(obtained, error, slack);
        self.rows.push(Row { check, target, obtained, error: Some(error), ok });
    }

    /// Records a result that is computed exactly.
    pub fn exact(&mut self, check: String, target: Target, obtained: f64) {
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
    use super::*;

    #[test]
    fn target_is_met_within_its_tolerance_and_never_by_nan() {
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
