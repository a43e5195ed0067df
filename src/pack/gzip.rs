//! Gzip with the deflate of `miniz_oxide`, which rbench has for stored documents already: no further crate, and no C.

use std::io::{self, Read, Write};

use miniz_oxide::{
    DataFormat, MZError, MZFlush, MZStatus,
    deflate::{
        core::{CompressorOxide, create_comp_flags_from_zip_params},
        stream::deflate,
    },
    inflate::stream::{InflateState, inflate},
};

use crate::elf::Digest;

/// The header of a member without a name and a time.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// The level of compression: higher ones take several times as long for the last percents.
const LEVEL: i32 = 3;

/// Negative: without the header and the checksum of zlib.
const RAW: i32 = -15;

const BUFFER: usize = 256 << 10;

/// Compresses what is written to it.
pub struct Compress<W> {
    out: W,
    state: Box<CompressorOxide>,
    buffer: Vec<u8>,
    checksum: crc32fast::Hasher,
    size: u32,
}

impl<W: Write> Compress<W> {
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&HEADER)?;
        let flags = create_comp_flags_from_zip_params(LEVEL, RAW, 0);
        Ok(Self {
            out,
            state: Box::new(CompressorOxide::new(flags)),
            buffer: vec![0; BUFFER],
            checksum: crc32fast::Hasher::new(),
            size: 0,
        })
    }

    /// Writes the end of the member.
    pub fn finish(mut self) -> io::Result<W> {
        loop {
            let done = deflate(&mut self.state, &[], &mut self.buffer, MZFlush::Finish);
            self.out.write_all(&self.buffer[..done.bytes_written])?;
            match done.status {
                Ok(MZStatus::StreamEnd) => break,
                Ok(_) | Err(MZError::Buf) => {}
                Err(error) => return Err(io::Error::other(format!("deflate: {error:?}"))),
            }
        }
        self.out.write_all(&self.checksum.finalize().to_le_bytes())?;
        self.out.write_all(&self.size.to_le_bytes())?;
        Ok(self.out)
    }
}

impl<W: Write> Write for Compress<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let done = deflate(&mut self.state, bytes, &mut self.buffer, MZFlush::None);
        if let Err(error) = done.status
            && error != MZError::Buf
        {
            return Err(io::Error::other(format!("deflate: {error:?}")));
        }
        self.out.write_all(&self.buffer[..done.bytes_written])?;
        let taken = &bytes[..done.bytes_consumed];
        self.checksum.update(taken);
        #[expect(clippy::cast_possible_truncation, reason = "the format has the size modulo 2^32")]
        let size = taken.len() as u32;
        self.size = self.size.wrapping_add(size);
        Ok(done.bytes_consumed)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Decompresses one member, which has to be as [`Compress`] writes it.
pub struct Decompress<R> {
    source: R,
    state: Box<InflateState>,
    buffer: Vec<u8>,
    /// The bytes of the buffer that were not decompressed yet.
    ready: std::ops::Range<usize>,
    checksum: crc32fast::Hasher,
    size: u32,
    is_at_end: bool,
}

impl<R: Read> Decompress<R> {
    pub fn new(mut source: R) -> io::Result<Self> {
        let mut header = [0; HEADER.len()];
        source.read_exact(&mut header)?;
        if header != HEADER {
            return Err(damaged("it does not begin as a pack does"));
        }
        Ok(Self {
            source,
            state: InflateState::new_boxed(DataFormat::Raw),
            buffer: vec![0; BUFFER],
            ready: 0..0,
            checksum: crc32fast::Hasher::new(),
            size: 0,
            is_at_end: false,
        })
    }

    /// Reads the end of the member, after which the source must end.
    pub fn finish(mut self) -> io::Result<R> {
        if self.read(&mut [0])? > 0 {
            return Err(damaged("it has more bytes than it announces"));
        }
        let mut rest = self.buffer[self.ready.clone()].to_vec();
        // Limited, as the source may be long.
        (&mut self.source).take(BUFFER as u64).read_to_end(&mut rest)?;
        let end = [self.checksum.finalize().to_le_bytes(), self.size.to_le_bytes()].concat();
        if rest == end { Ok(self.source) } else { Err(damaged("its end is damaged")) }
    }
}

impl<R: Read> Read for Decompress<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.is_at_end && !out.is_empty() {
            if self.ready.is_empty() {
                self.ready = 0..self.source.read(&mut self.buffer)?;
            }
            let is_cut_off = self.ready.is_empty();
            let bytes = &self.buffer[self.ready.clone()];
            let done = inflate(&mut self.state, bytes, out, MZFlush::None);
            self.ready.start += done.bytes_consumed;
            match done.status {
                Ok(MZStatus::StreamEnd) => self.is_at_end = true,
                Ok(_) | Err(MZError::Buf) if !(is_cut_off && done.bytes_written == 0) => {}
                Ok(_) | Err(MZError::Buf) => return Err(damaged("it is cut off")),
                Err(_) => return Err(damaged("its compressed bytes are damaged")),
            }
            if done.bytes_written > 0 {
                let written = &out[..done.bytes_written];
                self.checksum.update(written);
                #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32, as written")]
                let size = written.len() as u32;
                self.size = self.size.wrapping_add(size);
                return Ok(done.bytes_written);
            }
        }
        Ok(0)
    }
}

pub fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The length of the last member.
pub const SEAL: usize = 58;

/// The last member of a pack: empty, with the digest of all bytes before it in its header, where gzip has room for
/// programs' own data.
pub fn seal(digest: Digest) -> [u8; SEAL] {
    /// The flag of a header with data: the size of all, a name of two letters, the size of the rest, the rest.
    const HAS_DATA: u8 = 4;
    const EMPTY: [u8; 10] = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut seal = [0; SEAL];
    seal[..10].copy_from_slice(&HEADER);
    seal[3] = HAS_DATA;
    seal[10..16].copy_from_slice(&[36, 0, b'R', b'B', 32, 0]);
    seal[16..48].copy_from_slice(digest.as_bytes());
    seal[48..].copy_from_slice(&EMPTY);
    seal
}
