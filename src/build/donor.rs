//! Reuses dependencies that were compiled for another version.
//!
//! A new compilation starts from a copy of the newest target dir of its family (same toolchain,
//! settings, flags and path), without the artifacts of path packages. What remains are dependencies
//! that cargo identifies by version and checksum or commit. Path packages are always compiled from
//! scratch: cargo would judge them by modification times, and a file that git wrote before the donor
//! was compiled would look unchanged.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    cargo::{self, CargoContext},
    compilation::Compilation,
    discovery::Workspace,
    files, tool,
    workshop::Workshop,
};
use crate::failure::{Exit, OrFail, Result};

/// In a target dir: what cargo has asked rustc. It asks again if that is of another toolchain.
const ANSWERS: &str = ".rustc_info.json";

/// Gives the target dir of the compilation in `home` what cargo has asked rustc for its donor, so that
/// cargo reads the workspace without running rustc.
pub fn pass_answers(donor: &Path, home: &Path) {
    let [from, to] = [donor, home].map(|home| home.join("target").join(ANSWERS));
    // Without it, cargo asks.
    let _ = fs::copy(from, to);
}

/// Fills the target dir of the compilation in `home` from its donor.
pub fn seed(
    workshop: &Workshop<'_>,
    context: &CargoContext,
    donor: &Path,
    home: &Path,
    workspace: &Workspace,
) -> Result<()> {
    let target = home.join("target");
    let what = || format!("cannot copy compiled dependencies from {}", donor.display());
    copy_directory(&donor.join("target"), &target).or_fail(Exit::Build, what)?;
    let arguments = cargo::clean(
        context,
        &workshop.settings,
        &workspace.path_packages(&workshop.site.source_path()),
    );
    // Whatever goes wrong here: compiling from nothing is slower, never wrong.
    if tool::run(&mut context.command(&arguments), || "cannot clean".to_owned()).is_err() {
        files::remove_directory(&target)?;
        files::create_directory(&target)?;
    }
    Ok(())
}

/// The donor for a compilation of this family. The directories of compilations are named by their family
/// first.
pub fn newest_of_family(compilations: &Path, family: &str) -> Option<PathBuf> {
    fs::read_dir(compilations)
        .ok()?
        .filter_map(io::Result::ok)
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(family.as_bytes()))
        .map(|entry| entry.path())
        .filter_map(|home| Some((Compilation::made_at(&home)?, home)))
        .max()
        .map(|(_, home)| home)
}

/// Copies a directory with the times of its files, by which cargo tells what is newer than what.
fn copy_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_directory(&from, &to)?;
        } else if kind.is_file() {
            fs::copy(&from, &to)?;
            let modified = entry.metadata()?.modified()?;
            fs::File::options().write(true).open(&to)?.set_modified(modified)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn the_donor_is_the_newest_of_its_family_and_is_found_without_reading_records() {
        let directory = tempfile::tempdir().unwrap();
        let compiled = |name: &str, seconds_ago| {
            let home = directory.path().join(name);
            let record = home.join("compilation.json");
            files::write_whole(&record, b"nobody parses this").unwrap();
            let made = SystemTime::now() - Duration::from_secs(seconds_ago);
            fs::File::options().append(true).open(record).unwrap().set_modified(made).unwrap();
            home
        };
        let newest = compiled("own-b", 10);
        compiled("own-a", 30);
        compiled("own-c", 20);
        compiled("other-d", 0);
        fs::create_dir(directory.path().join("own-unfinished")).unwrap();
        assert_eq!(newest_of_family(directory.path(), "own"), Some(newest));
        assert_eq!(newest_of_family(directory.path(), "unknown"), None);
    }
}
