//! Gives each thread of the process a CPU, in turn.
//!
//! The kernel chooses a CPU for a thread when it starts or wakes up, and often keeps it for many time slices. If two workers of
//! a pool share a CPU, the pool takes twice as long for tens of milliseconds, in one version and not in the other; some
//! processes stay so until they end. With fixed CPUs, both versions have the same ones.
//!
//! A thread that is not started by libc has the CPU of the one that starts it. Where the program chooses CPUs itself, it has
//! these.

use core::{
    ffi::{c_int, c_void},
    mem::{size_of_val, transmute},
    ptr::{addr_of, addr_of_mut},
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed},
    },
};

use super::{page::Page, system::*, threads, PAGE};

/// The words of libc's `pthread_attr_t`.
#[cfg(target_arch = "x86_64")]
const WORDS: usize = 7;
#[cfg(target_arch = "aarch64")]
const WORDS: usize = 8;

type Attributes = [usize; WORDS];
/// A set of CPUs, as in the page.
type Cpus = [u64; 16];
type Create =
    unsafe extern "C" fn(*mut c_void, *const c_void, *const c_void, *mut c_void) -> c_int;
type Prepare = unsafe extern "C" fn(*mut Attributes) -> c_int;
type GetCpus = unsafe extern "C" fn(*const c_void, usize, *mut Cpus) -> c_int;
type SetCpus = unsafe extern "C" fn(*mut Attributes, usize, *const Cpus) -> c_int;

static CREATE: Hidden = Hidden::new(b"pthread_create\0");
static INIT: Hidden = Hidden::new(b"pthread_attr_init\0");
static DESTROY: Hidden = Hidden::new(b"pthread_attr_destroy\0");
static GET_CPUS: Hidden = Hidden::new(b"pthread_attr_getaffinity_np\0");
static SET_CPUS: Hidden = Hidden::new(b"pthread_attr_setaffinity_np\0");

static STARTED: AtomicU32 = AtomicU32::new(0);

extern "C" {
    fn sched_setaffinity(process: c_int, size: usize, cpus: *const Cpus) -> c_int;
}

/// Prepares a process whose threads are to be stopped, and gives the first thread the first CPU if each is to have one.
/// Where that fails, it keeps all.
pub fn prepare(page: &Page) {
    // Their first use would take a lock of the loader, which a stopped thread may hold.
    for function in [&CREATE, &INIT, &DESTROY, &GET_CPUS, &SET_CPUS] {
        function.get();
    }
    if page.places_threads.load(Relaxed) == 0 {
        return;
    }
    let cpus = only(page, 0);
    // SAFETY: the set is as large as it says.
    unsafe { sched_setaffinity(0, size_of_val(&cpus), &cpus) };
}

/// The CPU that is number `index` of those that the process may use, counted in a circle.
fn only(page: &Page, index: u32) -> Cpus {
    let all = || page.cpus.iter().map(|word| word.load(Relaxed));
    let count: u32 = all().map(u64::count_ones).sum();
    let mut before = index % count.max(1);
    let mut one = [0; 16];
    for (word, own) in all().zip(&mut one) {
        for bit in (0..64).map(|shift| 1_u64 << shift).filter(|bit| word & bit != 0) {
            if before == 0 {
                *own = bit;
                return one;
            }
            before -= 1;
        }
    }
    one
}

/// Copies the attributes of a new thread, and adds the next CPU. False if the thread is to be started with its own: the
/// library places no threads here, the program has chosen CPUs, or libc cannot do it.
unsafe fn with_next_cpu(given: *const c_void, own: &mut Attributes) -> bool {
    let page = PAGE.load(Acquire);
    let functions = [&INIT, &DESTROY, &GET_CPUS, &SET_CPUS];
    // SAFETY: the mapping lasts as long as the process.
    if page.is_null()
        || unsafe { &*page }.places_threads.load(Relaxed) == 0
        || !threads::is_active()
        || functions.iter().any(|one| one.get().is_null())
    {
        return false;
    }
    // SAFETY: libc has functions of these names and types, and the caller's attributes have the size of ours.
    unsafe {
        if given.is_null() {
            let init: Prepare = transmute(INIT.get());
            if init(own) != 0 {
                return false;
            }
        } else {
            let get: GetCpus = transmute(GET_CPUS.get());
            let mut chosen: Cpus = [0; 16];
            // All bits are set if there are none.
            if get(given, size_of_val(&chosen), &mut chosen) != 0 || chosen != [u64::MAX; 16] {
                return false;
            }
            *own = *given.cast();
        }
        let before = *own;
        let set: SetCpus = transmute(SET_CPUS.get());
        let cpus = only(&*page, STARTED.fetch_add(1, Relaxed).wrapping_add(1));
        if set(own, size_of_val(&cpus), &cpus) != 0 {
            return false;
        }
        // The set is in memory of its own, unless the attributes already had some, which the copy shares.
        let is_shared = *own == before;
        if is_shared {
            set(own, 0, addr_of!(cpus));
        }
        !is_shared
    }
}

#[no_mangle]
unsafe extern "C" fn pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    start: *const c_void,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: libc has functions of these names and types, and the arguments are the caller's.
    unsafe {
        let create: Create = transmute(CREATE.get());
        let mut own: Attributes = [0; WORDS];
        if with_next_cpu(attributes, &mut own) {
            let status = threads::during_start(|| {
                create(thread, addr_of!(own).cast(), start, argument)
            });
            let destroy: Prepare = transmute(DESTROY.get());
            destroy(addr_of_mut!(own));
            // The CPU may be gone.
            if status == 0 {
                return status;
            }
        }
        create(thread, attributes, start, argument)
    }
}
