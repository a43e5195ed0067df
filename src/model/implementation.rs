//! Implementations of one task: benchmarks of one version to compare with each other.

use super::{Benchmark, Variant, Version};

/// Two or more implementations, and the benchmarks of each, which belong together by their parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementations {
    /// The common name of all: `parse/{serde,simd}`.
    pub name: String,
    /// Each implementation, in the order in which they were given.
    pub all: Vec<Implementation>,
    /// The parameters that all of them have, in the order of the first one; a single empty one if there are none.
    pub parameters: Vec<String>,
    /// The benchmarks without a partner in another implementation, which are left out.
    pub left_out: Vec<Benchmark>,
}

/// One implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementation {
    /// The part of the id that distinguishes it: `serde`.
    pub name: String,
    /// The pattern that selects its benchmarks: `parse/serde`.
    pub pattern: String,
    /// Its benchmark for each parameter: the common name, and the benchmark.
    pub benchmarks: Vec<(Benchmark, Benchmark)>,
}

impl Implementation {
    /// This version with the benchmarks of this implementation alone: a variant of it.
    pub fn as_variant_of(&self, version: &Version) -> Version {
        let settings = version.variant.iter().map(|variant| variant.settings.clone());
        let settings = settings.chain([format!("benchmark {}", self.pattern)]);
        let settings = settings.collect::<Vec<_>>().join(", ");
        let variant = Variant { name: self.name.clone(), settings };
        Version { variant: Some(variant), ..version.clone() }
    }
}
