//! The own time of an interleaved process: the real time without the waits for its partner and without interruptions.
//! Must also compile inside the preloaded library, for Rust 1.64.
//!
//! Clocks are read one after the other, and the process may lose the CPU between any two readings. So each excluded
//! interval begins and ends at a single reading of the real clock, which counts for everything that begins or ends
//! there. Otherwise an interruption between two readings would be excluded twice, or from another measurement.

use core::sync::atomic::{
    AtomicI64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Longest age of a CPU time reading that is good enough, in ns. An interruption before a measurement can be excluded
/// from the measurement instead, or the reverse, by at most this much.
const LONGEST_KNOWN: i64 = 10_000;

/// Smaller differences between clocks, in ns, only mean that they were not read at the same time.
const LEAST_TAKEN: i64 = 2_000;

/// How far the time jumps, in ns: as long as libtest measures before it ends in any case.
pub const JUMP: i64 = 3_000_000_001;

/// The clocks of one thread. Times are in ns.
pub trait Clocks {
    /// The real time, which never goes back.
    fn now(&self) -> i64;
    fn cpu_time(&self) -> i64;
    /// Number of voluntary context switches of this thread.
    fn waits(&self) -> i64;
}

/// The own time of a process. Its first thread accounts for the excluded intervals.
pub struct OwnTime {
    /// Twice the time excluded up to now; or, while the time stands still, one more than twice the time at which it
    /// does. In one number, so that other threads never see one without the other.
    state: AtomicI64,
    /// Last clock reading of the first thread, by the real clock.
    last: AtomicI64,
    /// The real time up to which interruptions are accounted for.
    known: AtomicI64,
    /// CPU time of the thread then.
    cpu_time: AtomicI64,
    /// Number of voluntary context switches of the thread then.
    waits: AtomicI64,
    /// How many times as fast as the real time it runs.
    speed: AtomicI64,
    /// The own time up to which it has gone ahead.
    hurried: AtomicI64,
    /// How much it has gone ahead.
    gained: AtomicI64,
    /// It jumps once this time has passed, without what it has gained.
    jumps_after: AtomicI64,
}

/// The state of the time at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs, this much behind the real time.
    Behind(i64),
    /// It stands still at this time.
    Still(i64),
}

impl OwnTime {
    /// Starts equal to the real time.
    pub const fn new() -> Self {
        Self {
            state: AtomicI64::new(0),
            last: AtomicI64::new(0),
            known: AtomicI64::new(0),
            cpu_time: AtomicI64::new(0),
            waits: AtomicI64::new(0),
            speed: AtomicI64::new(1),
            hurried: AtomicI64::new(0),
            gained: AtomicI64::new(0),
            jumps_after: AtomicI64::new(i64::MAX),
        }
    }

    /// Runs `speed` times as fast as the real time from `now` on: it [goes ahead](Self::hurry) whenever it stands still.
    pub fn run_at(&self, speed: i64, now: i64) {
        if let Some(own) = self.read(now) {
            self.hurried.store(own, Relaxed);
        }
        self.speed.store(speed, Relaxed);
    }

    /// Lets it [jump](JUMP) the first time it goes ahead after this much time from `now` on.
    pub fn jump_after(&self, time: i64, now: i64) {
        if let Some(own) = self.read(now) {
            self.jumps_after.store((own - self.gained()).saturating_add(time), Relaxed);
        }
    }

    /// How much it has gone ahead up to now.
    pub fn gained(&self) -> i64 {
        self.gained.load(Relaxed)
    }

    /// True if it runs faster than the real time, or is about to jump.
    pub fn is_hurrying(&self) -> bool {
        self.speed.load(Relaxed) > 1 || self.jumps_after.load(Relaxed) < i64::MAX
    }

    /// While it stands still: goes ahead by what a faster time has gained. Time that is excluded gains nothing.
    pub fn hurry(&self) {
        if let State::Still(stood) = self.state() {
            let mut gained = (self.speed.load(Relaxed) - 1) * (stood - self.hurried.load(Relaxed));
            if stood - self.gained() >= self.jumps_after.load(Relaxed) {
                self.jumps_after.store(i64::MAX, Relaxed);
                gained += JUMP;
            }
            self.gained.fetch_add(gained, Relaxed);
            self.hurried.store(stood + gained, Relaxed);
            self.state.store(((stood + gained) << 1) | 1, Release);
        }
    }

    /// The current state.
    pub fn state(&self) -> State {
        let state = self.state.load(Acquire);
        if state & 1 == 0 { State::Behind(state >> 1) } else { State::Still(state >> 1) }
    }

    /// True if interruptions up to `now` are to be accounted for.
    pub fn is_due(&self, now: i64) -> bool {
        now - self.known.load(Relaxed) >= LONGEST_KNOWN
    }

    /// The time for the first thread; none while it stands still.
    pub fn read(&self, now: i64) -> Option<i64> {
        self.last.store(now, Relaxed);
        match self.state() {
            State::Behind(left_out) => Some(now - left_out),
            State::Still(_) => None,
        }
    }

    /// Stops the time at `now`, without excluding anything before.
    pub fn stand_still(&self, now: i64) {
        self.stop(now, 0);
    }

    /// Stops the time at `now`, and excludes the intervals in which others had the CPU since the clock was read last:
    /// by the kernel's account, they are no CPU time of the thread. Nor are its waits for a lock, a disk or a timer,
    /// but these stay included.
    pub fn settle(&self, now: i64, clocks: &impl Clocks) {
        let cpu_time = clocks.cpu_time();
        let needed = cpu_time - self.cpu_time.swap(cpu_time, Relaxed);
        let known = self.known.load(Relaxed);
        let missing = now - known - needed;
        // All the time before the last reading may have been lost. The rest was lost after it.
        let taken = missing - (self.last.load(Relaxed) - known);
        // A forked process has used less CPU time than the process that it is a copy of.
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

    /// Resumes the time where it stood still, and returns the real time of that moment.
    pub fn go_on(&self, clocks: &impl Clocks) -> i64 {
        // The CPU time was read before: an interruption in between is not part of this time.
        let now = clocks.now();
        self.known.store(now, Relaxed);
        self.last.store(now, Relaxed);
        if let State::Still(stood) = self.state() {
            self.state.store((now - stood) << 1, Release);
        }
        now
    }

    /// The same, after the thread has waited.
    pub fn go_on_after_wait(&self, clocks: &impl Clocks) -> i64 {
        self.waits.store(clocks.waits(), Relaxed);
        self.cpu_time.store(clocks.cpu_time(), Relaxed);
        self.go_on(clocks)
    }
}
