//! Samples where the threads of this process are, to find out where its time goes.
//!
//! rbench sends a signal to each thread in this process's time slices. The handler copies the registers and the stack to
//! memory that rbench reads after the process has ended; there the stacks are unwound. It allocates nothing and takes no
//! lock. Each sample says how many clock readings there were before it, so rbench finds those that fell into a
//! measurement. Some slices have no samples: their measurements show what sampling costs.
//!
//! A timer of the process itself would interrupt it at the price of two exits from a virtual machine: 20 µs on some, where
//! a signal from another CPU takes 5 (docs/research/profiles.md).

use core::{
    ffi::{c_int, c_void},
    ptr::addr_of,
    sync::atomic::{
        AtomicBool, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use super::{
    is_owner,
    own_time::State,
    page::{state as thread_state, Page, MAPS, SAMPLE, SAMPLE_WORDS},
    random,
    system::*,
    threads, IS_CHANGING, MEMBER, PAGE, TIME,
};

/// One slice in this many has no samples.
const UNSAMPLED: u64 = 4;
/// Longest part of a stack above the frame that reads the clock, in bytes: that frame's caller is found there.
const ABOVE: usize = 512;
/// Most bytes of a stack in a sample.
const LONGEST_STACK: usize = 1 << 13;
const WORD: usize = 8;
/// Number of words before the stack of a sample.
const HEAD: usize = 6;

static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// The first thread, by the pointer by which it knows itself, and the highest known address of its stack. Those of others
/// end below their pointers.
static FIRST: AtomicUsize = AtomicUsize::new(0);
static TOP: AtomicUsize = AtomicUsize::new(0);

/// Prepares a process that is to be sampled. No other thread runs yet, and its code was not moved yet.
pub fn prepare(page: &Page) {
    if page.is_sampled.load(Relaxed) == 0 {
        return;
    }
    const WITH_CONTEXT: c_int = 4;
    let handler = sampled as unsafe extern "C" fn(c_int, *const c_void, *const c_void) as usize;
    if !threads::handle(SAMPLE, handler, WITH_CONTEXT) {
        return;
    }
    let own = MEMBER.load(Relaxed);
    keep_maps(page, own);
    let samples = &page.samples[own];
    // A second process of the same execution begins again. The first write to each page takes a microsecond, which would be
    // measured.
    samples.used.store(0, Relaxed);
    samples.dropped.store(0, Relaxed);
    for word in samples.words.iter().take(SAMPLE_WORDS / 8).step_by(512) {
        word.store(0, Relaxed);
    }
    FIRST.store(thread_pointer(), Relaxed);
    IS_ACTIVE.store(true, Relaxed);
    threads::INTERRUPTED.store(1, Relaxed);
    // SAFETY: it takes nothing.
    page.process[own].store((unsafe { getpid() }) as u32, Release);
}

pub fn is_active() -> bool {
    IS_ACTIVE.load(Relaxed)
}

/// Copies the list of mapped files, by which addresses are found in them.
fn keep_maps(page: &Page, own: usize) {
    // SAFETY: the name ends with a zero, and the place is as large as said.
    unsafe {
        let file = open(name(b"/proc/self/maps\0").as_ptr(), 0o2_000_000);
        let mut length = 0;
        while length < MAPS {
            let to = page.maps[own].as_ptr().cast::<u8>().add(length) as *mut c_void;
            let read = pread(file, to, MAPS - length, length as i64);
            if read <= 0 {
                break;
            }
            length += read as usize;
        }
        close(file);
        page.maps_length[own].store(length as u32, Relaxed);
    }
}

#[inline(never)]
pub fn begin(page: &Page) {
    if !is_active() {
        return;
    }
    let own = MEMBER.load(Relaxed);
    // The partner decides in the same way, so measurements at the same time are sampled in both. A process alone has only
    // one slice.
    let slice = page.passed[own].load(Relaxed);
    let is_alone = page.gone[1 - own].load(Relaxed) != 0;
    let is_armed = is_alone || random::mixed(slice.wrapping_mul(random::STEP)) % UNSAMPLED != 0;
    if let Some([first, readings]) = claim(page, own, 2) {
        readings.store(page.read[own].load(Relaxed), Relaxed);
        first.store(1 + u64::from(is_armed), Release);
    }
    page.takes_samples[own].store(u32::from(is_armed), Release);
}

pub fn end(page: &Page) {
    page.takes_samples[MEMBER.load(Relaxed)].store(0, Relaxed);
}

/// The clock is read with this stack: rbench needs nothing above.
pub fn note_stack(address: usize) {
    if is_active() && FIRST.load(Relaxed) == thread_pointer() {
        TOP.fetch_max(address + ABOVE, Relaxed);
    }
}

/// A place for this many words, if there is one.
fn claim(page: &Page, own: usize, count: usize) -> Option<&[AtomicU64]> {
    let samples = &page.samples[own];
    let at = samples.used.fetch_add(count, Relaxed);
    let place = samples.words.get(at..at + count);
    if place.is_none() {
        // The next ones may be smaller, but none may be between words that were never written.
        samples.dropped.fetch_add(1, Relaxed);
    }
    place
}

struct Registers {
    instruction: usize,
    stack: usize,
    frame: usize,
    link: usize,
    /// The result of a system call, or its number before it is called again.
    result: i64,
}

impl Registers {
    /// `context` is the `ucontext_t` that a handler gets.
    unsafe fn of(context: *const c_void) -> Self {
        #[cfg(target_arch = "x86_64")]
        const AT: usize = 40;
        #[cfg(target_arch = "aarch64")]
        const AT: usize = 184;
        let registers = context.cast::<u8>().wrapping_add(AT).cast::<usize>();
        // SAFETY: the registers stand there, in this order.
        let of = |index: usize| unsafe { *registers.add(index) };
        #[cfg(target_arch = "x86_64")]
        return Self { instruction: of(16), stack: of(15), frame: of(10), link: 0, result: of(13) as i64 };
        #[cfg(target_arch = "aarch64")]
        return Self { instruction: of(32), stack: of(31), frame: of(29), link: of(30), result: of(0) as i64 };
    }

    /// What the thread does: executes its own code, or is in the kernel to work, or to wait for something.
    unsafe fn state(&self) -> u32 {
        const INTERRUPTED: i64 = -4;
        #[cfg(target_arch = "x86_64")]
        const LENGTH: usize = 2;
        #[cfg(target_arch = "aarch64")]
        const LENGTH: usize = 4;
        // A call that a signal has ended while it waited is made again, or fails.
        // SAFETY: the thread executes this code, and the code of libc does not begin with a system call.
        unsafe {
            if is_call(self.instruction) {
                thread_state::WAITING
            } else if !is_call(self.instruction.wrapping_sub(LENGTH)) {
                thread_state::WORKING
            } else if self.result == INTERRUPTED {
                thread_state::WAITING
            } else {
                thread_state::IN_KERNEL
            }
        }
    }
}

unsafe fn is_call(address: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    const CALL: [u8; 2] = [0x0f, 0x05];
    #[cfg(target_arch = "aarch64")]
    const CALL: [u8; 4] = [0x01, 0x00, 0x00, 0xd4];
    // SAFETY: the caller's.
    unsafe { *(address as *const [u8; CALL.len()]) == CALL }
}

unsafe extern "C" fn sampled(_: c_int, _: *const c_void, context: *const c_void) {
    let page = PAGE.load(Acquire);
    if page.is_null() {
        return;
    }
    // SAFETY: the mapping lasts as long as the process; the kernel gives the registers.
    let (page, registers) = unsafe { (&*page, Registers::of(context)) };
    let own = MEMBER.load(Relaxed);
    // SAFETY: the thread executes this code.
    let mut state = unsafe { registers.state() };
    if state == thread_state::WAITING {
        threads::INTERRUPTED.fetch_add(1, Relaxed);
    }
    // Only the time of the process counts. A signal may be late.
    if page.takes_samples[own].load(Relaxed) == 0 || matches!(TIME.state(), State::Still(_)) {
        return;
    }
    // Between the end of a measurement, which is known already, and the moment at which the time stands still.
    if is_owner() && IS_CHANGING.load(Relaxed) {
        return;
    }
    let pointer = thread_pointer();
    let top = if pointer == FIRST.load(Relaxed) { TOP.load(Relaxed) } else { pointer };
    let known = top.wrapping_sub(registers.stack);
    // Another stack than the thread's own, of a coroutine, has an end that is not known.
    let is_known = top >= registers.stack && known <= 1 << 20;
    let longest = LONGEST_STACK / WORD;
    let claimed = if is_known { (known / WORD).min(longest) } else { longest };
    let place = match claim(page, own, HEAD + claimed) {
        Some(place) => place,
        None => return,
    };
    let (head, words) = place.split_at(HEAD);
    let from = registers.stack as *const u64;
    let copied = if is_known {
        for (index, word) in words.iter().enumerate() {
            // SAFETY: the thread's stack reaches up to its top.
            word.store(unsafe { from.add(index).read_unaligned() }, Relaxed);
        }
        claimed
    } else {
        // SAFETY: the place is large enough. The kernel stops where the stack ends.
        unsafe { read_own(registers.stack, words) }
    };
    if is_owner() {
        state |= thread_state::MEASURES;
    }
    if !is_known || known / WORD > longest {
        state |= thread_state::MAY_BE_CUT;
    }
    let Registers { instruction, stack, frame, link, .. } = registers;
    let read = page.read[own].load(Relaxed);
    let first = claimed as u64 | (copied as u64) << 16 | (u64::from(state) + 1) << 32;
    let registers = [instruction, stack, frame, link].map(|register| register as u64);
    for (word, value) in head[1..].iter().zip([read].into_iter().chain(registers)) {
        word.store(value, Relaxed);
    }
    // A process that is ended before has no such sample.
    head[0].store(first, Release);
}

/// Copies memory of this process to `words`, and returns how many there were.
unsafe fn read_own(from: usize, words: &[AtomicU64]) -> usize {
    const PAGE_SIZE: usize = 4096;
    let length = words.len() * WORD;
    let local = [words.as_ptr() as usize, length];
    // Each part is read whole or not at all.
    let mut parts = [[0_usize; 2]; LONGEST_STACK / PAGE_SIZE + 1];
    let (mut count, mut at) = (0, 0);
    while at < length && count < parts.len() {
        let size = (PAGE_SIZE - (from + at) % PAGE_SIZE).min(length - at);
        parts[count] = [from + at, size];
        count += 1;
        at += size;
    }
    // SAFETY: the place is the caller's; libc has a place for each thread's error.
    unsafe {
        let error = __errno_location();
        let before = *error;
        let (process, parts) = (getpid(), parts.as_ptr());
        let read = real_syscall()(
            SYS_PROCESS_VM_READV, process, addr_of!(local), 1_usize, parts, count, 0_usize,
        );
        *error = before;
        read.max(0) as usize / WORD
    }
}
