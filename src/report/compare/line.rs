//! A comparison in one line, for who compares again and again.

use super::{ComparisonReport, document::brief, name, warning::sentence};
use crate::{
    compare::{UnlistedTarget, Warning},
    model::{FailedTarget, Unit},
    report::{
        escape::escape_untrusted,
        names::short,
        quantity::changed_within,
        sentence::{self, change_of},
    },
    verdict::{DecidedRow, Verdict, VerdictKind},
};

impl ComparisonReport {
    /// The verdicts in one line: those that need attention first, by the row that changed most; and the warnings without
    /// which they would be misread.
    ///
    /// `parse/large slower: +3.10 % (+2.20 .. +4.00); 4 others the same`
    pub fn line(&self) -> String {
        use VerdictKind::{
            Accepted, Failed, Identical, Improved, Inconclusive, NotComparable, Regressed, Skipped,
            Unaffected, Unchanged,
        };
        let targets = self.outcome.failed_targets.iter().map(failed_target);
        let mut parts: Vec<String> = targets.collect();
        for kind in [Regressed, Failed, Accepted, Improved, NotComparable, Inconclusive] {
            parts.extend(self.named(kind));
        }
        let of = |kind| self.with_verdict(kind).count();
        let (unchanged, untouched) = (of(Unchanged), of(Unaffected) + of(Identical));
        let is_all = parts.is_empty() && untouched == self.outcome.rows.len();
        let others = match (parts.is_empty(), unchanged) {
            (true, _) => "",
            (false, 1) => " other",
            (false, _) => " others",
        };
        match unchanged {
            0 => {}
            1 if parts.is_empty() => parts.extend(self.named(Unchanged)),
            some => parts.push(format!("{some}{others} the same")),
        }
        match untouched {
            0 => {}
            1 if is_all => parts.push("same: executes nothing that changed".to_owned()),
            some if is_all => {
                parts.push(format!("same: all {some} execute nothing that changed"));
            }
            1 => parts.push("1 executes nothing that changed".to_owned()),
            some => parts.push(format!("{some} execute nothing that changed")),
        }
        let lists = [
            (of(Skipped), "skipped"),
            (self.outcome.added.len(), "only in the head"),
            (self.outcome.removed.len(), "only in the base"),
        ];
        let there = lists.into_iter().filter(|(number, _)| *number > 0);
        parts.extend(there.map(|(number, what)| format!("{number} {what}")));
        let warnings = self.all_warnings();
        parts.extend(warnings.iter().filter(|one| one.is_urgent()).map(warning));
        parts.join("; ")
    }

    /// The rows with this verdict: the one that changed most, and how many there are.
    fn named(&self, kind: VerdictKind) -> Option<String> {
        let size = |row: &DecidedRow| change_of(&row.verdict).map_or(0.0, |one| one.estimate.abs());
        let number = self.with_verdict(kind).count();
        // The first one of equal ones.
        let most = self
            .with_verdict(kind)
            .reduce(|most, row| if size(row) > size(most) { row } else { most })?;
        let name = short(&name(&self.names(), most));
        let detail = match (&most.verdict, change_of(&most.verdict)) {
            (_, Some(change)) => changed_within(change),
            (Verdict::Failed { reason }, None) => brief(reason),
            (Verdict::NotComparable { reason }, None) => first_line(reason),
            _ => String::new(),
        };
        let what = words(kind, most);
        let most = match kind {
            VerdictKind::Regressed | VerdictKind::Accepted => "the worst",
            VerdictKind::Improved => "the best",
            // An estimate that is not decided is no change.
            _ => "such as",
        };
        Some(match number {
            1 => format!("{name} {what}: {detail}"),
            several => format!("{several} {what}, {most} {name}: {detail}"),
        })
    }
}

/// The verdict in words of a conversation, for a row of this metric.
fn words(kind: VerdictKind, row: &DecidedRow) -> &'static str {
    let is_time = row.metric.as_ref().is_none_or(|metric| metric.unit == Unit::Nanoseconds);
    match kind {
        VerdictKind::Regressed if is_time => "slower",
        VerdictKind::Regressed => "costs more",
        VerdictKind::Improved if is_time => "faster",
        VerdictKind::Improved => "costs less",
        VerdictKind::Accepted if is_time => "slower, as accepted",
        VerdictKind::Accepted => "costs more, as accepted",
        VerdictKind::Inconclusive => "not yet decided",
        VerdictKind::Unchanged => "the same",
        other => other.name(),
    }
}

fn failed_target(one: &UnlistedTarget) -> String {
    let FailedTarget { target, error } = &one.failed;
    let reason = first_line(error.reason());
    format!("{} {}: {reason}", short(&target.to_string()), sentence::failed(one.unlisted_in))
}

fn warning(warning: &Warning) -> String {
    format!("warning: {}", escape_untrusted(&sentence(warning)))
}

fn first_line(text: &str) -> String {
    escape_untrusted(text.lines().next().unwrap_or_default().trim()).into_owned()
}
