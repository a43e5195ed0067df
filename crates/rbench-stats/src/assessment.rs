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
    pub comparison: Comparison,
    /// The change, with the interval that is reported.
    pub change: Change,
    /// The error rates of this analysis.
    pub alpha: AlphaSpending,
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

    /// True if this head is shown to cost less than the head of another comparison with the same base. `rate` is the
    /// probability of a false order of two equal heads, in either direction, over all analyses at which they may have
    /// been decided. Ranges of counts are in order where they lie apart.
    pub fn is_shown_below(&self, other: &Self, rate: f64) -> bool {
        let shares = self.alpha.share() * other.alpha.share();
        if shares <= 0.0 {
            return self.change.high < other.change.low;
        }
        self.comparison.log_change < other.comparison.log_change
            && self.comparison.p_of_equal_heads(&other.comparison) <= rate * shares
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimator, Measurements, Metric, Random};

    const BUILDS: usize = 5;

    fn version(logs: &[f64]) -> Summary {
        let builds = (0..).zip(logs.iter().map(|log| [[log.exp()]]));
        Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
    }

    /// A comparison with a base that is measured anew; `change` is the true one.
    fn compared(random: &mut Random, change: f64) -> Assessment {
        let mut measured =
            |mean: f64| version(&[0.0; BUILDS].map(|_| mean + 0.001 * random.normal()));
        let (base, head) = (measured(1.0), measured(1.0 + change));
        Assessment::new(&base, &head, Pairing::BySeed, &Criteria::default()).unwrap()
    }

    #[test]
    fn order_of_equal_heads_keeps_its_error_rate() {
        const RUNS: usize = 2000;
        const OTHERS: usize = 8;
        let rate = 0.05 / (OTHERS * (OTHERS - 1) / 2) as f64;
        let mut random = Random::new(9);
        let (mut by_intervals, mut by_differences) = (0, 0);
        for _ in 0..RUNS {
            let heads: [Assessment; OTHERS] = std::array::from_fn(|_| compared(&mut random, 0.0));
            let any = |is_below: &dyn Fn(&Assessment, &Assessment) -> bool| {
                heads.iter().any(|one| heads.iter().any(|other| is_below(one, other)))
            };
            let apart = |one: &Assessment, other: &Assessment| {
                let [one, other] = [one, other].map(|head| head.comparison.change_at(0.95));
                one.high < other.low
            };
            by_intervals += usize::from(any(&apart));
            by_differences += usize::from(any(&|one, other| one.is_shown_below(other, rate)));
        }
        let [by_intervals, by_differences] =
            [by_intervals, by_differences].map(|orders| orders as f64 / RUNS as f64);
        assert!(by_intervals > 0.05, "{by_intervals}: intervals at 95 % do not keep the rate");
        assert!(by_differences <= 0.05, "{by_differences}");
    }

    #[test]
    fn order_of_different_heads_is_shown() {
        let mut random = Random::new(1);
        let (one, other) = (compared(&mut random, 0.02), compared(&mut random, 0.04));
        assert!(one.is_shown_below(&other, 0.05 / 28.0));
        assert!(!other.is_shown_below(&one, 0.05 / 28.0));
    }
}
