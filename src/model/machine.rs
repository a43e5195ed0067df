//! The machine that measured, identified by properties that survive a reboot, checks of it, and disturbances of
//! measurements on it.
//!
//! Only disturbances that users can change or must know are reported. Turbo is neither: versions are measured
//! interleaved, so heat affects both alike, and nearly every machine has turbo.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine's identity. Results of different machines are never compared unless the user asks for it.
///
/// Independent of reboots and load: no clock rates, no kernel version, no hostname.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The CPU's model name; empty if the CPU reports none.
    pub cpu: String,
    /// The number of CPUs that the operating system shows.
    pub cores: u32,
    /// Main memory in bytes, [rounded](Self::round_memory).
    #[serde(rename = "memory_bytes")]
    pub memory: u64,
    /// The operating system: `linux`.
    pub os: String,
    /// The architecture: `x86_64`.
    pub architecture: String,
    /// A hash of the installation's own identifier, which distinguishes two machines of one model; empty if there is
    /// none.
    pub id: String,
    /// The name that its owner gave to machines that may replace each other; empty if there is none. Not a part of its
    /// identity.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub class: String,
}

impl Machine {
    /// Memory rounded up to an eighth of the power of two below it.
    ///
    /// A kernel shows the installed memory minus its own share, which varies a little with the kernel. Rounding up
    /// gives the installed size, or a stable number near it.
    pub const fn round_memory(bytes: u64) -> u64 {
        let Some(exponent) = bytes.checked_ilog2() else { return 0 };
        let step = if exponent < 3 { 1 } else { 1 << (exponent - 3) };
        bytes.div_ceil(step).saturating_mul(step)
    }

    /// True if results of both belong to one history: they are one machine, or alike machines of one class.
    pub fn shares_history(&self, other: &Self) -> bool {
        let alike = Self { id: self.id.clone(), ..other.clone() };
        let is_of_class = !self.class.is_empty() && self.class == other.class;
        self.differences(other).is_empty() || is_of_class && self.differences(&alike).is_empty()
    }

    /// The differences to another machine, for users; empty if they are the same.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let memory = |machine: &Self| format!("{:.1} GiB", machine.memory as f64 / 2_f64.powi(30));
        let parts = [
            ("CPU", self.cpu.clone(), other.cpu.clone()),
            ("number of CPUs", self.cores.to_string(), other.cores.to_string()),
            ("memory", memory(self), memory(other)),
            ("operating system", self.os.clone(), other.os.clone()),
            ("architecture", self.architecture.clone(), other.architecture.clone()),
            ("installation", self.id.clone(), other.id.clone()),
        ];
        let differing = parts.into_iter().filter(|(_, one, two)| one != two);
        differing.map(|(part, one, two)| format!("{part}: {one}, not {two}")).collect()
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, cores, memory, os, architecture, .. } = self;
        let cpu = if cpu.is_empty() { "unknown CPU" } else { cpu };
        let gib = *memory as f64 / 2_f64.powi(30);
        write!(f, "{cpu}, {cores} CPUs, {gib:.1} GiB, {os} {architecture}")
    }
}

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

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The name of the check, for programs and people: `governor`.
    pub check: &'static str,
    /// The state of the machine: `powersave (driver intel_pstate)`.
    pub found: String,
    /// The consequence.
    #[serde(flatten)]
    pub severity: Severity,
    /// True if it may bias or blur the comparisons of rbench.
    pub matters: bool,
}

impl Finding {
    /// A finding that needs no action.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, found: found.into(), severity: Severity::Ok, matters: false }
    }

    pub fn rbench(check: &'static str, found: impl Into<String>, how: impl Into<String>) -> Self {
        Self { severity: Severity::Rbench(how.into()), ..Self::ok(check, found) }
    }

    /// A finding that only the user can fix.
    pub fn user(check: &'static str, found: impl Into<String>, what: impl Into<String>) -> Self {
        Self { severity: Severity::User(what.into()), ..Self::ok(check, found) }
    }

    /// A finding that cannot be changed on this machine.
    pub fn never(check: &'static str, found: impl Into<String>, why: impl Into<String>) -> Self {
        Self { severity: Severity::Never(why.into()), ..Self::ok(check, found) }
    }

    /// Marks the finding as relevant to comparisons.
    #[must_use]
    pub fn that_matters(self) -> Self {
        Self { matters: true, ..self }
    }
}

/// The action that a finding needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "grade", content = "advice", rename_all = "kebab-case")]
pub enum Severity {
    /// None.
    Ok,
    /// Handled by rbench, in this way.
    Rbench(String),
    /// Only the user can fix it: with this command, or else by this action.
    User(String),
    /// It cannot be changed on this machine, for this reason.
    Never(String),
}

/// The findings that matter to comparisons, in a few words; none if there are none.
pub fn findings_summary(findings: &[Finding]) -> Option<String> {
    let parts = findings.iter().filter(|finding| finding.matters);
    let parts: Vec<String> =
        parts.map(|finding| format!("{}: {}", finding.check, finding.found)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn machine() -> Machine {
        Machine {
            cpu: "Example 9000".to_owned(),
            cores: 8,
            memory: 16 * GIB,
            os: "linux".to_owned(),
            architecture: "x86_64".to_owned(),
            id: "0123".to_owned(),
            class: String::new(),
        }
    }

    #[test]
    fn memory_is_rounded_up_to_the_installed_size() {
        assert_eq!(Machine::round_memory(16_300_000_000), 16 * GIB);
        assert_eq!(Machine::round_memory(67_200_000_000), 64 * GIB);
        assert_eq!(Machine::round_memory(16 * GIB), 16 * GIB);
        assert_eq!(Machine::round_memory(0), 0);
        assert_eq!(Machine::round_memory(5), 5);
        assert_eq!(Machine::round_memory(u64::MAX), u64::MAX);
    }

    #[test]
    fn machines_of_one_model_differ_by_installation() {
        let other = Machine { id: "4567".to_owned(), ..machine() };
        assert_eq!(machine().differences(&other), ["installation: 0123, not 4567"]);
        assert_eq!(machine().differences(&machine()), [""; 0]);
        let classed = Machine { class: "ax42".to_owned(), ..machine() };
        assert_eq!(classed.differences(&machine()), [""; 0]);
    }

    #[test]
    fn alike_machines_of_one_class_share_a_history() {
        let of_class = |class: &str, id: &str| Machine {
            class: class.to_owned(),
            id: id.to_owned(),
            ..machine()
        };
        assert!(of_class("ax42", "1").shares_history(&of_class("ax42", "2")));
        assert!(of_class("ax42", "1").shares_history(&of_class("", "1")));
        assert!(!of_class("", "1").shares_history(&of_class("", "2")));
        assert!(!of_class("ax42", "1").shares_history(&of_class("ax52", "2")));
        let larger = Machine { cores: 16, ..of_class("ax42", "2") };
        assert!(!of_class("ax42", "1").shares_history(&larger));
    }

    #[test]
    fn machine_display_omits_the_installation_hash() {
        assert_eq!(machine().to_string(), "Example 9000, 8 CPUs, 16.0 GiB, linux x86_64");
    }
}
