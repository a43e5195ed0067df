//! Pins a child to a CPU, which it inherits: the code between fork and exec stays small.

use crate::failure::Result;

#[cfg(target_os = "linux")]
pub(super) use linux::Pinned;

/// While this lives, children of this thread start on one CPU: they inherit its affinity.
#[cfg(target_os = "linux")]
mod linux {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::Result;
    use crate::failure::{Exit, Failure, OrFail};

    /// Restores this thread's own CPUs when dropped.
    pub(in super::super) struct Pinned(Option<CpuSet>);

    impl Pinned {
        /// Pins to `cpu`, or to nothing.
        pub(in super::super) fn to(cpu: Option<usize>) -> Result<Self> {
            let Some(cpu) = cpu else { return Ok(Self(None)) };
            let what = || format!("cannot pin to CPU {cpu}");
            let before = sched_getaffinity(None).or_fail(Exit::Usage, what)?;
            if cpu >= CpuSet::MAX_CPU || !before.is_set(cpu) {
                return Err(Failure::new(Exit::Usage, what())
                    .because("this process may not run on it, or it does not exist"));
            }
            let mut one = CpuSet::new();
            one.set(cpu);
            sched_setaffinity(None, &one).or_fail(Exit::Usage, what)?;
            Ok(Self(Some(before)))
        }
    }

    impl Drop for Pinned {
        fn drop(&mut self) {
            if let Some(before) = &self.0 {
                // These CPUs were allowed a moment ago; if not now, nothing better can be done.
                let _ = sched_setaffinity(None, before);
            }
        }
    }
}

/// Elsewhere there is no affinity to inherit, so asking for a CPU is refused.
#[cfg(not(target_os = "linux"))]
pub(super) struct Pinned;

#[cfg(not(target_os = "linux"))]
impl Pinned {
    pub(super) fn to(cpu: Option<usize>) -> Result<Self> {
        use crate::failure::{Exit, Failure};

        match cpu {
            None => Ok(Self),
            Some(cpu) => Err(Failure::new(Exit::Usage, format!("cannot pin to CPU {cpu}"))
                .because("this system does not let a process choose its CPU")),
        }
    }
}
