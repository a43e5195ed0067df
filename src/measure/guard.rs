//! Guards the change of an interleaved benchmark against distortion.
//!
//! Both versions use the caches of one CPU. At the beginning of a slice, a version finds the data of the other one there. Where
//! its own data are large, it then takes several times as long as alone, and the other version may not. If there is a
//! reason to suspect this, the pairs that follow alternate with executions of each version alone, and these decide
//! (`crates/rbench-stats/src/interference.rs`, docs/research/interleaving.md).

use rbench_code::impact::Needs;
use rbench_stats::interference::{Demand, Interference, REPORTED, SlowDowns, interference};

use crate::model::Threads;

/// Processes of this peak memory in bytes could fill a cache that cores share. They need some for their program and its
/// libraries.
pub(super) const LARGE: u64 = 10 << 20;

/// What is known of the time of a benchmark alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// The time of each version in ns, known from executions that were not made for this comparison: under a tracer, in
    /// another layout, minutes ago. A reason to look, and no more.
    pub(super) hints: [Option<f64>; 2],
    state: State,
}

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Unsuspicious,
    /// Each pair of executions comes after one of each version alone, and had these slow-downs.
    Looking(Vec<SlowDowns>),
    Settled,
}

impl Guard {
    pub(super) fn new(needs: &[Needs; 2]) -> Self {
        let hints = needs.each_ref().map(|needs| needs.median_iteration);
        let mut guard = Self { hints, state: State::default() };
        if needs.iter().any(|needs| needs.memory >= Some(LARGE)) {
            guard.look_anew();
        }
        guard
    }

    /// True if each version must be executed alone before the next pair.
    pub(super) const fn is_looking(&self) -> bool {
        matches!(self.state, State::Looking(_))
    }

    /// Looks from now on, as the benchmark is interleaved in another way than before.
    pub(super) fn look_anew(&mut self) {
        self.state = State::Looking(Vec::new());
    }

    /// Forgets all but the hints.
    pub(super) fn forget(&mut self) {
        self.state = State::default();
    }

    /// Notes the times of both versions interleaved in ns, and alone if they were executed so directly before. Returns the
    /// interference that is shown now.
    pub(super) fn note(
        &mut self,
        interleaved: [f64; 2],
        alone: Option<[f64; 2]>,
        memory: Option<u64>,
        threads: Threads,
    ) -> Interference {
        let slow_downs = |alone: [f64; 2]| -> SlowDowns {
            [0, 1].map(|version| (interleaved[version] / alone[version]).ln())
        };
        match (&mut self.state, alone) {
            (State::Looking(all), Some(alone)) => {
                all.push(slow_downs(alone));
                let demand = if memory >= Some(LARGE) { Demand::Some } else { Demand::Much };
                let found = interference(all, most_slower(threads), demand);
                if found != Interference::Undecided {
                    self.state = State::Settled;
                }
                return found;
            }
            // It cannot be executed alone: its next executions show why.
            (State::Looking(_), None) => self.state = State::Settled,
            (State::Unsuspicious, _) => {
                let hinted = match self.hints {
                    [Some(base), Some(head)] => Some(slow_downs([base, head])),
                    _ => None,
                };
                let is_sign = |slow_downs| is_sign(slow_downs, threads);
                if memory.is_none_or(|memory| memory >= LARGE) || hinted.is_none_or(is_sign) {
                    self.look_anew();
                }
            }
            (State::Settled, _) => {}
        }
        Interference::Undecided
    }
}

/// True if slow-downs are a reason to look: one version was slowed down more than the other, or both by more than is accepted.
fn is_sign([base, head]: SlowDowns, threads: Threads) -> bool {
    (base - head).abs() > REPORTED.ln() || f64::midpoint(base, head) > most_slower(threads).ln()
}

/// How much slower both versions of a benchmark may be interleaved than alone, as a factor. Their ratio stays the same if
/// all of their time grows by it. If only waiting for memory does, a change elsewhere is shown as smaller: on one CPU, as
/// four fifths of its size at worst.
const fn most_slower(threads: Threads) -> f64 {
    match threads {
        Threads::Together => 1.25,
        // Some pools are faster alone, where the kernel happens to run all their threads on one CPU. Beside a program that
        // used one CPU, some benchmarks took 3 to 6 times as long as alone.
        Threads::Placed => 1.5,
        // These must get a CPU again in each slice. Where other programs wanted one, they took up to half as long again, in
        // both versions, and changes were shown as large as they were.
        Threads::Free => 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Option<u64> = Some(LARGE - 1);

    fn guard(hints: [f64; 2]) -> Guard {
        let needs =
            |time| Needs { median_iteration: Some(time), memory: SMALL, ..Needs::default() };
        Guard::new(&hints.map(needs))
    }

    #[test]
    fn guard_looks_only_if_there_is_a_reason() {
        let looks = |mut guard: Guard, interleaved, memory| {
            guard.note(interleaved, None, memory, Threads::Together);
            guard.is_looking()
        };
        let usual = || guard([100.0, 200.0]);
        assert!(!usual().is_looking());
        assert!(!looks(usual(), [105.0, 210.0], SMALL));
        assert!(looks(usual(), [105.0, 240.0], SMALL), "the slower one is slower than alone");
        assert!(looks(usual(), [120.0, 200.0], SMALL), "the faster one is slower than alone");
        assert!(looks(usual(), [95.0, 215.0], SMALL), "the ratio is another one");
        assert!(!looks(usual(), [120.0, 240.0], SMALL), "both are as much slower as is accepted");
        assert!(looks(usual(), [130.0, 260.0], SMALL), "both are slower");
        assert!(looks(usual(), [100.0, 200.0], Some(LARGE)), "it may need the caches");
        assert!(looks(Guard::default(), [100.0, 200.0], SMALL), "nothing is known");
        let large = Needs { memory: Some(LARGE), ..Needs::default() };
        assert!(Guard::new(&[Needs::default(), large]).is_looking());
    }

    #[test]
    fn guard_decides_by_alternations_and_then_rests() {
        use Interference::{Asymmetric, Undecided};
        let mut guard = guard([100.0, 200.0]);
        let (interleaved, alone) = ([100.0, 400.0], Some([100.0, 200.0]));
        let mut note = |alone| guard.note(interleaved, alone, SMALL, Threads::Together);
        let found = [None, alone, alone, alone, alone].map(&mut note);
        assert_eq!(found, [Undecided, Undecided, Undecided, Asymmetric, Undecided]);
        assert!(!guard.is_looking());
        guard.look_anew();
        assert!(guard.is_looking());
    }

    #[test]
    fn guard_accepts_more_of_threads_in_both_versions() {
        let found = |threads| {
            let mut guard = Guard::default();
            guard.look_anew();
            let mut note = || guard.note([190.0; 2], Some([100.0; 2]), SMALL, threads);
            [note(), note(), note()][2]
        };
        assert_eq!(found(Threads::Together), Interference::Slower);
        assert_eq!(found(Threads::Free), Interference::Undecided);
    }

    #[test]
    fn guard_rests_if_a_version_cannot_be_executed_alone() {
        let mut guard = Guard::default();
        guard.look_anew();
        guard.note([1.0; 2], None, SMALL, Threads::Together);
        assert!(!guard.is_looking());
    }
}
