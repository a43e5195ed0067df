//! The clock that a traced program reads. It may go faster while the program executes, as if its processor were
//! slower: then a harness that measures for seconds has enough after a fraction of them.

#![expect(unsafe_code, reason = "there is no safe way to ask for the CPU time of another process")]

use std::{io, mem::MaybeUninit};

use super::{
    processor::{Registers, system_call},
    ptrace::Tid,
};

/// A point in time as the kernel has it, in bytes: seconds and nanoseconds.
pub(super) type Point = [u8; 16];

/// A system call that waits until a point in time.
pub(super) struct Wait {
    pub(super) number: libc::c_long,
    /// Which bits of its second argument tell that it does, and what they are then.
    pub(super) mask: u32,
    pub(super) value: u32,
    /// The argument that is the address of this point; 0 if it waits without an end.
    pub(super) until: usize,
}

/// Those by which locks, channels and sleeping threads wait: Rust's own, and those of the C library.
pub(super) const WAITS: [Wait; 2] = [
    // FUTEX_WAIT_BITSET, whatever its flags.
    Wait { number: libc::SYS_futex, mask: 0x7f, value: 9, until: 3 },
    // TIMER_ABSTIME.
    Wait { number: libc::SYS_clock_nanosleep, mask: 1, value: 1, until: 2 },
];

/// The system call that a thread is about to make, if it waits until a point in time.
pub(super) fn wait_of(registers: &Registers) -> Option<&'static Wait> {
    let (number, _) = system_call(registers);
    WAITS.iter().find(|wait| u64::try_from(wait.number) == Ok(number))
}

/// The clock of a traced program, and of what it forks.
pub(super) struct Clock {
    process: Tid,
    /// By how many times the CPU time of the process it is ahead of the real clock.
    times: u32,
    /// The CPU time of the process when it was read first, and when it was read last, in ns.
    read: Option<[i64; 2]>,
    /// How often it was read after the first time.
    readings: i64,
    /// The least CPU time between two readings, in ns: what a reading takes by itself, as it stops the process.
    of_reading: i64,
}

impl Clock {
    pub(super) const fn new(process: Tid, times: u32) -> Self {
        Self { process, times, read: None, readings: 0, of_reading: i64::MAX }
    }

    /// Whether it is not the real clock.
    pub(super) const fn is_ahead(&self) -> bool {
        self.times > 0
    }

    /// What one of the kernel's clocks shows to the program; none of those that count CPU time.
    pub(super) fn reading(&mut self, id: u64) -> Option<Point> {
        let id = libc::clockid_t::try_from(id & u64::from(u32::MAX)).ok()?;
        let is_wall_clock = matches!(
            id,
            libc::CLOCK_REALTIME
                | libc::CLOCK_MONOTONIC
                | libc::CLOCK_MONOTONIC_RAW
                | libc::CLOCK_REALTIME_COARSE
                | libc::CLOCK_MONOTONIC_COARSE
                | libc::CLOCK_BOOTTIME
                | libc::CLOCK_TAI
        );
        let now = is_wall_clock.then(|| nanoseconds(id))?.ok()?;
        self.note_reading();
        Some(point(now.saturating_add(self.ahead())))
    }

    /// The point in real time at which the program waits no longer.
    pub(super) fn real(&self, until: Point) -> Point {
        let [seconds, nanoseconds] = [0, 8].map(|at| {
            let word = until[at..].first_chunk().copied().unwrap_or_default();
            i64::from_ne_bytes(word)
        });
        let until = seconds.saturating_mul(SECOND).saturating_add(nanoseconds);
        point(until.saturating_sub(self.ahead()))
    }

    fn note_reading(&mut self) {
        // If the process has just ended, what was known last stays.
        let Ok(cpu_time) = cpu_time(self.process) else { return };
        let [first, last] = self.read.unwrap_or([cpu_time; 2]);
        if self.read.is_some() {
            self.of_reading = self.of_reading.min(cpu_time.saturating_sub(last));
            self.readings += 1;
        }
        self.read = Some([first, cpu_time]);
    }

    /// How far it was ahead when it was read last, in ns. It never gets less, since what a reading takes does not get more.
    fn ahead(&self) -> i64 {
        let [first, last] = self.read.unwrap_or_default();
        let of_readings = self.of_reading.saturating_mul(self.readings);
        last.saturating_sub(first).saturating_sub(of_readings).saturating_mul(self.times.into())
    }
}

/// A second in ns.
const SECOND: i64 = 1_000_000_000;

fn point(nanoseconds: i64) -> Point {
    let [seconds, rest] = [nanoseconds.div_euclid(SECOND), nanoseconds.rem_euclid(SECOND)];
    let mut point = [0; 16];
    point[..8].copy_from_slice(&seconds.to_ne_bytes());
    point[8..].copy_from_slice(&rest.to_ne_bytes());
    point
}

/// The CPU time that all threads of a process have taken, in ns.
fn cpu_time(process: Tid) -> io::Result<i64> {
    let mut id = 0;
    // SAFETY: the place is our own.
    match unsafe { libc::clock_getcpuclockid(process, &raw mut id) } {
        0 => nanoseconds(id),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn nanoseconds(id: libc::clockid_t) -> io::Result<i64> {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the place is our own; zeros are a valid time.
    let (status, time) = unsafe {
        let status = libc::clock_gettime(id, time.as_mut_ptr());
        (status, time.assume_init())
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec.saturating_mul(SECOND).saturating_add(time.tv_nsec))
}
