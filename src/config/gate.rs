//! Against which release a head is judged as well: flags > `[gate]` of `bench.toml`; by default none.

use super::BenchToml;
use crate::model::Metric;

/// The word for the newest release before the head.
const LAST_RELEASE: &str = "last-release";

/// The word for no release, where the file names one.
const NONE: &str = "none";

/// The second judgement of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The release.
    pub release: Release,
    /// The smallest change to report, if it is not that of the comparison: 0.02 is 2 %.
    pub min_effect: Option<f64>,
    /// Whether the file names the release, and not a flag.
    pub is_of_file: bool,
}

/// The release that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Release {
    /// The newest one before the head.
    Last,
    /// This revision.
    Revision(String),
}

/// The metrics whose counts affect the exit code beside times: that of the flag, and those of the file.
pub fn deciding(file: &BenchToml, flag: Option<Metric>) -> Vec<Metric> {
    let of_file = file.gate().fail_on;
    flag.into_iter().chain(of_file).collect()
}

impl Gate {
    /// The gate by flags and file, if there is one.
    pub fn resolve(
        file: &BenchToml,
        also_base: Option<&str>,
        also_min_effect: Option<f64>,
    ) -> Option<Self> {
        let table = file.gate();
        let is_of_file = also_base.is_none();
        let against = also_base.map(str::to_owned).or(table.base)?;
        let against = match against.as_str() {
            NONE => return None,
            LAST_RELEASE => Release::Last,
            _ => Release::Revision(against),
        };
        let min_effect = also_min_effect.or(table.min_effect);
        Some(Self { release: against, min_effect, is_of_file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_wins_over_the_file_and_none_means_no_release() {
        let file = "[gate]\nbase = 'v1.2.0'\nmin-effect = '3%'\n";
        let file = BenchToml::parse(file.to_owned(), "bench.toml".into()).unwrap();
        let resolve = |file: &BenchToml, against: Option<&str>, min_effect| {
            Gate::resolve(file, against, min_effect)
        };
        let of_file = resolve(&file, None, None).unwrap();
        assert_eq!(of_file.release, Release::Revision("v1.2.0".to_owned()));
        assert_eq!((of_file.min_effect, of_file.is_of_file), (Some(0.03), true));
        let flagged = resolve(&file, Some("last-release"), Some(0.02)).unwrap();
        assert_eq!(flagged.release, Release::Last);
        assert_eq!((flagged.min_effect, flagged.is_of_file), (Some(0.02), false));
        assert_eq!(resolve(&file, Some("none"), None), None);
        assert_eq!(resolve(&BenchToml::default(), None, Some(0.02)), None);
    }
}
