//! A pair of executions of one benchmark, of two copies of the same executable, in one of two ways.

use std::{error::Error, fs, io, path::Path, thread};

use cargo_rbench::{
    harness::{Conditions, Executable, Harness, Outcome},
    model::{ExecutionRequest, HarnessKind, Name, Series},
    process::{
        cpus,
        interleaving::{InterleavedProcess, InterleavedUse, SharedPage},
    },
};

/// The measurements of both executions, in ns per iteration.
pub type Pair = [Vec<f64>; 2];

/// What is executed: twice the same, so that every difference is noise.
#[derive(Clone, Copy)]
pub struct Subject<'s> {
    /// What runs it.
    pub harness: &'s dyn Harness,
    /// The executable.
    pub executable: &'s Executable,
    /// The compilation that it comes from.
    pub home: &'s Path,
    /// The benchmark.
    pub name: &'s Name,
}

impl Subject<'_> {
    /// Two copies of the executable, as both versions of a comparison have files of their own, below this directory:
    /// which pages of memory a file gets can decide how fast its code is. Their paths are equally long.
    pub fn copies(&self, directory: &Path) -> io::Result<[Executable; 2]> {
        let copy = |name: &str| -> io::Result<Executable> {
            let path = directory.join(name);
            fs::copy(&self.executable.path, &path)?;
            Ok(Executable { path, ..self.executable.clone() })
        };
        Ok([copy("0")?, copy("1")?])
    }

    /// One whole execution after the other.
    pub fn one_after_the_other(
        &self,
        both: &[Executable; 2],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Pair, Box<dyn Error>> {
        let [one, other] = both;
        Ok([self.execute(one, request, conditions)?, self.execute(other, request, conditions)?])
    }

    /// Both at once on the CPU of `conditions`, taking turns.
    pub fn in_turns(
        &self,
        both: &[Executable; 2],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
        library: &Path,
    ) -> Result<(Pair, [InterleavedUse; 2]), Box<dyn Error>> {
        let ring = SharedPage::new(library, &cpus()?)?;
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

    /// The request with iterations that suit the benchmark, where its harness can be told them.
    pub fn tuned(
        &self,
        request: ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<ExecutionRequest, Box<dyn Error>> {
        if !matches!(self.harness.kind(), HarnessKind::Native | HarnessKind::Divan) {
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
