//! What has to be known of an executable's allocators before its allocations are counted.

use std::{fs, path::Path};

use crate::{
    code::{AllocatorFunction, AllocatorKind, Allocators},
    failure::{Exit, OrFail, Result},
    process::counting::allocations::{Allocator, Of, Watched},
};

/// What is known of the allocators of an executable.
pub fn allocator_of(executable: &Path) -> Result<Allocator> {
    let what = || format!("cannot find the allocators of {}", executable.display());
    let bytes = fs::read(executable).or_fail(Exit::Build, what)?;
    let found = Allocators::of_executable(&bytes).or_fail(Exit::Build, what)?;
    let all = found.functions.len() + found.unwatched.len();
    Ok(Allocator {
        begin: found.begin,
        is_seen: found.is_of_c_library || found.forwards,
        functions: found.functions.into_iter().map(watched).collect(),
        foreign: found.foreign,
        wanted: u32::try_from(all).unwrap_or(u32::MAX),
    })
}

fn watched(function: AllocatorFunction) -> Watched {
    let AllocatorFunction { address, of, asked, code, moved } = function;
    Watched {
        address,
        of: match of {
            AllocatorKind::Rust => Of::Rust,
            AllocatorKind::Announcement => Of::Announcement,
            AllocatorKind::Known => Of::Known,
        },
        size: asked.size,
        times: asked.times,
        has_status: asked.has_status,
        code,
        elsewhere: moved.code,
        fixes: moved.fixes.iter().map(|fix| (fix.at, fix.from, fix.to)).collect(),
    }
}
