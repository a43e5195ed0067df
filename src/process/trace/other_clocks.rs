//! Clocks that do not stand still while the other version runs: the interleaving library replaces functions of the C library,
//! and a program can do without these.

use std::{collections::BTreeSet, io, ops::Range};

use rbench_code::impact::OtherClock;

use super::{
    breakpoints,
    clock::{WAITS, Wait},
    processor::{Registers, caller, program_counter, stack_pointer, system_call, unsigned},
    ptrace::{Memory, Tid},
};

/// The kernel's own function, which that of the C library calls. Those for `gettimeofday` and `time` are not watched: the
/// linker lets programs call them directly by the names of the C library, which are replaced.
const KERNEL_CLOCK: [&str; 2] = ["__vdso_clock_gettime", "__kernel_clock_gettime"];

/// Readings of the kernel's clock by the C library before no caller is looked for any more: each one stops the process.
const MOST_READINGS: u32 = 1_000;

/// The system calls that read a clock of the real world, if their first argument does not name a clock of CPU time.
const READINGS: &[libc::c_long] = &[
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
];

/// Where a program's clocks are, once it measures.
#[derive(Default)]
pub(super) struct OtherClocks {
    /// Instructions that read the processor's time-stamp counter.
    counter_reads: BTreeSet<u64>,
    /// Entries of the kernel's function that reads the clock.
    kernel_clock: BTreeSet<u64>,
    /// The code of the C library; empty if it is part of the executable, whose calls cannot be told from others then. Nor can
    /// such an executable load the interleaving library.
    c_library: Vec<Range<u64>>,
    /// The C library's function `syscall`, of which only waits for a futex are replaced.
    any_call: Vec<Range<u64>>,
    kernel: Vec<Range<u64>>,
    /// Number of readings of the kernel's clock by the C library.
    readings: u32,
}

/// What a breakpoint shows about clocks.
pub(super) enum Shown {
    /// The C library reads the clock: a function that is replaced was called.
    Replaced,
    /// The program reads a clock that does not stand still.
    Other(OtherClock),
    Nothing,
}

impl OtherClocks {
    pub(super) fn new(counter_reads: BTreeSet<u64>) -> Self {
        Self { counter_reads, ..Self::default() }
    }

    /// Finds them in a process that is about to measure. Returns the addresses for breakpoints.
    pub(super) fn find(&mut self, tid: Tid, memory: &Memory) -> impl Iterator<Item = u64> {
        self.c_library = breakpoints::code_of_c_library(tid);
        if !self.c_library.is_empty() {
            self.any_call = breakpoints::extents_in_c_library(tid, &["syscall"]);
            (self.kernel, self.kernel_clock) =
                breakpoints::functions_of_kernel(tid, memory, &KERNEL_CLOCK);
        }
        self.counter_reads.union(&self.kernel_clock).copied()
    }

    pub(super) fn at_breakpoint(
        &mut self,
        address: u64,
        memory: &Memory,
        registers: &Registers,
    ) -> io::Result<Shown> {
        if self.counter_reads.contains(&address) {
            return Ok(Shown::Other(OtherClock::Counter));
        }
        if !self.kernel_clock.contains(&address) {
            return Ok(Shown::Nothing);
        }
        let mut on_stack = [0; 8];
        memory.read(stack_pointer(registers), &mut on_stack)?;
        let from = unsigned(caller(registers).unwrap_or(u64::from_ne_bytes(on_stack)));
        if !is_in(&self.c_library, from) {
            return Ok(Shown::Other(OtherClock::KernelClock));
        }
        self.readings += 1;
        Ok(if self.readings < MOST_READINGS { Shown::Replaced } else { Shown::Nothing })
    }

    /// The clock by which a thread is about to make a system call, if that clock does not stand still.
    pub(super) fn before_call(&self, registers: &Registers) -> Option<OtherClock> {
        let number = libc::c_long::try_from(system_call(registers).0).ok()?;
        let from = program_counter(registers);
        let is_any_call = is_in(&self.any_call, from);
        let is_by_library = is_in(&self.c_library, from) && !is_any_call;
        let (is_replaced, otherwise) = if READINGS.contains(&number) {
            (is_by_library || is_in(&self.kernel, from), OtherClock::KernelClock)
        } else {
            let wait = WAITS.iter().find(|wait| wait.number == number)?;
            let is_replaced = match wait {
                Wait { number: libc::SYS_futex, .. } => is_any_call || is_by_library,
                Wait { number: libc::SYS_clock_nanosleep, .. } => is_by_library,
                _ => false,
            };
            (is_replaced, OtherClock::Deadline)
        };
        (!self.c_library.is_empty() && !is_replaced).then_some(otherwise)
    }
}

fn is_in(ranges: &[Range<u64>], address: u64) -> bool {
    ranges.iter().any(|range| range.contains(&address))
}
