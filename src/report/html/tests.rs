//! Pages contain nothing that a browser could execute, load or take for markup.

use super::*;

#[test]
fn packed_json_round_trips() {
    let packed = packed("{\n  \"id\": \"</script>\"\n}\n");
    let letters = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    assert!(packed.chars().all(letters));
    let bytes = BASE64.decode(packed.as_bytes()).unwrap();
    let mut text = String::new();
    flate2::read::DeflateDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
    assert_eq!(text, "{\"id\":\"</script>\"}");
}

#[test]
fn packed_numbers_are_rounded_and_strings_kept() {
    let json = r#"{"a": [1.23456789012, -0.000123456789012, 123456789012, 1e-300, null],
                   "b 1.23456789012": "1.23456789012 \" \\", "c": 5.0}"#;
    let short = r#"{"a":[1.23457,-0.000123457,123456789012,1e-300,null],"b 1.23456789012":"1.23456789012 \" \\","c":5.0}"#;
    assert_eq!(shortened(json), short);
}

#[test]
fn symmetric_axis_shows_far_and_near_changes() {
    let axis = Symmetric::new(0.01, 0.5);
    let places = [-0.5, -0.01, 0.0, 0.01, 0.02, 0.5].map(|change| axis.place(change));
    assert!(places.is_sorted() && (places[0], places[2], places[5]) == (2.0, 50.0, 98.0));
    assert!(places[4] - places[3] > 4.0, "{places:?}");
    assert!(
        [f64::NAN, f64::INFINITY, -5.0]
            .iter()
            .all(|change| (0.0..=100.0).contains(&axis.place(*change)))
    );
}
