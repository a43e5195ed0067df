//! Tools for numbers.

/// The median, found by dividing the values at one of them, again and again.
pub fn median(values: &mut [u64]) -> Option<u64> {
    let mut place = values.len() / 2;
    let mut rest = values;
    while rest.len() > 1 {
        let last = rest.len() - 1;
        rest.swap(last / 2, last);
        let mut smaller = 0;
        for index in 0..last {
            if rest[index] < rest[last] {
                rest.swap(index, smaller);
                smaller += 1;
            }
        }
        rest.swap(smaller, last);
        if place < smaller {
            rest = &mut rest[..smaller];
        } else if place > smaller {
            place -= smaller + 1;
            rest = &mut rest[smaller + 1..];
        } else {
            return Some(rest[smaller]);
        }
    }
    rest.first().copied()
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
