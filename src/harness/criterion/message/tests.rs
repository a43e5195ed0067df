//! Messages as Criterion.rs writes them, and invalid bytes.

use minicbor::Encoder;
use proptest::prelude::*;

use super::*;

type Writer = Encoder<Vec<u8>>;

fn encoded(
    write: impl FnOnce(&mut Writer) -> Result<(), minicbor::encode::Error<std::convert::Infallible>>,
) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    write(&mut encoder).unwrap();
    encoder.into_writer()
}

/// `MeasurementComplete` of Criterion.rs 0.8, with one iteration for each of `times`.
fn complete_message(times: &[f64]) -> Vec<u8> {
    encoded(|e| {
        e.map(1)?.str("MeasurementComplete")?.map(6)?;
        e.str("id")?.map(4)?.str("group_id")?.str("parse \"x\"")?.str("function_id")?.null()?;
        e.str("value_str")?.str("10/24")?.str("throughput")?.array(1)?;
        e.map(1)?.str("ElementsAndBytes")?.map(2)?;
        e.str("elements")?.u8(3)?.str("bytes")?.u64(1 << 40)?;
        e.str("iters")?.array(times.len() as u64)?;
        for _ in times {
            e.f16(1.0)?;
        }
        e.str("times")?.array(times.len() as u64)?;
        for time in times {
            e.f64(*time)?;
        }
        e.str("plot_config")?.map(1)?.str("summary_scale")?.str("Linear")?;
        e.str("sampling_method")?.str("Flat")?;
        e.str("benchmark_config")?.map(3)?.str("confidence_level")?.f32(0.5)?;
        e.str("sample_size")?.u8(30)?;
        e.str("warm_up_time")?.map(2)?.str("secs")?.u8(1)?.str("nanos")?.u32(5)?;
        Ok(())
    })
}

#[test]
fn complete_message_is_decoded_with_all_name_parts() {
    let Message::Complete(complete) = decode(&complete_message(&[1.5, 2e9])).unwrap() else {
        panic!("not complete");
    };
    assert_eq!(complete.name.id, "parse \"x\"/10/24");
    assert_eq!(complete.name.function, None);
    assert_eq!(complete.name.parameter.as_deref(), Some("10/24"));
    assert_eq!(complete.values, [1.5, 2e9]);
    assert_eq!(complete.iterations, [1.0, 1.0]);
    assert_eq!(complete.throughput, [Throughput::Elements(3), Throughput::Bytes(1 << 40)]);
    assert_eq!((complete.sample_size, complete.warm_up), (30, Duration::new(1, 5)));
}

#[test]
fn unknown_messages_are_ignored() {
    let unknown = encoded(|e| {
        e.map(1)?.str("Unheard")?.begin_map()?.str("of")?.begin_array()?.null()?.end()?.end()?;
        Ok(())
    });
    assert_eq!(decode(&unknown).unwrap(), Message::Other);
    let bare = encoded(|e| e.str("Bare").map(drop));
    assert_eq!(decode(&bare).unwrap(), Message::Other);
}

#[test]
fn list_with_an_excessive_length_ends_with_its_bytes() {
    let claim = encoded(|e| {
        e.map(1)?.str("ScaledValues")?.map(2)?.str("unit")?.str("ns")?;
        e.str("scaled_values")?.array(u64::MAX)?.f64(1.0)?;
        Ok(())
    });
    assert!(decode(&claim).unwrap_err().is_end_of_input());
}

#[test]
fn deeply_nested_lists_do_not_exhaust_the_stack() {
    let mut deep = encoded(|e| e.map(1)?.str("Unheard").map(drop));
    deep.extend(std::iter::repeat_n(0x81, 5_000_000));
    assert!(decode(&deep).is_err());
}

proptest! {
    #[test]
    fn decode_never_panics_on_arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn damaged_message_never_panics_and_uses_little_memory(
        at in 0_usize..400,
        cut in 0_usize..20,
        damage in proptest::collection::vec(any::<u8>(), 0..10),
    ) {
        let mut bytes = complete_message(&[1.0, 2.0, 3.5]);
        let at = at.min(bytes.len());
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, damage);
        if let Ok(Message::Complete(complete)) = decode(&bytes) {
            let kept = complete.values.capacity() + complete.iterations.capacity();
            prop_assert!(kept <= 2 * bytes.len());
        }
    }

    #[test]
    fn floats_are_decoded_exactly(times in proptest::collection::vec(any::<f64>(), 1..20)) {
        let Message::Complete(complete) = decode(&complete_message(&times)).unwrap() else {
            panic!("not complete");
        };
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&complete.values), bits(&times));
    }
}
