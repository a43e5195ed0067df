//! Sends the processes the signal at which their threads take samples, from another CPU where there is one.

use std::{
    fs::{self, File},
    mem::offset_of,
    num::NonZeroU64,
    os::unix::fs::FileExt as _,
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
        let mut known: [Option<SampledProcess>; 2] = [None, None];
        while !is_done.load(Ordering::Relaxed) {
            let share = f64::from(random.next_u32()) / f64::from(u32::MAX);
            thread::sleep(period.mul_f64(0.5 + share));
            let turn = usize::from(self.number(offset_of!(Page, turn))? != 0);
            if self.number(offset_of!(Page, takes_samples) + 4 * turn)? == 0 {
                continue;
            }
            let own = self.1.running[turn].load(Ordering::Relaxed);
            let claimed = self.number(offset_of!(Page, process) + 4 * turn)?;
            let process = match &mut known[turn] {
                Some(process) if process.started == own && process.id == claimed => process,
                // The process may have written any number there.
                process => match SampledProcess::verified(own, claimed) {
                    Some(verified) => process.insert(verified),
                    None => continue,
                },
            };
            process.take_sample();
        }
        Ok(())
    }

    fn number(&self, at: usize) -> Result<u32> {
        Ok(u32::from_ne_bytes(self.0.read(at)?))
    }
}

/// The most threads of a process whose files stay open. Those of others are opened for each sample.
const MOST_KNOWN: usize = 64;

/// A process whose threads take samples.
struct SampledProcess {
    /// The id of the process that was started, and of the one that is sampled: itself or one below it.
    started: i32,
    id: u32,
    /// Threads besides the first one, with their states. These files stay open: to list threads and to open a file takes
    /// as long as the first steps of a thread that was just woken, which would never be sampled.
    others: Vec<(libc::c_int, File)>,
}

impl SampledProcess {
    /// The process with this claimed id, if it is that of the one that was started, or of one below it.
    fn verified(started: i32, claimed: u32) -> Option<Self> {
        let id = Pid::from_raw(i32::try_from(claimed).ok()?)?;
        let own = Pid::from_raw(started)?;
        let is_own = id == own || descendants_of(own).contains(&id);
        is_own.then(|| Self { started, id: claimed, others: Vec::new() })
    }

    /// Sends the signal to the threads that work, and then to the first one: if that one waits, the signal wakes it, which
    /// takes the time of others. New threads are last, since they have to be found.
    fn take_sample(&mut self) {
        self.others.retain(|(id, stat)| {
            let works = works(stat);
            if works == Some(true) {
                signal(self.id, *id);
            }
            works.is_some()
        });
        signal(self.id, libc::c_int::try_from(self.id).unwrap_or(0));
        for id in self.new_threads() {
            signal(self.id, id);
        }
    }

    /// Updates the list of threads. Those that work among the ones that were not known.
    fn new_threads(&mut self) -> Vec<libc::c_int> {
        let directory = format!("/proc/{}/task", self.id);
        let listed = fs::read_dir(&directory).into_iter().flatten().flatten();
        let ids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let ids: Vec<libc::c_int> =
            ids.filter(|id| u32::try_from(*id).is_ok_and(|id| id != self.id)).collect();
        self.others.retain(|(id, _)| ids.contains(id));
        let mut working = Vec::new();
        for id in ids {
            if self.others.iter().any(|(known, _)| *known == id) {
                continue;
            }
            let Ok(stat) = File::open(format!("{directory}/{id}/stat")) else { continue };
            working.extend((works(&stat) == Some(true)).then_some(id));
            if self.others.len() < MOST_KNOWN {
                self.others.push((id, stat));
            }
        }
        working
    }
}

#[expect(unsafe_code, reason = "there is no safe way to send a signal to a thread")]
fn signal(process: u32, thread: libc::c_int) {
    // SAFETY: it takes numbers. A thread that is gone, or is of another process, gets no signal.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, SAMPLE) };
}

/// Whether a thread works or waits for a CPU, by its file `stat`. `None` if it has ended.
fn works(stat: &File) -> Option<bool> {
    // The name, which the thread can choose, stands in parentheses before the state and has at most 30 bytes.
    let mut text = [0; 64];
    let length = stat.read_at(&mut text, 0).ok()?;
    let end = text[..length].iter().rposition(|byte| *byte == b')')?;
    Some(text[end..length].starts_with(b") R"))
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use rustix::thread::{gettid, set_name};

    use super::*;

    #[test]
    fn threads_are_known_with_their_states_until_they_end() {
        let (send_id, ids) = channel();
        let (end, ended) = channel::<()>();
        let waiting = thread::spawn(move || {
            set_name(c"a) R").unwrap();
            send_id.send(gettid().as_raw_nonzero().get()).unwrap();
            // The sender is dropped to end it.
            let _ = ended.recv();
        });
        let id = ids.recv().unwrap();
        let own = gettid().as_raw_nonzero().get();
        let started = std::process::id();
        let mut process = SampledProcess::verified(started.cast_signed(), started).unwrap();
        assert!(process.new_threads().contains(&own));
        let state = |process: &SampledProcess, id| {
            let (_, stat) = process.others.iter().find(|(other, _)| *other == id)?;
            works(stat)
        };
        while state(&process, id) != Some(false) {
            thread::yield_now();
        }
        assert_eq!(state(&process, own), Some(true));
        drop(end);
        waiting.join().unwrap();
        // The kernel may list it for a moment longer.
        while state(&process, id).is_some() {
            process.new_threads();
        }
    }
}
