//! Registers the benchmarks of a bench target, single or in groups, and runs the selected ones.

use std::{
    collections::HashSet,
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::bencher::{Bencher, Outcome, Task, Throughput};

/// The outcome of one selected benchmark.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) throughput: Option<Throughput>,
    pub(crate) outcome: Outcome,
}

/// Drives a suite: decides the task for an id, and receives the outcome.
pub(crate) trait Driver {
    /// The task for the benchmark `id`.
    fn task(&self, id: &str) -> Task;
    /// Called before a benchmark is run.
    fn begins(&mut self, _id: &str) {}
    /// Receives the outcome of a benchmark, in the order of registration.
    fn ends(&mut self, record: Record);
}

/// The benchmarks of one bench target.
///
/// A function that takes a `&mut Suite` registers benchmarks; [`main!`](crate::main) calls it.
pub struct Suite<'d> {
    driver: &'d mut dyn Driver,
    ids: HashSet<String>,
}

impl<'d> Suite<'d> {
    pub(crate) fn new(driver: &'d mut dyn Driver) -> Self {
        Self { driver, ids: HashSet::new() }
    }

    /// Registers a benchmark.
    ///
    /// `benchmark` prepares its data and then calls [`Bencher::iter`] or one of its siblings, once.
    /// It is not called if the benchmark is not selected in this process.
    ///
    /// The id may be anything that can be displayed and has no control characters. Two benchmarks
    /// of one target with the same id are an error.
    pub fn bench(&mut self, id: impl Display, benchmark: impl FnOnce(&mut Bencher)) -> &mut Self {
        self.register(id.to_string(), None, benchmark);
        self
    }

    /// Opens a group: the ids of its benchmarks are `name/id`.
    pub fn group(&mut self, name: impl Display) -> Group<'_, 'd> {
        Group { prefix: format!("{name}/"), throughput: None, suite: self }
    }

    fn register(
        &mut self,
        id: String,
        throughput: Option<Throughput>,
        benchmark: impl FnOnce(&mut Bencher),
    ) {
        let task = self.driver.task(&id);
        if matches!(task, Task::Ignore) {
            return;
        }
        let mut bencher = Bencher::new(&task, throughput);
        let outcome = if id.is_empty() || id.contains(char::is_control) {
            Outcome::Failed("the id is empty or has a control character".to_owned())
        } else if !self.ids.insert(id.clone()) {
            Outcome::Failed("two benchmarks of this target have this id".to_owned())
        } else if matches!(task, Task::List) {
            Outcome::Listed
        } else {
            self.driver.begins(&id);
            match catch_unwind(AssertUnwindSafe(|| benchmark(&mut bencher))) {
                Ok(()) => bencher.take_outcome(),
                Err(panic) => Outcome::Failed(format!("panicked: {}", panic_message(&*panic))),
            }
        };
        self.driver.ends(Record { id, throughput: bencher.throughput, outcome });
    }
}

/// Benchmarks whose ids start with the same prefix.
pub struct Group<'s, 'd> {
    prefix: String,
    throughput: Option<Throughput>,
    suite: &'s mut Suite<'d>,
}

impl<'d> Group<'_, 'd> {
    /// Registers the benchmark `group/id`; see [`Suite::bench`].
    pub fn bench(&mut self, id: impl Display, benchmark: impl FnOnce(&mut Bencher)) -> &mut Self {
        self.suite.register(format!("{}{id}", self.prefix), self.throughput, benchmark);
        self
    }

    /// Sets the amount of data that one iteration processes, for the benchmarks registered from
    /// here on.
    pub fn throughput(&mut self, throughput: Throughput) -> &mut Self {
        self.throughput = Some(throughput);
        self
    }

    /// Opens a group within this group: `group/name/id`.
    pub fn group(&mut self, name: impl Display) -> Group<'_, 'd> {
        Group {
            prefix: format!("{}{name}/", self.prefix),
            throughput: self.throughput,
            suite: self.suite,
        }
    }
}

/// The message of a panic, as `panic!` and `assert!` leave it.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "with a value that is not text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Smoke-tests benchmarks with its prefix, and keeps the outcomes.
    struct Smoke(&'static str, Vec<Record>);

    impl Driver for Smoke {
        fn task(&self, id: &str) -> Task {
            if id.starts_with(self.0) { Task::Smoke } else { Task::Ignore }
        }

        fn ends(&mut self, record: Record) {
            self.1.push(record);
        }
    }

    fn smoke(prefix: &'static str, register: impl FnOnce(&mut Suite<'_>)) -> Vec<Record> {
        let mut driver = Smoke(prefix, Vec::new());
        register(&mut Suite::new(&mut driver));
        driver.1
    }

    fn error_of(benchmark: impl FnOnce(&mut Bencher)) -> String {
        let records = smoke("", |suite| _ = suite.bench("b", benchmark));
        match &records[0].outcome {
            Outcome::Failed(reason) => reason.clone(),
            other => panic!("not a failure: {other:?}"),
        }
    }

    #[test]
    fn groups_nest_in_ids_and_inherit_throughput() {
        let records = smoke("", |suite| {
            let mut outer = suite.group("a");
            outer.throughput(Throughput::Elements(3));
            outer.group("b c").bench(1024, |bencher| bencher.iter(|| ()));
        });
        assert_eq!(records[0].id, "a/b c/1024");
        assert_eq!(records[0].throughput, Some(Throughput::Elements(3)));
        assert!(matches!(records[0].outcome, Outcome::Passed));
    }

    #[test]
    fn unselected_benchmark_is_not_called() {
        let records = smoke("wanted", |suite| {
            suite.bench("other", |_| panic!("called"));
            suite.bench("wanted", |bencher| bencher.iter(|| ()));
        });
        assert_eq!(records.len(), 1);
    }

    #[test]
    fn benchmark_without_iter_fails() {
        assert!(error_of(|_| ()).contains("never called `iter`"));
    }

    #[test]
    fn benchmark_that_calls_iter_twice_fails() {
        let twice = |bencher: &mut Bencher| {
            bencher.iter(|| ());
            bencher.iter(|| ());
        };
        assert!(error_of(twice).contains("more than once"));
    }

    #[test]
    fn panic_fails_only_its_benchmark_and_keeps_the_message() {
        let records = smoke("", |suite| {
            suite.bench("a", |_| panic!("no file {}", 7));
            suite.bench("b", |bencher| bencher.iter(|| ()));
        });
        assert!(
            matches!(&records[0].outcome, Outcome::Failed(why) if why == "panicked: no file 7")
        );
        assert!(matches!(records[1].outcome, Outcome::Passed));
    }

    #[test]
    fn second_benchmark_with_the_same_id_fails() {
        let records = smoke("", |suite| {
            suite.bench("a", |bencher| bencher.iter(|| ()));
            suite.bench("a", |bencher| bencher.iter(|| ()));
        });
        assert!(matches!(records[0].outcome, Outcome::Passed));
        assert!(matches!(&records[1].outcome, Outcome::Failed(why) if why.contains("this id")));
    }

    #[test]
    fn id_with_a_line_break_is_refused() {
        let records = smoke("", |suite| _ = suite.bench("a\nb", |b| b.iter(|| ())));
        assert!(matches!(&records[0].outcome, Outcome::Failed(why) if why.contains("control")));
    }

    #[test]
    fn skipped_benchmark_has_its_reason() {
        let records = smoke("", |suite| _ = suite.bench("a", |b| b.skip("no GPU")));
        assert!(matches!(&records[0].outcome, Outcome::Skipped(why) if why == "no GPU"));
    }
}
