//! Compilations that come from a pack, on a machine without a compiler: where cargo and rustc would be asked, their
//! answers are in the pack.

use std::{
    fs,
    path::{Component, Path},
};

use rbench_code::elf::{CLibraryVersion, provided_c_library};

use super::{
    build_env::{BuildEnv, Event, Source},
    clean,
    compilation::{Compilation, Instance, PackedBuilds},
    files, tool,
};
use crate::error::{Context, Error, Exit, Result};

/// The files of a compilation that belong into its checkout although no commit has them: what a build script writes
/// there, and an added lock file.
pub(super) const ADDED: &str = "added";

impl BuildEnv<'_> {
    /// The names and hashes of the variables that change the output of cargo and rustc, where the versions were compiled;
    /// without their values, which may be secrets.
    pub fn identifying_environment(&self) -> Vec<String> {
        match &self.packed {
            Some(packed) => packed.environment.clone(),
            None => self.users_identifying_environment(),
        }
    }

    /// The hash of cargo's configuration outside of the repository, where the versions were compiled.
    pub fn identifying_configs(&self) -> Option<String> {
        match &self.packed {
            Some(packed) => packed.configs.clone(),
            None => self.configs.identity(),
        }
    }

    /// The compilation of a version in the pack, made the active one.
    pub(super) fn packed_compilation(
        &self,
        packed: &PackedBuilds,
        source: Source<'_>,
        instance: Instance,
    ) -> Result<Compilation> {
        let version = source.version;
        if instance != Instance::First {
            return Err(tool::cannot_compile(&version.to_string()));
        }
        let identity = version.identity();
        let key = packed.compilations.iter().find(|(known, _)| *known == identity);
        let what = || format!("cannot use the compilation of {version} in the pack");
        let key = key.map(|(_, key)| key).filter(|key| is_key(key)).ok_or_else(|| {
            Error::new(Exit::Usage, what()).cause("the pack has no compilation of this version")
        })?;
        if let (Some(needed), Some(own)) = (packed.c_library, own_c_library())
            && needed > own
        {
            let [needed, own] = [needed, own].map(|(major, minor)| format!("{major}.{minor}"));
            return Err(Error::new(Exit::Usage, what())
                .cause(format!("its programs need glibc {needed}, and this machine has {own}"))
                .hint("pack on a machine with an older system, or measure on one with a newer"));
        }
        let home = self.cache_dirs.compilation(key);
        files::point(&home.join("src"), source.checkout)?;
        self.activate(&home)?;
        let found = Compilation::open(&home).ok_or_else(|| {
            Error::new(Exit::Build, what())
                .cause(format!("a file below {} is missing or damaged", home.display()))
                .hint(format!("remove {}, and run the command again", self.storage().display()))
        })?;
        self.refuse_strange_compilation(&found, what)?;
        add_files(&home.join(ADDED), source.checkout).context(Exit::Build, what)?;
        clean::mark_used(&home);
        let version = &version.to_string();
        self.observer.build_event(&Event::Compiled { version, purpose: "", took: None });
        Ok(found)
    }

    /// Refuses a compilation whose description leads elsewhere.
    fn refuse_strange_compilation(
        &self,
        compilation: &Compilation,
        what: impl Fn() -> String,
    ) -> Result<()> {
        let at = self.cache_dirs.build_path();
        let is_inside = |path: &Path| {
            path.strip_prefix(&at).is_ok_and(|rest| {
                rest.components().all(|part| matches!(part, Component::Normal(_)))
            })
        };
        for target in &compilation.record.targets {
            let mut recipe = Path::new(&target.recipe).components();
            let is_name = matches!(recipe.next(), Some(Component::Normal(_)));
            if !is_name
                || recipe.next().is_some()
                || !is_inside(&target.executable)
                || !is_inside(&target.package_root)
            {
                let cause = format!("its bench target {} is outside of it", target.target);
                return Err(Error::new(Exit::Usage, what()).cause(cause));
            }
        }
        Ok(())
    }

    fn storage(&self) -> &Path {
        self.cache_dirs.outside()
    }
}

/// The newest version whose symbols the C library of this machine has; `None` if it is not the GNU one. rbench itself may be
/// linked with another one, so the library is that beside the loader whose path programs name.
fn own_c_library() -> Option<CLibraryVersion> {
    const LOADER: &str = if cfg!(target_arch = "aarch64") {
        "/lib/ld-linux-aarch64.so.1"
    } else {
        "/lib64/ld-linux-x86-64.so.2"
    };
    let library = Path::new(LOADER).canonicalize().ok()?.with_file_name("libc.so.6");
    provided_c_library(&fs::read(library).ok()?).ok()?
}

/// True for the name of a compilation's directory, as rbench forms it.
fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Copies all files below a directory, if it exists, to the same paths below another, unless they are there.
fn add_files(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            // A link of the commit may lead out of the checkout.
            match fs::symlink_metadata(&to) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err(std::io::Error::other("a directory is another file")),
                Err(_) => fs::create_dir(&to)?,
            }
            add_files(&from, &to)?;
        } else if fs::symlink_metadata(&to).is_err() {
            fs::copy(from, to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add_files_follows_no_link() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        fs::create_dir_all(path("added/data")).unwrap();
        fs::write(path("added/data/table"), "new").unwrap();
        fs::write(path("added/Cargo.lock"), "new").unwrap();
        fs::create_dir(path("to")).unwrap();
        fs::write(path("to/Cargo.lock"), "known").unwrap();
        add_files(&path("added"), &path("to")).unwrap();
        assert_eq!(fs::read_to_string(path("to/data/table")).unwrap(), "new");
        assert_eq!(fs::read_to_string(path("to/Cargo.lock")).unwrap(), "known");
        fs::create_dir_all(path("other")).unwrap();
        fs::create_dir_all(path("outside")).unwrap();
        std::os::unix::fs::symlink(path("outside"), path("other/data")).unwrap();
        assert!(add_files(&path("added"), &path("other")).is_err());
        assert_eq!(fs::read_dir(path("outside")).unwrap().count(), 0);
    }

    #[test]
    fn own_c_library_is_the_one_that_programs_load() {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.ends_with("/libc.so.6")).unwrap();
        let loaded = fs::read(&line[line.find('/').unwrap()..]).unwrap();
        assert!(own_c_library().is_some());
        assert_eq!(own_c_library(), provided_c_library(&loaded).unwrap());
    }

    #[test]
    fn is_key_refuses_paths() {
        assert!(is_key("0123456789abcdef-0123"));
        assert!(!is_key("") && !is_key("../a") && !is_key("a/b") && !is_key("."));
    }
}
