//! Disturbances of measurements on this machine. Reports turn them into warnings.
//!
//! Only disturbances that users can change or must know are reported. Turbo is neither: versions are measured
//! interleaved, so heat affects both alike, and nearly every machine has turbo.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limit of involuntary context switches per second for an execution: a CPU shared with another busy process has a
/// hundred per second and more, one on a quiet system a few.
pub const MANY_SWITCHES: u32 = 50;

/// A disturbance of measurements, imminent or past.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(inline)]
pub enum Disturbance {
    /// Before measuring, this many processes per core were runnable, over the last minute.
    Load {
        /// The load per core.
        per_core: f64,
    },
    /// While measuring, other processes used CPU time.
    #[serde(rename = "other_processes")]
    Others {
        /// Their share of the time of all CPUs.
        share: f64,
    },
    /// While measuring, the host gave CPU time to other virtual machines.
    #[serde(rename = "stolen_time")]
    Stolen {
        /// The share of the time of all CPUs.
        share: f64,
    },
    /// The clock rate follows the load.
    Governor {
        /// The name of the governor, other than `performance`.
        name: String,
    },
    /// The machine runs on its battery.
    Battery,
    /// The control group may use less than one CPU.
    Quota {
        /// The quota in CPUs.
        cpus: f64,
    },
    /// While measuring, the control group's quota made processes wait.
    Throttled {
        /// The total time, in seconds.
        seconds: f64,
    },
    /// Other processes preempted many executions.
    Preempted {
        /// The share of executions.
        share: f64,
    },
    /// While measuring, the wall clock was set, or, if forward, the machine was suspended.
    ClockSet {
        /// The change in seconds: positive if forward.
        seconds: f64,
    },
}
