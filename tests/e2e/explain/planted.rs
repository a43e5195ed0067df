//! The changes that are planted in the fixture `explained`, and the functions that explain them.

/// A commit on top of the fixture.
pub struct Planted {
    /// The benchmark that executes more or fewer instructions.
    pub benchmark: &'static str,
    /// The file below `src`, the old text and its replacement.
    pub edits: &'static [(&'static str, &'static str, &'static str)],
    /// The changed function, or its caller if it was inlined or no longer is.
    pub function: &'static str,
}

pub const PLANTED: [Planted; 10] = [
    Planted {
        benchmark: "slower",
        edits: &[(
            "parse.rs",
            "value = value * 10 + u64::from(digit - b'0');",
            "value = std::hint::black_box(value) % 1_000_003 * 10 + u64::from(digit - b'0');",
        )],
        function: "explained::parse::number",
    },
    Planted {
        benchmark: "outlined",
        edits: &[("outlined.rs", "#[inline(always)]", "#[inline(never)]")],
        function: "explained::outlined::walk",
    },
    Planted {
        benchmark: "inlined",
        edits: &[("inlined.rs", "#[inline(never)]\nfn step", "#[inline(always)]\nfn step")],
        function: "explained::inlined::walk",
    },
    Planted {
        benchmark: "calls",
        edits: &[("calls.rs", "(0..times)", "(0..2 * times)")],
        function: "explained::calls::caller",
    },
    Planted {
        benchmark: "table",
        edits: &[("table.rs", "SIZE: usize = 24", "SIZE: usize = 56")],
        function: "explained::table::find",
    },
    Planted {
        benchmark: "algorithm",
        edits: &[(
            "sort.rs",
            "        while place > 0 && numbers[place - 1] > numbers[place] {\n            numbers.swap(place - 1, place);\n            place -= 1;\n        }\n",
            "        while place > 0 {\n            if numbers[place - 1] > numbers[place] {\n                numbers.swap(place - 1, place);\n            }\n            place -= 1;\n        }\n",
        )],
        function: "explained::sort::sort",
    },
    Planted {
        benchmark: "checked",
        edits: &[("sums.rs", "sum.wrapping_add(*number)", "sum.checked_add(*number).unwrap()")],
        function: "explained::sums::sum",
    },
    Planted {
        benchmark: "allocating",
        edits: &[(
            "collect.rs",
            "numbers(count).map(",
            "numbers(count).collect::<Vec<_>>().into_iter().map(",
        )],
        function: "explained::collect::total",
    },
    Planted {
        benchmark: "dynamic",
        edits: &[("shapes.rs", "(0..8).fold", "(0..11).fold")],
        function: "<explained::shapes::Square as explained::shapes::Shape>::area",
    },
    Planted {
        benchmark: "recursive",
        edits: &[("tree.rs", "black_box(tree.number);", "black_box(black_box(tree.number) + 1);")],
        function: "explained::tree::sum",
    },
];
