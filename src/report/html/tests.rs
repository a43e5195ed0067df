//! Pages contain nothing that a browser could execute, load or take for markup.

use super::*;

#[test]
fn what_is_packed_is_found_again() {
    let packed = packed("{\n  \"id\": \"</script>\"\n}\n");
    let letters = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    assert!(packed.chars().all(letters));
    let bytes = BASE64.decode(packed.as_bytes()).unwrap();
    let text = miniz_oxide::inflate::decompress_to_vec(&bytes).unwrap();
    assert_eq!(text, b"{\"id\":\"</script>\"}");
}

#[test]
fn packed_numbers_lose_digits_and_strings_lose_nothing() {
    let json = r#"{"a": [1.23456789012, -0.000123456789012, 123456789012, 1e-300, null],
                   "b 1.23456789012": "1.23456789012 \" \\", "c": 5.0}"#;
    let short = r#"{"a":[1.23457,-0.000123457,123456789012,1e-300,null],"b 1.23456789012":"1.23456789012 \" \\","c":5.0}"#;
    assert_eq!(shortened(json), short);
}

#[test]
fn far_changes_have_a_place_beside_near_ones() {
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
