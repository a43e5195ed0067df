//! Words the differences in the packages that the two versions depend on.

use crate::model::DependencyChange;

/// The maximum number of packages named.
const MOST: usize = 5;

/// The packages with different versions, if there are any, not yet [escaped](crate::escape): `serde
/// 1.0.1 -> 1.0.2, new: foo 0.3.0`.
pub fn dependencies_note(dependencies: &[DependencyChange]) -> Option<String> {
    let versions = |versions: &[String]| versions.join(" and ");
    let (mut changed, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for DependencyChange { name, base, head } in dependencies {
        match (&base[..], &head[..]) {
            ([], head) => added.push(format!("{name} {}", versions(head))),
            (base, []) => removed.push(format!("{name} {}", versions(base))),
            (base, head) => {
                changed.push(format!("{name} {} -> {}", versions(base), versions(head)));
            }
        }
    }
    let mut room = MOST;
    let mut parts = Vec::new();
    for (what, mut packages) in [("", changed), ("new: ", added), ("removed: ", removed)] {
        packages.truncate(room);
        room -= packages.len();
        if !packages.is_empty() {
            parts.push(format!("{what}{}", packages.join(", ")));
        }
    }
    let more = dependencies.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!parts.is_empty()).then(|| parts.join(", ") + &more)
}
