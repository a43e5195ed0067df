//! The replaced clocks. While the time runs, a reading costs what it costs without the library: one reading of the same
//! clock, and coarse clocks stay coarse. Other clocks are read only while the time stands still.

use core::{
    ffi::{c_int, c_void},
    mem::transmute,
    sync::atomic::{
        AtomicI64,
        Ordering::{Acquire, Relaxed},
    },
};

use super::{
    change, is_owner, keep,
    own_time::{packed, unpacked, Moment, State},
    page::Page,
    system::*,
    threads, PAGE, TIME,
};

const ZERO: AtomicI64 = AtomicI64::new(0);
/// How far each clock was ahead of the monotonic one when the time last stood still at a reading of it, in ns.
/// The length costs no comparison at a reading.
static AHEAD: [AtomicI64; 16] = [ZERO; 16];
/// The latest [packed] times shown by the coarse clocks: the monotonic one and that of the wall.
static SHOWN: [AtomicI64; 2] = [ZERO; 2];

/// Notes the state of all clocks. The process's time is still equal to the real time.
pub fn prepare() {
    find_fast_clock();
    for id in (0..).take(AHEAD.len()).filter(|id| is_replaced(*id) && !is_coarse(*id)) {
        note_ahead(id);
    }
    for (shown, id) in SHOWN.iter().zip([CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME_COARSE]) {
        let time = Timespec::of(nanoseconds(id));
        shown.store(packed(time.seconds, time.nanoseconds), Relaxed);
    }
}

/// True for a clock of the real world, as opposed to a thread's or a process's CPU time.
pub fn is_replaced(id: c_int) -> bool {
    matches!(id, 0 | CLOCK_MONOTONIC | 4..=9 | 11)
}

/// True for a clock that only advances with the kernel's ticks, and costs a fraction of the others.
fn is_coarse(id: c_int) -> bool {
    matches!(id, CLOCK_REALTIME_COARSE | CLOCK_MONOTONIC_COARSE)
}

/// The clock that is read instead where a tick would be too coarse.
fn exact(id: c_int) -> c_int {
    match id {
        CLOCK_REALTIME_COARSE => CLOCK_REALTIME,
        CLOCK_MONOTONIC_COARSE => CLOCK_MONOTONIC,
        other => other,
    }
}

/// While the time runs, a reading costs what it costs without the library: one reading of the same clock. Other clocks are
/// read only while the time stands still.
#[no_mangle]
pub unsafe extern "C" fn clock_gettime(id: c_int, out: *mut Timespec) -> c_int {
    let page = PAGE.load(Acquire);
    // SAFETY: the mapping lasts as long as the process, and the arguments are the caller's.
    unsafe {
        if page.is_null() || !is_replaced(id) {
            unchanged_time(id, out)
        } else if is_coarse(id) {
            coarse_time(id, out, &*page)
        } else {
            exact_time(id, out, &*page)
        }
    }
}

/// The time by libc, which also sets errno.
#[cold]
#[inline(never)]
unsafe fn unchanged_time(id: c_int, out: *mut Timespec) -> c_int {
    // SAFETY: the arguments are the caller's.
    unsafe { real_clock()(id, out) }
}

/// Reads a clock, and the state of the process's time at the reading.
#[inline(always)]
unsafe fn read(id: c_int, out: *mut Timespec) -> Option<Moment> {
    let mut moment = TIME.moment();
    loop {
        // SAFETY: the arguments are the caller's.
        if unsafe { fast_clock()(id, out) } != 0 {
            return None;
        }
        // Had the process stopped or resumed in between, time would go back.
        let after = TIME.moment();
        if after == moment {
            return Some(moment);
        }
        moment = after;
    }
}

#[inline(never)]
unsafe fn exact_time(id: c_int, out: *mut Timespec, page: &Page) -> c_int {
    // SAFETY: the arguments are the caller's.
    let moment = match unsafe { read(id, out) } {
        Some(moment) => moment,
        // SAFETY: as above.
        None => return unsafe { unchanged_time(id, out) },
    };
    // SAFETY: the call has written the time there.
    let out = unsafe { &mut *out };
    let left_out = match moment.left_out() {
        Some(left_out) => left_out,
        // SAFETY: the arguments are the caller's.
        None if threads::wait_for_time() => return unsafe { exact_time(id, out, page) },
        None => {
            *out = still_time(id);
            return 0;
        }
    };
    let reading = out.sum();
    *out = out.minus(left_out);
    let now = monotonic(id, reading);
    if is_owner() || (threads::is_active() && threads::take_over(page, now)) {
        let mut kept = TIME.without_gain(now);
        if !TIME.is_due(now) {
            TIME.note(now);
        } else if let Some(changed) = change(page, id, reading) {
            *out = changed.shown;
            kept = changed.kept;
        }
        if id == CLOCK_MONOTONIC {
            keep(page, kept);
        }
    }
    0
}

/// The time while it stands still: for a signal handler that interrupts a hand-over, or another thread during one.
#[cold]
#[inline(never)]
fn still_time(id: c_int) -> Timespec {
    let ahead = ahead(id);
    Timespec::of(match TIME.state() {
        State::Still(stood) => stood + ahead,
        State::Behind(left_out) => nanoseconds(id) - left_out,
    })
}

/// The process's time by a coarse clock. It never goes back, though the next tick is nearer or farther after each time that
/// the process stood still, and is never ahead of the exact clock.
#[inline(never)]
unsafe fn coarse_time(id: c_int, out: *mut Timespec, page: &Page) -> c_int {
    // SAFETY: the arguments are the caller's.
    let moment = match unsafe { read(id, out) } {
        Some(moment) => moment,
        // SAFETY: as above.
        None => return unsafe { unchanged_time(id, out) },
    };
    if moment.left_out().is_none() && threads::wait_for_time() {
        // SAFETY: as above.
        return unsafe { coarse_time(id, out, page) };
    }
    // SAFETY: the call has written the time there.
    let out = unsafe { &mut *out };
    let last = SHOWN[(id % 2) as usize].load(Relaxed);
    let time = shown_coarsely(moment, out, last);
    let (seconds, nanoseconds) = unpacked(if time > last { advance(page, id, out, time) } else { last });
    *out = Timespec { seconds, nanoseconds };
    0
}

/// The [packed] time at a reading of a coarse clock; `last` while the time stands still.
fn shown_coarsely(moment: Moment, reading: &Timespec, last: i64) -> i64 {
    moment.left_out().map_or(last, |left_out| {
        let own = reading.minus(left_out);
        packed(own.seconds, own.nanoseconds)
    })
}

/// A coarse clock shows a later time: the slice may be over. Otherwise its readings would never notice. Returns the latest
/// [packed] time that it has shown.
#[cold]
#[inline(never)]
fn advance(page: &Page, id: c_int, reading: &mut Timespec, mut time: i64) -> i64 {
    let shown = &SHOWN[(id % 2) as usize];
    let exact = exact(id);
    if is_owner() {
        // Others may have had the CPU before the tick, so this comes before the time is shown.
        if TIME.is_past(monotonic(exact, reading.sum())) {
            change(page, exact, nanoseconds(exact));
            // SAFETY: the place is our own.
            if let Some(moment) = unsafe { read(id, reading) } {
                time = shown_coarsely(moment, reading, time);
            }
        }
        TIME.note_at_least(monotonic(exact, reading.sum()));
    }
    shown.fetch_max(time, Relaxed).max(time)
}

/// Reads again how far a clock is ahead: some clocks are set, and some run at another rate. Returns it, in ns.
pub fn note_ahead(id: c_int) -> i64 {
    let ahead = ahead(id);
    AHEAD[id as usize % AHEAD.len()].store(ahead, Relaxed);
    ahead
}

/// The monotonic time at a reading of another clock, as far as that is known, in ns.
pub fn monotonic(id: c_int, reading: i64) -> i64 {
    reading - AHEAD[id as usize % AHEAD.len()].load(Relaxed)
}

/// Offset of a clock to the monotonic one, in ns. It stays as it was known while a reading between two others agrees with
/// it, so that its error does not add up.
fn ahead(id: c_int) -> i64 {
    const LONGEST_PAIR: i64 = 1_000;
    if id == CLOCK_MONOTONIC {
        return 0;
    }
    let known = AHEAD[id as usize % AHEAD.len()].load(Relaxed);
    let mut before = nanoseconds(CLOCK_MONOTONIC);
    // An interruption between the two would be part of the difference. Some machines never are as fast.
    for _ in 0..10 {
        let time = nanoseconds(id);
        let after = nanoseconds(CLOCK_MONOTONIC);
        if after - before < LONGEST_PAIR {
            return known.clamp(time - after, time - before);
        }
        before = after;
    }
    nanoseconds(id) - nanoseconds(CLOCK_MONOTONIC)
}

/// The time of the wall in seconds and microseconds, which libc computes from one reading too.
#[no_mangle]
unsafe extern "C" fn gettimeofday(out: *mut Timespec, zone: *mut c_void) -> c_int {
    let page = PAGE.load(Acquire);
    if page.is_null() || out.is_null() || !zone.is_null() {
        // SAFETY: libc has a function of this name and type, and the arguments are the caller's.
        return unsafe { transmute::<_, TimeOfDay>(TIME_OF_DAY.get())(out, zone) };
    }
    // SAFETY: the mapping lasts as long as the process, and the caller has a place for two numbers there.
    unsafe {
        let status = exact_time(CLOCK_REALTIME, out, &*page);
        (*out).nanoseconds = ((*out).nanoseconds as u64 / 1_000) as i64;
        status
    }
}

/// The same in seconds and nanoseconds, by the name of the C standard.
#[no_mangle]
unsafe extern "C" fn timespec_get(out: *mut Timespec, base: c_int) -> c_int {
    const TIME_UTC: c_int = 1;
    if PAGE.load(Acquire).is_null() || base != TIME_UTC {
        // SAFETY: libc has a function of this name and type, and the arguments are the caller's.
        return unsafe { transmute::<_, TimespecGet>(TIMESPEC_GET.get())(out, base) };
    }
    // SAFETY: the caller has a place for the time there.
    unsafe { clock_gettime(CLOCK_REALTIME, out) };
    TIME_UTC
}

/// The seconds of the wall's coarse clock.
#[no_mangle]
unsafe extern "C" fn time(out: *mut i64) -> i64 {
    let page = PAGE.load(Acquire);
    if page.is_null() {
        // SAFETY: libc has a function of this name and type, and the arguments are the caller's.
        return unsafe { transmute::<_, Seconds>(SECONDS.get())(out) };
    }
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the mapping lasts as long as the process. The first place is our own, and the other one the caller's.
    unsafe {
        coarse_time(CLOCK_REALTIME_COARSE, &mut time, &*page);
        if !out.is_null() {
            *out = time.seconds;
        }
    }
    time.seconds
}

type TimeOfDay = unsafe extern "C" fn(*mut Timespec, *mut c_void) -> c_int;
type Seconds = unsafe extern "C" fn(*mut i64) -> i64;
type TimespecGet = unsafe extern "C" fn(*mut Timespec, c_int) -> c_int;

static TIME_OF_DAY: Hidden = Hidden::new(b"gettimeofday\0");
static SECONDS: Hidden = Hidden::new(b"time\0");
static TIMESPEC_GET: Hidden = Hidden::new(b"timespec_get\0");
