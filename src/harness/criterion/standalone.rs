//! Criterion.rs by itself, with its own baselines and verdicts, as `cargo bench` runs it.

use std::{ffi::OsString, path::Path, time::Duration};

use crate::{
    error::Result,
    harness::{
        Conditions, Executable,
        executable::{Process, unsuccessful},
    },
    model::Name,
    process::Limits,
};

/// What Criterion.rs does with what it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Keeps it, for others to be compared with.
    Save,
    /// Compares it with what was kept.
    Compare,
}

/// What Criterion.rs said of a benchmark that it compared with a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// "Performance has regressed."
    Regressed,
    /// "Performance has improved."
    Improved,
    /// "Change within noise threshold." or "No change in performance detected."
    NoChange,
}

/// The name of the baseline.
const NAME: &str = "base";

/// How long a benchmark takes at least by the defaults of Criterion.rs: 3 s of warm-up and 5 s of measurements.
const OF_ONE: Duration = Duration::from_secs(8);

/// Room for what it prints of thousands of benchmarks.
const OUTPUT: usize = 16 << 20;

/// Before the words on a benchmark, its time.
const TIME: &str = "time:";

/// Runs these benchmarks of an executable in one process, with their own settings and the files of Criterion.rs in
/// `home`; what it said of those that it compared.
pub fn criterion_by_itself(
    executable: &Executable,
    benchmarks: &[Name],
    home: &Path,
    baseline: Baseline,
    conditions: &Conditions<'_>,
) -> Result<Vec<(Name, Said)>> {
    let mut invocation = executable.invocation(arguments(benchmarks, baseline), None, conditions);
    invocation.variables.push(("CRITERION_HOME".into(), home.into()));
    let count = u32::try_from(benchmarks.len()).unwrap_or(u32::MAX);
    let work = OF_ONE.saturating_mul(count);
    let process = Process::executing(executable, benchmarks, invocation, work);
    let limits = Limits { output: OUTPUT, ..Limits::for_duration(work) };
    // A deadline that was given is one for a single benchmark.
    let conditions = Conditions { deadline: None, ..*conditions };
    let ended = process.run_within(limits, &conditions)?;
    if let Some(reason) = unsuccessful(ended.ending) {
        return Err(process.failure(&reason, &ended));
    }
    Ok(words(&ended.output.to_string(), benchmarks))
}

fn arguments(benchmarks: &[Name], baseline: Baseline) -> Vec<OsString> {
    let baseline = match baseline {
        Baseline::Save => "--save-baseline",
        Baseline::Compare => "--baseline",
    };
    let ids: Vec<String> = benchmarks.iter().map(|name| regex::escape(&name.id)).collect();
    // Plots change nothing of what it measures and says.
    let arguments = ["--bench", "--noplot", baseline, NAME, "--"].map(OsString::from);
    let filter = format!("^({})$", ids.join("|")).into();
    arguments.into_iter().chain([filter]).collect()
}

/// What it said of each benchmark. The name stands before the time, in the same line or, if it is long, in one of
/// its own.
fn words(output: &str, benchmarks: &[Name]) -> Vec<(Name, Said)> {
    // It cuts names at 100 bytes.
    let find = |title: &str| {
        let is_meant = |name: &&Name| name.id == title || is_cut(&name.id, title);
        benchmarks.iter().find(is_meant)
    };
    let (mut current, mut before) = (None, "");
    let mut said = Vec::new();
    for line in output.lines() {
        // With a throughput, the change of the time has a line of its own.
        if let Some((title, _)) = line.split_once(TIME).filter(|_| before.trim() != "change:") {
            let title = if title.trim().is_empty() { before } else { title };
            current = find(title.trim());
        }
        before = line;
        let word = match line.trim() {
            "Performance has regressed." => Said::Regressed,
            "Performance has improved." => Said::Improved,
            "Change within noise threshold." | "No change in performance detected." => {
                Said::NoChange
            }
            _ => continue,
        };
        said.extend(current.take().map(|name: &Name| (name.clone(), word)));
    }
    said
}

fn is_cut(id: &str, title: &str) -> bool {
    title.len() > 90 && id.starts_with(title.trim_end_matches("..."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_benchmark_gets_the_word_below_its_time() {
        let long = "words/of a name that is longer than a column";
        let output = format!(
            "\
Benchmarking map: Analyzing
map                     time:   [1.0 µs 1.1 µs 1.2 µs]
                        change: [+1.0% +2.0% +3.0%] (p = 0.00 < 0.05)
                        Performance has regressed.
Found 3 outliers among 100 measurements (3.00%)
{long}
                        time:   [1.0 µs 1.1 µs 1.2 µs]
                        thrpt:  [1.0 MiB/s 1.1 MiB/s 1.2 MiB/s]
                 change:
                        time:   [-1.0% +0.0% +1.0%] (p = 0.50 > 0.05)
                        thrpt:  [-1.0% +0.0% +1.0%]
                        No change in performance detected.
split                   time:   [1.0 µs 1.1 µs 1.2 µs]
"
        );
        let names = ["map", long, "split"].map(Name::plain);
        let [map, long, _] = names.clone();
        assert_eq!(words(&output, &names), [(map, Said::Regressed), (long, Said::NoChange)]);
    }

    #[test]
    fn the_filter_means_the_benchmarks_alone() {
        let names = [Name::plain("a.b"), Name::plain("-v")];
        let arguments = arguments(&names, Baseline::Compare);
        assert_eq!(arguments[2..4], ["--baseline", "base"]);
        assert_eq!(arguments.last().unwrap(), r"^(a\.b|\-v)$");
    }
}
