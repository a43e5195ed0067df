//! Tables, and functions that are inlined.

const ROUNDS: usize = 60;
const STEP: usize = 7;

/// Numbers at an address that the type decides.
#[repr(align(8))]
struct Numbers([usize; 24]);

static NUMBERS: Numbers =
    Numbers([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4]);

static NEVER_READ: [usize; 4] = [11, 12, 13, 14];

#[inline(always)]
fn mixed(number: usize) -> usize {
    (0..3).fold(number, |sum, round| std::hint::black_box(sum ^ round))
}

#[inline]
fn turned(number: usize) -> usize {
    number.rotate_left(9)
}

/// Works as long as the numbers are large.
#[inline(never)]
pub fn looked_up(start: usize) -> usize {
    let mut sum = 0;
    for round in 0..ROUNDS {
        for _ in 0..NUMBERS.0[(start + round * STEP) % 24] {
            sum = turned(sum) ^ mixed(round);
        }
    }
    sum
}

/// Is executed for no input that there is.
#[cold]
#[inline(never)]
pub fn never(index: usize) -> usize {
    (0..40).fold(NEVER_READ[index % 4], |sum, round| std::hint::black_box(sum + round * 2))
}

/// Executes the cold part for large numbers only.
#[inline(never)]
pub fn checked(start: usize) -> usize {
    if start > 1000 {
        never(start)
    } else {
        looked_up(start)
    }
}
