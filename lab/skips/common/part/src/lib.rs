//! A dependency.

/// The words of a text.
#[inline(never)]
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let least = if cfg!(feature = "wide") { 3 } else { 1 };
    text.split(|letter| letter == ' ').filter(move |word| word.len() >= least)
}

/// Is called by nobody.
pub fn letters(text: &str) -> usize {
    text.chars().filter(|letter| letter.is_alphabetic()).count() + 17
}
