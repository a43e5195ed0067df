//! What benchmarks do besides computing.

use crate::shape::{SKIPPED, Shape, exit};

/// What a benchmark does before it measures, where measuring works all the same.
const HARMLESS: [(&str, &str); 16] = [
    ("prints", "println!(\"a line\"); eprintln!(\"another\");"),
    ("prints bytes", "use std::io::Write; std::io::stdout().write_all(&[0xff, 0, 27]).unwrap();"),
    ("prints megabytes", "for _ in 0..20_000 { println!(\"{}\", \"x\".repeat(100)); }"),
    ("changes its directory", "std::env::set_current_dir(\"/\").unwrap();"),
    (
        "starts a child",
        "assert!(std::process::Command::new(\"true\").status().unwrap().success());",
    ),
    (
        "leaves a daemon",
        "std::process::Command::new(\"setsid\").args([\"sleep\", \"60\"]).spawn().unwrap();",
    ),
    (
        "closes its output",
        "extern \"C\" { fn close(fd: i32) -> i32; } unsafe { close(1); close(2); }",
    ),
    (
        "reads itself",
        "let own = std::env::current_exe().unwrap(); assert!(std::fs::read(own).unwrap().len() > 9);",
    ),
    (
        "waits for input",
        "let mut line = String::new(); std::io::stdin().read_line(&mut line).unwrap();",
    ),
    ("starts a thread", "let worker = std::thread::spawn(zoo::sum); worker.join().unwrap();"),
    ("sets up slowly", "std::thread::sleep(std::time::Duration::from_millis(300));"),
    ("writes a file", "std::fs::write(\"input\", \"x\").unwrap();"),
    (
        "handles signals",
        "extern \"C\" { fn signal(n: i32, f: usize) -> usize; } unsafe { signal(14, 1); signal(17, 1); }",
    ),
    (
        "is random",
        "let map: std::collections::HashSet<u32> = (0..9).collect(); std::hint::black_box(map);",
    ),
    (
        "limits its files",
        "extern \"C\" { fn setrlimit(what: i32, to: *const [u64; 2]) -> i32; } \
         unsafe { setrlimit(7, &[8, 8]); }",
    ),
    ("has a panic hook", "std::panic::set_hook(Box::new(|_| std::process::exit(0)));"),
];

/// What ends a benchmark before it has measured, with the words that report it.
const FATAL: [(&str, &str, &str); 6] = [
    ("panics", "if true { panic!(\"no such luck\"); }", "no such luck"),
    ("ends", "if true { std::process::exit(0); }", "ends: failed: it exited with success"),
    ("aborts", "if true { std::process::abort(); }", "SIGABRT"),
    (
        "overflows",
        "fn deep(n: u64) -> u64 { if n == 0 { 0 } else { 1 + deep(std::hint::black_box(n) - 1) } } \
         std::hint::black_box(deep(1 << 40));",
        "stack overflow",
    ),
    ("never measures", "if true { return; }", "never measures: failed: "),
    ("dereferences", "unsafe { std::ptr::null::<u8>().read_volatile(); }", "SIGSEGV"),
];

/// Benchmarks of these names that do something first, and `sum`.
fn doing<'d>(
    name: &'static str,
    source: &'static str,
    what: impl Iterator<Item = (&'d str, &'d str)>,
) -> Shape {
    let definition = |(id, before)| {
        format!(
            "suite.bench(\"{id}\", |bencher| {{ {before}\n        bencher.iter(zoo::other); }});\n    "
        )
    };
    let definitions: Vec<String> = what.map(definition).collect();
    let definitions = definitions.concat();
    let sum = "suite.bench(\"sum\", |bencher| bencher.iter(zoo::sum));";
    Shape::new(name, source).benchmarks(&format!("{definitions}{sum}")).two_commits()
}

pub fn shapes() -> Vec<Shape> {
    let works = HARMLESS
        .iter()
        .fold(exit(1).row("sum", "unaffected"), |expected, (id, _)| expected.row(id, "regressed"));
    let fails = FATAL.iter().fold(exit(4).row("sum", SKIPPED), |expected, (id, _, words)| {
        expected.row(id, "failed").has(words)
    });
    vec![
        doing("harmless benchmarks", "uutils, C10, lance#926, criterion#862, daemons", HARMLESS.into_iter())
            .run("compare --quick --config verdict.confirm=false --builds 3", works),
        doing("benchmarks that fail", "broken set-up", FATAL.iter().map(|&(id, before, _)| (id, before)))
            .run("compare --quick", fails),
        Shape::new("prints before its list", "a logger that starts in main")
            .quick()
            .file(
                "benches/b.rs",
                "fn all(suite: &mut rbench_harness::Suite) {\n    \
                 suite.bench(\"sum\", |bencher| bencher.iter(zoo::sum));\n}\n\n\
                 fn main() -> std::process::ExitCode {\n    println!(\"benchmark x\\nend 1\");\n    \
                 eprintln!(\"starting\");\n    rbench_harness::run(all)\n}\n",
            )
            .list(&["sum"]),
        Shape::new("needs a variable", "a path of test data in the environment")
            .quick()
            .benchmarks(
                "let data = std::env::var(\"ZOO_DATA\").expect(\"ZOO_DATA must be set\");\n    \
                 suite.bench(data, |bencher| bencher.iter(zoo::sum));",
            )
            .run("list .", exit(4).has("ZOO_DATA must be set"))
            .list(&["found"])
            .with("ZOO_DATA", "found"),
        Shape::new("measures nothing", "a benchmark that the compiler removes")
            .benchmarks("suite.bench(\"nothing\", |bencher| bencher.iter(|| ()));")
            .two_commits()
            .run("compare --quick", exit(0).row("nothing", SKIPPED)),
    ]
}
