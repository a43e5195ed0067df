//! The tables of Haveraaen & Hundvebakke 2001, for the user's own benchmark.

use super::{Conditions, line::Line};
use crate::{
    diagnosis::{Candidate, Candidates, Precision},
    report::{
        quantity::{count, size},
        style,
        table::{Cell, Column, Table},
    },
};

/// The maximum number of columns, one for each number of measurements.
const MOST: usize = 7;

/// The relative standard deviation of each estimator, between executions of one build.
pub(super) fn estimators(found: &Candidates, conditions: &Conditions, columns: usize) -> Vec<Line> {
    let beside = match conditions.load {
        0 => String::new(),
        load => format!(
            " beside {}",
            count(load as usize, "busy process").replace("processs", "processes")
        ),
    };
    let others = conditions
        .others
        .map_or(String::new(), |share| format!("; others used {} of the CPU time", size(share)));
    let chosen = chosen(&found.counts);
    let mut table = Table::new(
        std::iter::once(Column::left("estimator"))
            .chain(chosen.iter().map(|at| Column::right(format!("k = {}", found.counts[*at])))),
    );
    for (candidate, precisions) in &found.table {
        let cells = chosen.iter().map(|at| precisions.get(*at).map_or_else(Cell::default, cell));
        table.row(std::iter::once(Cell::from(candidate.name())).chain(cells));
    }
    let mut lines = vec![Line::Prose(format!(
        "relative standard deviation between executions of one build, by the first k measurements{beside}{others}"
    ))];
    let text = style::plain(&table.fit(columns));
    lines.push(Line::Block(text.trim_end().to_owned()));
    if let Some(best) = best(found) {
        lines.push(Line::Prose(best));
    }
    lines
}

/// The estimator with the least variance, if that is certain enough.
fn best(found: &Candidates) -> Option<String> {
    let last = |precisions: &Vec<Precision>| precisions.last().copied();
    let all: Vec<(Candidate, Precision)> = found
        .table
        .iter()
        .filter_map(|(candidate, precisions)| Some((*candidate, last(precisions)?)))
        .collect();
    let least = |one: &&(Candidate, Precision), other: &&(Candidate, Precision)| {
        one.1.relative_sd.center.total_cmp(&other.1.relative_sd.center)
    };
    let (best, precision) = all.iter().min_by(least)?;
    let alike = |one: &&(Candidate, Precision)| {
        one.0 != *best && one.1.relative_sd.low <= precision.relative_sd.high
    };
    let alike: Vec<&str> = all.iter().filter(alike).map(|one| one.0.name()).collect();
    let sd = &precision.relative_sd;
    let mut text = format!(
        "the {} varies least: {} ({} .. {})",
        best.name(),
        size(sd.center),
        size(sd.low),
        size(sd.high)
    );
    if !alike.is_empty() {
        text += &format!("; not told from it: {}", alike.join(", "));
    }
    Some(text)
}

fn cell(precision: &Precision) -> Cell {
    Cell::from(size(precision.relative_sd.center))
}

/// The indices of the first, the last, and some counts between them.
pub(super) fn chosen(counts: &[usize]) -> Vec<usize> {
    let Some(last) = counts.len().checked_sub(1) else { return Vec::new() };
    if counts.len() <= MOST {
        return (0..counts.len()).collect();
    }
    (0..MOST).map(|index| (index * last + (MOST - 1) / 2) / (MOST - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_counts_fit_the_columns() {
        assert_eq!(chosen(&[]), [0; 0]);
        assert_eq!(chosen(&[1, 3]), [0, 1]);
        let many: Vec<usize> = (1..20).collect();
        let shown = chosen(&many);
        assert_eq!((shown.len(), shown[0], shown[MOST - 1]), (MOST, 0, 18));
        assert!(shown.is_sorted());
    }
}
