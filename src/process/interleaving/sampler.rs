//! Sends the processes the signal at which their threads take samples, from another CPU where there is one.

use std::{
    fs,
    mem::offset_of,
    num::NonZeroU64,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, SystemTime},
};

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};
use rustix::{
    process::Pid,
    thread::{CpuSet, sched_setaffinity, set_current_timer_slack},
};

use super::{
    SharedPage,
    page::{Page, SAMPLE},
};
use crate::{error::Result, process::child::descendants_of};

impl SharedPage {
    /// Samples the process whose time slice it is, at about this interval, until `is_done`. Intervals are random, so that no
    /// rhythm of a benchmark is sampled at the same place again and again. Works on these CPUs, if there are any.
    pub(super) fn take_samples(
        &self,
        period: Duration,
        cpus: &[usize],
        is_done: &AtomicBool,
    ) -> Result<()> {
        // Elsewhere, it disturbs the processes less. If that is impossible, it works all the same.
        let _ = move_to(cpus);
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seed = since_epoch.unwrap_or_default().subsec_nanos();
        let mut random = ChaCha8Rng::seed_from_u64(u64::from(seed));
        let mut known = [None; 2];
        while !is_done.load(Ordering::Relaxed) {
            let share = f64::from(random.next_u32()) / f64::from(u32::MAX);
            thread::sleep(period.mul_f64(0.5 + share));
            let turn = usize::from(self.number(offset_of!(Page, turn))? != 0);
            if self.number(offset_of!(Page, takes_samples) + 4 * turn)? == 0 {
                continue;
            }
            let own = self.1.running[turn].load(Ordering::Relaxed);
            let claimed = self.number(offset_of!(Page, process) + 4 * turn)?;
            if known[turn] != Some((own, claimed)) {
                // The process may have written any number there.
                let Some(id) = verified(own, claimed) else { continue };
                known[turn] = Some((own, id));
            }
            signal(claimed);
        }
        Ok(())
    }

    fn number(&self, at: usize) -> Result<u32> {
        Ok(u32::from_ne_bytes(self.0.read(at)?))
    }
}

/// Sends the signal to the threads of a process: to the first one, and to others that work.
#[expect(unsafe_code, reason = "there is no safe way to send a signal to a thread")]
fn signal(process: u32) {
    let works = |id: libc::c_int| {
        let path = format!("/proc/{process}/task/{id}/stat");
        let stat = fs::read_to_string(path).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
    };
    let process = libc::c_int::try_from(process).unwrap_or(0);
    let listed = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let ids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for id in ids.filter(|id| *id == process || works(*id)) {
        // SAFETY: it takes numbers. A thread that is gone, or is of another process, gets no signal.
        unsafe { libc::syscall(libc::SYS_tgkill, process, id, SAMPLE) };
    }
}

/// The claimed id of a process, if it is that of the one that was started, or of one below it.
fn verified(own: i32, claimed: u32) -> Option<u32> {
    let claimed_id = Pid::from_raw(i32::try_from(claimed).ok()?)?;
    let own = Pid::from_raw(own)?;
    let is_own = claimed_id == own || descendants_of(own).contains(&claimed_id);
    is_own.then_some(claimed)
}

/// Moves this thread to these CPUs, and lets it wake up in time.
fn move_to(cpus: &[usize]) -> Option<()> {
    let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu);
    }
    (set.count() > 0).then(|| sched_setaffinity(None, &set).ok()).flatten()
}
