//! What follows from comparisons of a version with itself.

use schemars::JsonSchema;
use serde::Serialize;

use super::Fitness;
use crate::stats::noise::{Serial, Uniformity};

/// So unlikely must be what speaks against a machine, if it is fit. There are three such tests, so a fit machine is
/// called unfit in at most 3 of 100 cases.
const LEVEL: f64 = 0.01;

/// A reason for or against judging on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The first stage flags more than it may: not fit.
    TooManyFlagged,
    /// More comparisons than may report a change: not fit.
    TooManyReported,
    /// There are more small p values than there should be: not fit.
    #[serde(rename = "small_p_values")]
    SmallP,
    /// Less than half of the rows are shown to be unchanged: honest, but too noisy for the smallest change of
    /// interest.
    Noisy,
    /// What is executed second takes another time than what is executed first. The order is drawn, so verdicts
    /// stay right.
    #[serde(rename = "order_effect")]
    Order,
    /// Executions that follow each other are alike. Their order is drawn, so verdicts stay right.
    #[serde(rename = "serial_correlation")]
    Serial,
    /// There is no verdict on any benchmark: not fit.
    #[serde(rename = "nothing_judged")]
    Nothing,
}

impl Finding {
    /// Whether verdicts from this machine are not to be trusted.
    pub const fn is_against(self) -> bool {
        matches!(self, Self::TooManyFlagged | Self::TooManyReported | Self::SmallP | Self::Nothing)
    }
}

impl Fitness {
    /// What follows, what matters most first.
    pub fn findings(&self) -> Vec<Finding> {
        if self.rows == 0 {
            return vec![Finding::Nothing];
        }
        let small = |uniformity: Uniformity| uniformity.p_of_small_ones() < LEVEL;
        let unchanged = self.unchanged.share().unwrap_or(0.0);
        // 1.96 standard errors are 5 %, and 2.58 are 1 %.
        let alike = |serial: Serial| serial.correlation.abs() > serial.by_chance() * 2.58 / 1.96;
        [
            (self.flagged.at_least(self.promised) < LEVEL, Finding::TooManyFlagged),
            (self.misleading().at_least(MISLEADING) < LEVEL, Finding::TooManyReported),
            (self.uniformity.is_some_and(small), Finding::SmallP),
            (unchanged < 0.5, Finding::Noisy),
            (self.order.is_some_and(|order| order.p() < LEVEL), Finding::Order),
            (self.serial.is_some_and(alike), Finding::Serial),
        ]
        .into_iter()
        .filter_map(|(is_so, finding)| is_so.then_some(finding))
        .collect()
    }

    /// Whether nothing speaks against verdicts from this machine.
    pub fn is_fit(&self) -> bool {
        !self.findings().into_iter().any(Finding::is_against)
    }
}

/// In how many comparisons without a change any regression may be reported, and in as many any improvement.
pub const MISLEADING: f64 = 0.05;
