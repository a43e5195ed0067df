//! The length of the time slices in which a benchmark is interleaved.
//!
//! Slices become longer where the [guard](super::guard) finds that the versions disturb each other in the caches
//! (docs/research/interleaving.md).

use std::time::Duration;

use crate::{
    model::{Execution, ExecutionRequest, Threads},
    process::interleaving::SLICE,
};

/// The lengths of slices, in the order in which they are tried. With longer ones, the disturbances of both versions are
/// less alike.
const SLICES: [Duration; 3] = [SLICE, Duration::from_millis(5), Duration::from_millis(25)];

/// The next longer slices, if there are any.
pub(super) fn longer_slice(slice: Duration) -> Option<Duration> {
    SLICES.into_iter().find(|longer| *longer > slice)
}

/// The request of an execution in slices of this length: with more measurements, if those requested would fill too few
/// slices. `iteration` is the time of one iteration, or 0 if it is unknown.
pub(super) fn in_slices(
    slice: Duration,
    request: &ExecutionRequest,
    iteration: Duration,
) -> ExecutionRequest {
    /// With fewer slices, the disturbances of both versions would not be alike.
    const FEWEST: u32 = 3;
    let each = request.min_time.max(iteration).as_nanos().max(1);
    let needed = slice.saturating_mul(FEWEST).as_nanos().div_ceil(each);
    let measurements = request.measurements.max(usize::try_from(needed).unwrap_or(usize::MAX));
    ExecutionRequest { measurements, ..request.clone() }
}

/// The length of the slices of an earlier interleaved execution, by how often it handed over.
pub(super) fn slice_of(execution: &Execution) -> Option<Duration> {
    let (threads, passed) = execution.schedule.interleaved()?;
    let measurements = u64::try_from(execution.measurements()).unwrap_or(u64::MAX);
    let mean = execution.measured_time() / u32::try_from(passed).unwrap_or(u32::MAX).max(1);
    let [shortest, longer, longest] = SLICES;
    // Where each measurement is longer than a slice, longer slices that end with each measurement have the same effect. The
    // last measurement of a slice makes it longer, up to twice as long.
    let ends_with_each = passed.saturating_mul(4) >= measurements.saturating_mul(3);
    if threads == Threads::Together && (ends_with_each || mean <= 2 * shortest) {
        return Some(shortest);
    }
    Some(if mean <= 2 * longer { longer } else { longest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Metric, Schedule, Series,
        testing::{execution, request},
    };

    #[test]
    fn slices_of_earlier_executions_are_known_by_how_often_they_ended() {
        // Eighty measurements of a length in ms.
        let of = |passed, length: f64| {
            let series = Series {
                metric: Metric::wall(),
                values: vec![length * 1e6; 80],
                iterations: vec![1; 80],
                resolution: 0.0,
            };
            let schedule = Schedule::Interleaved(passed);
            slice_of(&Execution { schedule, ..execution(request(), vec![series]) })
        };
        assert_eq!(of(84, 1.0), Some(SLICE));
        assert_eq!(of(21, 0.3), Some(SLICE), "24 ms in slices of 1");
        assert_eq!(of(82, 30.0), Some(SLICE));
        assert_eq!(of(18, 1.0), Some(SLICES[1]), "80 ms in slices of 5");
        assert_eq!(of(43, 3.0), Some(SLICES[1]), "each ends after two measurements");
        assert_eq!(of(4, 1.0), Some(SLICES[2]), "80 ms and a warm-up in slices of 25");
        assert_eq!(of(22, 6.0), Some(SLICES[2]));
        assert_eq!(of(6, 0.3), Some(SLICES[1]), "24 ms and a warm-up in slices of 5");
        let alone = execution(request(), Vec::new());
        assert_eq!(slice_of(&alone), None);
        let schedule = Schedule::InterleavedThreads(84);
        assert_eq!(slice_of(&Execution { schedule, ..alone }), Some(SLICES[1]));
    }

    #[test]
    fn executions_fill_at_least_three_slices() {
        let asked = ExecutionRequest {
            measurements: 80,
            min_time: Duration::from_micros(300),
            ..request()
        };
        let of = |slice, iteration| in_slices(slice, &asked, iteration).measurements;
        assert_eq!([SLICE, SLICES[1]].map(|slice| of(slice, Duration::ZERO)), [80, 80], "24 ms");
        assert_eq!(of(SLICES[2], Duration::ZERO), 250, "75 ms");
        assert_eq!(of(SLICES[2], Duration::from_micros(500)), 150);
        assert_eq!(of(SLICES[2], Duration::from_millis(2)), 80, "long iterations fill them");
    }
}
