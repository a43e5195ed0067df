//! Invalid and damaged objects.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

static REAL: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let scratch = Scratch::new();
    let rust = scratch.rust_object("object", RUST, &[]);
    let c = scratch.c_object("object", C, &["-O2"]);
    let archive = scratch.archive("libobject.a", "crs", &["object.o"]);
    [rust, c, archive]
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn reading_arbitrary_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), start in 0..4_usize) {
        let start: &[u8] = [&b"\x7fELF\x02\x01\x01"[..], b"!<arch>\n", b"BC\xc0\xde", b""][start];
        let bytes = [start, &bytes].concat();
        let set = FunctionSet::from_link_inputs([("garbage", &bytes[..])], &[], &PrintedLocations::default());
        prop_assert_eq!(set.functions().len(), 0);
        prop_assert!(kept_functions(&bytes).is_err());
        prop_assert!(crate::elf::loadable_digest(&bytes).is_err());
    }

    #[test]
    fn reading_damaged_objects_never_panics(
        which in 0..3_usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
        kept_bytes in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let kept = all_kept(&[&REAL[0], &REAL[1]]);
        let mut bytes = REAL[which].clone();
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(length) = kept_bytes {
            bytes.truncate(length.index(bytes.len()));
        }
        let set = FunctionSet::from_link_inputs([("damaged", &bytes[..])], &kept, &PrintedLocations::default());
        prop_assert!(set.functions().len() <= kept.len());
    }
}
