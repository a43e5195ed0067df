//! The golden file of `rbench-harness`, and damaged or foreign files.

use proptest::prelude::*;

use super::*;

const GOLDEN: &str = include_str!("../../../../harness/golden/protocol-1.txt");

#[test]
fn golden_file_is_parsed() {
    let measured = |iterations, times: &[u64]| {
        let times = times.to_vec();
        Outcome::Measured(Measured { warm_up: 100_000_123, iterations, times })
    };
    let record = |id: &str, throughput, outcome| Record { id: id.to_owned(), throughput, outcome };
    let two = measured(512, &[1_003_412, 1_003_398]);
    let failed = Outcome::Failed("panicked: line 1\nC:\\line 2\r".to_owned());
    let expected = Answer {
        records: vec![
            record("parse/1024", Some(Throughput::Bytes(1024)), two),
            record("größe \"x\" \\ y", Some(Throughput::Elements(3)), measured(1, &[0, u64::MAX])),
            record("gpu", None, Outcome::Skipped("no GPU here".to_owned())),
            record("parse/64", None, failed),
        ],
        refused: Some("panicked: after all".to_owned()),
    };
    assert_eq!(parse(GOLDEN.as_bytes()), Ok(expected));
}

#[test]
fn truncated_golden_file_is_refused() {
    for length in 0..GOLDEN.len() {
        let defect = parse(&GOLDEN.as_bytes()[..length]).unwrap_err();
        assert!(matches!(defect, Defect::Truncated | Defect::NotAnAnswer), "{length}: {defect:?}");
    }
}

#[test]
fn other_protocols_are_named() {
    for other in [0, 2, 17] {
        let text = GOLDEN.replacen("rbench-harness 1", &format!("rbench-harness {other}"), 1);
        assert_eq!(parse(text.as_bytes()), Err(Defect::OtherProtocol(other)));
    }
    // A newer one need not even be text.
    assert_eq!(parse(b"rbench-harness 2\n\xff\x00"), Err(Defect::OtherProtocol(2)));
}

#[test]
fn misplaced_line_is_named() {
    for body in [
        "throughput bytes 1\nend 0\n",
        "benchmark a\niterations 3 given\nend 1\n",
        "benchmark a\nskipped x\nskipped y\nend 1\n",
        "benchmark a\nfrobnicated\nend 1\n",
        "seed -1\nend 0\n",
        "seed +1\nend 0\n",
        "end 1\n",
        "end 0\nend 0\n",
    ] {
        let defect = parse(format!("rbench-harness 1\nversion 1\n{body}").as_bytes());
        assert!(matches!(defect, Err(Defect::Line(_))), "{body:?}: {defect:?}");
    }
}

#[test]
fn excessive_count_is_a_truncation() {
    let text = "rbench-harness 1\nversion 1\nbenchmark a\nwarm-up 1 1\niterations 1 given\n\
                measurements 18446744073709551615\n1\n";
    assert_eq!(parse(text.as_bytes()), Err(Defect::Truncated));
}

/// The memory of an answer, in bytes.
fn kept(answer: &Answer) -> usize {
    let record = |record: &Record| {
        let more = match &record.outcome {
            Outcome::Listed => 0,
            Outcome::Measured(measured) => measured.times.capacity() * size_of::<u64>(),
            Outcome::Skipped(reason) | Outcome::Failed(reason) => reason.capacity(),
        };
        record.id.capacity() + more
    };
    let records = answer.records.capacity() * size_of::<Record>();
    records + answer.records.iter().map(record).sum::<usize>()
}

proptest! {
    #[test]
    fn answer_uses_a_small_multiple_of_the_file_size(
        benchmarks in proptest::collection::vec(("[a-z]{0,9}", 0_usize..50), 0..40),
    ) {
        let body = benchmarks.iter().map(|(id, count)| {
            let times = "1\n".repeat(*count);
            format!("benchmark {id}\nwarm-up 1 1\niterations 1 given\nmeasurements {count}\n{times}")
        });
        let body: String = body.collect();
        let text = format!("rbench-harness 1\nversion 1\n{body}end {}\n", benchmarks.len());
        let answer = parse(text.as_bytes()).unwrap();
        prop_assert_eq!(answer.records.len(), benchmarks.len());
        prop_assert!(kept(&answer) <= 16 * text.len() + 1024, "{} of {}", kept(&answer), text.len());
    }

    #[test]
    fn parse_never_panics_on_arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes);
        let mut answer = b"rbench-harness 1\nversion 1\n".to_vec();
        answer.extend(bytes);
        let _ = parse(&answer);
    }

    #[test]
    fn parse_never_panics_on_a_damaged_golden_file(
        at in 0..GOLDEN.len(),
        cut in 0_usize..40,
        damage in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = GOLDEN.as_bytes().to_vec();
        bytes.splice(at..(at + cut).min(GOLDEN.len()), damage);
        let _ = parse(&bytes);
    }

    #[test]
    fn parse_never_panics_on_shuffled_words(
        lines in proptest::collection::vec(
            "(benchmark|throughput|bytes|warm-up|iterations|measurements|seed|end|refused|[0-9]{1,22})( [0-9a-z\\\\]{0,8}){0,2}",
            0..12,
        ),
    ) {
        let _ = parse(format!("rbench-harness 1\nversion 1\n{}\n", lines.join("\n")).as_bytes());
    }
}
