//! Cross-validation of the estimator: half of the functions choose it, the other half test it.

use rbench_stats::{Estimator, median};

use crate::{
    proportion::{Proportion, Shown as _},
    stored::{ESTIMATORS, Subject},
    trial::{FUNCTIONS, function_of},
};

/// An estimator is rejected if a test at 5 % flags more than this share of the rows without a
/// change.
const MOST_FLAGGED: f64 = 0.07;

/// A half of the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Every other function from the first, by name.
    Chooses,
    /// The remaining functions.
    Checks,
}

impl Half {
    /// The functions of the half.
    pub fn functions(self) -> impl Iterator<Item = &'static str> {
        FUNCTIONS.into_iter().skip(usize::from(self == Self::Checks)).step_by(2)
    }

    fn has(self, subject: &Subject) -> bool {
        self.functions().any(|function| function == function_of(&subject.id))
    }
}

/// The results of an estimator on the rows of a half.
#[derive(Debug)]
pub struct Count {
    /// The share of rows that the test flags.
    pub flagged: Proportion,
    /// The median standard error of the change's logarithm.
    pub standard_error: f64,
}

impl Count {
    /// The results of an estimator, one of [`ESTIMATORS`], on those of the rows that belong to a
    /// half.
    pub fn from_subjects<'s>(
        subjects: impl IntoIterator<Item = &'s Subject>,
        half: Half,
        estimator: Estimator,
    ) -> Self {
        let place = ESTIMATORS.iter().position(|one| *one == estimator);
        let own = subjects.into_iter().filter(|subject| half.has(subject));
        let said: Vec<_> = own.filter_map(|subject| subject.said[place?]).collect();
        let mut errors: Vec<f64> = said.iter().map(|said| said.standard_error).collect();
        let standard_error = if errors.is_empty() { f64::NAN } else { median(&mut errors) };
        Self { flagged: Proportion::count(said, |said| said.flagged), standard_error }
    }

    /// True if its rate of flagged rows is about the nominal one, or lower.
    fn is_honest(&self) -> bool {
        self.flagged.of > 0 && self.flagged.rate() <= MOST_FLAGGED
    }
}

/// The estimator with the least standard error among those that flag few enough rows without a
/// change.
pub fn chosen(counts: &[(Estimator, Count)]) -> Option<Estimator> {
    let honest = counts.iter().filter(|(_, count)| count.is_honest());
    let least =
        honest.min_by(|(_, one), (_, other)| one.standard_error.total_cmp(&other.standard_error));
    least.map(|(estimator, _)| *estimator)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(with: usize, standard_error: f64) -> Count {
        Count { flagged: Proportion { count: with, of: 100 }, standard_error }
    }

    #[test]
    fn halves_are_disjoint_and_have_all_functions() {
        let mut all: Vec<&str> =
            [Half::Chooses, Half::Checks].into_iter().flat_map(Half::functions).collect();
        all.sort_unstable();
        assert_eq!(all, FUNCTIONS);
        assert_eq!(Half::Chooses.functions().count(), 5);
    }

    #[test]
    fn least_standard_error_is_chosen_unless_too_much_is_flagged() {
        let counts = [
            (Estimator::Mean, count(5, 0.02)),
            (Estimator::Median, count(7, 0.01)),
            (Estimator::Minimum, count(8, 0.001)),
        ];
        assert_eq!(chosen(&counts), Some(Estimator::Median));
        assert_eq!(chosen(&counts[2..]), None);
        assert_eq!(chosen(&[]), None);
    }
}
