//! The kinds of change, and the benchmarks of the fixture that each affects.

use By::{Doubt, File, Measured, Passed, SetUp, Variable};

/// A commit on top of the fixture.
pub struct Kind {
    /// The kind of change. With hyphens it is the name of the commit's tag.
    pub name: &'static str,
    /// The file, the old text and its replacement. Without an old text, the file is new.
    pub edits: &'static [(&'static str, &'static str, &'static str)],
    /// The affected benchmarks, each with its impact.
    pub affected: &'static [(&'static str, By)],
    /// The verdict of a comparison on all other benchmarks.
    pub others: &'static str,
}

/// The way in which a benchmark is affected.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// It enters a function with this part in its name while it is measured.
    Measured(&'static str),
    /// It enters a function with this part in its name before it is measured, and none while it is.
    SetUp(&'static str),
    /// It enters a function with this part in its name, and perhaps others.
    Passed(&'static str),
    /// It reads or looks for this file or directory.
    File(&'static str),
    /// It reads this variable.
    Variable(&'static str),
    /// Its impact is uncertain, for a reason with this part.
    Doubt(&'static str),
}

/// The number of benchmarks in the fixture.
pub const BENCHMARKS: usize = 29;

/// Stands for all benchmarks in place of an id.
pub const EVERY: &str = "*";

const CODE: &str = "src/code.rs";
const DATA: &str = "src/data.rs";
const UNAFFECTED: &str = "unaffected";
/// The verdict when the whole program is the same.
pub const IDENTICAL: &str = "identical";

pub const OF_CODE: [Kind; 14] = [
    Kind {
        name: "a function",
        edits: &[(CODE, "number ^ 11)", "number ^ 12)")],
        affected: &[("plain", Measured("plain"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "an inlined callee",
        edits: &[(CODE, "wrapping_mul(21)", "wrapping_mul(23)")],
        affected: &[("inlined", Measured("outer"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "a path that only some inputs take",
        edits: &[(CODE, "number ^ 31)", "number ^ 33)")],
        affected: &[("rare case", Measured("rare"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "a method behind a vtable",
        edits: &[(CODE, "wrapping_mul(43)", "wrapping_mul(49)")],
        affected: &[("round", Measured("Round as"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "an entry of a vtable",
        edits: &[(
            CODE,
            "    // The weight is that of any shape.\n",
            "\n    #[inline(never)]\n    fn weight(&self) -> u64 {\n        self.0 ^ 46\n    }\n",
        )],
        affected: &[("square", Measured("Square as"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "a default method",
        edits: &[(CODE, "wrapping_mul(2) ^ 51", "wrapping_mul(2) ^ 52")],
        affected: &[("default method", Measured("twice"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "a generic function of another crate",
        edits: &[("part/src/lib.rs", "rotate_left(1)", "rotate_left(2)")],
        affected: &[("generic", Measured("folded"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "a dependency with another version",
        edits: &[
            ("part/Cargo.toml", "version = \"1.0.0\"", "version = \"1.1.0\""),
            ("part/src/lib.rs", "wrapping_mul(131)", "wrapping_mul(133)"),
        ],
        affected: &[("dependency", Measured("scaled"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "a function of a thread",
        edits: &[(CODE, "number ^ 61)", "number ^ 62)")],
        affected: &[("thread", Measured("in_thread"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "the initialiser of a lazy static",
        edits: &[(CODE, "black_box(7) ^ 71", "black_box(7) ^ 72")],
        affected: &[("lazy", Measured("initial"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "what is done when a value is dropped",
        edits: &[(CODE, "self.0 ^ 81", "self.0 ^ 82")],
        affected: &[("dropped", Measured("Guarded as"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "a panic that nobody meets",
        edits: &[(CODE, "number ^ 91)", "number ^ 92)")],
        affected: &[],
        others: UNAFFECTED,
    },
    Kind {
        name: "the making of an input",
        edits: &[(CODE, "black_box(7) ^ 101", "black_box(7) ^ 102")],
        affected: &[("set-up", SetUp("input"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "a feature that is on by default",
        edits: &[("Cargo.toml", "default = [\"usual\"]", "default = [\"usual\", \"extra\"]")],
        affected: &[("feature", Measured("featured"))],
        others: UNAFFECTED,
    },
];

pub const OF_DATA: [Kind; 6] = [
    Kind {
        name: "a number of a static table",
        edits: &[(DATA, "[3, 1, 4, 1, 5, 9, 2, 6]", "[3, 1, 4, 1, 5, 9, 2, 7]")],
        affected: &[("table", Measured("data::table"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "a constant without a name",
        edits: &[(DATA, "b\"a constant without a name\"", "b\"a constant without a Name\"")],
        affected: &[("literal", Measured("data::literal"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "an included file",
        edits: &[("data/poem.txt", "ever on and on", "ever up and up")],
        affected: &[("included", Measured("data::included"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "the output of a build script",
        edits: &[("build.rs", "u64 = 141", "u64 = 143")],
        affected: &[("generated", Measured("data::generated"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "the order of a table of functions",
        edits: &[(DATA, "[up, down]", "[down, up]")],
        affected: &[("dispatched", Measured("data::dispatched"))],
        others: UNAFFECTED,
    },
    Kind {
        name: "the first value of a variable",
        edits: &[(DATA, "AtomicU64::new(161)", "AtomicU64::new(163)")],
        affected: &[("counter", Measured("data::counted"))],
        others: UNAFFECTED,
    },
];

pub const FROM_OUTSIDE: [Kind; 5] = [
    Kind {
        name: "a file that is read",
        edits: &[("data/words.txt", "three", "three four five")],
        affected: &[("file", File("data/words.txt"))],
        others: IDENTICAL,
    },
    Kind {
        name: "a file that was missing",
        edits: &[("data/special.txt", "", "It is here.\n")],
        affected: &[("missing file", File("data/special.txt"))],
        others: IDENTICAL,
    },
    Kind {
        name: "a file in a directory that is listed",
        edits: &[("data/list/third.txt", "", "third\n")],
        affected: &[("directory", File("data/list"))],
        others: IDENTICAL,
    },
    Kind {
        name: "a file that a child process reads",
        edits: &[("data/say.sh", "echo said", "echo said more")],
        affected: &[("child", File("data/say.sh"))],
        others: IDENTICAL,
    },
    Kind {
        name: "a release",
        edits: &[("Cargo.toml", "version = \"1.0.0\"", "version = \"1.0.1\"")],
        affected: &[
            ("version", Measured("data::version")),
            ("variable", Variable("CARGO_PKG_VERSION")),
            // Another program may read any variable.
            ("child", Doubt("CARGO_PKG_VERSION")),
        ],
        others: UNAFFECTED,
    },
];

pub const OF_NOTHING: [Kind; 2] = [
    Kind {
        name: "comments and documentation and tests",
        edits: &[
            ("README.md", "", "# Kinds of change\n"),
            (CODE, "//! Machine code.", "// Moves all lines.\n//! Machine code of all kinds."),
            ("tests/code.rs", "assert_eq!", "// This turns nothing.\n    assert_eq!"),
        ],
        // Another program may read any variable, even the one that names a README.
        affected: &[("child", Doubt("CARGO_PKG_README"))],
        others: IDENTICAL,
    },
    // The function that registers the benchmarks registers one more, and every benchmark enters it.
    Kind {
        name: "another benchmark",
        edits: &[(
            "benches/work.rs",
            "    suite.bench(\"counter\"",
            "    suite.bench(\"new\", |bencher| bencher.iter(|| data::table(black_box(18))));\n    \
             suite.bench(\"counter\"",
        )],
        affected: &[(EVERY, Passed("main::"))],
        others: UNAFFECTED,
    },
];
