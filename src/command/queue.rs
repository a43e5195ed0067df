//! `cargo rbench queue`: lists, queues, shows and cancels comparisons of a class of machines.

use std::{fs::File, path::Path};

use super::{output::Output, push::identity, stored_project};
use crate::{
    ci::{self, Comparison, Links, SUMMARY_ROOM},
    cli::{
        ProjectArgs, QueueAddArgs, QueueArgs, QueueCancelArgs, QueueCommand, QueueListArgs,
        QueueShowArgs, job_options, parts,
    },
    console::Console,
    error::{Context as _, Error, Exit, Result},
    git::is_range,
    machine,
    model::{Format, JobState, Priority, Version},
    project::Project,
    report::{
        quantity::count,
        queue::{JobReport, QueueReport},
    },
    shared::{Address, Database, JOB_FORMAT, NewJob, SharedVariables},
    shell::quoted,
};

pub fn run(args: &QueueArgs, shared: &SharedVariables) -> Result<Exit> {
    let console = Console::attach();
    let address = shared.database()?;
    // For the project of a command that reads no commits.
    let open = |project: &ProjectArgs| {
        let identity = identity(&stored_project(project)?.repository)?;
        Database::open(&address, identity, |text| console.line(text))
    };
    match &args.command {
        None => list(&args.list, open(&args.list.project)?),
        Some(QueueCommand::List(args)) => list(args, open(&args.project)?),
        Some(QueueCommand::Add(args)) => add(args, &address, &console),
        Some(QueueCommand::Show(args)) => show(args, open(&args.project)?),
        Some(QueueCommand::Cancel(args)) => cancel(args, open(&args.project)?, &console),
    }
}

fn list(args: &QueueListArgs, mut database: Database<'_>) -> Result<Exit> {
    Output::new(args.format)?.write(&QueueReport {
        workers: database.workers()?,
        jobs: database.jobs(args.ended)?,
        waiting: database.waiting(None)?,
        format: JOB_FORMAT,
    })?;
    Ok(Exit::Success)
}

fn add(args: &QueueAddArgs, address: &Address, console: &Console) -> Result<Exit> {
    let options = job_options(&args.options)?;
    let (identity, pairs, pack) = if let Some(file) = &args.pack {
        let (digest, identity, versions) = Project::pack_subject(file)?;
        let [base, head] = versions.each_ref().map(commit);
        (identity, vec![[base?, head?]], Some((digest.to_string(), file)))
    } else {
        let project = stored_project(&args.project)?;
        (identity(&project.repository)?, pairs(&project, &args.revisions)?, None)
    };
    let mut database = Database::open(address, identity, |text| console.line(text))?;
    if let Some((digest, file)) = &pack {
        send_pack(&mut database, digest, file)?;
    }
    let pack = pack.map(|(digest, _)| digest);
    let class = match &args.class {
        Some(class) => machine::class_name("--class", class)?,
        None => only_class(&mut database)?,
    };
    let is_range = args.revisions.iter().any(|revision| is_range(revision));
    let usual = if is_range { Priority::BackFill } else { Priority::Normal };
    let mut ids = Vec::new();
    for [base, head] in pairs {
        let job = NewJob {
            class: class.clone(),
            request: String::new(),
            priority: args.priority.unwrap_or(usual),
            base,
            head,
            options: options.clone(),
            pack: pack.clone(),
        };
        ids.extend(add_parts(&mut database, &job, args.parts)?);
    }
    ids.sort_unstable();
    ids.dedup();
    let jobs = database.jobs_of(&ids)?;
    for job in &jobs {
        let options = job.options.iter().map(|option| format!(" {}", quoted(option)));
        let options: String = options.collect();
        console.line(&format!("job {}: {}: {}{options}", job.id, job.state, job.versions()));
    }
    let numbers = ids.iter().map(|id| format!("{id}\n"));
    Console::result(&numbers.collect::<String>())?;
    let done = jobs.iter().filter(|job| job.state == JobState::Done).count();
    let done = if done > 0 { format!(", of which {done} are done already") } else { String::new() };
    console.line(&format!("{} for class {class}{done}", count(ids.len(), "job")));
    Ok(Exit::Success)
}

/// Queues the parts of a job, and returns their numbers.
pub fn add_parts(database: &mut Database<'_>, job: &NewJob, count: u32) -> Result<Vec<i64>> {
    let add = |options| database.add_job(&NewJob { options, ..job.clone() });
    parts(&job.options, count).map(add).collect()
}

/// Sends the pack with this digest for jobs.
pub fn send_pack(database: &mut Database<'_>, digest: &str, file: &Path) -> Result<()> {
    let what = || format!("cannot read {}", file.display());
    let mut bytes = File::open(file).context(Exit::Usage, what)?;
    database.add_pack(digest, &mut bytes)
}

/// The commits of each comparison, the newest first.
fn pairs(project: &Project, revisions: &[String]) -> Result<Vec<[String; 2]>> {
    let repository = &project.repository;
    let pair = |versions: [&Version; 2]| {
        let [base, head] = versions.map(commit);
        Ok([base?, head?])
    };
    match revisions {
        [range] if is_range(range) => {
            let mut line = repository.resolve_range(range)?;
            line.push(repository.resolve_range_start(range)?);
            line.windows(2).map(|neighbors| pair([&neighbors[1], &neighbors[0]])).collect()
        }
        [one] => {
            let base = repository.resolve(&format!("{one}~1"))?;
            Ok(vec![pair([&base, &repository.resolve(one)?])?])
        }
        [base, head] => Ok(vec![pair([&repository.resolve(base)?, &repository.resolve(head)?])?]),
        _ => Ok(Vec::new()),
    }
}

/// The name of a version for another machine.
pub fn commit(version: &Version) -> Result<String> {
    let commit = version.commit.clone().filter(|_| !version.dirty).ok_or_else(|| {
        Error::new(Exit::Usage, "cannot queue the uncommitted tree")
            .cause("workers fetch commits from the remote")
            .hint("commit and push it first")
    })?;
    Ok(match &version.variant {
        None => commit,
        Some(variant) => format!("{commit}+{}", variant.name),
    })
}

/// The class of all live workers of the project.
fn only_class(database: &mut Database<'_>) -> Result<String> {
    let workers = database.workers()?;
    let mut classes: Vec<String> =
        workers.into_iter().filter(|worker| worker.is_alive).map(|worker| worker.class).collect();
    classes.dedup();
    if let [class] = &classes[..] {
        return Ok(class.clone());
    }
    let known = if classes.is_empty() { "none".to_owned() } else { classes.join(", ") };
    Err(Error::new(Exit::Usage, "the class of machines is unknown")
        .cause(format!("classes with live workers: {known}"))
        .hint("name it: --class NAME"))
}

fn show(args: &QueueShowArgs, mut database: Database<'_>) -> Result<Exit> {
    let job = database.jobs_of(&[args.id])?.pop().ok_or_else(|| {
        Error::new(Exit::Usage, format!("cannot find job {}", args.id))
            .cause("this project has none with this number")
            .hint("list them with: cargo rbench queue")
    })?;
    let comparison = match job.state {
        JobState::Done => database.report(args.id)?,
        _ => None,
    };
    let comparison = comparison.map(|text| Comparison::parse(&text)).transpose()?;
    let page = comparison.as_ref().map(|one| ci::page(one, &Links::default(), SUMMARY_ROOM));
    let comparison =
        comparison.map(|comparison| serde_json::to_value(comparison).unwrap_or_default());
    Output::new(args.format)?.write(&JobReport { job, comparison })?;
    if let (Some(page), Format::Text | Format::Markdown) = (page, args.format) {
        Console::result(&format!("\n{page}"))?;
    }
    Ok(Exit::Success)
}

fn cancel(args: &QueueCancelArgs, mut database: Database<'_>, console: &Console) -> Result<Exit> {
    let mut exit = Exit::Success;
    for id in &args.ids {
        if database.cancel(*id)? {
            console.line(&format!("job {id}: cancelled"));
        } else {
            console.error(&format!("error: job {id} has ended, or there is none with this number"));
            exit = Exit::Usage;
        }
    }
    Ok(exit)
}
