//! Hashes the bytes that are read or written.

use std::io::{self, Read, Write};

use rbench_code::elf::Digest;

/// Reads or writes what `inner` does, and hashes it.
pub(super) struct Hashed<T> {
    pub(super) inner: T,
    hasher: blake3::Hasher,
    length: u64,
}

impl<T> Hashed<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, hasher: blake3::Hasher::new(), length: 0 }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
    }

    /// The number of bytes so far, and their digest.
    pub(super) fn hashed(&self) -> (u64, Digest) {
        (self.length, self.hasher.finalize().into())
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(out)?;
        self.add(&out[..length]);
        Ok(length)
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.inner.write(bytes)?;
        self.add(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
