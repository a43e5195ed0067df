//! `cargo rbench worker`: takes jobs from the queue, one after the other, and compares.
//!
//! A separate process compares, as a user would do by hand: what a commit does, such as a crash, a hang or
//! eating all memory, happens there. This process sleeps meanwhile, and sends a few bytes every 15 s.

mod home;

use std::{
    env,
    fs::{self, File},
    io::{BufWriter, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::Signal;

use self::home::{WorkerHome, commit};
use super::{ci::comment::read, push};
use crate::{
    builds::{run_tool_or, this_executable},
    ci::{Comparison, Provider},
    cli::{GivenOptions, WorkerArgs, job_options},
    console::Console,
    error::{Context as _, Error, Exit, Result},
    git::Repository,
    machine,
    model::short_versions,
    process::{Ending, Interrupt, RunningCommand, WaitEnd},
    project::Project,
    shared::{Address, Claim, Database, Order, Place, SharedVariables, WorkerDescription},
};

const POLL: Duration = Duration::from_secs(2);

/// The time between two beats.
const BEAT: Duration = Duration::from_secs(15);

/// The time without an answer to a beat after which a worker stops. The database gives the job to others after 90 s, and
/// a question to a network that is gone takes up to 40 s.
const ALONE: Duration = Duration::from_secs(45);

/// The time for a comparison to end in order. It ends the execution that runs.
const GRACE: Duration = Duration::from_secs(30);

/// The pause when the remote of the clone or a registry is away.
const REMOTE_PAUSE: Duration = Duration::from_secs(60);

/// The number of commits that a worker remembers to have compiled.
const REMEMBERED: usize = 32;

pub fn run(args: &WorkerArgs, shared: &SharedVariables) -> Result<Exit> {
    let class = match &args.class {
        Some(class) => machine::class_name("--class", class)?,
        None => machine::class()?,
    };
    if class.is_empty() {
        return Err(Error::new(Exit::Usage, "cannot work for no class of machines")
            .hint("name the class of this machine: --class ax42, or RBENCH_CLASS=ax42"));
    }
    let console = Console::attach();
    let interrupt = Interrupt::on_signals_in_order()?;
    let address = shared.database()?;
    let here = env::current_dir().context(Exit::Usage, || "cannot find the current directory")?;
    let here = args
        .manifest_path
        .as_ref()
        .and_then(|manifest| manifest.parent())
        .map_or(here.clone(), |parent| here.join(parent));
    let here =
        here.canonicalize().context(Exit::Usage, || format!("cannot find {}", here.display()))?;
    let repository = Repository::discover(&here)?;
    let identity = push::identity(&repository)?;
    let home = WorkerHome::open(&repository, &identity, &here)?;
    let cargo = run_tool_or(Command::new("cargo").arg("--version"), Exit::Build, String::new);
    let only_packs = cargo.is_err();
    if only_packs {
        console.line("note: there is no cargo, so only jobs with packs are taken");
    }
    let this = machine::this_machine();
    let description = WorkerDescription {
        name: home.name.clone(),
        boot: home.boot.clone(),
        class,
        machine: format!("{this} {}", this.id),
        rbench: env!("CARGO_PKG_VERSION").to_owned(),
        cached: Vec::new(),
        only_packs,
    };
    let database =
        Database::open(&address, identity, |text| console.line(text))?.without_patience();
    console.line(&format!(
        "worker {} of class {} takes jobs of the {address}",
        description.name, description.class
    ));
    let mut worker = Worker {
        args,
        console: &console,
        interrupt: &interrupt,
        address,
        home,
        description,
        database,
    };
    let ended = worker.work();
    // Otherwise the host counts as taken until its lease is over.
    let left = worker.database.leave(&worker.description);
    ended.and(left).map(|()| Exit::Success)
}

struct Worker<'w> {
    args: &'w WorkerArgs,
    console: &'w Console,
    interrupt: &'w Interrupt,
    address: Address,
    home: WorkerHome,
    description: WorkerDescription,
    database: Database<'w>,
}

/// What a comparison is made of.
enum Subject {
    /// The commits of a workspace, with the head checked out.
    Workspace(PathBuf),
    /// A pack with both versions, compiled.
    Pack(PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    BySignal,
    ByOrder(Order),
    Alone,
    AtDeadline,
}

impl Worker<'_> {
    fn work(&mut self) -> Result<()> {
        let begin = Instant::now();
        let (mut is_away, mut is_waiting) = (false, false);
        while !self.interrupt.is_set() {
            if self.args.duration.is_some_and(|duration| begin.elapsed() >= duration) {
                self.console.line("the time of --for is over");
                break;
            }
            self.have_disk()?;
            let claimed = self.database.claim(&self.description);
            if let Err(error) = &claimed
                && self.database.is_away()
            {
                if !is_away {
                    self.console.line(&format!("warning: {error}"));
                }
                is_away = true;
                self.interrupt.sleep(POLL);
                continue;
            }
            is_away = false;
            if let Some(job) = claimed? {
                is_waiting = false;
                self.say(&job, &format!("compares {}", short_versions(&job.base, &job.head)));
                if let Err(error) = self.make(&job) {
                    // Other jobs would meet the fault too. Without an answer, the job waits for the end of its lease.
                    let _ = self.repeat(|database| database.release(&job).map(drop));
                    return Err(error);
                }
                continue;
            }
            if self.args.until_empty && self.database.waiting(Some(&self.description.class))? == 0 {
                self.console.line("no job is queued");
                break;
            }
            if !is_waiting {
                self.console.line("waits for jobs");
            }
            is_waiting = true;
            self.interrupt.sleep(POLL);
        }
        Ok(())
    }

    /// Fails if the disk is nearly full, even without what can be made again.
    fn have_disk(&self) -> Result<()> {
        if self.home.check_disk().is_ok() {
            return Ok(());
        }
        match self.home.remove_caches(self.console) {
            Ok(removed) => {
                let removed = removed >> 20;
                let line = format!("the disk is nearly full: removed {removed} MB of caches");
                self.console.line(&line);
            }
            Err(error) => self.console.line(&format!("warning: {error}")),
        }
        self.home.check_disk()
    }

    /// Makes the comparison of a job, and answers. An error is a fault of this process or its machine, not of the job.
    fn make(&mut self, job: &Claim) -> Result<()> {
        for version in [&job.base, &job.head] {
            self.description.cached.retain(|known| known != version);
            self.description.cached.insert(0, version.clone());
        }
        self.description.cached.truncate(REMEMBERED);
        if let Some(exit) = self.home.noted_end(job) {
            self.say(job, "was compared before this worker was started again");
            let subject = match &job.pack {
                Some(_) => Subject::Pack(self.home.pack()),
                None => Subject::Workspace(self.home.workspace()),
            };
            return self.answer(job, Ending::Exited(exit.into()), &subject);
        }
        let Some((options, subject)) = self.prepare(job)? else { return Ok(()) };
        let mut command = self.command(job, &options, &subject)?;
        match self.run(job, &mut command)? {
            Some(ending) => self.answer(job, ending, &subject),
            None => Ok(()),
        }
    }

    /// Runs a command of a job to its end, with its errors in the log. None: it was stopped before, and the queue knows.
    fn run(&mut self, job: &Claim, command: &mut Command) -> Result<Option<Ending>> {
        let log = self.home.log();
        let out = File::create(&log)
            .context(Exit::Usage, || format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(out);
        let what = || format!("cannot run a command for job {}", job.id);
        let command = RunningCommand::start(command).context(Exit::Internal, what)?;
        let stopped = self.attend(job, &command);
        if stopped.is_some() {
            command.interrupt();
        }
        let grace = if stopped.is_some() { GRACE } else { Duration::ZERO };
        let ending = command.end(grace).context(Exit::Internal, what)?;
        match stopped {
            None => return Ok(Some(ending)),
            Some(Stopped::AtDeadline) => {
                let what = "the comparison did not end before the deadline of the worker";
                return self.fail(job, &Error::new(Exit::Benchmark, what), false).map(|()| None);
            }
            Some(Stopped::ByOrder(Order::Lost)) => {
                self.say(job, "another worker has it");
                return Ok(None);
            }
            Some(Stopped::Alone) => {
                self.say(job, "stopped, since the database does not answer");
            }
            Some(Stopped::BySignal) => {
                self.say(job, "released; this worker or another one continues it");
            }
            Some(Stopped::ByOrder(Order::Cancelled)) => self.say(job, "cancelled"),
            Some(Stopped::ByOrder(_)) => self.say(job, "released for a gate"),
        }
        // Whatever the reason, the job is to be continued, and the worker has not failed.
        self.repeat(|database| database.release(job).map(drop)).map(|()| None)
    }

    /// Gets what a job compares, and checks its options. None: that is impossible, and the queue knows.
    fn prepare(&mut self, job: &Claim) -> Result<Option<(Vec<String>, Subject)>> {
        let options = match job_options(&job.options) {
            Ok(options) => options,
            Err(error) => return self.fail(job, &error, true).map(|()| None),
        };
        let subject = if job.pack.is_some() { self.receive(job)? } else { self.fetch(job)? };
        Ok(subject.map(|subject| (options, subject)))
    }

    fn receive(&mut self, job: &Claim) -> Result<Option<Subject>> {
        let path = self.home.pack();
        let received = File::create(&path)
            .context(Exit::Usage, || format!("cannot write {}", path.display()))
            .and_then(|file| self.database.pack(job, &mut BufWriter::new(file)));
        match received {
            Ok(()) => Ok(Some(Subject::Pack(path))),
            Err(error) if self.database.is_away() => self.put_off(job, &error).map(|()| None),
            Err(error) => self.fail(job, &error, false).map(|()| None),
        }
    }

    /// Fetches the commits of a job, and checks its head out.
    fn fetch(&mut self, job: &Claim) -> Result<Option<Subject>> {
        let fetch = match self.home.fetch(job) {
            Ok(fetch) => fetch,
            Err(error) => return self.fail(job, &error, true).map(|()| None),
        };
        if let Some(mut fetch) = fetch {
            let Some(ending) = self.run(job, &mut fetch)? else { return Ok(None) };
            if ending != Ending::Exited(0) {
                let error = Error::new(Exit::Usage, "cannot fetch the commits of the job");
                let error = error.cause(end_of(&self.home.log()));
                // If the remote is away, it is no fault of the job, and other jobs would fare no better.
                let is_of_job = self.home.reaches_remote();
                let answered = if is_of_job {
                    self.fail(job, &error, true)
                } else {
                    self.put_off(job, &error)
                };
                return answered.map(|()| None);
            }
        }
        match self.home.check_out(job) {
            Ok(workspace) => Ok(Some(Subject::Workspace(workspace))),
            // Another machine may be able to.
            Err(error) => self.fail(job, &error, false).map(|()| None),
        }
    }

    /// Gives a job back because a server is away, and waits for it.
    fn put_off(&mut self, job: &Claim, error: &Error) -> Result<()> {
        self.say(job, &format!("released: {error}"));
        self.repeat(|database| database.release(job).map(drop))?;
        self.interrupt.sleep(REMOTE_PAUSE);
        Ok(())
    }

    /// The command that compares. Its environment has neither the address of the database nor tokens.
    fn command(&self, job: &Claim, options: &[String], subject: &Subject) -> Result<Command> {
        let result = self.home.result();
        // That of an earlier job must not be mistaken for the result of this one.
        self.home.forget_end();
        let _ = fs::remove_file(&result);
        let mut command = Command::new(this_executable()?);
        // git needs them here to fetch; code of a commit does not.
        let tokens = Provider::ALL.iter().flat_map(|provider| provider.token_variables());
        tokens.chain(&["SSH_AUTH_SOCK"]).for_each(|name| {
            command.env_remove(name);
        });
        match subject {
            Subject::Workspace(workspace) => {
                command.current_dir(workspace).args(["compare", &job.base, &job.head]);
            }
            Subject::Pack(file) => {
                command.arg("compare").arg("--pack").arg(file);
            }
        }
        command
            .env(machine::CLASS_VARIABLE, &self.description.class)
            .args(options)
            .arg("--output")
            .arg(&result);
        Ok(command)
    }

    /// Waits for the end of a comparison, and reports that it goes on. Returns the reason to stop it, if there is one.
    fn attend(&mut self, job: &Claim, command: &RunningCommand) -> Option<Stopped> {
        let begin = Instant::now();
        let mut heard = begin;
        loop {
            // Questions that fail take some time, too.
            let pause = BEAT.min(ALONE.saturating_sub(heard.elapsed()));
            match command.wait(Some(self.interrupt), pause) {
                WaitEnd::Ended => return None,
                WaitEnd::Interrupted => return Some(Stopped::BySignal),
                WaitEnd::TimedOut => {}
            }
            if begin.elapsed() >= self.args.deadline {
                return Some(Stopped::AtDeadline);
            }
            let progress = last_line(&self.home.log());
            match self.database.beat(job, &progress) {
                Ok(Order::Continue) => heard = Instant::now(),
                Ok(order) => return Some(Stopped::ByOrder(order)),
                // The answers that are missing decide, whatever the reason.
                Err(_) if heard.elapsed() >= ALONE => return Some(Stopped::Alone),
                Err(_) => {}
            }
        }
    }

    /// Sends what was measured, and the result or the failure.
    fn answer(&mut self, job: &Claim, ending: Ending, subject: &Subject) -> Result<()> {
        let Ending::Exited(code) = ending else {
            let signal = if let Ending::Signalled(signal) = ending { signal } else { 0 };
            let name = Signal::from_named_raw(signal).map(|signal| format!("{signal:?}"));
            let what = format!("the comparison was killed by signal {}", name.unwrap_or_default());
            return self.fail(job, &Error::new(Exit::Internal, what), false);
        };
        let code = u8::try_from(code).unwrap_or(Exit::Internal as u8);
        let is = |exits: &[Exit]| exits.iter().any(|exit| *exit as u8 == code);
        let has_verdict =
            is(&[Exit::Success, Exit::Regression, Exit::Benchmark, Exit::Inconclusive]);
        let report = read(&self.home.result()).ok();
        // A pack may be of other commits than its job says.
        let is_of_job = |report: &Comparison| {
            commit(&job.head).is_ok_and(|head| report.head_commit() == Some(head))
        };
        let report =
            report.filter(|report| Comparison::parse(report).is_ok_and(|one| is_of_job(&one)));
        let Some(report) = report.filter(|_| has_verdict) else {
            // As after an update of rbench.
            this_executable()?;
            let end = end_of(&self.home.log());
            // A commit that does not compile here compiles nowhere, unless the disk is full or a registry is away.
            let is_away = is(&[Exit::Build]) && is_failed_download(&end);
            let is_permanent = is(&[Exit::Usage, Exit::Build, Exit::Benchmark])
                && !is_away
                && self.home.check_disk().is_ok();
            let error =
                Error::new(Exit::Internal, format!("the comparison ended with exit code {code}"));
            self.fail_with(job, code, &error.cause(end), is_permanent)?;
            if is_away {
                self.interrupt.sleep(REMOTE_PAUSE);
            }
            return Ok(());
        };
        self.home.note_end(job, code);
        // Results first: with a result, a job has ended.
        let project = match subject {
            Subject::Workspace(workspace) => {
                Project::find(Some(&workspace.join("Cargo.toml")), &[])
            }
            Subject::Pack(file) => Project::from_pack(file, &[], self.console),
        };
        let project = match project {
            Ok(project) => project,
            // It was one when the comparison began.
            Err(error) => return self.fail(job, &error, false),
        };
        let place = Place::Database(Box::new(self.address.clone()));
        loop {
            match push::push(&project, &place, &GivenOptions::default(), self.console) {
                Ok(sent) => {
                    self.console.line(&sent);
                    break;
                }
                Err(error) => {
                    // They are stored, and the next push sends them.
                    self.console.line(&format!("warning: {error}"));
                    if self.interrupt.is_set() || !self.is_away() {
                        break;
                    }
                    self.interrupt.sleep(POLL);
                }
            }
        }
        let mut was_taken = None;
        self.repeat(|database| {
            was_taken = Some(database.finish(job, code, &report)?);
            Ok(())
        })?;
        if was_taken.is_some() {
            self.home.forget_end();
        }
        self.say(
            job,
            match was_taken {
                Some(true) => "done",
                Some(false) => "another worker has it; its answer counts",
                None => "compared; this worker answers when it is started again",
            },
        );
        Ok(())
    }

    fn is_away(&mut self) -> bool {
        self.database.workers().is_err() && self.database.is_away()
    }

    fn fail(&mut self, job: &Claim, error: &Error, is_permanent: bool) -> Result<()> {
        self.fail_with(job, error.exit() as u8, error, is_permanent)
    }

    fn fail_with(
        &mut self,
        job: &Claim,
        code: u8,
        error: &Error,
        is_permanent: bool,
    ) -> Result<()> {
        self.console.line(&format!("job {}: failed: {error}", job.id));
        let text = error.to_string();
        self.repeat(|database| database.fail(job, code, &text, is_permanent).map(drop))
    }

    fn say(&self, job: &Claim, what: &str) {
        self.console.line(&format!("job {}: {what}", job.id));
    }

    /// Asks the database until it answers, or until a signal. What it does not hear, it notices by itself when the lease
    /// of the job ends.
    fn repeat(&mut self, mut question: impl FnMut(&mut Database<'_>) -> Result<()>) -> Result<()> {
        loop {
            let answer = question(&mut self.database);
            if answer.is_ok() || !self.database.is_away() {
                return answer;
            }
            if self.interrupt.is_set() {
                return Ok(());
            }
            self.interrupt.sleep(POLL);
        }
    }
}

/// True if the end of a log says that cargo could not download something that the server may have later.
fn is_failed_download(end: &str) -> bool {
    ["spurious network error", "failed to download from"].iter().any(|sign| end.contains(sign))
}

fn end_of(path: &Path) -> String {
    const LENGTH: u64 = 4096;
    let end = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LENGTH)))?;
        let mut bytes = Vec::new();
        file.take(LENGTH).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    String::from_utf8_lossy(&end().unwrap_or_default()).trim().to_owned()
}

/// The last line of a log, without control characters.
fn last_line(path: &Path) -> String {
    let end = end_of(path);
    let line = end.lines().next_back().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::is_failed_download;

    #[test]
    fn registry_that_is_away_is_no_fault_of_the_commit() {
        let away = "error: failed to get `itoa` as a dependency of package `a v0.1.0 (/a)`\n\nCaused by:\n  \
            failed to query replaced source registry `crates-io`\n\nCaused by:\n  download of config.json failed\n\n\
            Caused by:\n  failed to download from `http://127.0.0.1:1/config.json`";
        assert!(is_failed_download(away));
        assert!(!is_failed_download("error[E0425]: cannot find value `x` in this scope"));
    }
}
