//! What was tried, as tables.

use cargo_rbench::stats::{Estimator, Refusal, Verdict};
use comfy_table::{Table, presets};

use crate::{
    answer::Word,
    judgement::{self, LayoutEffect},
    study::{Subject, Tried},
    trial::BENCHMARKS,
};

/// All trials, by kind.
pub struct Study {
    /// Versions that differ by unrelated code.
    pub layout: Vec<Tried>,
    /// Versions in which one function has 10 % more work.
    pub ten: Vec<Tried>,
    /// Versions in which one function has 5 % more work.
    pub five: Vec<Tried>,
}

impl Study {
    /// Every trial.
    pub fn all(&self) -> impl Iterator<Item = &Tried> {
        self.layout.iter().chain(&self.ten).chain(&self.five)
    }
}

impl Tried {
    /// The verdict on the planted benchmark, and the change that was reported, in percent.
    fn planted(&self) -> Option<(&str, Option<f64>)> {
        let planted = self.trial.planted()?;
        let row = self.report.benchmarks.iter().find(|row| row.id == planted)?;
        let change = row.measured.as_ref().map(|measured| 100.0 * measured.change.estimate);
        Some((&row.verdict, change))
    }

    /// Whether the planted benchmark is said to have regressed.
    pub fn is_named(&self) -> bool {
        self.planted().is_some_and(|(verdict, _)| verdict == "regressed")
    }

    /// Benchmarks without a planted change that have one of these verdicts.
    pub fn others_with(&self, verdicts: &[&str]) -> Vec<&str> {
        let mut others = self.report.with_verdict(verdicts);
        others.retain(|benchmark| Some(*benchmark) != self.trial.planted());
        others
    }

    /// Whether the comparison exited with 1 exactly if it names a regression.
    pub fn exit_agrees(&self) -> bool {
        (self.answer.exit == 1) != self.report.with_verdict(&["regressed"]).is_empty()
    }

    fn subject(&self, benchmark: &str) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.benchmark == benchmark)
    }
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(header);
    table
}

fn list(words: &[&str]) -> String {
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

/// What every comparison said.
pub fn trials(study: &Study) -> Table {
    let header = [
        "trial",
        "planted",
        "verdict",
        "change %",
        "others reported",
        "code changed in",
        "exit",
        "s",
    ];
    let mut table = table(header);
    for tried in study.all() {
        let (verdict, change) = tried.planted().unwrap_or(("-", None));
        table.add_row([
            tried.trial.name(),
            tried.trial.planted().unwrap_or("-").to_owned(),
            verdict.to_owned(),
            change.map_or("-".to_owned(), |change| format!("{change:+.2}")),
            list(&tried.others_with(&["regressed", "improved"])),
            list(&tried.touched),
            tried.answer.exit.to_string(),
            format!("{:.0}", tried.answer.seconds),
        ]);
    }
    table
}

/// How often one estimator spoke, among some benchmarks of some trials.
#[derive(Default)]
struct Count {
    of: usize,
    flagged: usize,
    regressed: usize,
    improved: usize,
    errors: Vec<f64>,
}

impl Count {
    fn add(
        &mut self,
        tried: &Tried,
        subject: &Subject,
        estimator: Estimator,
    ) -> Result<(), Refusal> {
        let judged = tried.subjects.len();
        let said = judgement::judge(&subject.first, subject.fresh.as_ref(), judged, estimator)?;
        self.of += 1;
        self.flagged += usize::from(said.flagged.is_some());
        self.regressed += usize::from(matches!(said.verdict, Verdict::Regressed { .. }));
        self.improved += usize::from(matches!(said.verdict, Verdict::Improved { .. }));
        self.errors.push(said.standard_error);
        Ok(())
    }

    fn without_change(trials: &[&Tried], estimator: Estimator) -> Result<Self, Refusal> {
        let mut count = Self::default();
        for tried in trials {
            let planted = tried.trial.planted();
            for subject in &tried.subjects {
                if Some(subject.benchmark.as_str()) != planted {
                    count.add(tried, subject, estimator)?;
                }
            }
        }
        Ok(count)
    }

    fn with_change(trials: &[Tried], estimator: Estimator) -> Result<Self, Refusal> {
        let mut count = Self::default();
        for tried in trials {
            if let Some(subject) = tried.trial.planted().and_then(|name| tried.subject(name)) {
                count.add(tried, subject, estimator)?;
            }
        }
        Ok(count)
    }
}

/// What each estimator makes of the same measurements.
pub fn estimators(study: &Study) -> Result<Table, Refusal> {
    let mut table = table([
        "estimator",
        "flagged by one stage",
        "false-alarm rate %",
        "said to have regressed",
        "improved",
        "10 %: flagged",
        "regressed",
        "5 %: flagged",
        "regressed ",
        "median SE %",
    ]);
    let everything: Vec<&Tried> = study.all().collect();
    for estimator in Estimator::ALL {
        let mut none = Count::without_change(&everything, estimator)?;
        let (ten, five) = (
            Count::with_change(&study.ten, estimator)?,
            Count::with_change(&study.five, estimator)?,
        );
        table.add_row([
            estimator.to_string(),
            format!("{} of {}", none.flagged, none.of),
            format!("{:.1}", 100.0 * none.flagged as f64 / none.of.max(1) as f64),
            none.regressed.to_string(),
            none.improved.to_string(),
            format!("{} of {}", ten.flagged, ten.of),
            ten.regressed.to_string(),
            format!("{} of {}", five.flagged, five.of),
            five.regressed.to_string(),
            format!("{:.2}", 100.0 * median(&mut none.errors)),
        ]);
    }
    Ok(table)
}

/// What criterion said.
pub fn criterion(study: &Study) -> Table {
    let mut table = table(["versions", "regressed", "improved", "within noise", "no change", "of"]);
    let words = |trials: &[Tried], rerun: bool, planted: bool| -> Vec<Word> {
        let said = trials.iter().filter_map(|tried| Some((tried, tried.criterion.as_ref()?)));
        said.flat_map(|(tried, said)| {
            let of = if rerun { &said.rerun } else { &said.head };
            let wanted = tried.trial.planted().filter(|_| planted);
            of.iter().filter(move |(name, _)| wanted.is_none_or(|wanted| *wanted == **name))
        })
        .map(|(_, word)| *word)
        .collect()
    };
    for (versions, words) in [
        ("the same executable again", words(&study.layout, true, false)),
        ("unrelated code", words(&study.layout, false, false)),
        ("10 % more work, the benchmark that has it", words(&study.ten, false, true)),
        ("5 % more work, the benchmark that has it", words(&study.five, false, true)),
    ] {
        let count = |wanted| words.iter().filter(|word| **word == wanted).count().to_string();
        table.add_row([
            versions.to_owned(),
            count(Word::Regressed),
            count(Word::Improved),
            count(Word::Noise),
            count(Word::NoChange),
            words.len().to_string(),
        ]);
    }
    table
}

/// What pairing is worth for one benchmark, over all layout trials.
pub struct Gain {
    /// The benchmark.
    pub benchmark: &'static str,
    /// The median standard deviation between builds: 0.05 is 5 %.
    pub spread: f64,
    /// The median half-widths of the interval: paired, unpaired.
    pub half_widths: [f64; 2],
    /// The median of their ratio.
    pub ratio: f64,
    /// The median correlation of both versions over builds.
    pub correlation: f64,
}

/// The gains of all benchmarks.
pub fn gains(study: &Study) -> Result<Vec<Gain>, Refusal> {
    let mut gains = Vec::new();
    for benchmark in BENCHMARKS {
        let mut effects = Vec::new();
        for subject in study.layout.iter().filter_map(|tried| tried.subject(benchmark)) {
            effects.push(LayoutEffect::of(&subject.first)?);
        }
        let middle = |value: &dyn Fn(&LayoutEffect) -> f64| {
            median(&mut effects.iter().map(value).collect::<Vec<_>>())
        };
        gains.push(Gain {
            benchmark,
            spread: middle(&|effect| effect.spread),
            half_widths: [0, 1].map(|which| middle(&|effect| effect.half_widths[which])),
            ratio: middle(&|effect| effect.half_widths[0] / effect.half_widths[1]),
            correlation: middle(&|effect| effect.correlation.unwrap_or(0.0)),
        });
    }
    Ok(gains)
}

/// What pairing is worth.
pub fn pairing(gains: &[Gain]) -> Table {
    let mut table = table([
        "benchmark",
        "sd between builds %",
        "correlation",
        "paired ± %",
        "unpaired ± %",
        "ratio",
    ]);
    for gain in gains {
        table.add_row([
            gain.benchmark.to_owned(),
            format!("{:.2}", 100.0 * gain.spread),
            format!("{:.2}", gain.correlation),
            format!("{:.2}", 100.0 * gain.half_widths[0]),
            format!("{:.2}", 100.0 * gain.half_widths[1]),
            format!("{:.2}", gain.ratio),
        ]);
    }
    table
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count => f64::midpoint(values[(count - 1) / 2], values[count / 2]),
    }
}
