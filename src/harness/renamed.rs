//! Benchmarks under other names, so that two benchmarks of one executable can be compared as one benchmark in two
//! versions.

use std::time::Duration;

use super::{Conditions, Executable, Harness, HarnessFacts};
use crate::{
    error::{Error, Exit, Result},
    model::{ExecutionRequest, HarnessKind, Name, Outcome},
};

/// A harness whose benchmarks have other names. Its `Debug` text has the names, because it decides which benchmark an
/// execution runs.
#[derive(Debug)]
pub struct Renamed {
    harness: Box<dyn Harness>,
    /// Each name, and the harness's own name for the benchmark.
    names: Vec<(Name, Name)>,
}

impl Renamed {
    /// Offers only the benchmarks of `names`: each name, and the harness's own name for the benchmark.
    pub fn new(harness: Box<dyn Harness>, names: Vec<(Name, Name)>) -> Self {
        Self { harness, names }
    }

    fn own(&self, name: &Name) -> Result<&Name> {
        let own = self.names.iter().find(|(other, _)| other == name).map(|(_, own)| own);
        own.ok_or_else(|| Error::new(Exit::Internal, format!("{} has no other name", name.id)))
    }

    fn all_own(&self, names: &[Name]) -> Result<Vec<Name>> {
        names.iter().map(|name| self.own(name).cloned()).collect()
    }
}

impl Harness for Renamed {
    fn kind(&self) -> HarnessKind {
        self.harness.kind()
    }

    fn facts(&self) -> HarnessFacts {
        self.harness.facts()
    }

    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        let listed = self.harness.list(executable, conditions)?;
        let names = self.names.iter().filter(|(_, own)| listed.contains(own));
        Ok(names.map(|(name, _)| name.clone()).collect())
    }

    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        self.harness.execute(executable, self.own(benchmark)?, request, conditions)
    }

    fn execute_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Vec<Result<Outcome>>> {
        self.harness.execute_together(executable, &self.all_own(benchmarks)?, request, conditions)
    }

    fn observe_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        self.harness.observe_together(executable, &self.all_own(benchmarks)?, request, conditions)
    }

    fn least_time(&self, request: &ExecutionRequest) -> Duration {
        self.harness.least_time(request)
    }

    fn measurement_limit(&self, count: usize, is_interleaved: bool) -> Option<&'static str> {
        self.harness.measurement_limit(count, is_interleaved)
    }

    fn measurements(&self, requested: u32) -> u32 {
        self.harness.measurements(requested)
    }

    fn own_name(&self, name: &Name) -> Result<Name> {
        self.own(name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Interrupt;

    /// Reports the name of what it executes as the reason not to.
    #[derive(Debug)]
    struct Echo;

    impl Harness for Echo {
        fn kind(&self) -> HarnessKind {
            HarnessKind::Native
        }

        fn list(&self, _: &Executable, _: &Conditions<'_>) -> Result<Vec<Name>> {
            Ok(["a/1", "b/1"].map(Name::plain).to_vec())
        }

        fn execute(
            &self,
            _: &Executable,
            name: &Name,
            _: &ExecutionRequest,
            _: &Conditions<'_>,
        ) -> Result<Outcome> {
            Ok(Outcome::Skipped(name.id.clone()))
        }
    }

    #[test]
    fn renamed_benchmark_is_listed_and_executed_by_both_names() {
        let interrupt = Interrupt::new().unwrap();
        let conditions = Conditions::new(&interrupt);
        let (executable, request) = (Executable::default(), crate::model::testing::request());
        let names = [("{a,b}/1", "b/1"), ("{a,b}/2", "b/2")];
        let names = names.map(|(name, own)| (Name::plain(name), Name::plain(own))).to_vec();
        let renamed = Renamed::new(Box::new(Echo), names);
        let listed = renamed.list(&executable, &conditions).unwrap();
        assert_eq!(listed, [Name::plain("{a,b}/1")]);
        let execute =
            |id: &str| renamed.execute(&executable, &Name::plain(id), &request, &conditions);
        assert!(matches!(execute("{a,b}/1").unwrap(), Outcome::Skipped(own) if own == "b/1"));
        assert_eq!(execute("b/1").unwrap_err().exit(), Exit::Internal);
        assert!(format!("{renamed:?}").contains("b/1"), "a trace depends on it");
    }
}
