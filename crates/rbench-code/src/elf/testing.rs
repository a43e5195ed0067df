//! Real objects and programs for tests, made by the real compilers in a temporary directory.

use std::path::PathBuf;
use std::process::Command;

use object::read::elf::{ElfFile64, ElfSymbol64};
use object::{Endianness, Object, ObjectSymbol, SymbolKind};

use super::name::Name;
use super::placement::LinkedFunction;

pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn c_object(&self, name: &str, source: &str, options: &[&str]) -> Vec<u8> {
        self.compile(
            cc(),
            &format!("{name}.c"),
            source,
            &format!("{name}.o"),
            &[&["-c"], options].concat(),
        )
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn assembled(&self, name: &str, source: &str) -> Vec<u8> {
        self.compile(cc(), &format!("{name}.s"), source, &format!("{name}.o"), &["-c"])
    }

    /// An archive of files of this directory.
    pub(crate) fn archive(&self, name: &str, options: &str, members: &[&str]) -> Vec<u8> {
        let mut ar = Command::new("ar");
        ar.arg(options).arg(name).args(members);
        self.run(ar);
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn c_program(&self, name: &str, source: &str, options: &[&str]) -> Vec<u8> {
        self.compile(cc(), &format!("{name}.c"), source, name, options)
    }

    pub(crate) fn rust_object(&self, name: &str, source: &str, options: &[&str]) -> Vec<u8> {
        let object = ["--crate-type=lib", "--emit=obj", "-Copt-level=2", "-Ccodegen-units=1"];
        let options = [&object, options].concat();
        self.compile(rustc(), &format!("{name}.rs"), source, &format!("{name}.o"), &options)
    }

    pub(crate) fn rust_program(&self, name: &str, source: &str, options: &[&str]) -> Vec<u8> {
        self.compile(rustc(), &format!("{name}.rs"), source, name, options)
    }

    /// Runs a tool of the toolchain in the directory; panics if it fails.
    fn run(&self, mut command: Command) {
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

/// The functions of objects, as if the linker kept all of them.
pub(crate) fn all_kept(objects: &[&[u8]]) -> Vec<LinkedFunction> {
    let kept = |symbol: ElfSymbol64<'_, '_>| LinkedFunction {
        symbol: symbol.name().unwrap().to_owned(),
        name: Name::demangle(symbol.name().unwrap()),
        address: 0,
        size: symbol.size(),
        aliases: Vec::new(),
    };
    let of_object = |object: &&[u8]| -> Vec<LinkedFunction> {
        let object = ElfFile64::<Endianness>::parse(*object).unwrap();
        let functions = object
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
        functions.map(kept).collect()
    };
    objects.iter().flat_map(of_object).collect()
}

fn cc() -> Command {
    Command::new("cc")
}

fn rustc() -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--edition=2024", "-Awarnings"]);
    command
}
