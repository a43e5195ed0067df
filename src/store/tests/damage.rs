//! Damaged bytes of a file never change an answer: it stays the same, or there is an error.

use std::{fs, os::unix::fs::FileExt, path::Path};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};

use super::*;

/// A store with results of two benchmarks in two experiments, one of them unfinished.
fn filled() -> TempDir {
    let (directory, store) = store();
    for _ in 0..2 {
        let experiment = store.begin(&plan()).unwrap();
        for name in ["parse", "print"] {
            record_all(&store, experiment, &benchmark(name));
            store.record_tuned(&benchmark(name), &machine(), Duration::from_millis(1), 7).unwrap();
        }
        store.record_machine_state(experiment, "busy").unwrap();
    }
    let first = store.experiments().unwrap()[0].id;
    store.finish(first).unwrap();
    directory
}

/// All that a store can answer, as text; an error without its words.
fn answers(path: &Path) -> Result<String, ()> {
    let read = || -> Result<String> {
        let store = Store::open(path, &|| {})?;
        let experiments = store.experiments()?;
        let mut answers =
            format!("{experiments:?} {:?}", store.find_unfinished(&plan())?.map(|one| one.id));
        for benchmark in store.benchmarks()? {
            let ids: Vec<_> = experiments.iter().map(|one| one.id).collect();
            let tuned = store.tuned(&benchmark, &machine(), Duration::from_millis(1))?;
            answers += &format!("{benchmark:?} {tuned:?} {:?}", store.rows(&benchmark, &ids)?);
        }
        for experiment in experiments {
            let metrics = store.measured_metrics(experiment.id)?;
            answers += &format!("{metrics:?} {:?}", store.builds(experiment.id)?);
        }
        Ok(answers)
    };
    read().map_err(drop)
}

/// Damages `count` bytes drawn from a seed, one at a time.
fn damage(count: usize) {
    let directory = filled();
    let path = path(&directory);
    let whole = fs::read(&path).unwrap();
    let sound = answers(&path).unwrap();
    // Most bytes are unused; those that are not are damaged more often.
    let used: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] != 0).collect();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut number = |below: usize| usize::try_from(random.next_u64() % below as u64).unwrap();
    let mut refused = 0;
    for index in 0..count {
        let at = if index % 4 == 0 { number(whole.len()) } else { used[number(used.len())] };
        let byte = whole[at] ^ u8::try_from(1 + number(255)).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[byte], at as u64).unwrap();
        match answers(&path) {
            Ok(answers) => assert_eq!(answers, sound, "byte {at}: {} to {byte}", whole[at]),
            Err(()) => refused += 1,
        }
        fs::write(&path, &whole).unwrap();
        for file in &Store::files(&path)[1..] {
            let _ = fs::remove_file(file);
        }
    }
    assert!(refused > count / 2, "{refused} of {count}");
}

#[test]
fn damaged_bytes_never_change_an_answer() {
    damage(300);
}

#[test]
#[ignore = "takes long"]
fn many_damaged_bytes_never_change_an_answer() {
    damage(10_000);
}
