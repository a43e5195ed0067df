//! What several harnesses print for people, and how it is read.

use crate::{model::Name, process::Output};

/// The benchmarks in a list as `cargo test -- --list` prints it: `NAME: benchmark`.
pub(super) fn listed(output: &Output) -> Vec<Name> {
    output
        .to_string()
        .lines()
        .filter_map(|line| line.strip_suffix(": benchmark"))
        .map(Name::plain)
        .collect()
}

/// A time as people write it, for instance `1.5 µs`, in nanoseconds.
pub(super) fn time_in_nanoseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit.trim_start() {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" | "μs" | "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_benchmarks_and_nothing_else() {
        let head = b"a: test\nb c: benchmark\n\n1 test, 1 benchmark\nd: benchmark: benchmark\n";
        let names = listed(&Output { head: head.to_vec(), ..Output::default() });
        assert_eq!(names, ["b c", "d: benchmark"].map(Name::plain));
    }

    #[test]
    fn times_are_read_in_every_unit_and_nothing_else_is() {
        for (text, nanoseconds) in
            [("250 ps", 0.25), ("70.16 ns", 70.16), ("1.5 µs", 1500.0), ("2 s", 2e9), ("1 m", 6e10)]
        {
            assert!((time_in_nanoseconds(text).unwrap() - nanoseconds).abs() < 1e-9, "{text}");
        }
        for text in ["", "ns", "1", "1.3 GB/s", "x ns"] {
            assert_eq!(time_in_nanoseconds(text), None, "{text}");
        }
    }
}
