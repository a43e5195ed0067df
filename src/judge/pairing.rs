//! Which builds of two versions can be paired.

use crate::{model::Layout, stats::Pairing};

/// Of one experiment: equal seeds are blocks where the layouts were made from names, and where there is no
/// layout at all, since builds of one seed then still ran next to each other.
pub fn within_experiment(layouts: &[Layout]) -> Pairing {
    let is_unrelated = |layout: &Layout| matches!(layout, Layout::Shuffle | Layout::Pad);
    if layouts.iter().any(is_unrelated) { Pairing::Unpaired } else { Pairing::BySeed }
}

/// Of two experiments: equal seeds have more in common than others only where layouts were made from names.
pub fn across_experiments(layouts: &[Layout]) -> Pairing {
    let is_matched =
        |layout: &Layout| matches!(layout, Layout::Twin | Layout::Matched | Layout::Pin);
    let all_matched = !layouts.is_empty() && layouts.iter().all(is_matched);
    if all_matched { Pairing::BySeed } else { Pairing::Unpaired }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_pair_unless_a_layout_is_the_linkers_own() {
        use Layout::{Matched, Natural, Pad, Pin, Shuffle};
        assert_eq!(within_experiment(&[Matched, Pin, Natural]), Pairing::BySeed);
        assert_eq!(within_experiment(&[Matched, Shuffle]), Pairing::Unpaired);
        assert_eq!(within_experiment(&[Pad]), Pairing::Unpaired);
        assert_eq!(across_experiments(&[Matched, Pin]), Pairing::BySeed);
        assert_eq!(across_experiments(&[Matched, Natural]), Pairing::Unpaired);
        assert_eq!(across_experiments(&[]), Pairing::Unpaired);
    }
}
