//! What a comparison of the demo showed, in plain words, and whether that was to be expected.

use super::{
    Expected, Luck, Seen,
    luck::NOTICED,
    seen::{Change, Row},
};
use crate::report::quantity;

/// Layouts that matter less than this are not worth a word.
const SMALL_LUCK: f64 = 0.01;

/// Where less of what differs between builds is the layout's, noise would be taken for it.
const MOSTLY_LUCK: f64 = 0.8;

/// A verdict of the demo in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// One or two sentences, made of what was measured.
    pub text: String,
    /// The same in a few words.
    pub summary: String,
    /// Whether the comparison showed what it should.
    pub as_expected: bool,
}

/// Explains a comparison. `luck` is that of each benchmark measured in it.
pub fn explain(expected: Expected, seen: &Seen, luck: &[Luck]) -> Explanation {
    match expected {
        Expected::Identical => identical(seen),
        Expected::NothingFlagged => nothing_flagged(seen, luckiest(luck)),
        Expected::Regressed(id) => one_flagged(seen, id, "regressed", luckiest(luck)),
        Expected::Improved(id) => one_flagged(seen, id, "improved", luckiest(luck)),
    }
}

fn identical(seen: &Seen) -> Explanation {
    let other: Vec<&Row> =
        seen.benchmarks.iter().filter(|row| row.verdict != "identical").collect();
    if seen.benchmarks.is_empty() || !other.is_empty() {
        return unexpected(format!(
            "All benchmarks should have had the same machine code in both commits; {} not.",
            have(&other)
        ));
    }
    Explanation {
        text: format!(
            "All {} have the same machine code in both commits, layout by layout, so there is no \
             difference to look for: nothing was measured.",
            quantity::count(seen.benchmarks.len(), "benchmark")
        ),
        summary: "identical machine code, nothing to measure".to_owned(),
        as_expected: true,
    }
}

fn nothing_flagged(seen: &Seen, luckiest: Option<&Luck>) -> Explanation {
    if let Some(problem) = problem(seen, None) {
        return unexpected(problem);
    }
    let row = luckiest.and_then(|luck| Some((luck, changed(seen, &luck.benchmark)?)));
    let Some((luck, change)) = row else {
        return Explanation {
            text: "No benchmark is called faster or slower. (Elsewhere some of them depend much on where \
                   their code lies. Here and now that is too little to be told from noise.)"
            .to_owned(),
            summary: "nothing flagged".to_owned(),
            as_expected: true,
        };
    };
    let Luck { benchmark, range: [fast, slow], pairs: [pairs, noticed], .. } = luck;
    let text = format!(
        "Nobody touched `{benchmark}`, and yet one and the same commit of it takes from {} to {}, \
         depending on the layout alone: {} more. Whoever builds each commit once compares the luck of \
         two layouts: of the {pairs} pairs of one build of each with different layouts, {noticed} \
         differ by more than {:.0} %. Here each layout is that of a build of either commit, so that \
         luck cancels: {}. Nothing is called faster or slower.",
        quantity::nanoseconds(*fast),
        quantity::nanoseconds(*slow),
        size(luck.width()),
        100.0 * NOTICED,
        interval(change),
    );
    let summary =
        format!("nothing flagged, though layouts move `{benchmark}` by {}", size(luck.width()));
    Explanation { text, summary, as_expected: true }
}

fn one_flagged(
    seen: &Seen,
    wanted: &str,
    verdict: &'static str,
    luckiest: Option<&Luck>,
) -> Explanation {
    let found = seen.benchmarks.iter().find(|row| row.id == wanted);
    let found = found.filter(|row| row.verdict == verdict);
    let Some((row, change)) = found.and_then(|row| Some((row, row.change()?))) else {
        let reason = seen.benchmarks.iter().find(|row| row.id == wanted);
        let reason = reason.map_or("it was not measured", |row| row.reason.as_str());
        return unexpected(format!(
            "`{wanted}` should have {verdict}, but was found {reason}. {TOO_NOISY}"
        ));
    };
    if let Some(problem) = problem(seen, Some(wanted)) {
        return unexpected(problem);
    }
    let others = seen.benchmarks.len() - 1;
    let mut text = format!(
        "`{}` {verdict}: {}. The first builds showed it, and so did fresh builds with layouts of \
         their own, which alone make up this number.",
        row.id,
        interval(change)
    );
    text += &format!(" None of the other {} is flagged", quantity::count(others, "benchmark"));
    let unflagged = luckiest.filter(|luck| luck.benchmark != wanted);
    text += &unflagged.map_or_else(
        || ".".to_owned(),
        |luck| {
            format!(
                ", `{}` included, which layouts move by {}.",
                luck.benchmark,
                size(luck.width())
            )
        },
    );
    let summary =
        format!("`{wanted}` {verdict} by {}, nothing else flagged", size(change.estimate));
    Explanation { text, summary, as_expected: true }
}

const TOO_NOISY: &str = "Where much else runs, ten builds may not be enough to be sure: close what you \
                         can and run the demo again.";

/// What should not have happened to a benchmark other than `expected`.
fn problem(seen: &Seen, expected: Option<&str>) -> Option<String> {
    let others = || seen.benchmarks.iter().filter(|row| Some(row.id.as_str()) != expected);
    if seen.benchmarks.is_empty() {
        return Some("No benchmark was found in both commits.".to_owned());
    }
    let broken: Vec<&Row> = others().filter(|row| row.is_broken()).collect();
    if let Some(first) = broken.first() {
        return Some(format!("`{}` could not be judged: {}", first.id, first.reason));
    }
    let flagged: Vec<&Row> = others().filter(|row| row.is_flagged()).collect();
    let first = flagged.first()?;
    Some(format!(
        "`{}` is called {}, although its code is the same: a false alarm. They are meant to be rare, not \
         impossible. {TOO_NOISY}",
        first.id, first.verdict
    ))
}

fn unexpected(text: String) -> Explanation {
    Explanation { text, summary: "see above".to_owned(), as_expected: false }
}

/// The benchmark that depends most on its layout, if any does.
fn luckiest(luck: &[Luck]) -> Option<&Luck> {
    luck.iter()
        .filter(|luck| luck.spread > SMALL_LUCK && luck.share > MOSTLY_LUCK)
        .max_by(|one, other| one.spread.total_cmp(&other.spread))
}

fn changed(seen: &Seen, id: &str) -> Option<Change> {
    seen.benchmarks.iter().find(|row| row.id == id)?.change()
}

fn have(rows: &[&Row]) -> String {
    let names: Vec<String> = rows.iter().map(|row| format!("`{}`", row.id)).collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    format!("{} {verb}", names.join(", "))
}

fn interval(change: Change) -> String {
    let percent = |share: f64| format!("{:+.2} %", 100.0 * share);
    let (estimate, low) = (percent(change.estimate), percent(change.low));
    let bounds = change.high.map_or_else(
        || format!("above {low}"),
        |high| format!("between {low} and {}", percent(high)),
    );
    format!("{estimate} (with 95 % confidence {bounds})")
}

/// Without a sign.
fn size(share: f64) -> String {
    format!("{:.0} %", 100.0 * share.abs())
}

#[cfg(test)]
mod tests;
