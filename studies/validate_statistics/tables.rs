//! What is computed exactly: smallest p values of the permutation test, t quantiles.

use cargo_rbench::stats::{Permutation, Random, distribution::t_quantile};

use super::sheet::{Sheet, Target};

/// `2 / C(2l, l)`, which the most extreme split reaches.
pub fn permutation(sheet: &mut Sheet) {
    let table = [
        (3, 0.1, 1e-3),
        (4, 0.0286, 1e-4),
        (5, 0.0079, 1e-4),
        (6, 0.0022, 1e-4),
        (7, 0.00058, 1e-5),
        (8, 0.000_155, 1e-6),
    ];
    for (builds, expected, unit) in table {
        // Any two groups that do not overlap are the most extreme split of all values.
        let low: Vec<f64> = (0..builds).map(|k| 1.0 + 0.001 * f64::from(k * k)).collect();
        let high: Vec<f64> = low.iter().map(|value| value + 1.0).collect();
        let p = Permutation::splits(&low, &high, &mut Random::new(1)).p;
        let check = format!("permutation, smallest p, l={builds}");
        sheet.exact(check, Target::Rounded(expected, unit), p);
    }
}

/// The published quantiles of Student's t.
pub fn t_quantiles(sheet: &mut Sheet) {
    let table = [
        (0.975, 1.0, 12.706_205),
        (0.975, 2.0, 4.302_653),
        (0.975, 2.5, 3.574_655),
        (0.975, 4.0, 2.776_445),
        (0.975, 4.7, 2.620_726),
        (0.975, 9.0, 2.262_157),
        (0.975, 11.3, 2.193_877),
        (0.975, 17.9, 2.101_764),
        (0.975, 58.0, 2.001_717),
        (0.995, 4.0, 4.604_095),
        (0.995, 9.0, 3.249_836),
        (0.995, 18.0, 2.878_440),
    ];
    for (probability, df, expected) in table {
        let check = format!("t quantile, {probability}, {df} degrees of freedom");
        let obtained = t_quantile(probability, df);
        sheet.exact(check, Target::Rounded(expected, 1e-6), obtained);
    }
}
