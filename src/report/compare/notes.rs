//! Sentences about many benchmarks at once.

use super::{ComparisonReport, summary::name};
use crate::{
    code::ChangedFunction,
    judge::JudgedRow,
    report::{
        quantity::{count, percent, size},
        table::shorten,
        verdict::VerdictKind,
        visible::visible,
    },
    stats::{Basis, Doubt, Verdict},
};

/// Up to so many names of a list are shown, each in so many columns at most.
const MOST_NAMES: usize = 8;
const LONGEST_NAME: usize = 60;

/// Up to so many changed functions are named.
const MOST_FUNCTIONS: usize = 3;

impl ComparisonReport {
    /// Why what is inconclusive is so: `chance can explain 3; …`.
    pub(super) fn inconclusive_note(&self) -> Option<String> {
        let names = self.names();
        let (mut by_chance, mut too_small, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for row in self.with_verdict(VerdictKind::Inconclusive) {
            let Verdict::Inconclusive { detectable, doubt, .. } = row.verdict else { continue };
            match doubt {
                Doubt::NotFlagged => by_chance.push((detectable, row)),
                Doubt::Small { .. } | Doubt::Shrunk { .. } => too_small.push(row),
                _ => open.push(row),
            }
        }
        by_chance.sort_by(|one, other| one.0.total_cmp(&other.0));
        let whom = |row| shorten(&visible(&name(&names, row)), LONGEST_NAME);
        let by_chance = match &by_chance[..] {
            [] => None,
            [(detectable, only)] => Some((whom(only), size(*detectable))),
            [(least, first), .., (most, last)] => {
                let [least, most] = [(least, first), (most, last)]
                    .map(|(detectable, row)| format!("{} ({})", size(*detectable), whom(row)));
                Some((by_chance.len().to_string(), format!("{least} to {most}")))
            }
        };
        let by_chance = by_chance.map(|(what, detectable)| {
            format!(
                "chance can explain {what}; a change of {detectable} would be flagged with 80 % power"
            )
        });
        let list = |rows: &[&JudgedRow]| list(rows.iter().map(|row| name(&names, row)));
        let open =
            (!open.is_empty()).then(|| format!("flagged, but not confirmed: {}", list(&open)));
        let too_small = (!too_small.is_empty())
            .then(|| format!("changed, but by less than the min-effect: {}", list(&too_small)));
        let parts: Vec<String> = [by_chance, open, too_small].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// What is unchanged although it changed, by less than is of interest.
    pub(super) fn too_small_note(&self) -> Option<String> {
        let names = self.names();
        let changes = self.rows.iter().filter_map(|row| {
            let Verdict::Unchanged { change, difference, .. } = &row.verdict else { return None };
            let confirmed = match difference.as_ref()? {
                Basis::Confirmed { .. } => ", confirmed",
                Basis::OneStage | Basis::Stored { .. } => "",
            };
            Some(format!("{} ({}{confirmed})", name(&names, row), percent(change.estimate)))
        });
        let changes = list(changes);
        (!changes.is_empty()).then(|| format!("differences below the min-effect: {changes}"))
    }

    /// How many functions differ, if that is known: `2 functions changed, 1 function added, 4309 the same`.
    pub(super) fn functions_note(&self) -> Option<String> {
        if self.functions.is_empty() {
            return None;
        }
        let diffs = || self.functions.iter().map(|(_, diff)| diff);
        let same: usize = diffs().map(|diff| diff.unchanged).sum();
        if self.functions_are_equal() {
            return Some(format!("all {same} functions are the same"));
        }
        let changed: Vec<&ChangedFunction> = diffs().flat_map(|diff| &diff.changed).collect();
        let counts = [
            (changed.len(), "changed"),
            (diffs().map(|diff| diff.added.len()).sum(), "added"),
            (diffs().map(|diff| diff.removed.len()).sum(), "removed"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(number, word)| format!("{} {word}", count(*number, "function")));
        let counts: Vec<String> = counts.collect();
        let mut text = format!("{}, {same} the same", counts.join(", "));
        if changed.len() <= MOST_FUNCTIONS {
            for ChangedFunction { name, base_size, head_size } in changed {
                text += &format!("; {}: {base_size} -> {head_size} bytes", name.as_str());
            }
        }
        Some(text)
    }

    /// Whether it is known that all functions are the same.
    pub(super) fn functions_are_equal(&self) -> bool {
        !self.functions.is_empty() && self.functions.iter().all(|(_, diff)| diff.is_empty())
    }
}

/// The first names of a list, and how many more there are.
pub(super) fn list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let shown = names.iter().take(MOST_NAMES).map(|name| shorten(&visible(name), LONGEST_NAME));
    let shown: Vec<String> = shown.collect();
    let more = names.len() - shown.len();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}
