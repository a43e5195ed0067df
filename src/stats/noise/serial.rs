//! Whether neighbours in time are alike.

/// The autocorrelation at lag 1 of sequences that stand for themselves: the end of one is no neighbour of the
/// beginning of the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Serial {
    /// From -1 to 1.
    pub correlation: f64,
    /// How many pairs of neighbours there are.
    pub neighbours: usize,
}

impl Serial {
    /// `Σ (x[i] − mean) (x[i + 1] − mean) / Σ (x[i] − mean)²`, each sequence about its own mean. `None` where
    /// nothing has neighbours, or nothing varies.
    pub fn of(sequences: &[Vec<f64>]) -> Option<Self> {
        let (mut products, mut squares, mut neighbours) = (0.0, 0.0, 0);
        for sequence in sequences {
            let mean = sequence.iter().sum::<f64>() / sequence.len() as f64;
            squares += sequence.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
            products += sequence.windows(2).map(|x| (x[0] - mean) * (x[1] - mean)).sum::<f64>();
            neighbours += sequence.len().saturating_sub(1);
        }
        let varies = neighbours > 0 && squares > 0.0;
        varies.then(|| Self { correlation: products / squares, neighbours })
    }

    /// How far from 0 chance brings it in 19 of 20 cases where neighbours have nothing in common, about.
    pub fn by_chance(&self) -> f64 {
        1.96 / (self.neighbours as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_ramp_and_an_alternation_have_the_correlations_of_the_textbooks() {
        let ramp = |end: u32| (1..=end).map(f64::from).collect::<Vec<_>>();
        let of = |sequence| Serial::of(&[sequence]).unwrap().correlation;
        assert!((of(ramp(5)) - 0.4).abs() < 1e-12);
        assert!((of(ramp(10)) - 0.7).abs() < 1e-12);
        assert!((of(vec![1.0, -1.0, 1.0, -1.0]) + 0.75).abs() < 1e-12);
    }

    #[test]
    fn sequences_are_not_neighbours_of_each_other() {
        let two = Serial::of(&[vec![1.0, -1.0], vec![7.0, 5.0]]).unwrap();
        assert_eq!((two.correlation, two.neighbours), (-0.5, 2));
        assert_eq!(Serial::of(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(Serial::of(&[vec![1.0, 1.0]]), None);
        assert_eq!(Serial::of(&[]), None);
    }

    proptest! {
        #[test]
        fn neither_scale_nor_origin_matters(
            sequence in prop::collection::vec(-1.0..1.0_f64, 3..30), scale in 0.1..9.0_f64,
        ) {
            let moved = sequence.iter().map(|x| scale * x + 3.0).collect();
            if let (Some(one), Some(other)) = (Serial::of(&[sequence]), Serial::of(&[moved])) {
                prop_assert!((one.correlation - other.correlation).abs() < 1e-9);
                prop_assert!(one.correlation.abs() <= 1.0 + 1e-12);
            }
        }
    }
}
