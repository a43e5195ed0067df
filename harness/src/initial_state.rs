//! Draws the initial state of a process from a seed: the start addresses of its stack and its heap.
//!
//! The addresses of data affect speed, and in production they differ from start to start. A seed samples them, and
//! gives two versions of a program the same draw.

use std::hint::black_box;

/// Calls `body` with the stack and the heap shifted by amounts drawn from `seed`; without a seed, nothing is shifted.
pub(crate) fn with_initial_state(seed: Option<u64>, body: &mut dyn FnMut()) {
    let Some(mut state) = seed else { return body() };
    let heap_blocks: Vec<Vec<u8>> =
        (0..4).map(|_| Vec::with_capacity(16 * low_bits(split_mix(&mut state), 8))).collect();
    black_box(&heap_blocks);
    with_stack_shift(low_bits(split_mix(&mut state), 8), body);
    drop(heap_blocks);
}

/// Runs `body` with the stack shifted by `16 * units` bytes, 0 ≤ units < 256. Each bit adds a frame whose size is a
/// power of two: so any offset is possible without `alloca`, which is unsafe.
fn with_stack_shift(units: usize, body: &mut dyn FnMut()) {
    through::<16>(units & 1 != 0, &mut || {
        through::<32>(units & 2 != 0, &mut || {
            through::<64>(units & 4 != 0, &mut || {
                through::<128>(units & 8 != 0, &mut || {
                    through::<256>(units & 16 != 0, &mut || {
                        through::<512>(units & 32 != 0, &mut || {
                            through::<1024>(units & 64 != 0, &mut || {
                                through::<2048>(units & 128 != 0, &mut || body());
                            });
                        });
                    });
                });
            });
        });
    });
}

/// Calls `body` with `SIZE` more bytes on the stack if `wide`.
fn through<const SIZE: usize>(wide: bool, body: &mut dyn FnMut()) {
    if wide { frame::<SIZE>(body) } else { frame::<0>(body) }
}

#[inline(never)]
fn frame<const SIZE: usize>(body: &mut dyn FnMut()) {
    let filler = [0_u8; SIZE];
    black_box(&filler);
    body();
    // Used again afterwards, so that the frame cannot be freed before the call.
    black_box(&filler);
}

/// The lowest `bits` bits of a draw.
fn low_bits(draw: u64, bits: u32) -> usize {
    usize::try_from(draw & ((1 << bits) - 1)).unwrap_or(0)
}

/// The generator `SplitMix64` (Steele, Lea & Flood 2014). A seed gives the same draws on every machine, and must always
/// do so.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn stack_address() -> usize {
        let here = 0_u8;
        std::ptr::from_ref(black_box(&here)).addr()
    }

    fn shifted_by(units: usize) -> usize {
        let mut address = 0;
        with_stack_shift(units, &mut || address = stack_address());
        address
    }

    #[test]
    fn split_mix_gives_the_published_sequence() {
        let mut state = 1_234_567;
        let draws = [(); 3].map(|()| split_mix(&mut state));
        assert_eq!(
            draws,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn each_unit_shifts_the_stack() {
        let none = shifted_by(0);
        for bit in 0..8 {
            let units = 1 << bit;
            assert!(none - shifted_by(units) >= 16 * units, "units {units}");
        }
        assert!(none - shifted_by(255) >= 16 * 255);
    }

    #[test]
    fn stack_address_depends_only_on_the_seed() {
        let address = |seed| {
            let mut address = 0;
            with_initial_state(seed, &mut || address = stack_address());
            address
        };
        assert_eq!(address(Some(1)), address(Some(1)));
        let mut all: Vec<usize> = (0..20).map(|seed| address(Some(seed))).collect();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 10, "{all:?}");
        assert!(address(None) > all[0], "without a seed nothing is shifted");
    }
}
