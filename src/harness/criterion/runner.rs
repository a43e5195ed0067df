//! The runner's side of the protocol that Criterion.rs speaks with cargo-criterion, over TCP.
//!
//! A thread sleeps in `poll` until the process connects, sends something, or has ended; it wakes
//! only for messages, none of which come while a benchmark is timed.

use std::{
    fmt,
    io::{self, PipeReader, PipeWriter, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread::{self, JoinHandle},
};

use minicbor::Encoder;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};

use super::message::{Complete, Message, decode};
use crate::model::Name;

/// What came from a process over its connection.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Received {
    /// Whether it connected at all.
    pub(super) connected: bool,
    /// How many connections of other processes were refused.
    pub(super) refused: usize,
    /// Whether a benchmark was begun, if not ended.
    pub(super) begun: bool,
    /// Benchmarks that the filter left out.
    pub(super) skipped: Vec<Name>,
    /// Benchmarks that were measured, each with the unit of its values and a value of 1 in it.
    pub(super) completed: Vec<(Complete, String, f64)>,
    /// What went wrong, if the conversation ended before its time.
    pub(super) problem: Option<String>,
}

/// Whether a connection comes from the process that the runner listens for.
pub(super) type Admission = fn(&TcpStream) -> io::Result<bool>;

/// A runner that listens for one process.
#[derive(Debug)]
pub(super) struct Runner {
    port: u16,
    /// Dropped when the process has ended.
    alive: PipeWriter,
    thread: JoinHandle<Received>,
}

impl Runner {
    /// Starts to listen for the process whose connection `admits` lets in. Any user of the machine can
    /// connect to the port, and be there first: other connections are closed without a word.
    pub(super) fn start(admits: Admission) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        // Who connected may be gone before it is accepted.
        socket.set_nonblocking(true)?;
        let port = socket.local_addr()?.port();
        let (ended, alive) = io::pipe()?;
        let thread =
            thread::Builder::new().name("criterion-runner".to_owned()).spawn(move || {
                let mut received = Received::default();
                let problem = Listener { socket, ended, admits }.serve(&mut received).err();
                received.problem = problem.map(|problem| problem.to_string());
                received
            })?;
        Ok(Self { port, alive, thread })
    }

    /// What the process must find in `CARGO_CRITERION_PORT`.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// What was received; call it when the process has ended.
    pub(super) fn finish(self) -> Received {
        drop(self.alive);
        self.thread.join().unwrap_or_else(|_| Received {
            problem: Some("rbench failed to process its messages".to_owned()),
            ..Received::default()
        })
    }
}

/// Where connections arrive.
struct Listener {
    socket: TcpListener,
    ended: PipeReader,
    admits: Admission,
}

/// What ended a sleep.
enum Woken {
    Message,
    Connection,
    End,
}

impl Listener {
    /// Waits for the process, and receives what it sends.
    fn serve(&self, received: &mut Received) -> Result<(), Problem> {
        while let Woken::Connection = self.sleep(None)? {
            if let Some(stream) = self.accept(received)? {
                received.connected = true;
                return Conversation { listener: self, stream, received }.hold();
            }
        }
        Ok(())
    }

    /// Accepts a connection; none if it is of another process.
    fn accept(&self, received: &mut Received) -> io::Result<Option<TcpStream>> {
        let stream = match self.socket.accept() {
            Ok((stream, _)) => stream,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if (self.admits)(&stream)? {
            return Ok(Some(stream));
        }
        received.refused += 1;
        Ok(None)
    }

    /// Sleeps until `stream` has something, somebody connects, or the process has ended.
    fn sleep(&self, stream: Option<&TcpStream>) -> io::Result<Woken> {
        loop {
            let mut fds = vec![
                PollFd::new(&self.ended, PollFlags::IN),
                PollFd::new(&self.socket, PollFlags::IN),
            ];
            fds.extend(stream.map(|stream| PollFd::new(stream, PollFlags::IN)));
            match poll(&mut fds, None) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    let ready: Vec<_> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
                    // What was sent comes before the end, and after that there is nobody to connect.
                    return Ok(match ready[..] {
                        [_, _, true] => Woken::Message,
                        [true, ..] => Woken::End,
                        _ => Woken::Connection,
                    });
                }
            }
        }
    }
}

/// Whether nobody waits to be accepted any more.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

/// Why a conversation ended before its time.
enum Problem {
    Io(io::Error),
    /// It is no Criterion.rs at the other end, or one of another protocol.
    OtherProtocol,
    /// A message claims this many bytes.
    TooLong(u32),
    Garbled(minicbor::decode::Error),
    /// A message came where another had to.
    OutOfTurn,
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("it stopped in the middle of a message")
            }
            Self::Io(error) => write!(f, "its connection failed: {error}"),
            Self::OtherProtocol => f.write_str("it does not speak protocol 1 of Criterion.rs"),
            Self::TooLong(length) => write!(f, "it sent a message of {length} bytes"),
            Self::Garbled(error) => write!(f, "it sent an invalid message: {error}"),
            Self::OutOfTurn => f.write_str("it sent an unexpected message"),
        }
    }
}

/// The process at the other end.
struct Conversation<'r> {
    listener: &'r Listener,
    stream: TcpStream,
    received: &'r mut Received,
}

impl Conversation<'_> {
    fn hold(&mut self) -> Result<(), Problem> {
        self.greet()?;
        while let Some(message) = self.next()? {
            match message {
                Message::Beginning => self.received.begun = true,
                Message::Skipping(name) => self.received.skipped.push(name),
                Message::Complete(complete) => self.take(complete)?,
                Message::FinishedGroup => self.go_on()?,
                Message::Scaled { .. } | Message::Other => {}
            }
        }
        Ok(())
    }

    fn greet(&mut self) -> Result<(), Problem> {
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
            Err(Problem::OtherProtocol)
        }
    }

    /// Takes measurements: asks for their unit, then lets the process go on.
    fn take(&mut self, complete: Complete) -> Result<(), Problem> {
        self.send(|encoder| {
            encoder.map(1)?.str("ScaleForMachines")?.map(1)?.str("values")?.array(1)?.f64(1.0)?;
            Ok(())
        })?;
        match self.next()? {
            Some(Message::Scaled { unit, one }) => {
                self.received.completed.push((complete, unit, one));
            }
            _ => return Err(Problem::OutOfTurn),
        }
        self.go_on()
    }

    fn go_on(&mut self) -> Result<(), Problem> {
        self.send(|encoder| encoder.str("Continue").map(drop))
    }

    fn send(
        &mut self,
        write: impl FnOnce(&mut Encoder<Vec<u8>>) -> Result<(), EncodeError>,
    ) -> Result<(), Problem> {
        let mut encoder = Encoder::new(vec![0; 4]);
        write(&mut encoder).map_err(io::Error::other)?;
        let mut frame = encoder.into_writer();
        let length = u32::try_from(frame.len() - 4).map_err(io::Error::other)?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        // One write, so that no half of it waits for an acknowledgement of the other.
        Ok(self.stream.write_all(&frame)?)
    }

    /// The next message; none when the process has closed its end between two.
    fn next(&mut self) -> Result<Option<Message>, Problem> {
        /// Room for a million measurements.
        const MOST: u32 = 32 << 20;
        let mut length = [0; 4];
        match self.read(&mut length[..1])? {
            0 => return Ok(None),
            _ => self.read_exact(&mut length[1..])?,
        }
        let length = u32::from_be_bytes(length);
        if length > MOST {
            return Err(Problem::TooLong(length));
        }
        // Grown by what comes, not by what is claimed.
        let mut bytes = Vec::new();
        self.take_bytes(u64::from(length), &mut bytes)?;
        decode(&bytes).map(Some).map_err(Problem::Garbled)
    }

    fn take_bytes(&mut self, length: u64, bytes: &mut Vec<u8>) -> Result<(), Problem> {
        let got = Read::take(&mut *self, length).read_to_end(bytes)?;
        if got as u64 == length {
            Ok(())
        } else {
            Err(Problem::Io(io::ErrorKind::UnexpectedEof.into()))
        }
    }
}

type EncodeError = minicbor::encode::Error<std::convert::Infallible>;

/// Reads until the process closes its end, or has ended: a descendant may still hold the
/// connection, and sends nothing.
impl Read for Conversation<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            acknowledge_at_once(&self.stream);
            match self.listener.sleep(Some(&self.stream))? {
                Woken::Message => return self.stream.read(buffer),
                Woken::End => return Ok(0),
                Woken::Connection if self.listener.accept(self.received)?.is_some() => {
                    return Err(io::Error::other(SECOND));
                }
                Woken::Connection => {}
            }
        }
    }
}

/// Why a conversation ends when another one begins.
const SECOND: &str = "it, or a process that it started, connected a second time";

/// Asks the kernel not to wait with acknowledgements.
///
/// Criterion.rs writes the length of a message and the message apart, and its kernel holds back the
/// second until the first is acknowledged: 40 ms for each message, were it left to the timer. The
/// kernel forgets the request, so it is repeated at every read.
fn acknowledge_at_once(stream: &TcpStream) {
    // It is only slower if this fails.
    let _ = rustix::net::sockopt::set_tcp_quickack(stream, true);
}

#[cfg(test)]
mod tests;
