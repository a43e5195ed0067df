//! Stores on media where nothing can be written.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, thread};

use rustix::{process::geteuid, thread::set_thread_res_uid};

use super::*;
use crate::error::Exit;

/// Runs `work` as a user to whom permissions apply; they do not apply to root.
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

/// A directory with a store that everyone may read and nobody may write.
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
fn read_only_store_is_readable_and_explains_failed_writes() {
    let medium = Medium::new();
    medium.set_modes(0o555, 0o444);
    as_ordinary_user(|| {
        let store = Store::open(&medium.path(), &|| {}).unwrap();
        let id = store.experiments().unwrap()[0].id;
        assert_eq!(store.rows(&benchmark("parse"), &[id]).unwrap().len(), 8);
        assert_eq!(store.check().unwrap(), [""; 0]);
        let error = store.begin(&plan()).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        assert!(error.to_string().contains("hint: make sure that you can write"), "{error}");
    });
}

#[test]
fn read_only_store_with_results_in_its_log_is_refused() {
    let medium = Medium::new();
    // A killed process leaves results that are only in the log.
    let writer = open(&medium.0);
    writer.begin(&plan()).unwrap();
    let saved = medium.0.path().join("saved");
    let log = medium.path().with_extension("sqlite-wal");
    fs::copy(&log, &saved).unwrap();
    drop(writer);
    fs::rename(saved, log).unwrap();
    medium.set_modes(0o555, 0o444);
    as_ordinary_user(|| {
        let error = Store::open(&medium.path(), &|| {}).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        let text = error.to_string();
        assert!(text.contains("results.sqlite-wal") && text.contains("hint: copy it"), "{text}");
    });
}

#[test]
fn read_only_directory_gets_no_store() {
    let medium = Medium::new();
    medium.set_modes(0o555, 0o444);
    let path = medium.path().with_file_name("other.sqlite");
    as_ordinary_user(|| {
        let error = Store::open(&path, &|| {}).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        assert!(error.to_string().contains("Permission denied"), "{error}");
    });
}
