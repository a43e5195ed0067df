//! What the rest of rbench must know about a harness.

use std::time::Duration;

use crate::model::Name;

/// The answers of a harness to everything by which harnesses differ outside of `src/harness/`.
#[derive(Clone, Copy, Debug)]
pub struct HarnessFacts {
    /// True if an execution takes a number of iterations for each measurement. Otherwise the harness finds its own.
    pub takes_iterations: bool,
    /// The measurements of an execution that finds the iterations; those of the request if absent.
    pub tuning_measurements: Option<usize>,
    /// True if one process can measure several benchmarks. Others cannot, or need the iterations found for each.
    pub executes_together: bool,
    /// True if the clock decides how much is executed, and a benchmark's own code can ask for more time than requested.
    pub may_ask_for_time: bool,
    /// The factor by which the processor seems slower to a traced execution.
    pub traced_slowness: u32,
    /// True if a benchmark that fails interleaved, and not alone, may succeed if it is interleaved again.
    pub may_fail_interleaved: bool,
    /// True if a benchmark's own set-up is executed again for each measurement.
    pub sets_up_each_measurement: bool,
    /// True if everything that the process does is measured, whether it reads the clock or not.
    pub measures_process: bool,
    /// True if the program's own readings of the clock are its measurements. The preloaded library records them.
    pub measures_readings: bool,
    /// True for a benchmark whose instructions can be counted by function.
    pub can_be_profiled: fn(&Name) -> bool,
    /// The number of measurements and the minimum time of an execution that counts instructions.
    pub counting_instructions: (usize, Duration),
    /// The number of measurements of an execution that counts allocations, and their iterations.
    pub counting_allocations: (usize, Option<u64>),
}

impl HarnessFacts {
    /// The answers of a harness about which nothing special is known.
    pub const DEFAULT: Self = Self {
        takes_iterations: false,
        tuning_measurements: None,
        executes_together: false,
        may_ask_for_time: false,
        traced_slowness: 1,
        may_fail_interleaved: false,
        sets_up_each_measurement: false,
        measures_process: false,
        measures_readings: false,
        can_be_profiled: |_| true,
        counting_instructions: (3, Duration::ZERO),
        counting_allocations: (1, None),
    };
}
