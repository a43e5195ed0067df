//! A benchmark that is measured, and when its iterations are found anew.

use std::cmp::Ordering;

use crate::{
    harness::{Executable, Harness},
    model::{Benchmark, ExecutionRequest},
};

/// A benchmark that is measured.
pub(super) struct Subject<'v> {
    /// The benchmark.
    pub(super) benchmark: Benchmark,
    /// What runs it.
    pub(super) harness: &'v dyn Harness,
    /// What each execution is asked to do, but for the initial state.
    pub(super) request: ExecutionRequest,
    /// For each version, the executable of each build.
    pub(super) executables: Vec<Vec<Executable>>,
    /// Decides whether iterations are found anew while this stage is measured.
    pub(super) retuning: Retuning,
}

impl Subject<'_> {
    /// Why the benchmark's harness cannot do all that is requested, if so.
    pub(super) fn note(&self) -> Option<String> {
        self.harness.note(&self.request)
    }
}

/// Decides whether a benchmark's iterations are to be found anew in a stage.
///
/// All versions share them. Where versions differ so much that no number suits all, the slowest decides: a
/// difference of that size shows in short measurements too, and to measure could take hours otherwise.
#[derive(Debug, Default)]
pub(super) struct Retuning {
    /// Whether something was measured, so that more iterations may be too many for another version.
    is_settled: bool,
}

impl Retuning {
    /// Whether iterations are to be found anew after measurements that lasted so long against the floor.
    pub(super) fn is_needed(&mut self, compared_with_floor: Ordering) -> bool {
        let was_settled = std::mem::replace(&mut self.is_settled, true);
        match compared_with_floor {
            Ordering::Less => !was_settled,
            Ordering::Equal => false,
            Ordering::Greater => true,
        }
    }

    /// From now on iterations only fall.
    pub(super) fn settle(&mut self) {
        self.is_settled = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_raised_only_in_the_beginning_and_lowered_whenever_they_are_too_many() {
        use Ordering::{Equal, Greater, Less};
        let needed = |lasted: &[Ordering]| {
            let mut retuning = Retuning::default();
            lasted.iter().map(|lasted| retuning.is_needed(*lasted)).collect::<Vec<_>>()
        };
        assert_eq!(needed(&[Less, Less]), [true, false]);
        assert_eq!(needed(&[Equal, Less]), [false, false]);
        assert_eq!(needed(&[Less, Greater, Less]), [true, true, false]);
        assert_eq!(needed(&[Greater, Less, Equal, Greater]), [true, false, false, true]);
    }
}
