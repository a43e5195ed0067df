//! Reads a pack, all of which may be made by somebody hostile.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Read, Seek as _, SeekFrom, Take},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

use super::{
    INDEX, Index, IndexedFile, MOST_INDEX, content_name, copy,
    gzip::{Decompress, SEAL, damaged, seal},
    tar,
};
use crate::{
    elf::Digest,
    error::{Context, Error, Exit, Result},
};

/// Why the seal of a pack is wrong.
const CHANGED: &str = "the digest of all its bytes is another one";

/// A pack whose index was read.
pub struct Pack<T> {
    path: PathBuf,
    seal: [u8; SEAL],
    index: Index<T>,
    archive: Decompress<Hashed>,
}

impl<T: DeserializeOwned> Pack<T> {
    /// Opens the pack at `path`, and reads what it is about.
    pub fn open(path: &Path) -> Result<Self> {
        let what = || format!("cannot read the pack {}", path.display());
        let mut file = File::open(path).context(Exit::Usage, what)?;
        let size = file.metadata().context(Exit::Usage, what)?.len();
        let open = || {
            let Some(before_seal) = size.checked_sub(SEAL as u64) else {
                return Err(damaged("it is shorter than any pack"));
            };
            file.seek(SeekFrom::Start(before_seal))?;
            let mut seal = [0; SEAL];
            file.read_exact(&mut seal)?;
            file.seek(SeekFrom::Start(0))?;
            let source = BufReader::new(file).take(before_seal);
            let mut archive = Decompress::new(Hashed { source, hasher: blake3::Hasher::new() })?;
            let index = read_index(&mut archive)?;
            Ok((seal, index, archive))
        };
        let (seal, index, archive) = open().map_err(|error| damage(path, &error, INDEX))?;
        if let Some(defect) = index.defect() {
            return Err(Error::new(Exit::Usage, what()).cause(defect));
        }
        Ok(Self { path: path.to_owned(), seal, index, archive })
    }

    /// What the pack is about.
    pub const fn about(&self) -> &T {
        &self.index.about
    }

    /// The digest of its bytes, as the pack itself says.
    pub fn digest(&self) -> Digest {
        Digest::compute(&self.seal)
    }

    /// Fails if any byte of the pack was changed, for who does not extract it.
    pub fn check(&self) -> Result<()> {
        let check = || {
            let file = File::open(&self.path)?;
            let before_seal = file.metadata()?.len().saturating_sub(SEAL as u64);
            let (_, digest) = copy(file.take(before_seal), io::sink())?;
            if seal(digest) == self.seal { Ok(()) } else { Err(damaged(CHANGED)) }
        };
        check().map_err(|error| damage(&self.path, &error, "a byte of it"))
    }

    /// The sum of the sizes of its different contents, in bytes.
    pub fn size(&self) -> u64 {
        self.index.contents.iter().map(|content| content.size).sum()
    }

    /// Writes all files below `directory`, which must be empty and of this user alone. Unless it succeeds, the pack is
    /// damaged, and none of the files may be used.
    pub fn extract(mut self, directory: &Path) -> Result<T> {
        let mut files: Vec<Vec<&IndexedFile>> = Vec::new();
        files.resize_with(self.index.contents.len(), Vec::new);
        for file in &self.index.files {
            files[file.content].push(file);
        }
        for (content, files) in self.index.contents.iter().zip(files) {
            let name = files.first().map_or(INDEX, |file| &*file.path);
            let failed = |error: io::Error| damage(&self.path, &error, name);
            expect(&mut self.archive, &tar::header(&content_name(content), content.size))
                .map_err(failed)?;
            let mut written: Option<(&IndexedFile, PathBuf)> = None;
            for file in files {
                let path = directory.join(&file.path);
                let mut write = || match &written {
                    None => create(&path, file).and_then(|out| {
                        let contents = (&mut self.archive).take(content.size);
                        if copy(contents, out)? == (content.size, content.digest) {
                            Ok(())
                        } else {
                            Err(damaged("its contents have another digest"))
                        }
                    }),
                    // Nothing changes a file of a pack in place, so that one content needs no copies.
                    Some((first, known)) if first.is_executable == file.is_executable => {
                        make_parent(&path)?;
                        fs::hard_link(known, &path)
                    }
                    Some((_, known)) => {
                        let out = create(&path, file)?;
                        copy(File::open(known)?, out).map(drop)
                    }
                };
                write().map_err(|error| damage(&self.path, &error, &file.path))?;
                written.get_or_insert((file, path));
            }
            expect(&mut self.archive, &tar::END[..tar::padding(content.size)]).map_err(failed)?;
        }
        let Self { path, seal: known, index, mut archive } = self;
        let finish = || {
            expect(&mut archive, &tar::END)?;
            let Hashed { hasher, .. } = archive.finish()?;
            if seal(hasher.finalize().into()) == known { Ok(()) } else { Err(damaged(CHANGED)) }
        };
        finish().map_err(|error| damage(&path, &error, "the end"))?;
        Ok(index.about)
    }
}

/// The error for a pack that cannot be read to its end, where `part` was read.
fn damage(path: &Path, error: &io::Error, part: &str) -> Error {
    let what = format!("cannot read the pack {}", path.display());
    let is_damage =
        matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof);
    if is_damage {
        Error::new(Exit::Usage, what)
            .cause(format!("{part} is damaged: {error}"))
            .hint("copy it again, or write it again with: cargo rbench build BASE HEAD --pack FILE")
    } else {
        Error::new(Exit::Usage, what).cause(format!("{part}: {error}"))
    }
}

fn read_index<T: DeserializeOwned>(archive: &mut impl Read) -> io::Result<Index<T>> {
    let mut header = [0; tar::BLOCK];
    archive.read_exact(&mut header)?;
    let size = tar::size_in(&header, INDEX).filter(|size| *size <= MOST_INDEX);
    let size = size.ok_or_else(|| damaged("it does not begin with the list of its files"))?;
    let mut json = Vec::new();
    archive.take(size).read_to_end(&mut json)?;
    expect(archive, &tar::END[..tar::padding(size)])?;
    serde_json::from_slice(&json).map_err(|error| damaged(&error.to_string()))
}

/// Reads as many bytes as are expected, which must be these.
fn expect(archive: &mut impl Read, expected: &[u8]) -> io::Result<()> {
    let mut found = vec![0; expected.len()];
    archive.read_exact(&mut found)?;
    if found == expected { Ok(()) } else { Err(damaged("it is not the file that is announced")) }
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Creates a file that does not exist yet.
fn create(path: &Path, file: &IndexedFile) -> io::Result<File> {
    make_parent(path)?;
    let mode = if file.is_executable { 0o755 } else { 0o644 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// The bytes of the file before its seal, hashed as they pass.
struct Hashed {
    source: Take<BufReader<File>>,
    hasher: blake3::Hasher,
}

impl Read for Hashed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(out)?;
        self.hasher.update(&out[..length]);
        Ok(length)
    }
}
