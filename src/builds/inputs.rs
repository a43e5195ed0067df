//! The digest of a link, from the contents of its inputs and independent of their names and directories.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rayon::prelude::*;
use rbench_code::elf::{Digest, Unreadable, loadable_digest};
use serde::{Deserialize, Serialize};

use super::recipe::Recipe;
use crate::error::{Context, Exit, Result};

/// An input of a link at the time of the compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    path: PathBuf,
    size: u64,
    /// The time of its last change, in seconds and nanoseconds: unlike that of modification, it cannot be restored.
    changed: [i64; 2],
    digest: Digest,
}

impl InputFile {
    /// Reads the present file. A file of the toolchain is identified by its path.
    pub fn read(path: &Path, sysroot: &Path) -> Result<Self> {
        if path.starts_with(sysroot) {
            return Self::with_digest(path, |_| {
                Ok(Digest::compute(path.as_os_str().as_encoded_bytes()))
            });
        }
        Self::by_contents(path)
    }

    /// Reads the present file, which is identified by its contents.
    pub fn by_contents(path: &Path) -> Result<Self> {
        Self::with_digest(path, |path| Ok(Digest::compute(&fs::read(path)?)))
    }

    /// A file that will be at `path`, with the contents that are at `present` now.
    pub fn from_elsewhere(path: PathBuf, present: &Path) -> Result<Self> {
        Ok(Self { path, changed: [0; 2], ..Self::by_contents(present)? })
    }

    /// The same file in the other directory, if it is in the first one.
    #[must_use]
    pub fn moved(mut self, [from, to]: [&Path; 2]) -> Self {
        if let Ok(below) = self.path.strip_prefix(from) {
            self.path = to.join(below);
        }
        self.changed = fs::metadata(&self.path).map_or(self.changed, |data| changed(&data));
        self
    }

    /// The digest of its contents, or of its path if it is of the toolchain.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn with_digest(path: &Path, digest: impl FnOnce(&Path) -> io::Result<Digest>) -> Result<Self> {
        let what = || format!("cannot read {}", path.display());
        let metadata = fs::metadata(path).context(Exit::Build, what)?;
        Ok(Self {
            path: path.to_owned(),
            size: metadata.len(),
            changed: changed(&metadata),
            digest: digest(path).context(Exit::Build, what)?,
        })
    }

    /// True if the file is unchanged: by its size and time of change, or else by its contents, since a file of a
    /// restored checkout is newer.
    pub fn is_whole(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|now| {
            now.len() == self.size
                && (changed(&now) == self.changed
                    || fs::read(&self.path)
                        .is_ok_and(|bytes| Digest::compute(&bytes) == self.digest))
        })
    }

    /// True if the file is loaded at start-up and not part of the executable.
    pub fn is_loaded_at_start(&self) -> bool {
        is_shared_library(&self.path)
    }

    /// The name of the file, without its directory.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn changed(metadata: &fs::Metadata) -> [i64; 2] {
    [metadata.ctime(), metadata.ctime_nsec()]
}

/// The names of the inputs that differ between two links of the same target.
pub fn differing(one: &[InputFile], other: &[InputFile]) -> Vec<String> {
    let differ = |(a, b): &(&InputFile, &InputFile)| a.digest != b.digest;
    let mut names: Vec<String> =
        one.iter().zip(other).filter(differ).map(|(a, _)| a.name()).collect();
    let longer = if one.len() > other.len() { one } else { other };
    names.extend(longer[one.len().min(other.len())..].iter().map(InputFile::name));
    names
}

/// The digest of the shared libraries among these that an executable loads when it starts; `None` if there are none.
pub fn loaded_at_start(files: &[InputFile]) -> Option<Digest> {
    let loaded: Vec<u8> = files
        .iter()
        .filter(|file| file.is_loaded_at_start())
        .flat_map(|file| *file.digest.as_bytes())
        .collect();
    (!loaded.is_empty()).then(|| Digest::compute(&loaded))
}

/// The digest of everything that an executable loads, and of the libraries of its compilation.
pub fn program_digest(
    executable: &[u8],
    loaded_at_start: Option<Digest>,
) -> Result<Digest, Unreadable> {
    let executable = loadable_digest(executable)?;
    Ok(loaded_at_start.map_or(executable, |libraries| {
        Digest::compute(&[*executable.as_bytes(), *libraries.as_bytes()].concat())
    }))
}

/// The digest of the recipe, recorded at the time `recorded`, and its input files.
///
/// The toolchain's own libraries are identified by name, since the toolchain is part of every key.
pub fn digest(
    recipe: &Recipe,
    recorded: SystemTime,
    build_path: &Path,
    home: &Path,
    sysroot: &Path,
) -> Result<(Digest, Vec<InputFile>)> {
    let mut inputs: Vec<PathBuf> =
        recipe.inputs().map(|input| path_in_home(input, build_path, home)).collect();
    let looked_up = looked_up_inputs(recipe, build_path, home);
    // Files newer than the recipe were written by the link itself, such as a map.
    inputs.extend(looked_up.into_iter().filter(|path| {
        fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|time| time <= recorded)
    }));
    let files: Vec<InputFile> =
        inputs.par_iter().map(|path| InputFile::read(path, sysroot)).collect::<Result<_>>()?;

    let mut hasher = blake3::Hasher::new();
    let mut digests = files.iter().map(|file| file.digest);
    for argument in &recipe.arguments {
        if Recipe::is_input(argument) {
            if let Some(digest) = digests.next() {
                hasher.update(digest.as_bytes());
            }
        } else {
            hasher.update(neutral(argument, recipe, home).as_bytes());
        }
        hasher.update(&[0]);
    }
    for file in &files[recipe.inputs().count()..] {
        hasher.update(file.name().as_bytes()).update(&[0]).update(file.digest.as_bytes());
    }
    hasher.update(recipe.linker.as_bytes());
    Ok((hasher.finalize().into(), files))
}

/// The options of a link: the linker, its arguments without inputs and searched directories, the variables that add to
/// these, and the contents of other files that it reads, such as scripts. The same for the same options, whatever the directories of cargo are named.
///
/// `files` are those that [`digest`] returns. Code and libraries are none of the options: they are compared by
/// themselves.
pub fn options(recipe: &Recipe, files: &[InputFile], home: &Path) -> Vec<String> {
    const VARIABLES: [&str; 6] = [
        "COMPILER_PATH",
        "GCC_EXEC_PREFIX",
        "GNUTARGET",
        "LDEMULATION",
        "LD_RUN_PATH",
        "LIBRARY_PATH",
    ];
    let neutral = |text: &str| without_hashes(&neutral(text, recipe, home));
    let mut options = vec![neutral(&recipe.linker)];
    let mut arguments = recipe.arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        if argument == "-L" {
            arguments.next();
        } else if !Recipe::is_input(argument) && !argument.starts_with("-L") {
            options.push(neutral(argument));
        }
    }
    let variables = recipe.environment.iter().filter(|(name, _)| VARIABLES.contains(&&**name));
    options.extend(variables.map(|(name, value)| format!("{name}={}", neutral(value))));
    let loads = |name: &str| {
        let mut arguments = recipe.arguments.iter();
        arguments.any(|argument| argument.contains("plugin") && argument.contains(name))
    };
    let looked_up = files.get(recipe.inputs().count()..).unwrap_or_default().iter();
    let read = looked_up.filter(|file| !is_library(&file.path) || loads(&file.name()));
    options.extend(read.map(|file| format!("{}{CONTENTS}{}", neutral(&file.name()), file.digest)));
    options
}

/// True if one of the [`options`] may decide where the linker puts functions: an order of symbols or sections, a script,
/// or what is in their files.
pub fn places_code(option: &str) -> bool {
    const PLACING: [&str; 8] =
        ["order", "sort", "shuffle", "section-start", "-T", "script", "align", CONTENTS];
    // These decide which symbols others see.
    const EXPORTING: [&str; 2] = ["version-script", "dynamic-list"];
    let has = |parts: &[&str]| parts.iter().any(|part| option.contains(part));
    has(&PLACING) && !has(&EXPORTING)
}

/// Separates the name of a file from the digest of its contents.
const CONTENTS: &str = " has the contents ";

/// A text without the hashes that cargo and rustc add to names: a hyphen and 16 hexadecimal digits.
fn without_hashes(text: &str) -> String {
    const DIGITS: usize = 16;
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('-') {
        kept.push_str(before);
        kept.push('-');
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let digits = after.bytes().take_while(|byte| is_digit(byte)).count();
        rest = if digits == DIGITS { &after[DIGITS..] } else { after };
    }
    kept + rest
}

/// The files that the linker looks up: those in its arguments (such as a version script), those that such a file names,
/// and all libraries in the compilation's directories that it searches (for `-lnative`).
fn looked_up_inputs(recipe: &Recipe, build_path: &Path, home: &Path) -> BTreeSet<PathBuf> {
    let own = |path: &Path| path.starts_with(home) || path.starts_with(&recipe.directory);
    let others = || recipe.arguments.iter().filter(|argument| !Recipe::is_input(argument));
    let words = || others().flat_map(|argument| words(argument));
    let in_home = |word: &str| path_in_home(&recipe.directory.join(word), build_path, home);
    let searched: BTreeSet<PathBuf> =
        words().map(in_home).filter(|path| own(path) && path.is_dir()).collect();
    let find = |word: &str| {
        let searched = searched.iter().map(|directory| directory.join(word));
        std::iter::once(in_home(word)).chain(searched).filter(|path| path.is_file()).collect()
    };
    let mut files: BTreeSet<PathBuf> = searched.iter().flat_map(|path| libraries(path)).collect();
    let mut new: Vec<PathBuf> = words().flat_map(|word| -> Vec<_> { find(word) }).collect();
    while let Some(file) = new.pop() {
        if files.insert(file.clone()) {
            new.extend(named_in(&file).iter().flat_map(|word| find(word)));
        }
    }
    files
}

/// The words of a linker script or a response file that may be names of files; none of any other file.
fn named_in(file: &Path) -> Vec<String> {
    // Scripts are short, and a list of symbols names no files.
    const LONGEST: u64 = 1 << 20;
    let is_short = fs::metadata(file).is_ok_and(|metadata| metadata.len() <= LONGEST);
    let text = is_short.then(|| fs::read_to_string(file).ok()).flatten().unwrap_or_default();
    let is_separator = |c: char| c.is_whitespace() || "(){};,=\"'@".contains(c);
    let words = text.split(is_separator).filter(|word| word.contains(['.', '/']));
    words.map(str::to_owned).collect()
}

/// The parts of an argument that may be a path, as in `-Tscript`, `-L`, or `-Wl,--version-script=list`.
fn words(argument: &str) -> impl Iterator<Item = &str> {
    let parts = argument.split([',', '=']).map(|part| {
        // A one-letter flag may be followed directly by its value.
        if part.starts_with('-') { part.get(2..).unwrap_or_default() } else { part }
    });
    // A linker gets the name of a response file with an `@` from its driver.
    let words = std::iter::once(argument).chain(parts);
    words.map(|word| word.strip_prefix('@').unwrap_or(word)).filter(|word| !word.is_empty())
}

fn is_shared_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.extension().is_some_and(|extension| extension == "so") || name.contains(".so.")
}

fn is_library(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    matches!(extension, Some("a" | "lib" | "o" | "rlib")) || is_shared_library(path)
}

fn libraries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(io::Result::ok);
    entries.map(|entry| entry.path()).filter(|path| is_library(path) && path.is_file()).collect()
}

/// The path of a file in its compilation, instead of the path at the build path, which leads to one compilation after
/// another.
pub fn path_in_home(input: &Path, build_path: &Path, home: &Path) -> PathBuf {
    input.strip_prefix(build_path).map_or_else(|_| input.to_owned(), |rest| home.join(rest))
}

/// An argument without the paths that differ between compilations of the same files.
fn neutral(argument: &str, recipe: &Recipe, home: &Path) -> String {
    let output = recipe.output.to_string_lossy();
    let name = recipe.output.file_name().unwrap_or_default().to_string_lossy();
    argument
        .replace(&*output, "$output")
        .replace(&*home.to_string_lossy(), "$home")
        .replace(&*name, "$name")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The digest of a link with these arguments; `$home` stands for the compilation's directory.
    fn digest_of(home: &Path, arguments: &[&str]) -> (Digest, Vec<InputFile>) {
        let at = Path::new("/at");
        let recipe = Recipe {
            linker: "cc".to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            output: at.join("target/work-1"),
            directory: home.join("src"),
            environment: Vec::new(),
        };
        let recorded = SystemTime::now() + Duration::from_secs(10);
        digest(&recipe, recorded, at, home, Path::new("/sysroot")).unwrap()
    }

    fn home_with(files: &[&str]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for file in files {
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        home
    }

    #[test]
    fn looked_up_files_are_inputs_by_their_contents() {
        for (file, arguments) in [
            ("out/libnative.a", &["-L", "/at/out", "-lnative"][..]),
            ("out/libnative.so.1", &["-L/at/out", "-lnative"]),
            ("out/link.x", &["-L", "/at/out", "-Tlink.x"]),
            ("src/lib/libnative.a", &["-L", "lib", "-lnative"]),
            ("out/list", &["-Wl,--version-script=/at/out/list"]),
            ("src/list", &["-Wl,--dynamic-list,list"]),
            ("src/lib=1/x.so", &["lib=1/x.so"]),
        ] {
            let home = home_with(&["src/main.rs", file]);
            let (before, files) = digest_of(home.path(), arguments);
            assert_eq!(files.len(), 1, "{arguments:?}");
            fs::write(home.path().join(file), "other code").unwrap();
            let (after, changed) = digest_of(home.path(), arguments);
            assert_ne!(before, after, "{arguments:?}");
            let is_shared = file.contains(".so");
            assert_eq!(loaded_at_start(&files) != loaded_at_start(&changed), is_shared);
        }
    }

    #[test]
    fn rewritten_file_is_the_same_input_by_its_contents() {
        let home = home_with(&["lib.a"]);
        let path = home.path().join("lib.a");
        let input = InputFile::read(&path, Path::new("/sysroot")).unwrap();
        let younger = SystemTime::now() + Duration::from_secs(5);
        fs::write(&path, "lib.a").unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_modified(younger).unwrap();
        assert!(input.is_whole());
        let restored = InputFile::read(&path, Path::new("/sysroot")).unwrap();
        // The kernel's times of change may have steps of 4 or 10 ms.
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&path, "a.lib").unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_modified(younger).unwrap();
        assert!(!input.is_whole() && !restored.is_whole());
    }

    #[test]
    fn system_libraries_and_link_outputs_are_no_inputs() {
        let home = home_with(&["src/main.rs", "src/map", "out/notes.txt"]);
        let later = SystemTime::now() + Duration::from_secs(60);
        fs::File::options()
            .append(true)
            .open(home.path().join("src/map"))
            .and_then(|file| file.set_modified(later))
            .unwrap();
        let system = home_with(&["libc.a"]);
        let system = system.path().to_str().unwrap();
        let arguments = ["-L", system, "-L", "/at/out", "-lc", "-Wl,-Map=map", "-m64"];
        assert_eq!(digest_of(home.path(), &arguments).1, []);
        assert_eq!(loaded_at_start(&[]), None);
    }

    /// The options of a link with these arguments.
    fn options_of(home: &Path, arguments: &[&str]) -> Vec<String> {
        options_in(home, arguments, &[])
    }

    /// The same with these variables.
    fn options_in(home: &Path, arguments: &[&str], variables: &[[&str; 2]]) -> Vec<String> {
        let (_, files) = digest_of(home, arguments);
        let recipe = Recipe {
            linker: "cc".to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            output: PathBuf::from("/at/target/work-1"),
            directory: home.join("src"),
            environment: variables.iter().map(|one| one.map(str::to_owned).into()).collect(),
        };
        options(&recipe, &files, home)
    }

    #[test]
    fn options_have_contents_of_files_that_a_link_reads() {
        for (file, arguments) in [
            ("src/link.ld", &["-Wl,-T,link.ld"][..]),
            ("src/list", &["-Wl,--version-script=list"]),
            ("src/more", &["-Wl,@more"]),
            ("out/link.x", &["-L/at/out", "-Tlink.x"]),
            ("out/plugin.so", &["-Wl,-plugin,/at/out/plugin.so"]),
        ] {
            let home = home_with(&["src/main.rs", file]);
            let before = options_of(home.path(), arguments);
            assert_eq!(before, options_of(home.path(), arguments));
            fs::write(home.path().join(file), "others").unwrap();
            assert_ne!(before, options_of(home.path(), arguments), "{arguments:?}");
        }
        let home = home_with(&["src/main.rs", "src/outer.ld", "src/inner.ld"]);
        fs::write(home.path().join("src/outer.ld"), "INCLUDE inner.ld").unwrap();
        let before = options_of(home.path(), &["-Wl,-T,outer.ld"]);
        fs::write(home.path().join("src/inner.ld"), "others").unwrap();
        assert_ne!(before, options_of(home.path(), &["-Wl,-T,outer.ld"]));
    }

    #[test]
    fn options_differ_in_paths_but_not_in_hashes_and_inputs() {
        let home = home_with(&["src/main.rs", "out/libnative.a", "a.o"]);
        let loader = |name: &str| {
            options_of(
                home.path(),
                &["-Wl,--dynamic-linker=/lib/NAME".replace("NAME", name).as_str()],
            )
        };
        assert_ne!(loader("one"), loader("two"));
        let of = |arguments: &[&str]| options_of(home.path(), arguments);
        let before = of(&["-L", "/at/out", "-lnative", "-Wl,-rpath,/at/x-0123456789abcdef/out"]);
        fs::write(home.path().join("out/libnative.a"), "other code").unwrap();
        let after = of(&["-L/at/other", "-lnative", "-Wl,-rpath,/at/x-fedcba9876543210/out"]);
        assert_eq!(before, after);
    }

    #[test]
    fn options_include_variables_that_add_some() {
        let home = home_with(&["src/main.rs"]);
        let of = |variable| options_in(home.path(), &["-O1"], &[variable]);
        assert_ne!(of(["LD_RUN_PATH", "/one"]), of(["LD_RUN_PATH", "/two"]));
        assert_eq!(of(["TMPDIR", "/one"]), of(["TMPDIR", "/two"]));
    }

    #[test]
    fn options_that_place_code_are_orders_and_scripts() {
        let home = home_with(&["src/main.rs", "src/order"]);
        let option = "-Wl,--symbol-ordering-file=order";
        let placing = |arguments: &[&str]| -> Vec<String> {
            let options = options_of(home.path(), arguments);
            options.into_iter().filter(|option| places_code(option)).collect()
        };
        let before = placing(&[option]);
        fs::write(home.path().join("src/order"), "others").unwrap();
        assert_ne!(before, placing(&[option]));
        assert_eq!(before.len(), 2, "{before:?}");
        assert_eq!(placing(&["-Wl,--version-script,list", "-Wl,-O1", "-nodefaultlibs"]).len(), 0);
        assert_eq!(placing(&["-Wl,-Tplaces.ld", "-Wl,--shuffle-sections=*=1"]).len(), 2);
    }
}
