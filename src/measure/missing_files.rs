//! Names the files that a bench target needs and that its version does not have: git ignores them, or they were not
//! added, so only the working tree has them.

use std::{fs, path::Path};

use crate::{
    builds::{files, this_executable},
    error::{Error, Exit},
    harness::{Conditions, Executable, Harness, Scratch},
    process::trace::{Observation, Observed, Plan, Tracing},
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
    let Some(observed) = observe(executable, conditions, list) else { return error };
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

/// The files of which a process of an executable asks, observed while `run` executes it under the tracer; `None` if it
/// cannot be traced.
fn observe(
    executable: &Executable,
    conditions: &Conditions<'_>,
    run: impl FnOnce(&Conditions<'_>),
) -> Option<Observed> {
    let place = Scratch::new().ok()?;
    let [plan, report] = ["plan.json", "observed.json"].map(|name| place.path().join(name));
    let executable = files::real(&executable.path);
    let whole = Plan { executable, report: report.clone(), ..Plan::default() };
    fs::write(&plan, serde_json::to_vec(&whole).ok()?).ok()?;
    let tracing = Tracing { tracer: this_executable().ok()?, plan, ahead: 0 };
    run(&Conditions { tracing: Some(&tracing), ..*conditions });
    let observation = fs::read(report).ok()?;
    serde_json::from_slice::<Observation>(&observation).ok()?.ok()
}
