//! Disturbances of measurements on this machine. Reports turn them into warnings.
//!
//! Only what users can change or must know is reported. That a CPU may turbo is neither: versions are
//! measured interleaved, so heat affects both alike, and nearly every machine has turbo.

/// Something that disturbs measurements, or did.
#[derive(Clone, Debug, PartialEq)]
pub enum Disturbance {
    /// Before measuring, so many processes per core wanted to run, over the last minute.
    Load {
        /// Per core.
        per_core: f64,
    },
    /// While measuring, other processes used this share of the time of all CPUs.
    Others {
        /// Of the time of all CPUs.
        share: f64,
    },
    /// While measuring, the host gave this share of the time to other virtual machines.
    Stolen {
        /// Of the time of all CPUs.
        share: f64,
    },
    /// The clock rate follows the load.
    Governor {
        /// The governor that is not `performance`.
        name: String,
    },
    /// The machine runs on its battery.
    Battery,
    /// The control group may use less than one CPU.
    Quota {
        /// In CPUs.
        cpus: f64,
    },
    /// While measuring, the control group's quota made processes wait.
    Throttled {
        /// For so long in all.
        seconds: f64,
    },
    /// Others took the CPU from many executions.
    Preempted {
        /// The share of executions.
        share: f64,
    },
    /// While measuring, the wall clock was set, or, if forward, the machine was suspended.
    ClockSet {
        /// By so much: positive if forward.
        seconds: f64,
    },
}
