//! Revisions and checkouts: what a user's revision names, and its files in a directory of their own.
//!
//! Nothing here writes into the user's repository. Revisions and the uncommitted tree are read
//! through libgit2 with an object store in memory; checkouts are written into a cache directory, as
//! `git checkout` would write them, without a worktree entry, an index or a lock in `.git`. A
//! [`NewRepository`] is written into, and is none of the user's.

mod ancestry;
mod appended;
mod changed;
mod checkout;
mod files;
mod left_out;
mod lfs;
mod line;
mod manifest;
mod new;
mod order;
mod path;
mod range;
mod release;
mod repository;
mod revision;
mod submodule;
mod suggestion;
mod tree;
mod uncommitted;

#[cfg(test)]
mod tests;

pub use checkout::{Checkout, Checkouts};
pub use line::{Line, LineCommit};
pub use new::NewRepository;
pub use order::Placed;
pub use path::Contents;
pub use range::{is_range, range_ends};
pub use repository::Repository;
pub use revision::UNCOMMITTED;
