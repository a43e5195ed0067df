//! The price of a change, and what the highest price at which a series has one says.
//!
//! Simulated: independent normal values without a change, of equal variances. `studies/change_points` draws the
//! tables, and `studies/validate_statistics` checks them.

/// Larger p values are not told apart: the series is like one without a change.
pub const LARGEST_P: f64 = 0.05;

/// No p value is smaller: that much is simulated, and so far normal distributions are believed.
const SMALLEST_P: f64 = 1e-6;

/// The levels of the columns of the tables.
const LEVELS: [f64; 4] = [0.05, 0.01, 0.001, 0.0001];

/// How the noise of a series is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// By standard errors alone: all values are of one session.
    Known,
    /// By what the values of different sessions differ.
    Estimated,
}

/// Numbers of versions, and the prices at which a share of series without a change has one.
type Table = [(usize, [f64; 4])];

const KNOWN: &Table = &[
    (5, [4.76, 7.68, 11.98, 16.23]),
    (6, [5.32, 8.29, 12.65, 17.17]),
    (7, [5.77, 8.77, 13.18, 17.61]),
    (8, [6.08, 9.11, 13.50, 18.04]),
    (10, [6.56, 9.66, 14.00, 18.57]),
    (12, [6.90, 10.03, 14.52, 18.89]),
    (14, [7.16, 10.25, 14.88, 19.16]),
    (17, [7.47, 10.60, 15.00, 19.49]),
    (20, [7.73, 10.87, 15.38, 19.72]),
    (25, [8.03, 11.16, 15.85, 20.41]),
    (30, [8.28, 11.40, 15.81, 20.61]),
    (40, [8.62, 11.81, 16.41, 21.66]),
    (60, [9.13, 12.26, 16.84, 22.14]),
    (100, [9.60, 12.71, 17.39, 22.34]),
    (200, [10.30, 13.48, 18.17, 22.20]),
    (500, [11.05, 13.99, 17.73, 21.83]),
    (1000, [11.77, 14.48, 18.80, 23.20]),
    (3000, [12.64, 15.30, 19.70, 24.20]),
    (10_000, [13.82, 16.30, 20.60, 25.10]),
];

const ESTIMATED: &Table = &[
    (5, [6.36, 11.24, 16.86, 18.95]),
    (6, [8.34, 19.71, 65.90, 210.45]),
    (7, [8.11, 18.11, 49.00, 126.10]),
    (8, [8.24, 17.13, 42.13, 97.28]),
    (10, [8.90, 17.01, 37.31, 74.77]),
    (12, [9.27, 17.10, 35.36, 66.91]),
    (14, [9.37, 16.47, 32.24, 56.08]),
    (17, [9.61, 16.24, 30.06, 51.12]),
    (20, [9.71, 15.80, 27.88, 44.94]),
    (25, [9.81, 15.52, 26.01, 40.42]),
    (30, [9.90, 15.10, 24.19, 36.71]),
    (40, [9.96, 14.67, 23.00, 32.30]),
    (60, [10.18, 14.34, 21.37, 29.89]),
    (100, [10.38, 14.15, 20.14, 25.78]),
    (200, [10.80, 14.23, 19.65, 25.15]),
    (500, [11.34, 14.31, 18.45, 23.65]),
    (1000, [11.94, 14.69, 19.10, 23.60]),
    (3000, [12.69, 15.37, 19.80, 24.30]),
    (10_000, [13.85, 16.35, 20.60, 25.10]),
];

impl Noise {
    fn table(self) -> &'static Table {
        match self {
            Self::Known => KNOWN,
            Self::Estimated => ESTIMATED,
        }
    }

    /// The price at which that share of series of so many versions without a change has one.
    pub(super) fn price(self, level: f64, versions: usize) -> f64 {
        let row = self.row(versions);
        // The logarithm of a level is nearly a straight line of the price.
        let depth = |level: f64| -level.max(SMALLEST_P).ln();
        let last = LEVELS.len() - 2;
        let column = (0..last).find(|column| level >= LEVELS[column + 1]).unwrap_or(last);
        let [from, to] = [column, column + 1].map(|column| depth(LEVELS[column]));
        row[column] + (row[column + 1] - row[column]) * (depth(level) - from) / (to - from)
    }

    /// The share of series of so many versions without a change that have one at this price.
    pub(super) fn p(self, price: f64, versions: usize) -> f64 {
        let row = self.row(versions);
        let last = LEVELS.len() - 2;
        let column = (0..last).find(|column| price <= row[column + 1]).unwrap_or(last);
        let share = (price - row[column]) / (row[column + 1] - row[column]);
        let [from, to] = [column, column + 1].map(|column| LEVELS[column].ln());
        let p = (from + share * (to - from)).exp();
        if p > LARGEST_P * (1.0 + 1e-9) { 1.0 } else { p.max(SMALLEST_P) }
    }

    /// The prices for so many versions, between the rows of the table by the logarithm of their numbers.
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
