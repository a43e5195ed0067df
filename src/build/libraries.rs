//! Compiles the libraries that are preloaded to benchmarks, once for each compiler.

use std::{fs, path::PathBuf, process::Command};

use super::{
    Source, Workshop,
    files::{self, UNFINISHED},
    key::KeyMaker,
    tool,
};
use crate::{
    failure::{Exit, OrFail, Result},
    process::{
        counting::COUNTING_LIBRARY_SOURCE,
        turns::{LIBRARY_FLAGS, LIBRARY_SOURCE},
    },
};

impl Workshop<'_> {
    /// The library that lets two processes take turns, made by the compiler of a version, which is `rustc` as
    /// `rustc -vV` tells.
    pub fn turns_library(&self, source: Source<'_>, rustc: &str) -> Result<PathBuf> {
        self.library(source, rustc, ("turns", LIBRARY_SOURCE))
    }

    /// The library that counts instead of telling the time.
    pub fn counting_library(&self, source: Source<'_>, rustc: &str) -> Result<PathBuf> {
        self.library(source, rustc, ("counting", COUNTING_LIBRARY_SOURCE))
    }

    fn library(
        &self,
        source: Source<'_>,
        rustc: &str,
        (purpose, text): (&str, &str),
    ) -> Result<PathBuf> {
        let key = KeyMaker::new(&format!("{purpose} v1"))
            .add("rustc", rustc.as_bytes())
            .add("flags", LIBRARY_FLAGS.as_bytes())
            .add("source", text.as_bytes())
            .key();
        let library = self.site.turns_library(&key);
        if library.exists() {
            return Ok(library);
        }
        let what = || format!("cannot compile the library for {purpose}");
        files::create_directory(&self.site.turns_libraries())?;
        let source_file = library.with_extension("rs");
        files::write_whole(&source_file, text.as_bytes())?;
        let unfinished = library.with_file_name(format!("{UNFINISHED}{key}"));
        let context = self.cargo_context(source, None)?;
        let mut command = Command::new(&context.rustc);
        command
            .current_dir(&context.directory)
            .env_clear()
            .envs(context.environment.variables())
            .args(LIBRARY_FLAGS.split(' '))
            .arg("-o")
            .args([&unfinished, &source_file]);
        tool::run(&mut command, what)?;
        fs::rename(&unfinished, &library).or_fail(Exit::Build, what)?;
        Ok(library)
    }
}
