//! The machine code of a build. Pure functions from the bytes of executables, objects and archives to values: no
//! files, no processes.
//!
//! [`loadable_digest`] is equal for builds that are the same program; [`kept_functions`] lists the
//! functions that the linker kept; [`FunctionSet`] digests each kept function from the *link inputs*,
//! before any layout, so that equal digests mean the same code at any address; [`Placement`] has the
//! address of each function. ELF for x86-64 and aarch64 is supported; anything else gives
//! [`Unreadable`].

mod address_use;
mod allocators;
mod c_library;
mod call_frames;
mod comparison;
mod counter;
mod defined;
mod diff;
mod digest;
mod format;
mod frames;
mod functions;
mod gather;
mod instruction;
mod landing_pads;
mod link_map;
mod name;
mod pairing;
mod placement;
mod references;
mod relocatable;
mod size;
mod source_location;
mod target;
#[cfg(test)]
pub(crate) mod testing;

pub use allocators::{UncountableAllocator, uncountable_allocator};
pub use c_library::{CLibraryVersion, needed_c_library, provided_c_library};
pub use counter::counter_reads;
pub use diff::{Cause, ChangedFunction, FunctionDiff, HASH, SizedFunction, hash};
pub use digest::{Digest, loadable_digest};
pub use format::Unreadable;
pub use functions::{FunctionCode, FunctionSet, NotComparable, code_by_definition, instance_of};
pub use link_map::{
    InputSection, LinkMap, LoadedSection, NoMap, OutputSection, Sections, Span, code_group,
};
pub use name::{Name, stable_symbol};
pub use pairing::{Identified, Paired, pair};
pub use placement::{
    Agreement, LinkedFunction, PlacedFunction, Placement, agreement, kept_functions,
};
pub use size::{SectionSizes, crate_of};
pub use source_location::PrintedLocations;
