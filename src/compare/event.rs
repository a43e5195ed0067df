//! Progress events of a comparison and their receiver, so that comparing never prints.

use std::time::Duration;

use crate::{
    measure::{self, Outline, StartedExperiment},
    model::{BenchTarget, InterimAnalyses, LayoutSeed, Version},
    verdict::{Counts, DecidedRow, ProvisionalRow},
};

#[derive(Clone, Copy)]
pub enum Event<'e> {
    /// The measurements are planned and start next.
    Planned {
        outline: &'e Outline,
        /// True if flagged benchmarks are confirmed on fresh builds.
        confirms: bool,
    },
    /// The sizes of executables are decided, and the times of compiling are measured next.
    SizesDecided(&'e [DecidedRow]),
    /// Both versions are compiled again, to decide on the time of compiling.
    CompilationsPlanned {
        metrics: &'e str,
        /// The numbers of compilations of each version after which it is analysed.
        analyses: InterimAnalyses,
        /// The time of one compilation of both versions.
        pair: Duration,
        /// The limit of the time, if any.
        budget: Option<Duration>,
        /// True if a change is confirmed by fresh compilations.
        confirms: bool,
    },
    /// A change of the time of compiling is confirmed by fresh compilations.
    ConfirmingCompilations {
        /// The number of compilations of each version.
        count: usize,
        time: Duration,
    },
    /// Some benchmarks of both versions are skipped: they execute and read nothing that differs.
    Unaffected {
        /// The number of skipped benchmarks.
        not_measured: usize,
        of: usize,
    },
    AlreadyMeasured,
    /// Some bench targets are not compiled: none of the benchmarks that the user named should be in them.
    LeftOut {
        targets: usize,
        of: usize,
    },
    /// Each bench target takes long to compile, so some are compared before the others are compiled.
    ByTarget {
        benches: usize,
        /// The setting of the profile that makes it long.
        lto: &'e str,
    },
    /// Some of them are decided.
    TargetsCompared {
        benches: &'e [BenchTarget],
        /// The number of bench targets that are decided so far.
        done: usize,
        of: usize,
        /// The numbers of their verdicts.
        counts: &'e Counts,
    },
    /// The head is compared with a release as well.
    AlsoAgainst(&'e Version),
    /// An experiment has started, perhaps as the rest of an interrupted one.
    Started(&'e StartedExperiment),
    /// Some benchmarks have new measurements. Their rows decide nothing; sent only if they are
    /// [shown](Observer::shows_provisional).
    Provisional(&'e [ProvisionalRow]),
    /// The verdicts on some benchmarks after an analysis; after one of fresh builds, sent only if
    /// provisional rows are shown. The verdict is final on a row with
    /// [`Progress::Ended`](crate::verdict::Progress::Ended).
    Decided(&'e [DecidedRow]),
    /// An interim analysis of benchmarks is done.
    Analysed {
        /// The number of builds of each version so far.
        builds: u32,
        /// The number of analysed benchmarks.
        decided: usize,
        /// The number of those that are measured further.
        undecided: usize,
        /// The largest number of executions of a build that one of these gets, if that is more than planned.
        executions: Option<u32>,
    },
    /// Flagged benchmarks are measured again on fresh builds.
    Confirming {
        benchmarks: usize,
        seeds: &'e [LayoutSeed],
    },
    /// Skipped benchmarks are measured all the same.
    Auditing {
        measured: usize,
        skipped: usize,
    },
    /// Benchmarks whose counts vary within a version are counted in more layouts and initial states.
    CountsVary {
        /// The number of benchmarks that vary.
        varying: usize,
        /// The number of counted benchmarks.
        of: usize,
        layouts: usize,
    },
    /// Changes of times or of instruction counts are explained by function.
    Explaining {
        what: &'static str,
        benchmarks: usize,
        /// The number of benchmarks that are left out because they changed less.
        left_out: usize,
    },
    /// Information that the user may not expect.
    Note(&'e str),
    /// The result is less than requested.
    Warning(&'e str),
}

/// Receives the progress of comparisons and of their experiments.
pub trait Observer: measure::Observer {
    fn compare_event(&self, event: Event<'_>);

    /// True if provisional results are shown, which take time to compute.
    fn shows_provisional(&self) -> bool {
        false
    }
}
