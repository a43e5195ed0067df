//! One benchmark for each module.

use std::hint::black_box;

use rbench_harness::Suite;
use skips::{case, own, shapes, table, text};

fn benchmarks(suite: &mut Suite) {
    suite.bench("table", |bencher| bencher.iter(|| table::checked(black_box(5))));
    suite.bench("shapes", |bencher| {
        bencher.iter(|| shapes::shapes(black_box(3)) + shapes::dispatched(black_box(4)));
    });
    suite.bench("text", |bencher| bencher.iter(|| text::counted(black_box(6))));
    suite.bench("case", |bencher| bencher.iter(|| case::case() + case::limited(black_box(7))));
    suite.bench("own", |bencher| bencher.iter(own::prepared()));
}

rbench_harness::main!(benchmarks);
