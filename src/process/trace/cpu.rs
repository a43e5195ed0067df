//! One CPU for the tracer and what it traces: to wake a thread on another one takes several times as long, and at
//! each stop both are woken.

use std::collections::HashSet;

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity},
};

use super::ptrace::Tid;

/// The CPU of a traced process.
pub(super) struct OwnCpu {
    /// Those on which it would run; none if that is not known.
    all: Option<CpuSet>,
    one: CpuSet,
    /// The threads that may run on all of them until they stop the next time.
    free: HashSet<Tid>,
}

impl OwnCpu {
    /// Keeps this thread and a process that has stopped on one CPU. Where that is not possible, they run on any.
    pub(super) fn of(process: Tid) -> Self {
        let (mut one, cpu) = (CpuSet::new(), sched_getcpu());
        one.set(cpu);
        let all = sched_getaffinity(Pid::from_raw(process)).ok();
        let all = all.filter(|all| all.is_set(cpu) && set(process, &one));
        if all.is_some() {
            // It takes longer otherwise, and that is all.
            let _ = sched_setaffinity(None, &one);
        }
        Self { all, one, free: HashSet::new() }
    }

    /// Lets a thread that has stopped before it asks for its CPUs see all of them: programs start as many threads.
    pub(super) fn let_see_all(&mut self, tid: Tid) {
        if let Some(all) = &self.all
            && set(tid, all)
        {
            self.free.insert(tid);
        }
    }

    /// Keeps a thread that has stopped on the CPU again.
    pub(super) fn keep(&mut self, tid: Tid) {
        if self.free.remove(&tid) {
            set(tid, &self.one);
        }
    }
}

fn set(tid: Tid, cpus: &CpuSet) -> bool {
    Pid::from_raw(tid).is_some_and(|tid| sched_setaffinity(Some(tid), cpus).is_ok())
}
