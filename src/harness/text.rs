//! Parses output that several harnesses have in common.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_benchmarks_and_nothing_else() {
        let head = b"a: test\nb c: benchmark\n\n1 test, 1 benchmark\nd: benchmark: benchmark\n";
        let names = listed(&Output { head: head.to_vec(), ..Output::default() });
        assert_eq!(names, ["b c", "d: benchmark"].map(Name::plain));
    }
}
