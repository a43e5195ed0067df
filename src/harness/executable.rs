//! Runs processes of a bench target's executable for a harness, in the environment that Cargo gives to such processes,
//! and in scratch directories that are removed even after a kill.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use cargo_metadata::Package;
use signal_hook::low_level::signal_name;

use crate::{
    error::{Error, Exit, Result},
    escape::escape_untrusted,
    model::{
        BenchTarget, Execution, ExecutionRequest, Incident, Name, Outcome, Schedule, Series,
        Setups, WITHOUT_ARGUMENTS,
    },
    process::{
        self, Ended, Ending, Interrupt, Invocation, Limits, Output,
        counting::{Counting, allocations},
        interleaving::InterleavedProcess,
        trace::Tracing,
    },
    secrets,
    shell::{cargo, quoted},
};

/// An executable of a bench target, with the environment that Cargo gives to its processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executable {
    pub package: String,
    pub target: String,
    pub path: PathBuf,
    /// The package's root, where benchmarks expect to run.
    pub directory: PathBuf,
    /// `CARGO_MANIFEST_DIR`, `CARGO_PKG_*`, the path of shared libraries, and variables set by build scripts and
    /// cargo's configuration.
    pub variables: Vec<(OsString, OsString)>,
    /// Arguments that select this bench target after `cargo rbench exec`: revision, package, target and flags that
    /// affect its compilation. None outside of a project.
    pub selection: Option<String>,
}

/// The conditions that all executions of a run share.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'c> {
    pub interrupt: &'c Interrupt,
    /// Longest time of a process; derived from its work if absent.
    pub deadline: Option<Duration>,
    pub cpu: Option<usize>,
    /// The process's role in an interleaved pair, if it has one.
    pub member: Option<&'c InterleavedProcess>,
    /// Settings of the tracer, if the process is traced.
    pub tracing: Option<&'c Tracing>,
    /// Settings for counting instructions, if they are counted. Harnesses then report counts instead of times.
    pub counting: Option<&'c Counting>,
    /// The same for allocations.
    pub allocations: Option<&'c allocations::Counting>,
    /// The set-ups of benchmarks, unless the caller prepares and concludes executions.
    pub setups: Option<&'c Setups>,
}

impl<'c> Conditions<'c> {
    /// Conditions with only an interrupt.
    pub const fn new(interrupt: &'c Interrupt) -> Self {
        Self {
            interrupt,
            deadline: None,
            cpu: None,
            member: None,
            tracing: None,
            counting: None,
            allocations: None,
            setups: None,
        }
    }

    /// Checks the requirements of every execution before anything is compiled: the CPU, and a directory for temporary
    /// files. Removes the directories of killed runs.
    pub fn check(&self) -> Result<()> {
        process::check_cpu(self.cpu)?;
        process::remove_abandoned();
        process::Scratch::new().map(drop)
    }
}

/// The reason why several benchmarks of one process cannot be observed together.
pub(super) const NOT_ALL: &str = "not all of these benchmarks were executed";

#[derive(Clone, Copy)]
pub(super) enum Purpose<'p> {
    List,
    Execute(&'p [Name]),
}

impl Executable {
    pub fn target(&self) -> BenchTarget {
        BenchTarget { package: self.package.clone(), target: self.target.clone() }
    }

    /// A process that executes `benchmarks` as requested, by these arguments; each takes at least the time `work`.
    pub(super) fn execution<'e>(
        &'e self,
        benchmarks: &'e [Name],
        arguments: Vec<OsString>,
        work: Duration,
        (request, conditions): (&ExecutionRequest, &Conditions<'_>),
    ) -> Process<'e> {
        let invocation = self.invocation(arguments, Some(request.seed), conditions);
        Process::executing(self, benchmarks, invocation, work)
    }

    /// A process of this executable with `arguments`, in the initial state of `seed`.
    pub(super) fn invocation<A: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        seed: Option<u64>,
        conditions: &Conditions<'_>,
    ) -> Invocation {
        Invocation {
            program: self.path.clone(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            input: None,
            directory: self.directory.clone(),
            variables: self.variables.clone(),
            padding_seed: seed,
            cpu: conditions.cpu,
            launcher: None,
            tracing: conditions.tracing.cloned(),
            counting: conditions.counting.map(Counting::process),
            allocations: conditions.allocations.cloned(),
        }
    }

    fn description(&self, purpose: Purpose<'_>) -> String {
        match purpose {
            Purpose::List => format!("list the benchmarks of {}", self.target),
            Purpose::Execute([only]) => {
                format!("execute benchmark `{}` of {}", escape_untrusted(&only.id), self.target)
            }
            Purpose::Execute(several) => {
                format!("execute {} benchmarks of {}", several.len(), self.target)
            }
        }
    }

    /// The rbench command that repeats a process for `purpose`.
    fn reproduction(&self, purpose: Purpose<'_>) -> Option<String> {
        let (cargo, selection) = (cargo(), self.selection.as_ref()?);
        Some(match purpose {
            Purpose::List => format!("{cargo} rbench list {selection}"),
            Purpose::Execute([only]) => {
                let dashes = if only.id.starts_with('-') { "-- " } else { "" };
                format!("{cargo} rbench exec {selection} --exact {dashes}{}", quoted(&only.id))
            }
            Purpose::Execute(_) => format!("{cargo} rbench exec {selection} --whole-target"),
        })
    }
}

pub(super) struct Process<'e> {
    pub(super) executable: &'e Executable,
    pub(super) purpose: Purpose<'e>,
    pub(super) invocation: Invocation,
    /// The same for a person to type: without parts that only rbench can provide.
    pub(super) typed: Invocation,
    pub(super) work: Duration,
    /// The exit statuses of a successful end besides 0, if it is a program that has its own.
    pub(super) statuses: Option<Vec<i32>>,
}

impl<'e> Process<'e> {
    pub(super) fn listing(executable: &'e Executable, invocation: Invocation) -> Self {
        Self::new(executable, Purpose::List, invocation, Duration::ZERO)
    }

    /// A process that executes benchmarks, each of which takes at least the time `work`.
    pub(super) fn executing(
        executable: &'e Executable,
        benchmarks: &'e [Name],
        invocation: Invocation,
        work: Duration,
    ) -> Self {
        let count = u32::try_from(benchmarks.len()).unwrap_or(u32::MAX);
        let work = work.saturating_mul(count);
        Self::new(executable, Purpose::Execute(benchmarks), invocation, work)
    }

    fn new(
        executable: &'e Executable,
        purpose: Purpose<'e>,
        invocation: Invocation,
        work: Duration,
    ) -> Self {
        Self { executable, purpose, typed: invocation.clone(), invocation, work, statuses: None }
    }

    /// Runs the process. An end by deadline or interrupt is an error, any other is not.
    pub(super) fn run(&self, conditions: &Conditions<'_>) -> Result<Ended> {
        self.run_within(Limits::for_duration(self.work), conditions)
    }

    /// The same with other limits.
    pub(super) fn run_within(
        &self,
        mut limits: Limits,
        conditions: &Conditions<'_>,
    ) -> Result<Ended> {
        limits.deadline = conditions.deadline.unwrap_or(limits.deadline);
        let names = match self.purpose {
            Purpose::List => &[],
            Purpose::Execute(names) => names,
        };
        self.executable.prepared(names, conditions, || self.run_prepared(&limits, conditions))
    }

    fn run_prepared(&self, limits: &Limits, conditions: &Conditions<'_>) -> Result<Ended> {
        let ended = process::run(&self.invocation, limits, conditions.interrupt, conditions.member)
            .map_err(|error| match (error.exit(), self.removed()) {
                (Exit::Benchmark | Exit::Internal, Some(removed)) => missing_executable(removed),
                (Exit::Benchmark, None) => self.with_reproduction(error),
                _ => error,
            })?;
        match ended.ending {
            Ending::Exited(_) | Ending::Signalled(_) => Ok(ended),
            Ending::Deadline => {
                let reason =
                    format!("it was still running after {:.1} s", limits.deadline.as_secs_f64());
                Err(self.error(&reason, &ended).hint("allow more time with --deadline"))
            }
            Ending::Interrupted => {
                let what = format!("stopped: {}", self.executable.description(self.purpose));
                Err(Error::new(Exit::Interrupted, what))
            }
        }
    }

    /// The file or directory that the process needs and that no longer exists. If it is a program other than the
    /// target's own, its absence is an error of the benchmark instead.
    fn removed(&self) -> Option<&Path> {
        let Invocation { program, directory, .. } = &self.invocation;
        let own = Some(program).filter(|program| **program == self.executable.path);
        let mut needed = own.into_iter().chain([directory]);
        needed.find(|path| !path.exists()).map(PathBuf::as_path)
    }

    /// Like [`run`](Self::run), but an unsuccessful end is an error too.
    pub(super) fn run_to_success(&self, conditions: &Conditions<'_>) -> Result<Ended> {
        self.succeeded(self.run(conditions)?)
    }

    /// Like [`run`](Self::run), but keeps all output: for lists of benchmarks.
    pub(super) fn run_for_list(&self, conditions: &Conditions<'_>) -> Result<Ended> {
        /// Enough for a hundred thousand benchmarks, in bytes.
        const MOST: usize = 16 << 20;
        self.run_within(Limits { output: MOST, ..Limits::for_duration(self.work) }, conditions)
    }

    /// The complete output of a successful process.
    pub(super) fn whole_output(&self, conditions: &Conditions<'_>) -> Result<Output> {
        let ended = self.succeeded(self.run_for_list(conditions)?)?;
        if ended.output.omitted > 0 {
            return Err(self.error("its list is longer than 16 MiB", &ended));
        }
        Ok(ended.output)
    }

    fn succeeded(&self, ended: Ended) -> Result<Ended> {
        match (unsuccessful(ended.ending), ended.ending, &self.statuses) {
            (None, ..) => Ok(ended),
            (_, Ending::Exited(status), Some(allowed)) if allowed.contains(&status) => Ok(ended),
            (Some(mut reason), Ending::Exited(status), Some(_)) => {
                // Most programs that need some say so below, in words that do not name the option of rbench.
                if self.invocation.arguments.is_empty() {
                    reason += WITHOUT_ARGUMENTS;
                }
                let hint = format!(
                    "if it ends so when it has done its work: --statuses {status}, or \
                     `statuses = [{status}]` in its table of bench.toml"
                );
                Err(self.error(&reason, &ended).hint(hint))
            }
            (Some(reason), ..) => Err(self.error(&reason, &ended)),
        }
    }

    /// An error of this process, with the end of its output and a command to reproduce it.
    pub(super) fn error(&self, reason: &str, ended: &Ended) -> Error {
        let what = format!("cannot {}", self.executable.description(self.purpose));
        let mut error = Error::new(Exit::Benchmark, what).cause(reason);
        error = incidents(ended)
            .iter()
            .fold(error, |error, incident| error.cause(incident.to_string()));
        let tail = ended.output.last_lines(LINES);
        if !tail.trim().is_empty() {
            error = error.cause("the end of its output:");
            for line in tail.lines() {
                error = error.cause(format!("  {}", printable(line)));
            }
        }
        if let Some(advice) = secrets::advice(&ended.output.to_string()) {
            error = error.hint(advice);
        }
        self.with_reproduction(error)
    }

    pub(super) fn error_of(&self, benchmark: &Name, reason: &str, ended: &Ended) -> Error {
        let purpose = Purpose::Execute(std::slice::from_ref(benchmark));
        let (invocation, typed) = (self.invocation.clone(), self.typed.clone());
        Process {
            executable: self.executable,
            purpose,
            invocation,
            typed,
            work: self.work,
            statuses: None,
        }
        .error(reason, ended)
    }

    fn with_reproduction(&self, error: Error) -> Error {
        let typed = secrets::text(self.typed.to_string().as_bytes());
        let command = self.executable.reproduction(self.purpose);
        let shown = command.as_ref().unwrap_or(&typed);
        error.hint(format!("reproduce with: {shown}")).with_command(typed)
    }
}

fn missing_executable(path: &Path) -> Error {
    Error::new(Exit::Build, format!("{} is no longer there", path.display()))
        .cause("something has removed it since it was built")
}

/// The reason why a benchmark whose id others of its target have cannot be executed.
pub(super) fn several_have_this_id(number: usize) -> String {
    format!("{number} benchmarks have this id; give each a name of its own")
}

/// The reason why a listed benchmark cannot be executed.
pub(super) const NO_SUCH_ID: &str = "the executable has no benchmark of this id; an id must be the \
                                     same in every run, without times or random numbers";

/// The execution of a process with these measurements, whose harness reports nothing else.
pub(super) fn measured(
    request: &ExecutionRequest,
    series: Vec<Series>,
    ended: &Ended,
) -> Execution {
    Execution {
        asked: request.clone(),
        series,
        throughput: Vec::new(),
        warm_up: None,
        schedule: Schedule::NotRequested,
        alone: None,
        incidents: incidents(ended),
        resources: ended.resources.clone(),
    }
}

/// The outcome of a process that executed benchmarks without measuring them, if it executed all of them to their end.
pub(super) fn observed(has_all: bool, request: &ExecutionRequest, ended: &Ended) -> Outcome {
    if has_all && ended.ending == Ending::Exited(0) {
        Outcome::Measured(measured(request, Vec::new(), ended))
    } else {
        Outcome::Skipped(NOT_ALL.to_owned())
    }
}

/// Remarkable events at the end of a process.
pub(super) fn incidents(ended: &Ended) -> Vec<Incident> {
    let left: Vec<_> = ended.left_behind.iter().map(|name| printable(name)).collect();
    if left.is_empty() { Vec::new() } else { vec![Incident::LeftBehind(left)] }
}

/// Shown lines of a process's text: enough for a panic message and a short trace.
const LINES: usize = 20;

/// A multi-line text of a process, escaped and cut in length, to be shown and stored.
pub(super) fn printable_lines(text: &str) -> String {
    let mut all = text.lines();
    let mut lines: Vec<String> = all.by_ref().take(LINES).map(printable).collect();
    lines.extend(all.next().map(|_| "…".to_owned()));
    lines.join("\n")
}

/// A line of a process's output, cut in length, without colours and other control sequences for a terminal.
fn printable(line: &str) -> String {
    const LONGEST: usize = 300;
    let plain = anstream::adapter::strip_str(line).to_string();
    let mut characters = plain.chars().filter(|c| !c.is_control() || *c == '\t');
    let mut shown: String = characters.by_ref().take(LONGEST).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// The reason why an ending is unsuccessful; none for success.
pub(super) fn unsuccessful(ending: Ending) -> Option<String> {
    match ending {
        Ending::Exited(0) => None,
        Ending::Exited(status) => Some(format!("it exited with status {status}")),
        Ending::Signalled(signal) => {
            let name = signal_name(signal).map(|name| format!(" ({name})")).unwrap_or_default();
            Some(format!("it was killed by signal {signal}{name}"))
        }
        Ending::Deadline => Some("it took too long".to_owned()),
        Ending::Interrupted => Some("it was interrupted".to_owned()),
    }
}

/// The variables by which Cargo describes `package`: `CARGO_MANIFEST_DIR`, `CARGO_PKG_*` and the like.
pub fn package_variables(package: &Package) -> Vec<(OsString, OsString)> {
    let version = &package.version;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let path = |path: &Option<cargo_metadata::camino::Utf8PathBuf>| {
        path.as_ref().map(ToString::to_string).unwrap_or_default()
    };
    let directory = package.manifest_path.parent().map(ToString::to_string).unwrap_or_default();
    [
        ("CARGO_MANIFEST_DIR", directory),
        ("CARGO_MANIFEST_PATH", package.manifest_path.to_string()),
        ("CARGO_PKG_NAME", package.name.to_string()),
        ("CARGO_PKG_VERSION", version.to_string()),
        ("CARGO_PKG_VERSION_MAJOR", version.major.to_string()),
        ("CARGO_PKG_VERSION_MINOR", version.minor.to_string()),
        ("CARGO_PKG_VERSION_PATCH", version.patch.to_string()),
        ("CARGO_PKG_VERSION_PRE", version.pre.to_string()),
        ("CARGO_PKG_AUTHORS", package.authors.join(":")),
        ("CARGO_PKG_DESCRIPTION", text(&package.description)),
        ("CARGO_PKG_HOMEPAGE", text(&package.homepage)),
        ("CARGO_PKG_REPOSITORY", text(&package.repository)),
        ("CARGO_PKG_LICENSE", text(&package.license)),
        ("CARGO_PKG_LICENSE_FILE", path(&package.license_file)),
        ("CARGO_PKG_README", path(&package.readme)),
        (
            "CARGO_PKG_RUST_VERSION",
            package.rust_version.as_ref().map(ToString::to_string).unwrap_or_default(),
        ),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value.into()))
    .collect()
}

/// The variable with which the system's loader finds shared libraries: `directories` before its present value
/// (`inherited`). Directories whose names cannot be in a path list are omitted.
pub fn library_path(directories: &[PathBuf], inherited: Option<&OsStr>) -> (OsString, OsString) {
    let inherited = inherited.into_iter().flat_map(std::env::split_paths);
    let can_be_listed = |directory: &Path| std::env::join_paths([directory]).is_ok();
    let directories: Vec<PathBuf> = directories
        .iter()
        .cloned()
        .chain(inherited)
        .filter(|directory| can_be_listed(directory) && !directory.as_os_str().is_empty())
        .collect();
    ("LD_LIBRARY_PATH".into(), std::env::join_paths(directories).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::resources;

    fn ended(output: String, left_behind: &[&str]) -> Ended {
        Ended {
            ending: Ending::Exited(1),
            resources: resources(),
            output: Output { head: output.into_bytes(), ..Output::default() },
            left_behind: left_behind.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn error(selection: Option<&str>, id: &str, ended: &Ended) -> Error {
        let executable = Executable {
            target: "t".to_owned(),
            selection: selection.map(str::to_owned),
            ..Executable::default()
        };
        let invocation = Invocation { program: "b".into(), ..Invocation::default() };
        let benchmarks = [Name::plain(id)];
        Process::executing(&executable, &benchmarks, invocation, Duration::ZERO)
            .error("it exited with status 1", ended)
    }

    #[test]
    fn error_shows_the_end_of_the_output_without_control_codes() {
        let head = format!("{}\x1b[31mred\x1b[0m\x07\n{}\n", "line\n".repeat(30), "x".repeat(1000));
        let error = error(None, "b", &ended(head, &[])).to_string();
        let lines: Vec<_> = error.lines().collect();
        assert_eq!(lines.len(), 3 + 20 + 1, "{error}");
        assert_eq!(lines[21], "    red");
        assert_eq!(lines[22].chars().count(), 4 + 300 + 1);
        assert!(error.ends_with("\nhint: reproduce with: cd '' && b"), "{error}");
    }

    #[test]
    fn removed_build_is_not_blamed_on_the_benchmark() {
        let run_with = |launcher: Option<&str>, path: &str, program: &str, directory: &str| {
            let executable = Executable { path: path.into(), ..Executable::default() };
            let invocation = Invocation {
                program: program.into(),
                directory: directory.into(),
                launcher: launcher.map(PathBuf::from),
                ..Invocation::default()
            };
            let interrupt = Interrupt::new().unwrap();
            let conditions = Conditions::new(&interrupt);
            let process = Process::listing(&executable, invocation);
            let error = process.run(&conditions).unwrap_err();
            (error.exit(), error.what().to_owned())
        };
        let run = |path, program, directory| run_with(None, path, program, directory);
        let gone = |path: &str| (Exit::Build, format!("{path} is no longer there"));
        assert_eq!(run("/no/build", "/no/build", "/"), gone("/no/build"));
        assert_eq!(run("/bin/sh", "/bin/sh", "/no/place"), gone("/no/place"));
        let missing = (Exit::Benchmark, "cannot run /no/program".to_owned());
        assert_eq!(run("/bin/sh", "/no/program", "/"), missing);
        for launcher in ["/bin/sh", "/no/launcher"] {
            let launched = run_with(Some(launcher), "/bin/sh", "/bin/sh", "/no/place");
            assert_eq!(launched, gone("/no/place"));
        }
        let unlaunched = (Exit::Internal, "cannot run /no/launcher".to_owned());
        assert_eq!(run_with(Some("/no/launcher"), "/bin/sh", "/bin/sh", "/"), unlaunched);
    }

    #[test]
    fn printable_lines_are_cut_in_length() {
        assert_eq!(printable_lines("no GPU\n\n  here\x07\r\n"), "no GPU\n\n  here");
        let long = printable_lines(&format!("{}\n", "x".repeat(1000)).repeat(1000));
        assert_eq!(long.lines().count(), 20 + 1);
        assert_eq!(long.lines().next().unwrap().chars().count(), 300 + 1);
        assert!(long.ends_with("…\n…"));
    }

    #[test]
    fn error_shows_the_rbench_command_and_keeps_the_exact_one() {
        let error = error(Some("1a2b3c4 --bench t"), "a b", &ended(String::new(), &[]));
        let text = error.to_string();
        let hint = "hint: reproduce with: cargo rbench exec 1a2b3c4 --bench t --exact 'a b'";
        assert!(text.ends_with(hint), "{text}");
        assert_eq!(error.command(), Some("cd '' && b"));
    }

    #[test]
    fn id_like_a_flag_is_escaped_in_the_command() {
        let text = error(Some("."), "-v", &ended(String::new(), &[])).to_string();
        assert!(text.ends_with("cargo rbench exec . --exact -- -v"), "{text}");
    }

    #[test]
    fn left_behind_processes_of_a_failed_benchmark_are_named() {
        let text = error(None, "b", &ended(String::new(), &["sle\x07ep"])).to_string();
        assert!(text.contains("it left processes running, which were killed: sleep"), "{text}");
    }

    #[test]
    fn package_variables_are_those_of_cargo() {
        let package: Package = serde_json::from_value(serde_json::json!({
            "name": "p", "version": "1.2.3-rc.1", "id": "p", "dependencies": [], "targets": [],
            "features": {}, "manifest_path": "/w/p/Cargo.toml", "authors": ["A", "B"],
            "license": "MIT", "readme": "README.md",
        }))
        .unwrap();
        let variables = package_variables(&package);
        for (name, value) in [
            ("CARGO_MANIFEST_DIR", "/w/p"),
            ("CARGO_PKG_VERSION_PRE", "rc.1"),
            ("CARGO_PKG_AUTHORS", "A:B"),
            ("CARGO_PKG_README", "README.md"),
            ("CARGO_PKG_HOMEPAGE", ""),
        ] {
            assert!(variables.contains(&(name.into(), value.into())), "{name}: {variables:?}");
        }
    }

    #[test]
    fn library_path_puts_built_directories_first() {
        let directories = ["/t/deps".into(), "/with:colon".into()];
        let path = library_path(&directories, Some(OsStr::new("/usr/lib:/opt")));
        assert_eq!(path, ("LD_LIBRARY_PATH".into(), "/t/deps:/usr/lib:/opt".into()));
        assert_eq!(library_path(&[], None).1, "");
    }
}
