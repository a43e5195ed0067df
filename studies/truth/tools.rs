//! Runs the programs under study: rbench, cargo, and criterion's own command line.

use std::{
    error::Error,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use cargo_metadata::Message;

use crate::{answer::Answer, place::Place, rbench};

/// The bench target that rbench measures, and the one that is criterion's.
const TARGETS: [&str; 2] = ["work", "by_criterion"];

/// How long criterion measures each benchmark.
pub const CRITERION: [&str; 4] = ["--warm-up-time", "0.5", "--measurement-time", "1"];

/// The programs, and where they work.
pub struct Tools<'a> {
    place: &'a Place,
    rbench: PathBuf,
}

impl<'a> Tools<'a> {
    /// Builds rbench itself, beside this example.
    pub fn build(place: &'a Place) -> Result<Self, Box<dyn Error>> {
        Ok(Self { place, rbench: rbench::build()? })
    }

    /// `cargo rbench compare` one execution after the other, with default settings but for the seed, of all
    /// benchmarks or of `only`.
    pub fn compare(
        &self,
        versions: [&str; 2],
        seed: u64,
        only: &[&str],
        more: &[&str],
    ) -> Result<Answer, Box<dyn Error>> {
        let seed = seed.to_string();
        let mut arguments = vec!["compare", versions[0], versions[1], "--seed", &seed];
        arguments.extend(["--interleave", "executions"]);
        arguments.extend(more);
        if !only.is_empty() {
            arguments.push("--exact");
            arguments.extend(only.iter().flat_map(|benchmark| ["--filter", benchmark]));
        }
        let answer = self.rbench(&arguments, &format!("{}-{seed}", versions[1]))?;
        // 0: no regression, 1: a regression; all else is no verdict.
        if (0..=1).contains(&answer.exit) {
            Ok(answer)
        } else {
            Err(self.failed(&arguments, &answer))
        }
    }

    /// `cargo rbench diff`.
    pub fn diff(&self, versions: [&str; 2]) -> Result<serde_json::Value, Box<dyn Error>> {
        let arguments = ["diff", versions[0], versions[1]];
        let answer = self.rbench(&arguments, &format!("{}-diff", versions[1]))?;
        if answer.exit == 0 { Ok(answer.output) } else { Err(self.failed(&arguments, &answer)) }
    }

    fn rbench(&self, arguments: &[&str], name: &str) -> Result<Answer, Box<dyn Error>> {
        let start = Instant::now();
        let output = Command::new(&self.rbench)
            .args(arguments)
            .args(["--bench", TARGETS[0], "--format", "json"])
            .current_dir(self.place.project())
            .env("RBENCH_CACHE_DIR", self.place.cache())
            .stdin(Stdio::null())
            .stderr(File::create(self.place.messages(name))?)
            .output()?;
        Ok(Answer {
            exit: output.status.code().unwrap_or(-1),
            seconds: start.elapsed().as_secs_f64(),
            output: serde_json::from_slice(&output.stdout).unwrap_or_default(),
        })
    }

    fn failed(&self, arguments: &[&str], answer: &Answer) -> Box<dyn Error> {
        let place = self.place.messages("").with_file_name("").display().to_string();
        format!("`cargo rbench {}` exited with {}; see {place}", arguments.join(" "), answer.exit)
            .into()
    }

    /// The executable of criterion's bench target of a version, built plainly by cargo.
    pub fn criterion_executable(&self, version: &str) -> Result<PathBuf, Box<dyn Error>> {
        let kept = self.place.criterion().join(version);
        if kept.exists() {
            return Ok(kept);
        }
        fs::create_dir_all(self.place.criterion())?;
        self.place.check_out(version)?;
        let output = Command::new(rbench::cargo())
            .args(["bench", "--no-run", "--quiet", "--bench", TARGETS[1]])
            .args(["--message-format", "json", "--target-dir"])
            .arg(self.place.criterion().join("target"))
            .current_dir(self.place.project())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        for message in Message::parse_stream(&output.stdout[..]) {
            if let Message::CompilerArtifact(artifact) = message?
                && artifact.target.name == TARGETS[1]
                && let Some(executable) = artifact.executable
            {
                let unfinished = kept.with_extension("unfinished");
                fs::copy(executable, &unfinished)?;
                fs::rename(unfinished, &kept)?;
                return Ok(kept);
            }
        }
        Err(format!("cargo built no executable of {version} with criterion").into())
    }

    /// Runs an executable with criterion; what it printed.
    pub fn criterion(
        &self,
        executable: &Path,
        baseline: [&str; 2],
        only: Option<&str>,
    ) -> Result<String, Box<dyn Error>> {
        let output = Command::new(executable)
            .args(["--bench", "--noplot"])
            .args(baseline)
            .args(CRITERION)
            .args(only.map(|benchmark| ["--exact", benchmark]).into_iter().flatten())
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
