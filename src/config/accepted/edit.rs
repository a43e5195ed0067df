//! Writes `.rbench/accepted.toml`. Entries are sorted, so that branches rarely conflict, and the user's comments are
//! kept.

use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use toml_edit::{ArrayOfTables, DocumentMut, Item, RawString, Table, value};

use super::{AcceptedEntry, AcceptedToml, FROM_NOTHING, NO_CEILING};
use crate::error::{Context, Exit, Result};

const HEAD: &str = "\
# Benchmarks that became slower on purpose. `cargo rbench accept` adds entries, and `compare` lets each pass
# up to its ceiling where its commit is among those that are compared. Remove what no longer matters.

";

/// The `.gitignore` of the file's directory: this file belongs in the repository, stored results do not.
const IGNORED: &str = "*\n!.gitignore\n!accepted.toml\n";

/// The `.gitignore` that a new store creates in the same directory.
const ALL_IGNORED: &str = "*\n";

impl AcceptedToml {
    /// Returns the file with this entry added. It replaces an entry of the same benchmark, metric and commit.
    pub fn with(&self, entry: &AcceptedEntry) -> Result<Self> {
        let broken = || format!("cannot change {}", self.path.display());
        let mut document: DocumentMut = self.text.parse().context(Exit::Internal, broken)?;
        let old = match document.remove("accepted") {
            Some(Item::ArrayOfTables(tables)) => tables.into_iter().collect(),
            Some(Item::Value(list)) => inline_tables(&list),
            _ => Vec::new(),
        };
        let mut tables: Vec<([String; 5], Table)> = Vec::new();
        let mut head = if old.is_empty() { HEAD.to_owned() } else { String::new() };
        for (index, (mut table, known)) in old.into_iter().zip(&self.entries).enumerate() {
            if index == 0 {
                head = take_head(&mut table);
            }
            tables.push((owned_key(known), table));
        }
        let key = owned_key(entry);
        let known = tables.iter_mut().find(|(other, _)| *other == key);
        if let Some((_, table)) = known {
            fill(table, entry);
        } else {
            let mut table = Table::new();
            fill(&mut table, entry);
            tables.push((key, table));
        }
        tables.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut sorted = ArrayOfTables::new();
        for (index, (_, mut table)) in tables.into_iter().enumerate() {
            // Tables are printed in the order of this list; with a position, toml_edit would keep the old order.
            table.set_position(None);
            let own = prefix(&table);
            let own = own.trim_start_matches('\n');
            let before = if index == 0 { head.as_str() } else { "\n" };
            table.decor_mut().set_prefix(format!("{before}{own}"));
            sorted.push(table);
        }
        document.insert("accepted", Item::ArrayOfTables(sorted));
        Self::parse(document.to_string(), self.path.clone())
    }

    /// Writes the file atomically, and makes git see it in a directory whose other files are ignored.
    ///
    /// A `.gitignore` that the user changed stays as it is.
    pub fn write(&self) -> Result<()> {
        let what = || format!("cannot write {}", self.path.display());
        let write = || -> io::Result<()> {
            let directory = self.path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(directory)?;
            let ignore = directory.join(".gitignore");
            let is_own = match fs::read_to_string(&ignore) {
                Ok(text) => text == ALL_IGNORED,
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            if is_own {
                write_whole(&ignore, IGNORED)?;
            }
            write_whole(&self.path, &self.text)
        };
        write().context(Exit::Usage, what)
    }
}

/// Writes a file atomically. Its mode is 0666 minus the umask, as for files that git writes: temporary files are 0600.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.permissions(Permissions::from_mode(0o666));
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// The tables of `accepted = [{ … }]`, which somebody may have written by hand.
fn inline_tables(list: &toml_edit::Value) -> Vec<Table> {
    let tables = list.as_array().into_iter().flatten();
    tables.filter_map(|one| Some(one.as_inline_table()?.clone().into_table())).collect()
}

fn owned_key(entry: &AcceptedEntry) -> [String; 5] {
    entry.key().map(str::to_owned)
}

fn prefix(table: &Table) -> String {
    let prefix = table.decor().prefix().and_then(RawString::as_str);
    prefix.unwrap_or_default().to_owned()
}

/// Takes the comment at the top of the file, up to the last empty line before the first entry. It belongs to the
/// file, so it must not move with the entry.
fn take_head(first: &mut Table) -> String {
    let before = prefix(first);
    let end = before.rfind("\n\n").map_or(0, |end| end + 2);
    let (head, own) = before.split_at(end);
    first.decor_mut().set_prefix(own);
    head.to_owned()
}

/// Writes all keys of an entry; comments beside existing keys are kept.
fn fill(table: &mut Table, entry: &AcceptedEntry) {
    let AcceptedEntry { package, bench, benchmark, metric, commit, base, change, ceiling, reason } =
        entry;
    let [change, ceiling] = [(change, FROM_NOTHING), (ceiling, NO_CEILING)]
        .map(|(share, infinite)| percent(*share, infinite));
    for (key, text) in [
        ("package", package),
        ("bench", bench),
        ("benchmark", benchmark),
        ("metric", &metric.name),
        ("commit", commit),
        ("base", base),
        ("change", &change),
        ("ceiling", &ceiling),
        ("reason", reason),
    ] {
        let mut new = value(text.as_str());
        if let (Some(old), Some(new)) =
            (table.get(key).and_then(Item::as_value), new.as_value_mut())
        {
            *new.decor_mut() = old.decor().clone();
        }
        table.insert(key, new);
    }
}

/// Formats a share with up to two decimals, such as `5%` or `6.25%`; `infinite` if it is infinite.
fn percent(share: f64, infinite: &str) -> String {
    if share.is_infinite() {
        return infinite.to_owned();
    }
    let text = format!("{:.2}", 100.0 * share);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}
