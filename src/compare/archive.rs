//! Access to stored results. Where there are none, errors name the commands that measure them.

use std::{collections::HashSet, path::Path, rc::Rc};

use super::Acceptances;
use crate::{
    error::{Error, Exit, Result},
    harness::Filter,
    model::{Benchmark, Version},
    project::Project,
    shell::CommandLine,
    store::{self, Store, StoredExperiment},
    verdict::Results,
};

/// The stored results and the accepted slowdowns of a project.
pub struct Archive<'a> {
    pub store: Store<'a>,
    pub acceptances: Acceptances<'a>,
    /// Writes the commands that hints suggest.
    pub command_line: Rc<dyn CommandLine>,
}

impl<'a> Archive<'a> {
    /// Opens the [`store()`] of a project.
    pub fn open(
        project: &'a Project,
        observer: &'a dyn store::Observer,
        command_line: Rc<dyn CommandLine>,
    ) -> Result<Self> {
        let store = store(project, observer, &*command_line)?;
        Ok(Self { store, acceptances: Acceptances::read(project)?, command_line })
    }
}

/// Opens the store. Fails if there is none, and suggests commands with the options of the present
/// one; never creates a store.
pub fn store<'a>(
    project: &Project,
    observer: &'a dyn store::Observer,
    given: &dyn CommandLine,
) -> Result<Store<'a>> {
    let path = project.store();
    if path.exists() { Store::open(&path, observer) } else { Err(nothing_stored(&path, given)) }
}

/// The results of these benchmarks in finished experiments that timed them, or that counted if
/// `counts`. Fails with suggestions too if there are none.
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
            let shown = given.suggest("history", &["HEAD"], &[]);
            let s = if unfinished == 1 { "" } else { "s" };
            Err(Error::new(Exit::Usage, what)
                .cause(format!("unfinished: {unfinished} experiment{s}"))
                .hint("rerun the interrupted command to resume")
                .hint(format!("show the results so far with: {shown}")))
        }
        _ => Ok(results),
    }
}

/// The error for a store without any results.
pub fn nothing_stored(path: &Path, given: &dyn CommandLine) -> Error {
    let run = given.suggest("run", &[], &[]);
    let compare = given.suggest("compare", &[], &[]);
    Error::new(Exit::Usage, format!("no results are stored yet in {}", path.display()))
        .hint(format!("measure the latest commit with: {run}"))
        .hint(format!("or compare it with the one before: {compare}"))
}

/// The stored benchmarks that a filter selects. An empty store is the same error as none.
pub fn chosen(
    store: &Store<'_>,
    filter: &Filter,
    given: &dyn CommandLine,
) -> Result<Vec<Benchmark>> {
    let mut all = store.benchmarks()?;
    // Those of implementations are not the benchmarks of any version.
    let experiments = store.experiments()?;
    let (common, own): (Vec<_>, Vec<_>) =
        experiments.iter().partition(|stored| stored.plan.is_of_implementations());
    let planned = |stored: Vec<&'_ StoredExperiment>| -> HashSet<Benchmark> {
        let planned = stored.iter().flat_map(|stored| &stored.plan.benchmarks);
        planned.map(|planned| planned.benchmark.clone()).collect()
    };
    let common = planned(common);
    if !common.is_empty() {
        let own = planned(own);
        all.retain(|benchmark| !common.contains(benchmark) || own.contains(benchmark));
    }
    if all.is_empty() { Err(nothing_stored(store.path(), given)) } else { filter.choose(all) }
}

/// The error for a version without results. Suggests commands with the options of the present one.
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
    fn chosen_fails_with_hints_on_an_empty_store() {
        let directory = tempfile::tempdir().unwrap();
        let console = Console::attach();
        let store = Store::open(&directory.path().join("results.sqlite"), &console).unwrap();
        let error = chosen(&store, &Filter::default(), &GivenOptions::default()).unwrap_err();
        assert!(error.to_string().contains("no results are stored yet"), "{error}");
    }
}
