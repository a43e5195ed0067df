//! Makes of a compilation the files that another machine needs to link and to run it, without cargo, rustc and a compiler
//! driver.
//!
//! LLD itself lists and copies the inputs of a link (`--reproduce`): those that rustc named, and the start files and
//! libraries that the driver added. In a pack, a recipe is therefore a command line of LLD, in whose directory each input
//! has its former path. LLD comes along, with the libraries that it loads, except those of the C library.
//!
//! Traces stay: what a benchmark executes may depend on the machine, for instance on its number of CPUs, and `unaffected`
//! has to hold where the others are measured. They only say which files belong into the pack.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Component, Path, PathBuf},
};

use rbench_code::elf::{Digest, loadable_digest};

use super::{
    build_env::{BuildEnv, Source},
    compilation::{Compilation, CompilationRecord, CompiledTarget, RECORD},
    compile::GENERATED,
    conditions::Conditions,
    default_link::DefaultLink,
    discovery, files,
    inputs::InputFile,
    linker::{Arrangement, Family, Linker, LinkerOption},
    packed::ADDED,
    recipe::{self, Recipe},
    tool,
};
use crate::{
    error::{Context, Error, Exit, Result},
    model::Layout,
    pack::PackedFile,
    process::sandbox::Task,
};

/// The directory, in that of a recipe, of the link's inputs by their former paths.
const INPUTS: &str = "inputs";

/// The directory of linkers, beside that of the compilations.
const LINKERS: &str = "linkers";

/// The archive that LLD makes, and the name in it of the command line.
const REPRODUCED: &str = "reproduced.tar";
const RESPONSE: &str = "response.txt";

/// The parts of the C library, which only work with the kernel's loader of the machine that they are from.
const C_LIBRARY: [&str; 9] = [
    "ld-linux",
    "libc.so",
    "libdl.so",
    "libm.so",
    "libpthread.so",
    "libresolv.so",
    "librt.so",
    "libutil.so",
    "linux-vdso",
];

/// The directories between which files move: they are made in one place, and will be used in another.
#[derive(Clone, Copy, Debug)]
pub struct PackingPlaces<'p> {
    /// The directory for files that do not exist yet.
    pub staging: &'p Path,
    /// The directory of compilations and linkers on the other machine.
    pub storage: &'p Path,
    pub in_pack: &'p Path,
}

impl PackingPlaces<'_> {
    /// A file of the storage that is `source` at present.
    fn file(&self, below_storage: &Path, source: &Path) -> Result<PackedFile> {
        use std::os::unix::fs::PermissionsExt as _;
        let what = || format!("cannot pack {}", source.display());
        let mode = fs::metadata(source).context(Exit::Build, what)?.permissions().mode();
        Ok(PackedFile {
            path: self.in_pack.join(below_storage),
            source: source.to_owned(),
            is_executable: mode & 0o111 != 0,
        })
    }
}

impl BuildEnv<'_> {
    /// All files that linking and running a compilation needs, besides those of its commit. It must be the active one.
    ///
    /// `read` are the files of the compilation that its benchmarks were seen to read, by their paths below the build
    /// path.
    pub fn packed_files(
        &self,
        source: Source<'_>,
        compilation: &Compilation,
        read: &BTreeSet<PathBuf>,
        places: &PackingPlaces<'_>,
    ) -> Result<Vec<PackedFile>> {
        self.refuse_outer_variables(source, &compilation.record)?;
        let key = compilation.home.file_name().unwrap_or_default();
        let below = Path::new("compilations").join(key);
        let mut packing = Packing {
            build_env: self,
            compilation,
            below: below.clone(),
            places: *places,
            packed: Vec::new(),
        };
        let mut record = compilation.record.clone();
        // They are those of this machine, and a pack is compiled already.
        record.conditions = Conditions::default();
        for target in &mut record.targets {
            packing.target(target)?;
        }
        let staged = places.staging.join(&below).join(RECORD);
        files::write_json(&staged, &record)?;
        packing.add(Path::new(RECORD), &staged)?;
        packing.add(Path::new(discovery::KEPT), &compilation.home.join(discovery::KEPT))?;
        packing.added_files(source, &self.workspace)?;
        packing.read_files(read)?;
        let mut seen = BTreeSet::new();
        packing.packed.retain(|file| seen.insert(file.path.clone()));
        Ok(packing.packed)
    }

    /// The libraries that are preloaded into benchmarks of versions with this compiler, which must have been made.
    pub fn packed_libraries(&self, in_pack: &Path) -> Result<Vec<PackedFile>> {
        let directory = self.cache_dirs.preloaded_libraries();
        let what = || format!("cannot read {}", directory.display());
        let mut packed = Vec::new();
        for entry in fs::read_dir(&directory).context(Exit::Build, what)? {
            let entry = entry.context(Exit::Build, what)?;
            let name = entry.file_name();
            if Path::new(&name).extension().is_some_and(|extension| extension == "so") {
                let path = in_pack.join(name);
                packed.push(PackedFile { path, source: entry.path(), is_executable: true });
            }
        }
        Ok(packed)
    }

    /// The result of the check that compiling is reproducible, if there was one.
    pub fn packed_reproducibility(&self, check: &str, in_pack: &Path) -> Option<PackedFile> {
        let source = self.cache_dirs.reproducibility(check);
        let below = source.strip_prefix(self.cache_dirs.storage()).ok()?;
        let path = in_pack.join(below);
        source.is_file().then_some(PackedFile { path, source, is_executable: false })
    }

    /// Refuses variables that benchmarks get from configuration outside of the repository: they may be secrets, and would
    /// be missing elsewhere.
    fn refuse_outer_variables(&self, source: Source<'_>, record: &CompilationRecord) -> Result<()> {
        let own = self.variables_of_repository(source);
        let all = self.configured_variables(source, record);
        let Some((name, _)) = all.iter().find(|one| !own.contains(one)) else { return Ok(()) };
        Err(Error::new(Exit::Usage, format!("cannot pack {}", source.version))
            .cause(format!(
                "cargo's configuration outside of the repository sets the variable {}, and a pack has none of it",
                name.display()
            ))
            .hint("set it in .cargo/config.toml of the repository"))
    }
}

struct Packing<'p> {
    build_env: &'p BuildEnv<'p>,
    compilation: &'p Compilation,
    /// Its directory below the storage.
    below: PathBuf,
    places: PackingPlaces<'p>,
    packed: Vec<PackedFile>,
}

impl Packing<'_> {
    fn add(&mut self, path: &Path, source: &Path) -> Result<()> {
        self.packed.push(self.places.file(&self.below.join(path), source)?);
        Ok(())
    }

    /// The path that a file of the compilation will have.
    fn future(&self, path: &Path) -> PathBuf {
        self.places.storage.join(&self.below).join(path)
    }

    /// Packs a bench target, and changes its record to the paths of the other machine.
    fn target(&mut self, target: &mut CompiledTarget) -> Result<()> {
        let what = format!("cannot pack bench target {}", target.target);
        let recipe_home = self.compilation.recipe_home(target);
        let recipe = self.compilation.recipe(target)?;
        let below = Path::new("recipes").join(&target.recipe);
        let staging = self.places.staging.join(&self.below).join(&below);
        files::create_directory(&staging)?;
        let linker = self.lld(&recipe, &what)?;
        let (program, libraries) = linker_program(&recipe, &linker, &what)?;
        let linked = Reproduced::link(&recipe, &linker, &staging, &what)?;

        // Linked once more, as the other machine will link it: the programs must be the same.
        let here = staging.join("here");
        files::create_directory(&here)?;
        files::point(&here.join(LLD), &program)?;
        let directories: BTreeSet<PathBuf> =
            libraries.iter().filter_map(|library| library.parent()).map(Path::to_owned).collect();
        let directories: Vec<PathBuf> = directories.into_iter().collect();
        let trial = linked.recipe(&recipe, &staging.join(INPUTS), &here.join(LLD), &directories);
        let own = Linker::detect(&trial)?;
        let trial = DefaultLink::from_executable(&trial, &own, &here.join("executable"))?;
        let ordinary = DefaultLink::find_or_link(&recipe, &linker, &recipe_home)?;
        let digest = |link: &DefaultLink| {
            loadable_digest(&link.executable).context(Exit::Build, || what.clone())
        };
        if digest(&trial)? != digest(&ordinary)? {
            return Err(Error::new(Exit::Build, what)
                .cause("linked without the compiler driver, it is another program")
                .hint("compare in a clone: cargo rbench compare BASE HEAD"));
        }
        files::remove_directory(&here)?;

        let at = self.linker(&program, &libraries)?;
        let place = self.places.storage.join(&at);
        let inputs = self.future(&below.join(INPUTS));
        let packed =
            linked.recipe(&recipe, &inputs, &place.join(LLD), std::slice::from_ref(&place));
        let description = Recipe::path(&staging);
        files::write_json(&description, &packed)?;
        let mut made = Vec::new();
        let mut add = |packing: &mut Self, path: PathBuf, source: &Path| -> Result<()> {
            packing.add(&path, source)?;
            made.push(InputFile::from_elsewhere(packing.future(&path), source)?);
            Ok(())
        };
        add(self, Recipe::path(&below), &description)?;
        for input in &linked.inputs {
            add(self, below.join(INPUTS).join(input), &staging.join(INPUTS).join(input))?;
        }
        let build_path = self.build_env.cache_dirs.build_path();
        if let Ok(path) = target.executable.strip_prefix(&build_path) {
            add(self, path.to_owned(), &self.compilation.home.join(path))?;
        }
        let mut loaded = Vec::new();
        for file in target.files.iter().filter(|file| file.is_loaded_at_start()) {
            let path = file.path().strip_prefix(&self.compilation.home).map_err(|_| {
                let name = file.path().display();
                Error::new(Exit::Build, what.clone()).cause(format!(
                    "it loads {name}, which is not in the repository's target directory"
                ))
            })?;
            self.add(path, file.path())?;
            loaded.push(InputFile::from_elsewhere(self.future(path), file.path())?);
        }
        (target.made, target.files) = (made, loaded);
        Ok(())
    }

    fn lld(&self, recipe: &Recipe, what: &str) -> Result<Linker> {
        let sysroot = &self.compilation.record.sysroot;
        let linker = Linker::for_layout(recipe, Layout::SameAddress, sysroot)?;
        linker.filter(|linker| matches!(linker.family, Family::Lld(_))).ok_or_else(|| {
            Error::new(Exit::Build, what)
                .cause("no LLD can link it, and no other linker lists the files that it reads")
                .hint("install lld, or a toolchain that has rust-lld")
        })
    }

    /// Packs a linker and the libraries that it loads; returns its directory below the storage.
    fn linker(&mut self, program: &Path, libraries: &[PathBuf]) -> Result<PathBuf> {
        let what = || format!("cannot read {}", program.display());
        let mut contents = fs::read(program).context(Exit::Build, what)?;
        for library in libraries {
            // A library of a toolchain has hundreds of megabytes, and its path names the toolchain.
            contents.extend_from_slice(library.as_os_str().as_encoded_bytes());
        }
        let at = Path::new(LINKERS).join(&Digest::compute(&contents).to_string()[..16]);
        self.packed.push(self.places.file(&at.join(LLD), program)?);
        for library in libraries {
            let name = library.file_name().unwrap_or_default();
            self.packed.push(self.places.file(&at.join(name), library)?);
        }
        Ok(at)
    }

    /// Packs what is in the checkout although no commit has it.
    fn added_files(&mut self, source: Source<'_>, workspace: &Path) -> Result<()> {
        let generated: Vec<(String, Digest)> =
            files::read_json(&self.compilation.home.join(GENERATED)).unwrap_or_default();
        let generated = generated.into_iter().map(|(path, _)| PathBuf::from(path));
        for path in generated.chain([workspace.join("Cargo.lock")]) {
            let present = source.checkout.join(&path);
            if fs::symlink_metadata(&present).is_ok_and(|found| found.is_file()) {
                self.add(&Path::new(ADDED).join(path), &present)?;
            }
        }
        Ok(())
    }

    /// Packs the files that benchmarks read, and all that the build scripts of their packages made.
    fn read_files(&mut self, read: &BTreeSet<PathBuf>) -> Result<()> {
        let home = &self.compilation.home;
        let at = self.build_env.cache_dirs.build_path();
        let record = &self.compilation.record;
        let made = record.targets.iter().flat_map(|target| record.script_variables(target));
        let made = made.filter_map(|(_, value)| Path::new(value).strip_prefix(&at).ok());
        let mut paths: BTreeSet<PathBuf> = read.clone();
        for directory in made {
            paths.extend(files_below(home, directory));
        }
        for path in paths {
            let is_source = path.starts_with("src");
            let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
            let present = home.join(&path);
            if is_inside && !is_source && fs::metadata(&present).is_ok_and(|found| found.is_file())
            {
                self.add(&path, &present)?;
            }
        }
        Ok(())
    }
}

/// The name of LLD for ELF, by which it knows what it is to be.
const LLD: &str = "ld.lld";

/// The regular files below `directory`, as paths from `home`; also `directory` itself, if it is a file.
fn files_below(home: &Path, directory: &Path) -> Vec<PathBuf> {
    let mut open = vec![directory.to_owned()];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        let present = home.join(&path);
        match fs::symlink_metadata(&present) {
            Ok(kind) if kind.is_file() => found.push(path),
            Ok(kind) if kind.is_dir() => {
                let entries = fs::read_dir(&present).into_iter().flatten().flatten();
                open.extend(entries.map(|entry| path.join(entry.file_name())));
            }
            _ => {}
        }
    }
    found
}

/// A link that LLD recorded.
struct Reproduced {
    /// The arguments of LLD, without its output.
    arguments: Vec<String>,
    /// The inputs, by their paths without the first slash.
    inputs: BTreeSet<PathBuf>,
}

impl Reproduced {
    /// Links a recipe, and writes its inputs below `staging`.
    fn link(recipe: &Recipe, linker: &Linker, staging: &Path, what: &str) -> Result<Self> {
        let wanted = Arrangement {
            options: vec![LinkerOption::WithFile("--reproduce=".to_owned(), REPRODUCED.to_owned())],
            files: Vec::new(),
        };
        let arguments = linker.arguments(&wanted, staging);
        let (archive, output) = (staging.join(REPRODUCED), staging.join("reproduced"));
        tool::run(&mut recipe.command(&arguments, &output), Task::Link(staging), || {
            what.to_owned()
        })
        .map_err(|error| files::or_full_disk(error, staging))?;
        let read = || {
            let file = BufReader::new(File::open(&archive)?);
            let read = Self::unpack(file, &staging.join(INPUTS))?;
            fs::remove_file(&archive)?;
            fs::remove_file(&output)?;
            Ok::<_, io::Error>(read)
        };
        read().context(Exit::Build, || format!("{what}: cannot read what LLD recorded"))
    }

    fn unpack(archive: impl Read, into: &Path) -> io::Result<Self> {
        let (mut arguments, mut inputs) = (None, BTreeSet::new());
        for entry in tar::Archive::new(archive).entries()? {
            let mut entry = entry?;
            // The first directory has the name of the archive.
            let path: PathBuf = entry.path()?.components().skip(1).collect();
            if path == Path::new(RESPONSE) {
                let mut text = String::new();
                entry.read_to_string(&mut text)?;
                arguments = Some(linker_arguments(&text));
            } else if path != Path::new("version.txt")
                && path.components().all(|part| matches!(part, Component::Normal(_)))
            {
                let place = into.join(&path);
                fs::create_dir_all(place.parent().unwrap_or(into))?;
                io::copy(&mut entry, &mut File::create(place)?)?;
                inputs.insert(path);
            }
        }
        let arguments = arguments.ok_or_else(|| io::Error::other("it has no command line"))?;
        Ok(Self { arguments, inputs })
    }

    /// The recipe of the same link with its inputs at `inputs`, by this linker with libraries in these directories.
    fn recipe(
        &self,
        original: &Recipe,
        inputs: &Path,
        linker: &Path,
        libraries: &[PathBuf],
    ) -> Recipe {
        let absolute = |argument: &String| {
            let is_input = self.inputs.contains(Path::new(argument)) && Recipe::is_input(argument);
            if is_input { inputs.join(argument).display().to_string() } else { argument.clone() }
        };
        let mut arguments: Vec<String> = self.arguments.iter().map(absolute).collect();
        // Scripts such as that of the C library name inputs by absolute paths.
        if !arguments.iter().any(|argument| argument.starts_with("--sysroot")) {
            arguments.push(format!("--sysroot={}", inputs.display()));
        }
        let libraries: Vec<String> =
            libraries.iter().map(|directory| directory.display().to_string()).collect();
        Recipe {
            linker: linker.display().to_string(),
            arguments,
            output: original.output.clone(),
            directory: inputs.to_owned(),
            environment: vec![("LD_LIBRARY_PATH".to_owned(), libraries.join(":"))],
        }
    }
}

/// The arguments of LLD in its own record, without those that name the output and the root of the inputs.
fn linker_arguments(response: &str) -> Vec<String> {
    let mut words = recipe::words(response).into_iter();
    let mut arguments = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--chroot" | "-o" => drop(words.next()),
            // GCC names this file at random for its plugin, which LLD does not load: each version would have other options.
            _ if word.starts_with("-plugin-opt=-fresolution=") => {}
            _ => arguments.push(word),
        }
    }
    arguments
}

/// The file of the linker that a recipe runs, and the libraries that it loads besides those of the C library.
fn linker_program(recipe: &Recipe, linker: &Linker, what: &str) -> Result<(PathBuf, Vec<PathBuf>)> {
    let unknown = || {
        Error::new(Exit::Build, what)
            .cause(format!("the program of its linker, {}, is not found", linker.version))
    };
    let mut candidates = Vec::new();
    if linker.through_driver {
        for name in [LLD, "ld", "lld"] {
            let asks = format!("-print-prog-name={name}");
            let mut command = recipe.program(&recipe.linker);
            command
                .args(recipe.arguments.iter().filter(|word| chooses_linker(word)))
                .args(&linker.instead)
                .arg(asks);
            if let Ok(output) = tool::run(&mut command, Task::Run, || what.to_owned()) {
                let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                candidates.extend(on_path(recipe, Path::new(&path)));
            }
        }
    } else {
        candidates.extend(on_path(recipe, Path::new(&recipe.linker)));
    }
    let is_it = |program: &PathBuf| {
        let mut command = recipe.program(program);
        let output = tool::run(command.arg("--version"), Task::Run, || what.to_owned());
        output.is_ok_and(|output| {
            String::from_utf8_lossy(&output.stdout).lines().next() == Some(&linker.version)
        })
    };
    let found = candidates.into_iter().find(is_it).ok_or_else(unknown)?;
    let found = found.canonicalize().context(Exit::Build, || what.to_owned())?;
    // The `ld.lld` of a toolchain only starts the real one beside its directory.
    let real = found.parent().and_then(Path::parent).map(|above| above.join("rust-lld"));
    let program = real.filter(|real| real.is_file()).unwrap_or(found);
    let mut loader = recipe.program(&program);
    loader.env("LD_TRACE_LOADED_OBJECTS", "1");
    let listed = tool::run(&mut loader, Task::Run, || what.to_owned())?;
    let libraries = loaded_libraries(&String::from_utf8_lossy(&listed.stdout));
    Ok((program, libraries))
}

/// True for an argument of a compiler driver that decides about its linker.
fn chooses_linker(word: &str) -> bool {
    ["-B", "-fuse-ld=", "--ld-path=", "--target="].iter().any(|flag| word.starts_with(flag))
}

/// A program by its path or, if that is only a name, in the directories of the recipe's `PATH`.
fn on_path(recipe: &Recipe, program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let path = recipe.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path)?;
    std::env::split_paths(path).map(|directory| directory.join(program)).find(|path| path.is_file())
}

/// The libraries in the loader's list: `NAME => PATH (ADDRESS)`.
fn loaded_libraries(listed: &str) -> Vec<PathBuf> {
    let library = |line: &str| {
        let (name, rest) = line.trim().split_once(" => ")?;
        let path = rest.rsplit_once(" (").map_or(rest, |(path, _)| path);
        let is_of_c = C_LIBRARY.iter().any(|known| name.starts_with(known));
        (!is_of_c && path.starts_with('/')).then(|| PathBuf::from(path))
    };
    listed.lines().filter_map(library).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_libraries_are_those_beside_the_c_library() {
        let listed = "\tlinux-vdso.so.1 (0x00007f0213448000)\n\
            \tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f0213412000)\n\
            \tlibLLVM.so.22.1 => /a b/libLLVM.so.22.1 (0x00007f0208400000)\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f020813e000)\n\
            \tlibgone.so => not found\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f021344a000)\n";
        let expected = ["/lib/x86_64-linux-gnu/libz.so.1", "/a b/libLLVM.so.22.1"];
        assert_eq!(loaded_libraries(listed), expected.map(PathBuf::from));
    }

    #[test]
    fn response_names_neither_output_nor_root_nor_temporary_files() {
        let response = "--chroot .\n-plugin-opt=-fresolution=/tmp/ccYi5nuT.res\n-pie\n-o \"a b\"\nusr/lib/crt1.o\n\
            -L usr/lib\n-l c\n";
        let expected = ["-pie", "usr/lib/crt1.o", "-L", "usr/lib", "-l", "c"];
        assert_eq!(linker_arguments(response), expected);
    }

    #[test]
    fn archive_of_lld_is_read_with_long_paths() {
        let long = format!("x/{}/long.o", "deep/".repeat(60));
        let mut archive = tar::Builder::new(Vec::new());
        let mut add = |name: &str, contents: &[u8]| {
            let mut header = tar::Header::new_ustar();
            header.set_path(name).unwrap();
            header.set_size(contents.len() as u64);
            header.set_cksum();
            archive.append(&header, contents).unwrap();
        };
        add("x/response.txt", b"--chroot .\nusr/a.o\n");
        add("x/usr/a.o", b"object");
        archive.append_pax_extensions([("path", long.as_bytes())]).unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_size(7);
        header.set_cksum();
        archive.append(&header, &b"another"[..]).unwrap();
        let archive = archive.into_inner().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let read = Reproduced::unpack(&*archive, scratch.path()).unwrap();
        assert_eq!(read.arguments, ["usr/a.o"]);
        assert_eq!(read.inputs.len(), 2);
        assert_eq!(fs::read(scratch.path().join("usr/a.o")).unwrap(), b"object");
        let long: PathBuf = Path::new(&long).components().skip(1).collect();
        assert_eq!(fs::read(scratch.path().join(long)).unwrap(), b"another");
    }
}
