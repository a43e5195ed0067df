//! Reads a pack, all of which may be made by somebody hostile.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom, Take},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use flate2::bufread::GzDecoder;
use rbench_code::elf::Digest;
use serde::de::DeserializeOwned;
use tar::{Archive, Entry};

use super::{
    INDEX, Index, IndexedFile, MOST_INDEX, SEAL, content_name, hashed::Hashed, header, seal,
};
use crate::error::{Error, Exit, Result};

/// Why the seal of a pack is wrong.
const CHANGED: &str = "the digest of all its bytes is another one";

/// The size of a block of an archive.
const BLOCK: usize = 512;

type Compressed = GzDecoder<BufReader<Hashed<Take<File>>>>;

/// A pack whose index was read.
pub struct Pack<T> {
    path: PathBuf,
    seal: [u8; SEAL],
    index: Index<T>,
}

impl<T: DeserializeOwned> Pack<T> {
    /// Opens the pack at `path`, and reads what it is about.
    pub fn open(path: &Path) -> Result<Self> {
        let what = || format!("cannot read the pack {}", path.display());
        let open = || {
            let (mut archive, seal) = archive(path)?;
            // Raw: what describes other files, such as a longer name of one, is a file as well, which nobody announces.
            let first = archive.entries()?.raw(true).next();
            Ok((read_index(first)?, seal))
        };
        let (index, seal) = open().map_err(|error| damage(path, &error, INDEX))?;
        let index: Index<T> = index;
        if let Some(defect) = index.defect() {
            return Err(Error::new(Exit::Usage, what()).cause(defect));
        }
        Ok(Self { path: path.to_owned(), seal, index })
    }

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
            let (mut source, known) = source(&self.path)?;
            io::copy(&mut source, &mut io::sink())?;
            let (_, digest) = source.hashed();
            if known == self.seal && seal(digest) == known { Ok(()) } else { Err(damaged(CHANGED)) }
        };
        check().map_err(|error| damage(&self.path, &error, "a byte of it"))
    }

    /// The bytes that its files take on the disk.
    pub fn size(&self) -> u64 {
        self.index.size()
    }

    /// Writes all files below `directory`, which must be empty and of this user alone. Unless it succeeds, the pack is
    /// damaged, and none of the files may be used.
    pub fn extract(self, directory: &Path) -> Result<T> {
        let Self { path: pack, seal: expected, index } = self;
        let mut files: Vec<Vec<&IndexedFile>> = Vec::new();
        files.resize_with(index.contents.len(), Vec::new);
        for file in &index.files {
            files[file.content].push(file);
        }
        let failed = |error: io::Error, part: &str| damage(&pack, &error, part);
        let (mut archive, known) = archive(&pack).map_err(|error| failed(error, INDEX))?;
        let mut entries = archive.entries().map_err(|error| failed(error, INDEX))?.raw(true);
        // The index, which cannot be another one if the digest of all bytes is the same.
        entries.next();
        for (content, files) in index.contents.iter().zip(files) {
            let name = files.first().map_or(INDEX, |file| &*file.path);
            let mut entry = announced(entries.next(), &content_name(content), content.size)
                .map_err(|error| failed(error, name))?;
            // The first file of this content, and the first that is a program.
            let mut written: [Option<PathBuf>; 2] = [None, None];
            for file in files {
                let path = directory.join(&file.path);
                let [plain, program] = &written;
                let same = if file.is_executable { program } else { plain };
                let mut write = || match (same, plain.as_ref().or(program.as_ref())) {
                    (_, None) => create(&path, file).and_then(|mut out| {
                        let mut contents = Hashed::new(&mut entry);
                        io::copy(&mut contents, &mut out)?;
                        if contents.hashed() == (content.size, content.digest) {
                            Ok(())
                        } else {
                            Err(damaged("its contents have another digest"))
                        }
                    }),
                    // Nothing changes a file of a pack in place, so that one content needs no copies.
                    (Some(known), _) => {
                        make_parent(&path)?;
                        fs::hard_link(known, &path)
                    }
                    (None, Some(known)) => {
                        let mut out = create(&path, file)?;
                        io::copy(&mut File::open(known)?, &mut out).map(drop)
                    }
                };
                write().map_err(|error| failed(error, &file.path))?;
                written[usize::from(file.is_executable)].get_or_insert(path);
            }
        }
        let is_at_end = entries.next().is_none();
        let finish = || {
            // The second of two empty blocks. Reading beyond it makes gzip check its checksum.
            let (mut compressed, mut rest) = (archive.into_inner(), Vec::new());
            (&mut compressed).take(BLOCK as u64 + 1).read_to_end(&mut rest)?;
            let is_end = is_at_end && rest == [0; BLOCK];
            let mut source = compressed.into_inner();
            if !is_end || !source.fill_buf()?.is_empty() {
                return Err(damaged("it has more bytes than it announces"));
            }
            let (_, digest) = source.get_ref().hashed();
            if known == expected && seal(digest) == known { Ok(()) } else { Err(damaged(CHANGED)) }
        };
        finish().map_err(|error| failed(error, "the end"))?;
        Ok(index.about)
    }
}

/// The bytes of a pack before its seal, and the seal.
fn source(path: &Path) -> io::Result<(Hashed<Take<File>>, [u8; SEAL])> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let before_seal =
        size.checked_sub(SEAL as u64).ok_or_else(|| damaged("it is shorter than any pack"))?;
    file.seek(SeekFrom::Start(before_seal))?;
    let mut seal = [0; SEAL];
    file.read_exact(&mut seal)?;
    file.seek(SeekFrom::Start(0))?;
    Ok((Hashed::new(file.take(before_seal)), seal))
}

fn archive(path: &Path) -> io::Result<(Archive<Compressed>, [u8; SEAL])> {
    let (source, seal) = source(path)?;
    Ok((Archive::new(GzDecoder::new(BufReader::new(source))), seal))
}

/// The next file of an archive, which must have this name and size, and be nothing but a file.
fn announced<'a, R: Read>(
    entry: Option<io::Result<Entry<'a, R>>>,
    name: &str,
    size: u64,
) -> io::Result<Entry<'a, R>> {
    let entry = entry.unwrap_or_else(|| Err(damaged("it is cut off")))?;
    if entry.header().as_bytes() == header(name, size)?.as_bytes() {
        Ok(entry)
    } else {
        Err(damaged("it is not the file that is announced"))
    }
}

/// The error for a pack that cannot be read to its end, where `part` was read.
fn damage(path: &Path, error: &io::Error, part: &str) -> Error {
    let what = format!("cannot read the pack {}", path.display());
    // Whatever is wrong, except that the kernel refuses something.
    if error.raw_os_error().is_none() {
        Error::new(Exit::Usage, what)
            .cause(format!("{part} is damaged: {error}"))
            .hint("copy it again, or write it again with: cargo rbench build BASE HEAD --pack FILE")
    } else {
        Error::new(Exit::Usage, what).cause(format!("{part}: {error}"))
    }
}

fn read_index<T: DeserializeOwned, R: Read>(
    first: Option<io::Result<Entry<'_, R>>>,
) -> io::Result<Index<T>> {
    let no_index = || damaged("it does not begin with the list of its files");
    let first = first.ok_or_else(no_index)??;
    let size = first.size();
    if size > MOST_INDEX {
        return Err(no_index());
    }
    let mut first = announced(Some(Ok(first)), INDEX, size)?;
    let mut json = Vec::new();
    first.read_to_end(&mut json)?;
    serde_json::from_slice(&json).map_err(|error| damaged(&error.to_string()))
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
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
