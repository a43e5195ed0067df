//! From measurements to the verdict on a benchmark: one stage of it, and what one or two stages come to.

use super::{
    assessment::Assessment, criteria::Criteria, data::Measurements, matching::Pairing,
    refusal::Refusal, sessions::SessionVariance, summary::Summary, verdict::Verdict,
};
use crate::model::Layout;

/// What the measurements of one stage say about a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Base and head.
    pub summaries: [Summary; 2],
    /// Their comparison; or why there is none.
    pub stage: Result<Assessment, Refusal>,
}

/// What is said about a benchmark in the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The stage whose change the verdict tells, with base and head; absent where nothing was judged.
    pub decisive: Option<(Assessment, [Summary; 2])>,
}

impl Judged {
    /// Compares base and head of one stage.
    pub fn of([base, head]: [&Measurements; 2], pairing: Pairing, criteria: &Criteria) -> Self {
        let summaries = [base, head].map(|version| Summary::of(version, criteria.estimator));
        let stage = Assessment::new(&summaries[0], &summaries[1], pairing, criteria);
        Self { summaries, stage }
    }

    /// Compares summaries of two sessions.
    pub fn across(
        summaries: [Summary; 2],
        pairing: Pairing,
        sessions: &SessionVariance,
        criteria: &Criteria,
    ) -> Self {
        let stage = Assessment::across(&summaries[0], &summaries[1], pairing, sessions, criteria);
        Self { summaries, stage }
    }

    /// Whether the benchmark must be measured again on fresh builds before a change of it counts.
    pub fn needs_confirmation(&self, criteria: &Criteria) -> bool {
        self.stage.as_ref().is_ok_and(|stage| stage.needs_confirmation(criteria))
    }
}

impl Judgement {
    /// A verdict without numbers.
    pub fn of(verdict: Verdict) -> Self {
        Self { verdict, decisive: None }
    }

    /// The judgement on a benchmark, one of `judged`, whose versions were measured in two sessions.
    pub fn by_sessions(stored: Judged, judged: usize, criteria: &Criteria) -> Self {
        match stored.stage {
            Err(refusal) => Self::of(Verdict::refused(&refusal)),
            Ok(stage) => Self {
                verdict: Verdict::of_stored(&stage, judged, criteria),
                decisive: Some((stage, stored.summaries)),
            },
        }
    }

    /// The judgement on a benchmark, one of `judged` in its experiment, by its first stage and, where
    /// there is one, its second.
    pub fn by_stages(
        first: &Judged,
        second: Option<&Judged>,
        judged: usize,
        criteria: &Criteria,
    ) -> Self {
        let stage = match &first.stage {
            Ok(stage) => stage,
            Err(refusal) => return Self::of(Verdict::refused(refusal)),
        };
        let again = second.and_then(|second| Some((second.stage.as_ref().ok()?, second)));
        let verdict = Verdict::of(stage, again.map(|(stage, _)| stage), judged, criteria);
        let (decisive, of) = again.unwrap_or((stage, first));
        Self { verdict, decisive: Some((decisive.clone(), of.summaries.clone())) }
    }
}

impl Pairing {
    /// Equal seeds are blocks where the layouts were made from names, and where there is no layout at
    /// all: builds of one seed then still ran next to each other.
    pub fn of_layouts(layouts: impl IntoIterator<Item = Layout>) -> Self {
        let unrelated = |layout| matches!(layout, Layout::Shuffle | Layout::Pad);
        if layouts.into_iter().any(unrelated) { Self::Unpaired } else { Self::BySeed }
    }
}

/// For each build, the index of the build that its executions count for: its own, unless an earlier one
/// was the same programs: equal programs are one build, however often they were linked.
pub fn counted_as<D: PartialEq>(programs: &[D]) -> Vec<usize> {
    let first_alike = |index: usize| programs.iter().position(|other| *other == programs[index]);
    (0..programs.len()).map(|index| first_alike(index).unwrap_or(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Metric, stats::Doubt};

    fn version(scale: f64) -> Measurements {
        let values = [100.0, 103.0, 98.0, 101.0, 99.0, 102.0];
        let builds = (0..).zip(values.map(|value| [[scale * value]]));
        Measurements::new(Metric::wall(), builds).unwrap()
    }

    fn judged(scale: f64) -> Judged {
        Judged::of([&version(1.0), &version(scale)], Pairing::BySeed, &Criteria::default())
    }

    #[test]
    fn the_second_stage_decides_where_there_is_one() {
        let criteria = Criteria::default();
        let (first, second) = (judged(1.5), judged(1.2));
        assert!(first.needs_confirmation(&criteria));
        let alone = Judgement::by_stages(&first, None, 1, &criteria);
        assert!(matches!(alone.verdict, Verdict::Inconclusive { doubt: Doubt::Unconfirmed, .. }));
        let both = Judgement::by_stages(&first, Some(&second), 1, &criteria);
        assert_eq!(both.verdict.name(), "regressed");
        let (stage, summaries) = both.decisive.unwrap();
        assert!((stage.comparison.change.estimate - 0.2).abs() < 1e-9);
        assert_eq!(summaries, second.summaries);
    }

    #[test]
    fn a_refused_stage_is_a_verdict_without_numbers() {
        let one = Measurements::new(Metric::wall(), [(1, [[1.0]])]).unwrap();
        let refused = Judged::of([&one, &one], Pairing::BySeed, &Criteria::default());
        let judgement = Judgement::by_stages(&refused, None, 1, &Criteria::default());
        assert_eq!((judgement.verdict.name(), judgement.decisive), ("failed", None));
    }

    #[test]
    fn seeds_pair_unless_a_layout_is_the_linkers_own() {
        use Layout::{Matched, Natural, Pad, Pin, Shuffle};
        assert_eq!(Pairing::of_layouts([Matched, Pin, Natural]), Pairing::BySeed);
        assert_eq!(Pairing::of_layouts([Matched, Shuffle]), Pairing::Unpaired);
        assert_eq!(Pairing::of_layouts([Pad]), Pairing::Unpaired);
    }

    #[test]
    fn equal_programs_count_as_the_first_of_them() {
        assert_eq!(counted_as(&["a", "b", "a", "c", "b"]), [0, 1, 0, 3, 1]);
    }
}
