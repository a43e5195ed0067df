//! Writes a pack.

use std::{
    collections::BTreeMap,
    fs::{File, Permissions},
    io::{self, BufWriter, Read, Write},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use rayon::prelude::*;
use serde::Serialize;

use super::{
    Content, FORMAT, INDEX, Index, IndexedFile, PackedFile, content_name, copy,
    gzip::{Compress, seal},
    tar,
};
use crate::{
    elf::Digest,
    error::{Context, Error, Exit, Result},
};

/// Writes a pack of these files to `path`, which appears complete or not at all. Returns its size in bytes.
pub fn write(path: &Path, about: &impl Serialize, files: &[PackedFile]) -> Result<u64> {
    let what = || format!("cannot write the pack {}", path.display());
    let index = index(about, files)?;
    if let Some(defect) = index.1.defect() {
        return Err(Error::new(Exit::Build, what()).cause(defect));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let unfinished = tempfile::NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))
        .context(Exit::Usage, what)?;
    let out = BufWriter::new(unfinished.as_file());
    write_to(out, &index).context(Exit::Build, what)?;
    let size = unfinished.as_file().metadata().context(Exit::Build, what)?.len();
    // As any file that a program writes, which others may copy.
    let permissions = Permissions::from_mode(0o644);
    unfinished.as_file().set_permissions(permissions).context(Exit::Build, what)?;
    unfinished.persist(path).context(Exit::Build, what)?;
    Ok(size)
}

/// The index, with a source for each of its contents.
fn index<T: Serialize>(about: T, files: &[PackedFile]) -> Result<(Vec<&Path>, Index<T>)> {
    let read = |file: &PackedFile| {
        let what = || format!("cannot read {}", file.source.display());
        File::open(&file.source)
            .and_then(|source| copy(source, io::sink()))
            .context(Exit::Build, what)
    };
    let digests: Vec<(u64, Digest)> = files.par_iter().map(read).collect::<Result<_>>()?;
    let (mut numbers, mut sources) = (BTreeMap::new(), Vec::new());
    let mut index = Index {
        format: FORMAT,
        rbench: env!("CARGO_PKG_VERSION").to_owned(),
        about,
        contents: Vec::new(),
        files: Vec::with_capacity(files.len()),
    };
    for (file, (size, digest)) in files.iter().zip(digests) {
        let content = *numbers.entry(digest).or_insert_with(|| {
            sources.push(file.source.as_path());
            index.contents.push(Content { digest, size });
            index.contents.len() - 1
        });
        let path = file.path.to_str().ok_or_else(|| {
            let what = format!("cannot pack {}", file.path.display());
            Error::new(Exit::Build, what).cause("its path is not valid UTF-8")
        })?;
        let is_executable = file.is_executable;
        index.files.push(IndexedFile { path: path.to_owned(), content, is_executable });
    }
    Ok((sources, index))
}

fn write_to<T: Serialize>(
    out: impl Write,
    (sources, index): &(Vec<&Path>, Index<T>),
) -> io::Result<()> {
    let mut archive = Compress::new(Hashed { out, hasher: blake3::Hasher::new() })?;
    let json = serde_json::to_vec(index)?;
    archive.write_all(&tar::header(INDEX, json.len() as u64))?;
    archive.write_all(&json)?;
    archive.write_all(&tar::END[..tar::padding(json.len() as u64)])?;
    for (content, source) in index.contents.iter().zip(sources) {
        archive.write_all(&tar::header(&content_name(content), content.size))?;
        let file = File::open(source)?.take(content.size);
        let (size, digest) = copy(file, &mut archive)?;
        if (size, digest) != (content.size, content.digest) {
            return Err(io::Error::other(format!("{} changes", source.display())));
        }
        archive.write_all(&tar::END[..tar::padding(size)])?;
    }
    archive.write_all(&tar::END)?;
    let Hashed { mut out, hasher } = archive.finish()?;
    out.write_all(&seal(hasher.finalize().into()))?;
    out.flush()
}

/// Hashes what passes.
struct Hashed<W> {
    out: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.out.write(bytes)?;
        self.hasher.update(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
