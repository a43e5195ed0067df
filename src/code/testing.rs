//! Real objects and programs for the tests, made by the real compilers in a directory that goes
//! when the test ends.

use std::path::PathBuf;
use std::process::Command;

pub(super) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn c_object(&self, name: &str, source: &str, options: &[&str]) -> Vec<u8> {
        self.compile(
            cc(),
            &format!("{name}.c"),
            source,
            &format!("{name}.o"),
            &[&["-c"], options].concat(),
        )
    }

    pub(super) fn c_program(&self, name: &str, source: &str, options: &[&str]) -> Vec<u8> {
        self.compile(cc(), &format!("{name}.c"), source, name, options)
    }

    pub(super) fn rust_program(&self, name: &str, source: &str, options: &[&str]) -> Vec<u8> {
        self.compile(rustc(), &format!("{name}.rs"), source, name, options)
    }

    /// Runs a tool of the toolchain in the directory, which must succeed.
    pub(super) fn run(&self, mut command: Command) {
        let output = command.current_dir(self.0.path()).output().unwrap();
        assert!(
            output.status.success(),
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn compile(
        &self,
        mut compiler: Command,
        source_name: &str,
        source: &str,
        output: &str,
        options: &[&str],
    ) -> Vec<u8> {
        std::fs::write(self.path(source_name), source).unwrap();
        compiler.args([source_name, "-o", output]).args(options);
        self.run(compiler);
        std::fs::read(self.path(output)).unwrap()
    }
}

fn cc() -> Command {
    Command::new("cc")
}

fn rustc() -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--edition=2024", "-Awarnings"]);
    command
}
