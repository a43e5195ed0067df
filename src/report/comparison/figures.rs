//! Figures of a comparison as people read them.

use super::row::{ChangeReport, Shares, StageReport, VersionReport};
use crate::{model::Unit, report::quantity};

/// Beyond this the digits of a change say nothing.
const LARGE: f64 = 1000.0;

/// A value in its unit: `4.384 µs`.
pub fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => quantity::nanoseconds(value),
        Unit::Bytes => quantity::measured_bytes(value),
        Unit::Instructions | Unit::Cycles => quantity::measured_count(value, unit.symbol()),
    }
}

/// The half-width of an interval as a share of its value: `± 1.9 %`.
pub fn plus_minus(version: &VersionReport) -> String {
    let half = (version.high - version.low) / 2.0;
    let percent = 100.0 * half / version.value;
    if percent < 99.95 { format!("± {percent:.1} %") } else { "± >99 %".to_owned() }
}

/// A share with its sign, in percent: `+1.64 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", bare_percent(share))
}

/// A share that has no direction: `1 %`, `0.25 %`.
pub fn size(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The interval of a change, beside which its percents stand: `-5.85 .. +2.76`.
pub fn range(change: &ChangeReport) -> String {
    format!("{} .. {}", bare_percent(change.low), bare_percent(change.high))
}

/// A share with its sign, without the sign of percent: `+1.64`.
pub fn bare_percent(share: f64) -> String {
    // Adding 0.0 turns a negative zero into a positive one.
    let percent = 100.0 * share + 0.0;
    if share > LARGE {
        format!(">{:+.0}", 100.0 * LARGE)
    } else if percent >= 999.95 {
        format!("{percent:+.0}")
    } else if percent >= 99.995 {
        format!("{percent:+.1}")
    } else {
        format!("{percent:+.2}")
    }
}

/// Where the variance lies: `96/0/4 %`, builds, executions and measurements. They add up to 100.
pub fn shares(shares: &Shares) -> String {
    let parts = [shares.builds, shares.executions, shares.measurements];
    let whole: Vec<f64> = parts.iter().map(|part| (100.0 * part).floor()).collect();
    let mut left = 100.0 - whole.iter().sum::<f64>();
    // The largest remainders are rounded up.
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| (100.0 * parts[b] - whole[b]).total_cmp(&(100.0 * parts[a] - whole[a])));
    let mut rounded = whole;
    for at in order {
        if left >= 0.5 {
            rounded[at] += 1.0;
            left -= 1.0;
        }
    }
    format!("{}/{}/{} %", rounded[0], rounded[1], rounded[2])
}

/// What pairing did to the variance: `-92 %`; nothing where there was none.
pub fn pairing(stage: &StageReport) -> String {
    stage.pairing_gain.map_or(String::new(), |gain| format!("{:+.0} %", -100.0 * gain + 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_as_many_digits_as_say_something() {
        let texts = [0.0164, -0.0585, -0.0, 1.5, 29.0, 5000.0].map(percent);
        assert_eq!(texts, ["+1.64 %", "-5.85 %", "+0.00 %", "+150.0 %", "+2900 %", ">+100000 %"]);
    }

    #[test]
    fn the_shares_of_variance_add_up() {
        let text =
            |builds, executions, measurements| shares(&Shares { builds, executions, measurements });
        assert_eq!(text(1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0), "34/33/33 %");
        assert_eq!(text(0.966, 0.002, 0.032), "97/0/3 %");
        assert_eq!(text(1.0, 0.0, 0.0), "100/0/0 %");
    }

    #[test]
    fn every_unit_has_its_form() {
        assert_eq!(value(4384.0, Unit::Nanoseconds), "4.384 µs");
        assert_eq!(value(3_565_158.0, Unit::Bytes), "3.400 MiB");
        assert_eq!(value(1_234_567.0, Unit::Instructions), "1.235 M instructions");
        assert_eq!(value(87.3, Unit::Cycles), "87.30 cycles");
    }
}
