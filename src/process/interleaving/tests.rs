//! Interleaved processes, and processes whose partner fails.

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

use rbench_code::samples::{Code, CodeFiles, FunctionTable, SampledState, SampledThread};
use tempfile::TempDir;

use super::*;
use crate::process::{
    Ending, Interrupt, Invocation, Limits,
    run::{Pinned, cpus, run},
    testing::compile,
};

/// The library, and a program that reads the clock for 60 ms or the given number of ms, and then prints: how long it
/// waited, with a limit of 20 ms, for a message that never came; the content of its directory; the number of CPUs it
/// may run on; the file that its code in memory belongs to; a hash with random keys; and a random name.
struct Built {
    directory: TempDir,
}

const PROGRAM: &str = r#"
use std::{hash::BuildHasher, sync::mpsc::channel, time::{Duration, Instant}};
unsafe extern "C" {
    fn sched_getaffinity(process: i32, bytes: usize, mask: *mut u64) -> i32;
    fn getrandom(to: *mut u8, length: usize, flags: u32) -> isize;
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
    println!("{}", std::collections::hash_map::RandomState::new().hash_one(1));
    let mut name = [0_u8; 8];
    assert_eq!(unsafe { getrandom(name.as_mut_ptr(), 8, 0) }, 8);
    println!("{name:?}");
}
"#;

/// Prints the duration of work that reads no clock, and its CPU time, in ns; and the duration of a sleep of 30 ms, in
/// ms.
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

/// Prints the durations of the same work before a message that announces a warm-up, after it, and after one that
/// announces a measurement, in ns.
const CRITERION: &str = r#"
use std::{hint::black_box, io::Write, net::{TcpListener, TcpStream}, time::Instant};
fn work() {
    let begin = Instant::now();
    for round in 0..20_000_000_u64 {
        black_box(round);
    }
    println!("{}", begin.elapsed().as_nanos());
}
fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    work();
    stream.write_all(b"fWarmupbidaa").unwrap();
    work();
    stream.write_all(b"pMeasurementStartbidfWarmup").unwrap();
    work();
}
"#;

/// Reads the clock for 60 ms while another thread does what the first argument says, and prints how often a thread of
/// the partner ran meanwhile. `counts` shows the partner that it runs, in the file of the third argument; the second
/// one is the index of the process.
const THREADS: &str = r#"
use std::{
    fs::File, hint::black_box, os::fd::AsRawFd, process::{Command, abort},
    sync::{atomic::{AtomicBool, AtomicU64, Ordering::SeqCst}, mpsc::channel}, thread, time::{Duration, Instant},
};
unsafe extern "C" {
    fn mmap(at: usize, length: usize, protection: i32, flags: i32, file: i32, offset: i64) -> *const [AtomicU64; 2];
    fn pthread_sigmask(how: i32, set: *const [u64; 16], old: usize) -> i32;
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
    fn pthread_cond_timedwait(condition: *mut Object, mutex: *mut Object, until: *const [i64; 2]) -> i32;
    fn pthread_cond_clockwait(condition: *mut Object, mutex: *mut Object, clock: i32, until: *const [i64; 2]) -> i32;
    fn pthread_mutex_lock(mutex: *mut Object) -> i32;
    fn pthread_mutex_timedlock(mutex: *mut Object, until: *const [i64; 2]) -> i32;
    fn sem_timedwait(semaphore: *mut Object, until: *const [i64; 2]) -> i32;
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    fn cnd_timedwait(condition: *mut Object, mutex: *mut Object, until: *const [i64; 2]) -> i32;
    fn pthread_rwlock_rdlock(lock: *mut Object) -> i32;
    fn pthread_rwlock_timedwrlock(lock: *mut Object, until: *const [i64; 2]) -> i32;
}
/// A condition, mutex or semaphore in its first state.
#[repr(C, align(16))]
struct Object([u8; 64]);
fn object() -> Object { Object([0; 64]) }
/// 20 ms from now, by this clock.
fn soon(clock: i32) -> [i64; 2] {
    let mut time = [0; 2];
    unsafe { clock_gettime(clock, &mut time) };
    let all = time[0] * 1_000_000_000 + time[1] + 20_000_000;
    [all / 1_000_000_000, all % 1_000_000_000]
}
extern "C" fn ignore(_: i32) {}
static IS_DONE: AtomicBool = AtomicBool::new(false);
fn until_done(mut work: impl FnMut()) {
    while !IS_DONE.load(SeqCst) { work(); }
}
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let own: usize = arguments[2].parse().unwrap();
    let file = File::options().read(true).write(true).open(&arguments[3]).unwrap();
    let counts: &'static [AtomicU64; 2] = unsafe { &*mmap(0, 16, 3, 1, file.as_raw_fd(), 0) };
    let count = move || { counts[own].fetch_add(1, SeqCst); };
    let kind = arguments[1].clone();
    if kind == "handles" {
        unsafe { signal(61, ignore) };
    }
    let slept = |sleep: &mut dyn FnMut()| { let begin = Instant::now(); sleep(); begin.elapsed() };
    let worker = move || match kind.as_str() {
        "counts" | "handles" => until_done(count),
        "blocks" => {
            unsafe { pthread_sigmask(0, &[u64::MAX; 16], 0) };
            until_done(count);
        }
        "times" => until_done(|| {
            count();
            let begin = Instant::now();
            for _ in 0..1_000 { black_box(0); }
            assert!(begin.elapsed() > Duration::ZERO);
        }),
        "starts" => until_done(|| { thread::spawn(count).join().unwrap() }),
        "executes" => until_done(|| { assert!(Command::new("/bin/true").status().unwrap().success()) }),
        "sleeps" => {
            let (_sender, receiver) = channel::<()>();
            let time = Duration::from_millis(20);
            for took in [
                slept(&mut || thread::sleep(time)),
                slept(&mut || { let _ = receiver.recv_timeout(time); }),
                slept(&mut || thread::park_timeout(time)),
            ] {
                assert!(took >= time, "{took:?}");
            }
        }
        "awaits" => unsafe {
            let (mut condition, mut object_of_mutex, mut semaphore) = (object(), object(), object());
            let mutex: *mut Object = &mut object_of_mutex;
            let mut locked = object();
            assert_eq!(pthread_mutex_lock(&mut locked), 0);
            assert_eq!(pthread_mutex_lock(mutex), 0);
            // A call that is woken without a reason waits for the rest of the time.
            let waits: &mut [&mut dyn FnMut()] = &mut [
                &mut || { let until = soon(0); while pthread_cond_timedwait(&mut condition, mutex, &until) == 0 {} },
                &mut || { let until = soon(1); while pthread_cond_clockwait(&mut object(), mutex, 1, &until) == 0 {} },
                &mut || assert_eq!(pthread_mutex_timedlock(&mut locked, &soon(0)), 110),
                &mut || {
                    let until = soon(0);
                    while sem_timedwait(&mut semaphore, &until) == -1
                        && std::io::Error::last_os_error().raw_os_error() == Some(4) {}
                },
                &mut || {
                    let until = soon(0);
                    while cnd_timedwait(&mut object(), mutex, &until) == 0 {}
                },
                &mut || {
                    let mut lock = object();
                    assert_eq!(pthread_rwlock_rdlock(&mut lock), 0);
                    assert_eq!(pthread_rwlock_timedwrlock(&mut lock, &soon(0)), 110);
                },
            ];
            for (number, wait) in waits.iter_mut().enumerate() {
                let took = slept(*wait);
                assert!(took >= Duration::from_millis(20), "{number}: {took:?}");
            }
        },
        "aborts" => { thread::sleep(Duration::from_millis(10)); abort() }
        "hangs" => loop { black_box(0); },
        _ => unreachable!(),
    };
    let worker = thread::spawn(worker);
    let begin = Instant::now();
    let mut ran = 0;
    while begin.elapsed() < Duration::from_millis(60) {
        let before = counts[1 - own].load(SeqCst);
        for _ in 0..10_000 { black_box(0); }
        ran += u32::from(counts[1 - own].load(SeqCst) != before);
    }
    IS_DONE.store(true, SeqCst);
    worker.join().unwrap();
    println!("{ran}");
}
"#;

/// Prints the number of CPUs that a process sees, and the CPUs of its first thread and of four others.
const PLACES: &str = r#"
use std::thread;
fn place() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
}
fn main() {
    println!("{}", thread::available_parallelism().unwrap());
    println!("{}", place());
    for _ in 0..4 {
        println!("{}", thread::Builder::new().stack_size(1 << 17).spawn(place).unwrap().join().unwrap());
    }
}
"#;

/// Reads every clock again and again for 100 ms, and prints for each one its number, how long that took by it and by the
/// monotonic clock in ns, and the number of different times that it showed in how many readings.
const CLOCKS: &str = r#"
use std::ffi::c_int;
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Time(i64, i64);
unsafe extern "C" {
    fn clock_gettime(id: c_int, time: *mut Time) -> c_int;
    fn gettimeofday(time: *mut Time, zone: usize) -> c_int;
    fn timespec_get(time: *mut Time, base: c_int) -> c_int;
}
fn read(id: c_int) -> i64 {
    let mut time = Time::default();
    let unit = unsafe {
        match id {
            100 => { assert_eq!(gettimeofday(&mut time, 0), 0); 1_000 }
            101 => { assert_eq!(timespec_get(&mut time, 1), 1); 1 }
            _ => { assert_eq!(clock_gettime(id, &mut time), 0, "{id}"); 1 }
        }
    };
    assert!((0..1_000_000_000 / unit).contains(&time.1), "{id} {}", time.1);
    time.0 * 1_000_000_000 + time.1 * unit
}
fn main() {
    for id in [0, 1, 4, 5, 6, 7, 11, 100, 101] {
        let exact = if id == 5 { 0 } else { 1 };
        let (begin, first) = (read(1), read(id));
        let (mut last, mut different, mut readings) = (first, 0, 0);
        while read(1) - begin < 100_000_000 {
            let time = read(id);
            assert!(time >= last, "{id} goes back from {last} to {time}");
            assert!(!matches!(id, 5 | 6) || time <= read(exact), "{id} is ahead");
            different += u64::from(time != last);
            readings += 1;
            last = time;
        }
        println!("{id} {} {} {different} {readings}", last - first, read(1) - begin);
    }
}
"#;

/// Works in a function for 60 ms by its clock; with an argument, in a thread for which the first one waits.
const SAMPLED: &str = r"
use std::{hint::black_box, thread, time::{Duration, Instant}};
#[unsafe(no_mangle)]
#[inline(never)]
fn inner(rounds: u64) -> u64 { (0..rounds).fold(1, |sum: u64, round| black_box(sum.wrapping_mul(3) + round)) }
#[inline(always)]
fn inlined() -> u64 { black_box(inner(20_000)) + 1 }
#[unsafe(no_mangle)]
#[inline(never)]
fn outer() -> u64 { inlined() * 3 }
fn work() {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(60) { black_box(outer()); }
}
fn main() {
    match std::env::args().nth(1) {
        Some(_) => thread::spawn(work).join().unwrap(),
        None => work(),
    }
}
";

/// Waits twenty times for 4 ms by the call that is its argument. Prints how many calls failed, and if all waited.
const WAITS: &str = r#"
use std::{ptr::null_mut, time::{Duration, Instant}};
unsafe extern "C" {
    fn poll(files: *mut u8, count: u64, timeout: i32) -> i32;
    fn epoll_create1(flags: i32) -> i32;
    fn epoll_wait(epoll: i32, events: *mut [u64; 2], most: i32, timeout: i32) -> i32;
    fn nanosleep(time: *const [i64; 2], left: *mut [i64; 2]) -> i32;
    fn clock_nanosleep(clock: i32, flags: i32, time: *const [i64; 2], left: *mut [i64; 2]) -> i32;
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    fn sem_timedwait(semaphore: *mut [u64; 4], until: *const [i64; 2]) -> i32;
    fn __errno_location() -> *mut i32;
}
fn main() {
    let (call, time) = (std::env::args().nth(1).unwrap(), [0, 4_000_000]);
    let epoll = unsafe { epoll_create1(0) };
    let (mut failed, begin) = (0, Instant::now());
    for _ in 0..20 {
        let (mut left, mut events) = ([0; 2], [0; 2]);
        failed += i32::from(0 != unsafe { match &*call {
            "poll" => poll(null_mut(), 0, 4),
            "epoll_wait" => epoll_wait(epoll, &mut events, 1, 4),
            "nanosleep" => nanosleep(&time, &mut left),
            "sem_timedwait" => {
                clock_gettime(0, &mut left);
                left[1] += time[1];
                left = [left[0] + left[1] / 1_000_000_000, left[1] % 1_000_000_000];
                sem_timedwait(&mut [0; 4], &left);
                *__errno_location() - 110
            }
            _ => clock_nanosleep(1, 0, &time, &mut left),
        } });
    }
    println!("{failed} {}", begin.elapsed() >= Duration::from_millis(80));
}
"#;

/// Compiled once, as compiling takes long.
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
        rustc(CRITERION, "criterion", "--edition 2024");
        rustc(THREADS, "threads", "--edition 2024");
        rustc(PLACES, "places", "--edition 2024");
        rustc(CLOCKS, "clocks", "--edition 2024");
        rustc(SAMPLED, "sampled", "--edition 2024 -O -g");
        rustc(WAITS, "waits", "--edition 2024");
        // Here, since another test's processes may read it while a test writes.
        for index in 0..2 {
            let home = directory.path().join(format!("home-{index}"));
            fs::create_dir(&home).unwrap();
            fs::write(home.join("name"), index.to_string()).unwrap();
        }
        Built { directory }
    })
}

fn shared_page() -> Arc<SharedPage> {
    SharedPage::new(&built().directory.path().join("library"), &[0, 5, 64], SLICE).unwrap()
}

fn member(shared_page: &Arc<SharedPage>, index: usize) -> InterleavedProcess {
    let home = built().directory.path().join(format!("home-{index}"));
    shared_page.member(index, &home).unwrap()
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

/// Containers may forbid fixed addresses.
#[test]
fn both_processes_have_the_same_addresses_where_permitted() {
    let shared_page = shared_page();
    let both = [0, 1].map(|index| member(&shared_page, index));
    let [one, other] = both.each_ref().map(start).map(printed);
    if u32::from_str_radix(&one[4], 16).unwrap() & libc::ADDR_NO_RANDOMIZE.unsigned_abs() != 0 {
        assert_eq!(one[5], other[5]);
    }
}

#[test]
fn both_processes_have_equal_keys_of_hash_maps_and_different_names() {
    let drawn = |seed| {
        let shared_page = shared_page();
        shared_page.draw_alike(seed).unwrap();
        let both = [0, 1].map(|index| member(&shared_page, index));
        both.each_ref().map(start).map(|child| printed(child).split_off(7))
    };
    let [one, other] = drawn(1);
    assert_eq!(one[0], other[0]);
    assert_ne!(one[1], other[1]);
    assert_ne!(drawn(2)[0][0], one[0]);
}

#[test]
fn code_is_moved_to_anonymous_pages_only_when_interleaved() {
    let both = shared_page();
    let interleaved = [0, 1].map(|index| member(&both, index));
    for child in interleaved.each_ref().map(start) {
        assert_eq!(printed(child)[6], "none");
    }
    let program_path = fs::canonicalize(built().directory.path().join("program")).unwrap();
    let library = built().directory.path().join("library");
    let alone = InterleavedProcess::alone(&library, &[0], built().directory.path()).unwrap();
    assert_eq!(printed(start(&alone))[6], program_path.to_str().unwrap());
}

#[test]
fn processes_alternate_each_in_its_own_time_and_directory() {
    let shared_page = shared_page();
    let members = [0, 1].map(|index| member(&shared_page, index));
    let children = members.each_ref().map(start);
    for (child, name) in children.into_iter().zip(["0", "1"]) {
        let lines = printed(child);
        // No wait is shorter than intended because the process's time stood still before.
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

/// Both processes read clocks all the time, so half of the real time is the partner's.
#[test]
fn every_clock_stands_still_while_the_partner_runs() {
    /// Longer than a tick of any kernel.
    const TICK: i64 = 12_000_000;
    let shared_page = shared_page();
    let members = [0, 1].map(|index| member(&shared_page, index));
    let children = members.each_ref().map(|member| start_program(member, "clocks", None));
    for line in children.map(printed).into_iter().flatten() {
        let numbers: Vec<i64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        let [id, shown, own, different, readings] = numbers[..] else { panic!("{line}") };
        let is_coarse = matches!(id, 5 | 6);
        let tolerance = if is_coarse { TICK } else { 1_000_000 };
        assert!((shown - own).abs() < tolerance, "{line}");
        // It is read some hundred times in each slice, in which most kernels have no tick.
        assert!(!is_coarse || different * 10 < readings, "{line}");
    }
    for member in members {
        assert!(member.taken().unwrap().passed > 100);
    }
}

#[test]
fn last_clock_readings_are_kept_in_own_time() {
    let shared_page = shared_page();
    let members = [0, 1].map(|index| member(&shared_page, index));
    for child in members.each_ref().map(start) {
        printed(child);
    }
    for member in members {
        let readings = member.readings().unwrap();
        // An odd number of readings leaves the last one without its pair.
        assert!(readings.len() + 1 >= READINGS);
        assert!(readings.is_sorted());
        // Some of the last readings are from before the wait of 20 ms. The partner's time slices do not count.
        let last = readings.len() - 1;
        let waited = readings[last] - readings[last - 9];
        assert!((20_000_000..2_000_000_000).contains(&waited), "{waited}");
    }
}

#[test]
fn own_time_excludes_preemption_and_includes_sleep() {
    let shared_page = shared_page();
    member(&shared_page, 1).leave().unwrap();
    let worker = member(&shared_page, 0);
    let is_done = AtomicBool::new(false);
    let lines = thread::scope(|scope| {
        let crowd = scope.spawn(|| {
            // All threads started here share one CPU.
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
fn warm_up_of_criterion_is_hurried_and_its_measurement_is_not() {
    let times = |speed| {
        let shared_page = shared_page();
        let members = [0, 1].map(|index| member(&shared_page, index));
        for member in &members {
            member.hurry_warm_ups(speed).unwrap();
        }
        let children = members.each_ref().map(|member| start_program(member, "criterion", None));
        let [lines, _] = children.map(printed);
        [0, 1, 2].map(|line| lines[line].parse::<f64>().unwrap())
    };
    let [before, warm_up, measurement] = times(100);
    assert!((30.0..300.0).contains(&(warm_up / before)), "{before} {warm_up}");
    assert!((0.3..3.0).contains(&(measurement / before)), "{before} {measurement}");
    let [before, warm_up, _] = times(1);
    assert!((0.3..3.0).contains(&(warm_up / before)), "{before} {warm_up}");
}

#[test]
fn own_time_stands_still_while_the_partner_runs() {
    let shared_page = shared_page();
    let [waiting, absent] = [0, 1].map(|index| member(&shared_page, index));
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
fn process_continues_if_its_partner_is_missing_or_killed() {
    let alone = shared_page();
    member(&alone, 1).leave().unwrap();
    let first = member(&alone, 0);
    printed(start(&first));
    assert_eq!(first.taken().unwrap().passed, 0);

    let shared_page = shared_page();
    let [left, killed] = [0, 1].map(|index| member(&shared_page, index));
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
fn waiting_process_is_ended_after_both_deadlines() {
    let shared_page = shared_page();
    let waiting = member(&shared_page, 1);
    let invocation = Invocation {
        program: built().directory.path().join("program"),
        directory: "/".into(),
        ..Invocation::default()
    };
    // Long enough for it to be loaded and to wait for its first time slice.
    let deadline = Duration::from_secs(1);
    let limits = Limits { deadline, grace: Duration::from_millis(100), ..Limits::default() };
    let interrupt = Interrupt::new().unwrap();
    let ended = run(&invocation, &limits, &interrupt, Some(&waiting)).unwrap();
    assert_eq!(ended.ending, Ending::Deadline);
    assert_eq!(waiting.own_time().unwrap(), Some(Duration::ZERO));
}

#[test]
fn second_process_has_its_full_deadline() {
    let shared_page = shared_page();
    let [second, partner] = [1, 0].map(|index| member(&shared_page, index));
    // Enough for it to run to its end on a busy machine.
    let deadline = Duration::from_secs(2);
    let used = i64::try_from(deadline.as_nanos()).unwrap();
    shared_page.0.write(offset_of!(Page, joined) + 4, &1_u32.to_ne_bytes()).unwrap();
    shared_page.0.write(offset_of!(Page, held) + 8, &used.to_ne_bytes()).unwrap();
    let invocation = Invocation {
        program: built().directory.path().join("program"),
        directory: "/".into(),
        ..Invocation::default()
    };
    let limits = Limits { deadline, ..Limits::default() };
    let interrupt = Interrupt::new().unwrap();
    let ended = thread::scope(|scope| {
        let running = scope.spawn(|| run(&invocation, &limits, &interrupt, Some(&second)));
        // Its deadline passes before it begins.
        thread::sleep(deadline + Duration::from_millis(100));
        partner.leave().unwrap();
        running.join().unwrap()
    });
    assert_eq!(ended.unwrap().ending, Ending::Exited(0));
}

/// Two processes whose other threads do this, with the numbers that they print: the partner's threads ran as often.
fn with_threads(kind: &str) -> [(InterleavedUse, String); 2] {
    let shared_page = shared_page();
    shared_page.stop_threads(Threads::Placed).unwrap();
    let members = [0, 1].map(|index| member(&shared_page, index));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("counts");
    fs::write(&file, [0; 16]).unwrap();
    let children = members.each_ref().map(|member| {
        let mut command = Command::new(built().directory.path().join("threads"));
        command.arg(kind).arg(member.index.to_string()).arg(&file);
        member.apply(&mut command);
        command.stdout(Stdio::piped()).spawn().unwrap()
    });
    let lines = children.map(printed);
    let mut ended = members.iter().zip(lines);
    [0, 1].map(|_| {
        let (member, mut lines) = ended.next().unwrap();
        (member.taken().unwrap(), lines.remove(0))
    })
}

#[test]
fn other_threads_run_only_in_the_slices_of_their_process() {
    for kind in ["counts", "times", "starts", "sleeps", "awaits"] {
        for (taken, partner_ran) in with_threads(kind) {
            assert!(taken.passed > 0 && taken.time_read && !taken.given_up, "{kind}: {taken:?}");
            assert_eq!(partner_ran, "0", "{kind}");
            // How long it takes to stop and to go on depends on the load of the machine.
            let works = !matches!(kind, "sleeps" | "awaits");
            assert!(!works || taken.others > Duration::from_millis(10), "{kind}: {taken:?}");
        }
    }
}

#[test]
fn placed_threads_get_cpus_in_turn() {
    let own = cpus().unwrap();
    let library = built().directory.path().join("library");
    for threads in [Threads::Together, Threads::Free, Threads::Placed] {
        let shared_page = SharedPage::new(&library, &own, SLICE).unwrap();
        if threads != Threads::Together {
            shared_page.stop_threads(threads).unwrap();
        }
        shared_page.leave(1).unwrap();
        let lines = printed(start_program(&member(&shared_page, 0), "places", None));
        assert_eq!(lines[0], own.len().to_string());
        let expected = (0..5).map(|index| own[index % own.len()].to_string());
        let are_placed = threads == Threads::Placed || own.len() == 1;
        assert_eq!(lines[1..] == expected.collect::<Vec<_>>(), are_placed, "{lines:?}");
    }
}

#[test]
fn threads_that_start_processes_can_be_stopped() {
    for (taken, _) in with_threads("executes") {
        assert!(taken.passed > 0 && taken.time_read && !taken.given_up, "{taken:?}");
        assert!(taken.children > Duration::ZERO, "{taken:?}");
    }
}

#[test]
fn interleaving_is_given_up_if_a_thread_cannot_be_stopped() {
    for kind in ["blocks", "handles"] {
        let both = with_threads(kind);
        assert!(both.iter().any(|(taken, _)| taken.given_up), "{kind}: {both:?}");
        assert!(both.iter().all(|(taken, _)| taken.time_read), "{kind}: {both:?}");
    }
}

#[test]
fn partner_continues_after_a_fault_in_another_thread() {
    for (kind, expected) in
        [("aborts", Ending::Signalled(libc::SIGABRT)), ("hangs", Ending::Deadline)]
    {
        let shared_page = shared_page();
        shared_page.stop_threads(Threads::Placed).unwrap();
        let [faulty, good] = [0, 1].map(|index| member(&shared_page, index));
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("counts");
        fs::write(&file, [0; 16]).unwrap();
        let invocation = |kind: &str, index: usize| Invocation {
            program: built().directory.path().join("threads"),
            arguments: [kind.into(), index.to_string().into(), file.clone().into()].into(),
            directory: "/".into(),
            ..Invocation::default()
        };
        let limits = Limits { deadline: Duration::from_secs(1), ..Limits::default() };
        let interrupt = Interrupt::new().unwrap();
        let execute = |kind, member: &InterleavedProcess| {
            let ended = run(&invocation(kind, member.index), &limits, &interrupt, Some(member));
            member.leave().unwrap();
            ended.unwrap().ending
        };
        let endings = thread::scope(|scope| {
            let other = scope.spawn(|| execute("counts", &good));
            [execute(kind, &faulty), other.join().unwrap()]
        });
        assert_eq!(endings, [expected, Ending::Exited(0)]);
    }
}

/// What was sampled of two processes, if they were sampled at all.
fn sampled(argument: Option<&str>, takes_samples: bool) -> [Sampled; 2] {
    let shared_page = shared_page();
    if argument.is_some() {
        shared_page.stop_threads(Threads::Free).unwrap();
    }
    let invocation = Invocation {
        program: built().directory.path().join("sampled"),
        arguments: argument.map(Into::into).into_iter().collect(),
        directory: "/".into(),
        ..Invocation::default()
    };
    let interrupt = Interrupt::new().unwrap();
    let members = [0, 1].map(|index| member(&shared_page, index));
    let execute = |member: &InterleavedProcess| {
        let ended = run(&invocation, &Limits::default(), &interrupt, Some(member));
        member.leave().unwrap();
        assert_eq!(ended.unwrap().ending, Ending::Exited(0));
    };
    let both = || {
        thread::scope(|scope| {
            let other = scope.spawn(|| execute(&members[1]));
            execute(&members[0]);
            other.join().unwrap();
        });
    };
    if takes_samples {
        shared_page.sampled_while(Duration::from_micros(200), &[], both).unwrap();
    } else {
        both();
    }
    members.map(|member| member.sampled().unwrap())
}

#[test]
fn samples_have_whole_stacks_of_the_thread_that_measures() {
    let program = fs::canonicalize(built().directory.path()).unwrap().join("sampled");
    let read = |path: &str| fs::read(path).ok();
    for argument in [None, Some("in a thread")] {
        let works = |one: &&Sample| {
            one.thread == SampledThread::Measuring && one.state == SampledState::Working
        };
        // Where other programs have the CPUs, there are fewer samples of the same work.
        let has_many = |one: &Sampled| one.samples.iter().filter(works).count() > 30;
        let mut attempts = (0..5).map(|_| sampled(argument, true));
        let both = attempts.find(|both| both.iter().all(has_many)).expect("many samples");
        for Sampled { mapped, samples, .. } in both {
            let mut table = FunctionTable::default();
            let (program, mut files) = (program.to_str().unwrap(), CodeFiles::default());
            let mut code = Code::new(&mapped, program, &mut files, &mut table, read);
            let working: Vec<_> = samples.iter().filter(works).collect();
            let of_measuring = samples.iter().filter(|one| one.thread == SampledThread::Measuring);
            // The library's own calls of the kernel, at readings of the clock, are no time of the process.
            assert!(working.len() * 10 >= of_measuring.count() * 9);
            let stacks: Vec<_> = working.iter().map(|one| code.frames(&one.interrupted)).collect();
            drop(code);
            let functions = table.into_functions();
            let named = stacks.iter().map(|(frames, is_whole)| {
                let names = frames.iter().map(|frame| functions[frame.function].name.as_str());
                (names.collect::<Vec<_>>(), *is_whole)
            });
            let named: Vec<_> = named.collect();
            let is_expected = |(names, is_whole): &&(Vec<&str>, bool)| {
                *is_whole
                    && names.windows(3).any(|three| three == ["outer", "sampled::inlined", "inner"])
            };
            let expected = named.iter().filter(is_expected).count();
            assert!(
                expected * 10 >= named.len() * 9,
                "{expected} of {}: {:?}",
                named.len(),
                named[0]
            );
        }
    }
}

#[test]
fn calls_that_wait_go_on_after_a_sample() {
    let interrupt = Interrupt::new().unwrap();
    for call in ["nanosleep", "clock_nanosleep", "poll", "epoll_wait", "sem_timedwait"] {
        let invocation = Invocation {
            program: built().directory.path().join("waits"),
            arguments: vec![call.into()],
            directory: "/".into(),
            ..Invocation::default()
        };
        let shared_page = shared_page();
        shared_page.leave(1).unwrap();
        let member = member(&shared_page, 0);
        let execute = || run(&invocation, &Limits::default(), &interrupt, Some(&member));
        let ended = shared_page.sampled_while(Duration::from_micros(200), &[], execute).unwrap();
        assert_eq!(ended.unwrap().output.to_string(), "0 true\n", "{call}");
        let samples = member.sampled().unwrap().samples;
        let waiting = samples.iter().filter(|one| one.state == SampledState::Waiting);
        assert!(waiting.count() > 10, "{call}: {}", samples.len());
    }
}

#[test]
fn samples_are_taken_in_most_slices_and_only_if_permitted() {
    for Sampled { samples, slices, dropped, .. } in sampled(None, true) {
        let (with, without): (Vec<_>, Vec<_>) =
            slices.iter().copied().partition(|(_, is): &(u64, bool)| *is);
        assert!(with.len() > without.len() && !without.is_empty(), "{slices:?}");
        assert_eq!(dropped, 0);
        for sample in samples {
            let slice = slices.partition_point(|(before, _)| *before < sample.readings);
            assert!(slices[..slice].last().is_some_and(|(_, is)| *is), "{}", sample.readings);
        }
    }
    for Sampled { mapped, samples, slices, .. } in sampled(None, false) {
        assert_eq!((mapped.len(), samples.len(), slices.len()), (0, 0, 0));
    }
}
