//! A bench target, and the user's selection of bench targets.

use std::{collections::BTreeSet, fmt, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Exit};

/// A bench target of a workspace: one executable with benchmarks, or a program that is itself one benchmark.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct BenchTarget {
    /// The package's name.
    pub package: String,
    /// The target's name, as in `[[bench]] name` or `[[bin]] name`.
    pub target: String,
}

/// A bench target whose benchmarks could not be listed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FailedTarget {
    /// The bench target.
    #[serde(flatten)]
    pub target: BenchTarget,
    /// The reason, with its causes.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    #[schemars(with = "String")]
    pub error: Error,
}

fn as_text<S: Serializer>(error: &Error, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(error)
}

/// Reads the text of an error, which no longer says what its causes and hints are.
fn from_text<'de, D: Deserializer<'de>>(from: D) -> Result<Error, D::Error> {
    Ok(Error::new(Exit::Benchmark, String::deserialize(from)?))
}

impl fmt::Display for BenchTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.package, self.target)
    }
}

/// The members of a workspace from which bench targets are selected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Members {
    /// The default members of each version: in a workspace with a root package only that one, unless
    /// `default-members` names others. All members if only others have a bench target.
    #[default]
    Default,
    All,
    /// The member of the current directory, or of the given manifest.
    One(Member),
}

/// A member of the user's workspace. Another version may have it under another name or in another
/// directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub name: String,
    pub directory: PathBuf,
}

/// The selection of a workspace's bench targets. Empty lists select all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFilter {
    pub members: Members,
    /// Only these packages, by name.
    pub packages: Vec<String>,
    /// Not these packages.
    pub excluded: Vec<String>,
    /// Only bench targets with these names.
    pub benches: Vec<String>,
    /// The programs with these names instead of bench targets.
    pub programs: Vec<String>,
    /// Bench targets that are not compiled although all else selects them. They still take part in the choice of packages
    /// and features, so that all others are compiled to the same programs as together with them.
    pub left_out: BTreeSet<BenchTarget>,
}

impl TargetFilter {
    /// True if the filter selects all bench targets of the members, left out or not.
    pub const fn means_all(&self) -> bool {
        let Self { members: _, packages, excluded, benches, programs, left_out: _ } = self;
        packages.is_empty() && excluded.is_empty() && benches.is_empty() && programs.is_empty()
    }

    /// True if the filter selects `target`, if it is in a package of the members.
    pub fn admits(&self, target: &BenchTarget) -> bool {
        let chosen = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        let names = if self.programs.is_empty() { &self.benches } else { &self.programs };
        chosen(&self.packages, &target.package)
            && chosen(names, &target.target)
            && !self.excluded.contains(&target.package)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_filter_admits_what_all_its_parts_admit() {
        let target = BenchTarget { package: "json".into(), target: "parse".into() };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let admits = |packages: &[&str], excluded: &[&str], benches: &[&str]| {
            TargetFilter {
                packages: names(packages),
                excluded: names(excluded),
                benches: names(benches),
                ..TargetFilter::default()
            }
            .admits(&target)
        };
        assert!(admits(&[], &[], &[]));
        assert!(admits(&["json"], &["xml"], &["parse", "print"]));
        assert!(!admits(&["xml"], &[], &[]));
        assert!(!admits(&[], &["json"], &[]));
        assert!(!admits(&["json"], &[], &["print"]));
    }
}
