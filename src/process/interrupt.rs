//! A flag that a signal or another thread sets, and that wakes sleeping threads.

use std::{
    io::Write,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{ffi::OsStrExt as _, net::UnixStream},
    },
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering},
    },
    thread,
    time::Instant,
};

use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
    low_level,
};

use super::readable::first_readable;
use crate::{
    error::{Context, Error, Exit, Result},
    log,
    model::MOST_PARALLEL,
};

/// The results that are kept if a signal ends a command at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum SavedHandler {
    #[default]
    Nothing,
    Compilations,
    /// Every finished execution; the same command continues after them.
    Executions,
}

/// A flag that is set once and never cleared: it wakes every thread that waits for it, now or later.
#[derive(Debug)]
pub struct Interrupt {
    /// Readable once the flag is set; nothing ever reads from it.
    reader: UnixStream,
    writer: UnixStream,
    running: Arc<Running>,
    kept: Arc<AtomicSavedHandler>,
    /// Set by a signal handler that is about to end this process.
    ends_now: Arc<AtomicBool>,
}

impl Interrupt {
    /// Creates an interrupt that only [`set`](Self::set) sets.
    pub fn new() -> Result<Self> {
        let (reader, writer) =
            UnixStream::pair().context(Exit::Internal, || "cannot open a socket pair")?;
        // A full buffer means that the flag is set: writers must never block.
        writer.set_nonblocking(true).context(Exit::Internal, || "cannot set up a socket pair")?;
        let (running, kept, ends_now) = Default::default();
        Ok(Self { reader, writer, running, kept, ends_now })
    }

    /// Creates an interrupt that SIGINT, SIGTERM and SIGHUP set, for the rest of this process, while a child runs: the
    /// child is to be ended, and its outcome reported. Signals that are ignored on entry, as under `nohup`, stay
    /// ignored.
    ///
    /// While no child runs, there is nothing to end in order, and a signal ends this process at once. So does a second
    /// SIGINT, which kills the child's group. The final message says which results are kept.
    pub fn on_signals(kept: SavedHandler) -> Result<Self> {
        Self::handling(false, kept)
    }

    /// The same, for a process that must tidy up even while no child runs: only a second SIGINT ends it at once.
    pub fn on_signals_in_order() -> Result<Self> {
        Self::handling(true, SavedHandler::Nothing)
    }

    fn handling(always_in_order: bool, kept: SavedHandler) -> Result<Self> {
        let interrupt = Self::new()?;
        interrupt.kept.set(kept);
        let interrupted = Arc::new(AtomicBool::new(false));
        let signals = [SIGINT, SIGTERM, SIGHUP].into_iter();
        // A process that was started only to tidy up gets a signal as its request to do so.
        for signal in signals.filter(|signal| always_in_order || !is_ignored(*signal)) {
            let running = Arc::clone(&interrupt.running);
            let kept = Arc::clone(&interrupt.kept);
            let interrupted = Arc::clone(&interrupted);
            let ends_now = Arc::clone(&interrupt.ends_now);
            let handler = move || {
                // Other programs send the same signal twice and mean one: GNU timeout does.
                let again = interrupted.swap(true, Ordering::SeqCst) && signal == SIGINT;
                if again || !(always_in_order || running.is_any()) {
                    ends_now.store(true, Ordering::SeqCst);
                    running.kill();
                    end_this_process(kept.get());
                }
            };
            let what = || format!("cannot handle signal {signal}");
            // SAFETY: it uses atomics and makes system calls, and neither allocates nor locks.
            #[expect(unsafe_code, reason = "no safe way has a process group killed by a handler")]
            unsafe { low_level::register(signal, handler) }.context(Exit::Internal, what)?;
            interrupt
                .writer
                .try_clone()
                .and_then(|writer| low_level::pipe::register(signal, writer))
                .context(Exit::Internal, what)?;
        }
        // Above the limit for file sizes, a write must fail, as on a full disk, instead of ending the process.
        signal_hook::flag::register(SIGXFSZ, Arc::default())
            .context(Exit::Internal, || "cannot handle signal SIGXFSZ")?;
        Ok(interrupt)
    }

    /// Registers a child that is about to start or runs, until the guard is dropped, which must happen before the child
    /// is reaped. None if the greatest number of children already runs.
    pub(super) fn starting(&self) -> Option<RunningGuard<'_>> {
        let (all, order) = (&self.running.0, Ordering::SeqCst);
        let place =
            all.iter().find(|place| place.compare_exchange(FREE, STARTING, order, order).is_ok());
        place.map(RunningGuard)
    }

    /// While the guard lives, a signal only sets the flag, as while a child runs: for who waits for the flag.
    pub fn in_order(&self) -> Option<RunningGuard<'_>> {
        self.starting()
    }

    /// From now on finished executions are kept too, unless nothing is kept.
    pub fn keep_executions(&self) {
        if self.kept() != SavedHandler::Nothing {
            self.kept.set(SavedHandler::Executions);
        }
    }

    /// The results that are kept at present.
    pub fn kept(&self) -> SavedHandler {
        self.kept.get()
    }

    /// Call it when a child has ended. It does not return if a signal handler killed the child: only that handler ends
    /// this process, with its own message.
    pub(super) fn leave_the_end_to_the_handler(&self) {
        while self.ends_now.load(Ordering::SeqCst) {
            thread::park();
        }
    }

    pub fn set(&self) {
        // It fails only if the flag has been set many times already.
        let _ = (&self.writer).write(&[1]);
    }

    /// True once the flag is set.
    pub fn is_set(&self) -> bool {
        matches!(first_readable(&[self], Some(Instant::now())), Ok(Some(_)))
    }

    /// Fails if the interrupt is set: before an execution, so that none is cut short.
    pub fn stop_between_executions(&self) -> Result<()> {
        if self.is_set() {
            return Err(Error::new(Exit::Interrupted, "stopped between two executions"));
        }
        Ok(())
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

/// A [`SavedHandler`] that a signal handler can read.
#[derive(Debug, Default)]
struct AtomicSavedHandler(AtomicU8);

impl AtomicSavedHandler {
    fn set(&self, kept: SavedHandler) {
        self.0.store(kept as u8, Ordering::SeqCst);
    }

    fn get(&self) -> SavedHandler {
        let kept = self.0.load(Ordering::SeqCst);
        let all = [SavedHandler::Compilations, SavedHandler::Executions];
        all.into_iter().find(|known| *known as u8 == kept).unwrap_or_default()
    }
}

/// The process groups of the running children: one, or two for each interleaved benchmark; or [`FREE`] or [`STARTING`].
/// A signal handler reads them, so their number is fixed.
#[derive(Debug)]
struct Running([AtomicI32; 2 * MOST_PARALLEL as usize]);

impl Default for Running {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicI32::new(FREE)))
    }
}

impl Running {
    fn groups(&self) -> impl Iterator<Item = Pid> {
        let places = self.0.iter().map(|group| group.load(Ordering::SeqCst));
        places.filter(|group| *group != STARTING).filter_map(Pid::from_raw)
    }

    fn is_any(&self) -> bool {
        self.0.iter().any(|group| group.load(Ordering::SeqCst) != FREE)
    }

    fn kill(&self) {
        for group in self.groups() {
            // The group may be empty, which is no error.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Marks a child as running until it is dropped.
#[derive(Debug)]
pub struct RunningGuard<'r>(&'r AtomicI32);

impl RunningGuard<'_> {
    /// Sets the process group of the child, which has started.
    pub(super) fn started(&self, group: Pid) {
        self.0.store(group.as_raw_pid(), Ordering::SeqCst);
    }
}

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        self.0.store(FREE, Ordering::SeqCst);
    }
}

/// A place without a child.
const FREE: i32 = 0;
/// A child that may run already, but whose group is not known yet. A signal that arrives meanwhile must not end this
/// process at once, which would leave the child behind. No group has this number.
const STARTING: i32 = -1;

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all zeros are a valid value of this type of C.
    #[expect(unsafe_code, reason = "no safe way to have a value of a type of C")]
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is changed, and `action` is there to be written to.
    #[expect(unsafe_code, reason = "no safe way to ask for the action of a signal")]
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// The part of an orderly end that a signal handler may do.
fn end_this_process(kept: SavedHandler) -> ! {
    let message: &[u8] = match kept {
        SavedHandler::Nothing => b"\nerror: stopped\n",
        SavedHandler::Compilations => b"\nerror: stopped\n  every finished compilation is kept\n",
        SavedHandler::Executions => {
            b"\nerror: stopped\n  every finished execution is kept\n\
              hint: run the same command again to resume\n"
        }
    };
    let _ = rustix::io::write(rustix::stdio::stderr(), message);
    let path = log::path().map(|path| path.as_os_str().as_bytes());
    for part in path.iter().flat_map(|path| [b"log: ", *path, b"\n"]) {
        let _ = rustix::io::write(rustix::stdio::stderr(), part);
    }
    low_level::exit(Exit::Interrupted as i32)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn interrupt_stays_set() {
        let interrupt = Interrupt::new().unwrap();
        assert!(!interrupt.is_set());
        interrupt.set();
        assert!(interrupt.is_set());
        assert!(interrupt.is_set());
    }

    #[test]
    fn signal_sets_the_interrupt_while_a_child_runs() {
        use std::process::Command;

        use rustix::process::{getpid, kill_process};

        let interrupt = Interrupt::on_signals(SavedHandler::Nothing).unwrap();
        assert!(!interrupt.is_set());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let running = interrupt.starting().unwrap();
        running.started(Pid::from_child(&child));
        // A second one changes nothing.
        for _ in 0..2 {
            kill_process(getpid(), Signal::TERM).unwrap();
        }
        // Another thread may handle it.
        let noticed = (0..1000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            interrupt.is_set()
        });
        // If the second one is handled later, it would end the process if no child were registered.
        std::mem::forget(running);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(noticed);
    }

    #[test]
    fn child_counts_as_running_before_its_group_is_known() {
        let interrupt = Interrupt::new().unwrap();
        let guard = interrupt.starting().unwrap();
        assert!(interrupt.running.is_any());
        assert_eq!(interrupt.running.groups().count(), 0, "nobody can be killed yet");
        guard.started(Pid::from_raw(12345).unwrap());
        assert_eq!(interrupt.running.groups().collect::<Vec<_>>(), [Pid::from_raw(12345).unwrap()]);
        drop(guard);
        assert!(!interrupt.running.is_any());
    }

    #[test]
    fn set_never_blocks() {
        let interrupt = Interrupt::new().unwrap();
        for _ in 0..100_000 {
            interrupt.set();
        }
        assert!(interrupt.is_set());
    }
}
