//! The runner's side of the protocol between Criterion.rs and cargo-criterion, over TCP.
//!
//! A thread sleeps in `poll` until the process connects, sends something, or has ended; it wakes only for messages, and
//! none is sent while a benchmark is timed.

use std::{
    collections::HashMap,
    fmt,
    io::{self, BufRead as _, BufReader, PipeReader, PipeWriter, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::fd::AsFd,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use minicbor::Encoder;

use super::message::{Complete, Message, decode};
use crate::{model::Name, process::first_readable};

#[derive(Debug, Default, PartialEq)]
pub(super) struct Received {
    pub(super) connected: bool,
    /// Number of refused connections of other processes.
    pub(super) refused: usize,
    /// True if a benchmark has started, even if it has not ended.
    pub(super) begun: bool,
    /// Benchmarks that the filter excluded.
    pub(super) skipped: Vec<Name>,
    /// Measured benchmarks, each with the unit of its values and a value of 1 in it.
    pub(super) completed: Vec<(Complete, String, f64)>,
    pub(super) groups: Groups,
    /// True if it did not wait at the expected ends of groups, so that some messages may be lost.
    pub(super) is_unexpected: bool,
    /// The reason why the conversation ended early, if it did.
    pub(super) problem: Option<String>,
}

/// The ends of groups at which a process waits for `Continue`. `bench_function` of `Criterion` makes a group of each
/// benchmark, so a process waits as often as it has benchmarks, however few of them it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// The number of ends before each benchmark, by id.
    before: HashMap<String, usize>,
    ends: usize,
}

impl Groups {
    /// The ends of groups before and after a benchmark.
    pub(super) fn around(&self, id: &str) -> Option<Ends> {
        let before = *self.before.get(id)?;
        Some(Ends { before, after: self.ends - before })
    }
}

/// Numbers of ends of groups before and after the only benchmark that a process runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ends {
    before: usize,
    after: usize,
}

/// Decides if a connection comes from the expected process.
pub(super) type Admission = fn(&TcpStream) -> io::Result<bool>;

#[derive(Debug)]
pub(super) struct Runner {
    port: u16,
    /// Dropped when the process has ended.
    alive: PipeWriter,
    thread: JoinHandle<Received>,
}

impl Runner {
    /// Starts to listen for the process whose connection `admits` accepts. Any user of the machine can connect to the
    /// port, and can be first: other connections are closed without a message.
    ///
    /// A process that `only_lists` is not let measure anything: without an answer it ends. If it waits at `expected`
    /// ends of groups, it need not wait: the answers are there before it asks.
    pub(super) fn start(
        admits: Admission,
        only_lists: bool,
        expected: Option<Ends>,
    ) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        // A peer may close its connection before it is accepted.
        socket.set_nonblocking(true)?;
        let port = socket.local_addr()?.port();
        let (ended, alive) = io::pipe()?;
        let thread =
            thread::Builder::new().name("criterion-runner".to_owned()).spawn(move || {
                let mut received = Received::default();
                let listener = Listener { socket, ended, admits, only_lists, expected };
                let problem = listener.serve(&mut received).err();
                received.problem = problem.map(|problem| problem.to_string());
                received
            })?;
        Ok(Self { port, alive, thread })
    }

    /// The value of [`RUNNER_PORT`](crate::process::trace::RUNNER_PORT) for the process.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Stops listening and returns the received data; call it when the process has ended.
    pub(super) fn finish(self) -> Received {
        drop(self.alive);
        self.thread.join().unwrap_or_else(|_| Received {
            problem: Some("rbench failed to process its messages".to_owned()),
            ..Received::default()
        })
    }
}

struct Listener {
    socket: TcpListener,
    ended: PipeReader,
    admits: Admission,
    only_lists: bool,
    expected: Option<Ends>,
}

/// Bytes that are read at a time: the messages of a thousand benchmarks.
const BUFFER: usize = 256 << 10;

/// Time in which messages gather that the process sends without waiting for an answer.
const GATHERING: Duration = Duration::from_millis(1);

/// The event that ended a sleep.
enum Woken {
    Message,
    Connection,
    End,
}

impl Listener {
    /// Waits for the process, and receives its messages.
    fn serve(&self, received: &mut Received) -> Result<(), Problem> {
        while let Woken::Connection = self.sleep(None)? {
            if let Some(stream) = self.accept(&mut received.refused)? {
                received.connected = true;
                let connection =
                    Connection { listener: self, stream, refused: 0, is_awaited: true };
                let connection = BufReader::with_capacity(BUFFER, connection);
                let due = self.expected.map_or(0, |ends| ends.before);
                let mut conversation = Conversation { connection, received, due, ahead: 0 };
                let problem = conversation.hold();
                let Conversation { connection, due, ahead, .. } = conversation;
                received.refused += connection.get_ref().refused;
                received.is_unexpected = due + ahead > 0;
                return problem;
            }
        }
        Ok(())
    }

    /// Accepts a connection; none if it comes from another process.
    fn accept(&self, refused: &mut usize) -> io::Result<Option<TcpStream>> {
        let stream = match self.socket.accept() {
            Ok((stream, _)) => stream,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if (self.admits)(&stream)? {
            return Ok(Some(stream));
        }
        *refused += 1;
        Ok(None)
    }

    /// Sleeps while messages gather, or until the process has ended. Waking for each message would take longer than to skip
    /// a benchmark: until the first is read, the kernel of the process holds the others back and sends them together.
    fn gather(&self) -> io::Result<()> {
        first_readable(&[&self.ended], Some(Instant::now() + GATHERING)).map(drop)
    }

    /// Sleeps until `stream` is readable, a connection arrives, or the process has ended.
    fn sleep(&self, stream: Option<&TcpStream>) -> io::Result<Woken> {
        let first: &dyn AsFd = stream.map_or(&self.ended as &dyn AsFd, |stream| stream);
        // Data that was sent comes before the end, and afterwards no peer can connect.
        Ok(match first_readable(&[first, &self.ended, &self.socket], None)? {
            Some(0) if stream.is_some() => Woken::Message,
            Some(0 | 1) => Woken::End,
            _ => Woken::Connection,
        })
    }
}

/// True if no connection is waiting any more.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

enum Problem {
    Io(io::Error),
    /// The peer is not Criterion.rs, or has another protocol version.
    OtherProtocol,
    /// The claimed length of a message, in bytes.
    TooLong(u32),
    Garbled(minicbor::decode::Error),
    /// An unexpected message.
    OutOfTurn,
    /// A benchmark before the expected ends of groups.
    Unexpected,
    /// It measures although it was asked only to list.
    Unasked,
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
            Self::Unasked => f.write_str(
                "it ignores the command line of Criterion.rs, and would measure everything",
            ),
            Self::OutOfTurn | Self::Unexpected => f.write_str("it sent an unexpected message"),
        }
    }
}

struct Conversation<'r> {
    connection: BufReader<Connection<'r>>,
    received: &'r mut Received,
    /// Ends of groups that are expected and not yet answered.
    due: usize,
    /// Answers that the process has not yet asked for.
    ahead: usize,
}

impl Conversation<'_> {
    fn hold(&mut self) -> Result<(), Problem> {
        self.greet()?;
        self.answer_ahead()?;
        self.gather(true);
        while let Some(message) = self.next()? {
            match message {
                Message::Beginning => {
                    self.received.begun = true;
                    self.gather(false);
                    if self.listener().only_lists {
                        return Err(Problem::Unasked);
                    }
                }
                Message::Skipping(name) => {
                    self.note_announced(&name);
                    self.received.skipped.push(name);
                }
                Message::Complete(complete) => {
                    self.note_announced(&complete.name);
                    self.take(complete)?;
                }
                Message::FinishedGroup => {
                    self.received.groups.ends += 1;
                    if self.ahead == 0 {
                        self.gather(false);
                        self.go_on(1)?;
                    } else {
                        self.ahead -= 1;
                        self.answer_ahead()?;
                    }
                }
                Message::Scaled { .. } | Message::Other => {}
            }
        }
        Ok(())
    }

    fn listener(&self) -> &Listener {
        self.connection.get_ref().listener
    }

    /// Records where a benchmark is among the groups, unless that is known.
    fn note_announced(&mut self, name: &Name) {
        if self.listener().expected.is_none() {
            let Groups { before, ends } = &mut self.received.groups;
            before.entry(name.id.clone()).or_insert(*ends);
        }
    }

    /// Answers expected ends of groups before the process asks: waiting for each answer takes longer than to skip a
    /// benchmark. The answers are few enough for the buffers of the kernel.
    fn answer_ahead(&mut self) -> Result<(), Problem> {
        const MOST: usize = 512;
        let count = self.due.min(MOST - self.ahead);
        if count > 0 && self.ahead <= MOST / 2 {
            self.due -= count;
            self.ahead += count;
            self.go_on(count)?;
        }
        Ok(())
    }

    fn greet(&mut self) -> Result<(), Problem> {
        /// The runner's version, which Criterion.rs only logs.
        const VERSION: [u8; 3] = [1, 1, 0];
        self.write(b"cargo-criterion")?;
        self.write(&VERSION)?;
        let mut hello = [0; 16];
        self.connection.read_exact(&mut hello)?;
        // Magic, three bytes of version, protocol 1, format 1 (CBOR).
        if hello.starts_with(b"Criterion") && hello[12..] == [0, 1, 0, 1] {
            Ok(())
        } else {
            Err(Problem::OtherProtocol)
        }
    }

    /// Takes measurements: requests their unit, then lets the process continue.
    fn take(&mut self, complete: Complete) -> Result<(), Problem> {
        if self.due + self.ahead > 0 {
            return Err(Problem::Unexpected);
        }
        self.write(&frame(|encoder| {
            encoder.map(1)?.str("ScaleForMachines")?.map(1)?.str("values")?.array(1)?.f64(1.0)?;
            Ok(())
        })?)?;
        match self.next()? {
            Some(Message::Scaled { unit, one }) => {
                self.received.completed.push((complete, unit, one));
            }
            _ => return Err(Problem::OutOfTurn),
        }
        self.go_on(1)?;
        self.due = self.listener().expected.map_or(0, |ends| ends.after);
        self.answer_ahead()?;
        self.gather(true);
        Ok(())
    }

    /// Lets messages gather from now on, if the answers to them are there before the process asks.
    fn gather(&mut self, is_skipping: bool) {
        let is_awaited = !is_skipping || self.listener().expected.is_none();
        self.connection.get_mut().is_awaited = is_awaited;
    }

    fn go_on(&mut self, times: usize) -> Result<(), Problem> {
        let answer = frame(|encoder| encoder.str("Continue").map(drop))?;
        self.write(&answer.repeat(times))
    }

    /// Writes at once, so that no half of a message waits for an acknowledgement of the other.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        Ok(self.connection.get_mut().stream.write_all(bytes)?)
    }

    /// The next message; none when the process has closed its end between two messages.
    fn next(&mut self) -> Result<Option<Message>, Problem> {
        /// Enough for a million measurements.
        const MOST: u32 = 32 << 20;
        if self.connection.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut length = [0; 4];
        self.connection.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length);
        if length > MOST {
            return Err(Problem::TooLong(length));
        }
        // Grows with the received bytes, not to the claimed length.
        let mut bytes = Vec::new();
        let got = Read::take(&mut self.connection, length.into()).read_to_end(&mut bytes)?;
        if got as u64 != u64::from(length) {
            return Err(Problem::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        decode(&bytes).map(Some).map_err(Problem::Garbled)
    }
}

type EncodeError = minicbor::encode::Error<std::convert::Infallible>;

/// A message after its length.
fn frame(
    write: impl FnOnce(&mut Encoder<Vec<u8>>) -> Result<(), EncodeError>,
) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new(vec![0; 4]);
    write(&mut encoder).map_err(io::Error::other)?;
    let mut frame = encoder.into_writer();
    let length = u32::try_from(frame.len() - 4).map_err(io::Error::other)?;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}

struct Connection<'r> {
    listener: &'r Listener,
    stream: TcpStream,
    /// Number of refused connections of other processes.
    refused: usize,
    /// True if the process may wait for an answer to its next message.
    is_awaited: bool,
}

/// Reads until the process closes its end, or has ended: a descendant may still hold the connection open, but sends
/// nothing.
impl Read for Connection<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_awaited {
                acknowledge_at_once(&self.stream);
            }
            match self.listener.sleep(Some(&self.stream))? {
                Woken::Message if self.is_awaited => return self.stream.read(buffer),
                Woken::Message => {
                    self.listener.gather()?;
                    let read = self.stream.read(buffer)?;
                    acknowledge_at_once(&self.stream);
                    return Ok(read);
                }
                Woken::End => return Ok(0),
                Woken::Connection if self.listener.accept(&mut self.refused)?.is_some() => {
                    return Err(io::Error::other(SECOND));
                }
                Woken::Connection => {}
            }
        }
    }
}

/// The reason if the process connects again.
const SECOND: &str = "it, or a process that it started, connected a second time";

/// Asks the kernel to acknowledge at once.
///
/// Criterion.rs writes the length of a message and the message separately, and its kernel holds back the second part
/// until the first is acknowledged: with the timer, that takes 40 ms for each message. The kernel forgets the request,
/// so it is repeated at every read.
fn acknowledge_at_once(stream: &TcpStream) {
    // If this fails, it is only slower.
    let _ = rustix::net::sockopt::set_tcp_quickack(stream, true);
}

#[cfg(test)]
mod tests;
