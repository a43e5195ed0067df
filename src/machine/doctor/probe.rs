//! Tries out what no file reports: if CPU events can be counted, and the resolution of the clock.

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use crate::machine::root::Root;
use crate::model::Finding;

/// Checks if a process may count its own instructions here.
pub fn perf_events() -> Finding {
    perf_finding(&Root::new(Path::new("/")), open_counter())
}

pub(super) fn perf_finding(root: &Root<'_>, opened: io::Result<()>) -> Finding {
    const CHECK: &str = "perf-events";
    let error = match opened {
        Ok(()) => return Finding::ok(CHECK, "instructions can be counted"),
        Err(error) => error,
    };
    let paranoid = root.number("proc/sys/kernel/perf_event_paranoid");
    match (error.raw_os_error(), paranoid) {
        (Some(libc::EACCES | libc::EPERM), Some(level)) if level > 2 => Finding::user(
            CHECK,
            format!("forbidden (perf_event_paranoid is {level})"),
            "sudo sysctl kernel.perf_event_paranoid=2",
        ),
        (Some(libc::EACCES | libc::EPERM), _) => {
            Finding::never(CHECK, "forbidden", "the container does not allow perf_event_open")
        }
        (Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP), _) => {
            Finding::never(CHECK, "none", "the CPU, or the host, shows no counters")
        }
        _ => Finding::never(CHECK, "none", error.to_string()),
    }
}

/// `struct perf_event_attr` in its first version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
}

/// Opens a counter of this process's own instructions in user mode, and closes it.
#[expect(unsafe_code, reason = "the C library has no function for this system call")]
fn open_counter() -> io::Result<()> {
    /// `PERF_COUNT_HW_INSTRUCTIONS` of `PERF_TYPE_HARDWARE`.
    const INSTRUCTIONS: u64 = 1;
    /// `disabled`, `exclude_kernel` and `exclude_hv`.
    const FLAGS: u64 = 1 | 1 << 5 | 1 << 6;
    /// `PERF_FLAG_FD_CLOEXEC`.
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let size = u32::try_from(size_of::<Attributes>()).unwrap_or_default();
    let attributes =
        Attributes { size, config: INSTRUCTIONS, flags: FLAGS, ..Attributes::default() };
    let (own, any, no_group) = (0_i32, -1_i32, -1_i32);
    // SAFETY: the kernel reads `size` bytes of the attributes, and writes nothing.
    let file = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            own,
            any,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    let Ok(file @ 0..) = i32::try_from(file) else { return Err(io::Error::last_os_error()) };
    // SAFETY: the file was opened above, and no other code has it.
    unsafe { libc::close(file) };
    Ok(())
}

/// Measures the resolution of the clock that benchmarks read: the smallest of many steps.
pub fn clock_step() -> Finding {
    let mut least = Duration::MAX;
    for _ in 0..1000 {
        let start = Instant::now();
        let mut step = start.elapsed();
        while step.is_zero() {
            step = start.elapsed();
        }
        least = least.min(step);
    }
    clock_finding(least)
}

pub(super) fn clock_finding(step: Duration) -> Finding {
    const CHECK: &str = "clock-step";
    let found = format!("{} ns", step.as_nanos());
    if step > Duration::from_micros(1) {
        Finding::never(CHECK, found, "measurements must be long: use a larger --min-time")
            .that_matters()
    } else {
        Finding::ok(CHECK, found)
    }
}
