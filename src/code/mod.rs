//! What machine code a build holds: pure functions from the bytes of executables, objects and
//! archives to values.
//!
//! [`loadable_digest`] tells whether two builds are the same program; [`kept_functions`] lists what
//! the linker kept; [`FunctionSet`] digests each kept function from the *link inputs*, before any
//! layout, so that equal digests mean the same code wherever it lands; [`Placement`] says where each
//! function landed. ELF for x86-64 and aarch64 is read; anything else gives [`Unreadable`].

mod defined;
mod diff;
mod digest;
mod elf;
mod functions;
mod instruction;
mod kept;
mod loadable;
mod members;
mod name;
mod pairing;
mod placement;
mod relocatable;
mod relocation;
mod target;
#[cfg(test)]
mod testing;

pub use diff::{ChangedFunction, FunctionDiff, SizedFunction};
pub use digest::Digest;
pub use elf::Unreadable;
pub use functions::{FunctionCode, FunctionSet};
pub use kept::{KeptFunction, kept_functions};
pub use loadable::loadable_digest;
pub use members::{NotComparable, thin_archive_members};
pub use name::{Name, stable_symbol};
pub use placement::{Agreement, Placed, Placement, agreement};
