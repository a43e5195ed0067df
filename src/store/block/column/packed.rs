//! Numbers in as many bits each as the largest needs, once the least is taken away and the rest divided by
//! what all share: for columns whose numbers are alike in size and in no order.

use super::{Reader, divisor, put_number};
use crate::store::block::Damage;

/// Appends the numbers, which are not all the same.
pub(super) fn put(out: &mut Vec<u8>, numbers: &[u64]) {
    let least = numbers.iter().copied().min().unwrap_or_default();
    let unit = numbers.iter().fold(0, |unit, number| divisor(unit, number - least)).max(1);
    let most = numbers.iter().map(|number| (number - least) / unit).max().unwrap_or_default();
    let width = u64::BITS - most.leading_zeros();
    put_number(out, unit);
    put_number(out, least);
    put_number(out, u64::from(width));
    // At most 7 bits are left over of what came before, and 64 are added.
    let (mut buffer, mut bits) = (0_u128, 0);
    for number in numbers {
        buffer |= u128::from((number - least) / unit) << bits;
        bits += width;
        while bits >= 8 {
            out.push(buffer.to_le_bytes()[0]);
            buffer >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(buffer.to_le_bytes()[0]);
    }
}

/// Reads `count` numbers.
pub(super) fn read(reader: &mut Reader<'_>, count: usize) -> Result<Vec<u64>, Damage> {
    let unit = reader.number()?;
    let least = reader.number()?;
    let width = u32::try_from(reader.number()?).unwrap_or(u32::MAX);
    if !(1..=u64::BITS).contains(&width) {
        return Err(Damage("a column has no width"));
    }
    let mut words = words(reader.bytes((count * width as usize).div_ceil(8))?);
    let mask = u64::MAX >> (u64::BITS - width);
    // Fewer bits than one number has are left over when 64 are added.
    let (mut buffer, mut bits) = (0_u128, 0);
    let next = |_| {
        if bits < width {
            buffer |= u128::from(words.next().unwrap_or_default()) << bits;
            bits += u64::BITS;
        }
        let units = low(buffer) & mask;
        buffer >>= width;
        bits -= width;
        least.wrapping_add(units.wrapping_mul(unit))
    };
    Ok((0..count).map(next).collect())
}

/// Eight bytes at a time; zeros follow the last.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(size_of::<u64>()).map(|chunk| {
        let mut word = [0; size_of::<u64>()];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
const fn low(buffer: u128) -> u64 {
    buffer as u64
}
