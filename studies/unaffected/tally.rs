//! How many benchmarks are not measured, and what comes of them where they are measured all the same.

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize;

/// The report of a comparison, as far as it is used.
#[derive(Deserialize)]
pub struct Report {
    benchmarks: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    package: String,
    target: String,
    id: String,
    verdict: String,
    reach: Option<Reach>,
    stages: Vec<Stage>,
}

#[derive(Deserialize)]
struct Reach {
    doubts: Vec<String>,
}

#[derive(Deserialize)]
struct Stage {
    flagged: Option<String>,
}

/// What identifies a benchmark.
type Key<'r> = (&'r str, &'r str, &'r str);

impl Row {
    fn key(&self) -> Key<'_> {
        (&self.package, &self.target, &self.id)
    }
}

impl Report {
    /// The benchmarks with one of these verdicts; one can have several rows.
    fn with(&self, is_it: impl Fn(&Row) -> bool) -> BTreeSet<Key<'_>> {
        self.benchmarks.iter().filter(|row| is_it(row)).map(Row::key).collect()
    }
}

/// Counts of one comparison, or of several.
#[derive(Default)]
pub struct Tally {
    benchmarks: usize,
    unaffected: usize,
    identical: usize,
    doubted: usize,
    /// Why benchmarks are measured although nothing is known to reach them.
    doubts: BTreeSet<String>,
    /// Unaffected rows that were measured all the same.
    pub judged: u32,
    /// Those that the first stage flags.
    pub flagged: u32,
    /// Those of which a change is confirmed.
    pub confirmed: Vec<String>,
    /// How long the comparison took, as usual and with everything measured.
    pub times: Option<[Duration; 2]>,
}

impl Tally {
    /// What a comparison as usual leaves out.
    pub fn of(report: &Report) -> Self {
        let verdict = |verdict| report.with(|row| row.verdict == verdict).len();
        let doubts =
            |row: &Row| row.reach.as_ref().map_or(Vec::new(), |reach| reach.doubts.clone());
        Self {
            benchmarks: report.with(|_| true).len(),
            unaffected: verdict("unaffected"),
            identical: verdict("identical"),
            doubted: report.with(|row| !doubts(row).is_empty()).len(),
            doubts: report.benchmarks.iter().flat_map(doubts).collect(),
            ..Self::default()
        }
    }

    /// What comes of that where everything is measured.
    pub fn judge(&mut self, usual: &Report, all: &Report) {
        let unaffected = usual.with(|row| row.verdict == "unaffected");
        for row in all.benchmarks.iter().filter(|row| unaffected.contains(&row.key())) {
            let Some(first) = row.stages.first() else { continue };
            self.judged += 1;
            self.flagged += u32::from(first.flagged.is_some());
            if matches!(row.verdict.as_str(), "regressed" | "improved") {
                self.confirmed.push(format!("{} {} {}", row.target, row.id, row.verdict));
            }
        }
    }

    /// Counts another comparison, too.
    pub fn add(&mut self, other: &Self) {
        self.benchmarks += other.benchmarks;
        self.unaffected += other.unaffected;
        self.identical += other.identical;
        self.doubted += other.doubted;
        self.doubts.extend(other.doubts.iter().cloned());
        self.judged += other.judged;
        self.flagged += other.flagged;
        self.confirmed.extend(other.confirmed.iter().cloned());
        if let Some([usual, all]) = other.times {
            let [before, before_all] = self.times.unwrap_or_default();
            self.times = Some([before + usual, before_all + all]);
        }
    }

    /// Some lines about it.
    pub fn print(&self) {
        let Self { benchmarks, unaffected, identical, doubted, .. } = self;
        let measured = benchmarks - unaffected - identical;
        println!(
            "  {benchmarks} benchmarks: {unaffected} unaffected, {identical} identical, {measured} measured \
             ({doubted} in doubt)"
        );
        for doubt in &self.doubts {
            println!("  in doubt: {doubt}");
        }
        let Some([usual, all]) = self.times.map(|times| times.map(|time| time.as_secs_f64()))
        else {
            return;
        };
        let (judged, flagged, confirmed) = (self.judged, self.flagged, self.confirmed.len());
        println!("  {judged} unaffected rows: {flagged} flagged, {confirmed} confirmed");
        for one in &self.confirmed {
            println!("  confirmed: {one}");
        }
        println!("  {usual:.1} s, with everything measured {all:.1} s: {:.2} of it", usual / all);
    }
}
