//! The relocations of a section: which bytes the linker fills in, with the address of what.

use object::elf::{
    EM_AARCH64, EM_X86_64, Machine, R_AARCH64_ABS16, R_AARCH64_ABS32, R_AARCH64_ABS64,
    R_AARCH64_CALL26, R_AARCH64_JUMP26, R_AARCH64_NONE, R_AARCH64_PREL16, R_AARCH64_PREL32,
    R_AARCH64_PREL64, R_X86_64_8, R_X86_64_16, R_X86_64_64, R_X86_64_DTPMOD64, R_X86_64_DTPOFF64,
    R_X86_64_GOT64, R_X86_64_GOTOFF64, R_X86_64_GOTPC64, R_X86_64_GOTPCREL64, R_X86_64_NONE,
    R_X86_64_PC8, R_X86_64_PC16, R_X86_64_PC32, R_X86_64_PC64, R_X86_64_PLT32, R_X86_64_PLTOFF64,
    R_X86_64_SIZE64, R_X86_64_TLSDESC_CALL, R_X86_64_TPOFF64, RelocationType, SHT_CREL, SHT_REL,
};
use object::read::SectionIndex;
use object::read::elf::{Rela, SectionHeader};

use super::elf::{Elf, LE, Unreadable};
use super::instruction::Branch;

/// One relocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relocation {
    /// Where in its section, in bytes.
    pub(super) offset: u64,
    pub(super) kind: RelocationType,
    /// How many bytes at its offset it fills in.
    pub(super) width: usize,
    /// Whether the distance to the target is filled in, rather than its address.
    pub(super) relative: bool,
    /// Index of the target in the symbol table.
    pub(super) symbol: usize,
    pub(super) addend: i64,
}

impl Relocation {
    /// The relocation that a branch to `symbol` would have, had it not been resolved.
    pub(super) fn of_branch(branch: Branch, symbol: usize) -> Self {
        let Branch { field, kind, addend, .. } = branch;
        let relative = kind == R_X86_64_PC32;
        Self { offset: field, kind, width: 4, relative, symbol, addend }
    }

    /// Clears the bits that the linker fills in, in the bytes from its offset on.
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

    /// Whether it is a whole pointer, as constants hold them.
    pub(super) fn is_pointer(&self) -> bool {
        self.width == 8 && !self.relative
    }
}

/// Refuses an object with relocation tables that cannot be read.
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
        // The same bytes in an executable: which one is chosen depends on whether the callee was
        // compiled into the same object.
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

/// How many bytes a relocation fills in, and whether with a distance.
///
/// aarch64 instructions other than branches count as filled in nowhere: compilers leave the bits
/// zero, since the addend stands in the record.
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
