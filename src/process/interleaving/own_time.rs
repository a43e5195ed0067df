//! The time in which a process lives that takes turns: what it takes from its clocks, and what it leaves out.
//!
//! Clocks are read one after the other, and the process may lose the CPU between any two readings. So each time that is
//! left out begins and ends at a single reading of the real clock, which counts for everything that begins or ends
//! there. Otherwise an interruption between two readings would be left out twice, or of another measurement.

use core::sync::atomic::{
    AtomicI64,
    Ordering::{Acquire, Relaxed, Release},
};

/// For how long what the CPU time was is good enough, in ns: what was taken before a measurement can be mistaken for what
/// was taken of it for so long at most.
const LONGEST_KNOWN: i64 = 10_000;

/// Clocks that differ by less, in ns, only were not read at the same time.
const LEAST_TAKEN: i64 = 2_000;

/// What the time is made of. Times are in ns.
pub trait Clocks {
    /// The real time, which only goes forward.
    fn now(&self) -> i64;
    /// How much CPU time this thread had.
    fn cpu_time(&self) -> i64;
    /// How many voluntary context switches this thread has made.
    fn waits(&self) -> i64;
}

/// The time of a process, by which the first thread accounts for what it leaves out.
pub struct OwnTime {
    /// Twice what was left out up to now; or, while the time stands still, one more than twice the time at which it
    /// does. In one number, so that other threads never see one without the other.
    state: AtomicI64,
    /// When the first thread read the clock last, by the real clock.
    last: AtomicI64,
    /// From when on what is taken is to be found out, by the real clock.
    known: AtomicI64,
    /// How much CPU time the thread had then.
    cpu_time: AtomicI64,
    /// How many voluntary context switches the thread had made, when that was read.
    waits: AtomicI64,
}

/// What the time is at a moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It goes on, this much behind the real time.
    Behind(i64),
    /// It stands still here.
    Still(i64),
}

impl OwnTime {
    /// The real time.
    pub const fn new() -> Self {
        Self {
            state: AtomicI64::new(0),
            last: AtomicI64::new(0),
            known: AtomicI64::new(0),
            cpu_time: AtomicI64::new(0),
            waits: AtomicI64::new(0),
        }
    }

    /// What the time is now.
    pub fn state(&self) -> State {
        let state = self.state.load(Acquire);
        if state & 1 == 0 { State::Behind(state >> 1) } else { State::Still(state >> 1) }
    }

    /// Whether it is to be asked what was taken up to `now`.
    pub fn is_due(&self, now: i64) -> bool {
        now - self.known.load(Relaxed) >= LONGEST_KNOWN
    }

    /// Tells the first thread the time; nothing while it stands still.
    pub fn read(&self, now: i64) -> Option<i64> {
        self.last.store(now, Relaxed);
        match self.state() {
            State::Behind(left_out) => Some(now - left_out),
            State::Still(_) => None,
        }
    }

    /// Stands still from `now` on, where nothing is known of what was taken before.
    pub fn stand_still(&self, now: i64) {
        self.stop(now, 0);
    }

    /// Stands still from `now` on, and leaves out what others took of the CPU since the clock was read last. By the
    /// kernel's account, that is no CPU time of the thread; nor is what the thread waited for a lock, a
    /// disk or a timer, which stays.
    pub fn settle(&self, now: i64, clocks: &impl Clocks) {
        let cpu_time = clocks.cpu_time();
        let needed = cpu_time - self.cpu_time.swap(cpu_time, Relaxed);
        let known = self.known.load(Relaxed);
        let missing = now - known - needed;
        // All the time before the last reading may have been taken. What is more than that was taken after it.
        let taken = missing - (self.last.load(Relaxed) - known);
        // A process that was forked has needed less CPU time than the one that it is a copy of.
        if missing < LEAST_TAKEN || needed < 0 {
            return self.stop(now, 0);
        }
        let waits = clocks.waits();
        let is_interrupted = waits == self.waits.swap(waits, Relaxed) && taken >= LEAST_TAKEN;
        self.stop(now, if is_interrupted { taken } else { 0 });
    }

    fn stop(&self, now: i64, taken: i64) {
        if let State::Behind(left_out) = self.state() {
            self.state.store(((now - left_out - taken) << 1) | 1, Release);
        }
    }

    /// Goes on from where it stood still, and tells when that was, by the real clock.
    pub fn go_on(&self, clocks: &impl Clocks) -> i64 {
        // The CPU time was asked for before: what is taken in between is none of this time.
        let now = clocks.now();
        self.known.store(now, Relaxed);
        self.last.store(now, Relaxed);
        if let State::Still(stood) = self.state() {
            self.state.store((now - stood) << 1, Release);
        }
        now
    }

    /// As [`go_on`](Self::go_on), after the thread has waited.
    pub fn go_on_after_wait(&self, clocks: &impl Clocks) -> i64 {
        self.waits.store(clocks.waits(), Relaxed);
        self.cpu_time.store(clocks.cpu_time(), Relaxed);
        self.go_on(clocks)
    }
}
