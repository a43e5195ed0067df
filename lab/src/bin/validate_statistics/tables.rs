//! Exactly computed values: t quantiles.

use rbench_stats::distribution::t_quantile;

use super::sheet::{Sheet, Target};

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
