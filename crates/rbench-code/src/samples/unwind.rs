//! Unwinds sampled stacks: from registers and a copy of the stack to the functions that were called.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    ops::Range,
    rc::Rc,
    sync::Arc,
};

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, Module, UnwindRegsNative, Unwinder as _,
    UnwinderNative,
};
use gimli::{EndianArcSlice, LittleEndian};
use object::{
    Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _, SegmentFlags,
    SymbolKind, elf::PF_X,
};

use super::{Frame, Mapped};
use crate::{
    callgrind::{Function, Place},
    elf::{Name, instance_of},
    matching::{FunctionTable, NO_SYMBOL},
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    pub instruction: u64,
    pub stack_pointer: u64,
    pub frame_pointer: u64,
    /// The link register, where the processor has one.
    pub link: u64,
    /// The words of its stack, from the stack pointer on.
    pub stack: Vec<u64>,
}

/// The most frames of a stack: one that is longer does not end, or is hostile.
const MOST_FRAMES: usize = 512;

/// Files of code, each read and understood once for all processes that execute it.
#[derive(Default)]
pub struct CodeFiles(HashMap<String, Option<Rc<CodeFile>>>);

pub struct Code<'t> {
    unwinder: UnwinderNative<Arc<[u8]>, framehop::MayAllocateDuringUnwind>,
    cache: CacheNative<framehop::MayAllocateDuringUnwind>,
    parts: Vec<CodePart>,
    functions: &'t mut FunctionTable,
    /// The frames of each address that was met: the function, and those that are inlined there, the outermost first.
    known: HashMap<u64, Vec<Frame>>,
}

struct CodePart {
    addresses: Range<u64>,
    /// The address of its code in the process, less that in the file.
    bias: u64,
    file: Rc<CodeFile>,
}

/// An executable or library.
struct CodeFile {
    /// Its name, if it is a library.
    library: Option<String>,
    /// The parts with code: their places in the file, and the addresses of their beginnings.
    code: Vec<(Range<u64>, u64)>,
    sections: ExplicitModuleSectionInfo<Arc<[u8]>>,
    /// Each function by its address in the file: its end, and its symbol.
    symbols: BTreeMap<u64, (u64, String)>,
    /// Its debug information, if it has any: it knows inlined functions.
    debug_info: Option<addr2line::Context<Bytes>>,
}

type Bytes = EndianArcSlice<LittleEndian>;

impl<'t> Code<'t> {
    /// The code of a process that executes the file `program`. `read` returns the bytes of a mapped file, if it can be read.
    pub fn new(
        mapped: &[Mapped],
        program: &str,
        files: &mut CodeFiles,
        functions: &'t mut FunctionTable,
        read: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Self {
        let mut code = Self {
            unwinder: UnwinderNative::new(),
            cache: CacheNative::new(),
            parts: Vec::new(),
            functions,
            known: HashMap::new(),
        };
        let files_of_code = mapped.iter().filter(|part| part.is_code && part.path.starts_with('/'));
        for Mapped { addresses, offset, path, .. } in files_of_code {
            let file = files
                .0
                .entry(path.clone())
                .or_insert_with(|| CodeFile::new(path, path == program, &read(path)?).map(Rc::new));
            // Of several parts with code, each has its own addresses.
            let Some((file, in_file)) =
                file.as_ref().and_then(|file| Some((file, file.address(*offset)?)))
            else {
                continue;
            };
            if code.parts.iter().any(|part| part.addresses.start == addresses.start) {
                continue;
            }
            let bias = addresses.start.wrapping_sub(in_file);
            let sections = file.sections.clone();
            code.unwinder.add_module(Module::new(path.clone(), addresses.clone(), bias, sections));
            code.parts.push(CodePart { addresses: addresses.clone(), bias, file: Rc::clone(file) });
        }
        code
    }

    /// The frames of an interrupted thread, the outermost first, and whether they reach the end of the copied stack.
    pub fn frames(&mut self, thread: &Interrupted) -> (Vec<Frame>, bool) {
        let Interrupted { instruction, stack_pointer, frame_pointer, link, stack } = thread;
        #[cfg(target_arch = "x86_64")]
        let registers = {
            let _ = link;
            UnwindRegsNative::new(*instruction, *stack_pointer, *frame_pointer)
        };
        #[cfg(target_arch = "aarch64")]
        let registers = UnwindRegsNative::new(*link, *stack_pointer, *frame_pointer);
        let end = stack_pointer.saturating_add(8 * stack.len() as u64);
        let mut has_reached_end = false;
        let mut read = |address: u64| {
            has_reached_end |= address >= end;
            let index = address.checked_sub(*stack_pointer).ok_or(())? / 8;
            usize::try_from(index).ok().and_then(|index| stack.get(index)).copied().ok_or(())
        };
        let mut frames =
            self.unwinder.iter_frames(*instruction, registers, &mut self.cache, &mut read);
        let mut addresses: Vec<u64> = Vec::new();
        let mut is_whole = false;
        while addresses.len() < MOST_FRAMES {
            match frames.next() {
                Ok(Some(FrameAddress::InstructionPointer(address))) => addresses.push(address),
                // Of a call at the end of a function, the return address belongs to the next one.
                Ok(Some(address)) => addresses.push(address.address_for_lookup()),
                Ok(None) => {
                    is_whole = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let found: Vec<Frame> =
            addresses.into_iter().rev().flat_map(|address| self.at(address)).collect();
        // Where panics abort, C's `main` has no table, and its callers are of no interest.
        let is_main = |frame: &Frame| self.functions.name(frame.function).as_str() == "main";
        let is_from_main = found.first().is_some_and(is_main);
        (found, is_whole || has_reached_end || is_from_main)
    }

    /// The function at an address, and those that are inlined there.
    fn at(&mut self, address: u64) -> Vec<Frame> {
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let part = self.parts.iter().find(|part| part.addresses.contains(&address));
        let functions = part.map_or_else(
            || {
                let (name, place) = (Name::demangle(NO_SYMBOL), Place::Library(String::new()));
                vec![Function { name, place }]
            },
            |part| part.file.functions(address.wrapping_sub(part.bias)),
        );
        let functions = functions.into_iter().enumerate();
        let frames: Vec<Frame> = functions
            .map(|(depth, one)| Frame {
                function: self.functions.index(one),
                is_inlined: depth > 0,
            })
            .collect();
        self.known.insert(address, frames.clone());
        frames
    }
}

/// The size of a page of memory in bytes, at least.
const PAGE: u64 = 4096;

impl CodeFile {
    /// `None` for a file that cannot be understood.
    fn new(path: &str, is_program: bool, bytes: &[u8]) -> Option<Self> {
        let elf = object::File::parse(bytes).ok()?;
        let is_code = |segment: &object::Segment<'_, '_>| matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.contains(PF_X));
        let code = elf.segments().filter(is_code).map(|segment| {
            let (at, length) = segment.file_range();
            (at..at.saturating_add(length), segment.address())
        });
        let range = |name: &str| {
            let section = elf.section_by_name(name)?;
            Some(section.address()..section.address().checked_add(section.size())?)
        };
        let data = |name: &str| -> Option<Arc<[u8]>> {
            Some(elf.section_by_name(name)?.uncompressed_data().ok()?.into())
        };
        let sections = ExplicitModuleSectionInfo {
            text_svma: range(".text"),
            text: data(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: data(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: data(".eh_frame_hdr"),
            debug_frame: data(".debug_frame"),
            ..ExplicitModuleSectionInfo::default()
        };
        Some(Self {
            library: (!is_program).then(|| path.rsplit('/').next().unwrap_or_default().to_owned()),
            code: code.collect(),
            sections,
            symbols: symbols(&elf),
            debug_info: if is_program { debug_info(&elf) } else { None },
        })
    }

    /// The address of the code at this place of the file. Other parts may have a part of the same page.
    fn address(&self, place: u64) -> Option<u64> {
        let is_there = |part: &Range<u64>| (part.start / PAGE * PAGE..part.end).contains(&place);
        let (part, address) = self.code.iter().find(|(part, _)| is_there(part))?;
        Some(address.wrapping_sub(part.start).wrapping_add(place))
    }

    /// The function at this address, and those that are inlined there, the outermost first.
    fn functions(&self, address: u64) -> Vec<Function> {
        let before = self.symbols.range(..=address).next_back();
        let symbol = before.filter(|(_, (end, _))| address < *end).map(|(_, (_, symbol))| symbol);
        let symbol = symbol.map_or(NO_SYMBOL, String::as_str);
        let named = |symbol: &str| Function {
            name: Name::demangle(symbol),
            place: match &self.library {
                None => Place::Program(instance_of(symbol)),
                Some(file) => Place::Library(file.clone()),
            },
        };
        let mut functions = vec![named(symbol)];
        functions.extend(self.inlined(address).iter().rev().map(|symbol| named(symbol)));
        functions
    }

    /// The symbols of the functions that are inlined at this address of the file, the innermost first.
    fn inlined(&self, address: u64) -> Vec<String> {
        let Some(debug_info) = &self.debug_info else { return Vec::new() };
        let Ok(mut frames) = debug_info.find_frames(address).skip_all_loads() else {
            return Vec::new();
        };
        let mut symbols = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let symbol = frame.function.as_ref().and_then(|name| name.raw_name().ok());
            symbols.push(symbol.map_or_else(|| NO_SYMBOL.to_owned(), Cow::into_owned));
        }
        // The last one is the function that has the symbol.
        symbols.pop();
        symbols
    }
}

/// The debug information of a file, if it has any that can be read.
fn debug_info(elf: &object::File<'_>) -> Option<addr2line::Context<Bytes>> {
    elf.section_by_name(".debug_info")?;
    let section = |id: gimli::SectionId| -> Result<Bytes, gimli::Error> {
        let section = elf.section_by_name(id.name());
        let bytes = section.and_then(|section| section.uncompressed_data().ok());
        Ok(EndianArcSlice::new(bytes.unwrap_or_default().into(), LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(section).ok()?;
    addr2line::Context::from_dwarf(dwarf).ok()
}

/// The functions of a file, by address. Of several at one address, the first by name and symbol stands for all, in every
/// version, as in [`kept_functions`](crate::elf::kept_functions).
fn symbols(elf: &object::File<'_>) -> BTreeMap<u64, (u64, String)> {
    let mut symbols: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
        let Ok(name) = symbol.name() else { continue };
        if symbol.kind() != SymbolKind::Text || symbol.is_undefined() {
            continue;
        }
        // Assembler code may have no size.
        let end = symbol.address().saturating_add(symbol.size().max(1));
        let one = symbols.entry(symbol.address()).or_insert_with(|| (end, name.to_owned()));
        if name != one.1 && order(name) < order(&one.1) {
            name.clone_into(&mut one.1);
        }
        one.0 = one.0.max(end);
    }
    symbols
}

fn order(symbol: &str) -> (Name, &str) {
    (Name::demangle(symbol), symbol)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::{kept_functions, testing::Scratch};

    #[test]
    fn one_symbol_of_an_address_stands_for_all_as_in_the_functions_of_an_executable() {
        let source = "int twice(int x) { return 2 * x; }\n\
            int zwei(int x) __attribute__((alias(\"twice\")));\n\
            int _ZN1z1zE(int x) __attribute__((alias(\"twice\")));\n\
            int main(int argc, char **argv) { return twice(argc); }\n";
        let bytes = Scratch::new().c_program("program", source, &[]);
        let kept = kept_functions(&bytes).unwrap();
        let function = kept.iter().find(|one| one.symbols().any(|name| name == "twice")).unwrap();
        let elf = object::File::parse(&*bytes).unwrap();
        assert_eq!(symbols(&elf)[&function.address].1, function.symbol);
    }
}
