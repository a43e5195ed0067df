//! A process at the other end that keeps to the protocol, and some that do not.

use super::*;

const HELLO: &[u8] = b"Criterion\x00\x08\x02\x00\x01\x00\x01";

/// What is heard from a process that sends `bytes` and closes its end.
fn heard_from(bytes: &[u8]) -> Heard {
    let runner = Runner::start().unwrap();
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
fn benchmarks_that_are_left_out_are_heard_of() {
    let heard = heard_from(&[HELLO, &skipping("a"), &skipping("b")].concat());
    assert_eq!(heard.trouble, None);
    assert_eq!(heard.skipped.iter().map(|name| name.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_process_that_never_connects_is_not_waited_for() {
    assert_eq!(Runner::start().unwrap().finish(), Heard::default());
}

#[test]
fn a_connection_held_open_after_the_end_of_the_process_is_not_waited_for() {
    let runner = Runner::start().unwrap();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, runner.port())).unwrap();
    stream.write_all(&[HELLO, &skipping("a")].concat()).unwrap();
    let heard = runner.finish();
    assert_eq!(heard.skipped.len(), 1, "{heard:?}");
    drop(stream);
}

#[test]
fn each_kind_of_trouble_is_said() {
    for (bytes, words) in [
        (b"HTTP/1.1 400 what is this".to_vec(), "does not speak"),
        ([&HELLO[..13], &[2, 0, 1]].concat(), "does not speak"),
        (HELLO[..5].to_vec(), "in the middle"),
        ([HELLO, &[0, 0]].concat(), "in the middle"),
        ([HELLO, &[0, 0, 0, 9, 1]].concat(), "in the middle"),
        ([HELLO, &[255, 255, 255, 255]].concat(), "4294967295 bytes"),
        ([HELLO, &frame(&[0xff])].concat(), "not understood"),
    ] {
        let trouble = heard_from(&bytes).trouble.unwrap_or_default();
        assert!(trouble.contains(words), "{trouble:?} lacks {words:?}");
    }
}
