//! Works in other threads.

use std::{
    cell::Cell,
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

const ROUNDS: u64 = 45;
const WORKERS: usize = 2;

static FIRST: AtomicU64 = AtomicU64::new(16);
static SUM: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static LEAST: Cell<u64> = const { Cell::new(13) };
}

#[inline(never)]
fn in_thread() {
    let least = LEAST.with(Cell::get);
    let sum = (least..ROUNDS + FIRST.load(Ordering::Relaxed)).fold(0, |sum, round| black_box(sum + round));
    SUM.fetch_add(sum, Ordering::Relaxed);
}

/// Is a job that nobody has.
#[inline(never)]
fn rarely() {
    let sum = (0..80).fold(0, |sum, round| black_box(sum + round));
    SUM.fetch_add(sum, Ordering::Relaxed);
}

static JOBS: [fn(); 2] = [in_thread, rarely];

#[inline(never)]
fn threaded(job: usize) -> u64 {
    for _ in 0..WORKERS {
        thread::spawn(JOBS[job % 2]).join().expect("the job does not panic");
    }
    SUM.load(Ordering::Relaxed)
}

/// The input of a benchmark, and what it does with it.
#[inline(never)]
pub fn prepared() -> impl FnMut() -> u64 {
    || threaded(black_box(0))
}
