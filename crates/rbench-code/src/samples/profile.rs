//! Sampled stacks as plain values.

use schemars::JsonSchema;
use serde::Serialize;

use crate::callgrind::Function;

/// Where the time of a benchmark's measurements went in one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeProfile {
    /// The functions; indices elsewhere refer to them. An inlined function has
    /// [`Place::Program`](crate::callgrind::Place::Program) with the instance of its own name.
    pub functions: Vec<Function>,
    /// The sampled executions, one for each pair of builds, in the order of the pairs.
    pub executions: Vec<SampledExecution>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampledExecution {
    /// The time of an iteration in ns: of the measurements in between that were not sampled, if there are enough.
    pub time: f64,
    pub stacks: Vec<SampledStack>,
    /// The number of samples that were dropped, for want of memory.
    pub dropped: u64,
    /// The number of samples whose stack could not be unwound to its end.
    pub cut: u64,
}

/// A stack of calls that was sampled once or several times.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SampledStack {
    /// The frames, the outermost first.
    pub frames: Vec<Frame>,
    pub thread: SampledThread,
    pub state: SampledState,
    pub samples: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Its index among the functions of the profile.
    pub function: usize,
    /// True if its code is inlined into the function of the next outer frame.
    pub is_inlined: bool,
}

/// A thread, by its part in the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SampledThread {
    /// The thread that reads the clock of the measurements.
    Measuring,
    /// Any other thread.
    Other,
}

/// The state of a sampled thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SampledState {
    /// It executed code of the program or of a library.
    Working,
    /// The kernel worked for it, in a call of the innermost frame, a function of the C library.
    InKernel,
    /// It waited in the kernel, in a call of the innermost frame.
    Waiting,
}
