//! The runner's side of the protocol that Criterion.rs speaks with cargo-criterion, over TCP.
//!
//! A thread sleeps in `poll` until the process connects, sends something, or has ended; it wakes
//! only for messages, none of which come while a benchmark is timed.

use std::{
    fmt,
    io::{self, PipeReader, PipeWriter, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::fd::AsFd,
    thread::{self, JoinHandle},
};

use minicbor::Encoder;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};

use super::message::{Complete, Message, decode};
use crate::model::Name;

/// What a process told its runner.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Heard {
    /// Whether it connected at all.
    pub(super) connected: bool,
    /// Whether a benchmark was run, if not to its end.
    pub(super) begun: bool,
    /// Benchmarks that the filter left out.
    pub(super) skipped: Vec<Name>,
    /// Benchmarks that were measured, each with the unit of its values and a value of 1 in it.
    pub(super) completed: Vec<(Complete, String, f64)>,
    /// What went wrong, if the conversation ended before its time.
    pub(super) trouble: Option<String>,
}

/// A runner that listens for one process.
#[derive(Debug)]
pub(super) struct Runner {
    port: u16,
    /// Dropped to say that the process has ended.
    alive: PipeWriter,
    thread: JoinHandle<Heard>,
}

impl Runner {
    /// Starts to listen.
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let (ended, alive) = io::pipe()?;
        let thread = thread::Builder::new()
            .name("criterion-runner".to_owned())
            .spawn(move || listen(&listener, ended))?;
        Ok(Self { port, alive, thread })
    }

    /// What the process must find in `CARGO_CRITERION_PORT`.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// What was heard; call it when the process has ended.
    pub(super) fn finish(self) -> Heard {
        drop(self.alive);
        self.thread.join().unwrap_or_else(|_| Heard {
            trouble: Some("rbench itself failed at its messages".to_owned()),
            ..Heard::default()
        })
    }
}

fn listen(listener: &TcpListener, ended: PipeReader) -> Heard {
    let mut heard = Heard::default();
    match wake(listener, &ended) {
        Ok(true) => {}
        Ok(false) => return heard,
        Err(error) => {
            heard.trouble = Some(error.to_string());
            return heard;
        }
    }
    let conversation = listener.accept().map_err(Trouble::Io).and_then(|(stream, _)| {
        heard.connected = true;
        Conversation { stream, ended, heard: &mut heard }.hold()
    });
    heard.trouble = conversation.err().map(|trouble| trouble.to_string());
    heard
}

/// Sleeps until `source` has something, or the process has ended; says whether it was the first.
fn wake(source: &impl AsFd, ended: &PipeReader) -> io::Result<bool> {
    loop {
        let mut fds = [PollFd::new(source, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) => return Ok(!fds[0].revents().is_empty()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Why a conversation ended before its time.
enum Trouble {
    Io(io::Error),
    /// It is no Criterion.rs at the other end, or one of another protocol.
    Stranger,
    /// A message claims this many bytes.
    TooLong(u32),
    Garbled(minicbor::decode::Error),
    /// A message came where another had to.
    OutOfTurn,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("it stopped in the middle of a message")
            }
            Self::Io(error) => write!(f, "it cannot be heard: {error}"),
            Self::Stranger => f.write_str("it does not speak protocol 1 of Criterion.rs"),
            Self::TooLong(length) => write!(f, "it sent a message of {length} bytes"),
            Self::Garbled(error) => write!(f, "it sent a message that is not understood: {error}"),
            Self::OutOfTurn => f.write_str("it sent a message out of turn"),
        }
    }
}

/// One process at the other end.
struct Conversation<'h> {
    stream: TcpStream,
    ended: PipeReader,
    heard: &'h mut Heard,
}

impl Conversation<'_> {
    fn hold(&mut self) -> Result<(), Trouble> {
        self.greet()?;
        while let Some(message) = self.next()? {
            match message {
                Message::Beginning => self.heard.begun = true,
                Message::Skipping(name) => self.heard.skipped.push(name),
                Message::Complete(complete) => self.take(complete)?,
                Message::FinishedGroup => self.go_on()?,
                Message::Scaled { .. } | Message::Other => {}
            }
        }
        Ok(())
    }

    fn greet(&mut self) -> Result<(), Trouble> {
        /// The runner's version, which Criterion.rs only logs.
        const VERSION: [u8; 3] = [1, 1, 0];
        self.stream.write_all(b"cargo-criterion")?;
        self.stream.write_all(&VERSION)?;
        let mut hello = [0; 16];
        self.read_exact(&mut hello)?;
        // Magic, three bytes of version, protocol 1, format 1 (CBOR).
        if hello.starts_with(b"Criterion") && hello[12..] == [0, 1, 0, 1] {
            Ok(())
        } else {
            Err(Trouble::Stranger)
        }
    }

    /// Takes measurements: asks for their unit, then lets the process go on.
    fn take(&mut self, complete: Complete) -> Result<(), Trouble> {
        self.send(|encoder| {
            encoder.map(1)?.str("ScaleForMachines")?.map(1)?.str("values")?.array(1)?.f64(1.0)?;
            Ok(())
        })?;
        match self.next()? {
            Some(Message::Scaled { unit, one }) => self.heard.completed.push((complete, unit, one)),
            _ => return Err(Trouble::OutOfTurn),
        }
        self.go_on()
    }

    fn go_on(&mut self) -> Result<(), Trouble> {
        self.send(|encoder| encoder.str("Continue").map(drop))
    }

    fn send(
        &mut self,
        write: impl FnOnce(&mut Encoder<Vec<u8>>) -> Result<(), EncodeError>,
    ) -> Result<(), Trouble> {
        let mut encoder = Encoder::new(vec![0; 4]);
        write(&mut encoder).map_err(io::Error::other)?;
        let mut frame = encoder.into_writer();
        let length = u32::try_from(frame.len() - 4).map_err(io::Error::other)?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        // One write, so that no half of it waits for an acknowledgement of the other.
        Ok(self.stream.write_all(&frame)?)
    }

    /// The next message; none when the process has closed its end between two.
    fn next(&mut self) -> Result<Option<Message>, Trouble> {
        /// Room for a million measurements.
        const MOST: u32 = 32 << 20;
        let mut length = [0; 4];
        match self.read(&mut length[..1])? {
            0 => return Ok(None),
            _ => self.read_exact(&mut length[1..])?,
        }
        let length = u32::from_be_bytes(length);
        if length > MOST {
            return Err(Trouble::TooLong(length));
        }
        // Grown by what comes, not by what is claimed.
        let mut bytes = Vec::new();
        self.take_bytes(u64::from(length), &mut bytes)?;
        decode(&bytes).map(Some).map_err(Trouble::Garbled)
    }

    fn take_bytes(&mut self, length: u64, bytes: &mut Vec<u8>) -> Result<(), Trouble> {
        let got = Read::take(&mut *self, length).read_to_end(bytes)?;
        if got as u64 == length {
            Ok(())
        } else {
            Err(Trouble::Io(io::ErrorKind::UnexpectedEof.into()))
        }
    }
}

type EncodeError = minicbor::encode::Error<std::convert::Infallible>;

/// Reads until the process closes its end, or has ended: a descendant may still hold the
/// connection, and says nothing.
impl Read for Conversation<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        acknowledge_at_once(&self.stream);
        if wake(&self.stream, &self.ended)? { self.stream.read(buffer) } else { Ok(0) }
    }
}

/// Asks the kernel not to wait with acknowledgements.
///
/// Criterion.rs writes the length of a message and the message apart, and its kernel holds back the
/// second until the first is acknowledged: 40 ms for each message, were it left to the timer. The
/// kernel forgets what it was asked, so it is asked again and again.
fn acknowledge_at_once(stream: &TcpStream) {
    // It is only slower if this fails.
    #[cfg(target_os = "linux")]
    let _ = rustix::net::sockopt::set_tcp_quickack(stream, true);
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

#[cfg(test)]
mod tests;
