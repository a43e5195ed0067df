//! One stage of a verdict: the comparison of a benchmark's builds, and whether the rule flags a change. Pure.

use super::{
    alpha_spending::AlphaSpending,
    comparison::{Change, Comparison, Direction},
    criteria::Criteria,
    error::StatsError,
    matching::Pairing,
    power::smallest_flagged,
    rule::Rule,
    sessions::SessionVariance,
    summary::Summary,
};

/// The result of one interim analysis of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The difference of the versions.
    pub comparison: Comparison,
    /// The change, with the interval that is reported.
    pub change: Change,
    /// The error rates of this analysis.
    pub alpha: AlphaSpending,
    /// The rule that was used.
    pub rule: Rule,
    /// True if the builds are stored ones of two sessions.
    pub is_across: bool,
    /// The direction in which the rule flags a difference, if it does.
    pub flag: Option<Direction>,
    /// The smallest relative change of interest: 0.01 is 1 %.
    pub min_effect: f64,
    /// True if the interval of the change lies inside ± the smallest change of interest, on the log scale: two
    /// one-sided tests show the versions to be equivalent.
    pub equivalent: bool,
}

impl Assessment {
    /// Compares the builds in the only analysis of a stage.
    pub fn new(
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        criteria: &Criteria,
    ) -> Result<Self, StatsError> {
        Self::from_summaries(
            AlphaSpending::single_analysis(criteria),
            base,
            head,
            pairing,
            criteria,
        )
    }

    /// Compares the builds in an analysis with the given error rates.
    ///
    /// The criteria are [checked](Criteria::checked) first.
    pub fn from_summaries(
        rates: AlphaSpending,
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        criteria: &Criteria,
    ) -> Result<Self, StatsError> {
        let criteria = criteria.checked()?;
        let comparison = Comparison::new(base, head, pairing, rates.flag)?;
        let flag = criteria.rule.flags(base, head, &comparison, criteria.confidence)?;
        Ok(Self::decide(comparison, flag, rates, false, &criteria))
    }

    /// Compares stored builds of two sessions.
    ///
    /// Always uses the rule `paired`: the intervals of `overlap` ignore the variance between sessions.
    pub fn across(
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        sessions: &SessionVariance,
        criteria: &Criteria,
    ) -> Result<Self, StatsError> {
        let criteria = criteria.checked()?;
        let rates = AlphaSpending::single_analysis(&criteria);
        let comparison = Comparison::across(base, head, pairing, sessions, rates.flag)?;
        let flag = comparison.differs();
        Ok(Self::decide(comparison, flag, rates, true, &criteria))
    }

    fn decide(
        comparison: Comparison,
        flag: Option<Direction>,
        rates: AlphaSpending,
        is_across: bool,
        criteria: &Criteria,
    ) -> Self {
        let change = comparison.change_at(rates.confidence);
        let tested = comparison.change_at(1.0 - 2.0 * rates.equivalence);
        let limit = criteria.min_log_change();
        let equivalent = tested.low.ln_1p() > -limit && tested.high.ln_1p() < limit;
        let rule = if is_across { Rule::Paired } else { criteria.rule };
        let min_effect = criteria.min_effect;
        Self { comparison, change, alpha: rates, rule, is_across, flag, min_effect, equivalent }
    }

    /// True if and only if a change must be confirmed on fresh builds: it is flagged, and not shown to be too small to
    /// be of interest.
    pub fn needs_confirmation(&self, criteria: &Criteria) -> bool {
        criteria.confirm && self.flag.is_some() && !self.equivalent
    }
    /// True if and only if the first stage needs no further interim analysis: the benchmark is unchanged, or it is
    /// flagged, and by an estimate of interest where nothing is confirmed.
    pub fn ends_first_stage(&self, criteria: &Criteria) -> bool {
        let is_of_interest = self.comparison.log_change.abs() >= criteria.min_log_change();
        self.equivalent || self.flag.is_some() && (criteria.confirm || is_of_interest)
    }

    /// The smallest relative increase that builds which vary as much flag with a power of 80 %, by the noncentral t
    /// distribution; 0 if the rate of false flags alone is 80 %. A verdict needs more: see [`Power`](super::Power).
    ///
    /// Known for the rule `paired` alone: `overlap` is no t test at that rate.
    pub fn smallest_flagged(&self) -> Option<f64> {
        let Comparison { freedom, false_alarm_rate, standard_error, .. } = self.comparison;
        // Counts need no power.
        (self.rule == Rule::Paired && self.alpha.flag > 0.0)
            .then(|| smallest_flagged(freedom, standard_error, false_alarm_rate))
    }
}
