//! What the kernel's account of a whole program shows about measuring it at once with the other version, on one CPU. Pure.

use std::{mem, time::Duration};

use crate::model::{AtEnd, Execution, Incident, InterleavingUnavailable, Resources};

/// A program computes alone, one thread at a time, if its CPU time is at least this share of its run time, and at most
/// [`MOST`].
const LEAST: f64 = 0.95;
/// See [`LEAST`].
const MOST: f64 = 1.05;
/// A difference below this only starts and ends the process.
const LITTLE: Duration = Duration::from_millis(1);

/// Why a program cannot run at once with another one, by executions of it alone, of which there is at least one.
pub(super) fn unavailable_by(alone: &[Resources]) -> Option<InterleavingUnavailable> {
    let found: Vec<Found> = alone.iter().map(Found::by).collect();
    let has = |one: Found| found.contains(&one);
    if has(Found::Unknown) {
        Some(InterleavingUnavailable::UnknownProgram)
    } else if has(Found::Processes) {
        Some(InterleavingUnavailable::StartsProcesses)
    } else if has(Found::Parallel) {
        Some(InterleavingUnavailable::Parallel)
    } else if has(Found::Computes) || has(Found::OneAtATime) {
        None
    } else if has(Found::WaitsOrThreads) {
        Some(InterleavingUnavailable::Parallel)
    } else {
        Some(InterleavingUnavailable::Waits)
    }
}

/// True if another execution would hardly show something else than this one.
pub(super) fn is_certain(alone: &Resources) -> bool {
    match Found::by(alone) {
        Found::Unknown | Found::Processes | Found::Parallel | Found::Computes => true,
        // The first one may wait for its file from the disk, the host of a virtual machine takes time that the kernel does
        // not show, and threads may happen to run one after the other.
        Found::OneAtATime | Found::WaitsOrThreads | Found::Waits => false,
    }
}

/// True if one version waits longer than the other by more than a small part of its run time, which CPU time does not show,
/// by executions of each alone; `None` if more executions are needed. One execution of the version that waits less does not
/// count, since it may have waited for its file from the disk.
pub(super) fn waits_differ(alone: &[Vec<Resources>; 2]) -> Option<bool> {
    /// Less hardly matters beside the smallest change of interest, which is 1 % by default.
    const PART: f64 = 0.002;
    /// With fewer of each version, one that does not count leaves too little.
    const FEWEST: usize = 3;
    /// By chance, eight wait longer than seven of eight others in one of 715 cases.
    const ENOUGH: usize = 8;
    let shortest = alone.iter().flatten().map(|one| one.wall).min().unwrap_or_default();
    let part = shortest.mul_f64(PART);
    let mut waits = alone.each_ref().map(|alone| alone.iter().map(waited).collect::<Vec<_>>());
    if waits.iter().flatten().all(|wait| *wait <= part) {
        return Some(false);
    }
    let fewest = waits.iter().map(Vec::len).min().unwrap_or_default();
    if fewest < FEWEST {
        return None;
    }
    for waits in &mut waits {
        waits.sort_unstable();
    }
    let [base, head] = &waits;
    let is_longer = |longer: &[Duration], shorter: &[Duration]| {
        longer[0].saturating_sub(shorter[shorter.len() - 2]) > part
    };
    // More executions could only bring them nearer.
    let differ = is_longer(base, head) || is_longer(head, base);
    (!differ || fewest >= ENOUGH).then_some(differ)
}

/// The time in which a process neither had a CPU nor was ready to use one.
fn waited(resources: &Resources) -> Duration {
    let queued = resources.at_end.map_or(Duration::ZERO, |end| end.queued);
    resources.wall.saturating_sub(queued).saturating_sub(resources.cpu())
}

/// What an execution alone has shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The kernel shows nothing.
    Unknown,
    Processes,
    /// Threads computed at the same time.
    Parallel,
    /// Its first thread computed all the time.
    Computes,
    /// Several threads computed, and hardly any two at the same time.
    OneAtATime,
    /// It waited, or threads other than the first were ready to run while others used the CPU, which is unknown of them.
    WaitsOrThreads,
    Waits,
}

impl Found {
    fn by(resources: &Resources) -> Self {
        let Some(AtEnd { first_thread, queued, had_children }) = resources.at_end else {
            return Self::Unknown;
        };
        // Without the time in which others had its CPU.
        let (own, cpu) = (resources.wall.saturating_sub(queued), resources.cpu());
        let has_threads = cpu.saturating_sub(first_thread) > LITTLE;
        if had_children {
            Self::Processes
        } else if cpu > own.mul_f64(MOST) && cpu.saturating_sub(own) > LITTLE {
            Self::Parallel
        } else if cpu < own.mul_f64(LEAST) && own.saturating_sub(cpu) > LITTLE {
            if has_threads { Self::WaitsOrThreads } else { Self::Waits }
        } else if has_threads {
            Self::OneAtATime
        } else {
            Self::Computes
        }
    }
}

/// The switches between two programs that ran at once, in the execution of one of them, or the reason why it does not
/// count. Its wall time does not show whether it waits.
pub(super) fn switches(execution: &mut Execution) -> Result<u64, InterleavingUnavailable> {
    let AtEnd { had_children, .. } =
        execution.resources.at_end.ok_or(InterleavingUnavailable::UnknownProgram)?;
    let is_left = |incident: &Incident| matches!(incident, Incident::LeftBehind(_));
    if had_children || execution.incidents.iter().any(is_left) {
        return Err(InterleavingUnavailable::StartsProcesses);
    }
    // The kernel does not count separately how often it preempted a program for a third one.
    Ok(mem::take(&mut execution.resources.involuntary_switches))
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;
    use crate::model::testing;

    /// The resources of a program, in milliseconds of wall time, CPU time and queueing.
    fn used(wall: u64, cpu: u64, queued: u64, had_children: bool) -> Resources {
        let [wall, user, queued] = [wall, cpu, queued].map(Duration::from_millis);
        let at_end = Some(AtEnd { first_thread: user, queued, had_children });
        Resources { wall, user, at_end, ..testing::resources() }
    }

    #[test]
    fn program_runs_at_once_if_it_computes_alone() {
        use InterleavingUnavailable::{Parallel, StartsProcesses, UnknownProgram, Waits};
        for (resources, expected) in [
            (used(100, 96, 0, false), None),
            (used(100, 60, 39, false), None),
            (used(100, 94, 0, false), Some(Waits)),
            (used(100, 60, 30, false), Some(Waits)),
            (used(100, 105, 0, false), None),
            (used(100, 107, 0, false), Some(Parallel)),
            (used(100, 99, 0, true), Some(StartsProcesses)),
            (used(100, 150, 0, true), Some(StartsProcesses)),
            // Starting and ending takes as long.
            (used(2, 1, 0, false), None),
            (testing::resources(), Some(UnknownProgram)),
        ] {
            assert_eq!(unavailable_by(slice::from_ref(&resources)), expected, "{resources:?}");
        }
    }

    #[test]
    fn several_executions_show_what_one_may_hide() {
        use InterleavingUnavailable::{Parallel, Waits};
        let with_threads =
            |cpu| Resources { user: Duration::from_millis(cpu), ..used(100, 1, 0, false) };
        let (waits, computes) = (used(100, 50, 0, false), used(100, 99, 0, false));
        let (parallel, one_at_a_time, unknown) =
            (with_threads(150), with_threads(99), with_threads(50));
        for (certain, all) in [
            (true, [&parallel, &computes]),
            (false, [&one_at_a_time, &waits]),
            (false, [&unknown; 2]),
        ] {
            assert!(all.into_iter().all(|alone| is_certain(alone) == certain));
        }
        assert!(is_certain(&used(100, 99, 0, true)) && is_certain(&testing::resources()));
        for (alone, expected) in [
            ([&waits, &waits, &computes], None),
            ([&waits, &waits, &waits], Some(Waits)),
            ([&one_at_a_time, &one_at_a_time, &one_at_a_time], None),
            ([&one_at_a_time, &unknown, &parallel], Some(Parallel)),
            ([&unknown, &one_at_a_time, &unknown], None),
            ([&unknown, &waits, &unknown], Some(Parallel)),
        ] {
            assert_eq!(unavailable_by(&alone.map(Clone::clone)), expected);
        }
    }

    #[test]
    fn waits_differ_if_all_of_a_version_are_longer() {
        let differ = |waits: [&[u64]; 2]| {
            let used = |wait: &u64| used(107 + *wait, 100, 7, false);
            waits_differ(&waits.map(|waits| waits.iter().map(used).collect()))
        };
        let (none, some) = (&[0; 8][..], &[4, 5, 4, 3, 9, 4, 4, 4][..]);
        assert_eq!(differ([none, some]), Some(true), "a wait is added");
        assert_eq!(differ([some, none]), Some(true), "a wait is removed");
        assert_eq!(differ([&[0, 0, 9, 0, 0, 0, 0, 0], some]), Some(true), "the disk was slow once");
        assert_eq!(
            differ([some, &[10, 9, 10, 10, 9, 9, 9, 9]]),
            Some(true),
            "a wait becomes longer"
        );
        assert_eq!(differ([&[0], &[0]]), Some(false), "one execution of each is enough");
        assert_eq!(differ([&[0], &[4]]), None);
        assert_eq!(differ([&[4], &[4]]), None, "the first one may have waited for the disk");
        assert_eq!(differ([&[0; 3], &[4; 3]]), None);
        assert_eq!(differ([&[4; 3], &[4; 3]]), Some(false), "both wait");
        assert_eq!(differ([&[0, 5, 4], &[4, 5, 3]]), Some(false), "chance");
        let long = |wait: u64| used(100_000 + wait, 100_000, 0, false);
        assert_eq!(waits_differ(&[vec![long(0)], vec![long(150)]]), Some(false));
    }

    #[test]
    fn switches_are_those_between_the_versions() {
        use InterleavingUnavailable::{StartsProcesses, UnknownProgram};
        let execution = |resources, incidents| Execution {
            resources: Resources { involuntary_switches: 20, ..resources },
            incidents,
            ..testing::execution(testing::request(), Vec::new())
        };
        let mut at_once = execution(used(200, 100, 90, false), Vec::new());
        assert_eq!(switches(&mut at_once), Ok(20));
        assert_eq!(at_once.resources.involuntary_switches, 0);
        let left = vec![Incident::LeftBehind(vec!["server".to_owned()])];
        for (resources, incidents, expected) in [
            (used(200, 100, 90, false), left, StartsProcesses),
            (used(200, 100, 90, true), Vec::new(), StartsProcesses),
            (testing::resources(), Vec::new(), UnknownProgram),
        ] {
            assert_eq!(switches(&mut execution(resources, incidents)), Err(expected));
        }
    }
}
