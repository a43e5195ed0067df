//! The `bench.toml` of somebody who begins: every key, as a comment with its default.

/// Every key with its default: the documentation of the file, and what a new one is made of.
const EXAMPLE: &str = include_str!("../../bench.toml.example");

/// A new `bench.toml`, which changes nothing: its tables are there, and its keys are comments.
pub fn commented() -> String {
    let commented = |line: &str| {
        let is_kept = line.is_empty() || line.starts_with(['#', '[']);
        if is_kept { format!("{line}\n") } else { format!("# {line}\n") }
    };
    let lines = EXAMPLE.lines().map(|line| {
        // The place of this one.
        line.replace(" Put bench.toml next to your workspace's Cargo.toml.", "")
    });
    lines.map(|line| commented(&line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BenchToml;

    #[test]
    fn a_new_file_is_understood_and_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("bench.toml"), commented()).unwrap();
        let file = BenchToml::read(directory.path()).unwrap();
        let nothing = BenchToml::default();
        assert_eq!(format!("{:?}", file.build()), format!("{:?}", nothing.build()));
        assert_eq!(file.sampling(), nothing.sampling());
        assert_eq!(file.criteria(), nothing.criteria());
        assert!(file.benchmarks().is_empty());
    }

    #[test]
    fn every_key_of_the_example_is_in_a_new_file() {
        let new = commented();
        for line in EXAMPLE.lines().filter(|line| line.contains(" = ")) {
            assert!(new.contains(line), "{line}");
        }
        assert!(
            new.contains("\n# layout = \"same-address\"\n") && new.contains("\n[verdict]\n"),
            "{new}"
        );
    }
}
