//! Functions of the C library that a process has loaded.

use std::{fs, path::Path};

use object::{Object as _, ObjectSymbol as _};

use super::ptrace::Tid;

/// The addresses of these functions of the C library in a process that has loaded it.
pub(super) fn functions(tid: Tid, wanted: &[&str]) -> Vec<u64> {
    let maps = fs::read_to_string(format!("/proc/{tid}/maps")).unwrap_or_default();
    let mut found = Vec::new();
    for line in maps.lines() {
        let mut fields = line.splitn(6, ' ').map(str::trim);
        let (Some(range), _, Some(offset)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let path = Path::new(fields.nth(2).unwrap_or_default());
        if u64::from_str_radix(offset, 16) != Ok(0) || !is_c_library(path) {
            continue;
        }
        let start = range.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok());
        if let (Some(start), Ok(bytes)) = (start, fs::read(path)) {
            found.extend(defined(&bytes, wanted).into_iter().map(|at| start.wrapping_add(at)));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn is_c_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ["libc.", "libc-", "ld-musl-"].iter().any(|prefix| name.starts_with(prefix))
}

/// Where a library defines these functions, from its start.
fn defined(library: &[u8], wanted: &[&str]) -> Vec<u64> {
    let Ok(file) = object::File::parse(library) else { return Vec::new() };
    let is_wanted = |symbol: &object::Symbol<'_, '_>| {
        symbol.is_definition() && symbol.name().is_ok_and(|name| wanted.contains(&name))
    };
    file.dynamic_symbols().filter(is_wanted).map(|symbol| symbol.address()).collect()
}
