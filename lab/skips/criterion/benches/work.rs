//! One benchmark for each module.

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, Criterion};
use skips::{case, own, shapes, table, text};

fn benchmarks(criterion: &mut Criterion) {
    criterion.bench_function("table", |bencher| bencher.iter(|| table::checked(black_box(5))));
    criterion.bench_function("shapes", |bencher| {
        bencher.iter(|| shapes::shapes(black_box(3)) + shapes::dispatched(black_box(4)));
    });
    criterion.bench_function("text", |bencher| bencher.iter(|| text::counted(black_box(6))));
    criterion.bench_function("case", |bencher| {
        bencher.iter(|| case::case() + case::limited(black_box(7)));
    });
    criterion.bench_function("own", |bencher| bencher.iter(own::prepared()));
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
