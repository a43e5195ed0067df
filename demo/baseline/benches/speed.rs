//! How fast the tools are.

use rbench_harness::{Suite, main};
use toolbox::{fingerprint, long_words, median, primes, sum_of_numbers};

/// Some text with numbers in it.
fn text() -> String {
    "the quick brown fox jumps over a lazy dog in 42 ways or 7 ".repeat(60)
}

/// Numbers without order, the same each time.
fn values() -> Vec<u64> {
    let scattered = |value: u64| value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (1..=2000).map(scattered).collect()
}

fn benchmarks(suite: &mut Suite) {
    suite.bench("words", |bencher| {
        let text = text();
        bencher.iter(|| long_words(&text));
    });
    suite.bench("numbers", |bencher| {
        let text = text();
        bencher.iter(|| sum_of_numbers(&text));
    });
    suite.bench("primes", |bencher| bencher.iter(|| primes(20_000)));
    suite.bench("median", |bencher| {
        bencher.iter_with_inputs(values, |mut values| median(&mut values));
    });
    suite.bench("fingerprint", |bencher| {
        let text = text();
        bencher.iter(|| fingerprint(text.as_bytes()));
    });
}

main!(benchmarks);
