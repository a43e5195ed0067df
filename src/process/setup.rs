//! Runs the commands of set-ups in a keeper: a process between rbench and everything that set-up starts.
//!
//! A command may leave a server running, which must live until the clean-up and not longer, however rbench ends, even
//! by SIGKILL. So the keeper has one end of a socket as its standard input, and rbench the other. When rbench closes it
//! or dies, the keeper runs the clean-up commands, ends all its descendants, and ends itself. It adopts descendants
//! whose parents have ended, even those that started their own session. Its standard output is the open lock file, so
//! that another rbench process waits for the end of the clean-up.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    net::Shutdown,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::PathBuf,
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group,
    set_child_subreaper, waitid,
};
use serde::{Deserialize, Serialize};

use super::{
    child::{self, ExitWatch, end_with_this_process},
    interrupt::Interrupt,
    readable::first_readable,
    reaper::Reaper,
    sandbox::{self, AtRequest, Confined, Task, pass_confinement},
};
use crate::{
    error::{Context, Error, Exit, Result},
    secrets,
};

pub const KEEPER: &str = "cargo-rbench-keeper";

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// Bytes of the end of a command's output that are reported.
const TAIL: usize = 4 << 10;

/// Bytes of the end that the keeper sends: with enough before the others to recognize a secret that begins there.
const SENT: u64 = 64 << 10;

/// Lines of a failed command's stderr that are reported.
const LINES: usize = 10;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetupCommand {
    /// The key of bench.toml that has it.
    pub key: String,
    pub script: String,
    pub directory: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
    pub timeout: Duration,
}

#[derive(Serialize, Deserialize)]
enum Request {
    Run(SetupCommand),
    AtEnd(SetupCommand),
}

/// The failure of a command, with the end of its output.
#[derive(Serialize, Deserialize)]
struct Failure {
    key: String,
    script: String,
    directory: PathBuf,
    reason: String,
    /// The end of its output, as it was written.
    output: Vec<u8>,
    is_cut: bool,
}

/// The reply to a request: nothing, or the failure of the command.
type Reply = Option<Failure>;

static SETUPS: Mutex<SetupsOfThisProcess> = Mutex::new(SetupsOfThisProcess {
    keeper: None,
    lock: None,
    done: BTreeSet::new(),
    ending: BTreeSet::new(),
});

struct SetupsOfThisProcess {
    /// Absent until something is set up.
    keeper: Option<Keeper>,
    lock: Option<File>,
    /// What was set up: the directory, and the number of the set-up.
    done: BTreeSet<(PathBuf, usize)>,
    ending: BTreeSet<(PathBuf, usize)>,
}

struct Keeper {
    process: Child,
    socket: BufReader<UnixStream>,
}

fn setups() -> MutexGuard<'static, SetupsOfThisProcess> {
    SETUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the keeper hold this lock until the end of the clean-up; without one, later keepers hold none.
pub fn share_lock_with_setups(lock: Option<File>) {
    setups().lock = lock;
}

/// Runs `first` unless that was done for this directory and set-up, and `last` when all set-ups end. If `first` fails,
/// `last` runs at the end nevertheless.
pub fn set_up_once(
    once: (PathBuf, usize),
    [first, last]: [Option<SetupCommand>; 2],
    interrupt: &Interrupt,
) -> Result<()> {
    let mut setups = setups();
    if setups.done.contains(&once) {
        return Ok(());
    }
    // Before the set-up, which may fail when half of it is done; and only once if it is tried again.
    if let Some(last) = last.filter(|_| setups.ending.insert(once.clone())) {
        setups.ask(&Request::AtEnd(last), interrupt)?;
    }
    if let Some(first) = first {
        setups.ask(&Request::Run(first), interrupt)?;
    }
    setups.done.insert(once);
    Ok(())
}

pub fn run_setup_command(command: SetupCommand, interrupt: &Interrupt) -> Result<()> {
    setups().ask(&Request::Run(command), interrupt)
}

/// Ends all set-ups: runs the clean-up commands, and ends what was left running. Returns the failures.
pub fn end_setups() -> Vec<Error> {
    let mut setups = setups();
    setups.done.clear();
    setups.ending.clear();
    let Some(Keeper { mut process, socket }) = setups.keeper.take() else { return Vec::new() };
    let id = Pid::from_child(&process);
    let _ = socket.get_ref().shutdown(Shutdown::Write);
    let replies = socket.lines().map_while(io::Result::ok);
    let failures = replies.filter_map(|line| serde_json::from_str::<Failure>(&line).ok());
    let failures = failures.map(|failure| failure.error()).collect();
    let _ = process.wait();
    child::forget_keeper(id);
    failures
}

impl SetupsOfThisProcess {
    fn ask(&mut self, request: &Request, interrupt: &Interrupt) -> Result<()> {
        let cannot = || "cannot run the commands of set-ups";
        if self.keeper.is_none() {
            self.keeper = Some(Keeper::start(self.lock.as_ref()).context(Exit::Internal, cannot)?);
        }
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        // As with a child that runs, a signal must not end this process before it can wait for the clean-up.
        let running = interrupt.starting();
        let reply = keeper.ask(request, interrupt).context(Exit::Internal, cannot);
        drop(running);
        match reply? {
            None => Err(Error::new(Exit::Interrupted, "stopped while a command of a set-up ran")),
            Some(None) => Ok(()),
            Some(Some(failure)) => Err(failure.error()),
        }
    }
}

impl Keeper {
    fn start(lock: Option<&File>) -> io::Result<Self> {
        let (own, its) = UnixStream::pair()?;
        let mut command = Command::new(std::env::current_exe()?);
        // A Ctrl-C at the terminal goes to rbench alone.
        command.arg0(KEEPER).stdin(OwnedFd::from(its));
        child::in_own_session(&mut command);
        match lock {
            Some(lock) => command.stdout(lock.try_clone()?),
            None => command.stdout(Stdio::null()),
        };
        pass_confinement(&mut command, Task::Run)?;
        let process = child::spawn_keeper(&mut command)?;
        Ok(Self { process, socket: BufReader::new(own) })
    }

    /// The reply; `None` if an interrupt comes first.
    fn ask(&mut self, request: &Request, interrupt: &Interrupt) -> io::Result<Option<Reply>> {
        if interrupt.is_set() {
            return Ok(None);
        }
        send(self.socket.get_ref(), request)?;
        if first_readable(&[self.socket.get_ref(), interrupt], None)? != Some(0) {
            return Ok(None);
        }
        let mut line = String::new();
        self.socket.read_line(&mut line)?;
        Ok(Some(serde_json::from_str(&line)?))
    }
}

fn send(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}

impl Failure {
    fn error(&self) -> Error {
        let Self { key, script, directory, reason, output, is_cut } = self;
        let script = secrets::text(script.as_bytes());
        let output = secrets::redactor().redact_cut(output, [*is_cut, false]);
        let text = String::from_utf8_lossy(&output[output.len().saturating_sub(TAIL)..]);
        let lines: Vec<&str> = text.lines().collect();
        let tail = &lines[lines.len().saturating_sub(LINES)..].join("\n");
        let mut error = Error::new(Exit::Build, format!("`{key}` of a set-up failed: {script}"))
            .cause(format!("{reason}, in {}", directory.display()));
        if !tail.trim().is_empty() {
            error = error.cause("the end of its output:");
            error = tail.lines().fold(error, |error, line| error.cause(format!("  {line}")));
        }
        if let Some(advice) = secrets::advice(tail) {
            error = error.hint(advice);
        }
        error
    }
}

/// Runs as the keeper, until rbench closes the socket or a signal arrives.
pub fn run_as_keeper() -> ExitCode {
    match keep() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep() -> io::Result<()> {
    let confined = sandbox::enter(AtRequest::Wait)?;
    let interrupt =
        Interrupt::on_signals_in_order().map_err(|error| io::Error::other(error.to_string()))?;
    set_child_subreaper(Some(getpid()))?;
    let reaper = Reaper::start()?;
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut requests = BufReader::new(socket.try_clone()?);
    let mut at_end = Vec::new();
    loop {
        let mut line = String::new();
        let is_request = matches!(first_readable(&[&interrupt, &socket], None), Ok(Some(1)));
        if !is_request || requests.read_line(&mut line).unwrap_or(0) == 0 {
            break;
        }
        let reply: Reply = match serde_json::from_str(&line) {
            Ok(Request::Run(command)) => {
                command.run(confined.as_ref(), &reaper, &[&socket, &interrupt])
            }
            Ok(Request::AtEnd(command)) => {
                at_end.push(command);
                None
            }
            Err(_) => break,
        };
        // Nobody waits for the reply to a command that was stopped.
        let is_open = matches!(first_readable(&[&socket], Some(Instant::now())), Ok(None));
        if !is_open || send(&socket, &reply).is_err() {
            break;
        }
    }
    // Nothing stops the clean-up but its own time limits.
    let confined = confined.as_ref();
    for failure in at_end.iter().rev().filter_map(|command| command.run(confined, &reaper, &[])) {
        let _ = send(&socket, &failure);
    }
    drop(reaper);
    end_descendants();
    Ok(())
}

impl SetupCommand {
    /// Runs the command in the keeper; none if it succeeds. Ends it at its timeout, and when one of `stops` is readable.
    fn run(
        &self,
        confined: Option<&Confined>,
        reaper: &Reaper,
        stops: &[&dyn AsFd],
    ) -> Option<Failure> {
        let failure = |reason: String, (output, is_cut): (Vec<u8>, bool)| {
            let Self { key, script, directory, .. } = self.clone();
            Some(Failure { key, script, directory, reason, output, is_cut })
        };
        let (ending, output) = match self.run_to_the_end(confined, reaper, stops) {
            Ok(ended) => ended,
            Err(error) => return failure(error.to_string(), (Vec::new(), false)),
        };
        let reason = match ending {
            CommandEnd::Exited(status) if status.success() => return None,
            CommandEnd::Exited(status) => status.to_string(),
            CommandEnd::Timeout => {
                format!("it was still running after {:.1} s", self.timeout.as_secs_f64())
            }
            CommandEnd::Stopped => "it was stopped".to_owned(),
        };
        failure(reason, output)
    }

    fn run_to_the_end(
        &self,
        confined: Option<&Confined>,
        reaper: &Reaper,
        stops: &[&dyn AsFd],
    ) -> io::Result<(CommandEnd, (Vec<u8>, bool))> {
        // A file and no pipe: a server that it leaves behind may write long after its end.
        let mut output = tempfile::tempfile()?;
        let mut command = Command::new("sh");
        command.args(["-c", &self.script]).current_dir(&self.directory);
        child::in_own_session(&mut command);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        command.env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        end_with_this_process(&mut command, Signal::KILL);
        Confined::confine(confined, &mut command)?;
        let mut shell = reaper.spawn(&mut command)?;
        let id = Pid::from_child(&shell);
        let watch = ExitWatch::start(id)?;
        let end = wait_for_end(&watch, stops, self.timeout);
        if end.is_some() {
            for signal in [Signal::TERM, Signal::KILL] {
                let _ = kill_process_group(id, signal);
                if wait_for_end(&watch, &[], GRACE).is_none() {
                    break;
                }
            }
        }
        let status = shell.wait();
        reaper.forget(&shell);
        let status = status?;
        let length = output.seek(SeekFrom::End(0))?;
        output.seek(SeekFrom::Start(length.saturating_sub(SENT)))?;
        let mut bytes = Vec::new();
        output.take(SENT).read_to_end(&mut bytes)?;
        Ok((end.unwrap_or(CommandEnd::Exited(status)), (bytes, length > SENT)))
    }
}

enum CommandEnd {
    Exited(ExitStatus),
    Timeout,
    Stopped,
}

/// Waits for the end of a command, and returns what else came first.
fn wait_for_end(watch: &ExitWatch, stops: &[&dyn AsFd], timeout: Duration) -> Option<CommandEnd> {
    let files = [&[watch as &dyn AsFd], stops].concat();
    match first_readable(&files, Instant::now().checked_add(timeout)) {
        Ok(Some(0)) => None,
        Ok(Some(_)) => Some(CommandEnd::Stopped),
        _ => Some(CommandEnd::Timeout),
    }
}

/// Ends all descendants of this process, first in order.
fn end_descendants() {
    let start = Instant::now();
    let mut asked = BTreeSet::new();
    while child::has_children() && start.elapsed() < GRACE {
        for process in child::descendants_of(getpid()) {
            if asked.insert(process.as_raw_pid()) {
                let _ = kill_process(process, Signal::TERM);
            }
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        while let Ok(Some(_)) = waitid(WaitId::All, options) {}
        thread::sleep(Duration::from_millis(5));
    }
    // Nobody is there to hear of what cannot be ended.
    let _ = child::end_all_children();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path of the test below.
    const NAME: &str =
        "process::setup::tests::what_a_command_leaves_behind_is_reaped_while_it_runs_and_after";

    /// Set for the child, which runs this same test: this process has children of other tests.
    const VARIABLE: &str = "RBENCH_TEST_KEEPER";

    /// More than end between two looks.
    const MANY: usize = 60;

    #[test]
    fn what_a_command_leaves_behind_is_reaped_while_it_runs_and_after() {
        if std::env::var_os(VARIABLE).is_some() {
            leave_many_behind();
            return;
        }
        let mut child = Command::new(std::env::current_exe().unwrap());
        let output = child.args(["--exact", NAME]).env(VARIABLE, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    fn leave_many_behind() {
        set_child_subreaper(Some(getpid())).unwrap();
        let reaper = Reaper::start().unwrap();
        let many = format!("for i in $(seq {MANY}); do (sh -c : &); done; sleep .4");
        let run = |script: String| {
            let command = SetupCommand {
                key: "setup".to_owned(),
                script,
                directory: "/".into(),
                environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
                timeout: Duration::from_secs(20),
            };
            let failure = command.run(None, &reaper, &[]);
            failure.map(|failure| failure.reason)
        };
        // The shell is one of the children.
        let children = "cat /proc/$PPID/task/*/children | wc -w";
        assert_eq!(run(format!("{many}; test $({children}) -lt {}", MANY / 2)), None);
        // As a server does that was left running.
        assert_eq!(run(format!("(sleep .2; {many}) &")), None);
        thread::sleep(Duration::from_secs(1));
        assert!(child::children_of_this_process().len() < MANY / 2);
    }
}
