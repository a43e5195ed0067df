//! Does one kind of work two hundred times: `skips table`.

use std::hint::black_box;

use skips::{case, own, shapes, table, text};

const TIMES: u64 = 200;

fn main() {
    let task = std::env::args().nth(1).expect("a task");
    let mut prepared = own::prepared();
    for _ in 0..TIMES {
        match task.as_str() {
            "table" => black_box(table::checked(black_box(5)) as u64),
            "shapes" => black_box(shapes::shapes(black_box(3)) + shapes::dispatched(black_box(4))),
            "text" => black_box(text::counted(black_box(6)) as u64),
            "case" => black_box(case::case() + case::limited(black_box(7))),
            _ => black_box(prepared()),
        };
    }
}
