//! The environment that Cargo gives to the processes of a package's bench targets.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use cargo_metadata::Package;

/// What Cargo lets a process know about `package`: `CARGO_MANIFEST_DIR`, `CARGO_PKG_*` and the like.
pub fn package_variables(package: &Package) -> Vec<(OsString, OsString)> {
    let version = &package.version;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let path = |path: &Option<cargo_metadata::camino::Utf8PathBuf>| {
        path.as_ref().map(ToString::to_string).unwrap_or_default()
    };
    let directory = package.manifest_path.parent().map(ToString::to_string).unwrap_or_default();
    [
        ("CARGO_MANIFEST_DIR", directory),
        ("CARGO_MANIFEST_PATH", package.manifest_path.to_string()),
        ("CARGO_PKG_NAME", package.name.to_string()),
        ("CARGO_PKG_VERSION", version.to_string()),
        ("CARGO_PKG_VERSION_MAJOR", version.major.to_string()),
        ("CARGO_PKG_VERSION_MINOR", version.minor.to_string()),
        ("CARGO_PKG_VERSION_PATCH", version.patch.to_string()),
        ("CARGO_PKG_VERSION_PRE", version.pre.to_string()),
        ("CARGO_PKG_AUTHORS", package.authors.join(":")),
        ("CARGO_PKG_DESCRIPTION", text(&package.description)),
        ("CARGO_PKG_HOMEPAGE", text(&package.homepage)),
        ("CARGO_PKG_REPOSITORY", text(&package.repository)),
        ("CARGO_PKG_LICENSE", text(&package.license)),
        ("CARGO_PKG_LICENSE_FILE", path(&package.license_file)),
        ("CARGO_PKG_README", path(&package.readme)),
        (
            "CARGO_PKG_RUST_VERSION",
            package.rust_version.as_ref().map(ToString::to_string).unwrap_or_default(),
        ),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value.into()))
    .collect()
}

/// The variable by which the system's loader finds shared libraries, with `directories` before what
/// it has now (`inherited`). Directories whose names cannot stand in a path list are left out.
pub fn library_path(directories: &[PathBuf], inherited: Option<&OsStr>) -> (OsString, OsString) {
    let inherited = inherited.into_iter().flat_map(std::env::split_paths);
    let can_be_listed = |directory: &Path| std::env::join_paths([directory]).is_ok();
    let directories: Vec<PathBuf> = directories
        .iter()
        .cloned()
        .chain(inherited)
        .filter(|directory| can_be_listed(directory) && !directory.as_os_str().is_empty())
        .collect();
    ("LD_LIBRARY_PATH".into(), std::env::join_paths(directories).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_described_as_cargo_does() {
        let package: Package = serde_json::from_value(serde_json::json!({
            "name": "p", "version": "1.2.3-rc.1", "id": "p", "dependencies": [], "targets": [],
            "features": {}, "manifest_path": "/w/p/Cargo.toml", "authors": ["A", "B"],
            "license": "MIT", "readme": "README.md",
        }))
        .unwrap();
        let variables = package_variables(&package);
        for (name, value) in [
            ("CARGO_MANIFEST_DIR", "/w/p"),
            ("CARGO_PKG_VERSION_PRE", "rc.1"),
            ("CARGO_PKG_AUTHORS", "A:B"),
            ("CARGO_PKG_README", "README.md"),
            ("CARGO_PKG_HOMEPAGE", ""),
        ] {
            assert!(variables.contains(&(name.into(), value.into())), "{name}: {variables:?}");
        }
    }

    #[test]
    fn the_library_path_puts_what_is_built_before_what_is_there() {
        let directories = ["/t/deps".into(), "/with:colon".into()];
        let path = library_path(&directories, Some(OsStr::new("/usr/lib:/opt")));
        assert_eq!(path, ("LD_LIBRARY_PATH".into(), "/t/deps:/usr/lib:/opt".into()));
        assert_eq!(library_path(&[], None).1, "");
    }
}
