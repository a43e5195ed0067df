//! A process that is killed while it records results.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use super::*;

/// The path of the test below.
const NAME: &str = "store::tests::killed::reported_executions_survive_a_kill";

/// The variable that passes the store's path to the child, which runs this same test.
const VARIABLE: &str = "RBENCH_TEST_STORE_TO_RECORD_IN";

#[test]
fn reported_executions_survive_a_kill() {
    if let Some(path) = std::env::var_os(VARIABLE) {
        record_without_end(Path::new(&path));
    }
    let (directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    // The next process that opens the store must notice without help that the last one was killed.
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
        // One more execution may have been stored and not reported yet.
        assert!(done.len() == reported as usize + 1 || done.len() == reported as usize + 2);
    }
    let store = open(&directory);
    store.finish(experiment).unwrap();
    assert!(store.rows(&benchmark("parse"), &[experiment]).unwrap().len() > reported as usize);
}

/// Continues where the previous child was killed.
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
