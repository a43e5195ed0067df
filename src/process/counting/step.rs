//! The step of the counting clock. In a separate file, since the preloaded library includes it too.

/// Added by each clock reading, in ns: 69 seconds, longer than any harness warms up or waits, and more than the
/// instructions of a measurement under callgrind in half an hour. A number of 53 bits holds 100,000 readings.
pub const STEP: i64 = 1 << 36;
