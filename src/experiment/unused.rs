//! A version like another one but for a function that nothing calls: what a commit is to a benchmark that it has
//! nothing to do with.

use std::path::PathBuf;

use super::{ListedVersion, Runner};
use crate::{
    failure::{Exit, Failure, Result},
    model::Version,
};

/// What is added to the root of each bench target. It needs neither `unsafe`, which crates forbid, nor the standard
/// library, and its attribute keeps it in the object; since Rust 1.89, which lets the linker know, in the program
/// too. It stands in the bench target, and not in a library, since there it changes what the compiler makes of
/// other functions less often.
const FUNCTION: &str = r"
#[allow(dead_code, missing_docs, unused)]
#[doc(hidden)]
#[inline(never)]
fn function_that_nothing_calls(seed: u64) -> u64 {
    let mut table = [seed; 61];
    let mut index = 1;
    while index < 61 {
        let before = table[index - 1];
        table[index] = (before ^ (before >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        index += 1;
    }
    let mut state = seed;
    let mut round = 0;
    while round < seed % 1009 {
        let place = (state % 61) as usize;
        state = state.rotate_left(7) ^ table[place];
        table[place] = state.wrapping_add(round);
        round += 1;
    }
    state
}

#[allow(dead_code, missing_docs, unused)]
#[doc(hidden)]
#[used]
static FUNCTION_THAT_NOTHING_CALLS: fn(u64) -> u64 = function_that_nothing_calls;
";

impl Runner<'_> {
    /// The version that has, besides what this one has, a function in each bench target that nothing calls. The
    /// user's repository is not changed.
    pub fn with_unused_function(&self, version: &ListedVersion) -> Result<Version> {
        let revision = format!("{} with an unused function", version.version.revision);
        let roots = self.bench_roots(version)?;
        let repository = &self.project.repository;
        let added = repository.with_appended(&version.version, &roots, FUNCTION, revision)?;
        added.ok_or_else(|| {
            let what = format!("cannot add a function to the bench targets of {}", version.version);
            Failure::new(Exit::Usage, what)
                .because("none of their source files is a plain file of the repository")
        })
    }

    /// The source files that the bench targets of a version begin with, by their paths in the repository, as far
    /// as they are in it.
    fn bench_roots(&self, version: &ListedVersion) -> Result<Vec<PathBuf>> {
        let compilation = &version.compilation;
        let workspace = self.workshop.workspace(version.source(), compilation)?;
        let source = self.workshop.site.source_path();
        let mut roots = Vec::new();
        for compiled in &compilation.record.targets {
            let (_, target) = workspace.package_and_target(compiled)?;
            let root = target.src_path.as_std_path().strip_prefix(&source);
            roots.extend(root.ok().map(PathBuf::from));
        }
        Ok(roots)
    }
}
