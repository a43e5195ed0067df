//! The verdict on one benchmark in one metric: that of its measurements, or why there is none.

use rbench_stats::{Assessment, Change, Criteria, Evidence, InconclusiveReason, StatsError};

use crate::model::{Acceptance, SkipReason};

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The head costs more, by at least the smallest change of interest.
    Regressed {
        change: Change,
        evidence: Evidence,
    },
    /// The head costs more, but a slowdown was accepted, and this one is not shown to exceed it.
    Accepted {
        change: Change,
        evidence: Evidence,
        /// The accepted slowdown, with its reason.
        acceptance: Acceptance,
    },
    /// The head costs less, by at least the smallest change of interest.
    Improved {
        change: Change,
        evidence: Evidence,
    },
    /// The 95 % interval of the change lies inside ± the smallest change of interest.
    Unchanged {
        change: Change,
        /// The smallest change of interest.
        min_effect: f64,
        /// The evidence for a difference smaller than the smallest of interest.
        difference: Option<Evidence>,
    },
    /// Neither a change nor equivalence is shown.
    Inconclusive {
        change: Change,
        /// The smallest increase that such an experiment reports with a power of 80 %, if known.
        detectable: Option<f64>,
        /// The reason why no change is reported.
        reason: InconclusiveReason,
    },
    /// Both versions have the same machine code in every layout: nothing was measured.
    Identical,
    /// Neither the machine code that it executes nor the data that it reads differs: not measured.
    Unaffected,
    /// The benchmark asked not to be measured here.
    Skipped {
        reason: String,
    },
    Failed {
        reason: String,
    },
    /// The measurements must not be compared: another machine, other settings.
    NotComparable {
        reason: String,
    },
}

impl Verdict {
    /// Applies an accepted slowdown; `stage` is the one that decides. A regression then remains one only if the stage
    /// [shows](Evidence::beyond_limit) a change above the ceiling.
    #[must_use]
    pub fn under(self, acceptance: Acceptance, stage: &Assessment, criteria: &Criteria) -> Self {
        let Self::Regressed { change, evidence } = self else { return self };
        match evidence.beyond_limit(acceptance.ceiling, stage, criteria) {
            Some(evidence) => Self::Regressed { change, evidence },
            None => Self::Accepted { change, evidence, acceptance },
        }
    }

    /// The verdict for a refused [`Assessment`]: failed without two builds of each version, else not comparable.
    pub fn refused(refusal: &StatsError) -> Self {
        let reason = refusal.to_string();
        match refusal {
            StatsError::TooFewBuilds { .. } => Self::Failed { reason },
            _ => Self::NotComparable { reason },
        }
    }

    /// The word for the verdict in reports and stored results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Regressed { .. } => "regressed",
            Self::Accepted { .. } => "accepted",
            Self::Improved { .. } => "improved",
            Self::Unchanged { .. } => "unchanged",
            Self::Inconclusive { .. } => "inconclusive",
            Self::Identical => SkipReason::Identical.name(),
            Self::Unaffected => SkipReason::Unaffected.name(),
            Self::Skipped { .. } => "skipped",
            Self::Failed { .. } => "failed",
            Self::NotComparable { .. } => "not-comparable",
        }
    }
}

impl From<rbench_stats::Verdict> for Verdict {
    fn from(verdict: rbench_stats::Verdict) -> Self {
        use rbench_stats::Verdict::{Improved, Inconclusive, Regressed, Unchanged};
        match verdict {
            Regressed { change, evidence } => Self::Regressed { change, evidence },
            Improved { change, evidence } => Self::Improved { change, evidence },
            Unchanged { change, min_effect, difference } => {
                Self::Unchanged { change, min_effect, difference }
            }
            Inconclusive { change, detectable, reason } => {
                Self::Inconclusive { change, detectable, reason }
            }
        }
    }
}

impl From<SkipReason> for Verdict {
    fn from(sameness: SkipReason) -> Self {
        match sameness {
            SkipReason::Identical => Self::Identical,
            SkipReason::Unaffected => Self::Unaffected,
        }
    }
}

#[cfg(test)]
mod tests {
    use rbench_stats::{Estimator, Measurements, Pairing, Summary};

    use super::*;
    use crate::model::Metric;

    fn single() -> Criteria {
        Criteria { confirm: false, ..Criteria::default() }
    }

    /// A stage of six builds whose changes are `percent` ± 1 percent.
    fn stage(percent: f64) -> Assessment {
        let version = |factors: [f64; 6]| {
            let builds = (0..).zip(factors.map(|factor| [[100.0 * factor]]));
            let data = Measurements::new(Metric::wall(), builds).unwrap();
            Summary::compute(&data, Estimator::Mean)
        };
        let change = |sign: f64| 1.0 + (percent + sign) / 100.0;
        let head = version([1.0, -1.0, 0.5, -0.5, 1.0, -1.0].map(change));
        Assessment::new(&version([1.0; 6]), &head, Pairing::BySeed, &single()).unwrap()
    }

    fn under(percent: f64, ceiling: f64) -> Verdict {
        let stage = stage(percent);
        let verdict = Verdict::from(rbench_stats::Verdict::decide(&stage, None, 1, &single()));
        verdict.under(Acceptance { ceiling, changes: Vec::new() }, &stage, &single())
    }

    #[test]
    fn accepted_slowdown_regresses_only_above_its_ceiling() {
        let accepted = under(5.0, 0.08);
        let Verdict::Accepted { change, evidence: Evidence::OneStage, acceptance } = accepted
        else {
            panic!("{accepted:?}")
        };
        assert_eq!((change, acceptance.ceiling), (stage(5.0).change, 0.08));
        let beyond = under(5.0, 0.02);
        assert!(
            matches!(beyond, Verdict::Regressed { evidence: Evidence::BeyondLimit { .. }, .. }),
            "{beyond:?}"
        );
    }

    #[test]
    fn acceptance_changes_only_regressions() {
        assert_eq!(under(0.0, 0.5).name(), "inconclusive");
        assert_eq!(under(-5.0, 0.5).name(), "improved");
    }

    #[test]
    fn refused_comparison_is_failed_or_not_comparable() {
        let one_build = Verdict::refused(&StatsError::TooFewBuilds { builds: 1 });
        let Verdict::Failed { reason } = one_build else { panic!("{one_build:?}") };
        assert_eq!(reason, "at least 2 builds of each version are needed, and one has 1");
        let alike = Verdict::refused(&StatsError::NoVariance);
        let Verdict::NotComparable { reason } = alike else { panic!("{alike:?}") };
        assert_eq!(
            reason,
            "the times of all builds are exactly equal, so their precision is unknown: let the \
             benchmark report more digits"
        );
        let unequal = Verdict::refused(&StatsError::UnequalMeasurements([10.0, 30.0]));
        assert_eq!(unequal.name(), "not-comparable");
    }
}
