//! Comparisons by the real program in a separate process, which may get a signal.

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use cargo_rbench::store::Store;
use rbench_stats::Random;
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    compare_words,
    kind::Fault,
    patience::usual,
    stored::Happened,
    tally::{Finding, Wrong},
};

/// The longest accepted duration of a comparison.
const PATIENCE: Duration = Duration::from_secs(120);

/// The longest time of an execution.
const DEADLINE: Duration = Duration::from_secs(20);

pub struct Programs {
    pub rbench: PathBuf,
    pub tree: PathBuf,
    pub file: PathBuf,
    pub environment: Vec<(&'static str, PathBuf)>,
    /// The number of executions of each benchmark.
    pub executions: usize,
    /// The directory that benchmarks in the sandbox may write in; `None` without the sandbox.
    pub written: Option<PathBuf>,
}

impl Programs {
    /// Compares with these faults, which are already in the file, and with a signal at some time;
    /// after a signal, compares again without either. With `once`, faults come once, and the signal
    /// soon after.
    pub fn throw(
        &self,
        faults: &[Fault; 2],
        once: bool,
        signal: Option<Signal>,
        random: &mut Random,
    ) -> Result<Vec<Finding>, Box<dyn Error>> {
        let deadline = Instant::now() + usual(PATIENCE);
        let (experiments, _) = self.rows()?;
        let mut child = self.start()?;
        if let Some(signal) = signal {
            // Within the first executions, or a little later. A fault that comes once can come while the benchmarks
            // are traced, before the experiment begins.
            let before = self.rows()?;
            while child.try_wait()?.is_none()
                && (if once { !self.came() } else { self.rows()? == before })
            {
                thread::sleep(Duration::from_millis(1));
            }
            let longest = if once { 60_000 } else { 300_000 };
            thread::sleep(Duration::from_micros(random.below(longest) as u64));
            kill_process(Pid::from_child(&child), signal)?;
        }
        let Some(ended) = lab::rbench::wait(&mut child, deadline)? else {
            return Ok(vec![(Wrong::Hang, "the comparison goes on".to_owned())]);
        };
        let ended = ended.code();
        let has_begun = self.rows()?.0 > experiments;
        let mut found = if has_begun || signal.is_none() {
            self.check(faults, once, signal.is_none())?
        } else {
            Vec::new()
        };
        let expected: &[Option<i32>] = match signal {
            None => &[Some(0), Some(1), Some(4)],
            Some(Signal::KILL) => &[None, Some(0), Some(1), Some(4)],
            Some(_) => &[Some(130), Some(0), Some(1), Some(4)],
        };
        if !expected.contains(&ended) {
            found.push((Wrong::Error, format!("the comparison ended with {ended:?}")));
        }
        if signal.is_some() {
            std::fs::write(&self.file, "")?;
            let mut again = self.start()?;
            match lab::rbench::wait(&mut again, Instant::now() + usual(PATIENCE))? {
                Some(_) => found.extend(self.check_resumed(faults)?),
                None => found.push((Wrong::Hang, "the second comparison goes on".to_owned())),
            }
        }
        Ok(found)
    }

    fn start(&self) -> Result<Child, Box<dyn Error>> {
        let child = Command::new(&self.rbench)
            .args(compare_words(DEADLINE, self.written.as_deref()))
            .args(["HEAD~1", "HEAD"])
            .current_dir(&self.tree)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Ok(child.map_err(|error| format!("cannot run {}: {error}", self.rbench.display()))?)
    }

    fn store(&self) -> Result<Store<'static>, Box<dyn Error>> {
        Ok(Store::open(&self.tree.join(".rbench/results.sqlite"), &|| {})?)
    }

    /// True if a fault that comes once has come in any version.
    fn came(&self) -> bool {
        let marks = ["BASE", "HEAD"].map(|version| format!("{}.{version}", self.file.display()));
        marks.iter().any(|mark| Path::new(mark).exists())
    }

    /// The number of the newest experiment, and its number of executions of good benchmarks.
    fn rows(&self) -> Result<(usize, usize), Box<dyn Error>> {
        let store = self.store()?;
        let experiments = store.experiments()?;
        let Some(newest) = experiments.last() else { return Ok((0, 0)) };
        let mut rows = 0;
        for benchmark in store.benchmarks()? {
            rows += store.rows(&benchmark, &[newest.id])?.len();
        }
        Ok((experiments.len(), rows))
    }

    fn check(
        &self,
        faults: &[Fault; 2],
        once: bool,
        is_whole: bool,
    ) -> Result<Vec<Finding>, Box<dyn Error>> {
        let store = self.store()?;
        let experiments = store.experiments()?;
        let newest = experiments.last().ok_or("there is no experiment")?;
        let whole = is_whole.then_some(self.executions);
        Happened { faults, once, whole }.check(&store, newest.id)
    }

    /// Checks the experiment that the second comparison finished. The first one may have been
    /// completed, or may have stored a failure.
    fn check_resumed(&self, faults: &[Fault; 2]) -> Result<Vec<Finding>, Box<dyn Error>> {
        let store = self.store()?;
        let experiments = store.experiments()?;
        let newest = experiments.last().ok_or("there is no experiment")?;
        let mut found = Happened { faults, once: true, whole: Some(self.executions) }
            .check(&store, newest.id)?;
        if newest.finished.is_none() {
            found.push((Wrong::Half, "the experiment is not finished".to_owned()));
        }
        Ok(found)
    }
}
