//! Watches allocating functions of the executable: a jump at the entry of each one leads here, and a relocated copy
//! executes the instructions that the jump replaced. Only on x86-64, the one processor for which `elf::trampoline`
//! relocates code.

#[cfg(target_arch = "x86_64")]
pub use of_this_processor::watch;

/// The number of watched entries: none on this processor.
#[cfg(target_arch = "aarch64")]
pub fn watch(_: &crate::page::Page, _: usize) -> u32 {
    0
}

#[cfg(target_arch = "x86_64")]
mod of_this_processor {
    use core::{
        ffi::{c_int, c_void},
        mem::transmute,
        ptr::copy_nonoverlapping,
        slice,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
    };

    use crate::{
        allocator::{count, count_nested},
        page,
        page::{ANNOUNCEMENT, ENTRIES, Entry, MOVED, NONE, OF_RUST, Page},
        system::mmap,
    };

    extern "C" {
        fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
        fn munmap(address: *mut c_void, length: usize) -> c_int;
    }

    const READ_EXECUTE: c_int = 5;
    const READ_WRITE_EXECUTE: c_int = 7;
    const MEMORY_PAGE: usize = 4096;
    /// The least number of bytes of an entry that are replaced: a jump with a 32-bit distance.
    const JUMP: usize = 5;
    /// A jump to an address stored behind it takes 14 bytes.
    const FAR_JUMP: usize = 16;
    /// Bytes of code for one entry.
    const PART: usize = FAR_JUMP + MOVED;

    type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;

    /// For each entry, the address of the relocated copy.
    static REAL: [AtomicUsize; ENTRIES] = [NOWHERE; ENTRIES];
    #[allow(clippy::declare_interior_mutable_const)]
    const NOWHERE: AtomicUsize = AtomicUsize::new(0);

    /// Watches the entries listed in the page, in the executable that is loaded at `base`. Returns the number of
    /// watched ones.
    pub fn watch(page: &Page, base: usize) -> u32 {
        let entries = (page.entries.load(Relaxed) as usize).min(ENTRIES);
        if entries == 0 {
            return 0;
        }
        let near = match code_near(base) {
            Some(near) => near,
            None => return 0,
        };
        count_nested();
        let mut watched = 0;
        for (index, entry) in page.entry[..entries].iter().enumerate() {
            // SAFETY: the executable is loaded there, and no other thread runs yet.
            watched += u32::from(unsafe { watch_one(index, entry, base, near + index * PART) });
        }
        // SAFETY: the memory is our own, and nobody writes there any more.
        unsafe { mprotect(near as *mut c_void, ENTRIES * PART, READ_EXECUTE) };
        watched
    }

    /// Maps memory for code, close enough below the executable for jumps with a 32-bit distance in both directions.
    fn code_near(base: usize) -> Option<usize> {
        const PRIVATE_ANONYMOUS: c_int = 0x22;
        const STEP: usize = 1 << 20;
        (1..1000).find_map(|step| {
            let wanted = (base & !(MEMORY_PAGE - 1)).checked_sub(step * STEP)?;
            // SAFETY: the kernel treats the address as a hint, and never replaces an existing mapping.
            let address = unsafe {
                mmap(
                    wanted as *mut c_void,
                    ENTRIES * PART,
                    READ_WRITE_EXECUTE,
                    PRIVATE_ANONYMOUS,
                    -1,
                    0,
                )
            } as usize;
            if address == wanted {
                return Some(address);
            }
            if address as isize != -1 {
                // SAFETY: nobody uses it.
                unsafe { munmap(address as *mut c_void, ENTRIES * PART) };
            }
            None
        })
    }

    /// Watches one entry. Returns false if that is not possible.
    unsafe fn watch_one(index: usize, entry: &Entry, base: usize, own: usize) -> bool {
        let address = base.wrapping_add(entry.address as usize);
        let replaced = entry.replaced as usize;
        // SAFETY: the executable has at least that much code there.
        let found = unsafe { slice::from_raw_parts(address as *const u8, replaced) };
        if found != &entry.code[..replaced] || replaced < JUMP {
            return false;
        }
        let hook = HOOKS[index] as usize;
        let moved = own + FAR_JUMP;
        // SAFETY: the memory has room for both, and nobody executes it yet.
        unsafe {
            let far_jump = [0xff_u8, 0x25, 0, 0, 0, 0];
            copy_nonoverlapping(far_jump.as_ptr(), own as *mut u8, far_jump.len());
            copy_nonoverlapping(hook.to_le_bytes().as_ptr(), (own + far_jump.len()) as *mut u8, 8);
            copy_nonoverlapping(entry.elsewhere.as_ptr(), moved as *mut u8, entry.moved as usize);
        }
        for fix in &entry.fix[..entry.fixes as usize] {
            let to = base.wrapping_add(fix.to as usize);
            let distance = match distance(moved + fix.from as usize, to) {
                Some(distance) => distance,
                None => return false,
            };
            // SAFETY: it is within the copied code.
            unsafe {
                let field = (moved + fix.at as usize) as *mut u8;
                copy_nonoverlapping(distance.as_ptr(), field, distance.len());
            }
        }
        let to_hook = match distance(address + JUMP, own) {
            Some(distance) => distance,
            None => return false,
        };
        REAL[index].store(moved, Relaxed);
        let first = address & !(MEMORY_PAGE - 1);
        let length = address + JUMP - first;
        // SAFETY: only this thread runs, and not in this code.
        unsafe {
            if mprotect(first as *mut c_void, length, READ_WRITE_EXECUTE) != 0 {
                return false;
            }
            *(address as *mut u8) = 0xe9;
            copy_nonoverlapping(to_hook.as_ptr(), (address + 1) as *mut u8, to_hook.len());
            mprotect(first as *mut c_void, length, READ_EXECUTE);
        }
        true
    }

    fn distance(from: usize, to: usize) -> Option<[u8; 4]> {
        let distance = to.wrapping_sub(from) as isize;
        let short = distance as i32;
        if short as isize == distance { Some(short.to_le_bytes()) } else { None }
    }

    /// The target of the jump at entry `INDEX`.
    unsafe extern "C" fn hook<const INDEX: usize>(
        one: usize,
        two: usize,
        three: usize,
        four: usize,
        five: usize,
        six: usize,
    ) -> usize {
        // SAFETY: the code there is of a function that takes no more than these.
        let real: Function = unsafe { transmute(REAL[INDEX].load(Relaxed)) };
        // SAFETY: the arguments are the caller's.
        let call = || unsafe { real(one, two, three, four, five, six) };
        let page = match page() {
            Some(page) => page,
            None => return call(),
        };
        let entry = &page.entry[INDEX];
        if entry.of == ANNOUNCEMENT {
            page.announced.fetch_add(1, Relaxed);
            return call();
        }
        let arguments = [one, two, three, four];
        let argument = |index: u8| arguments[usize::from(index & 3)];
        let times = if entry.times == NONE { 1 } else { argument(entry.times) };
        let bytes = argument(entry.size).saturating_mul(times);
        let has_status = entry.has_status != 0;
        let is_given = |given: &usize| if has_status { *given as u32 == 0 } else { *given != 0 };
        let (given, counts) = count(page, bytes, is_given, call);
        // The others count as reallocations.
        if entry.of == OF_RUST && entry.size == 0 && counts {
            page.anew.fetch_add(1, Relaxed);
        }
        given
    }

    macro_rules! hooks {
        ($($index:literal)*) => { [$(hook::<$index>),*] };
    }

    #[rustfmt::skip]
    static HOOKS: [Function; ENTRIES] = hooks! {
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    };
}
