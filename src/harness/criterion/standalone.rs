//! Stock Criterion.rs with its own baselines and verdicts, as `cargo bench` runs it. The reference for rbench's
//! comparison of false-positive rates.

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

/// The use of Criterion.rs's baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Saves the results as the baseline.
    Save,
    /// Compares the results with the baseline.
    Compare,
}

/// Criterion.rs's verdict on a benchmark compared with a baseline.
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

/// Least time of a benchmark by the defaults of Criterion.rs: 3 s of warm-up and 5 s of measurements.
const OF_ONE: Duration = Duration::from_secs(8);

/// Room for the output of thousands of benchmarks, in bytes.
const OUTPUT: usize = 16 << 20;

/// Precedes a benchmark's time in the output.
const TIME: &str = "time:";

/// Runs these benchmarks of an executable in one process, with their own settings and with the files of Criterion.rs in
/// `home`. Returns its verdicts on the compared ones.
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
    // The given deadline is for a single benchmark.
    let conditions = Conditions { deadline: None, ..*conditions };
    let ended = process.run_within(limits, &conditions)?;
    if let Some(reason) = unsuccessful(ended.ending) {
        return Err(process.error(&reason, &ended));
    }
    Ok(words(&ended.output.to_string(), benchmarks))
}

fn arguments(benchmarks: &[Name], baseline: Baseline) -> Vec<OsString> {
    let baseline = match baseline {
        Baseline::Save => "--save-baseline",
        Baseline::Compare => "--baseline",
    };
    let ids: Vec<String> = benchmarks.iter().map(|name| regex::escape(&name.id)).collect();
    // Plots do not affect measurements or verdicts.
    let arguments = ["--bench", "--noplot", baseline, NAME, "--"].map(OsString::from);
    let filter = format!("^({})$", ids.join("|")).into();
    arguments.into_iter().chain([filter]).collect()
}

/// The verdict on each benchmark. The name precedes the time, on the same line or, if it is long, on a separate line.
fn words(output: &str, benchmarks: &[Name]) -> Vec<(Name, Said)> {
    // Criterion.rs cuts names at 100 bytes.
    let find = |title: &str| {
        let is_meant = |name: &&Name| name.id == title || is_cut(&name.id, title);
        benchmarks.iter().find(is_meant)
    };
    let (mut current, mut before) = (None, "");
    let mut verdicts = Vec::new();
    for line in output.lines() {
        // With a throughput, the change of the time is on a separate line.
        if let Some((title, _)) = line.split_once(TIME).filter(|_| before.trim() != "change:") {
            let title = if title.trim().is_empty() { before } else { title };
            current = find(title.trim());
        }
        before = line;
        let verdict = match line.trim() {
            "Performance has regressed." => Said::Regressed,
            "Performance has improved." => Said::Improved,
            "Change within noise threshold." | "No change in performance detected." => {
                Said::NoChange
            }
            _ => continue,
        };
        verdicts.extend(current.take().map(|name: &Name| (name.clone(), verdict)));
    }
    verdicts
}

fn is_cut(id: &str, title: &str) -> bool {
    title.len() > 90 && id.starts_with(title.trim_end_matches("..."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict_belongs_to_the_benchmark_above_it() {
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
    fn filter_matches_only_the_benchmarks() {
        let names = [Name::plain("a.b"), Name::plain("-v")];
        let arguments = arguments(&names, Baseline::Compare);
        assert_eq!(arguments[2..4], ["--baseline", "base"]);
        assert_eq!(arguments.last().unwrap(), r"^(a\.b|\-v)$");
    }
}
