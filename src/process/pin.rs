//! Pins a child to a CPU, which it inherits: the code between fork and exec stays small.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::failure::{Exit, Failure, OrFail, Result};

/// Checks that benchmarks can run on `cpu`, if one is given.
pub fn check_cpu(cpu: Option<usize>) -> Result<()> {
    cpu.map_or(Ok(()), |cpu| allowed(cpu).map(drop))
}

/// The CPUs that this thread may run on.
pub fn cpus() -> Result<Vec<usize>> {
    let what = || "cannot find out which CPUs there are";
    let allowed = sched_getaffinity(None).or_fail(Exit::Internal, what)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect())
}

/// The CPUs that this thread may run on, `cpu` among them.
fn allowed(cpu: usize) -> Result<CpuSet> {
    let what = || format!("cannot pin to CPU {cpu}");
    let allowed = sched_getaffinity(None).or_fail(Exit::Usage, what)?;
    if cpu < CpuSet::MAX_CPU && allowed.is_set(cpu) {
        return Ok(allowed);
    }
    Err(Failure::new(Exit::Usage, what())
        .because("it does not exist, or this process may not run on it")
        .hint("the CPUs it may run on: grep Cpus_allowed_list /proc/self/status"))
}

/// While this lives, children of this thread start on one CPU: they inherit its affinity. The thread's
/// own CPUs are restored when it is dropped.
pub(super) struct Pinned(Option<CpuSet>);

impl Pinned {
    /// Pins to `cpu`, or to nothing.
    pub(super) fn to(cpu: Option<usize>) -> Result<Self> {
        let Some(cpu) = cpu else { return Ok(Self(None)) };
        let before = allowed(cpu)?;
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one)
            .or_fail(Exit::Usage, || format!("cannot pin to CPU {cpu}"))?;
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
