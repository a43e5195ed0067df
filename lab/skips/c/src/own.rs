//! Calls C.

unsafe extern "C" {
    fn c_sum(count: u64) -> u64;
}

/// The input of a benchmark, and what it does with it.
#[inline(never)]
pub fn prepared() -> impl FnMut() -> u64 {
    // SAFETY: it works on numbers alone.
    || unsafe { c_sum(std::hint::black_box(9)) }
}
