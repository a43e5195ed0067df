//! The `bench.toml` that `init` writes: every key, commented out with its default.
//!
//! It is made from `bench.toml.example`, so that the example and a new file cannot differ.

/// Every key with its default. It is both the documentation of the file and the source of a new one.
const EXAMPLE: &str = include_str!("../../bench.toml.example");

/// Returns a new `bench.toml`. It changes no setting: all keys are commented out.
pub fn commented() -> String {
    let commented = |line: &str| {
        let is_kept = line.is_empty() || line.starts_with(['#', '[']);
        if is_kept { format!("{line}\n") } else { format!("# {line}\n") }
    };
    let lines = EXAMPLE.lines().map(|line| {
        // A new file is in this place already.
        line.replace(" Put bench.toml next to your workspace's Cargo.toml.", "")
    });
    lines.map(|line| commented(&line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BenchToml;

    #[test]
    fn new_file_parses_and_changes_no_setting() {
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
    fn new_file_has_every_key_of_the_example() {
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
