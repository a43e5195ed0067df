//! One benchmark for each module.

use divan::{black_box, Bencher};

fn main() {
    divan::main();
}

#[divan::bench]
fn table() -> usize {
    skips::table::checked(black_box(5))
}

#[divan::bench]
fn shapes() -> u64 {
    skips::shapes::shapes(black_box(3)) + skips::shapes::dispatched(black_box(4))
}

#[divan::bench]
fn text() -> usize {
    skips::text::counted(black_box(6))
}

#[divan::bench]
fn case() -> u64 {
    skips::case::case() + skips::case::limited(black_box(7))
}

#[divan::bench]
fn own(bencher: Bencher) {
    let rounds = skips::own::rounds();
    bencher.bench(|| skips::own::work(black_box(rounds)));
}
