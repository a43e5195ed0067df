//! A bench target may forbid `unsafe`. `cargo test` runs each of these benchmarks once.
#![forbid(unsafe_code)]

use rbench_harness::{Suite, Throughput, black_box};

fn benchmarks(suite: &mut Suite<'_>) {
    suite.bench("sum", |bencher| bencher.iter(|| black_box(1) + black_box(2)));
    let mut group = suite.group("sort");
    for size in [16, 256] {
        group.throughput(Throughput::Elements(size)).bench(size, |bencher| {
            bencher.iter_with_inputs(
                || (0..size).rev().collect::<Vec<_>>(),
                |mut numbers| {
                    numbers.sort_unstable();
                    numbers
                },
            );
        });
    }
    suite.bench("in place", |bencher| {
        bencher.iter_with_inputs_mut(String::new, |text| text.push('x'));
    });
    suite.bench("not here", |bencher| bencher.skip("it cannot run in a test"));
}

rbench_harness::main!(benchmarks);
