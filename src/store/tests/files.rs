//! Files that are stores, and files that are not.

use std::{cell::Cell, fs, os::unix::fs::PermissionsExt, path::Path, thread};

use super::*;
use crate::error::Exit;

/// Opening must fail, give the reason, and leave every file as it was.
fn assert_refused(path: &Path, why: &str) {
    let before = fs::read(path).unwrap();
    let error = Store::open(path, &|| {}).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage, "{error}");
    let text = error.to_string();
    assert!(text.contains(why) && text.contains("hint: "), "{text}");
    assert_eq!(fs::read(path).unwrap(), before);
}

fn sqlite(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    schema::provide_checksum(&connection).unwrap();
    connection
}

#[test]
fn new_store_gets_a_directory_that_git_ignores() {
    let (directory, store) = store();
    let ignore = directory.path().join(".rbench/.gitignore");
    assert_eq!(fs::read_to_string(ignore).unwrap(), "*\n");
    assert_eq!(store.experiments().unwrap(), []);
    assert_eq!(store.check().unwrap(), [""; 0]);
}

#[test]
fn existing_directory_gets_no_gitignore() {
    let directory = TempDir::new().unwrap();
    Store::open(&directory.path().join("r.sqlite"), &|| {}).unwrap();
    assert!(!directory.path().join(".gitignore").exists());
}

#[test]
fn empty_file_becomes_a_store() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("r.sqlite");
    fs::write(&path, "").unwrap();
    let experiment = Store::open(&path, &|| {}).unwrap().begin(&plan()).unwrap();
    let again = Store::open(&path, &|| {}).unwrap();
    assert_eq!(again.experiments().unwrap()[0].id, experiment);
}

#[test]
fn store_of_another_schema_is_refused_unchanged() {
    for other in [0, schema::VERSION + 1] {
        let (directory, store) = store();
        drop(store);
        let path = path(&directory);
        sqlite(&path).pragma_update(None, "user_version", other).unwrap();
        assert_refused(&path, &format!("its schema is {other}, this rbench uses 1"));
        let error = Store::open(&path, &|| {}).unwrap_err().to_string();
        assert!(error.contains(&format!("move {} away", path.display())), "{error}");
        // The owner of a name in a registry is not necessarily the author of rbench.
        let update = error.contains("git pull && cargo install --path .");
        assert_eq!(update, other > schema::VERSION, "{error}");
    }
}

#[test]
fn database_of_another_program_is_refused_unchanged() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("other.sqlite");
    sqlite(&path).execute_batch("CREATE TABLE mine (x)").unwrap();
    assert_refused(&path, "of another program");
    sqlite(&path).pragma_update(None, "application_id", 7).unwrap();
    assert_refused(&path, "of another program");
}

#[test]
fn file_that_is_no_database_is_refused_unchanged() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("notes.txt");
    fs::write(&path, "Dear diary, ".repeat(1000)).unwrap();
    assert_refused(&path, "not a database");
    let error = Store::open(&path, &|| {}).unwrap_err().to_string();
    assert!(error.contains("hint: nothing was changed; name another file"), "{error}");
}

#[test]
fn open_refuses_what_is_no_regular_file() {
    let directory = TempDir::new().unwrap();
    let [pipe, link] = ["pipe", "link"].map(|name| directory.path().join(name));
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    std::os::unix::fs::symlink(directory.path().join("absent"), &link).unwrap();
    for (path, why) in [
        (pipe.as_path(), "it is not a regular file"),
        (directory.path(), "it is not a regular file"),
        (Path::new("/dev/null"), "it is not a regular file"),
        (&link, "it is a symbolic link to nothing"),
    ] {
        let error = Store::open(path, &|| {}).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        let text = error.to_string();
        assert!(text.contains(why) && text.contains("hint: name another file"), "{text}");
    }
}

#[test]
fn removed_or_replaced_store_refuses_writes() {
    let (directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    let record = || {
        let execution = execution(1.0);
        store.record_execution(experiment, &benchmark("b"), slot(0, 0, 5), Ok(&execution))
    };
    record().unwrap();
    fs::remove_dir_all(path(&directory).parent().unwrap()).unwrap();
    let error = record().unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().contains("the file was removed"), "{error}");
    open(&directory);
    assert!(store.finish(experiment).unwrap_err().to_string().contains("or replaced"));
}

#[test]
fn truncated_store_is_left_unchanged() {
    let (directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    record_all(&store, experiment, &benchmark("b"));
    drop(store);
    let path = path(&directory);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let half = fs::read(&path).unwrap();
    // Opening may succeed if it reads the header alone, but no damaged data is accepted and nothing is changed.
    match Store::open(&path, &|| {}).and_then(|store| store.check()) {
        Ok(findings) => assert!(!findings.is_empty()),
        Err(error) => assert_eq!(error.exit(), Exit::Usage, "{error}"),
    }
    assert_eq!(fs::read(&path).unwrap(), half);
}

#[test]
fn store_without_a_table_is_damaged() {
    let (directory, store) = store();
    drop(store);
    sqlite(&path(&directory)).execute_batch("DROP TABLE planned_version").unwrap();
    assert_refused(&path(&directory), "its tables are not those of this version of rbench");
}

#[test]
fn value_that_rbench_never_writes_is_damage() {
    let (directory, store) = store();
    store.begin(&plan()).unwrap();
    sqlite(&path(&directory)).execute("UPDATE experiment SET builds = -1", ()).unwrap();
    let error = store.experiments().unwrap_err();
    assert_eq!(error.exit(), Exit::Usage, "{error}");
}

#[test]
fn new_store_is_readable_by_its_owner_alone() {
    let (directory, store) = store();
    store.begin(&plan()).unwrap();
    let inside = path(&directory).parent().unwrap().to_owned();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for file in ["results.sqlite", "results.sqlite-wal", "results.sqlite-shm"] {
        assert_eq!(mode(&inside.join(file)), 0o600, "{file}");
    }
    fs::set_permissions(path(&directory), fs::Permissions::from_mode(0o640)).unwrap();
    open(&directory);
    assert_eq!(mode(&path(&directory)), 0o640, "what its owner chose stays");
}

#[test]
fn damaged_executions_are_refused_and_the_others_read() {
    let (directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    record_all(&store, experiment, &benchmark("good"));
    record_all(&store, experiment, &benchmark("bad"));
    let damage =
        "UPDATE executions SET bytes = CAST(substr(bytes, 1, length(bytes) - 1) || x'00' AS BLOB)
         WHERE version = 0 AND benchmark = (SELECT id FROM benchmark WHERE name = 'bad')";
    sqlite(&path(&directory)).execute(damage, ()).unwrap();
    let error = store.rows(&benchmark("bad"), &[experiment]).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().contains("p t bad in experiment 1"), "{error}");
    assert!(error.to_string().contains("checksum"), "{error}");
    let findings = store.check().unwrap();
    assert_eq!(findings.len(), 1);
    assert!(findings[0].contains("p t bad in experiment 1"), "{findings:?}");
    assert_eq!(store.rows(&benchmark("good"), &[experiment]).unwrap().len(), 8);
}

#[test]
fn store_path_that_cannot_be_created_is_a_usage_error() {
    let error = Store::open(Path::new("/proc/rbench/results.sqlite"), &|| {}).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage, "{error}");
}

#[test]
fn full_disk_loses_only_the_current_write() {
    let (_directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    let benchmark = benchmark("b");
    let record =
        |slot, execution: &_| store.record_execution(experiment, &benchmark, slot, Ok(execution));
    record(slot(0, 0, 5), &execution(1.0)).unwrap();
    let pages: u32 =
        store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let limit = format!("PRAGMA max_page_count = {pages}");
    store.connection.query_row(&limit, (), |_| Ok(())).unwrap();
    let mut large = execution(2.0);
    large.series[0].values = (1..100_000_u32).map(|n| f64::from(n).sqrt()).collect();
    large.series[0].iterations = vec![1; 99_999];
    let error = record(slot(0, 1, 5), &large).unwrap_err();
    assert!(error.to_string().contains("hint: free some disk space"), "{error}");
    assert_eq!(store.rows(&benchmark, &[experiment]).unwrap().len(), 1);
}

#[test]
fn second_writer_waits_and_notifies_the_user() {
    let directory = TempDir::new().unwrap();
    let notified = Cell::new(0);
    let waiting = || notified.set(notified.get() + 1);
    let store = Store::open(&path(&directory), &waiting).unwrap();
    let (started, start) = std::sync::mpsc::channel();
    let other = path(&directory);
    let writer = thread::spawn(move || {
        let other = Store::open(&other, &|| {}).unwrap();
        let write = other.write("test", |_| {
            started.send(()).unwrap();
            thread::sleep(SILENT_WAIT * 3);
            Ok(())
        });
        write.unwrap();
        other.begin(&plan()).unwrap();
    });
    start.recv().unwrap();
    assert_eq!(store.experiments().unwrap(), [], "who reads does not wait");
    assert_eq!(notified.get(), 0);
    store.begin(&plan()).unwrap();
    writer.join().unwrap();
    assert_eq!(notified.get(), 1);
    assert_eq!(store.experiments().unwrap().len(), 2);
}

#[test]
fn waiting_for_another_writer_has_a_limit() {
    let (directory, mut store) = store();
    store.patience = Duration::ZERO;
    let other = open(&directory);
    let refused = other.write("hold the store", |_| Ok(store.begin(&plan()).unwrap_err()));
    let text = refused.unwrap().to_string();
    assert!(text.contains("another process keeps writing to it; find it with: fuser /"), "{text}");
}

#[test]
fn two_processes_may_create_the_same_store_at_once() {
    let directory = TempDir::new().unwrap();
    let path = &path(&directory);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(move || Store::open(path, &|| {}).unwrap().begin(&plan()).unwrap());
        }
    });
    assert_eq!(open(&directory).experiments().unwrap().len(), 8);
}
