//! The clock of a traced program. It may run faster while the program executes, as if the processor were slower: then a
//! harness that measures for seconds finishes after a fraction of them.

#![expect(unsafe_code, reason = "there is no safe way to ask for the CPU time of another process")]

use std::{io, mem::MaybeUninit};

use super::{
    processor::{Registers, system_call},
    ptrace::Tid,
};

/// A point in time in the kernel's layout: seconds and nanoseconds, 8 bytes each.
pub(super) type Point = [u8; 16];

/// A system call that waits for a deadline, or sets a timer to one.
pub(super) struct Wait {
    pub(super) number: libc::c_long,
    /// The bits of its second argument that distinguish such calls, and their value in `value`.
    pub(super) mask: u32,
    pub(super) value: u32,
    /// Index of the argument that points to the deadline; it is 0 for a wait without a limit.
    pub(super) until: usize,
    /// Bytes from there to the deadline.
    pub(super) offset: usize,
}

/// The calls with which locks, channels and sleeping threads wait, those of Rust and of the C library, and timers.
pub(super) const WAITS: [Wait; 4] = [
    // FUTEX_WAIT_BITSET, with any flags.
    Wait { number: libc::SYS_futex, mask: 0x7f, value: 9, until: 3, offset: 0 },
    // TIMER_ABSTIME. A timer's period comes first.
    Wait { number: libc::SYS_clock_nanosleep, mask: 1, value: 1, until: 2, offset: 0 },
    Wait { number: libc::SYS_timer_settime, mask: 1, value: 1, until: 2, offset: 16 },
    Wait { number: libc::SYS_timerfd_settime, mask: 1, value: 1, until: 2, offset: 16 },
];

/// The system call that a thread is about to make, if it waits for a deadline.
pub(super) fn wait_of(registers: &Registers) -> Option<&'static Wait> {
    let (number, _) = system_call(registers);
    WAITS.iter().find(|wait| u64::try_from(wait.number) == Ok(number))
}

/// The clock of a traced program and of its forks.
pub(super) struct Clock {
    process: Tid,
    /// The clock's lead over the real clock, as a multiple of the process's CPU time.
    times: u32,
    /// CPU time of the process at the first and at the last reading, in ns.
    read: Option<[i64; 2]>,
    /// Number of readings after the first one.
    readings: i64,
    /// Least CPU time between two readings, in ns: the cost of a reading, which stops the process.
    of_reading: i64,
}

impl Clock {
    pub(super) const fn new(process: Tid, times: u32) -> Self {
        Self { process, times, read: None, readings: 0, of_reading: i64::MAX }
    }

    pub(super) const fn is_ahead(&self) -> bool {
        self.times > 0
    }

    /// The value that the program reads from one of the kernel's clocks; none for CPU time clocks.
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

    /// Converts a deadline of the program to the real time.
    pub(super) fn real(&self, until: Point) -> Point {
        let [seconds, nanoseconds] = [0, 8].map(|at| {
            let word = until[at..].first_chunk().copied().unwrap_or_default();
            i64::from_ne_bytes(word)
        });
        let until = seconds.saturating_mul(SECOND).saturating_add(nanoseconds);
        point(until.saturating_sub(self.ahead()))
    }

    fn note_reading(&mut self) {
        // If the process has just ended, the last known value stays.
        let Ok(cpu_time) = cpu_time(self.process) else { return };
        let [first, last] = self.read.unwrap_or([cpu_time; 2]);
        if self.read.is_some() {
            self.of_reading = self.of_reading.min(cpu_time.saturating_sub(last));
            self.readings += 1;
        }
        self.read = Some([first, cpu_time]);
    }

    /// Lead over the real clock at the last reading, in ns. It never decreases, since the cost of a reading does not
    /// increase.
    fn ahead(&self) -> i64 {
        let [first, last] = self.read.unwrap_or_default();
        let of_readings = self.of_reading.saturating_mul(self.readings);
        last.saturating_sub(first).saturating_sub(of_readings).saturating_mul(self.times.into())
    }
}

const SECOND: i64 = 1_000_000_000;

fn point(nanoseconds: i64) -> Point {
    let [seconds, rest] = [nanoseconds.div_euclid(SECOND), nanoseconds.rem_euclid(SECOND)];
    let mut point = [0; 16];
    point[..8].copy_from_slice(&seconds.to_ne_bytes());
    point[8..].copy_from_slice(&rest.to_ne_bytes());
    point
}

/// The CPU time of all threads of a process, in ns.
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
