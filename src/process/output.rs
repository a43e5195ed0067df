//! The output of a child, limited in size to its head and tail.

use std::{
    collections::VecDeque,
    fmt,
    io::{self, PipeReader, PipeWriter, Read},
    os::fd::{AsFd, BorrowedFd},
    time::Instant,
};

use super::readable::first_readable;
use crate::secrets;

/// The output of a child, stdout and stderr in the order written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub head: Vec<u8>,
    /// Number of bytes dropped between head and tail.
    pub omitted: u64,
    /// The end; empty if everything is in `head`.
    pub tail: Vec<u8>,
}

impl Output {
    /// The last `count` lines, as text; invalid UTF-8 is replaced.
    pub fn last_lines(&self, count: usize) -> String {
        let text = self.to_string();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.omitted == 0 {
            let all = [&self.head[..], &self.tail].concat();
            return f.write_str(&String::from_utf8_lossy(&all));
        }
        f.write_str(&String::from_utf8_lossy(&self.head))?;
        write!(f, "\n[{} bytes omitted]\n", self.omitted)?;
        f.write_str(&String::from_utf8_lossy(&self.tail))
    }
}

/// Collects output from a pipe.
///
/// A pipe rather than a file: a child that prints without end costs no disk and is never blocked
/// for long, and one that prints nothing, as most do, wakes nobody.
#[derive(Debug)]
pub(super) struct Capture {
    reader: PipeReader,
    writer: Option<PipeWriter>,
    open: bool,
    /// Capacity of head and tail, in bytes each.
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
}

impl Capture {
    /// Keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self {
            reader,
            writer: Some(writer),
            open: true,
            half: limit / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            omitted: 0,
        })
    }

    /// The ends for a child's stdout and stderr.
    pub(super) fn take_writers(&mut self) -> io::Result<(PipeWriter, PipeWriter)> {
        let writer = self.writer.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok((writer.try_clone()?, writer))
    }

    /// True if a process may still write to the pipe.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// Reads at most one buffer; blocks if nothing is available, so poll first.
    pub(super) fn read(&mut self) {
        let mut buffer = [0; 16 * 1024];
        match self.reader.read(&mut buffer) {
            Ok(0) => self.open = false,
            Ok(count) => self.keep(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.open = false,
        }
    }

    /// Reads the rest once the child has ended. Does not wait for other processes that still hold
    /// the pipe, and stops even if they continue to write.
    pub(super) fn drain(&mut self) {
        /// Enough for more than a pipe holds.
        const MOST_READS: usize = 128;
        for _ in 0..MOST_READS {
            let ready = first_readable(&[&self.reader], Some(Instant::now()));
            if !self.open || !matches!(ready, Ok(Some(_))) {
                break;
            }
            self.read();
        }
    }

    /// The output without secrets, which may have arrived in pieces.
    pub(super) fn into_output(self) -> Output {
        let Self { head, omitted, tail, .. } = self;
        let (redactor, tail) = (secrets::redactor(), Vec::from(tail));
        if redactor.is_empty() {
            return Output { head, omitted, tail };
        }
        if omitted == 0 {
            let head = redactor.redact(&[head, tail].concat());
            return Output { head, omitted, tail: Vec::new() };
        }
        let head = redactor.redact_cut(&head, [false, true]);
        Output { head, omitted, tail: redactor.redact_cut(&tail, [true, false]) }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..excess);
        self.omitted += excess as u64;
    }
}

impl AsFd for Capture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(limit: usize, pieces: &[Vec<u8>]) -> Output {
        let mut capture = Capture::new(limit).unwrap();
        for piece in pieces {
            capture.keep(piece);
        }
        capture.into_output()
    }

    proptest! {
        #[test]
        fn head_and_tail_are_the_ends_of_the_output(
            limit in 0_usize..40,
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 0..6),
        ) {
            let all = pieces.concat();
            let output = kept(limit, &pieces);
            let (head, tail) = (output.head.len(), output.tail.len());
            prop_assert!(head + tail <= limit);
            prop_assert_eq!(head as u64 + output.omitted + tail as u64, all.len() as u64);
            prop_assert!(all.starts_with(&output.head) && all.ends_with(&output.tail));
            prop_assert!(output.omitted == 0 || head + tail + 2 > limit);
        }
    }

    #[test]
    fn output_counts_omitted_bytes() {
        let output = kept(4, &[b"abcdefgh".to_vec()]);
        assert_eq!(output.to_string(), "ab\n[4 bytes omitted]\ngh");
    }

    #[test]
    fn last_lines_returns_the_end_of_the_text() {
        let output = kept(100, &[b"a\nb\nc\n".to_vec()]);
        assert_eq!(output.last_lines(2), "b\nc");
        assert_eq!(output.last_lines(9), "a\nb\nc");
    }
}
