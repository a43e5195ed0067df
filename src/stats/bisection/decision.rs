//! Decides which half of a range of commits holds its change, from the changes of the whole and of the older half.

use super::{Estimate, Finding, Measured};

/// The next step for the two halves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// The older half holds a change of this size, and the newer half none that is shown.
    Older(Estimate),
    /// The newer half holds a change of this size, and the older half none that is shown.
    Newer(Estimate),
    /// Both halves hold a change: older, newer.
    Both([Estimate; 2]),
    /// The newer half must be measured too.
    MeasureNewer,
    /// Neither half alone is shown to hold a change.
    Neither,
}

/// Decides from the change of the `whole`, the older half and, if it was measured, the newer half.
///
/// A half is shown to hold a change if its own comparison shows one. Before the newer half is measured, and where its
/// own comparison leaves a half open, the remainder of the whole counts: an estimate of at least `min_change`, on
/// logarithms, with a two-sided p value of at most `rate`.
pub fn decide(
    whole: Estimate,
    older: Measured,
    newer: Option<Measured>,
    (rate, min_change): (f64, f64),
) -> Decision {
    let is_shown = |change: Estimate| change.shows(min_change, rate);
    let says = |measured: Measured, known: Estimate| match measured.finding {
        Finding::Changed => true,
        Finding::Unchanged => false,
        Finding::Unsure => is_shown(known),
    };
    let Some(newer) = newer else {
        let rest = whole.minus(older.estimate);
        return match (older.finding == Finding::Changed, is_shown(rest)) {
            (true, true) => Decision::Both([older.estimate, rest]),
            (true, false) if rest.is_left(min_change) => Decision::MeasureNewer,
            (true, false) => Decision::Older(older.estimate),
            // The difference would only add the noise of a half without a change of interest.
            (false, true) if older.finding == Finding::Unchanged => Decision::Newer(whole),
            (false, true) => Decision::Newer(rest),
            (false, false) => Decision::MeasureNewer,
        };
    };
    let known = [
        older.estimate.with(whole.minus(newer.estimate)),
        newer.estimate.with(whole.minus(older.estimate)),
    ];
    match (says(older, known[0]), says(newer, known[1])) {
        (true, true) => Decision::Both(known),
        (true, false) => Decision::Older(known[0]),
        (false, true) => Decision::Newer(known[1]),
        (false, false) => Decision::Neither,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(percent: f64) -> Estimate {
        Estimate { log_change: percent / 100.0, standard_error: 0.002, freedom: 9.0 }
    }

    fn measured(percent: f64, finding: Finding) -> Measured {
        Measured { estimate: estimate(percent), finding }
    }

    fn by_older(percent: f64, finding: Finding) -> Decision {
        decide(estimate(5.0), measured(percent, finding), None, (0.001, 0.01))
    }

    #[test]
    fn decide_finds_the_half_with_the_change() {
        assert_eq!(by_older(4.9, Finding::Changed), Decision::Older(estimate(4.9)));
        assert_eq!(by_older(0.1, Finding::Unchanged), Decision::Newer(estimate(5.0)));
        assert!(
            matches!(by_older(0.9, Finding::Unsure), Decision::Newer(rest) if rest.log_change < 0.042)
        );
    }

    #[test]
    fn decide_searches_both_halves_if_both_changed() {
        assert!(matches!(by_older(3.0, Finding::Changed), Decision::Both(_)));
        assert!(
            matches!(by_older(8.0, Finding::Changed), Decision::Both([_, down]) if down.log_change < 0.0)
        );
    }

    #[test]
    fn decide_measures_the_newer_half_if_the_rest_is_unclear() {
        assert_eq!(by_older(3.9, Finding::Changed), Decision::MeasureNewer);
        let unsure = |older, newer| {
            let older = Measured { estimate: estimate(older), finding: Finding::Unsure };
            decide(estimate(1.2), older, newer, (0.005, 0.01))
        };
        assert_eq!(unsure(0.6, None), Decision::MeasureNewer);
        assert_eq!(unsure(0.6, Some(measured(0.6, Finding::Unsure))), Decision::Neither);
        let newer = measured(1.3, Finding::Changed);
        assert!(matches!(unsure(0.0, Some(newer)), Decision::Newer(_)));
    }
}
