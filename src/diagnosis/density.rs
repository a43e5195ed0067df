//! Density curves of the executions: a Gaussian kernel, as in the figures of Gil et al. 2011.

/// How wide the kernel is: `h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bandwidth {
    /// One for all curves, as in the paper's figures: `h = min_i σ_i (4 / (3 r))^{1/5}`.
    Common,
    /// For each curve its own, the best for normal data: `h_i = σ_i (4 / (3 r_i))^{1/5}`.
    Own,
}

/// One curve for each execution, over one grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Densities {
    /// How the width was chosen.
    pub bandwidth: Bandwidth,
    /// `h` of each curve, in the metric's unit.
    pub widths: Vec<f64>,
    /// Where the curves are given, ascending in equal steps, in the metric's unit. The slowest measurements
    /// may lie beyond its end.
    pub grid: Vec<f64>,
    /// The density of each execution at the grid's points, per unit of the metric; in the order of the
    /// builds and their rounds.
    pub curves: Vec<Vec<f64>>,
}
