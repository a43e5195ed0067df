//! Names the files that a bench target needs and that its version does not have: git ignores them, or they were not
//! added, so only the working tree has them.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use crate::{
    builds::{files, this_executable},
    error::{Context, Error, Exit, Result},
    git::Repository,
    harness::{Conditions, Executable},
    process::{
        Permission, Scratch, advice_on_refused, may_be_refused,
        trace::{Observation, Observed, Plan, Tracing, parse_report},
    },
};

pub(super) struct MissingFile {
    /// Relative to the root of the repository.
    name: String,
    is_ignored: bool,
}

impl fmt::Display for MissingFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, is_ignored } = self;
        let ignores = if *is_ignored { "ignores" } else { "does not track" };
        write!(formatter, "git {ignores} {name}, which it needs")
    }
}

impl MissingFile {
    fn explain(&self, error: Error) -> Error {
        error
            .first_cause(self.to_string())
            .hint(format!("commit {}, or let the benchmark make it", self.name))
    }
}

/// Adds to the error of an executable the files that it looks for, and that are missing in a version with this
/// `checkout` or refused by the sandbox; `run` executes it once more under the tracer.
pub(super) fn explain_files(
    error: Error,
    (repository, checkout): (&Repository, &Path),
    executable: &Executable,
    conditions: &Conditions<'_>,
    run: impl FnOnce(&Conditions<'_>),
) -> Error {
    let Ok(((), Some(Ok(observed)))) = observe(files::real(&executable.path), conditions, run)
    else {
        return error;
    };
    let missing = missing_files(repository, checkout, &observed);
    let error = missing.iter().fold(error, |error, missing| missing.explain(error));
    let output = error.to_string();
    if !may_be_refused(&output) {
        return error;
    }
    // The report shows the first cause.
    advice_on_refused(&observed, &output, Permission::InFile)
        .into_iter()
        .rev()
        .fold(error, Error::first_cause)
}

/// The files that an executable has looked for, and that this checkout lacks.
fn missing_files(
    repository: &Repository,
    checkout: &Path,
    observed: &Observed,
) -> Vec<MissingFile> {
    let checkout = files::real(checkout);
    let paths = observed.opened.union(&observed.looked_for).map(|path| files::real(path));
    let missing = |path: PathBuf| {
        let name = path.strip_prefix(&checkout).ok()?;
        let users = repository.root().join(name);
        let is_missing = !path.exists() && users.is_file();
        let (name, is_ignored) = (name.display().to_string(), repository.ignores(&users));
        is_missing.then_some(MissingFile { name, is_ignored })
    };
    paths.filter_map(missing).collect()
}

/// What a process of an executable does while `run` executes it under the tracer; `None` if the tracer reports nothing.
pub(super) fn observe<T>(
    executable: PathBuf,
    conditions: &Conditions<'_>,
    run: impl FnOnce(&Conditions<'_>) -> T,
) -> Result<(T, Option<Observation>)> {
    let what = || "cannot trace an execution";
    let place = Scratch::new()?;
    let [plan, report] = ["plan.json", "observed.json"].map(|name| place.path().join(name));
    let whole = Plan { executable, report: report.clone(), ..Plan::default() };
    let whole = serde_json::to_vec(&whole).context(Exit::Internal, what)?;
    fs::write(&plan, whole).context(Exit::Usage, what)?;
    let tracing = Tracing { tracer: this_executable()?, plan, ahead: 0 };
    let ran = run(&Conditions { tracing: Some(&tracing), ..*conditions });
    let Ok(report) = fs::read(report) else { return Ok((ran, None)) };
    Ok((ran, Some(parse_report(&report).context(Exit::Internal, what)?)))
}
