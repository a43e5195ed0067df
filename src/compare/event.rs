//! What goes on in a comparison, and whom that is reported to.

use crate::{
    measure::{self, Outline, StartedExperiment},
    model::{LayoutSeed, Version},
};

/// Something that happens in a comparison.
#[derive(Clone, Copy)]
pub enum Event<'e> {
    /// This is measured next.
    Planned {
        /// What is measured.
        outline: &'e Outline,
        /// Whether flagged benchmarks are confirmed on fresh builds.
        confirms: bool,
    },
    /// Some benchmarks of both versions are not measured: they execute and read nothing that differs.
    Unaffected {
        /// How many are not measured.
        not_measured: usize,
        /// How many there are.
        of: usize,
    },
    /// What would be measured is stored.
    AlreadyMeasured,
    /// The head is compared with a release as well.
    AlsoAgainst(&'e Version),
    /// An experiment has begun, perhaps as the rest of an interrupted one.
    Started(&'e StartedExperiment),
    /// There was an interim analysis of benchmarks.
    Analysed {
        /// After how many builds of each version.
        builds: u32,
        /// How many benchmarks were analysed.
        decided: usize,
        /// How many of them are measured further.
        undecided: usize,
    },
    /// Flagged benchmarks are measured again on fresh builds.
    Confirming {
        /// How many.
        benchmarks: usize,
        /// The seeds of the builds.
        seeds: &'e [LayoutSeed],
    },
    /// Benchmarks whose counts differ between the versions are counted in more layouts.
    CountsDiffer {
        /// How many.
        differing: usize,
        /// How many were counted.
        of: usize,
        /// In how many layouts.
        layouts: usize,
    },
    /// Benchmarks whose counts vary within a version are counted in more layouts and initial states.
    CountsVary {
        /// How many.
        varying: usize,
        /// How many were counted.
        of: usize,
        /// In how many layouts.
        layouts: usize,
    },
    /// It is looked up function by function where the instructions of benchmarks went.
    Explaining {
        /// How many benchmarks are explained.
        benchmarks: usize,
        /// How many more changed, by less.
        left_out: usize,
    },
    /// Something that the user may not expect.
    Note(&'e str),
    /// Something that is less than was asked for.
    Warning(&'e str),
}

/// Observes comparisons, and the experiments that they make.
pub trait Observer: measure::Observer {
    /// Something happens.
    fn compare_event(&self, event: Event<'_>);
}
