//! Calls the dynamic library.

unsafe extern "C" {
    fn scale(number: u64) -> u64;
}

/// The input of a benchmark, and what it does with it.
#[inline(never)]
pub fn prepared() -> impl FnMut() -> u64 {
    // SAFETY: it works on numbers alone.
    || unsafe { scale(std::hint::black_box(9)) }
}
