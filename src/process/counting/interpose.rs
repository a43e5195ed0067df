//! Replaces the clock in a benchmark's process that callgrind executes: a reading gives the number of executed
//! instructions instead of the time. rustc compiles this file to a library that is preloaded; it belongs to no crate.
//! Users have old compilers too, so it is written for Rust 1.64.
//!
//! A reading is `STEP * readings + instructions`. The step is so large that every harness finds its waiting time over
//! after one reading, so its numbers of iterations are the same in each run; and a reported duration, modulo the step,
//! is the number of instructions executed between its readings. Instructions of this library itself are not counted.
//!
//! Random numbers of the system are the same in each run, too: they decide the order of hash maps.
#![no_std]

use core::{
    ffi::c_int,
    ptr::addr_of,
    sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use random::answered;
use step::STEP;
use system::*;
use waits::{during_wait, has_come, sleep_for};

/// The date at which the process starts, by the realtime clock, in ns: in 2023.
const EPOCH: i64 = 1_700_000_000_000_000_000;
/// Least number of instructions between two readings that measure something, once there are many readings.
const SHORTEST: i64 = 1000;
/// The number of short intervals that counts as many.
const LIMIT: i64 = 64;
/// Least duration between two readings that measure something, in ns.
const LONG: i64 = 300_000;
/// Above the file numbers that programs expect.
const FIRST_FILE: c_int = 260;
const DUPLICATE: c_int = 1030;
const SEEK_END: c_int = 2;
const READ: c_int = 0o2_000_000;
const WRITE: c_int = 0o2_001_101;

/// True if the process was started to be counted, and callgrind executes it.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// A lock: one thread at a time queries callgrind.
static BUSY: AtomicBool = AtomicBool::new(false);
/// The file to which callgrind writes its answers.
static LOG: AtomicI32 = AtomicI32::new(-1);
static READINGS: AtomicI32 = AtomicI32::new(-1);
static READ_OF_LOG: AtomicI64 = AtomicI64::new(0);
static READ_CLOCK: AtomicI64 = AtomicI64::new(0);
/// Instructions executed before the last dump.
static DUMPED: AtomicI64 = AtomicI64::new(0);
/// Instructions executed up to the last reading.
static EXECUTED: AtomicI64 = AtomicI64::new(0);
/// Number of successive intervals between readings with fewer instructions than [`SHORTEST`].
static SHORT: AtomicI64 = AtomicI64::new(0);
/// Number of such intervals after which callgrind is no longer queried. Divan reads the clock 21,000 times to measure
/// the cost of a reading.
static MANY: AtomicI64 = AtomicI64::new(i64::MAX);
/// Time of the last reading without a query, by the real clock, in ns.
static LAST: AtomicI64 = AtomicI64::new(0);
/// True if each reading dumps the instructions executed since the previous one, by function.
static DUMPS: AtomicBool = AtomicBool::new(false);

extern "C" {
    fn lseek(file: c_int, offset: i64, from: c_int) -> i64;
    fn fcntl(file: c_int, command: c_int, ...) -> c_int;
    fn open(path: *const u8, flags: c_int, ...) -> c_int;
    fn pread(file: c_int, to: *mut u8, length: usize, at: i64) -> isize;
    fn write(file: c_int, from: *const u8, length: usize) -> isize;
}

/// All clocks: some benchmarks measure the CPU time of a process.
#[no_mangle]
unsafe extern "C" fn clock_gettime(id: c_int, out: *mut Timespec) -> c_int {
    if !ACTIVE.load(Acquire) {
        // SAFETY: the arguments are the caller's.
        return unsafe { real_clock()(id, out) };
    }
    valgrind::toggle();
    let reading = read();
    let is_date = matches!(id, 0 | 5 | 11);
    // SAFETY: the caller has a place for the time there.
    unsafe { *out = Timespec::of(if is_date { EPOCH + reading } else { reading }) };
    valgrind::toggle();
    0
}

fn read() -> i64 {
    while BUSY.swap(true, Acquire) {}
    if is_worth_asking() {
        valgrind::monitor(b"status internal\0");
        let executed = DUMPED.load(Relaxed) + executed_by_the_log();
        let before = EXECUTED.swap(executed, Relaxed);
        if DUMPS.load(Relaxed) {
            // The next part begins at zero.
            valgrind::dump();
            DUMPED.store(executed, Relaxed);
        }
        if executed - before < SHORTEST {
            SHORT.fetch_add(1, Relaxed);
        } else {
            SHORT.store(0, Relaxed);
        }
    }
    let reading = (READ_CLOCK.fetch_add(1, Relaxed) + 1) * STEP + EXECUTED.load(Relaxed);
    // SAFETY: the number is our own.
    unsafe { write(READINGS.load(Relaxed), addr_of!(reading).cast(), 8) };
    BUSY.store(false, Release);
    reading
}

/// True if callgrind is queried at this reading: not after many short intervals, as long as the readings follow each
/// other as fast. After a longer pause it is queried again, at each reading; so only the first measurement is not
/// counted.
fn is_worth_asking() -> bool {
    if SHORT.load(Relaxed) < MANY.load(Relaxed) {
        return true;
    }
    let now = nanoseconds(CLOCK_MONOTONIC);
    let before = LAST.swap(now, Relaxed);
    let is_long = before != 0 && now - before > LONG;
    if is_long {
        SHORT.store(0, Relaxed);
        LAST.store(0, Relaxed);
    }
    is_long
}

/// The instructions executed by all threads, as callgrind has just reported them: the sum of lines such as `events-1:
/// 1234`. They come with the current functions of each thread, which are not read if there is only one thread.
fn executed_by_the_log() -> i64 {
    const THREADS: &[u8] = b"threads: ";
    const EVENTS: &[u8] = b"events-";
    let log = LOG.load(Relaxed);
    let mut at = READ_OF_LOG.load(Relaxed);
    // SAFETY: the number is our own.
    READ_OF_LOG.store(unsafe { lseek(log, 0, SEEK_END) }, Relaxed);
    let mut buffer = [0_u8; 512];
    let (mut threads, mut sum) = (1, 0);
    // State of the current line: the number of bytes that match each of the two prefixes, or its number.
    let mut line = Line::default();
    loop {
        // SAFETY: the place is our own.
        let count = unsafe { pread(log, buffer.as_mut_ptr(), buffer.len(), at) };
        if count <= 0 {
            return sum;
        }
        at += count as i64;
        for byte in buffer.iter().take(count as usize).copied() {
            if byte == b'\n' {
                if line.threads == THREADS.len() {
                    threads = line.number;
                } else if line.events == EVENTS.len() {
                    sum += line.number;
                    threads -= 1;
                    if threads == 0 {
                        return sum;
                    }
                }
                line = Line::default();
                continue;
            }
            if THREADS.get(line.threads) == Some(&byte) && line.threads == line.length {
                line.threads += 1;
            }
            if EVENTS.get(line.events) == Some(&byte) && line.events == line.length {
                line.events += 1;
            }
            line.length += 1;
            line.number = match byte {
                b'0'..=b'9' => line.number * 10 + i64::from(byte - b'0'),
                // The thread number of an event line is followed by a colon.
                _ => 0,
            };
        }
    }
}

/// The part of a log line read so far.
#[derive(Default)]
struct Line {
    length: usize,
    /// Number of its first bytes that match `threads: `.
    threads: usize,
    /// Number of its first bytes that match `events-`.
    events: usize,
    /// The number at its end.
    number: i64,
}

/// True for a clock with which Rust waits for a deadline.
fn is_replaced(id: c_int) -> bool {
    ACTIVE.load(Acquire) && id == CLOCK_MONOTONIC
}

/// Converts a deadline to the real time.
fn in_real_time(point: &Timespec) -> Timespec {
    if !ACTIVE.load(Acquire) {
        return *point;
    }
    let now = READ_CLOCK.load(Relaxed) * STEP + EXECUTED.load(Relaxed);
    Timespec::of(nanoseconds(CLOCK_MONOTONIC) + (point.total() - now).max(0))
}

/// Opens a file under a number that programs do not expect.
unsafe fn opened(path: *const u8, flags: c_int) -> c_int {
    // SAFETY: the path ends with a zero.
    unsafe {
        let file = open(path, flags, 0o600);
        let moved = fcntl(file, DUPLICATE, FIRST_FILE);
        if moved < 0 {
            return file;
        }
        close(file);
        moved
    }
}

/// Runs before `main`. callgrind does not execute child processes, and this library does nothing in them.
extern "C" fn begin() {
    // SAFETY: no other thread runs yet; the names end with zeros, as variables do.
    unsafe {
        let value = getenv(name(b"RBENCH_COUNTING\0").as_ptr());
        if value.is_null() || !valgrind::is_there() {
            return;
        }
        // Dump flag, frugal flag (fewer queries), seed, and directory: `0,1,1234,/tmp/x`.
        let mut value = value.cast::<u8>();
        DUMPS.store(*value == b'1', Relaxed);
        value = value.add(2);
        if *value == b'1' {
            MANY.store(LIMIT, Relaxed);
        }
        value = value.add(2);
        let mut seed: u64 = 0;
        while *value != b',' {
            seed = seed.wrapping_mul(10).wrapping_add(u64::from(*value - b'0'));
            value = value.add(1);
        }
        value = value.add(1);
        random::seed(seed, 0);
        LOG.store(opened(path(value, b"/log").as_ptr(), READ), Relaxed);
        READINGS.store(opened(path(value, b"/readings").as_ptr(), WRITE), Relaxed);
        unsetenv(name(b"RBENCH_COUNTING\0").as_ptr());
        ACTIVE.store(READINGS.load(Relaxed) >= 0 && LOG.load(Relaxed) >= 0, Release);
    }
}

/// The path of a file in the directory, terminated by a zero. A path that is too long is cut, and names nothing.
unsafe fn path(directory: *const u8, file: &[u8]) -> [u8; 4096] {
    let mut path = [0; 4096];
    let mut length = 0;
    // SAFETY: the name ends with a zero.
    unsafe {
        while *directory.add(length) != 0 && length + file.len() < 4095 {
            path[length] = *directory.add(length);
            length += 1;
        }
    }
    for (to, from) in path.iter_mut().skip(length).zip(file) {
        *to = *from;
    }
    path
}

#[used]
#[link_section = ".init_array"]
static BEGIN: extern "C" fn() = begin;

/// Requests to valgrind, by an instruction sequence that does nothing on a real processor.
mod valgrind {
    use core::arch::asm;

    const RUNNING_ON_VALGRIND: usize = 0x1001;
    const MONITOR_COMMAND: usize = 0x1202;
    /// Prefix of callgrind's own request numbers.
    const CALLGRIND: usize = (b'C' as usize) << 24 | (b'T' as usize) << 16;
    const DUMP: usize = CALLGRIND;
    const TOGGLE: usize = CALLGRIND + 2;

    /// True if valgrind executes this process.
    pub fn is_there() -> bool {
        request(RUNNING_ON_VALGRIND, 0) != 0
    }

    /// Starts or stops counting in this thread.
    pub fn toggle() {
        request(TOGGLE, 0);
    }

    /// Makes callgrind write the instructions since the last dump, by function, and restart at zero.
    pub fn dump() {
        request(DUMP, 0);
    }

    /// Makes callgrind answer a command in its log. The command ends with a zero.
    pub fn monitor(command: &'static [u8]) {
        request(MONITOR_COMMAND, command.as_ptr() as usize);
    }

    #[inline(never)]
    fn request(number: usize, argument: usize) -> usize {
        let words = [number, argument, 0, 0, 0, 0];
        let mut answer: usize = 0;
        // SAFETY: it changes no register but that of the answer; valgrind reads the words, and a command that they
        // point to.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!(
                "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
                inout("rdx") answer, in("rax") words.as_ptr(),
            );
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!(
                "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61",
                "orr x10, x10, x10",
                inout("x3") answer, in("x4") words.as_ptr(),
            );
        }
        answer
    }
}
