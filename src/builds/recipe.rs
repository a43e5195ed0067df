//! The link recipe of a bench target: everything that is needed to link its executable again, with any layout. rustc
//! uses response files (`@file`) when a command line would be too long.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::{Deserialize, Serialize};

use super::files;
use crate::{
    error::{Context, Error, Exit, Result},
    secrets,
};

/// The name of a recipe's description in its directory.
const FILE_NAME: &str = "recipe.json";

/// Begins the names of the directories of programs: a bench target may have the same name.
const PROGRAM: &str = "program.";

/// Variables that linkers and their drivers read. Only these are stored, since an environment may contain secrets.
const READ_BY_LINKERS: &str = "
    COMPILER_PATH GCC_EXEC_PREFIX GNUTARGET LC_ALL LDEMULATION LD_LIBRARY_PATH LD_RUN_PATH
    LIBRARY_PATH MOLD_JOBS PATH SOURCE_DATE_EPOCH TMPDIR ZIG_GLOBAL_CACHE_DIR ZIG_LIB_DIR
    ZIG_LOCAL_CACHE_DIR
";

/// Flags that strip the symbol table, for a linker or through a driver.
const STRIPPING: &[&str] = &["-s", "-Wl,-s", "--strip-all", "-Wl,--strip-all"];

/// One link as rustc requested it, with copies of the temporary objects that rustc deletes afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// The program that links, as the user or rustc named it.
    pub linker: String,
    /// Its arguments, without response files and without `-o`; temporary inputs point into the
    /// recipe's own directory.
    pub arguments: Vec<String>,
    pub output: PathBuf,
    pub directory: PathBuf,
    /// The variables that linkers read.
    pub environment: Vec<(String, String)>,
}

impl Recipe {
    /// Records the link of `linker` with `arguments`, in a new directory below `recipes`. Called by the linker shim,
    /// in rustc's directory and environment.
    pub fn record(
        linker: &OsStr,
        arguments: &[OsString],
        recipes: &Path,
        is_program: bool,
    ) -> Result<()> {
        let mut arguments = expand(&as_strings(arguments)?)?;
        let output = PathBuf::from(take_output(&mut arguments)?);
        let mut name = OsString::from(if is_program { PROGRAM } else { "" });
        name.push(output.file_name().unwrap_or(OsStr::new("executable")));
        let home = recipes.join(name);
        let what =
            || format!("cannot keep the link inputs of {} at {}", output.display(), home.display());
        // An earlier attempt, which rustc repeats with other flags, is obsolete.
        if home.exists() {
            fs::remove_dir_all(&home).context(Exit::Build, what)?;
        }
        fs::create_dir_all(&home).context(Exit::Build, what)?;
        keep_temporary_inputs(&mut arguments, &home).context(Exit::Build, what)?;
        let recipe = Self {
            linker: as_string(linker)?,
            arguments,
            output: output.clone(),
            directory: std::env::current_dir().context(Exit::Build, what)?,
            environment: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .filter(|(name, _)| READ_BY_LINKERS.split_whitespace().any(|read| read == name))
                .collect(),
        };
        files::write_json(&Self::path(&home), &recipe)
    }

    /// The directory below `recipes` of the program with this name in cargo: cargo lets rustc add a hash to the name
    /// of its crate.
    pub fn find_program(recipes: &Path, program: &str) -> Option<String> {
        let crate_name = format!("{PROGRAM}{}", program.replace('-', "_"));
        let names = fs::read_dir(recipes).ok()?.flatten();
        let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
        names.find(|name| name.rsplit_once('-').map_or(&**name, |(name, _)| name) == crate_name)
    }

    /// The file that describes the recipe kept in `home`.
    pub fn path(home: &Path) -> PathBuf {
        home.join(FILE_NAME)
    }

    /// Reads the recipe kept in `home`.
    pub fn load(home: &Path) -> Result<Self> {
        let path = Self::path(home);
        files::read_json(&path).ok_or_else(|| {
            let what = format!("cannot read the link recipe {}", path.display());
            Error::new(Exit::Build, what).cause("it is missing or damaged")
        })
    }

    /// The command that links again, with `extra` arguments at the end, to `output`.
    pub fn command(&self, extra: &[String], output: &Path) -> Command {
        let mut command = self.program(&self.linker);
        command.args(&self.arguments).args(extra).arg("-o").arg(output);
        command
    }

    /// A program in the directory and the environment of the link.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.directory)
            .env_clear()
            .envs(secrets::environment())
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// True if this argument is an input file: an object or an archive.
    pub fn is_input(argument: &str) -> bool {
        let extension = Path::new(argument).extension().and_then(OsStr::to_str);
        !argument.starts_with('-') && matches!(extension, Some("o" | "rlib" | "a" | "obj" | "lib"))
    }

    /// Makes the link keep its symbols even if the profile strips them. Symbols are not loaded, so the program runs
    /// the same, and they give the address of each function.
    pub fn keep_symbols(&mut self) {
        self.arguments.retain(|argument| !STRIPPING.contains(&argument.as_str()));
    }

    /// The files among the arguments: objects and archives, in the order of the link.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.arguments.iter().filter(|argument| Self::is_input(argument)).map(Path::new)
    }
}

fn as_string(text: &OsStr) -> Result<String> {
    text.to_str().map(str::to_owned).ok_or_else(|| {
        Error::new(Exit::Build, format!("cannot keep the linker argument {}", text.display()))
            .cause("it is not valid UTF-8")
            .hint("build in a directory whose path is valid UTF-8")
    })
}

fn as_strings(arguments: &[OsString]) -> Result<Vec<String>> {
    arguments.iter().map(|argument| as_string(argument)).collect()
}

/// Removes `-o FILE` from the arguments and returns the file.
fn take_output(arguments: &mut Vec<String>) -> Result<String> {
    let position = arguments.iter().position(|argument| argument == "-o");
    match position {
        Some(position) if position + 1 < arguments.len() => {
            arguments.remove(position);
            Ok(arguments.remove(position))
        }
        _ => Err(Error::new(Exit::Build, "cannot keep the link recipe of a bench target")
            .cause("the linker arguments name no output (-o)")
            .hint("use a linker or linker driver with a Unix command line")),
    }
}

/// Saves the files that rustc will delete: its own `*.rcgu.o`, and the temporary directory with, if present,
/// `symbols.o`, version scripts and import libraries. The arguments then name the copies.
fn keep_temporary_inputs(arguments: &mut [String], home: &Path) -> std::io::Result<()> {
    let temporary = arguments.iter().find_map(|argument| temporary_directory(argument));
    let kept_temporary = home.join("temporary");
    if let Some(temporary) = &temporary {
        keep_directory(temporary, &kept_temporary)?;
    }
    let objects = home.join("objects");
    fs::create_dir_all(&objects)?;
    for argument in arguments {
        if argument.ends_with(".rcgu.o") {
            let source = PathBuf::from(&*argument);
            let kept = objects.join(source.file_name().unwrap_or_default());
            keep_file(&source, &kept)?;
            *argument = kept.to_string_lossy().into_owned();
        } else if let Some(temporary) = temporary.as_deref().and_then(Path::to_str) {
            // It may also be inside an argument: `-Wl,--version-script=<temporary>/list`.
            *argument = argument.replace(temporary, &kept_temporary.to_string_lossy());
        }
    }
    Ok(())
}

/// The temporary directory of rustc in an argument: `rustc` and six random characters.
fn temporary_directory(argument: &str) -> Option<PathBuf> {
    let path = Path::new(&argument[argument.find('/')?..]);
    let is_temporary = |directory: &&Path| {
        let name = directory.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let random = name.strip_prefix("rustc").unwrap_or_default();
        random.len() == 6
            && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && directory.is_dir()
    };
    path.ancestors().find(is_temporary).map(Path::to_owned)
}

fn keep_directory(source: &Path, kept: &Path) -> std::io::Result<()> {
    fs::create_dir_all(kept)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let kept = kept.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            keep_directory(&entry.path(), &kept)?;
        } else {
            keep_file(&entry.path(), &kept)?;
        }
    }
    Ok(())
}

/// Hard-links a file, which costs nothing, and is safe because rustc only ever unlinks these files; copies it across
/// file systems.
fn keep_file(source: &Path, kept: &Path) -> std::io::Result<()> {
    fs::hard_link(source, kept).or_else(|_| fs::copy(source, kept).map(drop))
}

/// The arguments with every response file replaced by its words, also one that another names.
pub fn expand(arguments: &[String]) -> Result<Vec<String>> {
    expand_nested(arguments, 0)
}

fn expand_nested(arguments: &[String], depth: usize) -> Result<Vec<String>> {
    // One that names itself has no end.
    const DEEPEST: usize = 16;
    let mut expanded = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument.strip_prefix('@').filter(|_| depth < DEEPEST) {
            Some(path) => {
                let text = fs::read_to_string(path)
                    .context(Exit::Build, || format!("cannot read the response file {path}"))?;
                expanded.extend(expand_nested(&words(&text), depth + 1)?);
            }
            None => expanded.push(argument.clone()),
        }
    }
    Ok(expanded)
}

/// The words of a response file by the rules of GCC, Clang and LLD: separated by white space, which quotes protect,
/// and so does a backslash (except inside single quotes).
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, ' ' | '\t' | '\n' | '\r') => words.extend(word.take()),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some(open), _) if character == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipe_works_after_rustc_deletes_its_temporary_files() {
        let directory = tempfile::tempdir().unwrap();
        let deps = directory.path().join("deps é");
        let temporary = deps.join("rustcAbCdEf");
        fs::create_dir_all(temporary.join("raw-dylibs")).unwrap();
        let object = deps.join("parse-1.parse.cgu.00.rcgu.o");
        fs::write(&object, "object").unwrap();
        fs::write(temporary.join("symbols.o"), "symbols").unwrap();
        fs::write(temporary.join("list"), "script").unwrap();
        let output = deps.join("parse-1");
        let arguments: Vec<OsString> = [
            "-m64".to_owned(),
            temporary.join("symbols.o").display().to_string(),
            object.display().to_string(),
            format!("-Wl,--version-script={}", temporary.join("list").display()),
            "-o".to_owned(),
            output.display().to_string(),
            "-pie".to_owned(),
        ]
        .map(OsString::from)
        .into();
        let recipes = directory.path().join("recipes");
        Recipe::record(OsStr::new("cc"), &arguments, &recipes, false).unwrap();
        fs::remove_dir_all(&deps).unwrap();

        let home = recipes.join("parse-1");
        let recipe = Recipe::load(&home).unwrap();
        assert_eq!(recipe.output, output);
        let inputs: Vec<_> =
            recipe.inputs().map(|input| fs::read_to_string(input).unwrap()).collect();
        assert_eq!(inputs, ["symbols", "object"]);
        let script = recipe.arguments[3].strip_prefix("-Wl,--version-script=").unwrap();
        assert_eq!(fs::read_to_string(script).unwrap(), "script");
        assert_eq!(recipe.arguments.last().unwrap(), "-pie");
    }

    #[test]
    fn temporary_directory_is_found_by_a_search_path_alone() {
        let directory = tempfile::tempdir().unwrap();
        let temporary = directory.path().join("rustcAb1dEf");
        fs::create_dir_all(temporary.join("raw-dylibs")).unwrap();
        let argument = temporary.join("raw-dylibs").display().to_string();
        assert_eq!(temporary_directory(&argument), Some(temporary));
        assert_eq!(temporary_directory("/usr/lib/rustlib"), None);
        assert_eq!(temporary_directory("-lc"), None);
    }

    #[test]
    fn response_file_words_are_split_as_by_linkers() {
        let text = "-pie\n/a\\ b/c.o \"with \\\"quote\\\"\"\n'single \\ quoted' \"\"\n";
        assert_eq!(words(text), ["-pie", "/a b/c.o", "with \"quote\"", "single \\ quoted", ""]);
    }

    #[test]
    fn expand_replaces_an_argument_by_its_response_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("linker-arguments");
        fs::write(&path, "-m64\n/deps/a.o\n").unwrap();
        let arguments = [format!("@{}", path.display()), "-pie".to_owned()];
        assert_eq!(expand(&arguments).unwrap(), ["-m64", "/deps/a.o", "-pie"]);
        let outer = directory.path().join("outer");
        fs::write(&outer, format!("-s @{}", path.display())).unwrap();
        let nested = expand(&[format!("@{}", outer.display())]).unwrap();
        assert_eq!(nested, ["-s", "-m64", "/deps/a.o"]);
    }
}
