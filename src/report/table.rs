//! Lays out tables for people: aligned, with styled heads, and never wider than the terminal if
//! that is possible.
//!
//! A table that is too wide first leaves out its optional columns, then the common prefix of all
//! names, then its least useful columns if names would otherwise look alike, then shortens names in
//! the middle. It never wraps, and control characters in its cells are escaped.

use std::{borrow::Cow, collections::HashSet};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{
    escape::escape_untrusted,
    style::{self, Kind, Role},
};

/// The space between two columns.
const GAP: usize = 2;

/// The width that a shortened column keeps before other columns are left out for it; names keep the
/// width that distinguishes them.
const COMFORTABLE: usize = 16;

/// The minimum width of a name.
const LEAST: usize = 8;

#[derive(Clone, Debug)]
pub struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug)]
pub struct Column {
    pub(super) head: Cow<'static, str>,
    pub(super) right: bool,
    cut: Cut,
    dropped: Option<Rank>,
    joined: bool,
}

/// The order in which columns are left out: the lowest rank first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Left out before any name is shortened.
    Optional(u8),
    /// Left out before names are shortened so much that they look alike.
    Dropped(u8),
}

/// The part of a column's cells that may be cut out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Nothing,
    Middle,
    /// The middle, but two cells must not look alike.
    Names,
}

#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Escaped.
    pub(super) text: String,
    pub(super) role: Role,
    pub(super) kind: Kind,
    /// The file that a page links it to, relative to that page.
    pub(super) link: Option<String>,
}

impl Column {
    pub fn left(head: impl Into<Cow<'static, str>>) -> Self {
        let head = head.into();
        Self { head, right: false, cut: Cut::Nothing, dropped: None, joined: false }
    }

    pub fn right(head: impl Into<Cow<'static, str>>) -> Self {
        Self { right: true, ..Self::left(head) }
    }

    /// Lets its cells be shortened in the middle.
    #[must_use]
    pub fn shortened(self) -> Self {
        Self { cut: Cut::Middle, ..self }
    }

    /// Marks its cells as names, which may be shortened in the middle; but other columns are left
    /// out before two of them look alike.
    #[must_use]
    pub fn names(self) -> Self {
        Self { cut: Cut::Names, ..self }
    }

    /// Leaves it out before any name is shortened: the lowest rank first, columns of one rank
    /// together.
    #[must_use]
    pub fn optional(self, rank: u8) -> Self {
        Self { dropped: Some(Rank::Optional(rank)), ..self }
    }

    /// Leaves it out if the table is still too wide with names shortened to the width that
    /// distinguishes them: the lowest rank first, columns of one rank together.
    #[must_use]
    pub fn dropped(self, rank: u8) -> Self {
        Self { dropped: Some(Rank::Dropped(rank)), ..self }
    }

    /// Joins it to the column before: it follows after one space.
    #[must_use]
    pub fn joined(self) -> Self {
        Self { joined: true, ..self }
    }

    const fn gap(&self) -> usize {
        if self.joined { 1 } else { GAP }
    }
}

impl Cell {
    pub fn styled(role: Role, text: impl AsRef<str>) -> Self {
        let text = escape_untrusted(text.as_ref()).into_owned();
        Self { text, role, kind: Kind::Words, link: None }
    }

    /// A cell with a name: of a benchmark, a function, a version.
    pub fn name(name: impl AsRef<str>) -> Self {
        Self { kind: Kind::Name, ..Self::from(name) }
    }

    #[must_use]
    pub fn linked(self, file: impl Into<String>) -> Self {
        Self { link: Some(file.into()), ..self }
    }

    pub const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(Role::Plain, text)
    }
}

impl Table {
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row, with a cell for each column; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize_with(self.columns.len(), Cell::default);
        self.rows.push(cells);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The indices of the columns that a page shows: all that are not empty, without the least
    /// useful one. A joined column stands in the cells of the other.
    pub fn shown(&self) -> Vec<usize> {
        let is_shown = |at: &usize| {
            let column = &self.columns[*at];
            let is_least = column.dropped == Some(Rank::Optional(0));
            !column.joined && !is_least && self.has_content(*at)
        };
        (0..self.columns.len()).filter(is_shown).collect()
    }

    pub fn joined_to(&self, at: usize) -> impl Iterator<Item = usize> {
        let joined = self.columns.iter().skip(at + 1).take_while(|column| column.joined).count();
        at + 1..=at + joined
    }

    fn has_content(&self, at: usize) -> bool {
        self.rows.iter().any(|row| !row[at].is_empty())
    }

    /// The table for a terminal of this width: lines, each with its line end.
    pub fn fit(&self, width: usize) -> String {
        let natural: Vec<usize> = (0..self.columns.len()).map(|at| self.full_width(at)).collect();
        let kept = self.kept(&natural, width);
        let excess = self.total(&kept, |at| natural[at]).saturating_sub(width);
        let is_dropped = |(at, column): (usize, &Column)| {
            matches!(column.dropped, Some(Rank::Dropped(_)))
                && !kept.contains(&at)
                && self.has_content(at)
        };
        if (excess > 0 || self.columns.iter().enumerate().any(is_dropped))
            && let Some((prefix, shorter)) = self.without_common_prefix()
        {
            let note = format!("all names begin with {prefix}");
            return format!("{}\n{}", style::paint(Role::Quiet, &note), shorter.fit(width));
        }
        let widths = self.shortened(&kept, &natural, excess);
        let heads = self.columns.iter().map(|column| Cell::styled(Role::Head, &column.head));
        let mut text = self.line(&kept, &widths, &heads.collect::<Vec<_>>());
        for row in &self.rows {
            text += &self.line(&kept, &widths, row);
        }
        text
    }

    /// The common prefix of all names, up to a separator, and the table without it; `None` if it is
    /// short, or there is only one name.
    fn without_common_prefix(&self) -> Option<(String, Self)> {
        const LITTLE: usize = 4;
        let at = self.columns.iter().position(|column| column.cut == Cut::Names)?;
        let mut names = self.rows.iter().map(|row| row[at].text.as_str());
        let first = names.next()?;
        let shared = names.clone().fold(first.len(), |shared, name| {
            let same = first.bytes().zip(name.bytes()).take(shared);
            same.take_while(|(one, other)| one == other).count()
        });
        let bytes = first.as_bytes().get(..shared)?;
        let end = bytes.iter().rposition(|byte| matches!(byte, b'/' | b':'))? + 1;
        let prefix = first.get(..end).filter(|prefix| prefix.width() >= LITTLE)?.to_owned();
        // A command line is cut nowhere: its paths do not divide it.
        if prefix.contains(' ') {
            return None;
        }
        // Requires more than one name, and a rest of each.
        names.next()?;
        if self.rows.iter().any(|row| row[at].text.len() == end) {
            return None;
        }
        let mut shorter = self.clone();
        for row in &mut shorter.rows {
            row[at].text = row[at].text.split_off(end);
        }
        Some((prefix, shorter))
    }

    /// The width of a column without any shortening.
    fn full_width(&self, at: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[at].text.width());
        cells.fold(self.columns[at].head.width(), usize::max)
    }

    /// The columns that fit: all that are not empty, without the least useful ones.
    fn kept(&self, natural: &[usize], width: usize) -> Vec<usize> {
        let says = |at: &usize| self.rows.is_empty() || self.has_content(*at);
        let mut kept: Vec<usize> = (0..self.columns.len()).filter(says).collect();
        let modest: Vec<usize> =
            natural.iter().enumerate().map(|(at, natural)| self.modest(at, *natural)).collect();
        let drop_lowest = |kept: &mut Vec<usize>, is_meant: fn(&Rank) -> bool| {
            let rank = |at: usize| self.columns[at].dropped.filter(is_meant);
            let lowest = kept.iter().filter_map(|&at| rank(at)).min();
            kept.retain(|&at| lowest.is_none() || rank(at) != lowest);
            lowest.is_some()
        };
        // While no name is shortened.
        let is_name = |at: usize| self.columns[at].cut == Cut::Names;
        let unshortened = |at| if is_name(at) { natural[at] } else { modest[at] };
        while self.total(&kept, unshortened) > width
            && drop_lowest(&mut kept, |rank| matches!(rank, Rank::Optional(_)))
        {}
        while self.total(&kept, |at| modest[at]) > width && drop_lowest(&mut kept, |_| true) {}
        kept
    }

    /// The width at which a column is still readable.
    fn modest(&self, at: usize, natural: usize) -> usize {
        match self.columns[at].cut {
            Cut::Nothing => return natural,
            Cut::Middle => return natural.min(COMFORTABLE),
            Cut::Names => {}
        }
        let names: HashSet<&str> = self.rows.iter().map(|row| row[at].text.as_str()).collect();
        let distinguishes = |width: &usize| {
            let short: HashSet<String> = names.iter().map(|name| shorten(name, *width)).collect();
            short.len() == names.len()
        };
        (COMFORTABLE..natural).find(distinguishes).unwrap_or(natural)
    }

    fn total(&self, kept: &[usize], width: impl Fn(usize) -> usize) -> usize {
        let gaps: usize = kept.iter().skip(1).map(|&at| self.columns[at].gap()).sum();
        gaps + kept.iter().map(|&at| width(at)).sum::<usize>()
    }

    /// The widths of the kept columns, with names shortened to make up for `excess`.
    fn shortened(&self, kept: &[usize], natural: &[usize], excess: usize) -> Vec<usize> {
        let mut widths = natural.to_vec();
        let mut excess = excess;
        for &at in kept.iter().filter(|&&at| self.columns[at].cut != Cut::Nothing) {
            let less = excess.min(widths[at].saturating_sub(LEAST));
            widths[at] -= less;
            excess -= less;
        }
        widths
    }

    fn line(&self, kept: &[usize], widths: &[usize], cells: &[Cell]) -> String {
        let mut line = String::new();
        // Writes spaces only before text, so that no line ends with them.
        let mut spaces = 0;
        for (place, &at) in kept.iter().enumerate() {
            let (column, cell) = (&self.columns[at], &cells[at]);
            if place > 0 {
                spaces += column.gap();
            }
            let text = shorten(&cell.text, widths[at]);
            let fill = widths[at].saturating_sub(text.width());
            let (before, after) = if column.right { (fill, 0) } else { (0, fill) };
            spaces += before;
            if !text.is_empty() {
                line += &" ".repeat(std::mem::take(&mut spaces));
                line += &style::paint(cell.role, &text);
            }
            spaces += after;
        }
        line + "\n"
    }
}

/// `text` in at most `width` columns, shortened in the middle.
///
/// The end gets a little more room than the beginning, because it distinguishes the benchmarks of
/// one group.
pub fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let (head, tail) = (room / 2, room - room / 2);
    let beginning: String = fitting(text.chars(), head).into_iter().collect();
    let end: String = fitting(text.chars().rev(), tail).into_iter().rev().collect();
    format!("{beginning}…{end}")
}

/// The first characters that fit into `width` columns.
fn fitting(characters: impl Iterator<Item = char>, width: usize) -> Vec<char> {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += character.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

#[cfg(test)]
mod tests;
