//! Lists the executions of a benchmark.

use schemars::JsonSchema;
use serde::Serialize;

use super::InsufficientData;
use crate::Measurements;

/// The place of an execution in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Position {
    /// The layout seed of its build.
    pub seed: u64,
    /// The index of its execution within the build, from 0.
    pub round: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    pub position: Position,
    /// The index of its build.
    pub build: usize,
    /// The measurements in the order of time.
    pub values: &'a [f64],
}

/// All executions, in the order of builds and rounds.
pub fn executions(data: &Measurements) -> Vec<Execution<'_>> {
    let mut all = vec![];
    for (build, measurements) in data.builds().enumerate() {
        let seed = measurements.seed();
        for (round, values) in measurements.rounds().zip(measurements.executions()) {
            all.push(Execution { position: Position { seed, round }, build, values });
        }
    }
    all
}

/// The number of measurements of the shortest execution, if it is enough.
pub fn shortest(executions: &[Execution<'_>], needed: usize) -> Result<usize, InsufficientData> {
    let found = executions.iter().map(|execution| execution.values.len()).min().unwrap_or(0);
    if found < needed { Err(InsufficientData::Measurements { needed, found }) } else { Ok(found) }
}

/// The executions of at least `needed` measurements, if there are any.
pub fn long_enough<'a>(
    executions: &[Execution<'a>],
    needed: usize,
) -> Result<Vec<Execution<'a>>, InsufficientData> {
    let enough = executions.iter().copied().filter(|execution| execution.values.len() >= needed);
    let enough: Vec<_> = enough.collect();
    if enough.is_empty() {
        let longest = executions.iter().map(|execution| execution.values.len()).max();
        return Err(InsufficientData::Measurements { needed, found: longest.unwrap_or(0) });
    }
    Ok(enough)
}

/// Splits the values into `count` consecutive stretches of nearly equal length; fewer if there are not enough values.
pub fn parts(values: &[f64], count: usize) -> impl Iterator<Item = &[f64]> {
    let (length, count) = (values.len(), count.min(values.len()));
    (0..count).map(move |part| &values[part * length / count..(part + 1) * length / count])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;

    #[test]
    fn executions_have_their_build_and_round() {
        let builds = [(7, vec![vec![1.0, 2.0], vec![], vec![3.0]]), (9, vec![vec![4.0]])];
        let data = Measurements::new(Metric::wall(), builds).unwrap();
        let found: Vec<_> = executions(&data)
            .into_iter()
            .map(|one| (one.position.seed, one.position.round, one.build, one.values.len()))
            .collect();
        assert_eq!(found, [(7, 0, 0, 2), (7, 2, 0, 1), (9, 0, 1, 1)]);
    }

    #[test]
    fn parts_contain_every_value_once_in_order() {
        let values: Vec<f64> = (0..23).map(f64::from).collect();
        for count in [1, 5, 23, 40] {
            assert_eq!(parts(&values, count).collect::<Vec<_>>().concat(), values);
        }
        assert_eq!(parts(&values, 5).map(<[f64]>::len).collect::<Vec<_>>(), [4, 5, 4, 5, 5]);
    }
}
