//! Words verdicts and their reasons for people, and accepted slowdowns that no longer change a verdict. Programs read
//! the values instead.

use rbench_stats::{Change, Evidence, InconclusiveReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    escape::{escape_untrusted, escape_untrusted_lines},
    names::{Names, short, with_metric},
    quantity::{MOST_NAMES, and_more, changed, count, exact, p_value, percent, probability, size},
    style::Role,
};
use crate::{
    model::{
        Acceptance, AcceptedChange, Benchmark, DependencyChange, Idle, IdleAcceptance, OBJECT_ID,
    },
    verdict::{ByMean, Counts, DecidedRow, DecidedStage, UnmeasuredIn, Verdict, VerdictKind},
};

/// The multiple of the smallest change flagged with 80 % power below which an estimate tends to be
/// too large, given that it is reported at all. With ten builds, that is 1.25 standard deviations
/// of the differences of builds. A true change of that size is reported 2 % too large on average,
/// one of three quarters of a deviation by a fifth.
const EXAGGERATED: f64 = 1.45;

const MOST_PACKAGES: usize = 5;

impl Counts {
    /// The numbers of these verdicts, without those that there are none of: `2 regressed, 7
    /// unchanged`.
    pub fn words(&self, kinds: &[VerdictKind]) -> String {
        let there = kinds.iter().filter(|kind| self.with_verdict(**kind) > 0);
        let words = there.map(|kind| format!("{} {}", self.with_verdict(*kind), kind.name()));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The numbers of all verdicts, of failed bench targets and of missing benchmarks: `2 regressed, 1
    /// failed bench target, 1 missing in the head`.
    pub fn all_words(&self) -> String {
        let targets = self.failed_targets;
        let targets = (targets > 0).then(|| count(targets, "failed bench target"));
        let missing = (self.missing > 0).then(|| format!("{} missing in the head", self.missing));
        let others = [targets, missing].map(Option::unwrap_or_default);
        let words = std::iter::once(self.words(&VerdictKind::ALL)).chain(others);
        let words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
        if words.is_empty() { "no benchmark in both versions".to_owned() } else { words.join(", ") }
    }
}

impl VerdictKind {
    pub const fn class(self) -> &'static str {
        match self {
            Self::NotComparable => "incomparable",
            other => other.name(),
        }
    }

    pub const fn role(self) -> Role {
        match self {
            Self::Regressed => Role::Bad,
            Self::Improved => Role::Good,
            Self::Failed | Self::Accepted | Self::NotComparable | Self::Inconclusive => {
                Role::Doubtful
            }
            Self::Unchanged | Self::Unaffected | Self::Identical | Self::Skipped => Role::Plain,
        }
    }
}

/// A verdict with its reason: `regressed: +5.00 % (+3.43 % to +6.60 %), confirmed by fresh builds (…)`.
pub fn verdict(verdict: &Verdict) -> String {
    with_reason(verdict, None)
}

fn with_reason(verdict: &Verdict, place: Option<&str>) -> String {
    let name = VerdictKind::new(verdict).name();
    match (change_and_reason(verdict), place) {
        ((Some(change), reason), _) => format!("{name}: {}, {reason}", change_text(change)),
        ((None, reason), Some(place)) => format!("{name} in {place}: {reason}"),
        ((None, reason), None) => format!("{name}: {reason}"),
    }
}

/// The version where a benchmark failed or was skipped: `base`, `head` or `both`; `None` if it was measured.
pub fn place(row: &DecidedRow) -> Option<&'static str> {
    row.unmeasured_in.map(UnmeasuredIn::name)
}

/// `failed`, with the versions where something failed: `failed in both`.
pub fn failed(place: Option<UnmeasuredIn>) -> String {
    place.map_or_else(|| "failed".to_owned(), |place| format!("failed in {}", place.name()))
}

/// The change that a verdict is about, if it is about one.
pub fn change_of(verdict: &Verdict) -> Option<&Change> {
    change_and_reason(verdict).0
}

fn change_and_reason(verdict: &Verdict) -> (Option<&Change>, String) {
    match verdict {
        Verdict::Regressed { change, evidence: why }
        | Verdict::Improved { change, evidence: why } => (Some(change), evidence_text(*why)),
        Verdict::Accepted { change, evidence: basis, acceptance } => {
            (Some(change), format!("{}; {}", evidence_text(*basis), acceptance_text(acceptance)))
        }
        Verdict::Unchanged { change, min_effect, difference } => {
            let difference = difference.map(|basis| {
                format!("; there is a difference below the min-effect, {}", evidence_text(basis))
            });
            let less = format!("less than {} either way", exact(*min_effect));
            (Some(change), less + &difference.unwrap_or_default())
        }
        Verdict::Inconclusive { change, detectable, reason: cause } => {
            let reason = inconclusive_text(*cause);
            let reason = match cause {
                InconclusiveReason::Small { .. } | InconclusiveReason::Shrunk { .. } => reason,
                _ => reason + &detectable.map(|one| power_text(one, one)).unwrap_or_default(),
            };
            (Some(change), reason)
        }
        Verdict::Identical => (None, "both versions have the same machine code".to_owned()),
        Verdict::Unaffected => {
            (None, "it executes no machine code and reads no data that differs".to_owned())
        }
        Verdict::Skipped { reason }
        | Verdict::Failed { reason }
        | Verdict::NotComparable { reason } => (None, escape_untrusted_lines(reason).into_owned()),
    }
}

/// A verdict with its reason, including reasons that only the stages of the decision know.
pub fn row(row: &DecidedRow) -> String {
    with_reason(&row.verdict, place(row)) + &by_mean(row) + &exaggeration(row)
}

/// The reason without the verdict and the change.
pub fn reason(row: &DecidedRow) -> String {
    let reason = change_and_reason(&row.verdict).1 + &by_mean(row) + &exaggeration(row);
    match place(row) {
        Some(place) => format!("in {place}: {reason}"),
        None => reason,
    }
}

/// The reason given if only the mean showed the reported change.
pub const DECIDED_BY_MEAN: &str =
    "not all measurements changed alike, so the change is that of their mean";

/// The role of the mean of all measurements in the verdict.
fn by_mean(row: &DecidedRow) -> String {
    match row.by_mean {
        Some(ByMean { primary: true, .. }) => format!("; {DECIDED_BY_MEAN}"),
        Some(ByMean { change, .. }) if mean_differs(row) => {
            format!("; by the mean of all measurements {}", change_text(&change))
        }
        _ => String::new(),
    }
}

/// True if the change of the mean differs from the reported one, by more than the smallest change
/// of interest or with 95 % confidence, and the reason does not mention it already.
pub fn mean_differs(row: &DecidedRow) -> bool {
    let names_mean = matches!(
        row.verdict,
        Verdict::Inconclusive {
            reason: InconclusiveReason::MeanChanged { .. }
                | InconclusiveReason::MeanDisagrees { .. },
            ..
        }
    );
    row.by_mean.zip(row.decisive()).is_some_and(|(by_mean, DecidedStage { assessment, .. })| {
        let reported = assessment.comparison.log_change;
        let [estimate, low, high] =
            [by_mean.change.estimate, by_mean.change.low, by_mean.change.high].map(f64::ln_1p);
        let differs = (estimate - reported).abs() > assessment.min_effect.ln_1p()
            || !(low..=high).contains(&reported);
        !names_mean && !by_mean.primary && differs
    })
}

/// The consequence of an estimate that [is exaggerated](is_exaggerated).
pub const TOO_LARGE: &str =
    "an estimate so close to the smallest detectable change tends to be too large";

fn exaggeration(row: &DecidedRow) -> String {
    if is_exaggerated(row) { format!("; {TOO_LARGE}") } else { String::new() }
}

/// True if a reported change is hardly larger than the smallest detectable one. Such changes are
/// mostly those that noise enlarged (the winner's curse).
pub fn is_exaggerated(row: &DecidedRow) -> bool {
    matches!(row.verdict, Verdict::Regressed { .. } | Verdict::Improved { .. })
        && row.decisive().is_some_and(|DecidedStage { assessment, .. }| {
            let change = assessment.comparison.log_change.abs();
            let is_near = |detectable: f64| change < EXAGGERATED * detectable.ln_1p();
            assessment.smallest_flagged().is_some_and(is_near)
        })
}

/// A detectable change beyond which its size helps nobody.
pub const USELESS: f64 = 0.25;

/// The smallest change that an experiment would detect with 80 % power; of several rows, `least` and `most`.
pub fn power_text(least: f64, most: f64) -> String {
    if most > USELESS {
        let some = if least > USELESS { "" } else { "in some, " };
        return format!("; {some}even a change of {} could be missed", size(USELESS));
    }
    let [least, most] = [least, most].map(size);
    let from = if least == most { String::new() } else { format!("{least} to ") };
    format!("; only changes above {from}{most} are likely to be detected")
}

/// A change with its interval: `+5.00 % (+3.43 % to +6.60 %)`, or `from 0`.
pub fn change_text(change: &Change) -> String {
    if change.low == f64::INFINITY {
        return changed(change.estimate);
    }
    let [low, high] = [change.low, change.high].map(percent);
    format!("{} ({low} to {high})", changed(change.estimate))
}

/// The acceptance of a slowdown: `accepted up to 8 % (1a2b3c4: checks more input)`.
pub fn acceptance_text(Acceptance { ceiling, changes }: &Acceptance) -> String {
    let change = |change: &AcceptedChange| {
        format!("{}: {}", escape_untrusted(change.short()), escape_untrusted(&change.reason))
    };
    let changes: Vec<String> = changes.iter().map(change).collect();
    format!("accepted up to {} ({})", exact(*ceiling), changes.join("; "))
}

fn evidence_text(basis: Evidence) -> String {
    match basis {
        Evidence::Confirmed { p, needed } | Evidence::Stored { p, needed } => {
            format!("{} ({})", shown_by(basis), reached(p, needed))
        }
        Evidence::OneStage | Evidence::Counted { .. } => shown_by(basis).to_owned(),
        Evidence::BeyondLimit { ceiling, p, needed } => {
            format!("more than the {} that were accepted ({})", exact(ceiling), reached(p, needed))
        }
    }
}

/// The evidence of a change that fresh builds confirmed.
pub const CONFIRMED: &str = "confirmed by fresh builds";

/// The evidence of a difference, without numbers.
pub const fn shown_by(basis: Evidence) -> &'static str {
    match basis {
        Evidence::Confirmed { .. } => CONFIRMED,
        Evidence::OneStage => "not checked by fresh builds",
        Evidence::Counted { by_chance } if by_chance > 0.0 => {
            "counted, in ranges that do not overlap (by chance in at most 0.22 % of benchmarks)"
        }
        Evidence::Counted { .. } => "counted, the same in every layout",
        Evidence::Stored { .. } => "shown by the results of two experiments",
        Evidence::BeyondLimit { .. } => "more than what was accepted",
    }
}

fn inconclusive_text(cause: InconclusiveReason) -> String {
    match cause {
        InconclusiveReason::NotFlagged => "which is within noise".to_owned(),
        InconclusiveReason::Varies { by_chance: None } => {
            "but the counts of both versions vary so much that their ranges overlap".to_owned()
        }
        InconclusiveReason::Varies { by_chance: Some(chance) } => format!(
            "but the counts vary with layout and initial state, and ranges of these few lie apart by \
             chance in {} of benchmarks: count them again",
            exact(chance)
        ),
        InconclusiveReason::Small { min_effect } => {
            format!("changed, but by less than the min-effect of {}", exact(min_effect))
        }
        InconclusiveReason::MeanChanged { by_mean } => format!(
            "but {} in the mean of all measurements, which more builds may confirm",
            change_text(&by_mean)
        ),
        InconclusiveReason::MeanDisagrees { by_mean } => {
            format!("but {} in the mean of all measurements", change_text(&by_mean))
        }
        InconclusiveReason::Unconfirmed => "not yet checked by fresh builds".to_owned(),
        InconclusiveReason::NeedsFresh { p, needed } => {
            format!("which is too weak without fresh builds ({})", reached(p, needed))
        }
        InconclusiveReason::Contradicted { first } => {
            format!("by fresh builds, which do not show the {} of the first builds", percent(first))
        }
        InconclusiveReason::Weak { first, p, needed } => format!(
            "by fresh builds, which do not confirm the {} of the first builds ({})",
            percent(first),
            reached(p, needed)
        ),
        InconclusiveReason::Shrunk { first, min_effect } => format!(
            "confirmed by fresh builds, but below the min-effect of {}, after {} in the first builds",
            exact(min_effect),
            percent(first)
        ),
    }
}

/// A one-sided p value beside the largest that shows a change.
pub fn reached(p: f64, needed: f64) -> String {
    format!("{}, threshold {}", p_value(p), probability(needed))
}

/// The number of things that only a report with all reasons names: `2 more causes, which the option --reasons shows`.
pub fn by_reasons(number: usize, thing: &str) -> String {
    format!("{}, which the option --reasons shows", count(number, thing))
}

pub fn idle_number(idle: &[IdleAcceptance]) -> Option<String> {
    let verb = if idle.len() == 1 { "changes" } else { "change" };
    let entries = if idle.len() == 1 { "entry" } else { "entries" };
    let number = idle.len();
    let text = format!(
        "{number} {entries} in .rbench/accepted.toml {verb} nothing any more (the option --reasons says why)"
    );
    (number > 0).then_some(text)
}

/// A note that names these entries, each with its reason.
pub fn idle_note(idle: &[IdleAcceptance]) -> Option<String> {
    let names = Names::new(idle.iter().map(|one| &one.benchmark));
    let of = |one: &IdleAcceptance| {
        let name = with_metric(short(&names.name(&one.benchmark)), Some(&one.metric));
        let commit = one.commit.get(..7).unwrap_or(&one.commit);
        format!("{name} of {commit}, {}", why(one.why))
    };
    let shown: Vec<String> = idle.iter().take(MOST_NAMES).map(of).collect();
    let more = idle.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    let (entries, verb) = match idle.len() {
        1 => ("an entry", "changes"),
        _ => ("entries", "change"),
    };
    (!shown.is_empty()).then(|| {
        let shown = shown.join("; ");
        format!("{entries} in .rbench/accepted.toml {verb} nothing any more: {shown}{more}")
    })
}

const fn why(why: Idle) -> &'static str {
    match why {
        Idle::NotInHistory => {
            "which is not in the history of HEAD (if it was rebased or squashed, accept it again)"
        }
        Idle::NoBenchmark => "a benchmark that the head does not have",
        Idle::Recovered => "which is as fast again as before",
    }
}

/// An entry of .rbench/accepted.toml that changes no verdict any more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UnusedAcceptance {
    #[serde(flatten)]
    benchmark: Benchmark,
    metric: String,
    #[schemars(regex(pattern = OBJECT_ID))]
    commit: String,
    why: Idle,
}

impl From<&IdleAcceptance> for UnusedAcceptance {
    fn from(IdleAcceptance { benchmark, metric, commit, why }: &IdleAcceptance) -> Self {
        let (benchmark, metric, commit) = (benchmark.clone(), metric.name.clone(), commit.clone());
        Self { benchmark, metric, commit, why: *why }
    }
}

/// The packages with different versions, if there are any, not yet [escaped](crate::escape): `serde
/// 1.0.1 -> 1.0.2, new: foo 0.3.0`.
pub fn dependencies_note(dependencies: &[DependencyChange]) -> Option<String> {
    let versions = |versions: &[String]| versions.join(" and ");
    let (mut changed, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for DependencyChange { name, base, head } in dependencies {
        match (&base[..], &head[..]) {
            ([], head) => added.push(format!("{name} {}", versions(head))),
            (base, []) => removed.push(format!("{name} {}", versions(base))),
            (base, head) => {
                changed.push(format!("{name} {} -> {}", versions(base), versions(head)));
            }
        }
    }
    let mut room = MOST_PACKAGES;
    let mut parts = Vec::new();
    for (what, mut packages) in [("", changed), ("new: ", added), ("removed: ", removed)] {
        packages.truncate(room);
        room -= packages.len();
        if !packages.is_empty() {
            parts.push(format!("{what}{}", packages.join(", ")));
        }
    }
    let more = and_more(dependencies.len(), MOST_PACKAGES);
    (!parts.is_empty()).then(|| parts.join(", ") + &more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(estimate: f64) -> Change {
        Change { estimate, low: estimate - 0.01, high: estimate + 0.01 }
    }

    fn inconclusive(cause: InconclusiveReason) -> Verdict {
        Verdict::Inconclusive { change: change(0.05), detectable: Some(0.0312), reason: cause }
    }

    #[test]
    fn verdicts_are_sentences_with_their_reasons() {
        let (p, needed, first, min_effect) = (2e-5, 0.04, 0.08, 0.01);
        let reason = || "exited with code 101".to_owned();
        let verdicts = [
            Verdict::Regressed {
                change: change(0.05),
                evidence: Evidence::Confirmed { p, needed },
            },
            Verdict::Improved { change: change(-0.05), evidence: Evidence::OneStage },
            Verdict::Regressed {
                change: change(0.05),
                evidence: Evidence::Stored { p: 0.0, needed: 0.001 },
            },
            Verdict::Unchanged { change: change(0.001), min_effect: 0.02, difference: None },
            Verdict::Unchanged {
                change: change(0.001),
                min_effect: 0.02,
                difference: Some(Evidence::Confirmed { p, needed }),
            },
            inconclusive(InconclusiveReason::NotFlagged),
            inconclusive(InconclusiveReason::Small { min_effect }),
            inconclusive(InconclusiveReason::MeanChanged { by_mean: change(0.2) }),
            inconclusive(InconclusiveReason::Unconfirmed),
            inconclusive(InconclusiveReason::NeedsFresh { p: 0.012, needed: 0.001 }),
            inconclusive(InconclusiveReason::Contradicted { first: -0.08 }),
            inconclusive(InconclusiveReason::Weak { first, p: 0.241, needed }),
            inconclusive(InconclusiveReason::Shrunk { first, min_effect }),
            Verdict::Accepted {
                change: change(0.05),
                evidence: Evidence::Confirmed { p, needed },
                acceptance: Acceptance {
                    ceiling: 0.08,
                    changes: vec![AcceptedChange {
                        commit: "1a2b3c4d".repeat(5),
                        reason: "checks more input".to_owned(),
                    }],
                },
            },
            Verdict::Regressed {
                change: change(0.12),
                evidence: Evidence::BeyondLimit { ceiling: 0.08, p, needed: 0.0025 },
            },
            Verdict::Identical,
            Verdict::Unaffected,
            Verdict::Skipped { reason: "no GPU here".to_owned() },
            Verdict::Failed { reason: reason() },
            Verdict::NotComparable { reason: "another CPU".to_owned() },
        ];
        let sentences: Vec<String> = verdicts.iter().map(verdict).collect();
        insta::assert_snapshot!(sentences.join("\n"));
    }

    #[test]
    fn large_detectable_change_stays_readable() {
        let change = Change { estimate: 0.0634, low: -0.9677, high: 5000.0 };
        let open = Verdict::Inconclusive {
            change,
            detectable: Some(99.0),
            reason: InconclusiveReason::NotFlagged,
        };
        assert_eq!(
            verdict(&open),
            "inconclusive: +6.34 % (-96.77 % to >+100000 %), which is within noise; even a change of \
             25 % could be missed"
        );
    }

    #[test]
    fn unknown_power_is_not_mentioned() {
        let cause = InconclusiveReason::NotFlagged;
        let open = Verdict::Inconclusive { change: change(0.05), detectable: None, reason: cause };
        let text = verdict(&open);
        assert!(text.ends_with(", which is within noise"), "{text}");
    }

    #[test]
    fn reasons_are_escaped() {
        let failed = Verdict::Failed { reason: "a\u{1b}[2J\n  b\u{202e}".to_owned() };
        assert_eq!(verdict(&failed), "failed: a\\u{1b}[2J\n  b\\u{202e}");
    }
}
