//! What settings decide.

use std::{env, hint::black_box};

/// The rounds that the environment requests when the process starts, else those of the compilation.
#[inline(never)]
pub fn rounds() -> u64 {
    let compiled = if cfg!(feature = "more") { 70 } else { 35 };
    env::var("SKIPS_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(compiled)
}

/// Works for as many rounds.
#[inline(never)]
pub fn work(rounds: u64) -> u64 {
    let factor = if cfg!(flag_of_skips) { 2 } else { 1 };
    (0..rounds * factor).fold(3, |sum, round| black_box(sum + round))
}

/// The input of a benchmark, and what it does with it.
#[inline(never)]
pub fn prepared() -> impl FnMut() -> u64 {
    let rounds = rounds();
    move || work(rounds)
}
