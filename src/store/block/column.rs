//! Columns of whole numbers, small where neighbours are alike.
//!
//! A column is a code, then what the code says:
//!
//! - 0: one number, which all are;
//! - 1: a unit, the least number, a width in one byte, then how many units each number is more than the
//!   least, in so many bits each, the low ones first;
//! - `u + 1` with `u` ≥ 1: the first number, then each number's difference to the one before it in
//!   units of `u`, zigzag.
//!
//! The unit is the greatest common divisor of all differences: kernels count memory in pages and CPU time
//! in microseconds. Single numbers are LEB128: 7 bits a byte, the low ones first. An empty column takes
//! no byte.

mod packed;

use super::Damage;

/// More numbers than any column has: a damaged count must not become a demand for memory.
const LONGEST: usize = 1 << 27;

const SAME: u64 = 0;
const PACKED: u64 = 1;

/// Appends one number.
pub(super) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Appends a column, in the code that takes the fewest bytes.
pub(super) fn put(out: &mut Vec<u8>, numbers: &[u64]) {
    let Some(&first) = numbers.first() else { return };
    let unit = differences(numbers).fold(0, |unit, by| divisor(unit, by.unsigned_abs()));
    if unit == 0 {
        put_number(out, SAME);
        return put_number(out, first);
    }
    let mut packed = Vec::new();
    put_number(&mut packed, PACKED);
    packed::put(&mut packed, numbers);
    let start = out.len();
    put_number(out, unit.saturating_add(1));
    put_number(out, first);
    for by in differences(numbers) {
        put_number(out, zigzag(by, unit));
        if out.len() - start > packed.len() {
            out.truncate(start);
            return out.extend(packed);
        }
    }
}

fn differences(numbers: &[u64]) -> impl Iterator<Item = i64> {
    numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).cast_signed())
}

/// The greatest common divisor; of 0 and a number, that number.
fn divisor(mut one: u64, mut two: u64) -> u64 {
    // Nearly always it is 1 soon, and stays so.
    if one == 1 {
        return 1;
    }
    while two != 0 {
        (one, two) = (two, one % two);
    }
    one
}

/// `by / unit`, with its sign as the lowest bit.
fn zigzag(by: i64, unit: u64) -> u64 {
    let units = by.unsigned_abs() / unit;
    // -2^63 has no positive counterpart, and is its own.
    if by < 0 { (units << 1).wrapping_sub(1) } else { units << 1 }
}

/// The number after `previous`.
fn next(previous: u64, zigzag: u64, unit: u64) -> u64 {
    let units = zigzag.div_ceil(2);
    let by = units.wrapping_mul(unit);
    if zigzag % 2 == 1 { previous.wrapping_sub(by) } else { previous.wrapping_add(by) }
}

/// Reads what was put, in the same order.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next `count` bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(Damage("it is cut off"))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// One number.
    pub(super) fn number(&mut self) -> Result<u64, Damage> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Damage("it is cut off"))?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damage("a number has too many digits"))
    }

    /// One number that counts something kept in memory.
    pub(super) fn count(&mut self) -> Result<usize, Damage> {
        let number = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if number > LONGEST { Err(Damage("a column is too long")) } else { Ok(number) }
    }

    /// A column of `count` numbers.
    pub(super) fn column(&mut self, count: usize) -> Result<Vec<u64>, Damage> {
        if count > LONGEST {
            return Err(Damage("a column is too long"));
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        match self.number()? {
            SAME => Ok(vec![self.number()?; count]),
            PACKED => packed::read(self, count),
            code => {
                let first = self.number()?;
                if self.rest.len() < count - 1 {
                    return Err(Damage("it is cut off"));
                }
                let mut numbers = Vec::with_capacity(count);
                numbers.push(first);
                let mut last = first;
                for _ in 1..count {
                    last = next(last, self.number()?, code - 1);
                    numbers.push(last);
                }
                Ok(numbers)
            }
        }
    }

    /// A column of `count` numbers that count things kept in memory, and their sum.
    pub(super) fn counts(&mut self, count: usize) -> Result<(Vec<usize>, usize), Damage> {
        let numbers = self.column(count)?;
        let counts: Vec<usize> = numbers
            .into_iter()
            .map(|number| usize::try_from(number).unwrap_or(usize::MAX))
            .collect();
        let total = counts.iter().fold(0_usize, |sum, count| sum.saturating_add(*count));
        if total > LONGEST { Err(Damage("a column is too long")) } else { Ok((counts, total)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(numbers: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, numbers);
        bytes
    }

    fn assert_comes_back(numbers: &[u64]) {
        let bytes = bytes_of(numbers);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.column(numbers.len()).unwrap(), numbers);
        assert!(reader.rest.is_empty());
    }

    proptest! {
        #[test]
        fn any_column_comes_back(numbers in prop::collection::vec(any::<u64>(), 0..40)) {
            assert_comes_back(&numbers);
        }

        #[test]
        fn any_column_of_multiples_comes_back(
            numbers in prop::collection::vec(0_u64..50, 0..40),
            step in 1_u64..u64::MAX / 50,
        ) {
            assert_comes_back(&numbers.into_iter().map(|n| n * step).collect::<Vec<_>>());
        }

        #[test]
        fn damaged_columns_are_refused_or_read_but_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            count in 0_usize..100,
        ) {
            let read = Reader::new(&bytes).column(count);
            prop_assert!(read.is_ok_and(|numbers| numbers.len() == count) || count > 0);
        }
    }

    #[test]
    fn the_farthest_numbers_come_back() {
        let half = 1 << 63;
        for numbers in [[0, u64::MAX], [u64::MAX, 0], [0, half], [half, 0], [half - 1, u64::MAX]] {
            assert_comes_back(&numbers);
            assert_comes_back(&[numbers[0], numbers[1], numbers[0]]);
        }
    }

    #[test]
    fn like_numbers_are_small() {
        assert_eq!(bytes_of(&[]).len(), 0);
        assert_eq!(bytes_of(&[7; 1000]).len(), 2);
        let pages: Vec<u64> = (0..100).map(|index| (1000 + index % 7) * 4096).collect();
        assert!(bytes_of(&pages).len() < 110, "one byte for each, and a few in front");
    }

    #[test]
    fn numbers_of_one_size_take_no_more_bits_than_they_need() {
        // Within 1000 of each other, in no order: 10 bits.
        let numbers: Vec<u64> = (0..800_u64).map(|n| (1 << 50) + n * 7_919 % 1_000).collect();
        assert!(bytes_of(&numbers).len() <= 800 * 10 / 8 + 12);
        let outlier = [&numbers[..], &[u64::MAX]].concat();
        assert!(bytes_of(&outlier).len() < 800 * 2 + 20, "one of them does not widen all");
    }

    #[test]
    fn unlike_numbers_take_hardly_more_than_their_bytes() {
        let hash = |index: u8| blake3::hash(&[index]);
        let first = |index| u64::from_le_bytes(hash(index).as_bytes()[..8].try_into().unwrap());
        let numbers: Vec<u64> = (0..100).map(first).collect();
        assert!(bytes_of(&numbers).len() <= 13 + 8 * numbers.len());
    }
}
