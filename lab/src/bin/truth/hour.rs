//! The state of the machine while the study ran.

use std::{collections::BTreeMap, fs};

use rbench_stats::median;

use crate::{
    proportion::{Proportion, Shown as _},
    study::Tried,
};

/// The load average of the last minute.
pub fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// The time of all CPUs since boot in ticks: the total, and the part stolen by the host.
pub fn cpu_times() -> Option<[u64; 2]> {
    parse_cpu_times(&fs::read_to_string("/proc/stat").ok()?)
}

fn parse_cpu_times(stat: &str) -> Option<[u64; 2]> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Option<Vec<u64>> =
        line.split_whitespace().take(8).map(|field| field.parse().ok()).collect();
    let fields = fields.filter(|fields| fields.len() == 8)?;
    Some([fields.iter().sum(), fields[7]])
}

/// The share of the time between two moments that the host stole.
pub fn stolen(before: Option<[u64; 2]>, after: Option<[u64; 2]>) -> Option<f64> {
    let (before, after) = before.zip(after)?;
    let [all, stolen] = [0, 1].map(|which| after[which].saturating_sub(before[which]));
    (all > 0).then(|| stolen as f64 / all as f64)
}

/// The machine and its state during these comparisons, as a paragraph.
pub fn paragraph<'t>(all: impl IntoIterator<Item = &'t Tried>) -> String {
    let all: Vec<&Tried> = all.into_iter().collect();
    let machine = all.iter().find_map(|tried| tried.report.machine.as_ref());
    let mut sentences = vec![machine.map_or("Unknown machine".to_owned(), |machine| {
        let cpu = if machine.cpu.is_empty() { "unknown CPU" } else { &machine.cpu };
        format!("{cpu}, {} CPUs", machine.cores)
    })];
    if let Some(before) = all.first().and_then(|tried| tried.answer.load_before) {
        sentences.push(format!("Load before the first comparison: {before:.2}"));
    }
    let of = |value: fn(&Tried) -> Option<f64>| all.iter().filter_map(move |tried| value(tried));
    let loads = range(of(|tried| tried.answer.load_after), |load| format!("{load:.1}"));
    sentences
        .extend(loads.map(|loads| format!("at the end of each, its own work included: {loads}")));
    let stolen = range(of(|tried| tried.answer.stolen), percent);
    sentences
        .extend(stolen.map(|shares| format!("CPU time that the host gave to others: {shares}")));
    let subjects = || all.iter().flat_map(|tried| &tried.subjects);
    let preempted = Proportion {
        count: subjects().map(|subject| subject.preempted).sum(),
        of: subjects().map(|subject| subject.executions).sum(),
    };
    sentences
        .push(format!("preempted often: {preempted} executions ({})", percent(preempted.rate())));
    let mut warnings: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for warning in all.iter().flat_map(|tried| &tried.report.warnings) {
        warnings.entry(&warning.kind).or_default().extend(warning.value);
    }
    for (kind, values) in warnings {
        let number = all.iter().filter(|tried| tried.warned_of(kind)).count();
        let values = range(values.into_iter(), |value| format!("{value:.2}"));
        let values = values.map_or(String::new(), |values| format!(" ({values})"));
        sentences.push(format!("`{kind}` warned of in {number} of {}{values}", all.len()));
    }
    sentences.join("; ") + "."
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 1e2 * share)
}

/// The minimum, median and maximum; `None` without values.
fn range(values: impl Iterator<Item = f64>, shown: impl Fn(f64) -> String) -> Option<String> {
    let mut values: Vec<f64> = values.collect();
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    let middle = median(&mut values);
    Some(format!("{} to {}, median {}", shown(least), shown(most), shown(middle)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_share_is_of_the_time_between() {
        let at = |idle: u64, stolen: u64| {
            parse_cpu_times(&format!("cpu  5 0 5 {idle} 0 0 0 {stolen} 0 0\ncpu0 1 1\n"))
        };
        assert_eq!(at(80, 10), Some([100, 10]));
        assert_eq!(stolen(at(80, 10), at(170, 20)), Some(0.1));
        assert_eq!((stolen(at(80, 10), at(80, 10)), stolen(None, at(80, 10))), (None, None));
        assert_eq!(parse_cpu_times("cpu  1 2 3\n"), None);
    }

    #[test]
    fn range_has_its_ends_and_its_middle() {
        let text = range([3.0, 1.0, 2.0].into_iter(), |value| format!("{value}"));
        assert_eq!(text.as_deref(), Some("1 to 3, median 2"));
        assert_eq!(range([].into_iter(), |value| format!("{value}")), None);
    }
}
