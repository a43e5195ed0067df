//! Replaces the clock and the allocators in a benchmark's process, so that the process itself reports the number or the
//! bytes of its allocations in a stretch as the time of that stretch. rustc compiles this file to a library that is
//! preloaded; it belongs to no crate. Users have old compilers too, so it is written for Rust 1.64.
//!
//! Each reading of the monotonic clock adds `STEP` and the amount counted since the previous reading. So every harness
//! ends its warm-up at once and runs the same iterations each time, and the duration it reports for a measurement is,
//! modulo whole steps, the amount counted in the measured stretches. Deadlines of locks, channels and sleeps are
//! translated to the real time.
#![no_std]

use core::{
    ffi::{c_int, c_long, c_ulong, c_void},
    mem::{size_of, transmute},
    panic::PanicInfo,
    ptr::{addr_of, null_mut},
    sync::atomic::{
        AtomicPtr, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use page::{FOREIGN, Page, READINGS, STEP};
use system::*;

extern "C" {
    fn getauxval(kind: c_ulong) -> c_ulong;
}

const AT_ENTRY: c_ulong = 9;

/// Null until the process has joined.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(null_mut());
/// The first thread: only its readings are kept.
static OWNER: AtomicUsize = AtomicUsize::new(0);
/// Load address of the executable.
static BASE: AtomicUsize = AtomicUsize::new(0);
/// Number of clock readings, by any thread.
static STEPS: AtomicU64 = AtomicU64::new(0);

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it takes nothing and does not return.
    unsafe { abort() }
}

/// The shared page; none before the process has joined.
fn page() -> Option<&'static Page> {
    // SAFETY: the mapping lasts as long as the process.
    unsafe { PAGE.load(Acquire).as_ref() }
}

/// True for a clock that measures durations.
fn is_monotonic(id: c_int) -> bool {
    matches!(id, CLOCK_MONOTONIC | 4 | 6 | 7)
}

/// The clock's next reading, in ns: the steps, and the counted amount.
fn shown(page: &Page) -> i64 {
    let counted = if page.shown.load(Relaxed) == 0 { &page.allocations } else { &page.bytes };
    (STEPS.load(Relaxed) * STEP + counted.load(Relaxed)) as i64
}

#[no_mangle]
unsafe extern "C" fn clock_gettime(id: c_int, out: *mut Timespec) -> c_int {
    let caller: usize;
    // SAFETY: functions of this library have frames, and nobody else calls this one.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("mov {}, [rbp + 8]", out(reg) caller, options(readonly, nostack));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("ldr {}, [x29, 8]", out(reg) caller, options(readonly, nostack));
    }
    match page().filter(|_| is_monotonic(id)) {
        Some(page) => {
            // Allocators read the clock too, and are no harness.
            if !is_foreign(page, caller) {
                STEPS.fetch_add(1, Relaxed);
                keep(page);
            }
            // SAFETY: the caller has a place for the time there.
            unsafe { *out = Timespec::of(shown(page)) };
            0
        }
        // SAFETY: the arguments are the caller's.
        None => unsafe { real_clock()(id, out) },
    }
}

/// True for code of the executable that is not Rust's.
fn is_foreign(page: &Page, address: usize) -> bool {
    let address = address.wrapping_sub(BASE.load(Relaxed)) as u64;
    let all = &page.code[..(page.foreign.load(Relaxed) as usize).min(FOREIGN)];
    let behind = all.partition_point(|code| code[0] < address);
    // A return address is behind the call, possibly at the end of the function.
    behind > 0 && address <= all[behind - 1][1]
}

/// Keeps the counts at this reading, for harnesses that do not print them.
fn keep(page: &Page) {
    // SAFETY: it takes nothing.
    if (unsafe { pthread_self() }) != OWNER.load(Relaxed) {
        return;
    }
    let index = page.read.load(Relaxed);
    let kept = &page.readings[index as usize % READINGS];
    kept[0].store(page.allocations.load(Relaxed), Relaxed);
    kept[1].store(page.bytes.load(Relaxed), Relaxed);
    page.read.store(index + 1, Relaxed);
}

#[no_mangle]
unsafe extern "C" fn getrandom(to: *mut c_void, length: usize, flags: u32) -> isize {
    if page().is_none() {
        // SAFETY: the arguments are the caller's.
        return unsafe { real_syscall()(random::SYS_GETRANDOM, to, length, flags) } as isize;
    }
    // SAFETY: the place is the caller's.
    unsafe { random::fill(to.cast(), length) };
    length as isize
}

/// Converts a deadline to the real time. The clock shows no later time before it is read again.
fn in_real_time(page: &Page, point: &Timespec) -> Timespec {
    let left = point.total() - shown(page);
    Timespec::of(nanoseconds(CLOCK_MONOTONIC).saturating_add(left))
}

/// Rust's own locks, channels and parked threads wait for a deadline with this call.
#[no_mangle]
unsafe extern "C" fn syscall(
    number: c_long,
    one: c_long,
    two: c_long,
    three: c_long,
    four: c_long,
    five: c_long,
    six: c_long,
) -> c_long {
    if number == random::SYS_GETRANDOM && page().is_some() {
        // SAFETY: the place is the caller's.
        unsafe { random::fill(one as *mut u8, two as usize) };
        return two;
    }
    if number == SYS_FUTEX && two & FUTEX_COMMAND == FUTEX_WAIT_BITSET && four != 0 {
        if let Some(page) = page() {
            // SAFETY: a futex call has the time there.
            let until = in_real_time(page, unsafe { &*(four as *const Timespec) });
            // SAFETY: the arguments are the caller's, and the time lives until the call returns.
            return unsafe { real_syscall()(number, one, two, three, addr_of!(until), five, six) };
        }
    }
    // SAFETY: the arguments are the caller's; a call that has fewer ignores the rest.
    unsafe { real_syscall()(number, one, two, three, four, five, six) }
}

#[no_mangle]
unsafe extern "C" fn clock_nanosleep(
    id: c_int,
    flags: c_int,
    time: *const Timespec,
    left: *mut Timespec,
) -> c_int {
    // SAFETY: libc has a function of this name and type.
    let sleep: Sleep = unsafe { transmute(SLEEP.get()) };
    match page() {
        Some(page) if flags & TIMER_ABSTIME != 0 && is_monotonic(id) && !time.is_null() => {
            // SAFETY: as above, and the time lives until the call returns.
            unsafe { sleep(id, flags, &in_real_time(page, &*time), left) }
        }
        // SAFETY: the arguments are the caller's.
        _ => unsafe { sleep(id, flags, time, left) },
    }
}

/// Runs before `main` and begins to count. Processes that this one starts are not counted.
extern "C" fn join() {
    const READ_WRITE: c_int = 3;
    const SHARED: c_int = 1;
    // SAFETY: no other thread runs yet; the names end with zeros, as variables do.
    unsafe {
        let value = getenv(name(b"RBENCH_ALLOCATIONS\0").as_ptr());
        if value.is_null() {
            return;
        }
        // The open files of the page and of this library.
        let [file, library] = numbers(value);
        restore_preload();
        unsetenv(name(b"RBENCH_ALLOCATIONS\0").as_ptr());
        let page = mmap(null_mut(), size_of::<Page>(), READ_WRITE, SHARED, file, 0);
        close(file);
        close(library);
        if page as isize == -1 {
            return;
        }
        OWNER.store(pthread_self(), Relaxed);
        let page = page.cast::<Page>();
        random::seed((*page).seed.load(Relaxed));
        let begin = getauxval(AT_ENTRY) as usize;
        let base = begin.wrapping_sub((*page).begin.load(Relaxed) as usize);
        BASE.store(base, Relaxed);
        (*page).watched.store(entries::watch(&*page, base), Relaxed);
        (*page).joined.store(1, Relaxed);
        PAGE.store(page, Release);
    }
}

#[used]
#[link_section = ".init_array"]
static JOIN: extern "C" fn() = join;
