//! Git LFS: files that a tree has as pointers, with their content stored outside the objects.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use git2::{Index, Oid};

use super::files;
use crate::failure::{Exit, Failure, OrFail, Result};

/// The name of LFS in `.gitattributes`.
pub(super) const FILTER: &str = "lfs";

/// Pointers are shorter than this, by their specification.
const POINTER_LIMIT: u64 = 1_024;

/// How many missing files a failure names.
const NAMED: usize = 5;

/// The contents of a pointer file.
#[derive(Debug, PartialEq, Eq)]
struct Pointer {
    /// The SHA-256 of the content, in hex.
    sha256: String,
    /// The content's size in bytes.
    size: u64,
}

impl Pointer {
    fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let mut lines = text.strip_prefix("version https://git-lfs.github.com/spec/v1\n")?.lines();
        let sha256 = lines.clone().find_map(|line| line.strip_prefix("oid sha256:"))?;
        let size = lines.find_map(|line| line.strip_prefix("size "))?.parse().ok()?;
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| Self { sha256: sha256.to_owned(), size })
    }

    fn read(file: &Path) -> Option<Self> {
        if fs::symlink_metadata(file).ok()?.len() >= POINTER_LIMIT {
            return None;
        }
        Self::parse(&fs::read(file).ok()?)
    }

    /// Where the content lies, if it was fetched and is whole.
    fn content(&self, handle: &git2::Repository) -> Option<PathBuf> {
        let storage = handle.config().and_then(|config| config.get_path("lfs.storage"));
        let [first, second] = [&self.sha256[..2], &self.sha256[2..4]];
        let file = handle
            .commondir()
            .join(storage.unwrap_or_else(|_| PathBuf::from("lfs")))
            .join("objects")
            .join(first)
            .join(second)
            .join(&self.sha256);
        fs::metadata(&file).is_ok_and(|data| data.len() == self.size).then_some(file)
    }
}

/// Whether git's attributes hand the file to LFS.
pub(super) fn is_tracked(handle: &git2::Repository, path: &Path) -> bool {
    files::attribute(handle, path, "filter").as_deref() == Some(FILTER)
}

/// Whether `file` holds exactly the content that the pointer in `blob` points to.
pub(super) fn is_content_of(handle: &git2::Repository, blob: Oid, file: &Path) -> bool {
    let content = handle
        .find_blob(blob)
        .ok()
        .and_then(|blob| Pointer::parse(blob.content()))
        .and_then(|pointer| pointer.content(handle));
    content.is_some_and(|content| equal(&content, file).unwrap_or(false))
}

fn equal(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    loop {
        left.clear();
        right.clear();
        io::Read::by_ref(&mut one).take(1 << 20).read_to_end(&mut left)?;
        io::Read::by_ref(&mut other).take(1 << 20).read_to_end(&mut right)?;
        if left != right {
            return Ok(false);
        }
        if left.is_empty() {
            return Ok(true);
        }
    }
}

/// Replaces the pointers among the files written to `into` by their content.
///
/// As in git itself a file is a pointer if its attributes say so *and* it looks like one: a test's
/// pointer file without the attribute stays, and so does content that was committed raw.
pub(super) fn fill(handle: &git2::Repository, index: &Index, into: &Path) -> Result<()> {
    let mut missing = Vec::new();
    for path in index.iter().filter(files::is_file).map(|entry| files::path_of(&entry)) {
        let file = into.join(&path);
        let Some(pointer) = Pointer::read(&file) else { continue };
        if !is_tracked(handle, &path) {
            continue;
        }
        match pointer.content(handle) {
            Some(content) => replace(&content, &file)
                .or_fail(Exit::Build, || format!("cannot write the LFS file {}", file.display()))?,
            None => missing.push(path),
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(not_fetched(&missing)) }
}

/// Writes through the existing file, which has the right permissions already.
fn replace(content: &Path, file: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(file)?;
    io::copy(&mut File::open(content)?, &mut file)?;
    Ok(())
}

fn not_fetched(missing: &[PathBuf]) -> Failure {
    let files = if missing.len() == 1 { "file is" } else { "files are" };
    let what = format!("{} Git LFS {files} missing", missing.len());
    let mut failure = Failure::new(Exit::Build, what);
    for path in missing.iter().take(NAMED) {
        failure = failure.because(path.display().to_string());
    }
    if missing.len() > NAMED {
        failure = failure.because(format!("and {} more", missing.len() - NAMED));
    }
    failure.hint("fetch them with: git lfs fetch --all (or git lfs pull, for the current commit)")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";

    #[test]
    fn a_pointer_is_recognised_by_its_version_line_hash_and_size() {
        let text =
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{HASH}\nsize 12345\n");
        let pointer = Pointer { sha256: HASH.to_owned(), size: 12_345 };
        assert_eq!(Pointer::parse(text.as_bytes()), Some(pointer));
    }

    #[test]
    fn text_about_pointers_is_no_pointer() {
        assert_eq!(Pointer::parse(b"see https://git-lfs.github.com/spec/v1\n"), None);
        let short = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1\n";
        assert_eq!(Pointer::parse(short.as_bytes()), None);
    }
}
