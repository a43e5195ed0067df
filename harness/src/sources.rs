//! This crate's own files, for a program that must write the harness to disk: `cargo rbench demo` creates a project
//! that needs no network.

/// All files that this crate is compiled from, except for its manifest: path and content.
pub const FILES: [(&str, &str); 12] = [
    ("README.md", include_str!("../README.md")),
    ("src/arguments.rs", include_str!("arguments.rs")),
    ("src/bencher.rs", include_str!("bencher.rs")),
    ("src/initial_state.rs", include_str!("initial_state.rs")),
    ("src/lib.rs", include_str!("lib.rs")),
    ("src/measure.rs", include_str!("measure.rs")),
    ("src/protocol.rs", include_str!("protocol.rs")),
    ("src/runner.rs", include_str!("runner.rs")),
    ("src/sources.rs", include_str!("sources.rs")),
    ("src/suite.rs", include_str!("suite.rs")),
    ("src/table.rs", include_str!("table.rs")),
    ("src/tuning.rs", include_str!("tuning.rs")),
];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::FILES;

    #[test]
    fn files_contains_every_source() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let name = |entry: fs::DirEntry| format!("src/{}", entry.file_name().to_str().unwrap());
        let mut there: BTreeSet<String> =
            fs::read_dir(source).unwrap().map(|entry| name(entry.unwrap())).collect();
        there.insert("README.md".to_owned());
        let listed: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, there);
    }
}
