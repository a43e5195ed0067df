//! Writes a pack.

use std::{
    collections::BTreeMap,
    fs::{File, Permissions},
    io::{self, BufWriter, Read as _, Write},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use flate2::{Compression, GzBuilder};
use rayon::prelude::*;
use rbench_code::elf::Digest;
use serde::Serialize;
use tar::Builder;

use super::{
    Content, FORMAT, INDEX, Index, IndexedFile, PackedFile, content_name, hashed::Hashed, header,
    seal,
};
use crate::error::{Context, Error, Exit, Result};

/// Higher levels take several times as long for the last percents.
const LEVEL: Compression = Compression::new(3);

/// The operating system in the header of gzip, so that the same files are the same pack everywhere.
const UNKNOWN_SYSTEM: u8 = 0xff;

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
        let hash = || {
            let mut source = Hashed::new(File::open(&file.source)?);
            io::copy(&mut source, &mut io::sink())?;
            Ok::<_, io::Error>(source.hashed())
        };
        hash().context(Exit::Build, what)
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
    let compressed = GzBuilder::new().operating_system(UNKNOWN_SYSTEM);
    let mut archive = Builder::new(compressed.write(Hashed::new(out), LEVEL));
    let json = serde_json::to_vec(index)?;
    archive.append(&header(INDEX, json.len() as u64)?, &*json)?;
    for (content, source) in index.contents.iter().zip(sources) {
        let mut contents = Hashed::new(File::open(source)?.take(content.size));
        archive.append(&header(&content_name(content), content.size)?, &mut contents)?;
        if contents.hashed() != (content.size, content.digest) {
            return Err(io::Error::other(format!("{} changes", source.display())));
        }
    }
    let mut out = archive.into_inner()?.finish()?;
    let (_, digest) = out.hashed();
    out.inner.write_all(&seal(digest))?;
    out.inner.flush()
}
