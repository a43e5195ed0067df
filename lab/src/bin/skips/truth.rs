//! What an execution does: counted by callgrind, with a clock that is the same in each run.

use std::{
    collections::BTreeMap,
    error::Error,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    mutate::{Aligned, Change, Mutant, has_extension},
    project::{BENCHMARKS, Project, Settings},
};

/// The C library's own instructions depend on addresses, for example those of `memcpy`. So its calls are compared, and its
/// instructions only by a share of all.
const LIBRARY: f64 = 0.01;
/// Functions of the standard library that first go on to an aligned address, and do the same as the C library's.
const BY_ADDRESS: [&str; 4] = [
    "core::slice::memchr::",
    "core::slice::ascii::is_ascii",
    "core::str::converts::from_utf8",
    "core::str::count::",
];
/// The standard library calls it when a process starts, and it reads the memory map of the process, which has a line more
/// or less where the sizes of sections differ: 2,209 instructions a line, of no benchmark.
const READS_MEMORY_MAP: &str = "pthread_getattr_np";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// Instructions of each function of the executable and its own libraries.
    functions: BTreeMap<String, u64>,
    /// Calls of functions of the C library from there.
    calls: BTreeMap<String, u64>,
    /// Instructions of each function whose number depends on addresses, most of them in the C library.
    library: BTreeMap<String, u64>,
    /// Those of them that read the memory map.
    reading_memory_map: u64,
    bytes: u64,
}

impl Execution {
    fn instructions(&self) -> u64 {
        self.functions.values().sum()
    }

    fn in_library(&self) -> u64 {
        self.library.values().sum::<u64>().saturating_sub(self.reading_memory_map)
    }
}

/// All benchmarks of a version, and the places of its statics.
pub struct Truth {
    executions: Vec<Execution>,
    executable: Vec<u8>,
    /// The output of `nm`.
    symbols: String,
}

/// Builds versions with plain cargo, and executes them.
pub struct Laboratory {
    clock: PathBuf,
    cargo: OsString,
}

impl Laboratory {
    pub fn new(root: &Path) -> Result<Self, Box<dyn Error>> {
        let (source, clock) = (root.join("clock.c"), root.join("clock.so"));
        fs::write(&source, include_str!("clock.c"))?;
        checked(
            Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&clock).arg(&source),
        )?;
        Ok(Self { clock, cargo: lab::rbench::cargo() })
    }

    /// The files of the project as they are now, with these settings. A mutant whose executable is that of the base, and
    /// that changes nothing else that a process could notice, is not executed.
    pub fn observe(
        &self,
        project: &Project,
        mutant: Option<&Mutant>,
        base: Option<&Truth>,
    ) -> Result<Truth, Box<dyn Error>> {
        let settings = match mutant.map(|mutant| &mutant.change) {
            Some(Change::Settings(settings)) => settings.clone(),
            _ => Settings::default(),
        };
        let path = self.build(project, &settings)?;
        let executable = fs::read(&path)?;
        if let (Some(mutant), Some(base)) = (mutant, base)
            && executable == base.executable
            && changes_sources_only(mutant)
        {
            let executions = base.executions.clone();
            return Ok(Truth { executions, executable, symbols: base.symbols.clone() });
        }
        let symbols = checked(Command::new("nm").arg("--demangle").arg(&path))?;
        let executions: Result<Vec<_>, _> = BENCHMARKS
            .iter()
            .map(|benchmark| self.execute(project, &settings, benchmark))
            .collect();
        Ok(Truth {
            executions: executions?,
            executable,
            symbols: String::from_utf8_lossy(&symbols).into_owned(),
        })
    }

    fn cargo(
        &self,
        project: &Project,
        settings: &Settings,
        is_program: &[&str],
        is_bench: &[&str],
    ) -> Command {
        let mut command = project.command(&self.cargo);
        command.args(if project.kind.arguments.is_some() { is_bench } else { is_program });
        command.arg("--quiet").args(&settings.cargo);
        command.envs(settings.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn build(&self, project: &Project, settings: &Settings) -> Result<PathBuf, Box<dyn Error>> {
        let mut cargo = self.cargo(
            project,
            settings,
            &["build", "--release"],
            &["bench", "--no-run", "--bench", "work"],
        );
        let messages = checked(cargo.arg("--message-format=json"))?;
        let messages = String::from_utf8(messages)?;
        let mut executables = messages.lines().filter_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            Some(PathBuf::from(message["executable"].as_str()?))
        });
        Ok(executables.next_back().ok_or("cargo names no executable")?)
    }

    /// Executes one benchmark. Cargo starts it in the environment that it has for users.
    fn execute(
        &self,
        project: &Project,
        settings: &Settings,
        benchmark: &str,
    ) -> Result<Execution, Box<dyn Error>> {
        let output = |name: &str| project.path.join("target").join(name);
        let (profile, bytes) = (output("callgrind.out"), output("bytes"));
        let runner = [
            "env".to_owned(),
            format!("LD_PRELOAD={}", self.clock.display()),
            format!("BYTES={}", bytes.display()),
            // The dynamic linker's searches are no work of the benchmark.
            "LD_BIND_NOW=1".to_owned(),
            "valgrind".to_owned(),
            "--quiet".to_owned(),
            "--tool=callgrind".to_owned(),
            "--compress-strings=no".to_owned(),
            "--compress-pos=no".to_owned(),
            format!("--callgrind-out-file={}", profile.display()),
        ];
        let mut cargo =
            self.cargo(project, settings, &["run", "--release"], &["bench", "--bench", "work"]);
        cargo.arg("--config").arg(format!("target.'cfg(all())'.runner={runner:?}")).arg("--");
        cargo.args(project.kind.arguments.unwrap_or_default());
        let id = if project.kind.name == "divan" {
            format!("work::{benchmark}")
        } else {
            benchmark.to_owned()
        };
        checked(cargo.arg(id))?;
        let mut execution = parsed(&fs::read_to_string(&profile)?);
        execution.bytes = fs::read_to_string(bytes)?.trim().parse()?;
        Ok(execution)
    }
}

impl Truth {
    /// The difference of a benchmark's work from the base, in words.
    pub fn difference(
        &self,
        base: &Self,
        benchmark: usize,
        aligned: Option<&Aligned>,
    ) -> Option<String> {
        let [old, new] = [base, self].map(|truth| &truth.executions[benchmark]);
        if old.bytes != new.bytes {
            return Some(format!("{} -> {} bytes read", old.bytes, new.bytes));
        }
        if old.instructions() != new.instructions() {
            return Some(format!(
                "{} -> {} instructions, most of the difference in {}",
                old.instructions(),
                new.instructions(),
                most_different(&old.functions, &new.functions)?
            ));
        }
        let names = old.calls.keys().chain(new.calls.keys());
        let calls = |execution: &Execution, name| execution.calls.get(name).copied().unwrap_or(0);
        for name in names {
            let [old, new] = [old, new].map(|execution| calls(execution, name));
            if old != new {
                return Some(format!("{old} -> {new} calls of {name}"));
            }
        }
        let [before, after] = [old, new].map(Execution::in_library);
        if before.abs_diff(after) as f64 > LIBRARY * (old.instructions() + before) as f64 {
            return Some(format!(
                "{before} -> {after} instructions that depend on addresses, most of the difference in {}",
                most_different(&old.library, &new.library)?
            ));
        }
        let aligned = aligned?;
        let is_used = old.functions.keys().any(|function| function.contains(&aligned.users));
        let places = [base, self].map(|truth| place(&truth.symbols, &aligned.symbol));
        (is_used && places[0] != places[1])
            .then(|| format!("{} at {places:?} modulo 64", aligned.symbol))
    }
}

/// The function whose instructions differ most.
fn most_different<'a>(
    old: &'a BTreeMap<String, u64>,
    new: &'a BTreeMap<String, u64>,
) -> Option<&'a str> {
    let of = |counts: &BTreeMap<String, u64>, name| counts.get(name).copied().unwrap_or_default();
    let names = old.keys().chain(new.keys());
    names.max_by_key(|name| of(old, *name).abs_diff(of(new, *name))).map(String::as_str)
}

/// The address of a static, modulo the size of a cache line.
fn place(symbols: &str, name: &str) -> Option<u64> {
    symbols.lines().find_map(|line| {
        let symbol = line.get(19..)?;
        let is_it =
            symbol == name || symbol.strip_suffix(name).is_some_and(|rest| rest.ends_with("::"));
        is_it.then(|| u64::from_str_radix(line.get(..16)?, 16).ok().map(|address| address % 64))?
    })
}

/// True if only what is compiled to the executable differs.
fn changes_sources_only(mutant: &Mutant) -> bool {
    let Change::Files(files) = &mutant.change else { return false };
    files.keys().all(|path| has_extension(path, "rs") && path != "build.rs")
}

/// Adds up what callgrind has counted.
fn parsed(profile: &str) -> Execution {
    let mut execution = Execution::default();
    let (mut object, mut function) = ("", "");
    // The object of a call, if it is another one, and the called function.
    let mut callee = (None, "");
    // Whose costs the next line has, if these are those of a call.
    let mut called_function = None;
    for line in profile.lines() {
        match line.split_once('=') {
            Some(("ob", name)) => object = name,
            Some(("fn", name)) => function = name,
            Some(("cob", name)) => callee.0 = Some(name),
            Some(("cfn", name)) => callee.1 = name,
            Some(("calls", rest)) => {
                called_function = Some(callee.1);
                let count =
                    rest.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
                let called = callee.0.take().unwrap_or(object);
                if is_own(object) && !is_own(called) {
                    *execution.calls.entry(callee.1.to_owned()).or_default() += count;
                }
            }
            // The costs of a call are also those of the called function.
            None if line.starts_with(|first: char| first.is_ascii_digit()) => {
                let cost: u64 =
                    line.split(' ').nth(1).and_then(|cost| cost.parse().ok()).unwrap_or(0);
                if let Some(called) = called_function.take() {
                    if is_own(object) && called.starts_with(READS_MEMORY_MAP) {
                        execution.reading_memory_map += cost;
                    }
                } else if is_own(object)
                    && !BY_ADDRESS.iter().any(|start| function.starts_with(start))
                {
                    *execution.functions.entry(function.to_owned()).or_default() += cost;
                } else if is_own(object) || object.contains("/libc.") {
                    *execution.library.entry(function.to_owned()).or_default() += cost;
                }
            }
            _ => {}
        }
    }
    execution
}

fn is_own(object: &str) -> bool {
    let file = object.rsplit('/').next().unwrap_or(object);
    !["ld-linux", "libc.", "libm.", "libgcc_s", "clock.so", "???"]
        .iter()
        .any(|start| file.starts_with(start))
}

fn checked(command: &mut Command) -> Result<Vec<u8>, Box<dyn Error>> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let first: Vec<&str> = errors
            .lines()
            .filter(|line| line.contains("error") || line.contains("panicked"))
            .take(3)
            .collect();
        return Err(format!("{}: {}", output.status, first.join(" ")).into());
    }
    Ok(output.stdout)
}
