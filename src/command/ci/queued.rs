//! A comparison that a machine of a class makes instead of that of the job, which waits for it.

use std::time::{Duration, Instant};

use super::{
    super::{
        pack, push,
        queue::{add_parts, commit, send_pack},
        stored_project,
    },
    job::Job,
};
use crate::{
    ci::{self, Comparison},
    cli::{CiQueueArgs, CompareArgs, of_given},
    console::Console,
    error::{Context as _, Error, Exit, Result},
    machine,
    model::{self, JobState, Priority, short_versions},
    process::Interrupt,
    project::Project,
    shared::{Database, NewJob, SharedVariables},
};

/// The pause between two questions about the jobs.
const POLL: Duration = Duration::from_secs(2);

/// Options of this command alone: what it prints and publishes, and whom it asks.
const OWN: [&str; 20] = [
    "base",
    "head",
    "on",
    "packed",
    "parts",
    "patience",
    "variant",
    "provider",
    "output-dir",
    "comment-name",
    "no-comment",
    "site",
    "advisory-label",
    "fail-on",
    "manifest-path",
    "quiet",
    "verbose",
    "color",
    "reasons",
    "format",
];

/// Options of compiling, which a pack replaces.
const COMPILED: [&str; 8] = [
    "package",
    "bench",
    "exclude",
    "workspace",
    "profile",
    "features",
    "all-features",
    "no-default-features",
];

/// Queues the comparison, waits for its result, and publishes it.
pub fn compare(
    args: &CompareArgs,
    (class, queue): (&str, &CiQueueArgs),
    shared: &SharedVariables,
    job: &mut Job<'_>,
    console: &Console,
) -> Result<Exit> {
    let class = machine::class_name("--on", class)?;
    let address = shared.database().map_err(|error| {
        error.hint("jobs of forks have no secrets, so they cannot queue: see docs/fleet.md")
    })?;
    let mut given = args.given.without(&OWN);
    if queue.packed {
        // They are in the pack.
        given = given.without(&COMPILED);
    }
    let options = of_given(&given)?;
    let project = stored_project(&args.experiment.target.project)?;
    let versions = args
        .versions
        .names()?
        .map(|name| project.repository.resolve(name).and_then(|version| commit(&version)));
    let [base, head] = versions;
    let (base, head) = (base?, head?);
    let interrupt = Interrupt::on_signals_in_order()?;
    job.clear()?;
    job.mark_stale();
    let identity = push::identity(&project.repository)?;
    let mut database = Database::open(&address, identity, |text| console.line(text))?;
    let pack = if queue.packed {
        let what = || "cannot make a temporary file for the pack";
        let file = tempfile::NamedTempFile::new().context(Exit::Usage, what)?;
        let revisions = [base.clone(), head.clone()];
        pack::make(&revisions, &args.experiment, file.path(), (console, &interrupt))?;
        let (digest, ..) = Project::pack_subject(file.path())?;
        let digest = digest.to_string();
        send_pack(&mut database, &digest, file.path())?;
        Some(digest)
    } else {
        None
    };
    let new = NewJob {
        class: class.clone(),
        request: job.request_name(),
        priority: Priority::Gate,
        base,
        head,
        options,
        pack,
    };
    let ids = add_parts(&mut database, &new, queue.parts)?;
    let numbers: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let numbers = numbers.join(", ");
    let versions = short_versions(&new.base, &new.head);
    console.line(&format!("queued {versions} for class {class}: job {numbers}"));
    if let Err(error) = wait(&mut database, &ids, queue.patience, (console, &interrupt)) {
        // Another job of CI may wait for the same.
        for id in &ids {
            let _ = database.withdraw(*id);
        }
        return Err(error);
    }
    let result = |id: &i64| {
        let text = database.report(*id)?.ok_or_else(|| {
            Error::new(Exit::Internal, format!("job {id} is done, and has no result"))
        })?;
        Comparison::parse(&text)
    };
    let mut results: Vec<Comparison> = ids.iter().map(result).collect::<Result<_>>()?;
    let whole = if queue.parts == 1 { results.pop() } else { None };
    let comparison = whole.map_or_else(|| ci::merge(&results), Ok)?;
    job.publish_finished(&comparison, args.verdict.fail_on)
}

/// Waits until all jobs are done.
fn wait(
    database: &mut Database<'_>,
    ids: &[i64],
    patience: Duration,
    (console, interrupt): (&Console, &Interrupt),
) -> Result<()> {
    let begin = Instant::now();
    let mut shown: Vec<String> = Vec::new();
    loop {
        let jobs = match database.jobs_of(ids) {
            // The machines go on meanwhile.
            Err(_) if database.is_away() => Vec::new(),
            jobs => jobs?,
        };
        let now: Vec<String> = jobs.iter().map(standing).collect();
        for standing in now.iter().filter(|standing| !shown.contains(standing)) {
            console.line(standing);
        }
        shown = now;
        if let Some(error) = jobs.iter().find_map(failure) {
            return Err(error);
        }
        if jobs.len() == ids.len() && jobs.iter().all(|job| job.state.has_ended()) {
            return Ok(());
        }
        if begin.elapsed() >= patience {
            let why = if jobs.is_empty() {
                "the database did not answer"
            } else if jobs.iter().any(|job| job.state == JobState::Running) {
                "a machine still measured"
            } else {
                "no machine was free"
            };
            return Err(Error::new(Exit::Unmeasured, "not measured in time")
                .cause(format!("{why} when the time of --patience was over"))
                .hint("see who works and what waits with: cargo rbench queue"));
        }
        interrupt.sleep(POLL);
        if interrupt.is_set() {
            return Err(Error::new(Exit::Interrupted, "stopped, and the jobs are cancelled"));
        }
    }
}

/// Where a job stands, in a line.
fn standing(job: &model::Job) -> String {
    let worker = job.worker.as_ref().filter(|_| job.state == JobState::Running);
    let on = worker.map_or_else(String::new, |worker| format!(" on {worker}"));
    format!("job {}: {}{on}", job.id, job.state)
}

fn failure(job: &model::Job) -> Option<Error> {
    let what = format!("job {} has no result", job.id);
    match job.state {
        JobState::Cancelled => Some(
            Error::new(Exit::Unmeasured, what)
                .cause("it was cancelled: by somebody, or because a newer commit was pushed"),
        ),
        JobState::Failed => {
            let exit = [Exit::Usage, Exit::Build, Exit::Benchmark].into_iter();
            let exit = exit.clone().find(|exit| Some(*exit as i16) == job.exit);
            let failure = job.failure.clone().unwrap_or_default();
            Some(Error::new(exit.unwrap_or(Exit::Unmeasured), what).cause(failure))
        }
        _ => None,
    }
}
