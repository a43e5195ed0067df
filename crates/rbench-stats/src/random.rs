//! The random generator of this crate: `ChaCha8`, with draws that never change.
//!
//! Seeds are printed, stored and typed in again, so a seed must mean the same on every platform and
//! with every future version. The cipher comes from `rand_chacha`; the sampling methods are here,
//! because the `rand` crate reserves the right to change its own between versions.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// 2^-53: the distance between two neighbouring values of [`Random::unit`].
const UNIT_STEP: f64 = 1.0 / 9_007_199_254_740_992.0;

/// A seeded generator: `ChaCha8` and the few draws that statistics and schedules need.
///
/// All draws but [`normal`](Self::normal) use integer arithmetic alone and are identical
/// everywhere. `normal` uses a logarithm, whose last bit depends on the platform's mathematics
/// library; only simulations use it.
#[derive(Clone, Debug)]
pub struct Random {
    cipher: ChaCha8Rng,
    spare_normal: Option<f64>,
}

impl Random {
    /// The generator of `seed`, stream 0.
    pub fn new(seed: u64) -> Self {
        Self::stream(seed, 0)
    }

    /// One of 2^64 independent streams of `seed`.
    ///
    /// The cipher's 256-bit key is the seed in its first eight bytes, little-endian, and zero
    /// elsewhere; its 64-bit nonce is `stream`. Two streams never share a block, so work that is
    /// split into numbered pieces gives the same result in any order and on any number of threads.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut cipher = ChaCha8Rng::from_seed(key);
        cipher.set_stream(stream);
        Self { cipher, spare_normal: None }
    }

    /// 64 uniform bits: two words of the key stream, the low one first.
    pub fn bits(&mut self) -> u64 {
        self.cipher.next_u64()
    }

    /// A uniform integer of `0..bound`; 0 if `bound` is 0.
    ///
    /// Lemire 2019, *Fast Random Integer Generation in an Interval*: the high half of
    /// `bits * bound`, rejecting the few low halves that would favour some results.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if low_half(product) < bound {
            let threshold = bound.wrapping_neg().checked_rem(bound).unwrap_or(0);
            while low_half(product) < threshold {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        high_half(product)
    }

    /// A uniform number of [0, 1): a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * UNIT_STEP
    }

    /// True with probability `probability`.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A standard normal number, by Marsaglia's polar method, which generates pairs.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare_normal = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// Puts `items` into a uniformly random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        let count = items.len();
        self.choose_front(items, count);
    }

    /// Moves `count` items, chosen without replacement and in random order, to the front of `items`
    /// and returns them: the first `count` steps of Fisher-Yates.
    ///
    /// Whatever order `items` had before, the choice is uniform; so one index permutation can be
    /// kept and chosen from again and again without being reset.
    pub(super) fn choose_front<'a, T>(&mut self, items: &'a mut [T], count: usize) -> &'a mut [T] {
        let count = count.min(items.len());
        for position in 0..count {
            let other = position + self.below(items.len() - position);
            items.swap(position, other);
        }
        &mut items[..count]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
fn low_half(product: u128) -> u64 {
    product as u64
}

#[expect(clippy::cast_possible_truncation, reason = "the high half is below a bound of type usize")]
fn high_half(product: u128) -> usize {
    (product >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These numbers must never change: seeds in stored experiments depend on them.
    #[test]
    fn seed_gives_the_same_numbers_for_ever() {
        let mut random = Random::new(1);
        let bits: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(
            bits,
            [7_037_237_572_835_827_407, 5_440_448_899_038_119_230, 14_725_191_807_199_933_458]
        );
        let mut random = Random::stream(42, 7);
        let below: Vec<usize> = (0..8).map(|_| random.below(1000)).collect();
        assert_eq!(below, [185, 580, 945, 734, 862, 370, 428, 629]);
        let mut items: Vec<u32> = (0..10).collect();
        Random::new(2006).shuffle(&mut items);
        assert_eq!(items, [5, 2, 1, 7, 8, 4, 6, 9, 0, 3]);
    }

    /// `ChaCha8` of the all-zero key and nonce, as published with the eSTREAM test vectors.
    #[test]
    fn cipher_is_chacha8() {
        let first = Random::new(0).bits().to_le_bytes();
        assert_eq!(first, [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]);
    }

    #[test]
    fn streams_of_one_seed_differ() {
        assert_ne!(Random::stream(5, 0).bits(), Random::stream(5, 1).bits());
        assert_ne!(Random::stream(5, 0).bits(), Random::stream(6, 0).bits());
    }

    #[test]
    fn below_reaches_every_value_equally_often() {
        let mut random = Random::new(3);
        let mut counts = [0_i32; 6];
        for _ in 0..60_000 {
            counts[random.below(6)] += 1;
        }
        // Standard deviation of a count: sqrt(60000 * 5 / 36) = 91.
        assert!(counts.iter().all(|count| (count - 10_000).abs() < 4 * 91), "{counts:?}");
        assert_eq!(random.below(1), 0);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn unit_stays_below_one_and_has_the_right_mean() {
        let mut random = Random::new(4);
        let values: Vec<f64> = (0..40_000).map(|_| random.unit()).collect();
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = values.iter().sum::<f64>() / 40_000.0;
        // Standard error: sqrt(1/12 / 40000) = .00144.
        assert!((mean - 0.5).abs() < 4.0 * 0.001_44, "{mean}");
    }

    #[test]
    fn normal_has_the_moments_of_the_normal_distribution() {
        let mut random = Random::new(5);
        let count = 100_000;
        let values: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        let moment = |power: i32| values.iter().map(|z| z.powi(power)).sum::<f64>() / 1e5;
        // Standard errors over 100,000: z^1 .0032, z^2 .0045, z^3 .0122, z^4 .031.
        assert!(moment(1).abs() < 4.0 * 0.0032);
        assert!((moment(2) - 1.0).abs() < 4.0 * 0.0045);
        assert!(moment(3).abs() < 4.0 * 0.0122);
        assert!((moment(4) - 3.0).abs() < 4.0 * 0.031);
    }

    #[test]
    fn choose_front_is_uniform_without_repetition() {
        let mut random = Random::new(6);
        let mut items = [0, 1, 2, 3];
        let mut pairs = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let chosen = random.choose_front(&mut items, 2);
            assert_ne!(chosen[0], chosen[1]);
            *pairs.entry((chosen[0], chosen[1])).or_insert(0_i32) += 1;
        }
        // 12 ordered pairs, 2000 each; standard deviation 42.8.
        assert_eq!(pairs.len(), 12);
        assert!(pairs.values().all(|count| (count - 2000).abs() < 4 * 43), "{pairs:?}");
    }

    #[test]
    fn choose_front_of_too_many_gives_everything() {
        let mut items = [1, 2, 3];
        let mut chosen = Random::new(7).choose_front(&mut items, 9).to_vec();
        chosen.sort_unstable();
        assert_eq!(chosen, [1, 2, 3]);
    }
}
