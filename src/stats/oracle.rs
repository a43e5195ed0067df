//! How many iterations a measurement needs for the clock's sake: Chen & Revels 2016, Algorithm 1.

/// `τ_acc`: an upper bound on the error of the clock, in nanoseconds.
const ACCURACY: f64 = 1000.0;

/// `τ_prec`: the resolution of the clock, in nanoseconds.
const PRECISION: f64 = 1.0;

/// j: with more repetitions than this, the error of the clock is below its resolution.
const MOST: f64 = 1000.0;

/// ν(t), equation (11), with `a = 0.009 / τ_prec` and `b = 0.5`: about 1,000 iterations for a routine of no time
/// at all, falling to 1 as `t` (nanoseconds for an iteration) passes the accuracy of the clock. What
/// `rbench-harness` tunes by, before it raises iterations to the floor.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 1..=1000")]
pub fn oracle(t: f64) -> u64 {
    let logistic = 1.0 + (MOST - 1.0) / (1.0 + (0.009 / PRECISION * (t - 0.5 * ACCURACY)).exp());
    logistic.floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_falls_from_a_thousand_to_one() {
        assert_eq!([0.0, 500.0, 1000.0, 1e6, 1e12].map(oracle), [989, 500, 11, 1, 1]);
    }
}
