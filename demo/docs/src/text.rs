//! Tools for texts.

/// How many words of a text, as single spaces divide it, have more than three bytes.
pub fn long_words(text: &str) -> usize {
    text.split(' ').filter(|word| word.len() > 3).count()
}

/// The sum of all whole numbers in a text; signs and points divide numbers.
pub fn sum_of_numbers(text: &str) -> u64 {
    let (mut sum, mut number) = (0, 0);
    for byte in text.bytes() {
        if byte.is_ascii_digit() {
            number = number * 10 + u64::from(byte - b'0');
        } else {
            sum += number;
            number = 0;
        }
    }
    sum + number
}
