//! Tools for numbers.

/// The median, found by sorting.
pub fn median(values: &mut [u64]) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// How many prime numbers there are below `limit`.
pub fn primes(limit: usize) -> usize {
    let mut composite = vec![false; limit];
    let mut count = 0;
    for candidate in 2..limit {
        if !composite[candidate] {
            count += 1;
            for multiple in (candidate * candidate..limit).step_by(candidate) {
                composite[multiple] = true;
            }
        }
    }
    count
}
