//! Runs the programs under study: rbench, cargo, and criterion's own command line.

use std::{
    error::Error,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use lab::executables;

use crate::{
    answer::Answer,
    hour,
    place::Place,
    trial::{BASE, Trial},
};

pub const CRITERIONS: &str = "by_criterion";

pub const CRITERION: [&str; 4] = ["--warm-up-time", "0.5", "--measurement-time", "1"];

/// The programs, and the directories in which they run.
pub struct Tools<'a> {
    place: &'a Place,
    rbench: PathBuf,
}

impl<'a> Tools<'a> {
    /// Builds rbench itself, beside this program.
    pub fn build(place: &'a Place) -> Result<Self, Box<dyn Error>> {
        Ok(Self { place, rbench: lab::rbench::build("release")? })
    }

    /// Runs `cargo rbench compare` on every row.
    pub fn compare(&self, trial: Trial) -> Result<Answer, Box<dyn Error>> {
        let messages = self.place.messages(&trial.name());
        let (before, load_before) = (hour::cpu_times(), hour::load());
        let start = Instant::now();
        let output = Command::new(&self.rbench)
            .args([
                "compare",
                BASE,
                &trial.head(),
                "--config",
                &format!("build.seed={}", trial.seed()),
            ])
            .args(["--no-skip", "--format", "json", "--reasons"])
            .args(trial.flags())
            .current_dir(self.place.project())
            .env("RBENCH_CACHE_DIR", self.place.cache())
            .stdin(Stdio::null())
            .stderr(File::create(&messages)?)
            .output()?;
        // A regression or a failed benchmark changes the exit code, but every row counts.
        let said = serde_json::from_slice(&output.stdout).map_err(|_| {
            let (name, messages) = (trial.name(), messages.display());
            format!("{name}: {}; see {messages}", output.status)
        })?;
        let seconds = start.elapsed().as_secs_f64();
        let (stolen, load_after) = (hour::stolen(before, hour::cpu_times()), hour::load());
        Ok(Answer { seconds, load_before, load_after, stolen, output: said })
    }

    /// The executable of a version's criterion bench target, built by plain cargo.
    pub fn criterion_executable(&self, version: &str) -> Result<PathBuf, Box<dyn Error>> {
        let kept = self.place.criterion().join(version);
        if kept.exists() {
            return Ok(kept);
        }
        fs::create_dir_all(self.place.criterion())?;
        self.place.check_out(version)?;
        let mut cargo = Command::new(lab::rbench::cargo());
        cargo.args(["bench", "--bench", CRITERIONS, "--target-dir"]);
        cargo.arg(self.place.criterion().join("target")).current_dir(self.place.project());
        let (_, executable) = executables::built_by(&mut cargo)?.pop().ok_or("no executable")?;
        let unfinished = kept.with_extension("unfinished");
        fs::copy(executable, &unfinished)?;
        fs::rename(unfinished, &kept)?;
        Ok(kept)
    }

    /// Runs an executable with criterion and returns its output.
    pub fn criterion(
        &self,
        executable: &Path,
        baseline: [&str; 2],
    ) -> Result<String, Box<dyn Error>> {
        let output = Command::new(executable)
            .args(["--bench", "--noplot"])
            .args(baseline)
            .args(CRITERION)
            .env("CRITERION_HOME", self.place.criterion().join("home"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        if !output.status.success() {
            return Err(format!("{} failed", executable.display()).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
