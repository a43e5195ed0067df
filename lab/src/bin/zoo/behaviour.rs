//! What benchmarks do besides computing.

use crate::shape::{Expected, SKIPPED, Shape, exit};

/// `sum`, and a benchmark that does this before it measures, both measured.
fn doing(name: &'static str, source: &'static str, before: &str, expected: Expected) -> Shape {
    Shape::new(name, source)
        .benchmarks(&format!(
            "suite.bench(\"odd\", |bencher| {{\n        {before}\n        bencher.iter(zoo::other);\n    }});\n    \
             suite.bench(\"sum\", |bencher| bencher.iter(zoo::sum));"
        ))
        .two_commits()
        .run("compare --quick", expected.row("sum", "unaffected"))
}

fn works() -> Expected {
    exit(1).row("odd", "regressed")
}

fn fails() -> Expected {
    exit(4).row("odd", "failed")
}

pub fn shapes() -> Vec<Shape> {
    vec![
        doing("prints to stdout and stderr", "uutils", "println!(\"a line\"); eprintln!(\"another\");", works()),
        doing("panics", "a broken benchmark", "if true { panic!(\"no such luck\"); }", fails().has("no such luck")),
        doing("ends with success", "process::exit(0) in set-up", "if true { std::process::exit(0); }", fails().has("odd")),
        doing("aborts", "a failed assertion of C code", "if true { std::process::abort(); }", fails().has("SIGABRT")),
        doing(
            "overflows its stack",
            "deep recursion",
            "fn deep(n: u64) -> u64 { if n == 0 { 0 } else { 1 + deep(std::hint::black_box(n) - 1) } }\n        \
             std::hint::black_box(deep(1 << 40));",
            fails().has("overflowed its stack"),
        ),
        doing("changes its directory", "fixtures by relative paths", "std::env::set_current_dir(\"/\").unwrap();", works()),
        doing(
            "starts a child",
            "git or a compiler in set-up",
            "assert!(std::process::Command::new(\"true\").status().unwrap().success());",
            works(),
        ),
        doing(
            "leaves a daemon",
            "a server for the benchmark",
            "std::process::Command::new(\"setsid\").args([\"sleep\", \"60\"]).spawn().unwrap();",
            exit(1).row("odd", "regressed|inconclusive").has("odd"),
        ),
        doing(
            "closes its output",
            "daemons",
            "extern \"C\" { fn close(fd: i32) -> i32; }\n        unsafe { close(1); close(2); }",
            works(),
        ),
        doing(
            "reads its own executable",
            "C10: uutils' locales",
            "let own = std::env::current_exe().unwrap(); assert!(std::fs::read(own).unwrap().len() > 1000);",
            works(),
        ),
        doing(
            "waits for its input",
            "a prompt",
            "let mut line = String::new(); std::io::stdin().read_line(&mut line).unwrap();",
            works(),
        ),
        doing(
            "starts threads",
            "a pool in set-up",
            "let worker = std::thread::spawn(zoo::sum); worker.join().unwrap();",
            works(),
        ),
        doing(
            "sets up slowly",
            "criterion#862",
            "std::thread::sleep(std::time::Duration::from_millis(300));",
            works(),
        ),
        doing(
            "writes into its directory",
            "a cache of inputs",
            "std::fs::create_dir_all(\"cache\").unwrap(); std::fs::write(\"cache/input\", \"x\").unwrap();",
            works(),
        ),
        doing("writes megabytes", "a verbose logger", "for _ in 0..20_000 { println!(\"{}\", \"x\".repeat(100)); }", works()),
        doing("writes other bytes", "binary output", "use std::io::Write; std::io::stdout().write_all(&[0xff, 0, 27]).unwrap();", works()),
        doing(
            "handles signals",
            "a handler of SIGALRM and SIGPROF",
            "extern \"C\" { fn signal(n: i32, f: usize) -> usize; }\n        unsafe { signal(14, 1); signal(27, 1); signal(17, 1); }",
            works(),
        ),
        doing(
            "asks for random numbers",
            "lance#926: an unseeded map",
            "let map: std::collections::HashMap<u32, u32> = (0..9).map(|n| (n, n)).collect(); std::hint::black_box(map);",
            works(),
        ),
        doing(
            "lowers its limits",
            "a sandbox",
            "extern \"C\" { fn setrlimit(what: i32, to: *const [u64; 2]) -> i32; }\n        \
             unsafe { setrlimit(7, &[8, 8]); }",
            exit(1).row("odd", "regressed"),
        ),
        Shape::new("prints before its list", "a logger that starts in main")
            .quick()
            .file(
                "benches/b.rs",
                "fn all(suite: &mut rbench_harness::Suite) {\n    \
                 suite.bench(\"sum\", |bencher| bencher.iter(zoo::sum));\n}\n\n\
                 fn main() -> std::process::ExitCode {\n    println!(\"benchmark x\\nend 1\");\n    \
                 eprintln!(\"starting\");\n    rbench_harness::run(all)\n}\n",
            )
            .list(&["sum"])
            .skipped(),
        Shape::new("needs a variable", "a path of test data in the environment")
            .quick()
            .benchmarks(
                "let data = std::env::var(\"ZOO_DATA\").expect(\"ZOO_DATA must be set\");\n    \
                 suite.bench(data, |bencher| bencher.iter(zoo::sum));",
            )
            .run("list .", exit(4).has("ZOO_DATA must be set"))
            .list(&["found"])
            .with("ZOO_DATA", "found"),
        Shape::new("constant results", "a benchmark that the compiler removes")
            .benchmarks("suite.bench(\"nothing\", |bencher| bencher.iter(|| ()));")
            .two_commits()
            .run("compare --quick", exit(0).row("nothing", SKIPPED)),
    ]
}
