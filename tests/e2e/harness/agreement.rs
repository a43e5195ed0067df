//! The same functions through each harness: do the times agree?

use std::time::Duration;

use cargo_metadata::semver::Version;
use cargo_rbench::{
    harness::{Criterion, Harness, Native},
    model::ExecutionRequest,
};

use super::{
    criterion::FIXTURES,
    divan::{DIVAN, divan},
    execute,
    native::NATIVE,
    request,
};
use crate::support::fixture::Fixture;

/// Asserts nothing about speed, which a loaded machine would refute: run it on a quiet one with
/// `cargo test --test e2e agreement -- --ignored --nocapture`, and read.
#[test]
#[ignore = "measures for half a minute and prints"]
fn times_agree_between_harnesses() {
    let criterion = |minor| Criterion { version: Version::new(0, minor, 0) };
    let (old, new, divan) = (criterion(5), criterion(8), divan());
    let harnesses: [(&dyn Harness, &Fixture); 4] =
        [(&Native, &NATIVE), (&old, &FIXTURES[0]), (&new, &FIXTURES[1]), (&divan, &DIVAN)];
    for (id, divan_id) in
        [("sum", "same::sum"), ("count/64", "same::count::64"), ("count/1024", "same::count::1024")]
    {
        let mut minima = [f64::INFINITY; 4];
        let mut medians = [const { Vec::new() }; 4];
        for seed in 0..7 {
            let request = ExecutionRequest {
                warm_up: Duration::from_millis(50),
                floor: Duration::from_millis(1),
                seed,
                ..request(31)
            };
            for (index, (harness, fixture)) in harnesses.iter().enumerate() {
                let id = if index == 3 { divan_id } else { id };
                let executable = fixture.executable("same");
                let execution = execute(*harness, executable, id, &request).unwrap();
                let mut values = execution.series[0].values.clone();
                values.sort_by(f64::total_cmp);
                minima[index] = minima[index].min(values[0]);
                medians[index].push(values[values.len() / 2]);
            }
        }
        let medians = medians.map(|mut medians| {
            medians.sort_by(f64::total_cmp);
            medians[medians.len() / 2]
        });
        println!("{id:<12} [native, criterion 0.5, criterion 0.8, divan], ns per iteration");
        println!(
            "  median of medians {medians:8.2?}  ratio {:.3?}",
            medians.map(|m| m / medians[0])
        );
        println!("  minimum           {minima:8.2?}  ratio {:.3?}", minima.map(|m| m / minima[0]));
    }
}
