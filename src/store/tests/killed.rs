//! A process that is killed while it records.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use super::*;

/// The test below.
const NAME: &str = "store::tests::killed::what_was_reported_as_recorded_survives_a_kill";

/// Tells the child, which is this test once more, where to record.
const VARIABLE: &str = "RBENCH_TEST_STORE_TO_RECORD_IN";

#[test]
fn what_was_reported_as_recorded_survives_a_kill() {
    if let Some(path) = std::env::var_os(VARIABLE) {
        record_without_end(Path::new(&path));
    }
    let (directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    // The next one to open it must find out by itself that the last was killed.
    drop(store);
    let mut reported = 0;
    for patience in [0, 1, 7, 40] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", NAME])
            .env(VARIABLE, path(&directory))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut rounds =
            lines.filter_map(|line| Some(line.strip_prefix("recorded ")?.parse().unwrap()));
        let last: u32 = rounds.by_ref().nth(patience).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        reported = rounds.last().unwrap_or(last);

        let again = open(&directory);
        assert_eq!(again.check().unwrap(), [""; 0]);
        let done = again.find_unfinished(&plan()).unwrap().unwrap().done;
        assert!(
            (0..=reported).all(|round| done.contains(&(benchmark("parse"), slot(0, round, 5))))
        );
        // One more may have been stored and not yet reported.
        assert!(done.len() == reported as usize + 1 || done.len() == reported as usize + 2);
    }
    let store = open(&directory);
    store.finish(experiment).unwrap();
    assert!(store.rows(&benchmark("parse"), &[experiment]).unwrap().len() > reported as usize);
}

/// Goes on where the one before was killed.
fn record_without_end(path: &Path) -> ! {
    let store = Store::open(path, &|| {}).unwrap();
    let UnfinishedExperiment { id, done, .. } = store.find_unfinished(&plan()).unwrap().unwrap();
    for round in u32::try_from(done.len()).unwrap().. {
        let execution = execution(f64::from(round + 1));
        store.record_execution(id, &benchmark("parse"), slot(0, round, 5), Ok(&execution)).unwrap();
        println!("recorded {round}");
    }
    unreachable!()
}
