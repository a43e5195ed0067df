//! Runs two processes interleaved: both are alive at once on one CPU, and they alternate in short time slices, so that
//! a disturbance of the machine affects both alike.
//!
//! A preloaded library replaces the clock in both. When a process reads the clock and its time slice is used up, it
//! hands over to the partner and waits. Its own time excludes this wait. The executables are not changed.

#[cfg(test)]
#[expect(dead_code, reason = "the library uses all of it")]
mod own_time;
mod page;
mod sampler;
mod samples;

use std::{
    fs,
    mem::offset_of,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags, open},
    process::{Pid, getpid, set_child_subreaper},
    time::{ClockId, clock_gettime},
};

pub use self::page::READINGS as MOST_READINGS;
use self::page::{Page, READINGS};
pub use self::samples::{Sample, Sampled};
pub use super::preload::LIBRARY_FLAGS;
use super::preload::{OWN, SharedMemory, inherit, library_source, moved, preload};
use super::{child::MEMBER_VARIABLE, stand_still::StandStill};
use crate::{
    error::{Context, Exit, Result},
    model::Threads,
};

pub const LIBRARY_SOURCE: &str = library_source!(
    "interpose.rs",
    "own_time": "own_time.rs",
    "page": "page.rs",
    "clocks": "clocks.rs",
    "code": "code.rs",
    "deadlines": "deadlines.rs",
    "threads": "threads.rs",
    "placement": "placement.rs",
    "sampling": "sampling.rs",
    "random": "../preload/random.rs",
    "system": "../preload/system.rs"
);

/// The usual least length of a time slice: about three measurements, of which only the first meets the caches as the other
/// process left them. Shorter slices cost more in switches and cold caches; with longer ones, the disturbances of the two
/// processes are less alike.
pub const SLICE: Duration = Duration::from_millis(1);

/// The same where other threads work. Threads that continue compete for the CPUs with other programs, and need some time
/// to get them: beside a program that used one of two CPUs, pools of threads took 2 to 4 times as long as alone with
/// slices of 0.3 ms, and nearly as long with these.
pub const SLICE_WITH_THREADS: Duration = Duration::from_millis(5);

/// A path that leads each interleaved process to its own directory.
pub fn own_directory() -> PathBuf {
    format!("/proc/self/fd/{OWN}").into()
}

/// The memory that two interleaved processes share.
#[derive(Debug)]
pub struct SharedPage(SharedMemory, Pair);

/// What rbench knows of two interleaved processes while they run.
#[derive(Debug, Default)]
struct Pair {
    /// The ids of both, 0 for one that does not run.
    running: [AtomicI32; 2],
    /// The run time of one of them alone, in ms.
    alone: AtomicU64,
    stands_still: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterleavedUse {
    /// True if it loaded the library, and so was interleaved at all.
    pub joined: bool,
    /// True if it exited in order, so that the CPU time of its threads is known.
    pub time_read: bool,
    /// Number of times it handed over to the partner.
    pub passed: u64,
    /// CPU time of its first thread.
    pub first_thread: Duration,
    /// CPU time of its other threads.
    pub others: Duration,
    /// CPU time of its child processes.
    pub children: Duration,
    /// True if one of its threads could not be stopped, so that it was interleaved no longer.
    pub given_up: bool,
}

/// One of two interleaved processes, before it is started.
#[derive(Clone, Debug)]
pub struct InterleavedProcess {
    /// The page that it shares.
    pub page: Arc<SharedPage>,
    index: usize,
    directory: Arc<OwnedFd>,
    /// True if its memory has the same addresses in each execution.
    keeps_addresses: bool,
    /// True if it preloads no library, and the kernel alternates the two processes.
    is_program: bool,
}

impl SharedPage {
    /// Creates the shared page for processes that preload `library`, that would run on `cpus` alone, and that have time
    /// slices of at least this length.
    pub fn new(library: &Path, cpus: &[usize], slice: Duration) -> Result<Arc<Self>> {
        let page = SharedMemory::new::<Page>(library)?;
        let quantum = i64::try_from(slice.as_nanos()).unwrap_or(i64::MAX);
        page.write(offset_of!(Page, quantum), &quantum.to_ne_bytes())?;
        let has_no_host = u32::from(!host_takes_time());
        page.write(offset_of!(Page, has_no_host), &has_no_host.to_ne_bytes())?;
        let mut mask = [0_u64; 16];
        for (index, bits) in mask.iter_mut().enumerate() {
            let own = cpus.iter().filter(|cpu| **cpu / 64 == index);
            *bits = own.fold(0, |bits, cpu| bits | 1 << (cpu % 64));
        }
        page.write(offset_of!(Page, cpus), &mask.map(u64::to_ne_bytes).concat())?;
        Ok(Arc::new(Self(page, Pair::default())))
    }

    /// Both draw equal random numbers, from this seed, for what need not be secret: the keys of hash maps.
    pub fn draw_alike(&self, seed: u64) -> Result<()> {
        self.0.write(offset_of!(Page, seed), &seed.to_ne_bytes())
    }

    /// Stops the other threads of both processes while their partner runs. Placed, each one gets a CPU in turn when it
    /// starts.
    pub fn stop_threads(&self, threads: Threads) -> Result<()> {
        let places = u32::from(threads == Threads::Placed);
        self.0.write(offset_of!(Page, places_threads), &places.to_ne_bytes())?;
        self.0.write(offset_of!(Page, stops_threads), &1_u32.to_ne_bytes())
    }

    /// The first process (0) or the second one (1), which finds `directory` at [`own_directory`].
    pub fn member(self: &Arc<Self>, index: usize, directory: &Path) -> Result<InterleavedProcess> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(directory, flags, Mode::empty())
            .context(Exit::Internal, || format!("cannot open {}", directory.display()))?;
        let directory = moved(directory)?;
        let (page, directory) = (Arc::clone(self), Arc::new(directory));
        Ok(InterleavedProcess { page, index, directory, keeps_addresses: true, is_program: false })
    }

    /// Sets the run time of one process alone, for which it may wait without handing over.
    pub fn expect_run_time(&self, alone: Duration) {
        let alone = u64::try_from(alone.as_millis()).unwrap_or(u64::MAX);
        self.1.alone.store(alone, Ordering::Relaxed);
    }

    /// True if both processes were ended because neither went on.
    pub fn stands_still(&self) -> bool {
        self.1.stands_still.load(Ordering::Relaxed)
    }

    /// Lets the other process continue without this one.
    fn leave(&self, index: usize) -> Result<()> {
        self.0.write(offset_of!(Page, gone) + 4 * index, &1_u32.to_ne_bytes())
    }
}

/// True unless the kernel's account of all CPUs shows that no host has taken time since the start.
fn host_takes_time() -> bool {
    const STOLEN: usize = 8;
    let account = fs::read_to_string("/proc/stat").unwrap_or_default();
    account.split_whitespace().nth(STOLEN) != Some("0")
}

/// Gives this process, after exec, its stack, heap and libraries at fixed addresses, the same in every process that
/// starts with as many bytes of environment. Otherwise the kernel randomises the stack's address, and this decides
/// which data crosses the border of a cache line. Where it is forbidden, addresses stay random.
#[expect(unsafe_code, reason = "there is no safe way to change how a process is executed")]
fn keep_addresses() {
    const ONLY_ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: it only makes system calls.
    unsafe {
        if let Ok(now) = libc::c_ulong::try_from(libc::personality(ONLY_ASK)) {
            libc::personality(now | libc::c_ulong::from(libc::ADDR_NO_RANDOMIZE.unsigned_abs()));
        }
    }
}

/// Makes this process a batch job, also after exec: it does not preempt its partner when it wakes up, so that both
/// alternate less often.
#[expect(unsafe_code, reason = "there is no safe way to change how a process is scheduled")]
fn run_in_long_slices() {
    // SAFETY: zero is a valid value of this plain data.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: it only makes a system call, which reads the parameters. Where it is forbidden, both alternate more often.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters);
    }
}

impl InterleavedProcess {
    /// A process without a partner: the library only excludes interruptions from its time. Each execution has other
    /// addresses, as it has without the library.
    pub fn alone(library: &Path, cpus: &[usize], directory: &Path) -> Result<Self> {
        let page = SharedPage::new(library, cpus, SLICE)?;
        page.leave(1)?;
        Ok(Self { keeps_addresses: false, ..page.member(0, directory)? })
    }

    /// The same process as a whole program, into which nothing is preloaded: the kernel alternates the two, as they
    /// share a CPU. So its CPU time is its own, and its wall time is not.
    #[must_use]
    pub fn as_program(self) -> Self {
        Self { is_program: true, ..self }
    }

    pub const fn is_program(&self) -> bool {
        self.is_program
    }

    /// Prepares `command` to start this process.
    pub(super) fn apply(&self, command: &mut Command) {
        if self.is_program {
            let files = [(self.directory.as_raw_fd(), OWN)];
            return inherit(command, self.clone(), files, |_| run_in_long_slices());
        }
        command.env(MEMBER_VARIABLE, self.index.to_string());
        preload(command, "RBENCH_INTERLEAVING", self.index);
        let [page, library] = self.page.0.files();
        let files = [(self.directory.as_raw_fd(), OWN), page, library];
        inherit(command, self.clone(), files, |member| {
            // Its left-behind processes stay with it as long as it lives, so that they are not mistaken for those of
            // the other one.
            let _ = set_child_subreaper(Some(getpid()));
            if member.keeps_addresses {
                keep_addresses();
            }
        });
    }

    /// Makes its clock run `speed` times as fast while Criterion.rs warms up. This divides the real time of the warm-up,
    /// and of the measurements that it then plans, by `speed`.
    pub fn hurry_warm_ups(&self, speed: u32) -> Result<()> {
        let at = offset_of!(Page, warm_up_speed) + size_of::<i64>() * self.index;
        self.page.0.write(at, &i64::from(speed).to_ne_bytes())
    }

    /// Makes its clock run `speed` times as fast while a harness finds out how long an iteration takes. So it measures as many
    /// times fewer at once. After `time`, the clock jumps ahead by three seconds, so that the harness ends. Without a time,
    /// the clock is always faster and never jumps. Its [readings](Self::readings) stay as they are.
    pub fn hurry(&self, speed: u32, time: Duration) -> Result<()> {
        let time = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let write = |at: usize, value: i64| {
            self.page.0.write(at + size_of::<i64>() * self.index, &value.to_ne_bytes())
        };
        write(offset_of!(Page, jumps_after), time)?;
        write(offset_of!(Page, speed), i64::from(speed.max(1)))
    }

    /// Notes that it runs with this id, or runs no longer.
    pub(super) fn note_running(&self, id: Option<Pid>) {
        let id = id.map_or(0, Pid::as_raw_pid);
        self.page.1.running[self.index].store(id, Ordering::Relaxed);
    }

    /// A decision about this process and its partner; `None` without a partner, and for programs, of which neither waits
    /// for a time slice.
    pub(super) fn stand_still(&self) -> Result<Option<StandStill>> {
        let has_partner =
            u32::from_ne_bytes(self.page.0.read(offset_of!(Page, gone) + 4 * (1 - self.index))?)
                == 0;
        let alone = Duration::from_millis(self.page.1.alone.load(Ordering::Relaxed));
        Ok((has_partner && !self.is_program).then(|| StandStill::new(alone)))
    }

    /// True if both stand still, by this process or by its partner. `cpu` is the CPU time of a process with all that it
    /// started.
    pub(super) fn stands_still(
        &self,
        still: &mut StandStill,
        now: Duration,
        cpu: impl Fn(Pid) -> Duration,
    ) -> Result<bool> {
        if self.page.stands_still() {
            return Ok(true);
        }
        let running = self.page.1.running.each_ref().map(|id| id.load(Ordering::Relaxed));
        // Only one of them runs, or has been started.
        let [Some(one), Some(other)] = running.map(Pid::from_raw) else { return Ok(false) };
        let passed = offset_of!(Page, passed);
        let passed = self.page.0.number(passed)?.wrapping_add(self.page.0.number(passed + 8)?);
        let is_reached = still.is_reached(now, passed, || cpu(one) + cpu(other));
        if is_reached {
            self.page.1.stands_still.store(true, Ordering::Relaxed);
        }
        Ok(is_reached)
    }

    /// Its index, 0 or 1.
    pub(super) const fn index(&self) -> usize {
        self.index
    }

    /// The total length of its time slices, and what its other threads did beside the partner; none before it has joined.
    pub fn own_time(&self) -> Result<Option<Duration>> {
        if !self.has(offset_of!(Page, joined))? {
            return Ok(None);
        }
        let mut held =
            i64::from_ne_bytes(self.page.0.read(offset_of!(Page, held) + 8 * self.index)?);
        let turn = u32::from_ne_bytes(self.page.0.read(offset_of!(Page, turn))?);
        // An ended process may be marked as running too, once the other one has ended.
        let has_ended = self.has(offset_of!(Page, gone))?;
        if usize::try_from(turn) == Ok(self.index) && !has_ended {
            let began = i64::from_ne_bytes(self.page.0.read(offset_of!(Page, began))?);
            let now = clock_gettime(ClockId::Monotonic);
            let now = now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec);
            // The time slice has not begun while the other process is still to join.
            if began > 0 {
                held = held.saturating_add(now.saturating_sub(began));
            }
        }
        Ok(Some(Duration::from_nanos(u64::try_from(held).unwrap_or(0))))
    }

    /// Lets the other process continue without this one, which has ended, however it did, or was never started.
    pub fn leave(&self) -> Result<()> {
        self.page.leave(self.index)
    }

    /// The statistics of the ended process.
    pub fn taken(&self) -> Result<InterleavedUse> {
        let number = |at: usize| self.page.0.number(at + 8 * self.index);
        Ok(InterleavedUse {
            joined: self.has(offset_of!(Page, joined))?,
            time_read: self.has(offset_of!(Page, time_read))?,
            passed: number(offset_of!(Page, passed))?,
            first_thread: Duration::from_nanos(number(offset_of!(Page, first_thread))?),
            others: Duration::from_nanos(number(offset_of!(Page, others))?),
            children: Duration::from_nanos(number(offset_of!(Page, children))?),
            given_up: self.has(offset_of!(Page, given_up))?,
        })
    }

    /// The last readings of the monotonic clock by the first thread of the ended process: at most `READINGS`, in ns of
    /// the process's own time, without what a [faster clock](Self::hurry) has gained, in the order in which they were read. Forked processes add theirs, so callers must check
    /// that the readings fit the measurement.
    pub fn readings(&self) -> Result<Vec<i64>> {
        Ok(self.numbered_readings()?.1)
    }

    /// The same, with the number of readings before them.
    pub fn numbered_readings(&self) -> Result<(u64, Vec<i64>)> {
        let read = self.page.0.number(offset_of!(Page, read) + size_of::<u64>() * self.index)?;
        let read = usize::try_from(read).unwrap_or(usize::MAX);
        let all = offset_of!(Page, readings) + size_of::<i64>() * READINGS * self.index;
        let bytes = self.page.0.bytes(all, size_of::<i64>() * READINGS)?;
        let readings = bytes.as_chunks::<{ size_of::<i64>() }>().0;
        // The first of those that are kept begins a pair, as the first of all.
        let kept = read.saturating_sub(READINGS).next_multiple_of(2)..read;
        let first = kept.start as u64;
        Ok((first, kept.map(|index| i64::from_ne_bytes(readings[index % READINGS])).collect()))
    }

    fn has(&self, flags: usize) -> Result<bool> {
        Ok(self.page.0.read::<4>(flags + 4 * self.index)? != [0; 4])
    }
}

#[cfg(test)]
mod tests;
