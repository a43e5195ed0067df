//! Peers that follow the protocol, and some that violate it.

use super::*;

const HELLO: &[u8] = b"Criterion\x00\x08\x02\x00\x01\x00\x01";

/// A runner that accepts every connection.
fn runner() -> Runner {
    Runner::start(|_| Ok(true), false, None).unwrap()
}

/// The data received from a process that sends `bytes` and closes its end.
fn received_from(bytes: &[u8]) -> Received {
    let runner = runner();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, runner.port())).unwrap();
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answers = Vec::new();
    let _ = stream.read_to_end(&mut answers);
    assert!(answers.is_empty() || answers.starts_with(b"cargo-criterion"));
    runner.finish()
}

fn frame(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap();
    [&length.to_be_bytes(), body].concat()
}

fn skipping(group: &str) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    encoder.map(1).unwrap().str("SkippingBenchmark").unwrap().map(1).unwrap().str("id").unwrap();
    encoder.map(1).unwrap().str("group_id").unwrap().str(group).unwrap();
    frame(&encoder.into_writer())
}

#[test]
fn skipped_benchmarks_are_received() {
    let received = received_from(&[HELLO, &skipping("a"), &skipping("b")].concat());
    assert_eq!(received.problem, None);
    assert_eq!(
        received.skipped.iter().map(|name| name.id.as_str()).collect::<Vec<_>>(),
        ["a", "b"]
    );
}

#[test]
fn expected_ends_of_groups_are_answered_ahead() {
    const CONTINUE: &[u8] = b"\x00\x00\x00\x09\x68Continue";
    let end = {
        let mut encoder = Encoder::new(Vec::new());
        encoder.map(1).unwrap().str("FinishedBenchmarkGroup").unwrap();
        encoder.map(1).unwrap().str("group").unwrap().str("g").unwrap();
        frame(&encoder.into_writer())
    };
    let group = |name: &str| [skipping(name), end.clone()].concat();
    // Unexpected ones are answered when they come, and show what to expect.
    let received = received_from(&[HELLO, &group("a"), &group("b"), &group("c")].concat());
    let expected = received.groups.around("c").unwrap();
    assert_eq!(expected, Ends { before: 2, after: 1 });
    assert_eq!(received.groups.around("d"), None);
    for (messages, is_unexpected) in
        [([group("a"), group("b")].concat(), false), (group("a"), true)]
    {
        let runner = Runner::start(|_| Ok(true), false, Some(expected)).unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, runner.port())).unwrap();
        stream.write_all(HELLO).unwrap();
        let mut ahead = [0; 18 + 2 * CONTINUE.len()];
        stream.read_exact(&mut ahead).unwrap();
        assert_eq!(ahead[18..], *CONTINUE.repeat(2));
        stream.write_all(&messages).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let received = runner.finish();
        assert_eq!((received.is_unexpected, received.problem), (is_unexpected, None));
    }
}

#[test]
fn process_that_never_connects_is_not_awaited() {
    assert_eq!(runner().finish(), Received::default());
}

#[test]
fn connection_open_after_the_end_is_not_awaited() {
    let runner = runner();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, runner.port())).unwrap();
    stream.write_all(&[HELLO, &skipping("a")].concat()).unwrap();
    stream.read_exact(&mut [0; 18]).unwrap();
    let received = runner.finish();
    assert_eq!(received.skipped.len(), 1, "{received:?}");
    drop(stream);
}

#[test]
fn protocol_errors_are_named() {
    for (bytes, words) in [
        (b"HTTP/1.1 400 what is this".to_vec(), "does not speak"),
        ([&HELLO[..13], &[2, 0, 1]].concat(), "does not speak"),
        (HELLO[..5].to_vec(), "in the middle"),
        ([HELLO, &[0, 0]].concat(), "in the middle"),
        ([HELLO, &[0, 0, 0, 9, 1]].concat(), "in the middle"),
        ([HELLO, &[255, 255, 255, 255]].concat(), "4294967295 bytes"),
        ([HELLO, &frame(&[0xff])].concat(), "invalid message"),
    ] {
        let problem = received_from(&bytes).problem.unwrap_or_default();
        assert!(problem.contains(words), "{problem:?} lacks {words:?}");
    }
}

#[test]
fn stranger_is_refused_and_the_process_is_heard() {
    let begins_as_criterion = |stream: &TcpStream| {
        let mut first = [0];
        stream.peek(&mut first)?;
        Ok(first == *b"C")
    };
    let runner = Runner::start(begins_as_criterion, false, None).unwrap();
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, runner.port())).unwrap();
    let (mut stranger, mut process) = (connect(), connect());
    stranger.write_all(b"X").unwrap();
    process.write_all(&[HELLO, &skipping("a")].concat()).unwrap();
    process.read_exact(&mut [0; 18]).unwrap();
    let received = runner.finish();
    assert_eq!((received.refused, received.connected), (1, true), "{received:?}");
    assert_eq!((received.skipped.len(), received.problem), (1, None));
}

#[test]
fn second_connection_is_an_error() {
    let runner = runner();
    let address = (Ipv4Addr::LOCALHOST, runner.port());
    let mut process = TcpStream::connect(address).unwrap();
    process.write_all(HELLO).unwrap();
    let mut hello = [0; 18];
    process.read_exact(&mut hello).unwrap();
    let mut second = TcpStream::connect(address).unwrap();
    // The runner has noticed once it closes its end.
    let _ = second.read(&mut hello);
    let problem = runner.finish().problem.unwrap_or_default();
    assert!(problem.contains("connected a second time"), "{problem}");
}
