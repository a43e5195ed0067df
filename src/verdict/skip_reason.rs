//! Finds versions between which a benchmark is known to behave the same, because an experiment on
//! both skipped it for that reason.

use super::{
    benchmark::BenchmarkResults,
    relation::{Relation, VersionRef},
};
use crate::{error::Result, model::SkipReason};

impl BenchmarkResults<'_> {
    /// The reason why the experiment of these two versions skipped the benchmark. `None` if it was
    /// measured all the same: its values then decide.
    pub fn skip_reason(&self, versions: [VersionRef; 2]) -> Result<Option<SkipReason>> {
        let [base, head] = versions;
        let has_rows = versions.iter().any(|place| !self.rows(*place).is_empty());
        if base.experiment != head.experiment || has_rows {
            return Ok(None);
        }
        self.results.skip_reason(base.experiment, &self.benchmark)
    }

    /// The newest experiment on both versions that skipped the benchmark as unchanged, searched
    /// among the places of each version, oldest first.
    pub fn same_in(&self, [base, head]: [&[VersionRef]; 2]) -> Result<Option<[VersionRef; 2]>> {
        for head in head.iter().rev() {
            let Some(base) = base.iter().find(|base| base.experiment == head.experiment) else {
                continue;
            };
            if self.skip_reason([*base, *head])?.is_some() {
                return Ok(Some([*base, *head]));
            }
        }
        Ok(None)
    }

    /// The comparison to make between two versions, from all places of each version and
    /// [those](Self::find_in) with measurements, oldest first.
    ///
    /// A skip is surer than results of two experiments, and a newer experiment counts more than an
    /// older one.
    pub fn relation(
        &self,
        places: [&[VersionRef]; 2],
        [base, head]: [&[VersionRef]; 2],
    ) -> Result<Option<Relation>> {
        let measured = Relation::find(base, head, &self.results.experiments);
        let Some(skipped) = self.same_in(places)? else { return Ok(measured) };
        Ok(match measured {
            Some(Relation::SameExperiment([newer, _]))
                if newer.experiment > skipped[0].experiment =>
            {
                measured
            }
            _ => Some(Relation::SameExperiment(skipped)),
        })
    }
}

#[cfg(test)]
mod tests {
    use rbench_stats::Criteria;

    use super::*;
    use crate::{
        model::Stage,
        store::Store,
        verdict::{
            DecisionOptions, Verdict, Verdicts,
            testing::{Filling, benchmark, place},
        },
    };

    const VERSIONS: [&str; 2] = ["base", "head"];

    /// An experiment on both versions that skipped the benchmark and measured only another one.
    fn unaffected<'s>(store: &'s Store<'s>) -> Filling<'s> {
        let filling = Filling::begin(store, &VERSIONS, &["other"]);
        store.record_unmeasured(filling.id, &benchmark("a"), SkipReason::Unaffected).unwrap();
        filling
    }

    /// An experiment on both versions whose head is 10 % slower.
    fn slower<'s>(store: &'s Store<'s>) -> Filling<'s> {
        let filling = Filling::begin(store, &VERSIONS, &["a"]);
        for stage in [Stage::First, Stage::Second] {
            filling.measure("a", 0, stage, &[("wall", 100.0)]);
            filling.measure("a", 1, stage, &[("wall", 110.0)]);
        }
        filling
    }

    /// The experiment whose result counts, and its verdict.
    fn verdict(filling: &Filling<'_>) -> (usize, Verdict) {
        let results = filling.results();
        let count = results.experiments.len();
        let of_benchmark = results.benchmark(&benchmark("a"), 0..count).unwrap();
        let places = [0, 1].map(|version| {
            (0..count).map(|experiment| place(experiment, version)).collect::<Vec<_>>()
        });
        let measured = places.each_ref().map(|places| of_benchmark.find_in(places));
        let relation = of_benchmark
            .relation([&places[0], &places[1]], [&measured[0], &measured[1]])
            .unwrap()
            .unwrap();
        let verdicts = Verdicts::new(&results, DecisionOptions::default());
        let rows = verdicts.rows(&of_benchmark, &relation, &Criteria::default()).unwrap();
        let [row] = &rows[..] else { panic!("{rows:?}") };
        (relation.versions()[0].experiment, row.verdict.clone())
    }

    #[test]
    fn skipped_benchmark_has_the_verdict_of_its_reason() {
        let store = Store::in_memory().unwrap();
        assert_eq!(verdict(&unaffected(&store)), (0, Verdict::Unaffected));
    }

    #[test]
    fn newer_experiment_on_both_versions_decides() {
        let store = Store::in_memory().unwrap();
        slower(&store);
        assert_eq!(verdict(&unaffected(&store)), (1, Verdict::Unaffected));
        let (experiment, decided) = verdict(&slower(&store));
        assert!(matches!(decided, Verdict::Regressed { .. }), "{decided:?}");
        assert_eq!(experiment, 2);
    }

    #[test]
    fn skip_outranks_results_of_two_experiments() {
        let store = Store::in_memory().unwrap();
        unaffected(&store);
        for name in VERSIONS {
            let alone = Filling::begin(&store, &[name], &["a"]);
            alone.measure("a", 0, Stage::First, &[("wall", 100.0)]);
        }
        let results = Filling { store: &store, id: store.experiments().unwrap()[0].id }.results();
        let of_benchmark = results.benchmark(&benchmark("a"), 0..3).unwrap();
        let places = [[place(0, 0), place(1, 0)], [place(0, 1), place(2, 0)]];
        let measured = [[place(1, 0)], [place(2, 0)]];
        let relation =
            of_benchmark.relation([&places[0], &places[1]], [&measured[0], &measured[1]]).unwrap();
        assert_eq!(relation, Some(Relation::SameExperiment([place(0, 0), place(0, 1)])));
    }

    #[test]
    fn measured_values_outrank_a_skip_reason() {
        let store = Store::in_memory().unwrap();
        let filling = slower(&store);
        store.record_unmeasured(filling.id, &benchmark("a"), SkipReason::Identical).unwrap();
        let (_, decided) = verdict(&filling);
        assert!(matches!(decided, Verdict::Regressed { .. }), "{decided:?}");
    }

    #[test]
    fn audited_benchmark_keeps_its_reason_unless_it_changed() {
        for (head, is_same) in [([100.0, 100.2], true), ([110.0, 110.0], false)] {
            let store = Store::in_memory().unwrap();
            let filling = Filling::begin(&store, &VERSIONS, &["a"]);
            for (stage, head) in [Stage::First, Stage::Second].into_iter().zip(head) {
                filling.measure("a", 0, stage, &[("wall", 100.0)]);
                filling.measure("a", 1, stage, &[("wall", head)]);
            }
            let reason = SkipReason::Unaffected;
            store.record_unmeasured(filling.id, &benchmark("a"), reason).unwrap();
            let (_, decided) = verdict(&filling);
            assert_eq!(decided == Verdict::Unaffected, is_same, "{head:?}: {decided:?}");
        }
    }
}
