//! Packs: the file format in which compiled versions travel to a machine that cannot compile.
//!
//! A pack is a tar archive, compressed by gzip, that any tar can list. Its first file, `pack.json`, names all files of the
//! pack with the digest of their contents; each different content follows once, as `contents/<digest>`. A second, empty
//! gzip member ends the pack with the digest of all bytes before it.
//!
//! Who reads a pack trusts nothing in it: a pack has exactly the files that `pack.json` announces, in that order; paths
//! are relative and have no `..`; there are no links, owners or special files; all sizes are limited before anything is
//! written; and nothing is used before the last digest is right.

mod hashed;
mod read;
mod write;

use std::{
    collections::BTreeSet,
    io,
    path::{Component, Path, PathBuf},
};

use rbench_code::elf::Digest;
pub use read::Pack;
use serde::{Deserialize, Serialize};
use tar::Header;
pub use write::write;

const FORMAT: u32 = 1;

/// The most bytes of `pack.json`. Each file takes about 200.
const MOST_INDEX: u64 = 64 << 20;

/// The most bytes of all contents together, as they are written to the disk.
const MOST_CONTENTS: u64 = 64 << 30;

/// The longest path, in bytes: what the kernel allows, without the directory that it is put into.
const LONGEST_PATH: usize = 3 << 10;

/// The longest name in a path, in bytes.
const LONGEST_NAME: usize = 255;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedFile {
    /// Its path in the directory that the pack is extracted to.
    pub path: PathBuf,
    /// The present file.
    pub source: PathBuf,
    pub is_executable: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index<T> {
    format: u32,
    /// The version of rbench that wrote it.
    rbench: String,
    about: T,
    /// The contents that follow, in this order.
    contents: Vec<Content>,
    files: Vec<IndexedFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    digest: Digest,
    size: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexedFile {
    path: String,
    /// The number of its contents.
    content: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_executable: bool,
}

impl<T> Index<T> {
    /// Why it is no index of a pack that rbench wrote, if it is none.
    fn defect(&self) -> Option<String> {
        if self.format != FORMAT {
            return Some(format!("it has format {}, and this rbench reads {FORMAT}", self.format));
        }
        let (mut paths, mut used) = (BTreeSet::new(), BTreeSet::new());
        for IndexedFile { path, content, .. } in &self.files {
            if !is_plain(path) || !paths.insert(Path::new(path)) {
                return Some(format!("it has a file with the path {path:?}"));
            }
            if *content >= self.contents.len() {
                return Some(format!("it lacks the contents of {path}"));
            }
            used.insert(*content);
        }
        let mut directories = paths.iter().flat_map(|path| path.ancestors().skip(1));
        if let Some(both) = directories.find(|directory| paths.contains(directory)) {
            return Some(format!("{} is a file and a directory in it", both.display()));
        }
        if used.len() != self.contents.len() {
            return Some("it has contents of no file".to_owned());
        }
        let size = self.size();
        (size > MOST_CONTENTS)
            .then(|| format!("its files have {size} bytes, and {MOST_CONTENTS} are allowed"))
    }

    /// The bytes of all files on the disk, where files of one content are one file, or two if some of them are programs.
    fn size(&self) -> u64 {
        let files: BTreeSet<(usize, bool)> =
            self.files.iter().map(|file| (file.content, file.is_executable)).collect();
        let sizes = files.iter().filter_map(|(content, _)| self.contents.get(*content));
        sizes.fold(0, |sum, content| sum.saturating_add(content.size))
    }
}

/// True for a relative path that leads nowhere else, written in the one way in which rbench writes it.
fn is_plain(path: &str) -> bool {
    let is_name = |component: Component<'_>| matches!(component, Component::Normal(name) if name.len() <= LONGEST_NAME);
    let written: PathBuf = Path::new(path).components().collect();
    !path.is_empty()
        && path.len() <= LONGEST_PATH
        && !path.chars().any(char::is_control)
        && Path::new(path).components().all(is_name)
        && written.as_os_str() == path
}

/// The header of a file of the archive. The same file has the same header everywhere, so that who reads an archive
/// compares headers instead of believing them.
fn header(name: &str, size: u64) -> io::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_size(size);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    Ok(header)
}

fn content_name(content: &Content) -> String {
    format!("contents/{}", content.digest)
}

const INDEX: &str = "pack.json";

/// The length of the last member.
const SEAL: usize = 58;

/// The last member of a pack: empty, with the digest of all bytes before it in its header, where gzip has room for
/// programs' own data.
fn seal(digest: Digest) -> [u8; SEAL] {
    /// The header of a member without a name and a time, and with data.
    const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff];
    /// The size of all data, a name of two letters, the size of the rest.
    const DATA: [u8; 6] = [36, 0, b'R', b'B', 32, 0];
    const EMPTY: [u8; 10] = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut seal = [0; SEAL];
    seal[..10].copy_from_slice(&HEADER);
    seal[10..16].copy_from_slice(&DATA);
    seal[16..48].copy_from_slice(digest.as_bytes());
    seal[48..].copy_from_slice(&EMPTY);
    seal
}

#[cfg(test)]
mod tests;
