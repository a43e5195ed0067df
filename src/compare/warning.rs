//! What makes a comparison less sure.

use crate::model::{BenchTarget, Disturbance, Layout, Throughput};

/// Something that makes a comparison less sure.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Something that disturbs, or disturbed, the measurements.
    Disturbance(Disturbance),
    /// Fewer builds of a bench target differ, in any of the versions, than were requested.
    EqualBuilds {
        /// The bench target.
        target: BenchTarget,
        /// How many differ.
        distinct: usize,
        /// How many were requested.
        requested: usize,
    },
    /// Functions that both versions have do not stand at the same addresses in both.
    OtherAddresses {
        /// The bench target.
        target: BenchTarget,
        /// The layout of its builds.
        layout: Layout,
        /// The smallest share, over the builds, of common functions that have the same address.
        share: f64,
    },
    /// Benchmarks of the head have other ids each time that they are listed, and so can be compared with
    /// nothing.
    ChangingIds {
        /// The ids of one listing.
        ids: Vec<String>,
    },
    /// The functions of the two versions could not be compared.
    FunctionsUnknown {
        /// Why.
        reason: String,
    },
    /// Benchmarks say that an iteration processes another amount in the head than in the base.
    DifferentWork {
        /// Their names and the amounts of both versions.
        benchmarks: Vec<(String, [Throughput; 2])>,
    },
    /// The report says nothing of any benchmark in both versions.
    NothingCompared,
    /// Stored results of different experiments are compared.
    AcrossExperiments {
        /// How many benchmarks it is about.
        benchmarks: usize,
    },
    /// Stored results of different experiments cannot be compared.
    NotComparableAcrossExperiments {
        /// How many benchmarks it is about.
        benchmarks: usize,
    },
    /// Stored results of different machines or settings are compared, because the user allowed it.
    DifferentConditions {
        /// What differs, for people.
        reasons: Vec<String>,
    },
}

impl Warning {
    /// Adds it to others, unless it is among them: of disturbances, the first one of each kind is enough.
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
