//! Changes of many series that may have one cause.

/// Where a change may be, as places of versions: behind the first, up to and including the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The most likely.
    pub best: [usize; 2],
    /// All that is likely.
    pub possible: [usize; 2],
}

/// Changes that may have happened at one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Where they are: in the most likely spans of all of them, as far as these have it in common.
    pub span: Span,
    /// Their indices.
    pub members: Vec<usize>,
}

/// What a change counts at a version that is possible, but not most likely for it; in halves.
const POSSIBLE: usize = 1;
const BEST: usize = 2;

/// The fewest groups that are found by taking, again and again, the version at which most of the changes that are left
/// may have happened. The groups are in the order of their places.
pub fn groups(changes: &[Span]) -> Vec<Group> {
    let has = |[after, until]: [usize; 2], at: usize| after < at && at <= until;
    let mut left: Vec<usize> = (0..changes.len()).collect();
    let mut groups = Vec::new();
    while !left.is_empty() {
        let score = |at: usize| -> usize {
            let of = |index: &usize| match &changes[*index] {
                span if has(span.best, at) => BEST,
                span if has(span.possible, at) => POSSIBLE,
                _ => 0,
            };
            left.iter().map(of).sum()
        };
        // The end of one of them is as good as any version.
        let ends =
            left.iter().flat_map(|index| [changes[*index].best[1], changes[*index].possible[1]]);
        let at = ends.max_by_key(|at| (score(*at), std::cmp::Reverse(*at))).unwrap_or_default();
        let (members, rest): (Vec<usize>, Vec<usize>) =
            left.iter().partition(|index| has(changes[**index].possible, at));
        if members.is_empty() {
            break;
        }
        let common = |spans: &mut dyn Iterator<Item = [usize; 2]>| {
            let spans = spans.filter(|span| has(*span, at));
            spans.reduce(|one, other| [one[0].max(other[0]), one[1].min(other[1])])
        };
        let possible = common(&mut members.iter().map(|index| changes[*index].possible));
        let best = common(&mut members.iter().map(|index| changes[*index].best)).or(possible);
        let span = best.zip(possible).map(|(best, possible)| Span {
            best: [best[0].max(possible[0]), best[1].min(possible[1])],
            possible,
        });
        groups.extend(span.map(|span| Group { span, members }));
        left = rest;
    }
    groups.sort_by_key(|group| (group.span.best[1], group.span.best[0]));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(after: usize, until: usize) -> Span {
        Span { best: [after, until], possible: [after, until] }
    }

    fn members(changes: &[Span]) -> Vec<Vec<usize>> {
        groups(changes).into_iter().map(|group| group.members).collect()
    }

    #[test]
    fn changes_at_one_version_are_one_event_and_others_are_others() {
        let changes = [exact(4, 5), exact(9, 10), exact(4, 5), exact(3, 4)];
        assert_eq!(members(&changes), [vec![3], vec![0, 2], vec![1]]);
    }

    #[test]
    fn a_change_of_uncertain_place_belongs_to_the_event_that_most_others_have() {
        let unsure = Span { best: [2, 3], possible: [1, 6] };
        let found = groups(&[exact(4, 5), unsure, exact(4, 5)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].span, exact(4, 5));
    }

    #[test]
    fn a_benchmark_that_was_measured_rarely_narrows_nothing() {
        let rare = exact(2, 8);
        let found = groups(&[rare, exact(4, 5)]);
        assert_eq!((found.len(), found[0].span), (1, exact(4, 5)));
    }

    #[test]
    fn no_change_makes_no_event() {
        assert_eq!(groups(&[]), []);
    }
}
