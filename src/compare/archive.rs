//! Reads what is stored. Where nothing is, failures name the commands that measure it.

use std::path::Path;

use crate::{
    error::{Error, Exit, Result},
    harness::Filter,
    model::{Benchmark, Version},
    project::Project,
    shell::CommandLine,
    store::{self, Store},
    verdict::Results,
};

/// The store. That there is none is a failure with commands that are like the present one; none is made.
pub fn store<'a>(
    project: &Project,
    observer: &'a dyn store::Observer,
    given: &dyn CommandLine,
) -> Result<Store<'a>> {
    let path = project.store();
    if path.exists() { Store::open(&path, observer) } else { Err(nothing_stored(&path, given)) }
}

/// The results of these benchmarks in finished experiments that timed, or in those that counted. That there is none is
/// such a failure too.
pub fn finished<'s>(
    store: &'s Store<'s>,
    counts: bool,
    benchmarks: &[Benchmark],
    given: &dyn CommandLine,
) -> Result<Results<'s>> {
    let results = Results::finished_on(store, counts, benchmarks)?;
    match (results.experiments.len(), results.unfinished) {
        (0, 0) => Err(nothing_stored(store.path(), given)),
        (0, unfinished) => {
            let what = format!("no experiment has finished yet in {}", store.path().display());
            let shown = given.suggest("show", &[], &[]);
            let s = if unfinished == 1 { "" } else { "s" };
            Err(Error::new(Exit::Usage, what)
                .cause(format!("unfinished: {unfinished} experiment{s}"))
                .hint("rerun the interrupted command to resume")
                .hint(format!("show what there is with: {shown}")))
        }
        _ => Ok(results),
    }
}

/// The failure of finding no results at all.
pub fn nothing_stored(path: &Path, given: &dyn CommandLine) -> Error {
    let run = given.suggest("run", &[], &[]);
    let compare = given.suggest("compare", &[], &[]);
    Error::new(Exit::Usage, format!("no results are stored yet in {}", path.display()))
        .hint(format!("measure the latest commit with: {run}"))
        .hint(format!("or compare it with the one before: {compare}"))
}

/// The stored benchmarks that a filter chooses. A store without any is such a failure as having none.
pub fn chosen(
    store: &Store<'_>,
    filter: &Filter,
    given: &dyn CommandLine,
) -> Result<Vec<Benchmark>> {
    let all = store.benchmarks()?;
    if all.is_empty() { Err(nothing_stored(store.path(), given)) } else { filter.choose(all) }
}

/// The failure of finding results of a version, with commands that are like the present one.
pub fn not_stored(version: &Version, given: &dyn CommandLine) -> Error {
    let measure = given.suggest("run", &[&version.revision_arg()], &[]);
    let list = given.suggest("history", &[], &[]);
    Error::new(Exit::Usage, format!("no results are stored for {version}"))
        .hint(format!("measure it with: {measure}"))
        .hint(format!("list the stored results with: {list}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cli::GivenOptions, console::Console};

    #[test]
    fn a_store_without_results_is_told_with_what_to_measure() {
        let directory = tempfile::tempdir().unwrap();
        let console = Console::attach();
        let store = Store::open(&directory.path().join("results.sqlite"), &console).unwrap();
        let failure = chosen(&store, &Filter::default(), &GivenOptions::default()).unwrap_err();
        assert!(failure.to_string().contains("no results are stored yet"), "{failure}");
    }
}
