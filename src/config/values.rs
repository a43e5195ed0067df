//! Parses values such as `5ms`, `5%` and `10G`. Flags and `bench.toml` share these parsers, so both accept the same
//! syntax and have the same errors.

#[cfg(test)]
mod tests;

use std::{ops::RangeInclusive, str::FromStr, time::Duration};

use jiff::{SpanRelativeTo, fmt::friendly::SpanParser};
use rbench_stats::{Estimator, Rule};
use serde::{Deserialize, Deserializer, de::Error};

use crate::model::{InterimAnalyses, MOST_PARALLEL, Metric};

/// The maximum duration of a warm-up or of a measurement.
const LONGEST: Duration = Duration::from_secs(3600);

/// Parses a duration with its unit: `5ms`, `2s`, `1.5s`, `10min`, `30d`; a day has 24 hours.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(format!("`{text}` has no unit: write {text}ms, {text}s or {text}min"));
    }
    let parsed = SpanParser::new().parse_span(text);
    let parsed = parsed.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()));
    let positive = parsed.and_then(Duration::try_from);
    positive.map_err(|_| format!("`{text}` is not a duration; examples: 5ms, 2s, 10min"))
}

/// Parses the duration of a warm-up or of a measurement, at most one hour.
pub fn time(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        time if time > LONGEST => Err(format!("{text} is longer than the maximum of 1h")),
        time => Ok(time),
    }
}

/// Parses the maximum duration of an execution, which must not be zero.
pub fn deadline(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("a deadline must be longer than zero; example: 30s".to_owned()),
        deadline => Ok(deadline),
    }
}

/// Parses a share: `5%` or `0.05`. 1 and more need the percent sign, since `5` is more likely a mistake for `5%`.
pub fn share(text: &str) -> Result<f64, String> {
    let number = |text: &str| {
        let number = text.trim().parse().ok();
        number.filter(|number: &f64| number.is_finite() && number.is_sign_positive())
    };
    let what = || format!("`{}` is not a percentage; examples: 5%, 0.05", text.trim());
    if let Some(percent) = text.trim().strip_suffix('%') {
        return Ok(number(percent).ok_or_else(what)? / 100.0);
    }
    match number(text).ok_or_else(what)? {
        share if share < 1.0 => Ok(share),
        percent => Err(format!("did you mean {percent}% ({})?", percent / 100.0)),
    }
}

/// Parses a number of builds, or a range from the first to the last interim analysis, such as `5..20`.
pub fn builds(text: &str) -> Result<InterimAnalyses, String> {
    let enough = |text: &str| match number(text.trim(), 0..=10_000)? {
        0 | 1 => Err("at least 2 builds are needed to know how layouts vary".to_owned()),
        builds => Ok(builds),
    };
    let Some((first, most)) = text.split_once("..") else {
        return enough(text).map(InterimAnalyses::fixed);
    };
    let analyses = InterimAnalyses { first: enough(first)?, most: enough(most)? };
    if analyses.first > analyses.most {
        return Err(format!("{} is more than {}", analyses.first, analyses.most));
    }
    Ok(analyses)
}

/// Parses a number of executions or of measurements.
pub fn count(text: &str) -> Result<u32, String> {
    number(text, 1..=1_000_000)
}

/// Parses a number of parallel jobs.
pub fn jobs(text: &str) -> Result<u32, String> {
    number(text, 1..=u32::MAX)
}

/// Parses the number of benchmarks that run at once.
pub fn parallel(text: &str) -> Result<u32, String> {
    number(text, 1..=MOST_PARALLEL)
}

/// Parses the reason for accepting a slowdown: not empty, and on one line.
pub fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("explain in a few words why the change is accepted".to_owned());
    }
    if text.contains(char::is_control) {
        return Err("a reason has no line break and no other control character".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses the name of a cargo profile, which must not be empty.
pub fn profile(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("a profile has a name".to_owned()) } else { Ok(text.to_owned()) }
}

fn number(text: &str, range: RangeInclusive<u32>) -> Result<u32, String> {
    let number: u32 = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    let (least, most) = (range.start(), range.end());
    match number {
        number if number < *least => Err(format!("the minimum is {least}")),
        number if number > *most => Err(format!("the maximum is {most}")),
        number => Ok(number),
    }
}

/// Parses a number of bytes, with binary units: `500M`, `10G`, `123456`.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        unit => return Err(format!("`{unit}` is not a unit: use K, M or G")),
    };
    let number: u64 = digits.trim().parse().map_err(|_| format!("`{digits}` is not a number"))?;
    number.checked_mul(factor).ok_or_else(|| format!("`{text}` is too large"))
}

fn parsed<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// Deserializers for keys of `bench.toml`: each parses its key like the flag of the same name.
pub mod key {
    use super::{
        Deserialize, Deserializer, Duration, Error, Estimator, InterimAnalyses, Metric, Rule,
    };

    fn read<'de, D: Deserializer<'de>, T>(
        deserializer: D,
        parse: fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, D::Error> {
        let text = match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            other => {
                let kind = other.type_str();
                return Err(Error::custom(format!("expected a number or a string, not a {kind}")));
            }
        };
        parse(&text).map(Some).map_err(Error::custom)
    }

    macro_rules! keys {
        ($($name:ident: $type:ty = $parse:path,)*) => {$(
            #[doc = concat!("Reads a key, parsed as `", stringify!($name), "`.")]
            pub fn $name<'de, D: Deserializer<'de>>(value: D) -> Result<Option<$type>, D::Error> {
                read(value, $parse)
            }
        )*};
    }

    pub fn metrics<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<Metric>, D::Error> {
        let names = Vec::<String>::deserialize(value)?;
        names
            .iter()
            .map(|name| super::parsed(name))
            .collect::<Result<_, _>>()
            .map_err(Error::custom)
    }

    keys! {
        time: Duration = super::time,
        deadline: Duration = super::deadline,
        share: f64 = super::share,
        builds: InterimAnalyses = super::builds,
        count: u32 = super::count,
        jobs: u32 = super::jobs,
        parallel: u32 = super::parallel,
        profile: String = super::profile,
        estimator: Estimator = super::parsed,
        rule: Rule = super::parsed,
    }
}
