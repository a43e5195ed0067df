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

const SECOND: i64 = 1_000_000_000;

/// The clocks of one thread. Times are in ns.
pub trait Clocks {
    /// The real time, which never goes back.
    fn now(&self) -> i64;
    fn cpu_time(&self) -> i64;
    /// Number of voluntary context switches of this thread.
    fn waits(&self) -> i64;
    /// CPU time of the process's other threads.
    fn others(&self) -> i64;
    /// Total time in which this thread was ready to run and another one had its CPU. None if others may take more: the host
    /// of a virtual machine.
    fn delay(&self) -> Option<i64>;
}

/// The own time of a process. Its first thread accounts for the excluded intervals.
pub struct OwnTime {
    /// In one number, so that other threads never see one part without the others.
    state: AtomicI64,
    /// Last clock reading of the first thread, by the real clock.
    last: AtomicI64,
    /// The real time up to which interruptions are accounted for.
    known: AtomicI64,
    /// CPU time of the thread then.
    cpu_time: AtomicI64,
    /// Number of voluntary context switches of the thread then.
    waits: AtomicI64,
    /// CPU time of the process's other threads when it was last read.
    others: AtomicI64,
    /// Time in which the thread had to wait for its CPU when that was last read.
    delay: AtomicI64,
    /// For how long after `known` a reading needs nothing but a subtraction, in ns.
    patience: AtomicI64,
    /// The same while it runs as fast as the real time.
    usual_patience: AtomicI64,
    /// How many times as fast as the real time it runs.
    speed: AtomicI64,
    /// The own time up to which it has gone ahead.
    hurried: AtomicI64,
    /// How much it has gone ahead.
    gained: AtomicI64,
    /// How much the real time is ahead of it and of what it has gained, while it runs.
    ahead: AtomicI64,
    /// It jumps once this time has passed, without what it has gained.
    jumps_after: AtomicI64,
}

/// A time as `seconds << 30 | nanoseconds`: ordered like the times, and its parts cost no division.
pub fn packed(seconds: i64, nanoseconds: i64) -> i64 {
    seconds << 30 | nanoseconds
}

/// The seconds and nanoseconds of such a time.
pub fn unpacked(packed: i64) -> (i64, i64) {
    (packed >> 30, packed & ((1 << 30) - 1))
}

/// The state of the time at one moment, as twice the [packed] time left out up to now; or, while it stands still, one more
/// than twice the time at which it does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Moment(i64);

impl Moment {
    fn new(state: State) -> Self {
        let (time, is_still) = match state {
            State::Behind(left_out) => (left_out, 0),
            State::Still(stood) => (stood, 1),
        };
        let [seconds, rest] = [time.div_euclid(SECOND), time.rem_euclid(SECOND)];
        Self(packed(seconds, rest) << 1 | is_still)
    }

    /// The seconds and nanoseconds left out, if it runs.
    pub fn left_out(self) -> Option<(i64, i64)> {
        if self.0 & 1 == 0 { Some(unpacked(self.0 >> 1)) } else { None }
    }

    /// The same in ns.
    pub fn state(self) -> State {
        let (seconds, rest) = unpacked(self.0 >> 1);
        let time = seconds * SECOND + rest;
        if self.0 & 1 == 0 { State::Behind(time) } else { State::Still(time) }
    }
}

/// The state of the time. In ns.
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
            others: AtomicI64::new(0),
            delay: AtomicI64::new(0),
            patience: AtomicI64::new(LONGEST_KNOWN),
            usual_patience: AtomicI64::new(LONGEST_KNOWN),
            speed: AtomicI64::new(1),
            hurried: AtomicI64::new(0),
            gained: AtomicI64::new(0),
            ahead: AtomicI64::new(0),
            jumps_after: AtomicI64::new(i64::MAX),
        }
    }

    /// Runs `speed` times as fast as the real time from `now` on: it [goes ahead](Self::hurry) whenever it stands still.
    pub fn run_at(&self, speed: i64, now: i64) {
        if let Some(own) = self.read(now) {
            self.hurried.store(own, Relaxed);
        }
        self.speed.store(speed, Relaxed);
        self.choose_patience();
    }

    /// Lets it [jump](JUMP) the first time it goes ahead after this much time from `now` on.
    pub fn jump_after(&self, time: i64, now: i64) {
        if let Some(own) = self.read(now) {
            self.jumps_after.store((own - self.gained()).saturating_add(time), Relaxed);
        }
        self.choose_patience();
    }

    /// How much it has gone ahead up to now.
    pub fn gained(&self) -> i64 {
        self.gained.load(Relaxed)
    }

    /// The time at `now` without what it has gained, while it runs.
    pub fn without_gain(&self, now: i64) -> i64 {
        now - self.ahead.load(Relaxed)
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
                self.choose_patience();
            }
            self.gained.fetch_add(gained, Relaxed);
            self.hurried.store(stood + gained, Relaxed);
            self.set(State::Still(stood + gained));
        }
    }

    /// The current state.
    pub fn state(&self) -> State {
        self.moment().state()
    }

    /// The same as one number.
    pub fn moment(&self) -> Moment {
        Moment(self.state.load(Acquire))
    }

    fn set(&self, state: State) {
        self.state.store(Moment::new(state).0, Release);
    }

    /// Lets a reading need nothing but a subtraction for this long after the time went on: for processes whose interruptions
    /// are not accounted for.
    pub fn wait_longer(&self, patience: i64) {
        self.usual_patience.store(patience, Relaxed);
        self.choose_patience();
    }

    fn choose_patience(&self) {
        let usual = self.usual_patience.load(Relaxed);
        self.patience.store(if self.is_hurrying() { 0 } else { usual }, Relaxed);
    }

    /// True if interruptions up to `now` are to be accounted for, or if it runs faster than the real time; also if a clock
    /// was set back.
    #[allow(clippy::cast_sign_loss)]
    pub fn is_due(&self, now: i64) -> bool {
        let passed = now - self.known.load(Relaxed);
        passed as u64 >= self.patience.load(Relaxed) as u64
    }

    /// The same for a clock that may be behind.
    pub fn is_past(&self, now: i64) -> bool {
        now > self.known.load(Relaxed) && self.is_due(now)
    }

    /// Notes a reading of the first thread.
    pub fn note(&self, now: i64) {
        self.last.store(now, Relaxed);
    }

    /// Notes such a reading by a clock that may be behind.
    pub fn note_at_least(&self, now: i64) {
        self.last.fetch_max(now, Relaxed);
    }

    /// The time for the first thread; none while it stands still.
    pub fn read(&self, now: i64) -> Option<i64> {
        self.note(now);
        match self.state() {
            State::Behind(left_out) => Some(now - left_out),
            State::Still(_) => None,
        }
    }

    /// Stops the time at `now`, without excluding anything before.
    pub fn stand_still(&self, now: i64) {
        self.stop(now, 0);
    }

    /// Stops the time for all threads, without excluding anything before, and returns the real time of that moment.
    pub fn stand_still_for_all(&self, clocks: &impl Clocks) -> i64 {
        let mut now = clocks.now();
        if let State::Behind(left_out) = self.state() {
            self.set(State::Still(now - left_out));
            // Before it stood still, another thread may have shown a later time, from which it must not go back.
            now = clocks.now();
            self.set(State::Still(now - left_out));
        }
        now
    }

    /// Stops the time at `now`, and excludes the intervals in which others had the CPU since the clock was read last:
    /// by the kernel's account, they are no CPU time of the process. Nor are its waits for a lock, a disk or a timer,
    /// but these stay included.
    pub fn settle(&self, now: i64, clocks: &impl Clocks) {
        let cpu_time = clocks.cpu_time();
        let needed = cpu_time - self.cpu_time.swap(cpu_time, Relaxed);
        let known = self.known.load(Relaxed);
        let missing = now - known - needed;
        // A forked process has used less CPU time than the process that it is a copy of.
        if missing < LEAST_TAKEN || needed < 0 {
            return self.stop(now, 0);
        }
        // Some kernels do not count as CPU time what a thread's own system calls cause: the processing of packets that it
        // sends to itself. That is no delay.
        let delayed =
            clocks.delay().map_or(missing, |delay| delay - self.delay.swap(delay, Relaxed));
        // On one CPU, its own threads interrupt it too.
        let missing = missing.min(delayed) - self.worked(clocks);
        // All the time before the last reading may have been lost. The rest was lost after it. By a clock whose offset is not
        // quite known, the last reading may seem to be elsewhere.
        let taken = missing - (self.last.load(Relaxed).clamp(known, now.max(known)) - known);
        let waits = clocks.waits();
        let is_interrupted = waits == self.waits.swap(waits, Relaxed) && taken >= LEAST_TAKEN;
        self.stop(now, if is_interrupted { taken } else { 0 });
    }

    /// CPU time of the process's other threads since it was last shown; not shown before it is more than the error of a reading.
    pub fn worked(&self, clocks: &impl Clocks) -> i64 {
        let others = clocks.others();
        let worked = others - self.others.load(Relaxed);
        // That of a forked process begins anew.
        if worked.abs() >= LEAST_TAKEN {
            self.others.store(others, Relaxed);
            return worked.max(0);
        }
        0
    }

    fn stop(&self, now: i64, taken: i64) {
        if let State::Behind(left_out) = self.state() {
            self.set(State::Still(now - left_out - taken));
        }
    }

    /// Resumes the time where it stood still, and returns the real time of that moment.
    pub fn go_on(&self, clocks: &impl Clocks) -> i64 {
        // The CPU time was read before: an interruption in between is not part of this time.
        let now = clocks.now();
        self.known.store(now, Relaxed);
        self.last.store(now, Relaxed);
        if let State::Still(stood) = self.state() {
            self.ahead.store(now - stood + self.gained(), Relaxed);
            self.set(State::Behind(now - stood));
        }
        now
    }

    /// While it stands still: goes ahead by what the other threads have done since they were last [asked](Self::worked), but by
    /// at most `most`. This is work of the process: alone, it would have had the CPU for that. Returns by how much it went
    /// ahead.
    pub fn add_work(&self, most: i64, clocks: &impl Clocks) -> i64 {
        let worked = self.worked(clocks).min(most);
        match (self.state(), self.speed.load(Relaxed)) {
            (State::Still(stood), 1) => {
                self.set(State::Still(stood + worked));
                worked
            }
            // A faster time has gone ahead already, and only shows how long an iteration is.
            _ => 0,
        }
    }

    /// Resumes the time as [`go_on`](Self::go_on) does, after the thread has waited for its partner.
    pub fn go_on_after_wait(&self, clocks: &impl Clocks) -> i64 {
        self.waits.store(clocks.waits(), Relaxed);
        self.delay.store(clocks.delay().unwrap_or(0), Relaxed);
        self.cpu_time.store(clocks.cpu_time(), Relaxed);
        self.go_on(clocks)
    }

    /// While it runs: goes ahead by this much, if that is positive.
    pub fn go_ahead(&self, by: i64) {
        if let (State::Behind(left_out), true) = (self.state(), by > 0) {
            self.ahead.fetch_sub(by, Relaxed);
            self.set(State::Behind(left_out - by));
        }
    }
}
