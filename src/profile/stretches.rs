//! Which parts of a process belong to its measurements, by what it read from a clock that counts.

/// Stretches between two readings, as pairs of indices, that measurements consist of.
pub type Stretches = Vec<(usize, usize)>;

/// The stretches of each measurement: `executed` has the instructions of each, in the order in which they were measured, and
/// `counts` the instructions up to each reading of the clock.
///
/// A measurement is what is executed from one reading to the next, or from several readings to the next of each, with one
/// stretch in between that prepares the following one. Where it fits, a measurement begins with the reading behind the one
/// before. None if there are no such stretches.
pub fn stretches(counts: &[u64], executed: &[u64]) -> Option<Vec<Stretches>> {
    let in_succession = (0..counts.len()).find_map(|start| from(counts, start, executed, 0));
    in_succession.or_else(|| from(counts, 0, executed, counts.len()))
}

/// The same, where the first measurement begins at a reading, or up to so many readings later, and each of the others so
/// many readings behind the one before.
fn from(counts: &[u64], start: usize, executed: &[u64], patience: usize) -> Option<Vec<Stretches>> {
    let mut next = start;
    let mut all = Vec::with_capacity(executed.len());
    for executed in executed {
        let mut starts = next..counts.len().min(next + patience + 1);
        let (found, end) = starts.find_map(|start| fitting(counts, start, *executed))?;
        all.push(found);
        next = end + 1;
    }
    Some(all)
}

/// The stretches that begin at a reading and execute so many instructions together, and the last of their readings.
fn fitting(counts: &[u64], start: usize, executed: u64) -> Option<(Stretches, usize)> {
    let mut sum = 0;
    let mut found = Stretches::new();
    let mut start = start;
    loop {
        let end = start + 1;
        sum += counts.get(end)?.checked_sub(*counts.get(start)?)?;
        found.push((start, end));
        if sum == executed {
            return Some((found, end));
        }
        if sum > executed {
            return None;
        }
        start = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn measurements_of_one_stretch_are_found_behind_what_is_no_measurement() {
        // Set-up, one to warm up, and three measurements with something in between.
        let counts = [5_000, 5_090, 5_100, 5_300, 5_307, 5_607, 5_614, 6_014];
        let found = stretches(&counts, &[200, 300, 400]).unwrap();
        assert_eq!(found, [vec![(2, 3)], vec![(4, 5)], vec![(6, 7)]]);
        assert_eq!(stretches(&counts, &[201]), None);
        assert_eq!(stretches(&counts, &[400, 200]), None, "in their order");
    }

    proptest! {
        #[test]
        fn measurements_of_several_stretches_are_found(
            measurements in prop::collection::vec(prop::collection::vec((1..50_u64, 100..200_u64), 1..5), 1..6),
            before in 1_000_000..2_000_000_u64,
        ) {
            let (mut counts, mut now) = (Vec::new(), before);
            let mut executed = Vec::new();
            for measurement in &measurements {
                let mut sum = 0;
                for (preparation, own) in measurement {
                    now += preparation;
                    counts.push(now);
                    now += own;
                    counts.push(now);
                    sum += own;
                }
                executed.push(sum);
            }
            let found = stretches(&counts, &executed).unwrap();
            for (found, executed) in found.iter().zip(&executed) {
                let own = |(start, end): &(usize, usize)| counts[*end] - counts[*start];
                prop_assert_eq!(found.iter().map(own).sum::<u64>(), *executed);
            }
        }
    }
}
