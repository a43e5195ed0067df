//! Times as whole nanoseconds, the form in which they are stored and exchanged: functions, and modules for serde's
//! `with`.

use std::time::{Duration, SystemTime};

/// The nanoseconds of a duration; saturates after 584 years.
pub fn from_duration(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The nanoseconds since 1970-01-01 UTC: 0 before it; saturates in the year 2262.
pub fn from_time(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The point in time that is this number of nanoseconds after 1970-01-01 UTC.
pub fn system_time(nanoseconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds.max(0).cast_unsigned())
}

/// A [`Duration`] as a number.
pub(super) mod duration {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Duration, from_duration};

    pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        from_duration(*duration).serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }
}

/// A [`SystemTime`] as a number.
pub(super) mod time {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{SystemTime, from_time, system_time};

    pub fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        from_time(*time).serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<SystemTime, D::Error> {
        i64::deserialize(from).map(system_time)
    }
}
