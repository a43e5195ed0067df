//! Random numbers of the system for the libraries that count. They are the same in each run, as they decide the order
//! of hash maps and the inputs that benchmarks draw.

use core::{
    ffi::c_long,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

#[cfg(target_arch = "x86_64")]
pub const SYS_GETRANDOM: c_long = 318;
#[cfg(target_arch = "aarch64")]
pub const SYS_GETRANDOM: c_long = 278;

static STATE: AtomicU64 = AtomicU64::new(0);

/// Sets the seed.
pub fn seed(seed: u64) {
    STATE.store(seed, Relaxed);
}

/// The next number, by SplitMix64.
fn next() -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = STATE.fetch_add(STEP, Relaxed).wrapping_add(STEP);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Writes `length` random bytes.
pub unsafe fn fill(to: *mut u8, length: usize) {
    let mut bytes = [0; 8];
    for index in 0..length {
        if index % 8 == 0 {
            bytes = next().to_ne_bytes();
        }
        // SAFETY: the caller has room for `length` bytes.
        unsafe { *to.add(index) = bytes[index % 8] };
    }
}
