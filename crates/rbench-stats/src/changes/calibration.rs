//! Calibrates the penalty for a change in a series, and converts the highest penalty at which a series has one into a p
//! value.
//!
//! Simulated: independent normal values without a change, of equal variances. `lab/src/bin/change_points` draws the
//! tables, from up to a million series a row, and `lab/src/bin/validate_statistics` checks them. Two margins are added:
//! 1 % to the prices of 5 %, to cover the simulation's own error; and from 1,000 versions on, where fewer series are
//! drawn, prices of .1 and .01 % that are at least 4.6 apart for each factor of ten.

/// Larger p values are all reported as 1: the series looks like one without a change.
pub const LARGEST_P: f64 = 0.05;

/// The smallest p value: the simulation and the normal distribution are not trusted below it.
const SMALLEST_P: f64 = 1e-6;

/// The levels of the columns of the tables.
const LEVELS: [f64; 4] = [0.05, 0.01, 0.001, 0.0001];

/// The source of the noise estimate of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// The standard errors alone: all values are of one session.
    Known,
    /// The differences between values of different sessions.
    Estimated,
}

/// Numbers of versions, and the prices at which the shares [`LEVELS`] of series without a change have one.
type Table = [(usize, [f64; 4])];

const KNOWN: &Table = &[
    (5, [4.84, 7.75, 12.07, 16.56]),
    (6, [5.44, 8.39, 12.90, 17.46]),
    (7, [5.85, 8.86, 13.28, 18.06]),
    (8, [6.19, 9.22, 13.87, 18.76]),
    (10, [6.66, 9.73, 14.45, 19.35]),
    (12, [7.01, 10.10, 14.69, 20.12]),
    (14, [7.31, 10.41, 15.14, 20.18]),
    (17, [7.62, 10.75, 15.39, 20.56]),
    (20, [7.88, 11.00, 15.81, 20.99]),
    (25, [8.19, 11.34, 16.16, 21.44]),
    (30, [8.45, 11.60, 16.49, 21.40]),
    (40, [8.82, 11.93, 16.98, 21.92]),
    (60, [9.29, 12.46, 17.39, 23.03]),
    (100, [9.87, 12.94, 17.64, 23.47]),
    (200, [10.54, 13.58, 18.71, 22.65]),
    (500, [11.46, 14.38, 18.55, 22.91]),
    (1000, [12.22, 15.02, 19.97, 24.40]),
    (3000, [13.33, 16.26, 21.00, 25.60]),
    (10_000, [14.90, 17.30, 21.90, 26.50]),
];

const ESTIMATED: &Table = &[
    (5, [6.47, 11.22, 16.96, 18.96]),
    (6, [8.42, 19.95, 67.80, 237.88]),
    (7, [8.28, 18.09, 48.99, 116.07]),
    (8, [8.42, 17.29, 41.65, 93.10]),
    (10, [9.06, 17.33, 38.16, 73.07]),
    (12, [9.52, 17.48, 36.46, 69.87]),
    (14, [9.61, 16.88, 33.09, 58.53]),
    (17, [9.85, 16.65, 31.50, 52.38]),
    (20, [9.98, 16.33, 29.70, 48.66]),
    (25, [10.06, 15.91, 27.50, 43.64]),
    (30, [10.18, 15.54, 26.17, 40.62]),
    (40, [10.22, 14.99, 23.95, 34.54]),
    (60, [10.40, 14.72, 22.02, 31.99]),
    (100, [10.66, 14.42, 20.60, 27.70]),
    (200, [11.09, 14.49, 20.28, 26.92]),
    (500, [11.72, 14.70, 19.09, 23.54]),
    (1000, [12.36, 15.25, 20.66, 24.40]),
    (3000, [13.42, 16.37, 21.00, 25.60]),
    (10_000, [14.90, 17.30, 21.90, 26.50]),
];

impl Noise {
    fn table(self) -> &'static Table {
        match self {
            Self::Known => KNOWN,
            Self::Estimated => ESTIMATED,
        }
    }

    /// The price at which a share `level` of series of `versions` versions without a change has one.
    pub(super) fn price(self, level: f64, versions: usize) -> f64 {
        let row = self.row(versions);
        // The logarithm of a level is nearly linear in the price.
        let depth = |level: f64| -level.max(SMALLEST_P).ln();
        let last = LEVELS.len() - 2;
        let column = (0..last).find(|column| level >= LEVELS[column + 1]).unwrap_or(last);
        let [from, to] = [column, column + 1].map(|column| depth(LEVELS[column]));
        row[column] + (row[column + 1] - row[column]) * (depth(level) - from) / (to - from)
    }

    /// The share of series of `versions` versions without a change that have one at this price.
    pub(super) fn p(self, price: f64, versions: usize) -> f64 {
        let row = self.row(versions);
        let last = LEVELS.len() - 2;
        let column = (0..last).find(|column| price <= row[column + 1]).unwrap_or(last);
        let share = (price - row[column]) / (row[column + 1] - row[column]);
        let [from, to] = [column, column + 1].map(|column| LEVELS[column].ln());
        let p = (from + share * (to - from)).exp();
        if p > LARGEST_P * (1.0 + 1e-9) { 1.0 } else { p.max(SMALLEST_P) }
    }

    /// The prices for `versions` versions, interpolated between the rows of the table by the logarithm of their
    /// numbers.
    fn row(self, versions: usize) -> [f64; 4] {
        let table = self.table();
        let above = table.iter().position(|(count, _)| versions <= *count);
        match above {
            None => table[table.len() - 1].1,
            Some(0) => table[0].1,
            Some(above) => {
                let ((low, below), (high, above)) = (table[above - 1], table[above]);
                let [low, high, at] = [low, high, versions].map(|count| (count as f64).ln());
                let share = (at - low) / (high - low);
                std::array::from_fn(|column| {
                    below[column] + share * (above[column] - below[column])
                })
            }
        }
    }
}
