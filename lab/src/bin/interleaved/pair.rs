//! A pair of executions of one benchmark, of two copies of the same executable, sequential or
//! interleaved.

use std::{error::Error, fs, io, path::Path, thread};

use cargo_rbench::{
    harness::{Conditions, Executable, Harness},
    model::{ExecutionRequest, Name, Outcome, Series},
    process::{
        cpus,
        interleaving::{InterleavedProcess, InterleavedUse, SLICE, SharedPage},
    },
};

/// The measurements of both executions, in ns per iteration.
pub type Pair = [Vec<f64>; 2];

/// The program under test: the same twice, so every difference is noise.
#[derive(Clone, Copy)]
pub struct Subject<'s> {
    /// The harness of the benchmark.
    pub harness: &'s dyn Harness,
    /// The executable.
    pub executable: &'s Executable,
    /// The compilation of the executable.
    pub home: &'s Path,
    /// The benchmark.
    pub name: &'s Name,
}

impl Subject<'_> {
    /// Two copies of the executable below this directory, because both versions of a comparison
    /// have separate files: the memory pages of a file can decide how fast its code is. Their paths
    /// have the same length.
    pub fn copies(&self, directory: &Path) -> io::Result<[Executable; 2]> {
        let copy = |name: &str| -> io::Result<Executable> {
            let path = directory.join(name);
            fs::copy(&self.executable.path, &path)?;
            Ok(Executable { path, ..self.executable.clone() })
        };
        Ok([copy("0")?, copy("1")?])
    }

    /// Executes one copy after the other.
    pub fn one_after_the_other(
        &self,
        both: &[Executable; 2],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Pair, Box<dyn Error>> {
        let [one, other] = both;
        Ok([self.execute(one, request, conditions)?, self.execute(other, request, conditions)?])
    }

    /// Executes both interleaved on the CPU of `conditions`.
    pub fn in_turns(
        &self,
        both: &[Executable; 2],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
        library: &Path,
    ) -> Result<(Pair, [InterleavedUse; 2]), Box<dyn Error>> {
        let ring = SharedPage::new(library, &cpus()?, SLICE)?;
        let members = [ring.member(0, self.home)?, ring.member(1, self.home)?];
        let run = |index: usize| {
            let member: &InterleavedProcess = &members[index];
            let conditions = Conditions { member: Some(member), ..*conditions };
            let measured = self.execute(&both[index], request, &conditions);
            let measured = measured.map_err(|error| error.to_string());
            member.leave().map_err(|failure| failure.to_string())?;
            measured
        };
        let (one, other) = thread::scope(|scope| {
            let other = scope.spawn(|| run(1));
            (run(0), other.join())
        });
        let other = other.map_err(|_| "a thread panicked")?;
        Ok(([one?, other?], [members[0].taken()?, members[1].taken()?]))
    }

    /// The request with suitable iterations, if the harness accepts a number.
    pub fn tuned(
        &self,
        request: ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<ExecutionRequest, Box<dyn Error>> {
        if !self.harness.facts().takes_iterations {
            return Ok(request);
        }
        let outcome = self.harness.execute(self.executable, self.name, &request, conditions)?;
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
