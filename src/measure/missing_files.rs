//! Names the files that a bench target needs and that its version does not have: git ignores them, or they were not
//! added, so only the working tree has them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    builds::{files, this_executable},
    error::{Context, Error, Exit, Result},
    harness::{Conditions, Executable, Harness, Scratch},
    process::trace::{Observation, Plan, Tracing},
    project::Project,
};

/// Adds such files to the error of an executable that could not be listed. It is listed again under the tracer to find
/// them. `root` is the directory of the version's workspace.
pub(super) fn with_missing_files(
    error: Error,
    (project, root): (&Project, &Path),
    (harness, executable): (&dyn Harness, &Executable),
    conditions: &Conditions<'_>,
) -> Error {
    if error.exit() != Exit::Benchmark {
        return error;
    }
    let list = |conditions: &Conditions<'_>| drop(harness.list(executable, conditions));
    let Ok(((), Some(Ok(observed)))) = observe(files::real(&executable.path), conditions, list)
    else {
        return error;
    };
    let (repository, root) = (&project.repository, files::real(root));
    let below = project.workspace.strip_prefix(repository.root()).unwrap_or(Path::new(""));
    let Some(checkout) = root.ancestors().nth(below.components().count()) else { return error };
    let paths = observed.opened.union(&observed.looked_for).map(|path| files::real(path));
    paths.fold(error, |error, path| {
        let Ok(name) = path.strip_prefix(checkout) else { return error };
        let users = repository.root().join(name);
        if path.exists() || !users.is_file() {
            return error;
        }
        let ignores = repository.ignores(&users);
        let why = if ignores { "git ignores it" } else { "git does not track it" };
        error
            .cause(format!("it needs {}, which is not in the version: {why}", name.display()))
            .hint(format!("commit {}, or let the benchmark make it", name.display()))
    })
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
    Ok((ran, Some(serde_json::from_slice(&report).context(Exit::Internal, what)?)))
}
