//! Files that a benchmark reads only after many iterations.

use super::affected;
use crate::support::TestProject;

const BENCHMARKS: &str = r#"
use std::{cell::Cell, fs};
use rbench_harness::{main, Suite};

fn all(suite: &mut Suite) {
    for name in ["in turn", "also in turn"] {
        suite.bench(name, |bencher| {
            let next = Cell::new(0);
            bencher.iter(|| {
                next.set((next.get() + 1) % 16);
                fs::read(format!("corpus/{}.txt", next.get())).unwrap().len()
            })
        });
    }
    suite.bench("seldom", |bencher| {
        let next = Cell::new(0);
        bencher.iter(|| {
            next.set(next.get() + 1);
            if next.get() % 1000 == 0 { fs::read("seldom").unwrap().len() } else { 0 }
        })
    });
    suite.bench("never", |bencher| bencher.iter(|| 1));
}

main!(all);
"#;

#[test]
fn files_that_are_read_late_have_impact() {
    let project = TestProject::of("compared");
    project.write("benches/work.rs", BENCHMARKS);
    for number in 0..16 {
        project.write(&format!("corpus/{number}.txt"), "one");
    }
    project.write("seldom", "one");
    project.commit("Read files late");
    project.write("corpus/15.txt", "one two");
    project.commit("Change the last file");
    assert_eq!(affected(&project, "files"), ["in turn", "also in turn"]);
    project.write("seldom", "one two");
    project.commit("Change a file that few iterations read");
    assert_eq!(affected(&project, "files"), ["seldom"]);
    // Their names are no reason to trust some iterations of benchmarks that read files.
    project.write("corpus/LICENSE", "one");
    project.write("docs/guide.txt", "one");
    project.commit("Describe");
    assert_eq!(affected(&project, "files"), [""; 0]);
}
