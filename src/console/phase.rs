//! The progress of a phase with a known number of steps: on a terminal a bar that is erased at the end, elsewhere a line
//! after each silence.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::escape::escape_untrusted;

/// A user, or a CI service, takes a longer one for a hang.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// What rbench does: `tracing`.
    pub(super) doing: &'static str,
    /// To what: `HEAD`.
    pub(super) what: String,
    /// What is counted: `benchmarks`.
    pub(super) units: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Display {
    Bar,
    Lines(fn(&str)),
    Nowhere,
}

pub(super) struct Phase {
    pub(super) words: Words,
    pub(super) of: usize,
    done: Arc<AtomicUsize>,
    bar: Option<ProgressBar>,
    /// The end of the thread that prints lines.
    _end: Option<Sender<()>>,
}

impl Phase {
    /// Begins a phase of `of` steps.
    pub(super) fn new(words: Words, of: usize, display: Display) -> Self {
        let done = Arc::new(AtomicUsize::new(0));
        let (bar, end) = match display {
            Display::Bar => (Some(bar(&words, of)), None),
            Display::Lines(print) => {
                let (end, ended) = mpsc::channel();
                let (words, done, start) = (words.clone(), Arc::clone(&done), Instant::now());
                thread::spawn(move || {
                    while ended.recv_timeout(LONGEST_SILENCE) == Err(RecvTimeoutError::Timeout) {
                        print(&words.line(done.load(Ordering::Relaxed), of, start.elapsed()));
                    }
                });
                (None, Some(end))
            }
            Display::Nowhere => (None, None),
        };
        Self { words, of, done, bar, _end: end }
    }

    /// Shows that `done` steps are finished. They may end in another order than they began.
    pub(super) fn advance(&self, done: usize) {
        let most = self.done.fetch_max(done, Ordering::Relaxed).max(done);
        if let Some(bar) = &self.bar {
            bar.set_position(most as u64);
        }
    }
}

impl Words {
    fn line(&self, done: usize, of: usize, since: Duration) -> String {
        let Self { doing, what, units } = self;
        format!("still {doing} {what}, {} s: {done} of {of} {units}", since.as_secs())
    }
}

fn bar(words: &Words, of: usize) -> ProgressBar {
    let Words { doing, what, .. } = words;
    let capital = doing[..1].to_uppercase() + &doing[1..];
    let what = escape_untrusted(what).into_owned();
    let bar = progress_bar("{prefix:>12} [{bar:26}] {pos}/{len}, {elapsed}: {msg}", of)
        .with_prefix(capital)
        .with_message(what);
    // A step may take minutes.
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// A bar that is erased at its end.
pub(super) fn progress_bar(template: &str, of: usize) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::new(of as u64).with_finish(ProgressFinish::AndClear);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_a_phase_has_its_progress_and_time() {
        let words = Words { doing: "tracing", what: "HEAD".to_owned(), units: "benchmarks" };
        let line = words.line(3, 12, Duration::from_millis(20_900));
        assert_eq!(line, "still tracing HEAD, 20 s: 3 of 12 benchmarks");
    }
}
