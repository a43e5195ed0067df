//! The rules that flag a difference between two versions.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    comparison::{Comparison, Direction},
    components::Interval,
    error::StatsError,
    summary::Summary,
};

/// The rule that flags a benchmark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The two-sided t test on logarithms at the false-alarm rate, paired by layout seed where layouts are matched,
    /// else Welch's: the interval of the *difference* does not contain "no change".
    ///
    /// It is the default because versions with the same layouts share most of the variance between builds, which widens
    /// the intervals of the two values, but not that of their difference.
    #[default]
    Paired,
    /// The rule of Kalibera et al. 2006 as published: the three-level intervals (17) of the two values, each at the
    /// confidence, fail to overlap. They are intervals of means, whatever the estimator, and ignore pairs. With 2 or 3
    /// builds it flags more than 5 % of equal versions where only builds vary, with more builds fewer.
    Overlap,
}

impl Rule {
    pub const ALL: [Self; 2] = [Self::Paired, Self::Overlap];

    /// Its name on the command line, in configuration and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paired => "paired",
            Self::Overlap => "overlap",
        }
    }

    /// The direction in which `head` differs from `base` by this rule, if it does.
    ///
    /// `comparison` compares the two at the false-alarm rate of the criteria; its change is the one reported.
    /// `confidence` is that of the intervals of `overlap`. A difference is not flagged if the comparison shows the
    /// other direction: `overlap` compares means of all builds, so their difference may have the other sign.
    pub fn flags(
        self,
        base: &Summary,
        head: &Summary,
        comparison: &Comparison,
        confidence: f64,
    ) -> Result<Option<Direction>, StatsError> {
        match self {
            Self::Paired => Ok(comparison.differs()),
            Self::Overlap => {
                let base = Interval::paper(base, confidence)?;
                let head = Interval::paper(head, confidence)?;
                // The logarithm is not NaN: the estimates are means of positive values.
                let direction = Direction::from_difference((head.center / base.center).ln());
                let flagged = direction.filter(|_| !base.overlaps(&head));
                Ok(flagged.filter(|direction| comparison.direction() == Some(*direction)))
            }
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|rule| rule.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("no rule is called `{name}`; there are {known}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Criteria, Estimator, Measurements, Metric, Pairing};

    fn version(values: &[f64]) -> Summary {
        let builds = (0..).zip(values.iter().map(|&value| [[value]]));
        Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
    }

    fn flags(rule: Rule, base: &[f64], head: &[f64], pairing: Pairing) -> Option<Direction> {
        flags_of(rule, [version(base), version(head)], pairing)
    }

    fn flags_of(rule: Rule, [base, head]: [Summary; 2], pairing: Pairing) -> Option<Direction> {
        let criteria = Criteria::default();
        let comparison = Comparison::new(&base, &head, pairing, criteria.false_alarm_rate).unwrap();
        rule.flags(&base, &head, &comparison, criteria.confidence).unwrap()
    }

    const BASE: [f64; 6] = [99.0, 100.0, 101.0, 99.5, 100.5, 100.0];

    fn shifted(by: f64) -> [f64; 6] {
        BASE.map(|value| value + by)
    }

    #[test]
    fn rules_flag_a_large_change_in_its_direction() {
        for rule in Rule::ALL {
            for pairing in [Pairing::BySeed, Pairing::Unpaired] {
                let flagged = flags(rule, &BASE, &shifted(10.0), pairing);
                assert_eq!(flagged, Some(Direction::Worse), "{rule}");
                let flagged = flags(rule, &shifted(10.0), &BASE, pairing);
                assert_eq!(flagged, Some(Direction::Better), "{rule}");
            }
        }
    }

    #[test]
    fn rules_never_flag_equal_versions() {
        let bytes = |values: &[f64]| {
            let metric = Metric::peak_memory();
            let builds = (0..).zip(values.iter().map(|&value| [[value]]));
            Summary::compute(&Measurements::new(metric, builds).unwrap(), Estimator::Mean)
        };
        for rule in Rule::ALL {
            for pairing in [Pairing::BySeed, Pairing::Unpaired] {
                for values in [BASE, [0.1; 6]] {
                    let equal = [bytes(&values), bytes(&values)];
                    assert_eq!(flags_of(rule, equal, pairing), None, "{rule}");
                }
            }
        }
    }

    /// By the mean the head takes 30 % longer, by the minimum 10 % less.
    #[test]
    fn rules_flag_only_the_direction_of_the_estimate() {
        let version = |least: f64, most: f64| {
            let factors = [least, most, most, most, most, most, most, most, most, most];
            let builds = (0..).zip(BASE.map(|value| [factors.map(|factor| value * factor)]));
            let data = Measurements::new(Metric::wall(), builds).unwrap();
            Summary::compute(&data, Estimator::Minimum)
        };
        let versions = || [version(1.0, 1.0), version(0.9, 1.35)];
        let intervals =
            versions().map(|version| Interval::paper(&version, Criteria::default().confidence));
        let [base, head] = intervals.map(Result::unwrap);
        assert!(head.low > base.high);
        assert_eq!(flags_of(Rule::Overlap, versions(), Pairing::Unpaired), None);
    }

    #[test]
    fn rules_never_flag_one_step_of_coarse_times() {
        let nanoseconds = |value: f64| {
            let builds = (0..10).map(|seed| (seed, [[value]]));
            let data = Measurements::new(Metric::wall(), builds).unwrap();
            Summary::compute(&data.with_resolution(1.0), Estimator::Mean)
        };
        for rule in Rule::ALL {
            let versions = [nanoseconds(3.0), nanoseconds(4.0)];
            assert_eq!(flags_of(rule, versions, Pairing::Unpaired), None, "{rule}");
        }
    }

    /// The builds vary by 20 %, and each takes about 1 % longer.
    #[test]
    fn paired_rule_finds_changes_smaller_than_layout_effects() {
        let base = [100.0, 140.0, 90.0, 125.0, 110.0, 85.0];
        let head = [101.2, 141.2, 90.9, 126.3, 110.9, 85.9];
        assert_eq!(flags(Rule::Paired, &base, &head, Pairing::BySeed), Some(Direction::Worse));
        assert_eq!(flags(Rule::Paired, &base, &head, Pairing::Unpaired), None);
        for pairing in [Pairing::BySeed, Pairing::Unpaired] {
            assert_eq!(flags(Rule::Overlap, &base, &head, pairing), None);
        }
    }

    #[test]
    fn rule_names_parse_and_others_are_refused() {
        for rule in Rule::ALL {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert_eq!(
            "pairs".parse::<Rule>().unwrap_err(),
            "no rule is called `pairs`; there are paired, overlap"
        );
    }
}
