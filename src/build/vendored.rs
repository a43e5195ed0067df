//! Where a version keeps the sources of registry crates (`cargo vendor`), overridden so that cargo
//! sees them below the build path of all versions.
//!
//! Cargo resolves a relative directory in a config file against the checkout's own path. That
//! path would be in every panic message of such a crate, and differ between versions.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use toml::{Table, Value};

/// Settings for cargo's `--config` that override the relative source directories in the config files
/// of `workspace`, a directory of the checkout, and of those above it. `at` is the path at which
/// cargo is to see the checkout.
pub fn overrides(checkout: &Path, workspace: &Path, at: &Path) -> Vec<String> {
    let mut directories = BTreeMap::new();
    // The config file nearest to the workspace counts: it comes last.
    for below in workspace.ancestors().collect::<Vec<_>>().into_iter().rev() {
        for (source, directory) in relative_directories(&checkout.join(below)) {
            directories.insert(source, at.join(below).join(directory));
        }
    }
    // A JSON string is a TOML string.
    let setting = |(source, directory): (String, PathBuf)| {
        let directory = serde_json::to_string(directory.to_str()?).ok()?;
        Some(format!("source.{}.directory={directory}", serde_json::to_string(&source).ok()?))
    };
    directories.into_iter().filter_map(setting).collect()
}

/// The names and relative directories of the sources that the config file in `directory` has.
fn relative_directories(directory: &Path) -> Vec<(String, String)> {
    // Cargo prefers the name without an extension, too.
    let files = ["config", "config.toml"].map(|name| directory.join(".cargo").join(name));
    let text = files.iter().find_map(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let Ok(config) = text.parse::<Table>() else { return Vec::new() };
    let sources = config.get("source").and_then(Value::as_table);
    let relative = |(name, source): (&String, &Value)| {
        let directory = source.get("directory")?.as_str()?;
        let inside = Path::new(directory).components().all(|part| {
            matches!(part, Component::Normal(_) | Component::CurDir | Component::ParentDir)
        });
        inside.then(|| (name.clone(), directory.to_owned()))
    };
    sources.into_iter().flatten().filter_map(relative).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overrides_of(files: &[(&str, &str)]) -> Vec<String> {
        let checkout = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = checkout.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        overrides(checkout.path(), Path::new("a/b"), Path::new("/at/src"))
    }

    #[test]
    fn relative_directories_are_overridden_and_the_nearest_file_counts() {
        let top = "[source.crates-io]\nreplace-with = 'v'\n[source.v]\ndirectory = 'vendor'\n\
                   [source.'git+https://x']\ndirectory = 'git'\n";
        assert_eq!(
            overrides_of(&[(".cargo/config.toml", top), ("c/.cargo/config.toml", "[source")]),
            [
                "source.\"git+https://x\".directory=\"/at/src/git\"",
                "source.\"v\".directory=\"/at/src/vendor\""
            ]
        );
        let nearer = "[source.v]\ndirectory = 'third party'\n";
        assert_eq!(
            overrides_of(&[(".cargo/config.toml", top), ("a/.cargo/config", nearer)])[1],
            "source.\"v\".directory=\"/at/src/a/third party\""
        );
    }

    #[test]
    fn absolute_directories_and_other_settings_stay_as_they_are() {
        let config = "[source.v]\ndirectory = '/usr/share/cargo/registry'\n[build]\njobs = 1\n";
        assert!(overrides_of(&[(".cargo/config.toml", config)]).is_empty());
        assert!(overrides_of(&[(".cargo/config.toml", "no [ toml")]).is_empty());
    }
}
