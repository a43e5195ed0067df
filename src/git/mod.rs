//! Resolves a user's revisions, and checks out their files into separate directories.
//!
//! Nothing here writes into the user's repository, except for [what git fetches](GitProgram). Revisions and the uncommitted tree are read through libgit2 with an
//! object store in memory; checkouts are written into a cache directory, as `git checkout` would write them, without a
//! worktree entry, an index or a lock in the user's `.git`. Only a [`NewRepository`] is written into, and it never is the
//! user's.

mod checkout;
mod directories;
mod files;
mod new;
mod order;
mod own_directory;
mod packed;
mod path;
mod program;
mod repository;
mod revision;
mod tree;
mod uncommitted;

#[cfg(test)]
mod tests;

pub use checkout::{Checkout, Checkouts};
pub use new::NewRepository;
pub use order::{Line, LineCommit};
pub use path::Contents;
pub use program::GitProgram;
pub use repository::Repository;
pub use revision::{UNCOMMITTED, is_range, range_ends};
