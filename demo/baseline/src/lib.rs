//! A small toolbox.

mod fingerprint;
mod numbers;
mod text;

pub use fingerprint::fingerprint;
pub use numbers::{median, primes};
pub use text::{long_words, sum_of_numbers};
