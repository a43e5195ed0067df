//! A pair of executions of one benchmark, one of each version, in one of two ways.

use std::{error::Error, thread, time::Duration};

use cargo_rbench::{
    harness::{Conditions, Executable, Harness, Outcome},
    model::{ExecutionRequest, HarnessKind, Name, Series},
};

use crate::library::{Library, Taken};

/// The measurements of both executions, in ns per iteration.
pub type Pair = [Vec<f64>; 2];

/// What is executed: twice the same, so that every difference is noise.
#[derive(Clone, Copy)]
pub struct Subject<'s> {
    /// What runs it.
    pub harness: &'s dyn Harness,
    /// The executables of the pair.
    pub executables: [&'s Executable; 2],
    /// The benchmark.
    pub name: &'s Name,
}

impl Subject<'_> {
    /// One whole execution after the other, as rbench does.
    pub fn one_after_the_other(
        &self,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
        first: usize,
    ) -> Result<Pair, Box<dyn Error>> {
        let mut pair = [Vec::new(), Vec::new()];
        for member in [first, 1 - first] {
            pair[member] = self.execute(self.executables[member], request, conditions)?;
        }
        Ok(pair)
    }

    /// Both at once on the CPU of `conditions`, taking turns.
    pub fn in_turns(
        &self,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
        library: &Library,
        quantum: Duration,
    ) -> Result<(Pair, Taken), Box<dyn Error>> {
        let ring = library.ring(quantum)?;
        let run = |member: usize| -> Result<Vec<f64>, String> {
            let mut executable = self.executables[member].clone();
            executable.variables.extend(ring.variables(member));
            let measured = self.execute(&executable, request, conditions);
            ring.leave(member).map_err(|error| error.to_string())?;
            measured.map_err(|error| error.to_string())
        };
        let (one, other) = thread::scope(|scope| {
            let other = scope.spawn(|| run(1));
            (run(0), other.join())
        });
        let other = other.map_err(|_| "a thread panicked")?;
        Ok(([one?, other?], ring.taken()?))
    }

    /// The request with iterations that suit the benchmark, where its harness can be told them.
    pub fn tuned(
        &self,
        request: ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<ExecutionRequest, Box<dyn Error>> {
        if self.harness.kind() != HarnessKind::Native {
            return Ok(request);
        }
        let one = ExecutionRequest { measurements: 1, ..request.clone() };
        let outcome = self.harness.execute(self.executables[0], self.name, &one, conditions)?;
        let Outcome::Measured(execution) = outcome else { return Ok(request) };
        let iterations = execution.series.first().and_then(Series::same_iterations);
        Ok(ExecutionRequest { iterations, ..request })
    }

    fn execute(
        &self,
        executable: &Executable,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Vec<f64>, Box<dyn Error>> {
        match self.harness.execute(executable, self.name, request, conditions)? {
            Outcome::Measured(execution) => {
                let series = execution.series.into_iter().next().ok_or("nothing was measured")?;
                Ok(series.values)
            }
            Outcome::Skipped(reason) => Err(reason.into()),
        }
    }
}
