//! A small toolbox.

mod fingerprint;
mod numbers;
mod roman;
mod text;

pub use fingerprint::fingerprint;
pub use numbers::{median, primes};
pub use roman::roman;
pub use text::{long_words, sum_of_numbers};
