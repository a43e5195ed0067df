//! Parses a relocatable object into sections, symbols and relocations, which show the bytes that the linker fills in
//! and the targets of their addresses.

use std::sync::OnceLock;

use object::{
    elf::{
        EM_AARCH64, EM_X86_64, Machine, R_AARCH64_ABS16, R_AARCH64_ABS32, R_AARCH64_ABS64,
        R_AARCH64_CALL26, R_AARCH64_JUMP26, R_AARCH64_NONE, R_AARCH64_PREL16, R_AARCH64_PREL32,
        R_AARCH64_PREL64, R_X86_64_8, R_X86_64_16, R_X86_64_64, R_X86_64_DTPMOD64,
        R_X86_64_DTPOFF64, R_X86_64_GOT64, R_X86_64_GOTOFF64, R_X86_64_GOTPC64,
        R_X86_64_GOTPCREL64, R_X86_64_NONE, R_X86_64_PC8, R_X86_64_PC16, R_X86_64_PC32,
        R_X86_64_PC64, R_X86_64_PLT32, R_X86_64_PLTOFF64, R_X86_64_SIZE64, R_X86_64_TLSDESC_CALL,
        R_X86_64_TPOFF64, RelocationType, SHF_ALLOC, SHF_EXECINSTR, SHF_MERGE, SHF_STRINGS,
        SHF_WRITE, SHT_CREL, SHT_NOBITS, SHT_REL, STT_FILE, STT_FUNC, STT_GNU_IFUNC, STT_SECTION,
    },
    read::{
        SectionIndex,
        elf::{Rela, SectionHeader, Sym},
    },
};

use super::{
    format::{Elf, LE, Unreadable, relocatable},
    instruction::{Branch, branches, immediate_behind},
};

pub(super) struct Relocatable<'data> {
    elf: Elf<'data>,
    pub(super) machine: Machine,
    pub(super) sections: Vec<Section<'data>>,
    pub(super) symbols: Vec<Symbol<'data>>,
    /// For each section, the sorted offsets at which something other than a symbol starts.
    anchors: OnceLock<Vec<Vec<u64>>>,
}

pub(super) struct Section<'data> {
    pub(super) name: &'data [u8],
    /// Its bytes; empty if the file has none (`.bss`).
    pub(super) bytes: &'data [u8],
    pub(super) size: u64,
    /// The alignment that it requires, in bytes.
    pub(super) alignment: u64,
    pub(super) code: bool,
    pub(super) loaded: bool,
    /// True if its flags allow the program to write to it.
    pub(super) writable: bool,
    pub(super) merging: Merging,
    /// The symbols defined in it, in the order of their offsets.
    pub(super) symbols: Vec<usize>,
    relocations: OnceLock<Vec<Relocation>>,
}

/// The units of a section that the linker may merge if they are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merging {
    None,
    /// Pieces of this many bytes.
    Blocks(u64),
    /// Strings that end with this many zero bytes.
    Strings(u64),
}

pub(super) struct Symbol<'data> {
    pub(super) name: &'data [u8],
    pub(super) kind: Kind,
    pub(super) local: bool,
    pub(super) weak: bool,
    /// The section that it is defined in, if this object defines it.
    pub(super) section: Option<usize>,
    pub(super) value: u64,
    pub(super) size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Function,
    Section,
    /// Data, labels, and symbols that are defined elsewhere.
    Other,
}

impl<'data> Relocatable<'data> {
    pub(super) fn parse(bytes: &'data [u8]) -> Result<Self, Unreadable> {
        let elf = relocatable(bytes)?;
        check_relocations(&elf)?;
        let mut sections = sections_of(&elf)?;
        let symbols = symbols_of(&elf, sections.len())?;
        if symbols.iter().any(|symbol| symbol.name == b"__gnu_lto_slim") {
            return Err(Unreadable::Bitcode);
        }
        for (index, symbol) in symbols.iter().enumerate() {
            let marks = symbol.kind != Kind::Section && !is_mapping(symbol.name);
            if let Some(section) = symbol.section.filter(|_| marks) {
                sections[section].symbols.push(index);
            }
        }
        for section in &mut sections {
            section.symbols.sort_by_key(|&index| symbols[index].value);
        }
        let machine = elf.elf_header().e_machine.get(LE);
        Ok(Self { elf, machine, sections, symbols, anchors: OnceLock::new() })
    }

    /// The relocations of a section in the order of offsets, including those that an assembler has resolved because
    /// caller and callee share the section.
    pub(super) fn relocations(&self, section: usize) -> &[Relocation] {
        self.sections[section].relocations.get_or_init(|| {
            let mut relocations = relocations_of(&self.elf, self.machine, section);
            let resolved = self.resolved_branches(section, &relocations);
            if !resolved.is_empty() {
                relocations.extend(resolved);
                relocations.sort_by_key(|relocation| relocation.offset);
            }
            relocations
        })
    }

    /// The branches from one function of a section to the start of another that have no relocation.
    fn resolved_branches(&self, section: usize, relocations: &[Relocation]) -> Vec<Relocation> {
        let Section { bytes, code, symbols, .. } = &self.sections[section];
        let is_function = |&&index: &&usize| self.symbols[index].kind == Kind::Function;
        if !code || symbols.iter().filter(is_function).count() < 2 {
            return Vec::new();
        }
        let is_free = |field: u64| {
            let at = relocations.partition_point(|relocation| relocation.offset < field);
            relocations.get(at).is_none_or(|relocation| relocation.offset >= field + 4)
        };
        let to_other_function = |branch: Branch| {
            let target = self.symbol_at(section, branch.target)?;
            let starts = self.symbols[target].value == branch.target
                && self.symbols[target].kind == Kind::Function;
            let from = self.symbol_at(section, branch.field);
            (starts && from != Some(target) && is_free(branch.field))
                .then(|| Relocation::branch(branch, target))
        };
        branches(self.machine, bytes).into_iter().filter_map(to_other_function).collect()
    }

    /// The relocations that fill in bytes `start..end` of a section.
    pub(super) fn relocations_in(&self, section: usize, start: u64, end: u64) -> &[Relocation] {
        let all = self.relocations(section);
        let first = all.partition_point(|relocation| relocation.offset < start);
        let last = all.partition_point(|relocation| relocation.offset < end);
        all.get(first..last).unwrap_or_default()
    }

    /// The distance in bytes from a relocated field in code of `section` to the address that its value is relative to.
    pub(super) fn reach(&self, section: usize, relocation: &Relocation) -> i64 {
        let Section { code: true, .. } = self.sections[section] else { return 0 };
        if self.machine != EM_X86_64 || !relocation.relative {
            return 0;
        }
        let before = relocation.offset.saturating_sub(8);
        4 + immediate_behind(self.sections[section].slice(before, relocation.offset))
    }

    /// The symbol that contains `offset` in `section`: the last one that starts there or before and does not end
    /// before. In code every byte belongs to the symbol before it.
    pub(super) fn symbol_at(&self, section: usize, offset: u64) -> Option<usize> {
        let Section { symbols, code, .. } = &self.sections[section];
        let behind = symbols.partition_point(|&index| self.symbols[index].value <= offset);
        let index = *symbols.get(behind.checked_sub(1)?)?;
        // Of several symbols at one offset the first is used, since the order of the table is stable.
        let value = self.symbols[index].value;
        let first = symbols.partition_point(|&index| self.symbols[index].value < value);
        let here = &symbols[first..behind];
        let holds = |&&index: &&usize| {
            let symbol = &self.symbols[index];
            *code || offset - symbol.value < symbol.size
        };
        let named = |&&index: &&usize| *code && self.symbols[index].kind == Kind::Function;
        here.iter().find(named).or_else(|| here.iter().find(holds)).copied()
    }

    /// The piece of a section that contains `offset`, as `start..end`: a unit that the linker may merge, or the bytes
    /// between two offsets that something refers to.
    pub(super) fn piece_at(&self, section: usize, offset: u64) -> (u64, u64) {
        let Section { bytes, size, merging, .. } = &self.sections[section];
        match *merging {
            Merging::Blocks(width) => {
                let start = offset / width * width;
                (start, start.saturating_add(width).min(*size))
            }
            Merging::Strings(width) => string_at(bytes, width, offset),
            Merging::None => {
                let anchors = &self.anchors()[section];
                let behind = anchors.partition_point(|&anchor| anchor <= offset);
                let start = behind.checked_sub(1).map_or(0, |before| anchors[before]);
                (start, anchors.get(behind).copied().unwrap_or(*size))
            }
        }
    }

    /// Finds the starts of items without a symbol: the offsets that relocations refer to by section and offset.
    fn anchors(&self) -> &[Vec<u64>] {
        self.anchors.get_or_init(|| {
            let mut anchors: Vec<Vec<u64>> = self
                .sections
                .iter()
                .map(|section| {
                    section.symbols.iter().map(|&index| self.symbols[index].value).collect()
                })
                .collect();
            for (index, from) in self.sections.iter().enumerate().filter(|(_, from)| from.loaded) {
                for relocation in self.relocations(index) {
                    if relocation.relative && !from.code {
                        continue;
                    }
                    let reach = self.reach(index, relocation);
                    if let Some((section, offset)) = self.place(relocation, reach) {
                        anchors[section].push(offset);
                    }
                }
            }
            for anchors in &mut anchors {
                anchors.sort_unstable();
                anchors.dedup();
            }
            anchors
        })
    }

    /// The section and offset that a relocation refers to, if it refers to a section.
    fn place(&self, relocation: &Relocation, reach: i64) -> Option<(usize, u64)> {
        let symbol = self.symbols.get(relocation.symbol)?;
        let section = symbol.section.filter(|_| symbol.kind == Kind::Section)?;
        let offset = symbol.value.checked_add_signed(relocation.addend.checked_add(reach)?)?;
        (offset < self.sections[section].size).then_some((section, offset))
    }
}

impl<'data> Section<'data> {
    /// The alignment in bytes that its contents require. Compilers put all numbers and short texts of one size into one
    /// section, whose alignment is that of the strictest, so that of the others is unknown.
    pub(super) fn required(&self) -> u64 {
        match self.merging {
            Merging::Blocks(width @ ..16) => self.alignment.max(width),
            _ => self.alignment.max(1),
        }
    }

    /// The bytes `start..end`, cut off at the end of the section.
    pub(super) fn slice(&self, start: u64, end: u64) -> &'data [u8] {
        let index =
            |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        self.bytes.get(index(start)..index(end)).unwrap_or_default()
    }
}

/// True for the symbols that mark where code and data begin on aarch64.
fn is_mapping(name: &[u8]) -> bool {
    matches!(name, [b'$', b'a' | b'd' | b't' | b'x'] | [b'$', b'a' | b'd' | b't' | b'x', b'.', ..])
}

/// The zero-terminated string that contains `offset`, as `start..end`.
fn string_at(bytes: &[u8], width: u64, offset: u64) -> (u64, u64) {
    let (Ok(step), Ok(at)) = (usize::try_from(width), usize::try_from(offset)) else {
        return (offset, offset);
    };
    let element = at / step;
    let is_end = |unit: &[u8]| unit.iter().all(|&byte| byte == 0);
    let before = bytes.get(..element * step).unwrap_or_default();
    let start = before.rchunks(step).take_while(|unit| !is_end(unit)).count();
    let after = bytes.get(element * step..).unwrap_or_default();
    let end = after.chunks(step).position(is_end).map_or(after.len(), |last| (last + 1) * step);
    (((element - start) * step) as u64, (element * step + end) as u64)
}

fn sections_of<'data>(elf: &Elf<'data>) -> Result<Vec<Section<'data>>, Unreadable> {
    let section = |header: &'data object::elf::SectionHeader64<object::LittleEndian>| {
        let flags = header.sh_flags(LE);
        let loaded = flags.contains(SHF_ALLOC);
        let nobits = header.sh_type(LE) == SHT_NOBITS;
        let bytes = if nobits || !loaded { &[] } else { header.data(LE, elf.data())? };
        let width = header.sh_entsize(LE).max(1);
        let merging = match (flags.contains(SHF_MERGE), flags.contains(SHF_STRINGS)) {
            (true, true) => Merging::Strings(width),
            (true, false) => Merging::Blocks(width),
            (false, _) => Merging::None,
        };
        Ok(Section {
            name: elf.elf_section_table().section_name(LE, header).unwrap_or_default(),
            bytes,
            size: if nobits { header.sh_size(LE) } else { bytes.len() as u64 },
            alignment: header.sh_addralign(LE),
            code: loaded && flags.contains(SHF_EXECINSTR),
            loaded,
            writable: flags.contains(SHF_WRITE),
            merging,
            symbols: Vec::new(),
            relocations: OnceLock::new(),
        })
    };
    elf.elf_section_table().iter().map(section).collect()
}

fn symbols_of<'data>(elf: &Elf<'data>, sections: usize) -> Result<Vec<Symbol<'data>>, Unreadable> {
    let table = elf.elf_symbol_table();
    let mut symbols = Vec::with_capacity(table.len());
    for (index, symbol) in table.enumerate() {
        let kind = match symbol.st_type() {
            STT_FUNC | STT_GNU_IFUNC => Kind::Function,
            STT_SECTION => Kind::Section,
            _ => Kind::Other,
        };
        let section = if symbol.st_type() == STT_FILE {
            None
        } else {
            table.symbol_section(LE, symbol, index)?.map(|section| section.0)
        };
        symbols.push(Symbol {
            name: table.symbol_name(LE, symbol)?,
            kind,
            local: symbol.is_local(),
            weak: symbol.is_weak(),
            section: section.filter(|&section| section < sections),
            value: symbol.st_value(LE),
            size: symbol.st_size(LE),
        });
    }
    Ok(symbols)
}

/// A field that the linker fills in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relocation {
    /// Its offset in the section, in bytes.
    pub(super) offset: u64,
    pub(super) kind: RelocationType,
    /// The number of bytes that it fills in.
    pub(super) width: usize,
    /// True if the distance to the target is filled in, rather than its address.
    pub(super) relative: bool,
    /// The index of the target in the symbol table.
    pub(super) symbol: usize,
    pub(super) addend: i64,
}

impl Relocation {
    /// The relocation that a branch to `symbol` would have if it had not been resolved.
    pub(super) fn branch(branch: Branch, symbol: usize) -> Self {
        let Branch { field, kind, addend, .. } = branch;
        let relative = kind == R_X86_64_PC32;
        Self { offset: field, kind, width: 4, relative, symbol, addend }
    }

    /// Clears the bits that the linker fills in; `field` holds the bytes from the relocation's offset on.
    pub(super) fn mask(&self, field: &mut [u8]) {
        let kept = match (self.kind, field.get(3)) {
            (R_AARCH64_CALL26 | R_AARCH64_JUMP26, Some(opcode)) => opcode & 0b1111_1100,
            _ => 0,
        };
        let width = self.width.min(field.len());
        field[..width].fill(0);
        if let Some(opcode) = field.get_mut(3).filter(|_| kept != 0) {
            *opcode = kept;
        }
    }

    /// True if it is a whole pointer, as constants contain them.
    pub(super) fn is_pointer(&self) -> bool {
        self.width == 8 && !self.relative
    }
}

/// Refuses an object with unreadable relocation tables.
pub(super) fn check_relocations(elf: &Elf<'_>) -> Result<(), Unreadable> {
    for section in elf.elf_section_table().iter() {
        if matches!(section.sh_type(LE), SHT_REL | SHT_CREL) {
            let what = "its relocations are not of the kind its machine uses";
            return Err(Unreadable::Damaged(what.to_owned()));
        }
        section.rela(LE, elf.data())?;
    }
    Ok(())
}

/// The relocations of a section in the order of their offsets, from tables that were checked.
pub(super) fn relocations_of(elf: &Elf<'_>, machine: Machine, section: usize) -> Vec<Relocation> {
    let mut relocations = Vec::new();
    let mut table = elf.elf_relocation_sections().get(SectionIndex(section));
    while let Some(index) = table {
        if let Ok(header) = elf.elf_section_table().section(index)
            && let Ok(Some((entries, _))) = header.rela(LE, elf.data())
        {
            relocations.extend(entries.iter().filter_map(|entry| relocation(machine, entry)));
        }
        table = elf.elf_relocation_sections().get(index);
    }
    relocations.sort_by_key(|relocation| relocation.offset);
    relocations
}

fn relocation(
    machine: Machine,
    entry: &object::elf::Rela64<object::LittleEndian>,
) -> Option<Relocation> {
    let kind = match (machine, entry.r_type(LE, false)) {
        (EM_X86_64, R_X86_64_NONE) | (EM_AARCH64, R_AARCH64_NONE) => return None,
        // Both kinds give the same bytes in an executable; the choice depends on whether the callee was compiled into
        // the same object.
        (EM_X86_64, R_X86_64_PLT32) => R_X86_64_PC32,
        (_, kind) => kind,
    };
    let (width, relative) = shape(machine, kind);
    Some(Relocation {
        offset: entry.r_offset(LE),
        kind,
        width,
        relative,
        symbol: entry.r_sym(LE, false) as usize,
        addend: entry.r_addend(LE),
    })
}

/// The number of bytes that a relocation fills in, and true if it fills in a distance.
///
/// aarch64 instructions other than branches count as zero bytes: compilers leave their bits zero, since the addend is
/// in the relocation record.
fn shape(machine: Machine, kind: RelocationType) -> (usize, bool) {
    if machine == EM_AARCH64 {
        return match kind {
            R_AARCH64_ABS64 => (8, false),
            R_AARCH64_ABS32 | R_AARCH64_CALL26 | R_AARCH64_JUMP26 => (4, false),
            R_AARCH64_ABS16 => (2, false),
            R_AARCH64_PREL64 => (8, true),
            R_AARCH64_PREL32 => (4, true),
            R_AARCH64_PREL16 => (2, true),
            _ => (0, false),
        };
    }
    match kind {
        R_X86_64_64 | R_X86_64_DTPMOD64 | R_X86_64_DTPOFF64 | R_X86_64_TPOFF64
        | R_X86_64_GOTOFF64 | R_X86_64_GOT64 | R_X86_64_PLTOFF64 | R_X86_64_SIZE64 => (8, false),
        R_X86_64_PC64 | R_X86_64_GOTPCREL64 | R_X86_64_GOTPC64 => (8, true),
        R_X86_64_16 => (2, false),
        R_X86_64_PC16 => (2, true),
        R_X86_64_8 => (1, false),
        R_X86_64_PC8 => (1, true),
        R_X86_64_TLSDESC_CALL => (0, false),
        R_X86_64_PC32 => (4, true),
        _ => (4, false),
    }
}
