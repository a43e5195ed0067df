//! Tests valid values and the errors for invalid ones.

use super::*;

#[test]
fn duration_has_a_unit() {
    for (text, nanoseconds) in [
        ("5ms", 5_000_000),
        ("0s", 0),
        (" 2 s ", 2_000_000_000),
        ("1.5s", 1_500_000_000),
        ("10min", 600_000_000_000),
        ("1h 30min", 5_400_000_000_000),
        ("30d", 30 * 86_400_000_000_000),
        ("100us", 100_000),
    ] {
        assert_eq!(duration(text).map(|time| time.as_nanos()), Ok(nanoseconds), "{text}");
    }
}

#[test]
fn duration_without_a_unit_is_refused_with_an_example() {
    assert_eq!(duration("5"), Err("`5` has no unit: write 5ms, 5s or 5min".to_owned()));
    assert!(duration("0").unwrap_err().contains("0ms"));
    for text in ["", "-5ms", "5ms ago", "5 parsecs", "1 month", "PT5S", "ms"] {
        let error = duration(text).unwrap_err();
        assert!(error.ends_with("is not a duration; examples: 5ms, 2s, 10min"), "{error}");
    }
}

#[test]
fn time_is_at_most_an_hour_and_deadline_is_not_zero() {
    assert_eq!(time("1h"), Ok(Duration::from_secs(3600)));
    assert!(time("61min").unwrap_err().contains("1h"));
    assert!(deadline("0s").unwrap_err().contains("30s"));
    assert_eq!(deadline("2d"), Ok(Duration::from_secs(2 * 86_400)));
}

#[test]
fn share_is_a_percentage_or_below_one() {
    for (text, value) in
        [("5%", 0.05), ("5 %", 0.05), ("0.05", 0.05), ("0", 0.0), ("95%", 0.95), ("150%", 1.5)]
    {
        assert_eq!(share(text), Ok(value), "{text}");
    }
}

#[test]
fn share_of_one_or_more_needs_a_percent_sign() {
    assert_eq!(share("5"), Err("did you mean 5% (0.05)?".to_owned()));
    assert_eq!(share("1"), Err("did you mean 1% (0.01)?".to_owned()));
    assert_eq!(share("2.5"), Err("did you mean 2.5% (0.025)?".to_owned()));
    for text in ["-1%", "-0.5", "NaN", "inf", "inf%", "", "%", "5%%", "five"] {
        assert!(share(text).unwrap_err().contains("examples: 5%, 0.05"), "{text}");
    }
}

#[test]
fn builds_below_two_are_refused_with_the_reason() {
    assert_eq!(builds("2"), Ok(InterimAnalyses::fixed(2)));
    assert_eq!(builds("5..20"), Ok(InterimAnalyses { first: 5, most: 20 }));
    assert_eq!(builds("20..5"), Err("20 is more than 5".to_owned()));
    assert!(builds("1..5").is_err() && builds("5..").is_err());
    let reason = "at least 2 builds are needed to know how layouts vary";
    for (text, words) in [
        ("1", reason),
        ("0", reason),
        ("1000000", "the maximum is 10000"),
        ("ten", "`ten` is not a whole number"),
    ] {
        assert_eq!(builds(text), Err(words.to_owned()));
    }
    assert!(count("0").is_err() && count("1").is_ok());
}

#[test]
fn size_has_a_unit_or_is_in_bytes() {
    assert_eq!(size("500M"), Ok(500 << 20));
    assert_eq!(size("7"), Ok(7));
    assert!(size("7 parsecs").is_err());
    assert!(size("99999999999G").is_err());
}
