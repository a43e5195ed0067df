//! Notices that two interleaved processes stand still: one waits for a lock, for instance, that the other one holds,
//! which waits for its time slice.

use std::{fs, time::Duration};

use rustix::process::Pid;

/// The time between two looks. Each one wakes the parent, and reads a few bytes as long as the processes alternate.
pub(super) const TICK: Duration = Duration::from_millis(500);

/// The time without any progress in addition to what a process may wait for by itself. With the looks before and after it,
/// a stand-still is noticed within 5 s.
const PATIENCE: Duration = Duration::from_millis(3_500);

/// Decides whether a pair stands still. Times are since any moment.
#[derive(Debug)]
pub(super) struct StandStill {
    /// The run time of one process alone: it may wait as long without reading the clock.
    alone: Duration,
    /// How often either process has handed over.
    passed: Option<u64>,
    /// When there was progress last, and the CPU time of both then.
    progress: Option<(Duration, Duration)>,
}

impl StandStill {
    pub(super) const fn new(alone: Duration) -> Self {
        Self { alone, passed: None, progress: None }
    }

    /// True if there has been no progress for too long. `cpu` is the CPU time of both with all that they started, and is
    /// only asked for while they do not hand over.
    pub(super) fn is_reached(
        &mut self,
        now: Duration,
        passed: u64,
        cpu: impl FnOnce() -> Duration,
    ) -> bool {
        /// The share of the time that processes without progress may use: some try a lock again and again.
        const LITTLE: u32 = 20;
        if self.passed.replace(passed) != Some(passed) {
            self.progress = None;
            return false;
        }
        let cpu = cpu();
        let (since, before) = *self.progress.get_or_insert((now, cpu));
        let still = now.saturating_sub(since);
        if cpu.saturating_sub(before).saturating_mul(LITTLE) > still {
            self.progress = Some((now, cpu));
            return false;
        }
        still >= PATIENCE.saturating_add(self.alone)
    }
}

/// The CPU time of these processes, and of all that they started, that have ended, and that were waited for.
pub(super) fn cpu_time(processes: impl IntoIterator<Item = Pid>) -> Duration {
    processes.into_iter().filter_map(cpu).sum()
}

fn cpu(process: Pid) -> Option<Duration> {
    /// The unit of times in `/proc`, in ms: `USER_HZ` is 100 on every architecture that rbench knows.
    const TICK_MS: u64 = 10;
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    // Its own time in user and system mode, and that of its children.
    let ticks = fields.split_whitespace().skip(11).take(4);
    let ticks = ticks.map(|ticks| ticks.parse().unwrap_or(0)).sum::<u64>();
    Some(Duration::from_millis(ticks.saturating_mul(TICK_MS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Duration = Duration::from_secs(3);

    /// The second at which a pair is found to stand still, if it does within a minute.
    fn stands(progress: impl Fn(u64) -> (u64, u64)) -> Option<u64> {
        let mut decision = StandStill::new(ALONE);
        (0..60).find(|second| {
            let (passed, cpu) = progress(*second);
            decision.is_reached(Duration::from_secs(*second), passed, || Duration::from_millis(cpu))
        })
    }

    #[test]
    fn pair_without_progress_stands_still() {
        assert_eq!(stands(|_| (7, 100)), Some(8));
        // It has worked for two seconds before, and then tries a lock now and then.
        assert_eq!(stands(|second| (7, 1_000 * second.min(2) + 20 * second)), Some(9));
    }

    #[test]
    fn pair_that_passes_or_computes_does_not_stand_still() {
        assert_eq!(stands(|second| (second, 0)), None);
        assert_eq!(stands(|second| (0, 900 * second)), None);
        // It waits for seven seconds in each iteration, and then hands over.
        assert_eq!(stands(|second| (second / 7, 0)), None);
    }

    #[test]
    fn cpu_time_of_this_process_grows() {
        let own = || cpu_time([rustix::process::getpid()]);
        let before = own();
        while own() <= before {}
    }
}
