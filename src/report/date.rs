//! Dates for people, in universal time: the same report everywhere.

use std::time::SystemTime;

use jiff::Timestamp;

/// The day of a time in seconds since 1970: `2026-11-02`; nothing for a time that no calendar has.
pub fn day(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%d").to_string())
}

/// A time to the minute: `2026-11-02 14:05 UTC`.
pub fn minute(time: SystemTime) -> String {
    Timestamp::try_from(time)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_in_universal_time() {
        assert_eq!(day(1_700_000_000), "2023-11-14");
        assert_eq!(day(i64::MAX), "");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        assert_eq!(minute(time), "2023-11-14 22:13 UTC");
    }
}
