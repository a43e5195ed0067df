//! Texts, and places where it could panic.

use std::sync::LazyLock;

const MOST: usize = 1000;

static TEXT: &str = "the quick brown fox jumps over the lazy dog, and the dog is asleep";

#[inline(never)]
fn long_words() -> Vec<&'static str> {
    part::words(TEXT).filter(|word| word.len() > 3).collect()
}

static LONG: LazyLock<Vec<&'static str>> = LazyLock::new(long_words);

#[cold]
#[inline(never)]
fn refuse(number: usize) -> ! {
    panic!("there are {number} words, which are too many");
}

/// Counts the words from a place on.
#[inline(never)]
pub fn counted(from: usize) -> usize {
    assert!(from < 1 << 20, "no text is as long");
    let rest = TEXT.get(from % 8..).expect("the text has eight bytes");
    let words = part::words(rest).count();
    if words > MOST {
        refuse(words);
    }
    words + LONG[from % 4].len()
}

/// Is public, and nobody calls it.
pub fn unused(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'z').count() * 21
}
