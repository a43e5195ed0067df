//! An interim analysis by two estimates: that of the estimator, and the mean of all measurements.
//!
//! The median (of the ratios of an interleaved pair), and the minimum of executions that run alone, are the most precise
//! estimates of a change that multiplies every measurement. They ignore changes of the slower ones, for example of calls
//! that are slow by chance. The mean is the average cost for a user, and has a wider interval. So the estimator decides,
//! and the mean limits it:
//!
//! - **It vetoes**: `regressed` and `improved` are withdrawn where the mean points the other way, with 95 % confidence
//!   or by more than the smallest change of interest, or is shown to be unchanged; `unchanged` where the mean changed
//!   by more than that with 95 % confidence. A veto only weakens a verdict, so it costs nothing of the error budget.
//! - **It nominates**: a change that only the mean shows, or that is larger by the mean, is measured again on fresh builds and
//!   decided by their mean.
//!   It flags with a [share](MEAN_SHARE) of `α₁`, and the estimator with the rest, so that both together send an
//!   unchanged benchmark to the second stage no more often than one estimate alone.
//! - **It keeps the first stage open** while it contradicts what the estimator would conclude and an interim analysis is
//!   left.
//!
//! Pure: no measurements are taken, and the store is not read.

use super::{
    alpha_spending::AlphaSpending,
    assessment::Assessment,
    comparison::{Change, Direction},
    criteria::Criteria,
    error::StatsError,
    matching::Pairing,
    summary::Summary,
    verdict::{InconclusiveReason, Verdict},
};

/// The share of `α₁` at which the mean nominates. It serves changes of several times the smallest one of interest, so a
/// small share is enough, and costs the estimator little of its power.
const MEAN_SHARE: f64 = 0.2;

/// The mean contradicts a conclusion early where its own direction has a one-sided p value of at most this.
const CONTRADICTION: f64 = 0.1;

const VETO_CONFIDENCE: f64 = 0.95;

/// The builds of one stage, assessed by the estimator of the benchmark and by the mean of all measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// By the estimator.
    pub own: Assessment,
    /// By the mean; absent where the estimator already depends on all measurements or on their median.
    pub mean: Option<Assessment>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decider {
    /// The estimator of the benchmark.
    #[default]
    Own,
    Mean,
}

impl Analysis {
    /// Compares the builds of one interim analysis at the given error rates: base and head by the estimator, and by the
    /// mean where the estimator [needs it](super::Estimator::needs_mean).
    pub fn new(
        alpha: AlphaSpending,
        own: &[Summary; 2],
        mean: Option<&[Summary; 2]>,
        pairing: Pairing,
        criteria: &Criteria,
    ) -> Result<Self, StatsError> {
        let assessed = |[base, head]: &[Summary; 2], share: f64| {
            Assessment::from_summaries(alpha.flagging_with(share), base, head, pairing, criteria)
        };
        Ok(match mean {
            None => Self { own: assessed(own, 1.0)?, mean: None },
            Some(mean) => Self {
                own: assessed(own, 1.0 - MEAN_SHARE)?,
                mean: Some(assessed(mean, MEAN_SHARE)?),
            },
        })
    }

    /// The assessment by one of the two estimates; by the only one where there is no other.
    pub fn assessment(&self, decider: Decider) -> &Assessment {
        match (decider, &self.mean) {
            (Decider::Mean, Some(mean)) => mean,
            _ => &self.own,
        }
    }

    /// The estimate that nominates the benchmark for fresh builds, if one does; without confirmation, the one that
    /// flags a change of interest.
    ///
    /// The mean nominates where it flags a change of interest that the estimator does not flag, or shows to be smaller.
    pub fn nominated_by(&self, criteria: &Criteria) -> Option<Decider> {
        if self.mean_flags_alone(criteria) {
            return Some(Decider::Mean);
        }
        (self.own.flag.is_some() && !self.own.equivalent).then_some(Decider::Own)
    }

    /// True if the first stage needs no further interim analysis; `is_last` if none is planned.
    pub fn ends_first_stage(&self, is_last: bool, criteria: &Criteria) -> bool {
        self.mean_flags_alone(criteria)
            || (is_last || !self.is_contested(criteria)) && self.own.ends_first_stage(criteria)
    }

    /// True if the mean contradicts the present conclusion of the estimator: that nothing changed, or a change in the
    /// other direction.
    pub fn is_contested(&self, criteria: &Criteria) -> bool {
        let Some((mean, direction)) = self.mean_of_interest(criteria) else { return false };
        let contradicts = self.own.equivalent || self.own.flag.is_some_and(|own| own != direction);
        contradicts && mean.comparison.p_one_sided(direction) <= CONTRADICTION
    }

    /// The probability that an analysis of the given number of builds and error rates decides the benchmark, if its
    /// true change is the present estimate: by the mean where that contradicts the estimator.
    pub fn chance_to_be_decided(
        &self,
        builds: usize,
        rates: AlphaSpending,
        criteria: &Criteria,
    ) -> f64 {
        let Some(mean) = &self.mean else { return self.own.chance_to_be_decided(builds, rates) };
        let by_mean = mean.chance_to_be_decided(builds, rates.flagging_with(MEAN_SHARE));
        if self.is_contested(criteria) {
            return by_mean;
        }
        let own = self.own.chance_to_be_decided(builds, rates.flagging_with(1.0 - MEAN_SHARE));
        own.max(by_mean)
    }

    fn mean_flags_alone(&self, criteria: &Criteria) -> bool {
        self.mean_of_interest(criteria).is_some_and(|(mean, direction)| {
            let is_shown = !self.own.equivalent
                && self.own.flag == Some(direction)
                && self.own.comparison.log_change.abs() >= criteria.min_log_change()
                && !self.is_less_than(mean);
            mean.flag == Some(direction) && !mean.equivalent && !is_shown
        })
    }

    /// True if the interval of the mean excludes the estimate, which is smaller: fewer than half of the measurements changed.
    fn is_less_than(&self, mean: &Assessment) -> bool {
        let half_width = mean.comparison.half_width(VETO_CONFIDENCE);
        self.own.comparison.log_change.abs() < mean.comparison.log_change.abs() - half_width
    }

    /// The mean and its direction, where its estimate is at least the smallest change of interest.
    fn mean_of_interest(&self, criteria: &Criteria) -> Option<(&Assessment, Direction)> {
        let mean = self.mean.as_ref()?;
        let is_of_interest = mean.comparison.log_change.abs() >= criteria.min_log_change();
        mean.comparison.direction().filter(|_| is_of_interest).map(|direction| (mean, direction))
    }

    /// The verdict on one of this number of benchmarks. `self` is the first stage at the analysis that ends it,
    /// `second` the fresh builds.
    pub fn decide(
        &self,
        second: Option<&Self>,
        benchmarks: usize,
        criteria: &Criteria,
    ) -> Decision {
        let nominated_by = self.nominated_by(criteria);
        if nominated_by == Some(Decider::Mean) {
            let mean = self.assessment(Decider::Mean);
            let Some(fresh) = second else {
                let by_mean = Some(mean.comparison.change_at(VETO_CONFIDENCE));
                let verdict = Verdict::decide(mean, None, benchmarks, criteria);
                return Decision { verdict, decider: Decider::Mean, by_mean };
            };
            return self.decide_by_fresh_mean(fresh, benchmarks, criteria);
        }
        let second = second.filter(|_| nominated_by.is_some());
        let verdict =
            Verdict::decide(&self.own, second.map(|fresh| &fresh.own), benchmarks, criteria);
        // The estimator nominated, so its mean was not selected, and more builds make a veto more certain.
        let by_mean =
            self.mean.as_ref().map(|mean| match second.and_then(|fresh| fresh.mean.as_ref()) {
                Some(fresh) => mean.comparison.pooled_change(&fresh.comparison, VETO_CONFIDENCE),
                None => mean.comparison.change_at(VETO_CONFIDENCE),
            });
        Decision { verdict, decider: Decider::Own, by_mean }.vetoed(criteria)
    }

    /// Decides by the fresh builds a change that only the mean showed in the first stage.
    fn decide_by_fresh_mean(
        &self,
        fresh: &Self,
        benchmarks: usize,
        criteria: &Criteria,
    ) -> Decision {
        let [first, mean] = [self, fresh].map(|stage| stage.assessment(Decider::Mean));
        let by_mean = Some(mean.comparison.change_at(VETO_CONFIDENCE));
        let verdict = Verdict::decide(first, Some(mean), benchmarks, criteria);
        if !verdict.is_change() && fresh.own.equivalent {
            // The mean is not confirmed, so the estimator decides the same builds.
            let verdict = Verdict::unchanged(&fresh.own, None, criteria);
            return Decision { verdict, decider: Decider::Own, by_mean }.vetoed(criteria);
        }
        let verdict = match verdict {
            Verdict::Unchanged { change, .. } => {
                let reason = InconclusiveReason::Contradicted { first: first.change.estimate };
                Verdict::Inconclusive { change, detectable: None, reason }
            }
            verdict => verdict,
        };
        Decision { verdict, decider: Decider::Mean, by_mean }
    }
}

/// A verdict, and the role of the mean in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub verdict: Verdict,
    pub decider: Decider,
    /// The change of the mean with a 95 % confidence interval, where the estimator [needs it](super::Estimator::needs_mean): of
    /// the fresh builds where the mean decides, else of all builds of both stages.
    pub by_mean: Option<Change>,
}

impl Decision {
    /// Withdraws the verdict where the mean contradicts it.
    fn vetoed(self, criteria: &Criteria) -> Self {
        let Self { verdict, decider, by_mean: Some(by_mean) } = self else { return self };
        let limit = criteria.min_log_change();
        let (low, high) = (by_mean.low.ln_1p(), by_mean.high.ln_1p());
        let estimate = by_mean.estimate.ln_1p();
        let is_unchanged = low > -limit && high < limit;
        let is_better = high < 0.0 || estimate < -limit;
        let is_worse = low > 0.0 || estimate > limit;
        let vetoed = |change, reason| Verdict::Inconclusive { change, detectable: None, reason };
        let verdict = match verdict {
            Verdict::Unchanged { change, .. } if low > limit || high < -limit => {
                vetoed(change, InconclusiveReason::MeanChanged { by_mean })
            }
            Verdict::Regressed { change, .. } if is_better || is_unchanged => {
                vetoed(change, InconclusiveReason::MeanDisagrees { by_mean })
            }
            Verdict::Improved { change, .. } if is_worse || is_unchanged => {
                vetoed(change, InconclusiveReason::MeanDisagrees { by_mean })
            }
            verdict => verdict,
        };
        Self { verdict, decider, by_mean: Some(by_mean) }
    }
}
