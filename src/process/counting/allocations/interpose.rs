//! Replaces the clock and the C library's allocator in a benchmark's process, so that the process itself reports the
//! number or the bytes of its allocations in a stretch as the time of that stretch. rustc compiles this file to a
//! library that is preloaded; it belongs to no crate. Users have old compilers too, so it is written for Rust 1.64.
//!
//! Each reading of the monotonic clock adds `STEP` and the amount counted since the previous reading. So every harness
//! ends its warm-up at once and runs the same iterations each time, and the duration it reports for a measurement is,
//! modulo whole steps, the amount counted in the measured stretches. Deadlines of locks, channels and sleeps are
//! translated to the real time.
#![no_std]

use core::{
    ffi::c_int,
    ptr::null_mut,
    sync::atomic::{
        AtomicPtr, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use page::{Page, READINGS, STEP};
use random::answered;
use system::*;
use waits::{during_wait, has_come, sleep_for};

/// Null until the process has joined.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(null_mut());
/// The first thread: only its readings are kept.
static OWNER: AtomicUsize = AtomicUsize::new(0);
/// Number of clock readings, by any thread.
static STEPS: AtomicU64 = AtomicU64::new(0);

/// The shared page; none before the process has joined.
fn page() -> Option<&'static Page> {
    // SAFETY: the mapping lasts as long as the process.
    unsafe { PAGE.load(Acquire).as_ref() }
}

/// True for a clock that measures durations.
fn is_replaced(id: c_int) -> bool {
    matches!(id, CLOCK_MONOTONIC | 4 | 6 | 7)
}

/// The clock's next reading, in ns: the steps, and the counted amount.
fn shown(page: &Page) -> i64 {
    let counted = if page.shown.load(Relaxed) == 0 { &page.allocations } else { &page.bytes };
    (STEPS.load(Relaxed) * STEP + counted.load(Relaxed)) as i64
}

#[no_mangle]
unsafe extern "C" fn clock_gettime(id: c_int, out: *mut Timespec) -> c_int {
    match page().filter(|_| is_replaced(id)) {
        Some(page) => {
            STEPS.fetch_add(1, Relaxed);
            keep(page);
            // SAFETY: the caller has a place for the time there.
            unsafe { *out = Timespec::of(shown(page)) };
            0
        }
        // SAFETY: the arguments are the caller's.
        None => unsafe { real_clock()(id, out) },
    }
}

/// Keeps the counts at this reading, for harnesses that do not print them.
fn keep(page: &Page) {
    if thread_pointer() != OWNER.load(Relaxed) {
        return;
    }
    let index = page.read.load(Relaxed);
    let kept = &page.readings[index as usize % READINGS];
    kept[0].store(page.allocations.load(Relaxed), Relaxed);
    kept[1].store(page.bytes.load(Relaxed), Relaxed);
    page.read.store(index + 1, Relaxed);
}

/// Converts a deadline to the real time. The clock shows no later time before it is read again.
fn in_real_time(point: &Timespec) -> Timespec {
    match page() {
        Some(page) => {
            let left = point.total() - shown(page);
            Timespec::of(nanoseconds(CLOCK_MONOTONIC).saturating_add(left))
        }
        None => *point,
    }
}

/// Runs before `main` and begins to count. Processes that this one starts are not counted.
extern "C" fn join() {
    // SAFETY: no other thread runs yet.
    unsafe {
        if let Some((_, page)) = shared::<Page>(b"RBENCH_ALLOCATIONS\0") {
            OWNER.store(thread_pointer(), Relaxed);
            allocator::count_nested();
            random::seed((*page).seed.load(Relaxed), 0);
            (*page).joined.store(1, Relaxed);
            PAGE.store(page, Release);
        }
    }
}

#[used]
#[link_section = ".init_array"]
static JOIN: extern "C" fn() = join;
