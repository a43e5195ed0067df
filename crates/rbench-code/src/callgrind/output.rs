//! Reads callgrind's output format, version 1.
//!
//! The file may hold anything: the reader never panics. It keeps only the event `Ir`, the instructions executed, and
//! ignores positions in the source, since functions are compared.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

/// The contents of one callgrind file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// The functions that its parts refer to, by index.
    pub symbols: Vec<Symbol>,
    /// Its parts in order: one for each time that counts were written and reset to zero.
    pub parts: Vec<Part>,
}

/// A function, as callgrind names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    /// The path of the executable or shared library; empty if it is unknown.
    pub object: String,
    pub name: String,
}

/// The counts between two dumps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The self cost of each function in instructions, by its index.
    pub own: BTreeMap<usize, u64>,
    /// The calls that ended in this part, from one function to another, by their indices.
    pub calls: BTreeMap<(usize, usize), Calls>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    pub count: u64,
    /// The instructions between call and return, summed over the calls.
    pub inclusive: u64,
}

impl Part {
    /// The instructions executed in this part.
    pub fn total(&self) -> u64 {
        self.own.values().fold(0, |sum, own| sum.saturating_add(*own))
    }
}

/// The reason why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    NoInstructions,
    /// The line of this number, from 1, is not understood.
    Line(usize),
    /// The sum over the functions of a part (first) differs from its declared total (second).
    Total(u64, u64),
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInstructions => f.write_str("it has no counts of instructions (Ir)"),
            Self::Line(line) => write!(f, "line {line} is invalid"),
            Self::Total(found, declared) => {
                write!(f, "functions executed {found} instructions, but its total is {declared}")
            }
        }
    }
}

/// Reads a file that callgrind wrote, of one part or several.
///
/// # Errors
/// If the file is not in callgrind's format, or does not count instructions.
pub fn parse(bytes: &[u8]) -> Result<Dump, Defect> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        reader.line(line.trim_end()).map_err(|wrong| match wrong {
            Wrong::Line => Defect::Line(index + 1),
            Wrong::Defect(defect) => defect,
        })?;
    }
    reader.finish()
}

enum Wrong {
    Line,
    Defect(Defect),
}

/// The kinds of names, each compressed with separate numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Named {
    Object,
    File,
    Function,
}

/// The state of the reader after the lines so far.
struct Reader {
    dump: Dump,
    indices: HashMap<Symbol, usize>,
    names: HashMap<(Named, u64), String>,
    /// The number of positions at the start of a cost line.
    positions: usize,
    /// The index of instructions among the costs.
    event: Option<usize>,
    object: String,
    function: String,
    called_object: Option<String>,
    called: String,
    /// The number of calls that the next cost line describes.
    calls: Option<u64>,
    in_part: bool,
    /// The total that the part declares, in instructions.
    declared_total: Option<u64>,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            dump: Dump::default(),
            indices: HashMap::new(),
            names: HashMap::new(),
            positions: 1,
            event: None,
            object: String::new(),
            function: String::new(),
            called_object: None,
            called: String::new(),
            calls: None,
            in_part: false,
            declared_total: None,
        }
    }
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), Wrong> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            return self.costs(line);
        }
        let place = line.find(['=', ':']).ok_or(Wrong::Line)?;
        let (key, rest) = (&line[..place], &line[place + 1..]);
        if line.as_bytes()[place] == b':' {
            return self.header(key, rest.trim());
        }
        match key {
            "ob" => self.object = self.name(Named::Object, rest)?,
            "fn" => self.function = self.name(Named::Function, rest)?,
            "cob" => self.called_object = Some(self.name(Named::Object, rest)?),
            "cfn" => self.called = self.name(Named::Function, rest)?,
            "fl" | "fi" | "fe" | "cfi" | "cfl" => drop(self.name(Named::File, rest)?),
            "calls" => {
                let count = rest.split_whitespace().next().and_then(|word| word.parse().ok());
                self.calls = Some(count.ok_or(Wrong::Line)?);
            }
            // These describe jumps within functions.
            "jump" | "jcnd" => {}
            _ => return Err(Wrong::Line),
        }
        Ok(())
    }

    fn header(&mut self, key: &str, rest: &str) -> Result<(), Wrong> {
        match key {
            "version" | "part" => self.end_of_part()?,
            "positions" => self.positions = rest.split_whitespace().count(),
            "events" => {
                self.event = rest.split_whitespace().position(|event| event == "Ir");
                if self.event.is_none() {
                    return Err(Wrong::Defect(Defect::NoInstructions));
                }
                self.end_of_part()?;
                self.in_part = true;
                self.dump.parts.push(Part::default());
            }
            "summary" | "totals" => {
                let event = self.event.ok_or(Wrong::Line)?;
                // Costs at the end of a line that are zero may be left out.
                self.declared_total = Some(match rest.split_whitespace().nth(event) {
                    Some(word) => word.parse().map_err(|_| Wrong::Line)?,
                    None => 0,
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// Resolves a name: `(1) name`, or later `(1)`, or the name alone.
    fn name(&mut self, named: Named, text: &str) -> Result<String, Wrong> {
        let text = text.trim();
        let numbered = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let numbered = numbered.and_then(|(number, name)| Some((number.parse().ok()?, name)));
        let Some((number, name)) = numbered else { return Ok(text.to_owned()) };
        let name = name.trim();
        if name.is_empty() {
            return self.names.get(&(named, number)).cloned().ok_or(Wrong::Line);
        }
        self.names.insert((named, number), name.to_owned());
        Ok(name.to_owned())
    }

    /// Reads a line of positions and costs: of the function itself, or, after `calls=`, of its callee.
    fn costs(&mut self, line: &str) -> Result<(), Wrong> {
        let event = self.event.filter(|_| self.in_part).ok_or(Wrong::Line)?;
        let cost = match line.split_whitespace().nth(self.positions + event) {
            Some(word) => word.parse().map_err(|_| Wrong::Line)?,
            None => 0,
        };
        let caller = self.index(self.object.clone(), self.function.clone());
        let calls = self.calls.take();
        let called_object = self.called_object.take();
        if let Some(count) = calls {
            let object = called_object.unwrap_or_else(|| self.object.clone());
            let called = self.index(object, self.called.clone());
            let part = self.dump.parts.last_mut().ok_or(Wrong::Line)?;
            let calls = part.calls.entry((caller, called)).or_default();
            calls.count = calls.count.saturating_add(count);
            calls.inclusive = calls.inclusive.saturating_add(cost);
        } else {
            let part = self.dump.parts.last_mut().ok_or(Wrong::Line)?;
            let own = part.own.entry(caller).or_default();
            *own = own.saturating_add(cost);
        }
        Ok(())
    }

    fn index(&mut self, object: String, name: String) -> usize {
        let symbols = &mut self.dump.symbols;
        *self.indices.entry(Symbol { object, name }).or_insert_with_key(|symbol| {
            symbols.push(symbol.clone());
            symbols.len() - 1
        })
    }

    /// Checks the part that ends, if one has begun.
    fn end_of_part(&mut self) -> Result<(), Wrong> {
        let found = self.dump.parts.last().map(Part::total).filter(|_| self.in_part);
        if let (Some(found), Some(declared)) = (found, self.declared_total.take())
            && found != declared
        {
            return Err(Wrong::Defect(Defect::Total(found, declared)));
        }
        self.in_part = false;
        Ok(())
    }

    fn finish(mut self) -> Result<Dump, Defect> {
        match self.end_of_part() {
            Err(Wrong::Defect(defect)) => Err(defect),
            _ if self.event.is_none() => Err(Defect::NoInstructions),
            _ => Ok(self.dump),
        }
    }
}

#[cfg(test)]
mod tests;
