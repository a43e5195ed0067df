//! Constants that look like source locations, and the alignment of data.

use super::affected;
use crate::support::TestProject;

const BENCHMARKS: &str = r#"use rbench_harness::{main, Suite};
use std::hint::black_box;

#[derive(Clone)]
pub struct Case { file: &'static str, rounds: u64 }
pub struct Seeded { file: &'static str, rounds: u32, seed: u32 }
#[repr(C)]
pub struct Row([u64; 8]);

static CASE: Case = Case { file: "named.rs", rounds: 1000 };
static ROWS: [Row; 2] = [Row([1; 8]), Row([2; 8])];
static REACHED: &[Row; 2] = &ROWS;

#[inline(never)] fn named() -> u64 { repeat(&CASE) }
#[inline(never)] fn seeded() -> u64 {
    let case = black_box(const { &Seeded { file: "unnamed.rs", rounds: 1001, seed: 7 } });
    (0..case.rounds).fold(case.seed, |a, b| a ^ b) as u64 + case.file.len() as u64
}
#[inline(never)] fn listed() -> u64 {
    black_box(const { &[Case { file: "one.rs", rounds: 9 }, Case { file: "two.rs", rounds: 1002 }] })
        .iter().map(repeat).sum()
}
#[inline(never)] fn pairs() -> u64 {
    black_box(const { &[("one.rs", 9_u64), ("two.rs", 1003)] }).iter().map(|(_, rounds)| *rounds).sum()
}
#[inline(never)] fn row() -> u64 { black_box(REACHED)[black_box(1)].0[3] }
#[inline(never)] #[track_caller] fn id() -> u64 { std::panic::Location::caller().line().into() }
#[inline(never)] fn line() -> u64 { black_box(id()) }
#[inline(never)] fn checked() -> u64 { [1, 2, 3][black_box(1_usize)] + black_box(Some(4)).unwrap() }
#[inline(never)] fn repeat(case: &Case) -> u64 { (0..case.rounds).fold(0, |a, b| a ^ black_box(b)) }

fn all(suite: &mut Suite) {
    suite.bench("named", |bencher| bencher.iter(named));
    suite.bench("seeded", |bencher| bencher.iter(seeded));
    suite.bench("listed", |bencher| bencher.iter(listed));
    suite.bench("pairs", |bencher| bencher.iter(pairs));
    suite.bench("row", |bencher| bencher.iter(row));
    suite.bench("line", |bencher| bencher.iter(line));
    suite.bench("checked", |bencher| bencher.iter(checked));
}
main!(all);
"#;

#[test]
fn constants_like_locations_and_alignment_have_impact() {
    let project = TestProject::of("compared");
    project.write("benches/work.rs", BENCHMARKS);
    project.commit("Have constants");
    for (old, new) in [
        ("rounds: 1000", "rounds: 2000"),
        ("rounds: 1001", "rounds: 2001"),
        ("rounds: 1002", "rounds: 2002"),
        ("1003", "2003"),
        ("#[repr(C)]", "#[repr(C, align(64))]"),
    ] {
        project.replace("benches/work.rs", old, new);
    }
    project.commit("Change all of them");
    assert_eq!(affected(&project, "functions"), ["named", "seeded", "listed", "pairs", "row"]);
    project.replace("benches/work.rs", "#[derive", "// Moves all lines.\n#[derive");
    project.commit("Explain");
    assert_eq!(affected(&project, "functions"), ["line"]);
}
