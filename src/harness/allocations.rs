//! Counts the allocations of a benchmark instead of timing it, with any harness: see
//! `src/process/counting/allocations/`.

use std::{fs, path::Path, time::Duration};

use rbench_code::elf::uncountable_allocator;

use super::{Conditions, Executable, Harness};
use crate::{
    error::{Context as _, Exit, Result},
    model::{Execution, ExecutionRequest, Metric, Name, Outcome, Series},
    process::counting::allocations::{Counted, Counting, STEP, counted_in},
};

/// The request for an execution that counts allocations: a few iterations, as all are the same except those in which
/// something grows.
fn request(harness: &dyn Harness, seed: u64) -> ExecutionRequest {
    let (measurements, iterations) = harness.facts().counting_allocations;
    let (warm_up, floor) = (Duration::from_nanos(1), Duration::from_nanos(1));
    ExecutionRequest { measurements, warm_up, min_time: floor, iterations, seed }
}

/// Executes a benchmark twice: first to count its allocations, then their bytes. The result is one execution with one
/// value of each, per iteration. `library` is the preloaded one that counts calls of the C library's allocator. Random
/// numbers follow from `seed`. A benchmark whose allocations cannot be counted exactly is skipped with a reason that names
/// its allocator.
pub fn count_allocations(
    harness: &dyn Harness,
    executable: &Executable,
    benchmark: &Name,
    seed: u64,
    conditions: &Conditions<'_>,
    library: &Path,
) -> Result<Outcome> {
    let what = || format!("cannot find the allocator of {}", executable.path.display());
    let bytes = fs::read(&executable.path).context(Exit::Build, what)?;
    if let Some(allocator) = uncountable_allocator(&bytes).context(Exit::Build, what)? {
        return Ok(Outcome::Skipped(format!("its allocations cannot be counted: {allocator}")));
    }
    let request = &request(harness, seed);
    let count = |counted, metric| -> Result<Result<Execution, String>> {
        let counting = Counting::new(library, counted, seed)?;
        let conditions = Conditions { allocations: Some(&counting), ..*conditions };
        let execution = match harness.execute(executable, benchmark, request, &conditions)? {
            Outcome::Measured(execution) => execution,
            Outcome::Skipped(reason) => return Ok(Err(reason)),
        };
        let tally = counting.tally()?;
        let counts = match (harness.kind(), counted) {
            // The count of a whole process, as one iteration.
            (kind, Counted::Allocations) if kind.is_program() => Some(vec![(tally.allocations, 1)]),
            (kind, Counted::Bytes) if kind.is_program() => Some(vec![(tally.bytes, 1)]),
            _ => counts(&execution),
        };
        let reason = if !tally.joined {
            NOT_LOADED
        } else if tally.bytes >= STEP && counted == Counted::Bytes && !harness.kind().is_program() {
            TOO_MANY
        } else if let Some(counts) = counts {
            let series = vec![series(metric, &counts)];
            return Ok(Ok(Execution { series, ..execution }));
        } else {
            OTHER_CLOCK
        };
        Ok(Err(format!("its allocations cannot be counted: {reason}")))
    };
    let mut execution = match count(Counted::Allocations, Metric::allocations())? {
        Ok(execution) => execution,
        Err(skipped) => return Ok(Outcome::Skipped(skipped)),
    };
    match count(Counted::Bytes, Metric::allocated_bytes())? {
        Ok(bytes) => execution.series.extend(bytes.series),
        Err(skipped) => return Ok(Outcome::Skipped(skipped)),
    }
    Ok(Outcome::Measured(execution))
}

const TOO_MANY: &str = "it requests more than a terabyte";

const NOT_LOADED: &str = "its process did not load the library that counts them";

const OTHER_CLOCK: &str = "it is not measured by the clock of the operating system";

/// The count of all iterations of a measurement, and the number of iterations.
type Count = (u64, u64);

/// The count of each measurement; none if a time is not one of the counting clock.
fn counts(execution: &Execution) -> Option<Vec<Count>> {
    let Series { values, iterations, .. } = execution.series.first()?;
    let of_one = |(value, iterations): (&f64, &u64)| {
        Some((counted_in(value * *iterations as f64)?, *iterations))
    };
    let counts = values.iter().zip(iterations).map(of_one).collect::<Option<Vec<_>>>()?;
    (counts.len() == values.len()).then_some(counts)
}

/// Combines all measurements into one value per iteration.
fn series(metric: Metric, counts: &[Count]) -> Series {
    let (count, iterations) = counts.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    let iterations = iterations.max(1);
    let value = count as f64 / iterations as f64;
    Series { metric, values: vec![value], iterations: vec![iterations], resolution: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;

    fn counts_per_iteration(values: &[f64], iterations: &[u64]) -> Option<Vec<Count>> {
        let series = Series {
            metric: Metric::wall(),
            values: values.to_vec(),
            iterations: iterations.to_vec(),
            resolution: 0.0,
        };
        counts(&testing::execution(testing::request(), vec![series]))
    }

    #[test]
    fn measurements_are_combined_over_their_iterations() {
        let values = [1e12 + 7.0, (1e12 + 9.0) / 3.0];
        let counts = counts_per_iteration(&values, &[1, 3]).unwrap();
        assert_eq!(counts, [(7, 1), (9, 3)]);
        let series = series(Metric::allocations(), &counts);
        assert_eq!((series.values, series.iterations), (vec![4.0], vec![4]));
    }

    #[test]
    fn times_of_another_clock_have_no_counts() {
        assert_eq!(counts_per_iteration(&[1e12 + 7.0, 130.0], &[1, 1]), None);
        assert_eq!(counts_per_iteration(&[1e12], &[]), None, "iterations are not known");
    }
}
