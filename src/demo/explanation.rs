//! Explains the result of a demo comparison from its measurements, and decides whether it is as
//! expected.

use rbench_stats::{Change, Summary};

use super::Expected;
use crate::{
    model::{Mode, Unit},
    report::{quantity, sentence},
    verdict::{DecidedRow, Verdict, VerdictKind},
};

/// The smallest effect of layouts that is mentioned.
const SMALL_EFFECT: f64 = 0.01;

/// The smallest share of layouts in the variation between builds for which they are mentioned:
/// below it, noise would pass for a layout effect.
const MOSTLY_LAYOUT: f64 = 0.8;

/// The result of a demo comparison in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// One or two sentences, made from measured values.
    pub text: String,
    /// The same in a few words.
    pub summary: String,
    /// True if the comparison showed the expected result.
    pub as_expected: bool,
}

pub fn explain(expected: Expected, rows: &[DecidedRow]) -> Explanation {
    let largest = largest_effect(rows);
    match expected {
        Expected::Identical => identical(rows),
        Expected::NothingFlagged => nothing_flagged(rows, largest.as_ref()),
        Expected::Regressed(id) => one_flagged(rows, id, VerdictKind::Regressed, largest.as_ref()),
        Expected::Improved(id) => one_flagged(rows, id, VerdictKind::Improved, largest.as_ref()),
    }
}

fn identical(rows: &[DecidedRow]) -> Explanation {
    let other: Vec<&DecidedRow> =
        rows.iter().filter(|row| row.verdict != Verdict::Identical).collect();
    if rows.is_empty() || !other.is_empty() {
        return unexpected(format!(
            "All benchmarks should have the same machine code in both commits, but {} not.",
            have(&other)
        ));
    }
    Explanation {
        text: format!(
            "All {} have the same machine code in both commits, in every layout, so nothing had \
             to be measured.",
            quantity::count(rows.len(), "benchmark")
        ),
        summary: "identical machine code, nothing to measure".to_owned(),
        as_expected: true,
    }
}

fn nothing_flagged(rows: &[DecidedRow], largest: Option<&LayoutEffect>) -> Explanation {
    if let Some(problem) = problem(rows, None) {
        return unexpected(problem);
    }
    let row = largest.and_then(|effect| Some((effect, changed(rows, &effect.benchmark)?)));
    let Some((effect, change)) = row else {
        return Explanation {
            text: "No benchmark is reported as faster or slower. (On other machines, some of them \
                   depend strongly on the code layout. Here, that effect is too small \
                   to distinguish from noise.)"
                .to_owned()
                + &interleaving_text(rows),
            summary: "nothing flagged".to_owned(),
            as_expected: true,
        };
    };
    let LayoutEffect { benchmark, range: [fast, slow], pairs: [pairs, noticed], .. } = effect;
    let text = format!(
        "The commit does not touch `{benchmark}`, but builds of one commit take from {} to {}, depending \
         on the layout alone: {} more. A tool that builds each commit once compares two layouts as well: \
         of the {pairs} pairs of one build of each commit with different layouts, {noticed} differ by \
         more than {:.0} %. rbench uses the same layouts for both commits, so that their effect cancels \
         out: {}. Nothing is reported as faster or slower.",
        quantity::value(*fast, Unit::Nanoseconds),
        quantity::value(*slow, Unit::Nanoseconds),
        size(effect.width()),
        100.0 * NOTICED,
        interval(change),
    ) + &interleaving_text(rows);
    let summary = format!(
        "nothing flagged, although layouts change `{benchmark}` by {}",
        size(effect.width())
    );
    Explanation { text, summary, as_expected: true }
}

/// Explains interleaving, if benchmarks ran interleaved, and counts those shown to be unchanged
/// with it.
fn interleaving_text(rows: &[DecidedRow]) -> String {
    let interleaved: Vec<&DecidedRow> = rows
        .iter()
        .filter(|row| row.interleaving.as_ref().is_some_and(|all| all.mode == Mode::Interleaved))
        .collect();
    if interleaved.is_empty() {
        return String::new();
    }
    let unchanged =
        interleaved.iter().filter(|row| matches!(row.verdict, Verdict::Unchanged { .. })).count();
    format!(
        " Both commits ran interleaved on one CPU, in slices of about a millisecond, so that any \
         disturbance affected both alike. So even on a busy machine rbench can show that nothing \
         changed: here for {unchanged} of {}.",
        quantity::count(interleaved.len(), "benchmark"),
    )
}

fn one_flagged(
    rows: &[DecidedRow],
    wanted: &str,
    kind: VerdictKind,
    largest: Option<&LayoutEffect>,
) -> Explanation {
    let found = rows.iter().find(|row| id(row) == wanted);
    let expected = found.filter(|row| VerdictKind::new(&row.verdict) == kind);
    let verdict = kind.name();
    let Some((row, change)) = expected.and_then(|row| Some((row, change_of(row)?))) else {
        let reason = found.map_or("not measured".to_owned(), |row| sentence::verdict(&row.verdict));
        return unexpected(format!(
            "`{wanted}` should have {verdict}, but the result is: {reason}. {TOO_NOISY}"
        ));
    };
    if let Some(problem) = problem(rows, Some(wanted)) {
        return unexpected(problem);
    }
    let others = rows.len() - 1;
    let mut text = format!(
        "`{}` {verdict}: {}. The first builds showed it, and fresh builds with new layouts \
         confirmed it. This number is from the fresh builds alone.",
        id(row),
        interval(change)
    );
    text += &format!(" None of the other {} is flagged", quantity::count(others, "benchmark"));
    let unflagged = largest.filter(|effect| effect.benchmark != wanted);
    text += &unflagged.map_or_else(
        || ".".to_owned(),
        |effect| {
            format!(
                ", including `{}`, which layouts change by {}.",
                effect.benchmark,
                size(effect.width())
            )
        },
    );
    let summary =
        format!("`{wanted}` {verdict} by {}, nothing else flagged", size(change.estimate));
    Explanation { text, summary, as_expected: true }
}

const TOO_NOISY: &str = "On a busy machine, 20 builds may not be enough: close other programs \
                         and run the demo again.";

/// The first unexpected result of a benchmark other than `expected`, in words.
fn problem(rows: &[DecidedRow], expected: Option<&str>) -> Option<String> {
    let others = || rows.iter().filter(|row| Some(id(row)) != expected);
    if rows.is_empty() {
        return Some("No benchmark was found in both commits.".to_owned());
    }
    let is_broken = |row: &&DecidedRow| {
        matches!(row.verdict, Verdict::Failed { .. } | Verdict::NotComparable { .. })
    };
    if let Some(broken) = others().find(is_broken) {
        let reason = sentence::verdict(&broken.verdict);
        return Some(format!("`{}` could not be decided: {reason}", id(broken)));
    }
    let is_flagged = |row: &&DecidedRow| {
        matches!(row.verdict, Verdict::Regressed { .. } | Verdict::Improved { .. })
    };
    let flagged = others().find(is_flagged)?;
    Some(format!(
        "`{}` is reported as {}, although its code is the same: a false alarm. False alarms are \
         rare, but possible. {TOO_NOISY}",
        id(flagged),
        VerdictKind::new(&flagged.verdict).name()
    ))
}

fn unexpected(text: String) -> Explanation {
    Explanation { text, summary: "see above".to_owned(), as_expected: false }
}

/// The layout effect on the benchmark that depends most on layouts, if any depends on them.
fn largest_effect(rows: &[DecidedRow]) -> Option<LayoutEffect> {
    let effect = |row: &DecidedRow| {
        let [base, head] = &row.stages.first()?.summaries;
        LayoutEffect::from_summaries(id(row), [base, head])
    };
    rows.iter()
        .filter_map(effect)
        .filter(|effect| effect.spread > SMALL_EFFECT && effect.share > MOSTLY_LAYOUT)
        .max_by(|one, other| one.spread.total_cmp(&other.spread))
}

fn id(row: &DecidedRow) -> &str {
    &row.benchmark.name.id
}

fn change_of(row: &DecidedRow) -> Option<Change> {
    Some(row.decisive()?.assessment.change)
}

fn changed(rows: &[DecidedRow], wanted: &str) -> Option<Change> {
    change_of(rows.iter().find(|row| id(row) == wanted)?)
}

fn have(rows: &[&DecidedRow]) -> String {
    let names: Vec<String> = rows.iter().map(|row| format!("`{}`", id(row))).collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    format!("{} {verb}", names.join(", "))
}

fn interval(change: Change) -> String {
    let [estimate, low, high] =
        [change.estimate, change.low, change.high].map(|share| format!("{:+.2} %", 100.0 * share));
    format!("{estimate} (with 95 % confidence between {low} and {high})")
}

fn size(share: f64) -> String {
    format!("{:.0} %", 100.0 * share.abs())
}

/// The difference of two builds above which most people would suspect a change.
const NOTICED: f64 = 0.05;

/// The effect of layouts on a benchmark whose code did not change.
#[derive(Clone, Debug, PartialEq)]
struct LayoutEffect {
    pub benchmark: String,
    /// The build values of the base with the fastest and the slowest layout, in the metric's unit.
    pub range: [f64; 2],
    /// The standard deviation, on the log scale, of the part of the build values that both versions
    /// share layout by layout: it comes from the layouts and not from noise.
    pub spread: f64,
    /// The share of that part in the variation between builds: the correlation of both versions.
    pub share: f64,
    /// The number of pairs of one build of each version with *different* layouts, and the number of
    /// them that differ by more than 5 %.
    pub pairs: [usize; 2],
}

impl LayoutEffect {
    /// Estimates the effect on a benchmark measured with the same layouts in two versions; `None`
    /// if they have fewer than three layouts in common.
    pub fn from_summaries(benchmark: &str, [base, head]: [&Summary; 2]) -> Option<Self> {
        let of_head = |seed| head.builds().iter().find(|build| build.seed == seed);
        let both: Vec<[f64; 2]> = base
            .builds()
            .iter()
            .filter_map(|build| Some([build.value, of_head(build.seed)?.value]))
            .collect();
        if both.len() < 3 {
            return None;
        }
        let logs = |version: usize| -> Vec<f64> {
            both.iter().map(|values| values[version].ln()).collect()
        };
        let (x, y) = (logs(0), logs(1));
        let differences = (0..both.len()).flat_map(|i| {
            let others = (0..both.len()).filter(move |j| *j != i);
            let (x, y) = (&x, &y);
            others.map(move |j| (y[j] - x[i]).abs())
        });
        let shared = covariance(&x, &y);
        let of_base = both.iter().map(|values| values[0]);
        Some(Self {
            benchmark: benchmark.to_owned(),
            range: [
                of_base.clone().fold(f64::INFINITY, f64::min),
                of_base.fold(f64::NEG_INFINITY, f64::max),
            ],
            spread: shared.max(0.0).sqrt(),
            share: shared / (covariance(&x, &x) * covariance(&y, &y)).sqrt(),
            pairs: [
                both.len() * (both.len() - 1),
                differences.filter(|d| *d > NOTICED.ln_1p()).count(),
            ],
        })
    }

    /// The relative slowdown from the fastest to the slowest layout: 0.3 is 30 %.
    pub fn width(&self) -> f64 {
        self.range[1] / self.range[0] - 1.0
    }
}

/// The sample covariance of two series of the same length.
fn covariance(x: &[f64], y: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let products: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    products / (x.len() - 1) as f64
}

#[cfg(test)]
mod tests;
