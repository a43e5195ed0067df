//! Processes whose allocations are counted, with several global allocators.

use std::{
    fs,
    process::{Output, Stdio},
    sync::OnceLock,
};

use rbench_code::elf::{UncountableAllocator, uncountable_allocator};
use tempfile::TempDir;

use super::*;
use crate::process::{preload::LIBRARY_FLAGS, testing::compile};

/// The library, and programs.
struct Built(TempDir);

/// Prints the allocations and bytes that its clock shows for a stretch with known ones: 3 by vectors, 4 by `Box`, one
/// of them large and one aligned, 2 by growing, 1 zeroed; and those of a thread.
const PROGRAM: &str = r#"
use std::{hint::black_box, time::Instant};
#[repr(align(64))]
struct Aligned([u8; 64]);
fn main() {
    black_box(Instant::now());
    let begin = Instant::now();
    for length in [10_usize, 20, 30] {
        black_box(Vec::<u8>::with_capacity(black_box(length)));
    }
    for _ in 0..2 {
        black_box(Box::new(7_u64));
    }
    black_box(Box::new([1_u8; 100_000]));
    black_box(Box::new(Aligned([3; 64])));
    let mut grows = Vec::<u32>::with_capacity(black_box(4));
    grows.extend([1, 2, 3, 4]);
    black_box(&mut grows).push(5);
    black_box(&grows);
    black_box(vec![0_u8; black_box(1000)]);
    let took = begin.elapsed().as_nanos();
    println!("{}", took % 1_000_000_000_000);
    let begin = Instant::now();
    let took = begin.elapsed().as_nanos();
    println!("{}", took);
    std::thread::sleep(std::time::Duration::from_millis(2));
    let (_sender, receiver) = std::sync::mpsc::channel::<()>();
    println!("{}", receiver.recv_timeout(std::time::Duration::from_millis(20)).is_err());
    println!("{}", std::env::var("LD_PRELOAD").unwrap_or_default());
}
"#;

/// The known allocations of that stretch.
const ALLOCATIONS: u64 = 3 + 4 + 2 + 1;
/// The known bytes of that stretch.
const BYTES: u64 = 60 + 16 + 100_000 + 64 + 16 + 32 + 1000;

/// Two custom global allocators: one that counts requests and passes them on, and one with its own memory.
const WRAPPER: &str = r"
struct Own;
static CALLS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
unsafe impl std::alloc::GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        unsafe { std::alloc::System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: std::alloc::Layout) {
        unsafe { std::alloc::System.dealloc(memory, layout) }
    }
}
#[global_allocator]
static OWN: Own = Own;
";
/// The only line of [`WRAPPER`] that uses memory.
const COUNT: &str = "CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);";
/// See [`WRAPPER`].
const ARENA: &str = r"
struct Arena;
static USED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
static mut MEMORY: [u8; 1 << 20] = [0; 1 << 20];
unsafe impl std::alloc::GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        let size = layout.size() + layout.align();
        let start = USED.fetch_add(size, std::sync::atomic::Ordering::Relaxed);
        if start + size > 1 << 20 {
            return unsafe { std::alloc::System.alloc(layout) };
        }
        let first = unsafe { (&raw mut MEMORY).cast::<u8>().add(start) };
        unsafe { first.add(first.align_offset(layout.align())) }
    }
    unsafe fn dealloc(&self, _: *mut u8, _: std::alloc::Layout) {}
}
#[global_allocator]
static ARENA: Arena = Arena;
";

/// An allocator that gives zeroed memory out of a private buffer, and passes all other requests on. It cannot be executed:
/// nothing takes memory of the buffer back.
fn half() -> String {
    const ZEROED: &str = r"
    unsafe fn alloc_zeroed(&self, layout: std::alloc::Layout) -> *mut u8 {
        static mut ZEROS: [u8; 1 << 20] = [0; 1 << 20];
        if layout.size() > 1 << 20 {
            return unsafe { std::alloc::System.alloc_zeroed(layout) };
        }
        (&raw mut ZEROS).cast()
    }
";
    let source = WRAPPER.replace(COUNT, "");
    let end = source.find("    unsafe fn dealloc").unwrap();
    [&source[..end], ZEROED, &source[end..]].concat()
}

/// Everything these tests compile, once: the program with each allocator, without and with LTO.
fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let rustc = |source: &str, name: &str, flags: &str| {
            compile(source, flags, &directory.path().join(name));
        };
        rustc(LIBRARY_SOURCE, "library", &format!("{LIBRARY_FLAGS} --cap-lints=warn -A dead_code"));
        let object = compile_c(directory.path());
        let (plain, half) = (WRAPPER.replace(COUNT, ""), half());
        let all = [
            ("system", ""),
            ("plain", &plain),
            ("wrapper", WRAPPER),
            ("arena", ARENA),
            ("half", &half),
            ("of-c", OF_C),
        ];
        for (name, allocator) in all {
            let source = format!("{PROGRAM}{allocator}");
            for lto in ["off", "fat"] {
                let more =
                    if name == "of-c" { format!(" -C link-arg={object}") } else { String::new() };
                let flags = format!("{FLAGS} -C opt-level=3 -C lto={lto}{more}");
                rustc(&source, &format!("{name}-{lto}"), &flags);
            }
        }
        rustc(&format!("{PROGRAM}{ARENA}"), "arena-apart", &format!("{FLAGS} -C opt-level=0"));
        Built(directory)
    })
}

const FLAGS: &str = "--edition 2024 --cap-lints=allow";

/// The object of the allocator in C.
fn compile_c(directory: &Path) -> String {
    let (source, object) = (directory.join("c.c"), directory.join("c.o"));
    fs::write(&source, C).unwrap();
    let compiler = Command::new("cc").args(["-O2", "-c", "-o"]).args([&object, &source]).status();
    assert!(compiler.unwrap().success());
    object.display().to_string()
}

/// The allocator of a program, if its allocations cannot be counted.
fn uncountable(name: &str) -> Option<UncountableAllocator> {
    uncountable_allocator(&fs::read(built().0.path().join(name)).unwrap()).unwrap()
}

/// Runs a program; returns the lines it printed, and its counts.
fn run(name: &str, counted: Counted) -> (Vec<String>, Counting) {
    let program = built().0.path().join(name);
    let library = built().0.path().join("library");
    let counting = Counting::new(&library, counted, 7).unwrap();
    let mut command = Command::new(program);
    counting.apply(&mut command);
    let Output { status, stdout, .. } = command.stdout(Stdio::piped()).output().unwrap();
    assert!(status.success(), "{status} {stdout:?}");
    let lines = String::from_utf8(stdout).unwrap().lines().map(str::to_owned).collect();
    (lines, counting)
}

/// An allocator in C, by the names of mimalloc.
const C: &str = r"
#include <stddef.h>
#include <stdint.h>
static char memory[1 << 20];
static size_t used;
void *mi_malloc_aligned(size_t size, size_t alignment) {
    uintptr_t start = ((uintptr_t)memory + used + alignment - 1) & ~(alignment - 1);
    used = start + size - (uintptr_t)memory;
    return used > sizeof memory ? NULL : (void *)start;
}
";
/// See [`C`].
const OF_C: &str = r#"
unsafe extern "C" {
    fn mi_malloc_aligned(size: usize, alignment: usize) -> *mut u8;
}
struct OfC;
unsafe impl std::alloc::GlobalAlloc for OfC {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        unsafe { mi_malloc_aligned(layout.size(), layout.align()) }
    }
    unsafe fn dealloc(&self, _: *mut u8, _: std::alloc::Layout) {}
}
#[global_allocator]
static OF_C: OfC = OfC;
"#;

#[test]
fn counts_of_c_library_calls_are_exact_with_lto_too() {
    for allocator in ["system", "plain"] {
        for (lto, counted, expected) in [
            ("off", Counted::Allocations, ALLOCATIONS),
            ("off", Counted::Bytes, BYTES),
            ("fat", Counted::Allocations, ALLOCATIONS),
            ("fat", Counted::Bytes, BYTES),
        ] {
            let name = format!("{allocator}-{lto}");
            assert_eq!(uncountable(&name), None, "{name}");
            let (lines, counting) = run(&name, counted);
            let tally = counting.tally().unwrap();
            assert!(tally.joined);
            assert_eq!(lines[0], expected.to_string(), "{name} {counted:?} {tally:?}");
            assert_eq!(lines[1], STEP.to_string(), "nothing is counted of the clock itself");
            assert_eq!(lines[2..], ["true", ""], "waits end, and what it starts is not counted");
        }
    }
}

#[test]
fn custom_allocators_are_refused() {
    for lto in ["off", "fat"] {
        let of_c = uncountable(&format!("of-c-{lto}"));
        assert_eq!(of_c, Some(UncountableAllocator::Linked("mimalloc")), "{lto}");
    }
    for name in ["wrapper-off", "wrapper-fat", "arena-off", "arena-fat", "half-off"] {
        let refused = uncountable(name);
        assert!(matches!(refused, Some(UncountableAllocator::Custom(_))), "{name} {refused:?}");
    }
    let named = UncountableAllocator::Custom(Some("arena_apart::Arena".to_owned()));
    assert_eq!(uncountable("arena-apart"), Some(named));
}

#[test]
fn process_without_the_library_counts_nothing() {
    let library = built().0.path().join("library");
    let counting = Counting::new(&library, Counted::Bytes, 7).unwrap();
    assert_eq!(counting.tally().unwrap(), Tally::default());
}

#[test]
fn clock_readings_are_kept_with_their_counts() {
    let (_, counting) = run("system-off", Counted::Bytes);
    let readings = counting.readings().unwrap();
    let [_, start, end, ..] = readings[..] else { panic!("{readings:?}") };
    assert_eq!([end[0] - start[0], end[1] - start[1]], [ALLOCATIONS, BYTES]);
}

#[test]
fn counted_in_removes_whole_steps() {
    let step = STEP as f64;
    assert_eq!(counted_in(step + 7.0), Some(7));
    assert_eq!(counted_in(3.0 * step), Some(0));
    assert_eq!(counted_in((step / 3.0 + 5.0) * 3.0), Some(15), "of a value per iteration");
    assert_eq!(counted_in(12_345.0), None, "the benchmark tells a time of its own");
    assert_eq!(counted_in(1e17), None, "not exact");
    assert_eq!(counted_in(f64::NAN), None);
}
