//! A table of the errors found after each kind of fault.

use std::collections::BTreeMap;

use crate::kind::Fault;

/// An error after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// It did not end in time.
    Hang,
    /// A process, a file or memory is left.
    Left,
    /// A version without a fault failed, or one with a fault has an unexpected failure or reason
    /// for not being interleaved.
    Error,
    /// Half pairs of executions are stored, or some executions are missing.
    Half,
    /// Results that were stored before are gone or different.
    Lost,
    /// A command gave another answer than without the fault.
    Answer,
}

const COLUMNS: [(Wrong, &str); 6] = [
    (Wrong::Hang, "hangs"),
    (Wrong::Left, "leftovers"),
    (Wrong::Error, "wrong failures"),
    (Wrong::Half, "half pairs"),
    (Wrong::Lost, "lost"),
    (Wrong::Answer, "other answers"),
];

pub type Finding = (Wrong, String);

#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<(String, String), [usize; 1 + COLUMNS.len()]>,
    wrong: usize,
}

impl Tally {
    /// Adds a trial with these faults in base and head.
    pub fn add_pair(&mut self, level: &str, faults: &[Fault; 2], signal: &str, found: &[Finding]) {
        let mut names: Vec<&str> = faults.iter().map(|fault| fault.kind.name).collect();
        names.retain(|name| *name != "none");
        names.sort_unstable();
        if names.len() > 1 {
            names = vec!["in both versions"];
        }
        names.extend((!signal.is_empty()).then_some(signal));
        let shown = faults.map(|fault| format!("{} after {} us", fault.kind.name, fault.after));
        let shown = format!("[{}] {signal}", shown.join(", "));
        self.add(level, names.join(" + "), &shown, found);
    }

    /// Adds a trial with a fault of this name, and prints each finding at once, after `shown`.
    #[expect(clippy::print_stdout, reason = "a program for people prints")]
    pub fn add(&mut self, level: &str, fault: String, shown: &str, found: &[Finding]) {
        let row = self.rows.entry((level.to_owned(), fault)).or_default();
        row[0] += 1;
        for (place, (column, _)) in COLUMNS.iter().enumerate() {
            row[place + 1] += usize::from(found.iter().any(|(wrong, _)| wrong == column));
        }
        for (wrong, what) in found {
            println!("{level} {shown}: {wrong:?}: {what}");
        }
        self.wrong += usize::from(!found.is_empty());
    }

    /// Prints the table; returns true if nothing is wrong.
    #[expect(clippy::print_stdout, reason = "a program for people prints")]
    pub fn print(&self) -> bool {
        print!("{:<16} {:<34} {:>6}", "level", "fault", "count");
        for (_, name) in COLUMNS {
            print!(" {name:>14}");
        }
        println!();
        let mut all = [0; 1 + COLUMNS.len()];
        for ((level, name), row) in &self.rows {
            print_row(level, name, row);
            all.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        }
        print_row("all", "", &all);
        self.wrong == 0
    }
}

#[expect(clippy::print_stdout, reason = "a program for people prints")]
fn print_row(level: &str, name: &str, row: &[usize; 1 + COLUMNS.len()]) {
    let [count, wrong @ ..] = row;
    print!("{level:<16} {name:<34} {count:>6}");
    for count in wrong {
        print!(" {count:>14}");
    }
    println!();
}
