//! One stage of judging a benchmark: the comparison of its builds, and whether the rule flags it.

use super::{
    comparison::{Change, Comparison, Direction},
    criteria::Criteria,
    matching::Pairing,
    power::noncentrality_for,
    refusal::Refusal,
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
    /// The direction in which the rule flags a difference, if it does.
    pub flag: Option<Direction>,
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
        Ok(Self::judging(comparison, flag, &criteria))
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
        Ok(Self::judging(comparison, flag, &criteria))
    }

    fn judging(comparison: Comparison, flag: Option<Direction>, criteria: &Criteria) -> Self {
        let change = comparison.change_at(EQUIVALENCE);
        let limit = criteria.min_log_change();
        let equivalent = change.low.ln_1p() > -limit && change.high.ln_1p() < limit;
        Self { comparison, flag, equivalent }
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
    /// 80 %, by the noncentral t distribution.
    ///
    /// It is that of the rule `overlap`, whichever rule is used; 0 if the false-alarm rate alone is 80 %.
    pub fn smallest_detectable(&self) -> f64 {
        let Comparison { freedom, false_alarm_rate, standard_error, .. } = self.comparison;
        if false_alarm_rate >= POWER {
            return 0.0;
        }
        (noncentrality_for(freedom, false_alarm_rate, POWER) * standard_error).exp_m1()
    }
}
