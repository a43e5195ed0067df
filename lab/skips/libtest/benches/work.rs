//! One benchmark for each module.
#![feature(test)]

extern crate test;

use test::{black_box, Bencher};

#[bench]
fn table(bencher: &mut Bencher) {
    bencher.iter(|| skips::table::checked(black_box(5)));
}

#[bench]
fn shapes(bencher: &mut Bencher) {
    bencher.iter(|| skips::shapes::shapes(black_box(3)) + skips::shapes::dispatched(black_box(4)));
}

#[bench]
fn text(bencher: &mut Bencher) {
    bencher.iter(|| skips::text::counted(black_box(6)));
}

#[bench]
fn case(bencher: &mut Bencher) {
    bencher.iter(|| skips::case::case() + skips::case::limited(black_box(7)));
}

#[bench]
fn own(bencher: &mut Bencher) {
    bencher.iter(skips::own::prepared());
}
