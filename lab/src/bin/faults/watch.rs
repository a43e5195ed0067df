//! Ends processes that hang.

use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

/// Does `work`, and calls `kill` repeatedly once it should have ended; returns true if it had to.
pub fn watched<T>(
    patience: Duration,
    kill: impl Fn() + Sync,
    work: impl FnOnce() -> T,
) -> (T, bool) {
    let (ended, hung) = (AtomicBool::new(false), AtomicBool::new(false));
    let result = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let begin = Instant::now();
            while !ended.load(SeqCst) {
                thread::park_timeout(patience.saturating_sub(begin.elapsed()));
                if !ended.load(SeqCst) && begin.elapsed() >= patience {
                    hung.store(true, SeqCst);
                    kill();
                    thread::park_timeout(Duration::from_millis(100));
                }
            }
        });
        let result = work();
        ended.store(true, SeqCst);
        watcher.thread().unpark();
        result
    });
    (result, hung.into_inner())
}
