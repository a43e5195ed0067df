//! The release that a head is also compared with: flags > `[gate]` of `bench.toml`; by default none.
//!
//! Many commits, each slower by less than the min-effect, add up; comparing with a release catches that.

use super::BenchToml;
use crate::model::Metric;

/// The value for the newest release before the head.
const LAST_RELEASE: &str = "last-release";

/// The value for no release; it overrides the file.
const NONE: &str = "none";

/// The second base of a comparison: a release.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    pub release: Release,
    /// The smallest change to report, if it differs from that of the comparison: 0.02 is 2 %.
    pub min_effect: Option<f64>,
    /// True if the file sets the release, false if a flag does.
    pub is_of_file: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Release {
    /// The newest release before the head.
    Last,
    /// A tag or any other revision.
    Revision(String),
}

/// The metrics that affect the exit code in addition to times: that of the flag, and those of the file.
pub fn deciding(file: &BenchToml, flag: Option<Metric>) -> Vec<Metric> {
    flag.into_iter().chain(file.judge().gate.fail_on.clone()).collect()
}

impl Gate {
    /// Resolves the gate from flags and file; by default there is none.
    pub fn resolve(file: &BenchToml, also_base: Option<&str>) -> Option<Self> {
        let table = file.judge().gate.clone();
        let is_of_file = also_base.is_none();
        let release = also_base.map(str::to_owned).or(table.base)?;
        let release = match release.as_str() {
            NONE => return None,
            LAST_RELEASE => Release::Last,
            _ => Release::Revision(release),
        };
        Some(Self { release, min_effect: table.min_effect, is_of_file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_flag_overrides_the_file_and_none_disables_it() {
        let file = "[gate]\nbase = 'v1.2.0'\nmin-effect = '3%'\n";
        let file = BenchToml::parse(file.to_owned(), "bench.toml".into()).unwrap();
        let of_file = Gate::resolve(&file, None).unwrap();
        assert_eq!(of_file.release, Release::Revision("v1.2.0".to_owned()));
        assert_eq!((of_file.min_effect, of_file.is_of_file), (Some(0.03), true));
        let flagged = Gate::resolve(&file, Some("last-release")).unwrap();
        assert_eq!(flagged.release, Release::Last);
        assert_eq!((flagged.min_effect, flagged.is_of_file), (Some(0.03), false));
        assert_eq!(Gate::resolve(&file, Some("none")), None);
        assert_eq!(Gate::resolve(&BenchToml::default(), None), None);
    }
}
