//! The loop of an experiment: one execution after the other, each told to the caller before the next
//! begins.

use std::collections::HashSet;

use super::schedule::Step;
use crate::{
    failure::{Exit, Failure, Result},
    harness::{Conditions, Executable, Harness},
    model::{Execution, ExecutionRequest, Name},
};

/// A benchmark that is measured.
#[derive(Debug)]
pub struct Subject<'a> {
    /// What runs it.
    pub harness: &'a dyn Harness,
    /// Its name.
    pub name: Name,
    /// What each execution is asked to do, but for the initial state.
    pub asked: ExecutionRequest,
    /// For each version, the executable of each build.
    pub executables: Vec<Vec<Executable>>,
}

/// What came of one step.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The step.
    pub step: Step,
    /// What the execution gave, or why it gave nothing.
    pub result: &'a Result<Execution>,
    /// How many steps are done, this one included, and how many there are. Steps of a benchmark that
    /// failed are done.
    pub progress: (usize, usize),
}

/// Carries out the steps.
///
/// A benchmark that fails once is not executed again, in no version: the failure is its outcome, and
/// the others go on. `enter` prepares the one path for a version and build; `tell` gets every outcome
/// before the next execution starts, and nothing else happens while one runs.
pub fn run(
    steps: &[Step],
    subjects: &[Subject<'_>],
    conditions: &Conditions<'_>,
    enter: &mut dyn FnMut(usize, usize) -> Result<()>,
    tell: &mut dyn FnMut(Outcome<'_>) -> Result<()>,
) -> Result<()> {
    let mut failed: HashSet<usize> = HashSet::new();
    for (index, step) in steps.iter().enumerate() {
        if failed.contains(&step.benchmark) {
            continue;
        }
        if conditions.interrupt.is_set() {
            return Err(Failure::new(Exit::Interrupted, "stopped between two executions"));
        }
        enter(step.version, step.build)?;
        let subject = &subjects[step.benchmark];
        let asked = ExecutionRequest { seed: step.initial_state, ..subject.asked.clone() };
        let executable = &subject.executables[step.version][step.build];
        let result = subject.harness.execute(executable, &subject.name, &asked, conditions);
        match &result {
            Err(failure) if failure.exit() == Exit::Interrupted => return Err(failure.clone()),
            Err(_) => drop(failed.insert(step.benchmark)),
            Ok(_) => {}
        }
        tell(Outcome { step: *step, result: &result, progress: (index + 1, steps.len()) })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Mutex,
        time::{Duration, SystemTime},
    };

    use super::*;
    use crate::{
        experiment::schedule::{Design, schedule},
        model::{HarnessKind, Metric, Resources, Series},
        process::Interrupt,
    };

    /// Takes no time: gives the seed of the initial state as the only measurement, and fails for the
    /// benchmark `bad` and the version `v1`.
    #[derive(Debug, Default)]
    struct Told {
        executed: Mutex<Vec<String>>,
    }

    impl Harness for Told {
        fn kind(&self) -> HarnessKind {
            HarnessKind::Native
        }

        fn list(&self, _: &Executable, _: &Conditions<'_>) -> Result<Vec<Name>> {
            Ok(Vec::new())
        }

        fn execute(
            &self,
            executable: &Executable,
            benchmark: &Name,
            asked: &ExecutionRequest,
            _: &Conditions<'_>,
        ) -> Result<Execution> {
            let place = executable.target.clone();
            self.executed.lock().unwrap().push(format!("{} of {place}", benchmark.id));
            if benchmark.id == "bad" && place.starts_with("v1") {
                return Err(Failure::new(Exit::Benchmark, "cannot execute `bad`"));
            }
            let series = Series {
                metric: Metric::wall(),
                values: vec![asked.seed as f64],
                iterations: vec![1],
            };
            let resources = Resources {
                start: SystemTime::UNIX_EPOCH,
                wall: Duration::ZERO,
                user: Duration::ZERO,
                system: Duration::ZERO,
                peak_memory: None,
                voluntary_switches: 0,
                involuntary_switches: 0,
                instructions: None,
                cycles: None,
            };
            Ok(Execution {
                asked: asked.clone(),
                series: vec![series],
                throughput: Vec::new(),
                warm_up: None,
                resources,
            })
        }
    }

    const DESIGN: Design = Design { versions: 2, benchmarks: 2, builds: 2, executions: 2 };

    fn subjects(harness: &Told) -> Vec<Subject<'_>> {
        let executable = |version: usize, build: usize| Executable {
            target: format!("v{version} build {build}"),
            ..Executable::default()
        };
        let asked = ExecutionRequest {
            measurements: 1,
            warm_up: Duration::ZERO,
            floor: Duration::ZERO,
            iterations: None,
            seed: 0,
        };
        ["good", "bad"]
            .map(|id| Subject {
                harness,
                name: Name::plain(id),
                asked: asked.clone(),
                executables: (0..2).map(|v| (0..2).map(|b| executable(v, b)).collect()).collect(),
            })
            .into()
    }

    #[test]
    fn a_benchmark_that_fails_is_left_alone_and_the_others_go_on() {
        let harness = Told::default();
        let steps = schedule(DESIGN, 1);
        let interrupt = Interrupt::new().unwrap();
        let conditions = Conditions { interrupt: &interrupt, deadline: None, cpu: None };
        let mut told = Vec::new();
        let mut tell = |outcome: Outcome<'_>| {
            told.push((outcome.step, outcome.result.is_ok()));
            Ok(())
        };
        run(&steps, &subjects(&harness), &conditions, &mut |_, _| Ok(()), &mut tell).unwrap();
        assert_eq!(told.iter().filter(|(step, ok)| step.benchmark == 0 && *ok).count(), 8);
        assert_eq!(told.iter().filter(|(_, ok)| !ok).count(), 1);
        assert!(told.iter().rposition(|(step, _)| step.benchmark == 1).unwrap() < told.len() - 1);
    }

    #[test]
    fn the_path_is_entered_before_every_execution() {
        let harness = Told::default();
        let steps = schedule(DESIGN, 2);
        let interrupt = Interrupt::new().unwrap();
        let conditions = Conditions { interrupt: &interrupt, deadline: None, cpu: None };
        let mut entered = Vec::new();
        let mut enter = |version, build| {
            entered.push(format!("v{version} build {build}"));
            Ok(())
        };
        run(&steps, &subjects(&harness), &conditions, &mut enter, &mut |_| Ok(())).unwrap();
        let executed = harness.executed.lock().unwrap();
        let places = executed.iter().map(|line| line.split(" of ").nth(1).unwrap().to_owned());
        assert_eq!(entered, places.collect::<Vec<_>>());
    }

    #[test]
    fn an_interrupt_ends_the_session_with_its_own_exit_code() {
        let harness = Told::default();
        let interrupt = Interrupt::new().unwrap();
        interrupt.set();
        let conditions = Conditions { interrupt: &interrupt, deadline: None, cpu: None };
        let failure = run(
            &schedule(DESIGN, 3),
            &subjects(&harness),
            &conditions,
            &mut |_, _| Ok(()),
            &mut |_| Ok(()),
        )
        .unwrap_err();
        assert_eq!(failure.exit(), Exit::Interrupted);
    }
}
