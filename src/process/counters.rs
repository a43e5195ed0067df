//! Hardware counters of a child, where the kernel lets them be had; silently absent elsewhere.

#[cfg(target_os = "linux")]
pub(super) use linux::Counters;

#[cfg(target_os = "linux")]
mod linux {
    use perf_event::{Builder, Counter, events::Hardware};

    /// Counters that belong to this thread and stay off in it; a child inherits them, and its exec
    /// turns them on. Its counts are added when it ends.
    pub(in super::super) struct Counters {
        instructions: Option<Counter>,
        cycles: Option<Counter>,
    }

    impl Counters {
        /// Call before spawning, on the thread that spawns.
        pub(in super::super) fn prepare() -> Self {
            Self {
                instructions: inherited(Hardware::INSTRUCTIONS),
                cycles: inherited(Hardware::CPU_CYCLES),
            }
        }

        /// Instructions retired in user mode.
        pub(in super::super) fn instructions(&mut self) -> Option<u64> {
            self.instructions.as_mut().and_then(read)
        }

        /// CPU cycles in user mode.
        pub(in super::super) fn cycles(&mut self) -> Option<u64> {
            self.cycles.as_mut().and_then(read)
        }
    }

    fn inherited<E: perf_event::events::Event>(event: E) -> Option<Counter> {
        Builder::new(event).inherit(true).enable_on_exec(true).build().ok()
    }

    /// The count, if the counter counted all the time: a share of the time, scaled up, would be an
    /// estimate that looks like a count.
    fn read(counter: &mut Counter) -> Option<u64> {
        let data = counter.read_count_and_time().ok()?;
        (data.time_running > 0 && data.time_running == data.time_enabled).then_some(data.count)
    }

    #[cfg(test)]
    mod tests {
        use std::process::Command;

        use perf_event::events::Software;

        use super::*;

        /// Needs a kernel that lets processes count at all; hardware need not be there.
        #[test]
        fn a_counter_counts_the_child_from_its_exec_on_and_nothing_of_this_process() {
            let Some(mut counter) = inherited(Software::PAGE_FAULTS) else { return };
            let before = read(&mut counter);
            Command::new("true").status().unwrap();
            assert_eq!(before, None);
            assert!((1..10_000).contains(&read(&mut counter).unwrap()));
        }
    }
}

/// Elsewhere there is no counter that a process may have without a driver.
#[cfg(not(target_os = "linux"))]
pub(super) struct Counters;

#[cfg(not(target_os = "linux"))]
impl Counters {
    pub(super) const fn prepare() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(super) const fn instructions(&mut self) -> Option<u64> {
        None
    }

    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(super) const fn cycles(&mut self) -> Option<u64> {
        None
    }
}
