//! Whether benchmarks that a comparison calls unaffected are the same, and what it saves not to measure them.
//!
//! `cargo run --release --example unaffected -- --project PATH BASE HEAD` compares two commits of a project twice:
//! as usual, and with `--measure-all`, so that what the first comparison leaves out is measured all the same.
//! `--project` can be given several times. For each it prints how many benchmarks are not measured, how many of
//! those that are unaffected the first stage flags and how many of them are confirmed, and how long both
//! comparisons took; then the requirements. It fails if one is missed.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use clap::Parser;

use tally::{Report, Tally};

#[path = "../support/rbench.rs"]
mod rbench;
mod tally;

/// What is asked of the study.
#[derive(Debug, Parser)]
struct Options {
    /// A project and two of its commits.
    #[arg(long, num_args = 3, value_names = ["PATH", "BASE", "HEAD"], required = true)]
    project: Vec<String>,
    /// Builds of each version.
    #[arg(short = 'l', long, default_value = "15")]
    builds: String,
    /// Executions of each build.
    #[arg(short = 'm', long, default_value = "2")]
    executions: String,
    /// Measurements in each execution.
    #[arg(short = 'n', long, default_value = "100")]
    measurements: String,
    /// The seed of layouts, the order of executions and initial states.
    #[arg(long, default_value = "1")]
    seed: String,
    /// Only benchmarks whose id matches this regular expression.
    #[arg(long, default_value = "")]
    filter: String,
    /// Only count what would be measured.
    #[arg(long)]
    no_measure: bool,
}

/// Two commits of a project.
struct Pair<'o> {
    rbench: PathBuf,
    path: &'o str,
    base: &'o str,
    head: &'o str,
    /// Which benchmarks.
    filter: &'o str,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let rbench = rbench::build()?;
    let mut total = Tally::default();
    for typed in options.project.chunks(3) {
        let [path, base, head] = typed else { continue };
        println!("{path} {base} {head}");
        let pair = Pair { rbench: rbench.clone(), path, base, head, filter: &options.filter };
        let tally = if options.no_measure { pair.counted()? } else { pair.measured(options)? };
        tally.print();
        total.add(&tally);
    }
    println!("all of them");
    total.print();
    if options.no_measure {
        return Ok(true);
    }
    let (flagged, judged) = (total.flagged, total.judged);
    // Nothing can be flagged of none.
    let rate = 1e2 * f64::from(flagged) / f64::from(judged.max(1));
    Ok([
        bar(
            "unaffected rows that the first stage flags: at most 6.5 %",
            &format!("{flagged} of {judged} ({rate:.1} %)"),
            rate <= 6.5,
        ),
        bar(
            "unaffected rows with a confirmed change: none",
            &total.confirmed.len().to_string(),
            total.confirmed.is_empty(),
        ),
    ]
    .into_iter()
    .all(|is_reached| is_reached))
}

fn bar(what: &str, measured: &str, is_reached: bool) -> bool {
    println!("{what:<60} {measured:>20} {}", if is_reached { "reached" } else { "MISSED" });
    is_reached
}

impl Pair<'_> {
    /// What would be measured, by a comparison that hardly measures.
    fn counted(&self) -> Result<Tally, Box<dyn Error>> {
        let little = ["-l", "2", "-m", "1", "-n", "2", "--no-confirm"];
        let short = ["--warm-up", "100us", "--floor", "10us"];
        let (report, _) = self.compare(&[&little[..], &short].concat())?;
        Ok(Tally::of(&report))
    }

    /// What is measured, what comes of the rest, and how long both took.
    fn measured(&self, options: &Options) -> Result<Tally, Box<dyn Error>> {
        let Options { builds, executions, measurements, seed, .. } = options;
        let plan = ["-l", builds, "-m", executions, "-n", measurements, "--seed", seed];
        // The builds of the first stage are there before the first comparison, so that both find them. What
        // the first one has to find out is part of its time.
        self.rbench(&["build", self.base, self.head, "-l", builds, "--seed", seed])?;
        let (usual, usual_time) = self.compare(&plan)?;
        let (all, all_time) = self.compare(&[&plan[..], &["--measure-all"]].concat())?;
        let mut tally = Tally::of(&usual);
        tally.judge(&usual, &all);
        tally.times = Some([usual_time, all_time]);
        Ok(tally)
    }

    /// The report of a comparison, and how long it took.
    fn compare(&self, more: &[&str]) -> Result<(Report, Duration), Box<dyn Error>> {
        let begin = Instant::now();
        let words = ["compare", self.base, self.head, "--advisory", "--filter", self.filter];
        let report = self.rbench(&[&words, more].concat())?;
        let time = begin.elapsed();
        Ok((serde_json::from_value(report)?, time))
    }

    /// What rbench prints as JSON.
    fn rbench(&self, arguments: &[&str]) -> Result<serde_json::Value, Box<dyn Error>> {
        let output = Command::new(&self.rbench)
            .args(arguments)
            .args(["--strategy", "relink", "--format", "json"])
            .current_dir(self.path)
            .stdin(Stdio::null())
            .output()?;
        // What it finds out may make it fail; that is in the report as well.
        let error = |_| String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(serde_json::from_slice(&output.stdout).map_err(error)?)
    }
}
