//! Processes that take turns, and processes whose partner does not.

mod own_time;

use std::{
    fs,
    process::{Child, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

use tempfile::TempDir;

use super::*;
use crate::process::{
    Ending, Interrupt, Invocation, Limits,
    run::{Pinned, cpus, run},
    testing::compile,
};

/// The library, and a program that reads the clock until 60 ms have gone by, or as many as it is told, and then
/// prints how long a message took that never came, for which it waited at most 20 ms, what its directory has, on
/// how many CPUs it may run, and of which file its code is in memory.
struct Built {
    directory: TempDir,
}

const PROGRAM: &str = r#"
use std::{sync::mpsc::channel, time::{Duration, Instant}};
unsafe extern "C" {
    fn sched_getaffinity(process: i32, bytes: usize, mask: *mut u64) -> i32;
}
fn main() {
    let milliseconds = std::env::args().nth(1).map_or(60, |given| given.parse().unwrap());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(milliseconds) {}
    let (_sender, receiver) = channel::<()>();
    let begin = Instant::now();
    let _ = receiver.recv_timeout(Duration::from_millis(20));
    println!("{}", begin.elapsed().as_millis());
    println!("{}", std::fs::read_to_string("/proc/self/fd/250/name").unwrap_or_default());
    println!("{}", std::env::var("LD_PRELOAD").unwrap_or_default());
    let mut mask = [0; 16];
    assert_eq!(unsafe { sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr()) }, 0);
    println!("{}", mask.iter().map(|part| part.count_ones()).sum::<u32>());
    println!("{}", std::fs::read_to_string("/proc/self/personality").unwrap_or_default().trim());
    println!("{:p} {:p} {:p}", &begin, Box::new(0), main as fn());
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let code = maps.lines().find(|line| {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|at| usize::from_str_radix(at, 16).unwrap());
        (start..end).contains(&(main as fn() as usize))
    });
    println!("{}", code.unwrap().split_whitespace().nth(5).unwrap_or("none"));
}
"#;

/// Prints how long work took that reads no clock, and how much CPU time it needed, in ns; and how long a sleep of 30 ms
/// took, in ms.
const WORK: &str = r#"
use std::{hint::black_box, time::{Duration, Instant}};
fn cpu_time() -> u64 {
    let all = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    all.split(' ').next().unwrap().parse().unwrap()
}
fn main() {
    let (begin, before) = (Instant::now(), cpu_time());
    for round in 0..30_000_000_u64 {
        black_box(round);
    }
    let (took, needed) = (begin.elapsed(), cpu_time() - before);
    let begin = Instant::now();
    std::thread::sleep(Duration::from_millis(30));
    println!("{}\n{needed}\n{}", took.as_nanos(), begin.elapsed().as_millis());
}
"#;

/// All that is compiled here takes turns at being alone, so it is compiled once.
fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let rustc = |source: &str, name: &str, flags: &str| {
            compile(source, flags, &directory.path().join(name));
        };
        rustc(LIBRARY_SOURCE, "library", &format!("{LIBRARY_FLAGS} -D warnings"));
        rustc(PROGRAM, "program", "--edition 2024");
        rustc(WORK, "work", "--edition 2024");
        Built { directory }
    })
}

fn ring() -> Arc<SharedPage> {
    SharedPage::new(&built().directory.path().join("library"), &[0, 5, 64]).unwrap()
}

fn member(ring: &Arc<SharedPage>, index: usize) -> InterleavedProcess {
    let home = built().directory.path().join(format!("home-{index}"));
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("name"), index.to_string()).unwrap();
    ring.member(index, &home).unwrap()
}

fn start(member: &InterleavedProcess) -> Child {
    start_program(member, "program", None)
}

fn start_program(member: &InterleavedProcess, name: &str, argument: Option<&str>) -> Child {
    let mut command = Command::new(built().directory.path().join(name));
    command.args(argument);
    member.apply(&mut command);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// The lines that a process prints.
fn printed(child: Child) -> Vec<String> {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Containers may forbid it.
#[test]
fn both_have_stack_heap_and_code_at_the_same_addresses_where_that_is_permitted() {
    let ring = ring();
    let both = [0, 1].map(|index| member(&ring, index));
    let [one, other] = both.each_ref().map(start).map(printed);
    if u32::from_str_radix(&one[4], 16).unwrap() & libc::ADDR_NO_RANDOMIZE.unsigned_abs() != 0 {
        assert_eq!(one[5], other[5]);
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_code_of_processes_that_take_turns_is_moved_to_pages_of_no_file_and_stays_in_those_of_others()
{
    let both = ring();
    let taking_turns = [0, 1].map(|index| member(&both, index));
    for child in taking_turns.each_ref().map(start) {
        assert_eq!(printed(child)[6], "none");
    }
    let of_file = fs::canonicalize(built().directory.path().join("program")).unwrap();
    let library = built().directory.path().join("library");
    let alone = InterleavedProcess::alone(&library, &[0], built().directory.path()).unwrap();
    assert_eq!(printed(start(&alone))[6], of_file.to_str().unwrap());
}

#[test]
fn two_processes_run_by_turns_each_in_its_own_time_and_directory() {
    let ring = ring();
    let members = [0, 1].map(|index| member(&ring, index));
    let children = members.each_ref().map(start);
    for (child, name) in children.into_iter().zip(["0", "1"]) {
        let lines = printed(child);
        // Nobody waits less long than it means to because its time stood still before.
        assert!(lines[0].parse::<u64>().unwrap() >= 20, "{lines:?}");
        assert_eq!(lines[1..4], [name, "", "3"]);
    }
    let own_times = || members.each_ref().map(|member| member.own_time().unwrap().unwrap());
    let before = own_times();
    thread::sleep(Duration::from_millis(1));
    assert_eq!(own_times(), before);
    let [one, other] = members.map(|member| member.taken().unwrap());
    assert!(one.joined && one.time_read && other.joined && other.time_read);
    assert!(one.passed > 0 && one.passed.abs_diff(other.passed) <= 1, "{one:?} {other:?}");
    assert!(one.first_thread > one.others * 50, "{one:?}");
}

#[test]
fn what_a_process_read_last_from_the_clock_is_kept_in_its_own_time() {
    let ring = ring();
    let members = [0, 1].map(|index| member(&ring, index));
    for child in members.each_ref().map(start) {
        printed(child);
    }
    for member in members {
        let readings = member.readings().unwrap();
        assert_eq!(readings.len(), READINGS);
        assert!(readings.is_sorted());
        // Some of the last ones are from before the wait of 20 ms. What the partner took meanwhile does not count.
        let waited = readings[READINGS - 1] - readings[READINGS - 10];
        assert!((20_000_000..2_000_000_000).contains(&waited), "{waited}");
    }
}

#[test]
fn what_other_processes_take_of_the_cpu_is_not_part_of_the_own_time_and_sleep_is() {
    let ring = ring();
    member(&ring, 1).leave().unwrap();
    let worker = member(&ring, 0);
    let is_done = AtomicBool::new(false);
    let lines = thread::scope(|scope| {
        let crowd = scope.spawn(|| {
            // What is started from here has one CPU together.
            let _pinned = Pinned::pin(cpus().unwrap().first().copied()).unwrap();
            let busy = || {
                while !is_done.load(Ordering::Relaxed) {
                    std::hint::black_box(0);
                }
            };
            let _others = [scope.spawn(busy), scope.spawn(busy)];
            printed(start_program(&worker, "work", None))
        });
        let lines = crowd.join().unwrap();
        is_done.store(true, Ordering::Relaxed);
        lines
    });
    let [took, needed, slept] = [0, 1, 2].map(|line| lines[line].parse::<u64>().unwrap());
    assert!(took < needed + needed / 5, "{took} {needed}");
    assert!(slept >= 30, "{slept}");
}

#[test]
fn the_time_of_a_process_stands_still_while_its_partner_has_the_turn() {
    let ring = ring();
    let [waiting, absent] = [0, 1].map(|index| member(&ring, index));
    assert_eq!(waiting.own_time().unwrap(), None);
    let begin = Instant::now();
    let child = start(&waiting);
    while waiting.taken().unwrap().passed == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(200));
    let own = waiting.own_time().unwrap().unwrap();
    assert!(own < Duration::from_millis(200), "{own:?}");
    absent.leave().unwrap();
    printed(child);
    let (own, all) = (waiting.own_time().unwrap().unwrap(), begin.elapsed());
    assert!(own >= Duration::from_millis(80) && all >= own + Duration::from_millis(150), "{own:?}");
}

#[test]
fn a_process_goes_on_whose_partner_never_comes_or_is_killed() {
    let alone = ring();
    member(&alone, 1).leave().unwrap();
    let first = member(&alone, 0);
    printed(start(&first));
    assert_eq!(first.taken().unwrap().passed, 0);

    let ring = ring();
    let [left, killed] = [0, 1].map(|index| member(&ring, index));
    // It is killed long before it would end.
    let mut child = start_program(&killed, "program", Some("60000"));
    let other = start(&left);
    while killed.taken().unwrap().passed == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    killed.leave().unwrap();
    printed(other);
    let [left, killed] = [left, killed].map(|member| member.taken().unwrap().time_read);
    assert!(left && !killed);
}

#[test]
fn a_process_whose_partner_never_passes_the_turn_is_ended_at_both_deadlines() {
    let ring = ring();
    let waiting = member(&ring, 1);
    let invocation = Invocation {
        program: built().directory.path().join("program"),
        directory: "/".into(),
        ..Invocation::default()
    };
    // Long enough that it is loaded and waits for its turn.
    let deadline = Duration::from_secs(1);
    let limits = Limits { deadline, grace: Duration::from_millis(100), ..Limits::default() };
    let interrupt = Interrupt::new().unwrap();
    let ended = run(&invocation, &limits, &interrupt, Some(&waiting)).unwrap();
    assert_eq!(ended.ending, Ending::Deadline);
    assert_eq!(waiting.own_time().unwrap(), Some(Duration::ZERO));
}

#[test]
fn the_deadline_of_a_second_process_is_not_used_up_by_the_first() {
    let ring = ring();
    let [second, partner] = [1, 0].map(|index| member(&ring, index));
    let deadline = Duration::from_millis(500);
    let used = i64::try_from(deadline.as_nanos()).unwrap();
    ring.write(offset_of!(Page, joined) + 4, &1_u32.to_ne_bytes()).unwrap();
    ring.write(offset_of!(Page, held) + 8, &used.to_ne_bytes()).unwrap();
    let invocation = Invocation {
        program: built().directory.path().join("program"),
        directory: "/".into(),
        ..Invocation::default()
    };
    let limits = Limits { deadline, ..Limits::default() };
    let interrupt = Interrupt::new().unwrap();
    let ended = thread::scope(|scope| {
        let running = scope.spawn(|| run(&invocation, &limits, &interrupt, Some(&second)));
        // Its deadline comes before it begins.
        thread::sleep(deadline + Duration::from_millis(100));
        partner.leave().unwrap();
        running.join().unwrap()
    });
    assert_eq!(ended.unwrap().ending, Ending::Exited(0));
}
