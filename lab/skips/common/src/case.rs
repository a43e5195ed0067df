//! Statics with fields.

use std::hint::black_box;

/// A case of a test, and where it comes from.
pub struct Case {
    file: &'static str,
    rounds: u32,
    seed: u32,
}

static CASE: Case = Case {
    file: "corpus.rs",
    rounds: 30,
    seed: 5,
};

/// Limits in a word each.
pub struct Limits {
    least: u64,
    most: u64,
    spare: u64,
}

static LIMITS: Limits = Limits {
    least: 4,
    most: 24,
    spare: 9,
};

/// As many rounds as the case has.
#[inline(never)]
pub fn case() -> u64 {
    let case = black_box(&CASE);
    let first = u64::from(case.seed) + case.file.len() as u64;
    (0..case.rounds).fold(first, |sum, round| black_box(sum + u64::from(round)))
}

/// As many rounds as there are between the limits.
#[inline(never)]
pub fn limited(number: u64) -> u64 {
    let limits = black_box(&LIMITS);
    if number > 1000 {
        return limits.spare;
    }
    (limits.least..limits.most).fold(number, |sum, round| black_box(sum ^ round))
}
