//! Exact division of a weighted series into segments of constant level. Pure.
//!
//! # Method
//!
//! Minimises `Σ (Σ w (x − mean of its segment)² + penalty)` over all divisions into segments of at least `shortest`
//! values, by optimal partitioning (Jackson et al. 2005): the best division of the first `t` values ends with some
//! segment `s..t` after the best division of the first `s`.
//!
//! PELT (Killick, Fearnhead & Eckley 2012) drops starts `s` that can never be best again, which makes the time linear
//! if changes are frequent. With few changes, as in most histories, it drops nothing and the time stays quadratic. So
//! starts are dropped *functionally* here (Maidstone et al. 2017): a start is kept as long as there is any level `μ` of
//! the last segment for which it is best. With the squared cost, the extra cost of start `s` over start `r` at a level
//! `μ` is the same at every later end, and a parabola in `μ`: the younger start is better outside of its two roots. So
//! the levels for which a start is best only ever shrink. Rarely more than a few dozen pieces of them are left, however
//! long the series is.

/// A series as sums of its first values, which give the cost of every segment at once.
#[derive(Clone, Debug)]
pub struct Sums {
    /// Subtracted from every value, so that squares stay small.
    center: f64,
    /// `Σ w`, `Σ w x` and `Σ w x²` of the first values.
    prefix: Vec<[f64; 3]>,
    /// Levels below and above all values, centred.
    range: [f64; 2],
}

/// The levels for which one start is the best.
#[derive(Clone, Copy)]
struct Piece {
    low: f64,
    high: f64,
    start: usize,
    /// The cost of the start at level `μ`, without the terms common to all starts: `a + 2 b μ − c μ²`.
    coefficients: [f64; 3],
}

impl Sums {
    /// Sums equally many values and positive weights.
    pub fn new(values: &[f64], weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let center = values.iter().zip(weights).map(|(x, w)| w * x).sum::<f64>() / total;
        let center = if center.is_finite() { center } else { 0.0 };
        let mut prefix = Vec::with_capacity(values.len() + 1);
        let mut sums = [0.0; 3];
        let mut range = [f64::INFINITY, f64::NEG_INFINITY];
        prefix.push(sums);
        for (value, weight) in values.iter().zip(weights) {
            let x = value - center;
            sums = [sums[0] + weight, sums[1] + weight * x, sums[2] + weight * x * x];
            prefix.push(sums);
            range = [range[0].min(x), range[1].max(x)];
        }
        // Wider than the values, which may all be equal: a start that is best for a single level is dropped.
        let margin = 1.0 + (range[1] - range[0]).max(0.0);
        Self { center, prefix, range: [range[0] - margin, range[1] + margin] }
    }

    pub fn len(&self) -> usize {
        self.prefix.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `Σ w (x − mean)²` of the values of `start..end`; 0 if there is none.
    pub fn cost(&self, start: usize, end: usize) -> f64 {
        let [weight, sum, squares] = self.between(start, end);
        if weight > 0.0 { (squares - sum * sum / weight).max(0.0) } else { 0.0 }
    }

    /// The weighted mean of the values of `start..end`.
    pub fn mean(&self, start: usize, end: usize) -> f64 {
        let [weight, sum, _] = self.between(start, end);
        self.center + sum / weight
    }

    /// The sum of the weights of `start..end`.
    pub fn weight(&self, start: usize, end: usize) -> f64 {
        self.between(start, end)[0]
    }

    /// The changes of level: the indices at which new segments start, ascending.
    pub fn divide(&self, penalty: f64, shortest: usize) -> Vec<usize> {
        let (count, shortest) = (self.len(), shortest.max(1));
        if count < 2 * shortest {
            return Vec::new();
        }
        let mut best = vec![f64::INFINITY; count + 1];
        best[0] = 0.0;
        let mut last = vec![0; count + 1];
        let mut pieces = Vec::new();
        let mut scratch = Vec::new();
        for end in shortest..=count {
            let start = end - shortest;
            if best[start].is_finite() {
                let [weight, sum, squares] = self.prefix[start];
                let coefficients = [best[start] - squares, sum, weight];
                insert(&mut pieces, &mut scratch, start, coefficients, self.range);
            }
            let [weight, sum, squares] = self.prefix[end];
            let mut least = f64::INFINITY;
            for piece in &pieces {
                let [a, b, c] = piece.coefficients;
                let (weight, sum) = (weight - c, sum - b);
                let level = (sum / weight).max(piece.low).min(piece.high);
                let cost = a + level * (weight * level - 2.0 * sum);
                if cost < least {
                    (least, last[end]) = (cost, piece.start);
                }
            }
            best[end] = least + squares + penalty;
        }
        let mut changes = Vec::new();
        let mut at = last[count];
        while at > 0 {
            changes.push(at);
            at = last[at];
        }
        changes.reverse();
        changes
    }

    fn between(&self, start: usize, end: usize) -> [f64; 3] {
        let (before, after) = (self.prefix[start], self.prefix[end]);
        [after[0] - before[0], after[1] - before[1], after[2] - before[2]]
    }
}

/// Gives the new start the levels for which it is better than all before it.
fn insert(
    pieces: &mut Vec<Piece>,
    scratch: &mut Vec<Piece>,
    start: usize,
    coefficients: [f64; 3],
    [low, high]: [f64; 2],
) {
    if pieces.is_empty() {
        pieces.push(Piece { low, high, start, coefficients });
        return;
    }
    scratch.clear();
    let give = |from: f64, to: f64, pieces: &mut Vec<Piece>| match pieces.last_mut() {
        Some(before) if before.start == start => before.high = to,
        _ => pieces.push(Piece { low: from, high: to, start, coefficients }),
    };
    for piece in &*pieces {
        let [a, b, c] =
            [0, 1, 2].map(|index: usize| coefficients[index] - piece.coefficients[index]);
        // The new one costs a + 2 b μ − c μ² more, which is positive between the roots only.
        let discriminant = b * b + a * c;
        let [from, to] = if discriminant > 0.0 {
            let root = discriminant.sqrt();
            [((b - root) / c).max(piece.low), ((b + root) / c).min(piece.high)]
        } else {
            [f64::INFINITY, f64::NEG_INFINITY]
        };
        if from < to {
            if from > piece.low {
                give(piece.low, from, scratch);
            }
            scratch.push(Piece { low: from, high: to, ..*piece });
            if to < piece.high {
                give(to, piece.high, scratch);
            }
        } else {
            give(piece.low, piece.high, scratch);
        }
    }
    std::mem::swap(pieces, scratch);
}

/// The start and the end of each segment of `count` values that begins at 0 or at a change.
pub fn segments(count: usize, changes: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let ends = changes.iter().copied().chain([count]);
    [0].into_iter().chain(changes.iter().copied()).zip(ends)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The least total over every division, by exhaustive search.
    fn by_trying(sums: &Sums, penalty: f64, shortest: usize) -> f64 {
        let count = sums.len();
        let divisions = (0..1_u32 << (count - 1)).map(|chosen| {
            (1..count).filter(|index| chosen >> (index - 1) & 1 == 1).collect::<Vec<_>>()
        });
        divisions
            .filter(|changes| lengths(count, changes).iter().all(|length| *length >= shortest))
            .map(|changes| total(sums, &changes, penalty))
            .fold(f64::INFINITY, f64::min)
    }

    fn lengths(count: usize, changes: &[usize]) -> Vec<usize> {
        segments(count, changes).map(|(start, end)| end - start).collect()
    }

    fn total(sums: &Sums, changes: &[usize], penalty: f64) -> f64 {
        let cost = |(start, end)| sums.cost(start, end) + penalty;
        segments(sums.len(), changes).map(cost).sum::<f64>() - penalty
    }

    fn divide(values: &[f64], penalty: f64, shortest: usize) -> Vec<usize> {
        Sums::new(values, &vec![1.0; values.len()]).divide(penalty, shortest)
    }

    /// asv finds [3, 6, 9] and [9]: it names the ends of segments, and so the length of the series too. Its cost is the
    /// sum of absolute distances, and segments of one value are allowed; neither matters here: the total without a
    /// change is 6 by either cost, and two changes are worth 6 > 2 · .1 but not 2 · 8.
    #[test]
    fn divide_finds_asvs_steps_only_with_a_small_penalty() {
        let values = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0];
        assert_eq!(divide(&values, 0.1, 2), [3, 6]);
        assert_eq!(divide(&values, 8.0, 2), [] as [usize; 0]);
    }

    #[test]
    fn divide_of_a_short_series_has_no_change() {
        for count in 0..4 {
            let values: Vec<f64> = (0..count).map(f64::from).collect();
            assert_eq!(divide(&values, 0.0, 2), [] as [usize; 0]);
        }
        assert_eq!(divide(&[0.0, 0.0, 9.0, 9.0], 1.0, 2), [2]);
    }

    #[test]
    fn divide_ignores_a_value_of_little_weight() {
        let values = [0.0, 0.0, 100.0, 0.0, 0.0, 5.0, 5.0, 5.0];
        let mut weights = [1.0; 8];
        weights[2] = 1e-6;
        let sums = Sums::new(&values, &weights);
        assert_eq!(sums.divide(2.0, 2), [5]);
        assert!(sums.mean(0, 5) < 1e-4);
    }

    proptest! {
        #[test]
        fn divide_is_optimal(
            pairs in prop::collection::vec((0.0..10.0, 0.01..5.0), 1..12),
            penalty in 0.01..30.0,
            shortest in 1..4usize,
        ) {
            let (values, weights): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let sums = Sums::new(&values, &weights);
            let changes = sums.divide(penalty, shortest);
            if values.len() >= shortest {
                prop_assert!(lengths(values.len(), &changes).iter().all(|length| *length >= shortest));
                let best = by_trying(&sums, penalty, shortest);
                prop_assert!((total(&sums, &changes, penalty) - best).abs() < 1e-8);
            }
        }

        #[test]
        fn divide_accepts_equal_values(
            values in prop::collection::vec(0..3, 1..12),
            penalty in 0.01..3.0,
            shortest in 1..4usize,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let sums = Sums::new(&values, &vec![1.0; values.len()]);
            let changes = sums.divide(penalty, shortest);
            if values.len() >= shortest {
                let best = by_trying(&sums, penalty, shortest);
                prop_assert!((total(&sums, &changes, penalty) - best).abs() < 1e-8);
            }
        }
    }
}
