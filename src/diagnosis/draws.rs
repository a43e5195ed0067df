//! Draws variance components at random, which gives intervals of all numbers computed from them.
//!
//! Generalized inference (Weerahandi 1993): a mean square `S²` with `f` degrees of freedom about its expectation `θ` is
//! `θ χ²_f / f` for normal effects, so `S² f / χ²_f` is drawn in place of `θ`. The spread of the drawn components is
//! then the uncertainty of the observed ones.

use crate::stats::{Components, Levels, Random};

/// With this many draws, the ends of a 95 % interval are accurate to a tenth of its width or better.
const COUNT: usize = 2_000;

/// Draws the components `T²`; unknown levels stay unknown.
pub fn draws(components: &Components, random: &mut Random) -> Vec<Levels<Option<f64>>> {
    let Components { s, freedom, weights, .. } = components;
    let mut draw = |square: Option<f64>, freedom: f64| {
        square.map(|square| square * freedom / chi_squared(freedom, random))
    };
    let squares = (0..COUNT).map(|_| Levels {
        execution: draw(s.execution, freedom.execution),
        build: draw(s.build, freedom.build),
        version: draw(s.version, freedom.version),
    });
    squares.map(|squares| weights.unbiased(&squares)).collect()
}

/// A chi-squared number with `freedom` degrees of freedom, a whole number from 1 up: a square of a normal one,
/// or Marsaglia & Tsang 2000 of a gamma one.
fn chi_squared(freedom: f64, random: &mut Random) -> f64 {
    if freedom < 2.0 {
        return random.normal().powi(2);
    }
    let d = freedom / 2.0 - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = random.normal();
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - random.unit()).ln() < x * x / 2.0 + d - d * v + d * v.ln() {
            return 2.0 * d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Moments;

    #[test]
    fn chi_squared_has_the_right_mean_and_variance() {
        let mut random = Random::new(1);
        for freedom in [1.0, 2.0, 9.0, 90.0, 19_900.0] {
            let drawn: Vec<f64> = (0..20_000).map(|_| chi_squared(freedom, &mut random)).collect();
            let moments = Moments::compute(&drawn);
            let error = (2.0 * freedom / 20_000.0_f64).sqrt();
            assert!((moments.mean - freedom).abs() < 4.0 * error, "{freedom} {}", moments.mean);
            let variance = moments.variance().unwrap() / (2.0 * freedom);
            assert!((variance - 1.0).abs() < 0.15, "{freedom} {variance}");
        }
    }
}
