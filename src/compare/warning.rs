//! Warnings about the reliability of a comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{BenchTarget, Disturbance, Layout, Throughput};

/// A reason to trust a comparison less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
// In place, because reports add a text.
#[schemars(inline)]
pub enum Warning {
    /// Fewer builds of a bench target differ, in any of the versions, than were requested.
    EqualBuilds {
        /// The bench target.
        target: BenchTarget,
        /// The number of distinct builds.
        distinct: usize,
        /// The number of requested builds.
        requested: usize,
    },
    /// Functions that both versions have are not at the same addresses in both.
    OtherAddresses {
        /// The bench target.
        target: BenchTarget,
        /// The layout of its builds.
        layout: Layout,
        /// The smallest share, over the builds, of common functions that have the same address.
        share: f64,
    },
    /// Benchmarks of the head get other ids each time they are listed, and so cannot be compared.
    ChangingIds {
        /// The ids of one listing.
        ids: Vec<String>,
    },
    /// The functions of the two versions could not be compared.
    FunctionsUnknown {
        /// The reason.
        reason: String,
    },
    /// Benchmarks report that an iteration processes another amount in the head than in the base.
    DifferentWork {
        /// The benchmarks concerned.
        benchmarks: Vec<ChangedWork>,
    },
    /// The report has no verdict on any benchmark in both versions.
    NothingCompared,
    /// Stored results of different experiments are compared.
    AcrossExperiments {
        /// The number of benchmarks concerned.
        benchmarks: usize,
    },
    /// Stored results of different experiments cannot be compared.
    NotComparableAcrossExperiments {
        /// The number of benchmarks concerned.
        benchmarks: usize,
    },
    /// Stored results of different machines or settings are compared, because the user allowed it.
    DifferentConditions {
        /// The differences, as texts for people.
        reasons: Vec<String>,
    },
    /// Something disturbs, or disturbed, the measurements.
    #[serde(untagged)]
    Disturbance(Disturbance),
}

/// A benchmark with another amount of work in the head than in the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedWork {
    /// The name of the benchmark.
    pub name: String,
    /// The amounts that one iteration processes in base and head.
    pub work: [Throughput; 2],
}

impl Warning {
    /// True if verdicts would be misread without it, or are missing because of it: a reader must
    /// act. False if all verdicts hold.
    pub const fn is_urgent(&self) -> bool {
        matches!(
            self,
            Self::ChangingIds { .. }
                | Self::DifferentWork { .. }
                | Self::NothingCompared
                | Self::NotComparableAcrossExperiments { .. }
                | Self::DifferentConditions { .. }
        )
    }

    /// Adds it to `warnings`, unless it is among them. Of disturbances, one of each kind is enough.
    pub fn add_to(self, warnings: &mut Vec<Self>) {
        let is_known = warnings.iter().any(|known| match (known, &self) {
            (Self::Disturbance(known), Self::Disturbance(one)) => {
                std::mem::discriminant(known) == std::mem::discriminant(one)
            }
            _ => *known == self,
        });
        if !is_known {
            warnings.push(self);
        }
    }
}
