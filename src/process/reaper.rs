//! Reaps what a process adopts while it does something else.

use std::{
    io,
    process::{Child, Command},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use rustix::process::Pid;

use super::child;

/// A thread of a subreaper that reaps adopted processes as soon as they end: a process that starts another one and ends,
/// again and again, would soon use up all process ids.
///
/// Once it is dropped, it reaps nothing any more, so that no id of a process that is found then can become another's.
pub(super) struct Reaper(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the thread up when the state has changed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The child that somebody else waits for.
    own: Option<Pid>,
    started: usize,
    is_over: bool,
}

impl Reaper {
    pub(super) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        thread::Builder::new().name("reaper".to_owned()).spawn(move || of_thread.reap())?;
        Ok(Self(shared))
    }

    /// Starts a child that the caller waits for, and then passes to [`forget`](Self::forget).
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        // Held until the child is known: it may end at once.
        let mut state = self.0.lock();
        let child = command.spawn()?;
        state.own = Some(Pid::from_child(&child));
        state.started += 1;
        self.0.changed.notify_all();
        Ok(child)
    }

    pub(super) fn forget(&self, child: &Child) {
        let mut state = self.0.lock();
        state.own = state.own.filter(|own| *own != Pid::from_child(child));
        self.0.changed.notify_all();
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, is_so: impl Fn(&State) -> bool) {
        let is_so = |state: &mut State| !state.is_over && is_so(state);
        drop(self.changed.wait_while(self.lock(), is_so));
    }

    fn reap(&self) {
        loop {
            let started = self.lock().started;
            let Some(ended) = child::await_any_end() else {
                // Only a child can leave something to adopt.
                self.wait_while(|state| state.started == started);
                if self.lock().is_over {
                    return;
                }
                continue;
            };
            let state = self.lock();
            if state.is_over {
                return;
            }
            if state.own == Some(ended) {
                drop(state);
                self.wait_while(|state| state.own == Some(ended));
            } else {
                child::reap_ended(ended);
            }
        }
    }
}
