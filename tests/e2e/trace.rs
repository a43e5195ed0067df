//! The tracer follows programs compiled for these tests and records the functions they enter and
//! the files they open.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt as _,
    path::Path,
    process::Command,
};

use cargo_rbench::process::{
    Ending,
    trace::{
        Observation, Observed, Plan, READS_CLOCK_OFTEN, RUNNER_PORT, TRACER, with_breakpoints,
    },
};
use object::{Object as _, ObjectSymbol as _};
use rbench_code::{
    elf::{counter_reads, kept_functions},
    impact::OtherClock,
};

/// A port at which nobody listens, in place of rbench's.
const PORT: u16 = 9;

/// A program compiled from source, with its functions by entry address.
struct Program {
    place: tempfile::TempDir,
    functions: Vec<(u64, String)>,
}

impl Program {
    fn compile(source: &str) -> Self {
        Self::compile_in(tempfile::tempdir().unwrap(), source)
    }

    /// Compiles a program that finds shared libraries in its directory.
    fn compile_in(place: tempfile::TempDir, source: &str) -> Self {
        let (file, executable) = (place.path().join("p.rs"), place.path().join("p"));
        fs::write(&file, source).unwrap();
        let compiled = Command::new("rustc")
            .args(["--edition", "2021", "-C", "symbol-mangling-version=v0", "-O", "-o"])
            .args([&executable, &file])
            .args(["-C", "link-arg=-Wl,-rpath,$ORIGIN", "-L"])
            .arg(place.path())
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let bytes = fs::read(&executable).unwrap();
        let parsed = object::File::parse(&*bytes).unwrap();
        let is_function = |symbol: &object::Symbol<'_, '_>| {
            symbol.is_definition() && symbol.kind() == object::SymbolKind::Text
        };
        let mut functions: Vec<(u64, String)> = parsed
            .symbols()
            .filter(is_function)
            .map(|symbol| (symbol.address(), symbol.name().unwrap().to_owned()))
            .collect();
        functions.sort();
        functions.dedup_by_key(|(address, _)| *address);
        Self { place, functions }
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    fn run(&self, arguments: &[&str]) -> (Observed, Ending) {
        self.run_in_place_of(&self.path().join("p").canonicalize().unwrap(), arguments)
    }

    /// Runs the program while the tracer knows only the functions of `executable`.
    fn run_in_place_of(&self, executable: &Path, arguments: &[&str]) -> (Observed, Ending) {
        let (observation, ending) = self.run_by(self.plan(executable), "p", 0, arguments);
        (observation.unwrap(), ending.unwrap())
    }

    /// Runs a copy of the program whose file has the breakpoints.
    fn run_prepared(&self, arguments: &[&str]) -> (Observation, Option<Ending>) {
        let original = self.path().join("p").canonicalize().unwrap();
        let prepared = original.with_extension("traced");
        let plan = Plan { original: Some(original.clone()), ..self.plan(&prepared) };
        let bytes = with_breakpoints(fs::read(&original).unwrap(), &plan.functions).unwrap();
        fs::write(&prepared, bytes).unwrap();
        fs::set_permissions(&prepared, fs::metadata(&original).unwrap().permissions()).unwrap();
        self.run_by(plan, "p.traced", 0, arguments)
    }

    /// Runs the program with a clock that gains `ahead` times its CPU time.
    fn run_ahead(&self, ahead: u32) -> Ending {
        let executable = self.path().join("p").canonicalize().unwrap();
        self.run_by(self.plan(&executable), "p", ahead, &[]).1.unwrap()
    }

    fn plan(&self, executable: &Path) -> Plan {
        let bytes = fs::read(self.path().join("p")).unwrap();
        let functions = kept_functions(&bytes).unwrap_or_default();
        Plan {
            executable: executable.to_owned(),
            counter_reads: counter_reads(&bytes, &functions).unwrap(),
            functions: self.functions.iter().map(|(address, _)| *address).collect(),
            report: self.path().join("report"),
            ..Plan::default()
        }
    }

    /// Runs the program under this name; it has no ending if the tracer gives up.
    fn run_by(
        &self,
        plan: Plan,
        name: &str,
        ahead: u32,
        arguments: &[&str],
    ) -> (Observation, Option<Ending>) {
        let [plan_file, account] = ["plan", "account"].map(|name| self.path().join(name));
        fs::write(&plan_file, serde_json::to_vec(&plan).unwrap()).unwrap();
        let mut tracer = Command::new(env!("CARGO_BIN_EXE_cargo-rbench"));
        tracer.arg0(TRACER).arg("").arg(plan_file).arg(ahead.to_string());
        tracer.arg(self.path().join(name)).args(arguments);
        tracer.current_dir(self.path()).env("ASKED", "1").stdin(File::create(&account).unwrap());
        tracer.env(RUNNER_PORT, PORT.to_string());
        let output = tracer.output().unwrap();
        let observation: Observation =
            serde_json::from_slice(&fs::read(plan.report).unwrap()).unwrap();
        assert!(output.status.success(), "{output:?}");
        let account: serde_json::Value =
            serde_json::from_slice(&fs::read(account).unwrap()).unwrap();
        let ending = account["Ok"]["usage"]["ending"].clone();
        (observation, serde_json::from_value(ending).ok())
    }

    /// True if one of the entered functions has this part in its name.
    fn has(&self, entered: &std::collections::BTreeSet<usize>, name: &str) -> bool {
        entered.iter().any(|index| self.functions[*index].1.contains(name))
    }
}

const FUNCTIONS: &str = r"
use std::{hint::black_box, time::Instant};
#[inline(never)] pub fn early_one() -> u64 { black_box(1) }
#[inline(never)] pub fn every_time() -> u64 { black_box(2) }
#[inline(never)] pub fn later_one() -> u64 { black_box(3) }
#[inline(never)] pub fn never() -> u64 { black_box(4) }
#[inline(never)] pub fn clock_reader() {
    let start = Instant::now();
    black_box(every_time() + later_one());
    black_box(start.elapsed());
}
#[inline(never)] pub fn in_thread() -> u64 { black_box(5) }
fn main() {
    black_box(early_one() + every_time());
    clock_reader();
    std::thread::spawn(|| black_box(in_thread())).join().unwrap();
    if std::env::args().count() > 9 { black_box(never()); }
    std::process::exit(3);
}
";

#[test]
fn entered_functions_are_recorded_with_their_phase() {
    let program = Program::compile(FUNCTIONS);
    let (observed, ending) = program.run(&[]);
    assert_eq!(ending, Ending::Exited(3));
    let set_up = |name| program.has(&observed.in_set_up, name);
    let measuring = |name| program.has(&observed.while_measuring, name);
    assert!(set_up("early_one") && !measuring("early_one"));
    assert!(set_up("every_time") && measuring("every_time"));
    assert!(!set_up("later_one"));
    assert!(measuring("later_one"));
    assert!(measuring("in_thread"), "another thread's");
    assert!(set_up("clock_reader") && measuring("clock_reader"), "it had not returned");
    assert!(!set_up("never") && !measuring("never"));
}

#[test]
fn functions_entered_after_the_last_reading_of_the_clock_are_not_measured() {
    let program = Program::compile(FUNCTIONS);
    let executable = program.path().join("p").canonicalize().unwrap();
    // Only then, the tracer sees each reading.
    let observed = program.run_by(program.plan(&executable), "p", 1, &[]).0.unwrap();
    let measuring = |name| program.has(&observed.while_measuring, name);
    assert!(measuring("every_time") && measuring("later_one") && measuring("clock_reader"));
    assert!(!measuring("in_thread") && program.has(&observed.in_set_up, "in_thread"));
}

#[test]
fn breakpoints_in_the_file_observe_the_same() {
    let program = Program::compile(FUNCTIONS);
    let (prepared, ending) = program.run_prepared(&[]);
    assert_eq!(ending, Some(Ending::Exited(3)));
    let (observed, _) = program.run(&[]);
    let prepared = prepared.unwrap();
    assert_eq!(prepared.in_set_up, observed.in_set_up);
    assert_eq!(prepared.while_measuring, observed.while_measuring);
}

/// Nobody would handle the breakpoints of another process of the same file.
#[test]
fn prepared_program_that_starts_itself_is_not_traced() {
    let program = Program::compile(
        r#"fn main() {
            if std::env::args().count() > 1 { return; }
            let own = std::env::current_exe().unwrap();
            let _ = std::process::Command::new(own).arg("x").status();
        }"#,
    );
    assert_eq!(program.run(&[]).1, Ending::Exited(0));
    assert_eq!(program.run_prepared(&[]).0, Err("it starts itself".to_owned()));
}

const ACTIONS: &str = r#"
use std::{env, fs, net, os::fd::AsRawFd, thread, time::Duration};
extern "C" { fn flock(file: i32, operation: i32) -> i32; fn kill(process: i32, signal: i32) -> i32; }
fn main() {
    let connect = |port| drop(net::TcpStream::connect(("127.0.0.1", port)));
    let own = env::args().nth(2).unwrap_or_default();
    match &*env::args().nth(1).unwrap() {
        "compute" => println!("{}", (0..1000).fold(1_u64, |a, b| a ^ b * 3)),
        "read" => drop(fs::read("p.rs").unwrap()),
        "list" => println!("{}", fs::read_dir(".").unwrap().count()),
        "wait" => thread::spawn(|| thread::sleep(Duration::from_millis(1))).join().unwrap(),
        "discard" => fs::write("/dev/null", "x").unwrap(),
        "connect to rbench" => connect(9),
        "report" => fs::write(own, "x").unwrap(),
        "write" => fs::write("output", "x").unwrap(),
        "make" => drop(fs::create_dir("made")),
        "remove" => drop(fs::remove_file("missing")),
        "rename" => drop(fs::rename("missing", "other")),
        "listen" => drop(net::TcpListener::bind(("127.0.0.1", 0))),
        "connect" => connect(10),
        "send" => drop(net::UdpSocket::bind(("127.0.0.1", 0))),
        "lock" => drop(unsafe { flock(fs::File::open("p.rs").unwrap().as_raw_fd(), 2) }),
        "signal" => drop(unsafe { kill(std::process::id() as i32, 0) }),
        other => panic!("{other}"),
    }
}
"#;

#[test]
fn only_calls_that_may_concern_others_are_noticeable() {
    let program = Program::compile(ACTIONS);
    let own = program.path().join("rbench-execution-1");
    fs::create_dir(&own).unwrap();
    let own = own.join("answer").display().to_string();
    for (action, is_noticeable) in [
        ("compute", false),
        ("read", false),
        ("list", false),
        ("wait", false),
        ("discard", false),
        ("connect to rbench", false),
        ("report", false),
        ("write", true),
        ("make", true),
        ("remove", true),
        ("rename", true),
        ("listen", true),
        ("connect", true),
        ("send", true),
        ("lock", true),
        ("signal", true),
    ] {
        let (observed, ending) = program.run(&[action, &own]);
        assert_eq!(ending, Ending::Exited(0), "{action}");
        assert_eq!(observed.is_noticeable, is_noticeable, "{action}");
    }
}

const READER: &str = r#"
use std::{env, fs, process::Command};
fn main() {
    let _ = env::var("ASKED");
    let _ = env::var("ASKED_TOO");
    let _ = env::var("ASKED");
    let _ = fs::read("data/input");
    let _ = fs::read_dir("data");
    let _ = fs::metadata("looked-for");
    let _ = fs::write("output", "x");
    if env::args().count() > 1 {
        let _ = Command::new("/bin/sh").args(["-c", "read x < data/of-child"]).status();
    }
}
"#;

#[test]
fn read_files_and_variables_are_recorded_written_ones_not() {
    let program = Program::compile(READER);
    let (observed, ending) = program.run(&[]);
    assert_eq!(ending, Ending::Exited(0));
    let path = |name| program.path().canonicalize().unwrap().join(name);
    assert!(observed.opened.contains(&path("data/input")), "{observed:?}");
    assert!(observed.opened.contains(&path("data")));
    assert!(observed.looked_for.contains(&path("looked-for")));
    assert!(!observed.opened.contains(&path("output")));
    for name in ["ASKED", "ASKED_TOO"] {
        assert!(observed.variables.contains(name), "{:?}", observed.variables);
    }
    assert!(!observed.variables.contains("HOME"));
    assert_eq!((observed.programs.len(), observed.unnamed), (0, 0));
}

#[test]
fn variable_that_a_constructor_of_a_library_reads_is_recorded() {
    let place = tempfile::tempdir().unwrap();
    let library = "
        extern \"C\" { fn getenv(name: *const u8) -> *const u8; }
        extern \"C\" fn construct() { unsafe { getenv(b\"ASKED_EARLY\\0\".as_ptr()); } }
        #[used] #[link_section = \".init_array\"] static CONSTRUCT: extern \"C\" fn() = construct;
        #[no_mangle] pub extern \"C\" fn early() -> i32 { 1 }";
    let file = place.path().join("early.rs");
    fs::write(&file, library).unwrap();
    let compiled = Command::new("rustc")
        .args(["--edition", "2021", "--crate-type", "cdylib", "-O", "-o"])
        .args([&place.path().join("libearly.so"), &file])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let program = Program::compile_in(
        place,
        "#[link(name = \"early\")] extern \"C\" { fn early() -> i32; }
         fn main() { unsafe { early() }; let _ = std::env::var(\"ASKED\"); }",
    );
    let (observed, ending) = program.run(&[]);
    assert!(matches!(ending, Ending::Exited(0)), "{ending:?}");
    for name in ["ASKED_EARLY", "ASKED"] {
        assert!(observed.variables.contains(name), "{:?}", observed.variables);
    }
}

#[test]
fn child_program_is_named_and_its_files_are_recorded() {
    let program = Program::compile(READER);
    let (observed, ending) = program.run(&["child"]);
    assert_eq!(ending, Ending::Exited(0));
    assert_eq!(observed.programs.len(), 1, "{:?}", observed.programs);
    let path = program.path().canonicalize().unwrap().join("data/of-child");
    assert!(observed.opened.contains(&path), "{observed:?}");
}

#[test]
fn program_replaced_by_exec_has_no_known_functions() {
    let program = Program::compile(READER);
    let (observed, ending) = program.run_in_place_of(Path::new("/no/such/executable"), &[]);
    assert_eq!(ending, Ending::Exited(0));
    assert!(observed.in_set_up.is_empty() && observed.while_measuring.is_empty());
    assert_eq!(observed.programs, [program.path().join("p").canonicalize().unwrap()].into());
    assert!(observed.variables.contains("ASKED"), "{:?}", observed.variables);
}

#[test]
fn killed_or_panicking_program_is_followed_to_its_end() {
    let program = Program::compile(
        "fn main() { if std::env::args().count() > 1 { std::process::abort() } panic!() }",
    );
    assert_eq!(program.run(&[]).1, Ending::Exited(101));
    assert_eq!(program.run(&["x"]).1, Ending::Signalled(libc::SIGABRT));
}

#[test]
fn link_target_is_recorded_though_the_link_is_removed() {
    let program = Program::compile(
        r#"fn main() {
            std::os::unix::fs::symlink("p.rs", "linked").unwrap();
            std::fs::hard_link("p.rs", "hard").unwrap();
            std::fs::read("linked").unwrap();
            std::fs::remove_file("linked").unwrap();
            std::fs::remove_file("hard").unwrap();
        }"#,
    );
    let (observed, ending) = program.run(&[]);
    assert_eq!(ending, Ending::Exited(0));
    let source = program.path().canonicalize().unwrap().join("p.rs");
    assert!(observed.opened.contains(&source), "{observed:?}");
    assert!(observed.looked_for.contains(&source), "by the hard link: {observed:?}");
}

#[test]
fn traced_program_sees_all_cpus_though_it_runs_on_one() {
    let program = Program::compile(
        "fn main() {
            let cpus = std::thread::available_parallelism().unwrap().get();
            std::process::exit(i32::try_from(cpus % 256).unwrap());
        }",
    );
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!(program.run(&[]).1, Ending::Exited(i32::try_from(cpus % 256).unwrap()));
}

#[test]
fn signals_arrive_while_variables_are_read() {
    let program = Program::compile(
        r#"
        use std::{env, ffi::{c_int, c_long}, ptr::null_mut, sync::atomic::{AtomicU32, Ordering}};
        static ALARMS: AtomicU32 = AtomicU32::new(0);
        extern "C" {
            fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
            fn setitimer(which: c_int, new: *const [c_long; 4], old: *mut [c_long; 4]) -> c_int;
        }
        extern "C" fn count(_: c_int) { ALARMS.fetch_add(1, Ordering::SeqCst); }
        fn main() {
            unsafe { signal(14, count); setitimer(0, &[0, 1000, 0, 1000], null_mut()); }
            while ALARMS.load(Ordering::SeqCst) < 50 { let _ = env::var("ASKED"); }
        }"#,
    );
    let (observed, ending) = program.run(&[]);
    assert_eq!(ending, Ending::Exited(0));
    assert!(observed.variables.contains("ASKED"));
}

#[test]
fn relative_path_is_resolved_against_its_directory() {
    let program = Program::compile(
        r#"
        use std::{ffi::{c_char, c_int}, fs::File, os::fd::AsRawFd};
        extern "C" { fn openat(from: c_int, path: *const c_char, flags: c_int) -> c_int; }
        fn main() {
            std::fs::create_dir("data").unwrap();
            std::fs::write("data/input", "1").unwrap();
            let data = File::open("data").unwrap();
            let input = unsafe { openat(data.as_raw_fd(), c"input".as_ptr(), 0) };
            std::process::exit(c_int::from(input < 0));
        }"#,
    );
    let (observed, ending) = program.run(&[]);
    assert_eq!(ending, Ending::Exited(0));
    let input = program.path().canonicalize().unwrap().join("data/input");
    assert!(observed.opened.contains(&input), "{observed:?}");
}

/// Computes until its clock has advanced, and reports by its exit status which check failed.
const TIMES: &str = r#"
use std::{
    sync::{atomic::{AtomicU64, Ordering::SeqCst}, mpsc},
    thread,
    time::{Duration, Instant},
};
#[repr(C)] struct Timespec { seconds: i64, nanoseconds: i64 }
extern "C" { fn clock_gettime(id: i32, time: *mut Timespec) -> i32; }
/// The CPU time of this process, which is what it is.
fn cpu_time() -> Duration {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    assert_eq!(unsafe { clock_gettime(2, &mut time) }, 0);
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}
/// What has passed in the world, in seconds.
fn uptime() -> f64 {
    std::fs::read_to_string("/proc/uptime").unwrap().split(' ').next().unwrap().parse().unwrap()
}
fn execute_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {}
}
fn main() {
    execute_for(Duration::from_secs(20));
    if cpu_time() > Duration::from_secs(10) { std::process::exit(10); }
    // By now, the clock is many seconds ahead.
    let (_sender, receiver) = mpsc::channel::<()>();
    let (start, before) = (Instant::now(), uptime());
    assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err());
    if start.elapsed() < Duration::from_millis(50) { std::process::exit(11); }
    if uptime() - before > 10.0 { std::process::exit(12); }
    static LATEST: AtomicU64 = AtomicU64::new(0);
    let threads: Vec<_> = (0..4).map(|_| thread::spawn(move || (0..200).all(|_| {
        let latest = LATEST.load(SeqCst);
        let now = start.elapsed().as_nanos() as u64;
        LATEST.fetch_max(now, SeqCst);
        now >= latest
    })) ).collect();
    if !threads.into_iter().all(|thread| thread.join().unwrap()) { std::process::exit(13); }
    std::process::exit(7);
}
"#;

#[test]
fn clock_ahead_shortens_work_but_not_waits() {
    assert_eq!(Program::compile(TIMES).run_ahead(49), Ending::Exited(7));
}

#[test]
fn clock_that_threads_read_in_a_loop_is_not_ahead() {
    let program = Program::compile(
        "fn main() {
            let read = || for _ in 0..30_000 { std::hint::black_box(std::time::Instant::now()); };
            std::thread::spawn(read).join().unwrap();
        }",
    );
    let executable = program.path().join("p").canonicalize().unwrap();
    let run = |ahead| program.run_by(program.plan(&executable), "p", ahead, &[]);
    assert_eq!(run(49).0, Err(READS_CLOCK_OFTEN.to_owned()));
    assert_eq!(run(0).1, Some(Ending::Exited(0)));
}

/// Reads a clock, or waits until a point in time, in the way that its argument names.
const CLOCKS: &str = r#"
use std::{arch::asm, ffi::{c_char, c_int, c_long, c_void}, sync::mpsc, thread, time::{Duration, Instant, SystemTime}};
#[repr(C)] struct Time(i64, i64);
extern "C" {
    fn clock_gettime(id: c_int, time: *mut Time) -> c_int;
    fn gettimeofday(time: *mut Time, zone: usize) -> c_int;
    fn time(time: usize) -> i64;
    fn syscall(number: c_long, ...) -> c_long;
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn sem_init(semaphore: *mut [u64; 8], shared: c_int, value: u32) -> c_int;
    fn sem_timedwait(semaphore: *mut [u64; 8], until: *const Time) -> c_int;
    fn timerfd_create(id: c_int, flags: c_int) -> c_int;
    fn timerfd_settime(timer: c_int, flags: c_int, new: *const [Time; 2], old: usize) -> c_int;
}
#[cfg(target_arch = "x86_64")]
mod of_processor {
    pub const NUMBER: i64 = 228;
    pub const NAME: &[u8] = b"__vdso_clock_gettime\0";
    pub fn counter() -> u64 { unsafe { core::arch::x86_64::_rdtsc() } }
    pub unsafe fn call(id: i64, time: *mut super::Time) {
        super::asm!("syscall", inlateout("rax") NUMBER => _, in("rdi") id, in("rsi") time, out("rcx") _, out("r11") _);
    }
}
#[cfg(target_arch = "aarch64")]
mod of_processor {
    pub const NUMBER: i64 = 113;
    pub const NAME: &[u8] = b"__kernel_clock_gettime\0";
    pub fn counter() -> u64 { let c: u64; unsafe { super::asm!("mrs {}, cntvct_el0", out(reg) c) }; c }
    pub unsafe fn call(id: i64, time: *mut super::Time) {
        super::asm!("svc 0", in("x8") NUMBER, inlateout("x0") id => _, in("x1") time);
    }
}
use of_processor::*;
fn main() {
    let way = std::env::args().nth(1).unwrap();
    let mut now = Time(0, 0);
    if way == "counter in set-up" { std::hint::black_box(counter()); }
    let start = Instant::now();
    unsafe { match &*way {
        "replaced" => {
            std::hint::black_box(SystemTime::now());
            gettimeofday(&mut now, 0);
            time(0);
            thread::sleep(Duration::from_millis(1));
            thread::park_timeout(Duration::from_millis(1));
            let (_sender, receiver) = mpsc::channel::<()>();
            assert!(receiver.recv_timeout(Duration::from_millis(1)).is_err());
        }
        "counter" => { std::hint::black_box(counter()); }
        "function of the kernel" => {
            let library = dlopen(b"linux-vdso.so.1\0".as_ptr().cast(), 5);
            let function: unsafe extern "C" fn(c_int, *mut Time) -> c_int =
                std::mem::transmute(dlsym(library, NAME.as_ptr().cast()));
            assert_eq!(function(0, &mut now), 0);
        }
        "system call" => call(1, &mut now),
        "CPU time" => call(3, &mut now),
        "call by the C library" => assert_eq!(syscall(NUMBER, 0_i64, &mut now), 0),
        "semaphore" => {
            let mut semaphore = [0; 8];
            sem_init(&mut semaphore, 0, 0);
            clock_gettime(0, &mut now);
            now.1 = 999_999_999;
            assert_eq!(sem_timedwait(&mut semaphore, &now), -1);
        }
        "timer" => {
            clock_gettime(1, &mut now);
            let new = [Time(0, 0), Time(now.0 + 1, now.1)];
            assert_eq!(timerfd_settime(timerfd_create(1, 0), 1, &new, 0), 0);
        }
        _ => {}
    } }
    assert!(start.elapsed() < Duration::from_secs(5));
}
"#;

#[test]
fn clocks_that_do_not_stand_still_are_recorded() {
    use OtherClock::{Counter, Deadline, KernelClock};
    let program = Program::compile(CLOCKS);
    for (way, expected) in [
        ("replaced", None),
        ("CPU time", None),
        ("counter in set-up", None),
        ("counter", Some(Counter)),
        ("function of the kernel", Some(KernelClock)),
        ("system call", Some(KernelClock)),
        ("call by the C library", Some(KernelClock)),
        ("semaphore", None),
        ("timer", Some(Deadline)),
    ] {
        let (observed, ending) = program.run(&[way]);
        assert_eq!(ending, Ending::Exited(0), "{way}");
        assert_eq!(observed.other_clock, expected, "{way}");
    }
}
