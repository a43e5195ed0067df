//! Counts the allocations of a benchmark instead of timing it, by whatever harness: see
//! `src/process/counting/allocations/`.

use std::path::Path;

use super::{Conditions, Executable, Harness, Outcome};
use crate::{
    failure::{Exit, Failure, Result},
    model::{Execution, ExecutionRequest, Name, Series},
    process::counting::allocations::{Allocator, Counted, Counting, counted_in},
};

/// What the measurements of an execution allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocations {
    /// How often memory was asked for in each measurement, all its iterations together.
    pub allocations: Vec<u64>,
    /// How many bytes were asked for there.
    pub bytes: Vec<u64>,
    /// The iterations of each measurement.
    pub iterations: Vec<u64>,
}

/// Executes a benchmark twice, and counts its allocations and their bytes by `library`. None if it chose not to run.
pub fn allocations(
    harness: &dyn Harness,
    executable: &Executable,
    benchmark: &Name,
    request: &ExecutionRequest,
    conditions: &Conditions<'_>,
    (library, allocator): (&Path, &Allocator),
) -> Result<Option<Allocations>> {
    let count = |counted| -> Result<_> {
        let counting = Counting::new(library, counted, allocator)?;
        let conditions = Conditions { allocations: Some(&counting), ..*conditions };
        let execution = match harness.execute(executable, benchmark, request, &conditions)? {
            Outcome::Measured(execution) => execution,
            Outcome::Skipped(_) => return Ok(None),
        };
        if let Some(doubt) = counting.doubt()? {
            return Err(uncountable(benchmark, &doubt.to_string()));
        }
        let counts = counts(&execution).ok_or_else(|| {
            uncountable(benchmark, "it is not measured by the clock of the operating system")
        })?;
        Ok(Some(counts))
    };
    let Some((allocations, iterations)) = count(Counted::Allocations)? else { return Ok(None) };
    let Some((bytes, _)) = count(Counted::Bytes)? else { return Ok(None) };
    Ok(Some(Allocations { allocations, bytes, iterations }))
}

fn uncountable(benchmark: &Name, reason: &str) -> Failure {
    let what = format!("cannot count the allocations of `{}`", benchmark.id);
    Failure::new(Exit::Benchmark, what).because(reason)
}

/// What each measurement counted, and its iterations.
fn counts(execution: &Execution) -> Option<(Vec<u64>, Vec<u64>)> {
    let Series { values, iterations, .. } = execution.series.first()?;
    let of_one = |(value, iterations): (&f64, &u64)| counted_in(value * *iterations as f64);
    let counts = values.iter().zip(iterations).map(of_one).collect::<Option<Vec<_>>>()?;
    (counts.len() == values.len()).then(|| (counts, iterations.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Metric, testing};

    fn of(values: &[f64], iterations: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
        let series = Series {
            metric: Metric::wall(),
            values: values.to_vec(),
            iterations: iterations.to_vec(),
            resolution: 0.0,
        };
        counts(&testing::execution(testing::request(), vec![series]))
    }

    #[test]
    fn measurements_of_several_iterations_are_counted_as_a_whole() {
        let values = [1e12 + 7.0, (1e12 + 9.0) / 3.0];
        assert_eq!(of(&values, &[1, 3]), Some((vec![7, 9], vec![1, 3])));
    }

    #[test]
    fn times_of_another_clock_count_nothing() {
        assert_eq!(of(&[1e12 + 7.0, 130.0], &[1, 1]), None);
        assert_eq!(of(&[1e12], &[]), None, "iterations are not known");
    }
}
