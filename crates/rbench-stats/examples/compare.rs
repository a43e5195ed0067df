//! Compares two versions of a benchmark by the numbers in a CSV file:
//! `cargo run -p rbench-stats --example compare crates/rbench-stats/examples/measurements.csv`.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{collections::BTreeMap, env, error::Error, fs};

use rbench_stats::{
    Assessment, Components, Criteria, Estimator, Interval, InvalidMeasurement, Levels,
    Measurements, Metric, Pairing, Summary, Verdict, plan,
};

/// The measurements of each execution of each build of one version.
type Builds = BTreeMap<u64, BTreeMap<u64, Vec<f64>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("usage: compare FILE.csv")?;
    let versions = read(&fs::read_to_string(&path)?)?;
    let summary = |version: &str| -> Result<Summary, Box<dyn Error>> {
        let builds = versions.get(version).ok_or_else(|| format!("{path} has no `{version}`"))?;
        Ok(Summary::compute(&measurements(builds)?, Estimator::Mean))
    };
    let [base, head] = [summary("base")?, summary("head")?];

    for (name, version) in [("base", &base), ("head", &head)] {
        let Interval { center, low, high } = Interval::three_level(version, 0.95)?;
        println!("{name}: {center:.1} ns, 95 % CI {low:.1} to {high:.1}");
    }

    // A component below 0 is an estimate of none.
    let known = |variance: Option<f64>| variance.unwrap_or(0.0).max(0.0);
    let Levels { version, build, execution } = Components::estimate(&base).t;
    let levels =
        Levels { version: known(version), build: known(build), execution: known(execution) };
    let mean = base.means().mean;
    let percent = |variance: f64| 100.0 * variance.sqrt() / mean;
    println!(
        "standard deviations of the base: {:.1} % between builds, {:.1} % between executions, {:.1} % between measurements",
        percent(levels.version),
        percent(levels.build),
        percent(levels.execution)
    );
    if let Some(builds) = plan::builds_for_half_width(&levels, 3, 5, 0.95, 0.01 * mean, 1_000) {
        println!("for ± 1 % of one version alone: {builds} builds of 3 executions");
    }

    // Build i of both versions has the same code layout, so that its effect cancels.
    let criteria = Criteria { confirm: false, ..Criteria::default() };
    let stage = Assessment::new(&base, &head, Pairing::BySeed, &criteria)?;
    let change = stage.change;
    println!(
        "{}: {:+.1} %, 95 % CI {:+.1} % to {:+.1} %",
        Verdict::decide(&stage, None, 1, &criteria).name(),
        100.0 * change.estimate,
        100.0 * change.low,
        100.0 * change.high
    );
    let unpaired = Assessment::new(&base, &head, Pairing::Unpaired, &criteria)?;
    println!("without pairs: {}", Verdict::decide(&unpaired, None, 1, &criteria).name());
    Ok(())
}

/// Reads lines of `version,build,execution,nanoseconds`, without the heading and comments.
fn read(text: &str) -> Result<BTreeMap<String, Builds>, Box<dyn Error>> {
    let mut versions: BTreeMap<String, Builds> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [version, build, execution, nanoseconds] = fields[..] else {
            return Err(format!("four fields are needed: {line}").into());
        };
        let builds = versions.entry(version.to_owned()).or_default();
        let executions = builds.entry(build.parse()?).or_default();
        executions.entry(execution.parse()?).or_default().push(nanoseconds.parse()?);
    }
    Ok(versions)
}

fn measurements(builds: &Builds) -> Result<Measurements, InvalidMeasurement> {
    Measurements::new(Metric::wall(), builds.iter().map(|(seed, build)| (*seed, build.values())))
}
