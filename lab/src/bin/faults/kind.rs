//! The faults of a benchmark's process, with the expected reports. The fixture `faults` commits
//! them.

use cargo_rbench::model::InterleavingUnavailable;
use rbench_stats::Random;

#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    share: usize,
    /// True if the execution may give measurements.
    pub may_measure: bool,
    /// The expected texts of a failure: one of these.
    pub failures: &'static [&'static str],
    /// The expected reasons why the benchmark is not interleaved.
    pub obstacles: &'static [InterleavingUnavailable],
    /// The latest time after the start of its process, in µs.
    latest: usize,
    /// True if it lets the process run to its deadline.
    pub is_slow: bool,
    /// True if it leaves processes behind that survive when rbench is killed.
    pub leaves_processes: bool,
}

const TOO_LONG: &[&str] = &["it was still running after"];
const NO_RESULT: &[&str] = &["it exited with success but wrote no result"];
const STATUS: &[&str] = &["it exited with status 1"];

/// While the harness still measures: an execution has 2 ms of its own time as warm-up.
const WITHIN: usize = 1_500;
/// At any time, or after the end.
const ANY_TIME: usize = 20_000;

const fn failing(name: &'static str, share: usize, failures: &'static [&'static str]) -> Kind {
    Kind {
        name,
        share,
        may_measure: false,
        failures,
        obstacles: &[],
        latest: WITHIN,
        is_slow: false,
        leaves_processes: false,
    }
}

/// A kind that still measures, perhaps not interleaved.
const fn measuring(
    name: &'static str,
    share: usize,
    obstacles: &'static [InterleavingUnavailable],
) -> Kind {
    Kind { may_measure: true, obstacles, ..failing(name, share, &[]) }
}

const CHILDREN: &[InterleavingUnavailable] = &[InterleavingUnavailable::ChildProcesses];

/// No fault.
pub const NONE: Kind = measuring("none", 0, &[]);

pub const ALL: [Kind; 25] = [
    failing("abort", 6, &["it was killed by signal 6"]),
    failing("segfault", 6, &["it was killed by signal 11"]),
    failing("panic", 6, &["as the file says"]),
    failing("exit-0", 6, NO_RESULT),
    failing("exit-1", 6, STATUS),
    failing("exit-in-thread", 6, STATUS),
    failing("_exit", 6, NO_RESULT),
    failing("becomes", 4, NO_RESULT),
    measuring("_exit-after", 6, &[InterleavingUnavailable::EndsOtherwise]),
    measuring("sleep", 6, &[]),
    Kind { leaves_processes: true, ..measuring("forks", 4, CHILDREN) },
    measuring("executes", 4, CHILDREN),
    Kind { leaves_processes: true, ..measuring("daemon", 8, CHILDREN) },
    measuring("clocks", 4, &[]),
    measuring("pool", 4, &[]),
    measuring("busy-thread", 4, &[]),
    measuring("no-clock", 4, &[InterleavingUnavailable::NoClock]),
    measuring("other-clock", 4, &[InterleavingUnavailable::OtherClock]),
    Kind {
        latest: ANY_TIME,
        failures: &["it was killed by signal 9"],
        ..measuring("killed", 12, &[InterleavingUnavailable::EndsOtherwise])
    },
    Kind {
        latest: ANY_TIME,
        failures: &["it was killed by signal 15"],
        ..measuring("ended", 8, &[InterleavingUnavailable::EndsOtherwise])
    },
    Kind {
        latest: ANY_TIME,
        leaves_processes: true,
        ..measuring("stopped-for-a-while", 6, CHILDREN)
    },
    Kind { is_slow: true, ..failing("loop", 3, TOO_LONG) },
    Kind { is_slow: true, ..failing("sleep-long", 3, TOO_LONG) },
    Kind { is_slow: true, ..failing("blocked", 3, TOO_LONG) },
    Kind {
        is_slow: true,
        latest: ANY_TIME,
        failures: TOO_LONG,
        ..measuring("stopped-any-time", 1, &[InterleavingUnavailable::EndsOtherwise])
    },
];

#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kind: &'static Kind,
    /// In µs after the start of the process.
    pub after: usize,
}

impl Fault {
    pub const NONE: Self = Self { kind: &NONE, after: 0 };

    fn draw(random: &mut Random, wanted: impl Fn(&Kind) -> bool) -> Self {
        let of_share = |kind: &'static Kind| std::iter::repeat_n(kind, kind.share);
        let all: Vec<_> = ALL.iter().filter(|kind| wanted(kind)).flat_map(of_share).collect();
        let kind = all[random.below(all.len())];
        Self { kind, after: random.below(kind.latest) }
    }

    /// Draws faults of base and head; mostly only one version has one.
    pub fn draw_pair(random: &mut Random, wanted: impl Fn(&Kind) -> bool) -> [Self; 2] {
        let (one, other) = (Self::draw(random, &wanted), Self::draw(random, &wanted));
        match random.below(5) {
            0 | 1 => [one, Self::NONE],
            2 | 3 => [Self::NONE, other],
            _ => [one, other],
        }
    }
}

/// The fixture's file of faults; with `once`, they come in one process only.
pub fn file([base, head]: &[Fault; 2], once: bool) -> String {
    let once = if once { " once" } else { "" };
    let line =
        |version, fault: &Fault| format!("{version} {} {}{once}\n", fault.kind.name, fault.after);
    line("BASE", base) + &line("HEAD", head)
}
