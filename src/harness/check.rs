//! What measurements must be before anyone computes with them.

use crate::model::Series;

/// The reason why `series` cannot be used, if there is one.
pub(super) fn defect(series: &Series) -> Option<String> {
    if series.values.is_empty() {
        return Some("it gave no measurement".to_owned());
    }
    if !series.iterations.is_empty() && series.iterations.len() != series.values.len() {
        let (values, iterations) = (series.values.len(), series.iterations.len());
        return Some(format!("it gave {values} measurements but {iterations} iterations"));
    }
    if let Some(index) = series.iterations.iter().position(|iterations| *iterations == 0) {
        return Some(format!("measurement {} has no iteration", index + 1));
    }
    let index = series.values.iter().position(|value| !(value.is_finite() && *value > 0.0))?;
    let number = index + 1;
    let unit = series.metric.unit;
    Some(if series.values[index] == 0.0 {
        format!("measurement {number} is 0 {unit}: what it times may be optimised away")
    } else {
        format!("measurement {number} is {} {unit}", series.values[index])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Metric;

    fn defect_of(values: &[f64], iterations: &[u64]) -> String {
        defect(&Series {
            metric: Metric::wall(),
            values: values.to_vec(),
            iterations: iterations.to_vec(),
        })
        .unwrap_or_default()
    }

    #[test]
    fn positive_finite_values_are_sound() {
        assert_eq!(defect_of(&[1.0, 0.001], &[1, 2]), "");
        assert_eq!(defect_of(&[1.0], &[]), "", "a harness need not tell its iterations");
    }

    #[test]
    fn every_defect_is_named_with_its_place() {
        for (values, iterations, words) in [
            (&[][..], &[][..], "no measurement"),
            (&[1.0, 2.0], &[1], "2 measurements but 1 iterations"),
            (&[1.0, 2.0], &[1, 0], "measurement 2 has no iteration"),
            (&[1.0, 0.0], &[1, 1], "measurement 2 is 0 ns"),
            (&[f64::NAN], &[1], "measurement 1 is NaN ns"),
            (&[f64::INFINITY], &[1], "measurement 1 is inf ns"),
            (&[-1.0], &[1], "measurement 1 is -1 ns"),
        ] {
            let defect = defect_of(values, iterations);
            assert!(defect.contains(words), "{defect:?} lacks {words:?}");
        }
    }
}
