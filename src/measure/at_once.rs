//! Work that is not timed, done on all CPUs at once.

use std::{
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use crate::{
    error::{Error, Exit, Result},
    model::MOST_PARALLEL,
    process::{self, Interrupt},
};

/// Does `work` for each of `items`, on as many threads as there are CPUs. `worker` makes the value
/// that a thread works with.
///
/// Passes the index and the result of each to `record`, on this thread, as soon as it is there. The first error, or the
/// interrupt, ends all.
pub(super) fn at_once<I: Sync, W, R: Send>(
    items: &[I],
    interrupt: &Interrupt,
    worker: impl Fn() -> Result<W> + Sync,
    work: impl Fn(&mut W, &I) -> Result<R> + Sync,
    record: &mut dyn FnMut(usize, R) -> Result<()>,
) -> Result<()> {
    let cpus = process::cpus().map_or(1, |cpus| cpus.len());
    let threads = cpus.clamp(1, MOST_PARALLEL as usize).min(items.len());
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let run = |sender: mpsc::Sender<(usize, Result<R>)>| {
        let mut own = None;
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            let mut one = || {
                if interrupt.is_set() {
                    return Err(Error::new(Exit::Interrupted, "stopped between two executions"));
                }
                let own = match &mut own {
                    Some(own) => own,
                    None => own.insert(worker()?),
                };
                work(own, item)
            };
            // The receiver lives longer than this thread.
            let _ = sender.send((index, one()));
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let run = &run;
            scope.spawn(move || run(sender));
        }
        drop(sender);
        let mut first_error = None;
        for (index, result) in receiver {
            if let Err(error) = result.and_then(|result| record(index, result)) {
                stopped.store(true, Ordering::Relaxed);
                first_error.get_or_insert(error);
            }
        }
        first_error.map_or(Ok(()), Err)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_item_is_recorded_once() {
        let items: Vec<usize> = (0..100).collect();
        let mut recorded = BTreeSet::new();
        let interrupt = Interrupt::new().unwrap();
        let work = |(): &mut (), item: &usize| Ok(2 * item);
        at_once(&items, &interrupt, || Ok(()), work, &mut |index, doubled| {
            assert_eq!(doubled, 2 * items[index]);
            assert!(recorded.insert(index));
            Ok(())
        })
        .unwrap();
        assert_eq!(recorded.len(), items.len());
    }

    #[test]
    fn first_error_ends_the_work() {
        let items: Vec<usize> = (0..10_000).collect();
        let interrupt = Interrupt::new().unwrap();
        let mut recorded = 0;
        let work = |(): &mut (), item: &usize| match item {
            3 => Err(Error::new(Exit::Benchmark, "the third fails")),
            _ => Ok(()),
        };
        let error = at_once(&items, &interrupt, || Ok(()), work, &mut |_, ()| {
            recorded += 1;
            Ok(())
        });
        assert_eq!(error.unwrap_err().what(), "the third fails");
        assert!(recorded < items.len(), "{recorded}");
        interrupt.set();
        let stopped = at_once(&items, &interrupt, || Ok(()), work, &mut |_, ()| Ok(()));
        assert_eq!(stopped.unwrap_err().exit(), Exit::Interrupted);
    }
}
