//! Decides which results of two versions can be compared, in what way, and which of their builds
//! can be paired.

use std::collections::HashMap;

use rbench_stats::Pairing;

use crate::{
    model::{Layout, PlannedVersion},
    store::StoredExperiment,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VersionRef {
    /// The index of the experiment in a list sorted from the oldest to the newest.
    pub experiment: usize,
    /// The index of the version in the experiment.
    pub version: usize,
}

/// The relation between the newest comparable results of base and head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    SameExperiment([VersionRef; 2]),
    /// Measured in two experiments with the same machine, settings and compiler.
    AcrossExperiments([VersionRef; 2]),
    /// Measured only under different conditions.
    Incomparable {
        /// The newest result of each version.
        versions: [VersionRef; 2],
        /// The differences in conditions, for people.
        reasons: Vec<String>,
    },
}

impl Relation {
    /// The relation of two versions from the places of each, oldest first; `None` if one was not
    /// measured.
    ///
    /// One experiment is preferred to two, and newer ones to older ones.
    pub fn find(
        base: &[VersionRef],
        head: &[VersionRef],
        experiments: &[StoredExperiment],
    ) -> Option<Self> {
        let of_base: HashMap<usize, VersionRef> =
            base.iter().map(|base| (base.experiment, *base)).collect();
        let same =
            head.iter().rev().find_map(|head| Some([*of_base.get(&head.experiment)?, *head]));
        let comparable = |base: &VersionRef, head: &VersionRef| {
            obstacles(experiments, [*base, *head]).is_empty()
        };
        let across = || {
            head.iter().rev().find_map(|head| {
                let base = base.iter().rev().find(|base| comparable(base, head))?;
                Some(Self::AcrossExperiments([*base, *head]))
            })
        };
        let newest = || {
            let versions = [*base.last()?, *head.last()?];
            Some(Self::Incomparable { versions, reasons: obstacles(experiments, versions) })
        };
        same.map(Self::SameExperiment).or_else(across).or_else(newest)
    }

    /// The results of base and head.
    pub fn versions(&self) -> [VersionRef; 2] {
        match self {
            Self::SameExperiment(versions)
            | Self::AcrossExperiments(versions)
            | Self::Incomparable { versions, .. } => *versions,
        }
    }
}

/// The differences in machine, settings and compiler that forbid comparing results of two
/// experiments, for people.
pub fn obstacles(experiments: &[StoredExperiment], versions: [VersionRef; 2]) -> Vec<String> {
    let [one, other] = versions.map(|place| &experiments[place.experiment].plan);
    let mut obstacles = one.incompatibilities(other);
    let [old, new] = compilers(experiments, versions);
    if old != new {
        obstacles.push(format!("compiler: {old}, not {new}"));
    }
    obstacles
}

/// True if results of two experiments belong to one history: they have the same settings and compiler, and the same
/// machine or machines of one class.
pub fn share_history(experiments: &[StoredExperiment], versions: [VersionRef; 2]) -> bool {
    let [one, other] = versions.map(|place| &experiments[place.experiment].plan);
    let [old, new] = compilers(experiments, versions);
    one.shares_history(other) && old == new
}

fn compilers(experiments: &[StoredExperiment], versions: [VersionRef; 2]) -> [&str; 2] {
    versions.map(|place| {
        let planned = experiments[place.experiment].plan.versions.get(place.version);
        planned.map(PlannedVersion::compiler).unwrap_or_default()
    })
}

/// The pairing of builds within one experiment. Equal seeds are blocks if layouts depend on
/// function names only. They are also blocks without any layout, because builds of one seed ran
/// next to each other.
pub fn pairing_within_experiment(layouts: &[Layout]) -> Pairing {
    let is_unrelated = |layout: &Layout| matches!(layout, Layout::Shuffled | Layout::Padded);
    if layouts.iter().any(is_unrelated) { Pairing::Unpaired } else { Pairing::BySeed }
}

/// The pairing of builds of two experiments. Equal seeds have something in common only if layouts
/// depend on function names only.
pub fn pairing_across_experiments(layouts: &[Layout]) -> Pairing {
    let is_matched = |layout: &Layout| {
        matches!(layout, Layout::SameAddress | Layout::SameOrder | Layout::Aligned)
    };
    let all_matched = !layouts.is_empty() && layouts.iter().all(is_matched);
    if all_matched { Pairing::BySeed } else { Pairing::Unpaired }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::SystemTime};

    use super::*;
    use crate::verdict::testing::{experiment, place};

    fn refs(experiment: usize) -> Vec<VersionRef> {
        vec![place(experiment, 0)]
    }

    #[test]
    fn relation_prefers_one_experiment_to_two_newer_ones() {
        let experiments = [
            experiment(&["base", "head"], "key"),
            experiment(&["base"], "key"),
            experiment(&["head"], "key"),
        ];
        let base = [place(0, 0), place(1, 0)];
        let head = [place(0, 1), place(2, 0)];
        let relation = Relation::find(&base, &head, &experiments);
        assert_eq!(relation, Some(Relation::SameExperiment([place(0, 0), place(0, 1)])));
        let relation = Relation::find(&base[1..], &head, &experiments);
        assert_eq!(relation, Some(Relation::AcrossExperiments([place(1, 0), place(2, 0)])));
        assert_eq!(Relation::find(&base, &[], &experiments), None);
    }

    #[test]
    fn different_machine_is_passed_over_or_named() {
        let mut larger = experiment(&["base"], "key");
        Arc::make_mut(&mut larger.plan.machine).cores = 64;
        let experiments = [experiment(&["base"], "key"), larger, experiment(&["head"], "key")];
        let head = [place(2, 0)];
        let relation = Relation::find(&[place(0, 0), place(1, 0)], &head, &experiments);
        assert_eq!(relation, Some(Relation::AcrossExperiments([place(0, 0), head[0]])));
        let relation = Relation::find(&[place(1, 0)], &head, &experiments);
        let Some(Relation::Incomparable { reasons, .. }) = relation else {
            panic!("{relation:?}");
        };
        assert_eq!(reasons, ["machine: number of CPUs: 64, not 2"]);
    }

    #[test]
    fn different_settings_are_incomparable() {
        let experiments = [experiment(&["base"], "key"), experiment(&["head"], "other")];
        let relation = Relation::find(&refs(0), &refs(1), &experiments);
        let Some(Relation::Incomparable { reasons, .. }) = relation else {
            panic!("{relation:?}");
        };
        assert!(reasons[0].starts_with("settings"), "{reasons:?}");
    }

    #[test]
    fn different_compilers_need_one_experiment() {
        let mut newer = experiment(&["head"], "key");
        newer.plan.versions[0].toolchain = "rustc 1.95.0 (abc)\nhost: x".to_owned();
        let experiments = [experiment(&["base"], "key"), newer];
        let Some(Relation::Incomparable { reasons, .. }) =
            Relation::find(&refs(0), &refs(1), &experiments)
        else {
            panic!("they were compared");
        };
        assert_eq!(reasons, ["compiler: rustc 1.90.0, not rustc 1.95.0 (abc)"]);
        let mut both = experiment(&["base", "head"], "key");
        both.begun = SystemTime::UNIX_EPOCH;
        both.plan.versions[1].toolchain = "rustc 1.95.0 (abc)".to_owned();
        let relation = Relation::find(&[place(0, 0)], &[place(0, 1)], &[both]);
        assert!(matches!(relation, Some(Relation::SameExperiment(_))), "{relation:?}");
    }

    #[test]
    fn pairing_depends_on_the_layouts() {
        use Layout::{Aligned, Default, Padded, SameOrder, Shuffled};
        assert_eq!(pairing_within_experiment(&[SameOrder, Aligned, Default]), Pairing::BySeed);
        assert_eq!(pairing_within_experiment(&[SameOrder, Shuffled]), Pairing::Unpaired);
        assert_eq!(pairing_within_experiment(&[Padded]), Pairing::Unpaired);
        assert_eq!(pairing_across_experiments(&[SameOrder, Aligned]), Pairing::BySeed);
        assert_eq!(pairing_across_experiments(&[SameOrder, Default]), Pairing::Unpaired);
        assert_eq!(pairing_across_experiments(&[]), Pairing::Unpaired);
    }
}
