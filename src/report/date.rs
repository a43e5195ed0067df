//! Formats dates in UTC, so that a report is the same everywhere.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::model::rfc3339_of_seconds;

/// The day of a Unix time in seconds: `2026-11-02`; empty if no calendar has that time.
pub fn day(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%d").to_string())
}

/// A time to the minute: `2026-11-02 14:05 UTC`.
pub fn minute(time: SystemTime) -> String {
    Timestamp::try_from(time)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

/// A time for programs, as RFC 3339 to the nanosecond: `2026-11-02T14:05:09.5Z`. The epoch, if no
/// calendar has that time.
pub fn rfc3339(time: SystemTime) -> String {
    Timestamp::try_from(time).unwrap_or_default().to_string()
}

/// Serializes a time by [`rfc3339`].
pub fn time<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    rfc3339(*time).serialize(to)
}

/// Serializes a Unix time by [`rfc3339_of_seconds`].
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
pub fn unix_time<S: Serializer>(seconds: &i64, to: S) -> Result<S::Ok, S::Error> {
    rfc3339_of_seconds(*seconds).serialize(to)
}

/// Serializes a time by [`rfc3339`], if there is one.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub fn optional_time<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    time.map(rfc3339).serialize(to)
}

/// Serializes a duration in seconds.
pub fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    time.as_secs_f64().serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_in_universal_time() {
        assert_eq!(day(1_700_000_000), "2023-11-14");
        assert_eq!(day(i64::MAX), "");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        assert_eq!(minute(time), "2023-11-14 22:13 UTC");
        assert_eq!(rfc3339(time + Duration::from_millis(500)), "2023-11-14T22:13:20.5Z");
        assert_eq!(rfc3339_of_seconds(1_700_000_000).as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!(rfc3339_of_seconds(i64::MAX), None);
    }
}
