//! What a linker tells of a link in its map file: which inputs went where.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The map of a link, as LLD writes it (`-Map=FILE`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkMap {
    /// The sections of the executable, in its order.
    pub sections: Vec<OutputSection>,
}

/// A section of the executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSection {
    /// Its name.
    pub name: String,
    /// The sections of the link's inputs that it consists of, in its order.
    pub inputs: Vec<InputSection>,
}

/// A section of an input of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSection {
    /// The file that it is from, with `(member)` if that is an archive.
    pub origin: String,
    /// Where it went.
    pub span: Span,
}

/// A place in the executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// In bytes from where the executable is loaded.
    pub address: u64,
    /// In bytes.
    pub size: u64,
    /// Its address is a multiple of this, in bytes.
    pub alignment: u64,
}

/// The text is no map of LLD's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMap;

impl fmt::Display for NoMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the linker's map file is not in the format of LLD")
    }
}

impl std::error::Error for NoMap {}

impl LinkMap {
    /// Reads a map. What it says of single symbols is passed over.
    ///
    /// # Errors
    /// [`NoMap`] if the text is something else.
    pub fn parse(text: &str) -> Result<Self, NoMap> {
        let mut lines = text.lines();
        let columns: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
        if columns != ["VMA", "LMA", "Size", "Align", "Out", "In", "Symbol"] {
            return Err(NoMap);
        }
        let mut map = Self::default();
        for line in lines {
            let Some((span, text)) = columns_of(line) else { return Err(NoMap) };
            match text.bytes().take_while(|&byte| byte == b' ').count() {
                0 => {
                    let (name, inputs) = (text.to_owned(), Vec::new());
                    map.sections.push(OutputSection { name, inputs });
                }
                8 => {
                    let section = map.sections.last_mut().ok_or(NoMap)?;
                    // A script's assignment stands here as well, without a section.
                    if let Some((origin, _)) = text.trim_start().rsplit_once(":(") {
                        section.inputs.push(InputSection { origin: origin.to_owned(), span });
                    }
                }
                _ => {}
            }
        }
        Ok(map)
    }

    /// The section of this name.
    pub fn section(&self, name: &str) -> Option<&OutputSection> {
        self.sections.iter().find(|section| section.name == name)
    }
}

/// The four numbers of a line, of which the second is another address, and what stands behind one space.
fn columns_of(line: &str) -> Option<(Span, &str)> {
    let mut rest = line;
    let mut number = |radix| {
        rest = rest.trim_start_matches(' ');
        let (digits, behind) = rest.split_once(' ')?;
        rest = behind;
        u64::from_str_radix(digits, radix).ok()
    };
    let (address, _, size, alignment) = (number(16)?, number(16)?, number(16)?, number(10)?);
    Some((Span { address, size, alignment }, rest))
}

impl Span {
    /// The address right behind it.
    pub const fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "             VMA              LMA     Size Align Out     In      Symbol
             2e0              2e0       1c     1 .interp
             2e0              2e0       1c     1         <internal>:(.interp)
           7a610            7a610   20c087    16 .text
           7a610            7a610       26    16         /lib/x (y)/Scrt1.o:(.text)
           7a610            7a610        0     1                 _start
           7a640            7a640       61    16         /lib/libstd.rlib(std-1.o):(.text.f)
           7a640            7a640       61     1                 core::f(a: b)
               0                0    16728     8 .symtab
";

    #[test]
    fn sections_come_with_the_inputs_that_they_consist_of() {
        let map = LinkMap::parse(MAP).unwrap();
        let names: Vec<&str> = map.sections.iter().map(|section| &*section.name).collect();
        assert_eq!(names, [".interp", ".text", ".symtab"]);
        let text = map.section(".text").unwrap();
        let input = |origin: &str, address, size| InputSection {
            origin: origin.to_owned(),
            span: Span { address, size, alignment: 16 },
        };
        let expected = [
            input("/lib/x (y)/Scrt1.o", 0x7_a610, 0x26),
            input("/lib/libstd.rlib(std-1.o)", 0x7_a640, 0x61),
        ];
        assert_eq!(text.inputs, expected);
    }

    #[test]
    fn other_text_is_no_map() {
        assert_eq!(LinkMap::parse(""), Err(NoMap));
        assert_eq!(LinkMap::parse("Memory Configuration\n\nName Origin"), Err(NoMap));
        assert_eq!(LinkMap::parse(&MAP.replace("1c     1 .interp", "1c .interp")), Err(NoMap));
    }
}
