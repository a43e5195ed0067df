//! Reads files at once, later, and hardly ever.

use std::{cell::OnceCell, fs, hint::black_box};

const PARTS: usize = 16;
const LATE: usize = 40;

/// Files that are read in turn, and one that is read when it is needed.
struct Corpus {
    first: usize,
    calls: usize,
    late: OnceCell<usize>,
}

#[inline(never)]
fn lines(name: &str) -> usize {
    fs::read_to_string(format!("data/{name}.txt")).map_or(0, |text| text.lines().count())
}

impl Corpus {
    #[inline(never)]
    fn work(&mut self) -> u64 {
        self.calls += 1;
        let in_turn = lines(&format!("part-{:02}", self.calls % PARTS));
        let late = if self.calls > LATE { *self.late.get_or_init(|| lines("late")) } else { 0 };
        let rounds = self.first + in_turn + late;
        (0..rounds as u64).fold(3, |sum, round| black_box(sum + round))
    }
}

/// The input of a benchmark, and what it does with it.
#[inline(never)]
pub fn prepared() -> impl FnMut() -> u64 {
    let first = lines("first") + lines("optional");
    let mut corpus = Corpus { first, calls: 0, late: OnceCell::new() };
    move || corpus.work()
}
