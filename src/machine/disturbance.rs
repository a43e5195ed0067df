//! What makes measurements on this machine less sure, as values that read as warnings.
//!
//! Said is only what a person can change or has to know. That a CPU may turbo is neither: versions are
//! measured taking turns, so what heats one of them heats the other, and hardly a machine is without.

use std::fmt;

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
    /// While measuring, the wall clock was set.
    ClockSet {
        /// By so much: positive if forward.
        seconds: f64,
    },
}

impl Disturbance {
    /// A word for it, for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Load { .. } => "load",
            Self::Others { .. } => "other-processes",
            Self::Stolen { .. } => "stolen-time",
            Self::Governor { .. } => "governor",
            Self::Battery => "battery",
            Self::Quota { .. } => "quota",
            Self::Throttled { .. } => "throttled",
            Self::Preempted { .. } => "preempted",
            Self::ClockSet { .. } => "clock-set",
        }
    }

    /// The number that it is about, if any: as its field says.
    pub const fn value(&self) -> Option<f64> {
        match self {
            Self::Load { per_core: value }
            | Self::Others { share: value }
            | Self::Stolen { share: value }
            | Self::Quota { cpus: value }
            | Self::Throttled { seconds: value }
            | Self::Preempted { share: value }
            | Self::ClockSet { seconds: value } => Some(*value),
            Self::Governor { .. } | Self::Battery => None,
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load { per_core } => write!(
                f,
                "the machine was busy before rbench began: a load of {per_core:.2} per core; \
                 intervals get wider"
            ),
            Self::Others { share } => write!(
                f,
                "other processes used {:.0} % of all CPU time while measuring; intervals get wider",
                100.0 * share
            ),
            Self::Stolen { share } => write!(
                f,
                "the host took {:.1} % of all CPU time from this virtual machine while measuring",
                100.0 * share
            ),
            Self::Governor { name } => write!(
                f,
                "the CPU frequency governor is `{name}`: clock rates change while measuring; \
                 `performance` is steadier"
            ),
            Self::Battery => f.write_str("the machine runs on its battery, which saves power"),
            Self::Quota { cpus } => {
                write!(f, "the control group allows only {cpus:.2} CPUs: executions are paused")
            }
            Self::Throttled { seconds } => write!(
                f,
                "the control group's CPU quota paused processes for {seconds:.2} s while measuring"
            ),
            Self::Preempted { share } => write!(
                f,
                "in {:.0} % of the executions, other processes took the CPU away more than {} times \
                 a second",
                100.0 * share,
                super::state::MANY_SWITCHES
            ),
            Self::ClockSet { seconds } => write!(
                f,
                "the clock was set by {seconds:+.0} s while measuring; times are not affected: they \
                 come from the monotonic clock"
            ),
        }
    }
}
