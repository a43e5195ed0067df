//! The named levels of noise.

use std::{fmt, time::Duration};

use clap::ValueEnum;

/// How much of the machine others take, and in which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Nothing is added to what the machine has.
    Quiet,
    /// 10 % of each CPU, in short bursts, in waves of some seconds.
    Ordinary,
    /// 30 % of each CPU, in bursts of 1 to 40 ms, as the host of a virtual machine takes them.
    Hosted,
    /// 60 % of each CPU, in bursts of 1 to 50 ms that replace what the caches contain.
    Bad,
    /// The tools together get one CPU's time, by the kernel's bandwidth control, as containers do.
    Throttled,
}

/// What one thread for each CPU does at real-time priority.
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    pub share: f64,
    /// The longest burst; they are uniform from 1 ms on.
    pub longest: Duration,
    /// The period in which the share goes from none to twice as much and back.
    pub wave: Option<Duration>,
    /// Bytes that each burst writes again and again; 0 if it only computes.
    pub swept: usize,
}

impl Level {
    pub const fn bursts(self) -> Option<Bursts> {
        let (share, longest, wave, swept) = match self {
            Self::Quiet | Self::Throttled => return None,
            Self::Ordinary => (0.1, 10, Some(Duration::from_secs(5)), 0),
            Self::Hosted => (0.3, 40, None, 0),
            Self::Bad => (0.6, 50, None, 64 << 20),
        };
        Some(Bursts { share, longest: Duration::from_millis(longest), wave, swept })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        formatter.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
