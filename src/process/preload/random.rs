//! Random numbers of the system for preloaded libraries. Where something is counted, all are the same in each run, as
//! they decide the order of hash maps and the inputs that benchmarks draw. Two interleaved processes have equal ones where
//! they ask for numbers that need not be secret.

use core::{
    ffi::{c_long, c_void},
    sync::atomic::{
        AtomicBool, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use super::system::real_syscall;

#[cfg(target_arch = "x86_64")]
const SYS_GETRANDOM: c_long = 318;
#[cfg(target_arch = "aarch64")]
const SYS_GETRANDOM: c_long = 278;

static STATE: AtomicU64 = AtomicU64::new(0);
/// True once there is a seed: the system gives random numbers before.
static HAS_SEED: AtomicBool = AtomicBool::new(false);

/// The flags of a request that is answered.
static FLAGS: AtomicU32 = AtomicU32::new(0);

/// Sets the seed for requests that have at least these flags.
pub fn seed(seed: u64, flags: u32) {
    STATE.store(seed, Relaxed);
    FLAGS.store(flags, Relaxed);
    HAS_SEED.store(true, Release);
}

/// The next number.
fn next() -> u64 {
    mixed(STATE.fetch_add(STEP, Relaxed).wrapping_add(STEP))
}

/// The distance of the numbers that [`mixed`] makes random ones of.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes the bits of a number, as SplitMix64 does.
pub fn mixed(mut mixed: u64) -> u64 {
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Answers a system call in place of the kernel if it asks for random bytes: for as many as its second argument, at the
/// address in its first one.
pub unsafe fn answered(number: c_long, to: c_long, length: c_long) -> Option<c_long> {
    if number != SYS_GETRANDOM || !HAS_SEED.load(Acquire) {
        return None;
    }
    let mut bytes = [0; 8];
    for index in 0..length as usize {
        if index % 8 == 0 {
            bytes = next().to_ne_bytes();
        }
        // SAFETY: the caller has room for `length` bytes.
        unsafe { *(to as *mut u8).add(index) = bytes[index % 8] };
    }
    Some(length)
}

#[no_mangle]
unsafe extern "C" fn getrandom(to: *mut c_void, length: usize, flags: u32) -> isize {
    let is_meant = flags & FLAGS.load(Relaxed) == FLAGS.load(Relaxed);
    // SAFETY: the place is the caller's.
    let answered = || unsafe { answered(SYS_GETRANDOM, to as c_long, length as c_long) };
    match is_meant.then(answered).flatten() {
        Some(length) => length as isize,
        // SAFETY: the arguments are the caller's.
        None => unsafe { real_syscall()(SYS_GETRANDOM, to, length, flags) as isize },
    }
}
