//! Moves the program's code to other physical pages, at the same addresses, so that a measurement samples many page
//! placements. Must not run while a measurement is timed.

use core::{
    ffi::{c_ulong, c_void},
    ptr::{copy_nonoverlapping, null_mut},
    slice,
    sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed},
};

use super::system::*;

/// Moving may take one part in this many of the time.
const SHARE: i64 = 20;
/// Least time between two moves, in ns: some measurements.
const LEAST: i64 = 8_000_000;

/// Address and size in bytes of the code; 0 if it is not to be moved.
static START: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// Time of the next move, by the real clock, in ns.
static NEXT: AtomicI64 = AtomicI64::new(0);

/// A program header of a 64-bit executable.
#[repr(C)]
struct Header {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical_address: u64,
    size_in_file: u64,
    size: u64,
    alignment: u64,
}

pub fn find() {
    const PHDR: c_ulong = 3;
    const COUNT: c_ulong = 5;
    const PAGE: c_ulong = 6;
    const LOAD: u32 = 1;
    const HEADERS: u32 = 6;
    const EXECUTABLE: u32 = 1;

    // SAFETY: it only reads values that the kernel gave to this process.
    let [at, count, page] = [PHDR, COUNT, PAGE].map(|what| unsafe { getauxval(what) } as usize);
    if at == 0 || page == 0 {
        return;
    }
    // SAFETY: the kernel gives the address of the headers, and they stay there.
    let headers = unsafe { slice::from_raw_parts(at as *const Header, count) };
    let own = headers.iter().find(|header| header.kind == HEADERS);
    let is_code = |header: &&Header| header.kind == LOAD && header.flags & EXECUTABLE != 0;
    if let (Some(own), Some(code)) = (own, headers.iter().find(is_code)) {
        let start = at - own.address as usize + code.address as usize;
        let end = start + code.size as usize;
        let first = start / page * page;
        START.store(first, Relaxed);
        LENGTH.store((end + page - 1) / page * page - first, Relaxed);
    }
}

/// Moves the code if it has been in its place for long enough.
pub fn move_if_due(now: i64) {
    let length = LENGTH.load(Relaxed);
    if length == 0 || now < NEXT.load(Relaxed) {
        return;
    }
    if !move_to_other_pages(START.load(Relaxed) as *mut c_void, length) {
        LENGTH.store(0, Relaxed);
    }
    let end = nanoseconds(CLOCK_MONOTONIC);
    NEXT.store(end + LEAST.max(SHARE * (end - now)), Relaxed);
}

fn move_to_other_pages(code: *mut c_void, length: usize) -> bool {
    const READ_WRITE: i32 = 3;
    const READ_EXECUTE: i32 = 5;
    const NEW_AND_PRIVATE: i32 = 0x22;
    const TO_ADDRESS: i32 = 3;

    // SAFETY: other threads may execute the code meanwhile. They do not write to it, and the kernel puts the copy in its
    // place in one step, for which a thread that executes it then waits. Where the caches for instructions and data are not
    // coherent (aarch64), the kernel synchronizes them for pages that become executable.
    unsafe {
        let copy = mmap(null_mut(), length, READ_WRITE, NEW_AND_PRIVATE, -1, 0);
        if copy as isize == -1 {
            return false;
        }
        copy_nonoverlapping(code.cast::<u8>(), copy.cast::<u8>(), length);
        let is_moved = mprotect(copy, length, READ_EXECUTE) == 0
            && mremap(copy, length, length, TO_ADDRESS, code) == code;
        if !is_moved {
            munmap(copy, length);
        }
        is_moved
    }
}
