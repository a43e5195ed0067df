//! What a user may have meant by a revision that does not exist.

use crate::failure::Failure;

/// How many near names are proposed.
const PROPOSED: usize = 3;

/// Adds cause and hints to the failure of finding `revision`.
pub(super) fn for_unknown(git: &git2::Repository, revision: &str, failure: Failure) -> Failure {
    let base = base_of(revision);
    let shallow = git.is_shallow();
    let failure = if base != revision && git.revparse_single(base).is_ok() {
        let failure = failure.because(format!("`{base}` exists, but `{revision}` does not"));
        if is_only_commit(git) && !shallow {
            failure.because("HEAD is the first commit")
        } else {
            failure
        }
    } else {
        let near = near(base, &names(git));
        let failure = failure.because("no branch, tag or commit has that name");
        match near.as_slice() {
            [] => failure.hint("list what exists with: git branch --all; git tag; git log"),
            near => failure.hint(format!("did you mean {}?", near.join(" or "))),
        }
    };
    if shallow {
        failure.hint("this clone is shallow; fetch the whole history with: git fetch --unshallow")
    } else {
        failure
    }
}

/// Whether HEAD has no parent.
fn is_only_commit(git: &git2::Repository) -> bool {
    git.head().and_then(|head| head.peel_to_commit()).is_ok_and(|commit| commit.parent_count() == 0)
}

/// The name at the start of a revision: `main` of `main~3^2`.
fn base_of(revision: &str) -> &str {
    let end = revision.find(['~', '^', ':']).or_else(|| revision.find("@{"));
    end.map_or(revision, |end| &revision[..end])
}

/// Branches, tags and remote branches as one types them.
fn names(git: &git2::Repository) -> Vec<String> {
    let Ok(references) = git.references() else { return Vec::new() };
    let mut names: Vec<String> = references
        .flatten()
        .filter_map(|reference| reference.shorthand().ok().map(str::to_owned))
        .collect();
    names.push("HEAD".to_owned());
    names.sort();
    names.dedup();
    names
}

/// The names that differ from `wanted` by a slip of the fingers, nearest first: one edit in three
/// characters at most, whatever the case; or the same name on a remote.
fn near(wanted: &str, names: &[String]) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let allowed = (wanted.chars().count() / 3).max(1);
    let mut near: Vec<(usize, &String)> = names
        .iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let last = lower.rsplit('/').next().unwrap_or(&lower);
            let distance = strsim::damerau_levenshtein(&wanted, &lower)
                .min(strsim::damerau_levenshtein(&wanted, last));
            (distance <= allowed && distance < wanted.chars().count()).then_some((distance, name))
        })
        .collect();
    near.sort();
    near.into_iter().take(PROPOSED).map(|(_, name)| format!("`{name}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near_among(wanted: &str, names: &[&str]) -> Vec<String> {
        near(wanted, &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_slip_of_the_fingers_is_recognised_and_the_nearest_comes_first() {
        let names = ["main", "maintain", "v1.2.3", "v1.2.4"];
        assert_eq!(near_among("mian", &names), ["`main`"]);
        assert_eq!(near_among("v1.2.44", &names), ["`v1.2.4`", "`v1.2.3`"]);
        assert_eq!(near_among("head", &["HEAD"]), ["`HEAD`"]);
    }

    #[test]
    fn a_branch_of_a_remote_is_proposed_by_its_last_word() {
        assert_eq!(near_among("develop", &["origin/develop", "main"]), ["`origin/develop`"]);
    }

    #[test]
    fn an_unlike_name_is_not_proposed() {
        assert!(near_among("x", &["main", "y"]).is_empty());
        assert!(near_among("release", &["main"]).is_empty());
    }

    #[test]
    fn the_base_of_a_revision_ends_before_its_first_operator() {
        assert_eq!(base_of("main~3^2"), "main");
        assert_eq!(base_of("main@{upstream}"), "main");
        assert_eq!(base_of("v1.0"), "v1.0");
    }
}
