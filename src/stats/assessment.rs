//! One stage of judging a benchmark: the comparison of its builds, and whether the rule flags it.

use super::{
    comparison::{Change, Comparison, Direction},
    criteria::Criteria,
    matching::Pairing,
    power::noncentrality_for,
    refusal::Refusal,
    rule::Rule,
    sessions::SessionVariance,
    summary::Summary,
};

/// The confidence of the interval that must lie within the smallest change of interest for a benchmark
/// to count as unchanged: two one-sided tests at 2.5 % each, in each of at most two stages, so that a change of
/// just that size is called unchanged in at most 5 % of all cases.
const EQUIVALENCE: f64 = 0.95;

/// The power at which the smallest visible change is told.
pub const POWER: f64 = 0.80;

/// What the builds of one stage say about one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// How much the versions differ.
    pub comparison: Comparison,
    /// The rule that was used.
    pub rule: Rule,
    /// Whether the builds are stored ones of two sessions.
    pub is_across: bool,
    /// The direction in which the rule flags a difference, if it does.
    pub flag: Option<Direction>,
    /// The smallest relative change of interest: 0.01 is 1 %.
    pub min_effect: f64,
    /// True if the 95 % interval of the change lies inside ± the smallest change of interest, on the
    /// log scale: the versions are shown to be equivalent.
    pub equivalent: bool,
}

impl Assessment {
    /// Compares the builds of one stage.
    ///
    /// The criteria are [checked](Criteria::checked) first.
    pub fn new(
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        criteria: &Criteria,
    ) -> Result<Self, Refusal> {
        let criteria = criteria.checked()?;
        let comparison = Comparison::new(base, head, pairing, criteria.false_alarm_rate)?;
        let flag = criteria.rule.flags(base, head, &comparison, &criteria)?;
        Ok(Self::judging(comparison, flag, criteria.rule, false, &criteria))
    }

    /// Compares stored builds of two sessions.
    ///
    /// The rule is `overlap`, whatever the criteria say: the intervals of the others know nothing of
    /// sessions.
    pub fn across(
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        sessions: &SessionVariance,
        criteria: &Criteria,
    ) -> Result<Self, Refusal> {
        let criteria = criteria.checked()?;
        let rate = criteria.false_alarm_rate;
        let comparison = Comparison::across(base, head, pairing, sessions, rate)?;
        let flag = comparison.differs();
        Ok(Self::judging(comparison, flag, Rule::Overlap, true, &criteria))
    }

    fn judging(
        comparison: Comparison,
        flag: Option<Direction>,
        rule: Rule,
        is_across: bool,
        criteria: &Criteria,
    ) -> Self {
        let change = comparison.change_at(EQUIVALENCE);
        let limit = criteria.min_log_change();
        let equivalent = change.low.ln_1p() > -limit && change.high.ln_1p() < limit;
        let min_effect = criteria.min_effect;
        Self { comparison, rule, is_across, flag, min_effect, equivalent }
    }

    /// True if and only if the benchmark must be measured again, from fresh builds, before a change of
    /// it counts: it is flagged, and not shown to be too small a change to be of interest.
    pub fn needs_confirmation(&self, criteria: &Criteria) -> bool {
        criteria.confirm && self.flag.is_some() && !self.equivalent
    }

    /// The change with the interval that decides on equivalence.
    pub(super) fn equivalence_change(&self) -> Change {
        self.comparison.change_at(EQUIVALENCE)
    }

    /// The smallest relative increase that a comparison as precise as this one flags with a power of
    /// 80 %, by the noncentral t distribution; 0 if the false-alarm rate alone is 80 %.
    ///
    /// It is known for the rule `overlap` alone: the others are no t tests at the false-alarm rate.
    pub fn smallest_detectable(&self) -> Option<f64> {
        let Comparison { freedom, false_alarm_rate, standard_error, .. } = self.comparison;
        let detectable = if false_alarm_rate >= POWER {
            0.0
        } else {
            (noncentrality_for(freedom, false_alarm_rate, POWER) * standard_error).exp_m1()
        };
        (self.rule == Rule::Overlap).then_some(detectable)
    }
}
