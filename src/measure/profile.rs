//! Profiles: the instructions that each function of a benchmark executes while it is measured.

use std::fs;

use rbench_code::callgrind::{Dump, Functions, Profile, Stretches, Sum, parse, stretches};

use super::{ListedVersion, Runner, counting::DEADLINE};
use crate::{
    builds::ListedExecutable,
    error::{Context, Error, Exit, Result},
    harness::{Conditions, Executable, counting_request, iterations_needed},
    model::{Benchmark, Outcome},
    process::counting::{Count, Counting, STEP},
};

/// Seed of the random numbers: the same in both versions, so that they execute the same inputs.
const SEED: u64 = 0;

impl Runner<'_> {
    /// Profiles a benchmark in each of two versions, with the same number of iterations.
    pub fn profiles(
        &self,
        [base, head]: &[ListedVersion; 2],
        benchmark: &Benchmark,
    ) -> Result<[Profile; 2]> {
        let (base, iterations) = self.profile(base, benchmark, None)?;
        let (head, _) = self.profile(head, benchmark, Some(iterations))?;
        Ok([base, head])
    }

    /// Profiles a benchmark in one version and returns the iterations of a measurement, which are
    /// found where they are not given. Runs the executable in the linker's default order, because
    /// its functions are known.
    fn profile(
        &self,
        version: &ListedVersion,
        benchmark: &Benchmark,
        iterations: Option<u64>,
    ) -> Result<(Profile, u64)> {
        let target = version.listed_target(benchmark)?;
        if target.harness.kind().is_program() {
            let what = format!("the instructions of {benchmark} cannot be counted by function");
            return Err(
                Error::new(Exit::Usage, what).cause("it is a whole program, and measured as one")
            );
        }
        let counter = self.instruction_counter(version)?;
        let listed =
            self.build_env.listed_executable(&version.compilation, &benchmark.bench_target())?;
        let executable = Executable { path: listed.path.clone(), ..target.executable.clone() };
        let mut number = iterations.unwrap_or(1);
        loop {
            let counting = Counting::new(&counter, SEED)?.per_function();
            let conditions = Conditions {
                deadline: Some(self.conditions.deadline.unwrap_or(DEADLINE)),
                counting: Some(&counting),
                ..self.conditions
            };
            let request = counting_request(&*target.harness, Some(number), SEED);
            let outcome =
                target.harness.execute(&executable, &benchmark.name, &request, &conditions)?;
            let execution = match outcome {
                Outcome::Measured(execution) => execution,
                Outcome::Skipped(reason) => {
                    let what = format!("{benchmark} was skipped: {reason}");
                    return Err(Error::new(Exit::Benchmark, what));
                }
            };
            let each = execution.series.first().and_then(|series| series.values.first().copied());
            let needed = each.filter(|_| iterations.is_none());
            if let Some(needed) =
                needed.and_then(|each| iterations_needed(&*target.harness, number, each))
            {
                number = needed;
                continue;
            }
            return Ok((profile_of(&counting, &listed, benchmark)?, number));
        }
    }
}

/// The profile of a process that has ended. Fails where the instructions of its functions do not
/// add up to those of its measurements.
fn profile_of(
    counting: &Counting,
    listed: &ListedExecutable,
    benchmark: &Benchmark,
) -> Result<Profile> {
    let error = |reason: &str| {
        Error::new(
            Exit::Benchmark,
            format!("cannot count the instructions of {benchmark} by function"),
        )
        .cause(reason.to_owned())
    };
    let mut dumps = Vec::new();
    for path in counting.parts() {
        let bytes = fs::read(&path).context(Exit::Internal, || "cannot read the counts")?;
        let dump = parse(&bytes)
            .map_err(|defect| error(&format!("callgrind's output cannot be read: {defect}")))?;
        dumps.push(dump);
    }
    let executed = |reading: &i64| u64::try_from(reading.rem_euclid(STEP)).unwrap_or_default();
    let executed: Vec<u64> = counting.readings()?.iter().map(executed).collect();
    let measured = counting.measured();
    let unknown = "its clock readings do not show which of its parts were measured";
    let numbers: Vec<u64> = measured.iter().map(|count| count.executed).collect();
    let all = stretches(&executed, &numbers).ok_or_else(|| error(unknown))?;
    let path = listed.path.to_string_lossy();
    let functions = Functions::new(&path, &listed.functions);
    let named = |symbol: &_| functions.named(symbol);
    let mut sum = Sum::new(&named);
    let (mut iterations, mut instructions) = (0, 0);
    for (index, is_taken_away) in weighed(&measured) {
        let sign = if is_taken_away { -1 } else { 1 };
        iterations += sign * i64::try_from(measured[index].iterations).unwrap_or(i64::MAX);
        instructions += sign * i64::try_from(measured[index].executed).unwrap_or(i64::MAX);
        for dump in dumps_of(&all[index], &executed, &dumps) {
            sum.add(dump, is_taken_away);
        }
    }
    let profile = sum.profile(u64::try_from(iterations).unwrap_or_default().max(1));
    // Rounding may lose single instructions, but none may be missing.
    let difference = profile.total().abs_diff(u64::try_from(instructions).unwrap_or_default());
    if difference as f64 > 1e-3 * profile.total() as f64 {
        return Err(error(&format!(
            "its functions executed {} instructions, and its measurements {instructions}",
            profile.total()
        )));
    }
    Ok(profile)
}

/// The measurements that make up a profile, and whether each is subtracted. Where their numbers of
/// iterations differ, those with fewer are subtracted, so that the constant cost of a measurement
/// cancels.
fn weighed(measured: &[Count]) -> Vec<(usize, bool)> {
    let mut order: Vec<usize> = (0..measured.len()).collect();
    order.sort_by_key(|index| measured[*index].iterations);
    let iterations = |index: Option<&usize>| index.map(|index| measured[*index].iterations);
    if iterations(order.first()) == iterations(order.last()) {
        return order.into_iter().map(|index| (index, false)).collect();
    }
    let half = order.len() / 2;
    let (fewer, more) = (&order[..half], &order[order.len() - half..]);
    let fewer = fewer.iter().map(|index| (*index, true));
    more.iter().map(|index| (*index, false)).chain(fewer).collect()
}

/// The dumps of the code executed in these stretches.
fn dumps_of<'d>(stretches: &Stretches, executed: &[u64], dumps: &'d [Dump]) -> Vec<&'d Dump> {
    let mut end = 0;
    let ends: Vec<u64> = dumps
        .iter()
        .map(|dump| {
            end += dump.parts.iter().map(rbench_code::callgrind::Part::total).sum::<u64>();
            end
        })
        .collect();
    let mut found = Vec::new();
    for (start, end) in stretches {
        let (start, end) = (executed[*start], executed[*end]);
        let first = ends.partition_point(|of_dump| *of_dump <= start);
        let last = ends.partition_point(|of_dump| *of_dump <= end);
        found.extend(&dumps[first..last.max(first)]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(all: &[(u64, u64)]) -> Vec<Count> {
        all.iter().map(|&(iterations, executed)| Count { iterations, executed }).collect()
    }

    #[test]
    fn weighed_subtracts_measurements_with_fewer_iterations() {
        let linear: Vec<_> = (1..=5).map(|number| (number, 100 * number + 7)).collect();
        let weighed = weighed(&counts(&linear));
        assert_eq!(weighed, [(3, false), (4, false), (0, true), (1, true)]);
    }

    #[test]
    fn weighed_adds_measurements_with_equal_iterations() {
        assert_eq!(weighed(&counts(&[(5, 1), (5, 2)])), [(0, false), (1, false)]);
        assert_eq!(weighed(&[]), []);
    }

    #[test]
    fn dumps_belong_to_stretch_in_which_they_end() {
        let dump = |own: u64| parse(format!("events: Ir\nfn=f\n0 {own}\n").as_bytes()).unwrap();
        let dumps = [1000, 50, 300, 7, 0, 300].map(dump);
        let executed = [1000, 1050, 1350, 1357, 1357, 1657];
        let totals = |stretches: &[(usize, usize)]| -> Vec<u64> {
            let found = dumps_of(&stretches.to_vec(), &executed, &dumps);
            found.iter().map(|dump| dump.parts[0].total()).collect()
        };
        assert_eq!(totals(&[(1, 2)]), [300]);
        assert_eq!(totals(&[(0, 1), (4, 5)]), [50, 300]);
    }
}
