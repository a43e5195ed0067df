//! Stores where nothing can be written.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, thread};

use rustix::{process::geteuid, thread::set_thread_res_uid};

use super::*;
use crate::error::Exit;

/// Does `work` as a user to whom permissions apply, which they do not to root.
fn as_ordinary_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if geteuid().is_root() {
                let nobody = rustix::fs::Uid::from_raw(65_534);
                set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work()
        });
        thread.join().unwrap()
    })
}

/// A directory with a store in it that everyone may read and nobody may write.
struct Medium(TempDir);

impl Medium {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let store = open(&directory);
        let id = store.begin(&plan()).unwrap();
        record_all(&store, id, &benchmark("parse"));
        Self(directory)
    }

    fn path(&self) -> PathBuf {
        path(&self.0)
    }

    fn set_modes(&self, directory: u32, file: u32) {
        let inner = self.path().parent().unwrap().to_owned();
        for entry in fs::read_dir(&inner).unwrap() {
            set_mode(&entry.unwrap().path(), file);
        }
        set_mode(&inner, directory);
        set_mode(self.0.path(), 0o755);
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        self.set_modes(0o755, 0o644);
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_store_on_a_medium_that_cannot_be_written_is_read_and_says_what_it_cannot_do() {
    let medium = Medium::new();
    medium.set_modes(0o555, 0o444);
    as_ordinary_user(|| {
        let store = Store::open(&medium.path(), &|| {}).unwrap();
        let id = store.experiments().unwrap()[0].id;
        assert_eq!(store.rows(&benchmark("parse"), &[id]).unwrap().len(), 8);
        assert_eq!(store.check().unwrap(), [""; 0]);
        let failure = store.begin(&plan()).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(failure.to_string().contains("hint: make sure that you can write"), "{failure}");
    });
}

#[test]
fn a_store_whose_newest_results_cannot_be_read_there_is_refused() {
    let medium = Medium::new();
    // What a killed process leaves: results in the log alone.
    let writer = open(&medium.0);
    writer.begin(&plan()).unwrap();
    let saved = medium.0.path().join("saved");
    let log = medium.path().with_extension("sqlite-wal");
    fs::copy(&log, &saved).unwrap();
    drop(writer);
    fs::rename(saved, log).unwrap();
    medium.set_modes(0o555, 0o444);
    as_ordinary_user(|| {
        let failure = Store::open(&medium.path(), &|| {}).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        let text = failure.to_string();
        assert!(text.contains("results.sqlite-wal") && text.contains("hint: copy it"), "{text}");
    });
}

#[test]
fn a_directory_that_cannot_be_written_gets_no_store() {
    let medium = Medium::new();
    medium.set_modes(0o555, 0o444);
    let path = medium.path().with_file_name("other.sqlite");
    as_ordinary_user(|| {
        let failure = Store::open(&path, &|| {}).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(failure.to_string().contains("Permission denied"), "{failure}");
    });
}
