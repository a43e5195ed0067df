//! How far the clock that counts goes on with each reading.

/// In ns: 69 seconds, longer than any harness warms up or waits, and more than a measurement under callgrind executes in
/// half an hour. In a number of 53 bits there is room for 100,000 readings.
pub const STEP: i64 = 1 << 36;
