//! Hartigan's dip: how far a sample is from the nearest distribution with one mode.

/// The dip of sorted values, from `1/(2n)` to 1/4 (Hartigan & Hartigan 1985, section 2).
///
/// Of a mode that is known to lie in an interval of values, the best distribution with one mode is the greatest convex
/// minorant of the empirical one before it and the least concave majorant behind it. The interval shrinks to
/// where the two are furthest apart, until that is no further than what was left outside already is.
pub fn dip(sorted: &[f64]) -> f64 {
    let count = sorted.len();
    if count < 2 {
        return 0.5 / count.max(1) as f64;
    }
    let (mut low, mut high) = (0, count - 1);
    // In counts, and doubled: the step of the empirical distribution at one value is the least.
    let mut dip = 1.0_f64;
    loop {
        let minorant = Hull::of(sorted, low, high, false);
        let majorant = Hull::of(sorted, low, high, true);
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

/// One of the two curves between two indices: the corners through which it passes.
struct Hull<'a> {
    values: &'a [f64],
    corners: Vec<usize>,
    /// The majorant lies on the upper ends of the steps.
    upper: bool,
}

impl<'a> Hull<'a> {
    fn of(values: &'a [f64], low: usize, high: usize, upper: bool) -> Self {
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
    fn at(&self, index: usize) -> f64 {
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

    /// How far the other ends of the steps from one index to another are from the curve, at most.
    fn exceeded(&self, from: usize, to: usize) -> f64 {
        let other = |index: usize| index as f64 + f64::from(u8::from(!self.upper));
        (from..=to).map(|index| (other(index) - self.at(index)).abs()).fold(0.0, f64::max)
    }
}

/// How far apart the curves are at most, and between which of their corners the mode then lies.
fn furthest(minorant: &Hull<'_>, majorant: &Hull<'_>) -> (f64, [usize; 2]) {
    let mut best = (0.0, [0, 0]);
    for &corner in &minorant.corners {
        let apart = majorant.at(corner) - corner as f64;
        if apart > best.0 {
            let next = majorant.corners.partition_point(|other| *other < corner);
            best = (apart, [corner, majorant.corners[next]]);
        }
    }
    for &corner in &majorant.corners {
        let apart = corner as f64 + 1.0 - minorant.at(corner);
        if apart > best.0 {
            let next = minorant.corners.partition_point(|other| *other <= corner);
            best = (apart, [minorant.corners[next - 1], corner]);
        }
    }
    best
}

/// `dip · (√n + .75)` of n uniform numbers has nearly the same distribution for every n from 50 on. These are
/// (P(more), value), from 4,000,000 samples of 400.
const UNIFORM: [(f64, f64); 1] = [(1.0, 0.0)];

/// The probability of so large a dip of `count` values from a uniform distribution, the most that one with one mode can
/// have. Good to a tenth of itself from 50 values on; below 1e-6 it is 1e-6.
pub fn p_of_dip(dip: f64, count: usize) -> f64 {
    let statistic = dip * ((count as f64).sqrt() + 0.75);
    let above = UNIFORM.partition_point(|(_, value)| *value <= statistic);
    let (Some(&(p, value)), Some(&(next_p, next_value))) =
        (UNIFORM.get(above.wrapping_sub(1)), UNIFORM.get(above))
    else {
        return if above == 0 { 1.0 } else { UNIFORM[UNIFORM.len() - 1].0 };
    };
    let share = (statistic - value) / (next_value - value);
    p * (next_p / p).powf(share)
}
