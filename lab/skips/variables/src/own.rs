//! Works as long as variables say: those of the build script, of the compiler, and of the process.

use std::{env, hint::black_box};

include!(concat!(env!("OUT_DIR"), "/lengths.rs"));

const COMPILED: Option<&str> = option_env!("SKIPS_COMPILED");

#[inline(never)]
fn parsed(text: &str) -> usize {
    text.bytes().fold(0, |number, digit| number * 10 + usize::from(digit.wrapping_sub(b'0')))
}

#[inline(never)]
fn work(place: usize, rounds: usize) -> u64 {
    let rounds = LENGTHS[place % 8] + rounds;
    (0..rounds as u64).fold(3, |sum, round| black_box(sum + round))
}

/// The input of a benchmark, and what it does with it.
#[inline(never)]
pub fn prepared() -> impl FnMut() -> u64 {
    let at_start = env::var("SKIPS_ROUNDS").map_or(10, |value| parsed(&value));
    let rounds = at_start + parsed(env!("SKIPS_FILE")) + COMPILED.map_or(0, parsed);
    let mut calls = 0;
    move || {
        calls += 1;
        // Late and seldom: a trace stops the process at each reading.
        let is_late = calls % 50 == 31;
        let late =
            if is_late { env::var("SKIPS_LATE").map_or(0, |value| parsed(&value)) } else { 0 };
        work(calls, rounds + late)
    }
}
