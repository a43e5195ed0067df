//! Hartigan's dip: the distance of a sample from the nearest unimodal distribution.

/// The dip of sorted values, from `1/(2n)` to 1/4 (Hartigan & Hartigan 1985, section 2).
///
/// For a mode in a given interval of values, the best unimodal distribution is the greatest convex minorant of the
/// empirical one before it and the least concave majorant after it. The interval shrinks to the place where the two are
/// furthest apart, until that distance no longer exceeds the distance already found outside.
pub fn dip(sorted: &[f64]) -> f64 {
    let count = sorted.len();
    if count < 2 {
        return 0.5 / count.max(1) as f64;
    }
    let (mut low, mut high) = (0, count - 1);
    // In counts, and doubled: the least dip is the step of the empirical distribution at one value.
    let mut dip = 1.0_f64;
    loop {
        let minorant = Hull::new(sorted, low, high, false);
        let majorant = Hull::new(sorted, low, high, true);
        let (apart, [next_low, next_high]) = furthest(&minorant, &majorant);
        if apart <= dip {
            break;
        }
        dip = dip.max(minorant.exceeded(low, next_low)).max(majorant.exceeded(next_high, high));
        if (next_low, next_high) == (low, high) {
            break;
        }
        (low, high) = (next_low, next_high);
    }
    dip / (2.0 * count as f64)
}

/// One of the two curves between two indices, as the corners through which it passes.
struct Hull<'a> {
    values: &'a [f64],
    corners: Vec<usize>,
    /// The majorant lies on the upper ends of the steps.
    upper: bool,
}

impl<'a> Hull<'a> {
    fn new(values: &'a [f64], low: usize, high: usize, upper: bool) -> Self {
        let mut corners: Vec<usize> = vec![];
        for index in low..=high {
            while let [.., before, last] = corners[..] {
                // Twice the area of the triangle: positive if the last corner lies below the line.
                let area = (values[last] - values[before]) * (index - before) as f64
                    - (values[index] - values[before]) * (last - before) as f64;
                let bends = if upper { area < 0.0 } else { area > 0.0 };
                if bends {
                    break;
                }
                corners.pop();
            }
            corners.push(index);
        }
        Self { values, corners, upper }
    }

    /// The height of the curve at the value of an index, in counts.
    fn value_at(&self, index: usize) -> f64 {
        let after = self.corners.partition_point(|corner| *corner < index);
        let right = self.corners[after];
        let height = |corner: usize| corner as f64 + f64::from(u8::from(self.upper));
        if right == index {
            return height(index);
        }
        let left = self.corners[after - 1];
        let width = self.values[right] - self.values[left];
        let share =
            if width > 0.0 { (self.values[index] - self.values[left]) / width } else { 1.0 };
        height(left) + share * (right - left) as f64
    }

    /// The largest distance of the other ends of the steps from the curve, between two indices.
    fn exceeded(&self, from: usize, to: usize) -> f64 {
        let other = |index: usize| index as f64 + f64::from(u8::from(!self.upper));
        (from..=to).map(|index| (other(index) - self.value_at(index)).abs()).fold(0.0, f64::max)
    }
}

/// The largest distance of the two curves, and the corners between which the mode then lies.
fn furthest(minorant: &Hull<'_>, majorant: &Hull<'_>) -> (f64, [usize; 2]) {
    let mut best = (0.0, [0, 0]);
    for &corner in &minorant.corners {
        let apart = majorant.value_at(corner) - corner as f64;
        if apart > best.0 {
            let next = majorant.corners.partition_point(|other| *other < corner);
            best = (apart, [corner, majorant.corners[next]]);
        }
    }
    for &corner in &majorant.corners {
        let apart = corner as f64 + 1.0 - minorant.value_at(corner);
        if apart > best.0 {
            let next = minorant.corners.partition_point(|other| *other <= corner);
            best = (apart, [minorant.corners[next - 1], corner]);
        }
    }
    best
}

/// (P(more), value) of `dip · (√n + .75)` of n uniform numbers, which has nearly the same distribution for every n from
/// 50 on; from 3,000,000 samples of 400.
const UNIFORM: [(f64, f64); 19] = [
    (1.0, 0.0),
    (0.9, 0.2946),
    (0.7, 0.3411),
    (0.5, 0.3805),
    (0.3, 0.4267),
    (0.2, 0.4580),
    (0.1, 0.5055),
    (0.05, 0.5479),
    (0.02, 0.5991),
    (0.01, 0.6346),
    (0.005, 0.6679),
    (0.002, 0.7095),
    (0.001, 0.7387),
    (0.000_5, 0.7672),
    (0.000_2, 0.8029),
    (0.000_1, 0.8288),
    (0.000_05, 0.8570),
    (0.000_02, 0.8867),
    (0.000_01, 0.9030),
];

/// The probability of a dip this large in `count` values from a uniform distribution, the worst case of unimodal ones.
/// Accurate to a tenth of itself from 50 values on; smaller values than .00001 are .00001.
pub fn p_of_dip(dip: f64, count: usize) -> f64 {
    let statistic = dip * ((count as f64).sqrt() + 0.75);
    let above = UNIFORM.partition_point(|(_, value)| *value <= statistic).max(1);
    let (p, value) = UNIFORM[above - 1];
    let Some((next_p, next_value)) = UNIFORM.get(above) else { return p };
    // Interpolates on a logarithmic scale.
    p * (next_p / p).powf((statistic - value) / (next_value - value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Random;

    #[test]
    fn dip_is_least_for_a_uniform_grid() {
        for count in [2, 3, 10, 101] {
            let grid: Vec<f64> = (0..count).map(f64::from).collect();
            assert!((dip(&grid) - 0.5 / f64::from(count)).abs() < 1e-12, "{count}");
        }
        assert_eq!(dip(&[1.0]), 0.5);
    }

    #[test]
    fn dip_is_largest_for_two_equal_clusters() {
        let clusters: Vec<f64> = (0..50).map(|i| f64::from(i / 25) + 1e-9 * f64::from(i)).collect();
        assert!((dip(&clusters) - 0.25).abs() < 0.001, "{}", dip(&clusters));
    }

    /// The quality of 63 statistics departments: the published example, which has many ties.
    const FACULTY: [u8; 63] = [
        30, 33, 35, 36, 37, 37, 39, 39, 39, 39, 39, 40, 40, 40, 40, 41, 42, 43, 43, 43, 44, 44, 45,
        45, 46, 47, 47, 48, 48, 48, 49, 50, 50, 51, 52, 52, 53, 53, 53, 53, 53, 54, 54, 57, 57, 59,
        60, 60, 60, 61, 61, 61, 61, 62, 62, 62, 62, 63, 66, 70, 72, 72, 72,
    ];

    #[test]
    fn dip_matches_the_published_example() {
        assert!(
            (dip(&FACULTY.map(f64::from)) - 0.059_523_81).abs() < 1e-8,
            "{}",
            dip(&FACULTY.map(f64::from))
        );
    }

    #[test]
    fn p_of_dip_agrees_with_published_quantiles() {
        // Maechler's table (R package diptest, qDiptab), from 1,000,001 samples each.
        for (count, p, quantile) in [
            (50, 0.05, 0.070_273_8),
            (50, 0.001, 0.094_093_0),
            (100, 0.1, 0.047_152_8),
            (200, 0.5, 0.025_584_4),
            (200, 0.001, 0.049_719_8),
            (500, 0.01, 0.027_451_8),
            (1000, 0.0001, 0.025_612_7),
            (2000, 0.05, 0.012_038_1),
        ] {
            let obtained = p_of_dip(quantile, count);
            assert!((obtained / p - 1.0).abs() < 0.1, "{count} {p} {obtained}");
        }
        assert_eq!((p_of_dip(0.0, 100), p_of_dip(0.25, 100)), (1.0, 0.000_01));
    }

    #[test]
    fn p_of_dip_is_uniform_for_uniform_samples() {
        let mut random = Random::new(3);
        let mut least = 0;
        for _ in 0..2_000 {
            let mut values: Vec<f64> = (0..60).map(|_| random.unit()).collect();
            values.sort_by(f64::total_cmp);
            least += u32::from(p_of_dip(dip(&values), 60) < 0.1);
        }
        assert!((150..250).contains(&least), "{least}");
    }

    fn samples() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-100.0..100.0, 2..40).prop_map(|mut values| {
            values.sort_by(f64::total_cmp);
            values
        })
    }

    proptest! {
        #[test]
        fn dip_is_bounded_and_independent_of_scale_and_direction(
            values in samples(),
            scale in 0.01..100.0,
        ) {
            let dip_of = dip(&values);
            let n = values.len() as f64;
            prop_assert!(dip_of >= 0.5 / n - 1e-12 && dip_of <= 0.25 + 1e-12, "{dip_of}");
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            prop_assert!((dip(&scaled) - dip_of).abs() < 1e-9);
            let mirrored: Vec<f64> = values.iter().rev().map(|value| -value).collect();
            prop_assert!((dip(&mirrored) - dip_of).abs() < 1e-9);
        }
    }
}
