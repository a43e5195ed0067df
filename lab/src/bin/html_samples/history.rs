//! Histories: one of a project after a month, and one of ten thousand commits.

use std::{
    rc::Rc,
    time::{Duration, SystemTime},
};

use cargo_rbench::{
    cli::GivenOptions,
    model::{CommitRange, Metric, Version},
    report::{
        Report as _,
        history::{
            BenchmarkHistory, CommitPlace, Estimate, Event, EventChange, HistoryReport, HistoryRow,
            Measured, ReferenceVersion, Relation, Series, SuspectedChange,
        },
    },
    verdict::{DecidedRow, DecidedStage, Progress, Verdict},
};
use rbench_stats::{
    Assessment, Change, Criteria, Estimator, Measurements, Pairing, Random, Summary,
};

use crate::made_up::{HOSTILE, benchmark, machine, version};

/// The length of a session, in versions.
const SESSION: usize = 9;

/// The size of a made-up history.
#[derive(Clone, Copy)]
pub struct Shape {
    pub benchmarks: usize,
    pub versions: usize,
    builds: u64,
    compared: bool,
}

/// The largest history that a page must carry.
pub const LARGE: Shape = Shape { benchmarks: 100, versions: 10_000, builds: 2, compared: false };
pub const SMALL: Shape = Shape { benchmarks: 8, versions: 45, builds: 6, compared: true };

impl Shape {
    fn version(at: usize) -> Version {
        let subject = match at % 11 {
            0 => HOSTILE.to_owned(),
            3 => "Keep the spans of tokens".to_owned(),
            7 => format!("Merge pull request #{at} from somebody/with-a-long-name-of-a-branch"),
            _ => format!("Change number {at}"),
        };
        version(&format!("v{at}"), at, &subject)
    }

    /// The versions at which a benchmark changes, each with its factor.
    fn changes(self, of: usize) -> Vec<(usize, f64)> {
        let at = |tenths: usize| self.versions * tenths / 10;
        match of % 5 {
            0 => vec![(at(4), 1.12)],
            1 => vec![(at(4), 1.05), (at(8), 0.9)],
            2 if of.is_multiple_of(2) => vec![(at(7), 0.86)],
            _ => Vec::new(),
        }
    }

    fn place(self, at: usize) -> CommitPlace {
        let version = |at: usize| Self::version(at.min(self.versions - 1));
        let range = |from, to| CommitRange { after: version(from), until: version(to) };
        CommitPlace { best: range(at - 1, at), possible: range(at - 2, at + 1) }
    }

    fn series(self, of: usize) -> Series {
        if of % 5 == 4 {
            return Series::Undecided {
                reason: "comparable values of only 3 versions (needs 5)".to_owned(),
            };
        }
        let change = |(at, factor): (usize, f64)| SuspectedChange {
            place: self.place(at),
            change: Change { estimate: factor - 1.0, low: factor - 1.01, high: factor - 0.988 },
        };
        let changes = self.changes(of).into_iter().map(change).collect();
        Series::Decided { versions: self.versions, p: 0.001, changes }
    }

    fn name(of: usize) -> String {
        if of == 2 { HOSTILE.to_owned() } else { format!("group_{}/benchmark/{of}", of % 6) }
    }

    fn history(self, of: usize) -> BenchmarkHistory {
        let mut random = Random::stream(11, of as u64);
        let mut level = 40.0 * 1.7_f64.powf((of % 19) as f64);
        let mut session = 1.0;
        let mut before: Option<(Version, Summary)> = None;
        let mut versions = Vec::new();
        for at in 0..self.versions {
            if at % SESSION == 0 {
                session = 1.0 + 0.003 * random.normal();
            }
            if let Some((_, factor)) = self.changes(of).iter().find(|(place, _)| *place == at) {
                level *= factor;
            }
            let summary = summary(&mut random, level * session, self.builds);
            let version = Self::version(at);
            let base = before.filter(|_| self.compared && at % SESSION > 0);
            let against = base.map(|(base, of_base)| against(of, base, of_base, summary.clone()));
            before = Some((version.clone(), summary.clone()));
            versions.push(row(version, &summary, at / SESSION, against));
        }
        BenchmarkHistory {
            benchmark: benchmark(&Self::name(of)),
            metric: Metric::wall(),
            sessions: None,
            series: self.series(of),
            versions,
        }
    }
}

fn row(
    version: Version,
    summary: &Summary,
    session: usize,
    against: Option<ReferenceVersion>,
) -> HistoryRow {
    HistoryRow {
        version,
        in_repository: true,
        measured: SystemTime::UNIX_EPOCH
            + Duration::from_secs(1_700_000_000 + 90_000 * session as u64),
        machine: machine(),
        toolchain: String::new(),
        conditions: Measured::new(None, Some(summary)),
        result: Some(Estimate::new(summary, Criteria::default().confidence)),
        unmeasured: None,
        like_newest: true,
        against,
    }
}

fn summary(random: &mut Random, value: f64, builds: u64) -> Summary {
    let builds = (0..builds).map(|seed| (seed, [[value * (1.0 + 0.006 * random.normal())]]));
    let data = Measurements::new(Metric::wall(), builds.collect::<Vec<_>>()).unwrap();
    Summary::compute(&data, Estimator::Mean)
}

fn against(of: usize, version: Version, base: Summary, head: Summary) -> ReferenceVersion {
    let criteria = Criteria { confirm: false, ..Criteria::default() };
    let assessment = Assessment::new(&base, &head, Pairing::BySeed, &criteria).unwrap();
    let row = DecidedRow::without_metric(&benchmark(&Shape::name(of)), Verdict::Identical);
    let row = DecidedRow {
        metric: Some(Metric::wall()),
        verdict: rbench_stats::Verdict::decide(&assessment, None, 1, &criteria).into(),
        stages: vec![DecidedStage { summaries: [base, head], assessment }],
        progress: Progress::Ended,
        by_mean: None,
        ..row
    };
    ReferenceVersion { version, relation: Relation::SameExperiment, row }
}

pub fn page(shape: Shape) -> String {
    let benchmarks: Vec<BenchmarkHistory> =
        (0..shape.benchmarks).map(|of| shape.history(of)).collect();
    let mut events: Vec<Event> = Vec::new();
    for BenchmarkHistory { benchmark, metric, series, .. } in &benchmarks {
        for change in series.changes() {
            let member = EventChange {
                benchmark: benchmark.clone(),
                metric: metric.clone(),
                change: change.clone(),
            };
            let known = events.iter_mut().find(|event| event.place == change.place);
            if let Some(event) = known {
                event.changes.push(member);
            } else {
                events.push(Event { place: change.place.clone(), changes: vec![member] });
            }
        }
    }
    let report = HistoryReport {
        subject: None,
        criteria: Criteria::default(),
        overview: true,
        paths: Vec::new(),
        changes_only: false,
        worst_only: false,
        variant: None,
        other_variants: Vec::new(),
        hidden: 12,
        unfinished: 1,
        shallow: false,
        benchmarks,
        unmeasured: Vec::new(),
        events,
        commits: Vec::new(),
        command_line: Rc::new(GivenOptions::default()),
    };
    report.html().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenth of the versions: the drawings have as many steps as with all of them.
    #[test]
    fn page_of_many_commits_is_not_large() {
        let page = page(Shape { versions: 1000, ..LARGE });
        assert!(page.len() <= 3_000_000, "{} bytes", page.len());
    }
}
