//! Runs the real `cargo-rbench` in an environment without the settings of the user who runs the
//! tests.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
};

use rustix::pty::{self, OpenptFlags};
use serde_json::Value;

use super::schema;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-rbench");

/// A command that has not run yet.
pub struct Rbench {
    command: Command,
}

impl Rbench {
    /// `cargo-rbench` with these arguments, in `directory`. Its user has nothing outside `home`.
    pub fn new(directory: &Path, home: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.current_dir(directory).args(arguments);
        hermetic(&mut command, home);
        heed_signals(&mut command);
        Self { command }
    }

    /// Runs another program in the same environment: for `cargo rbench` and for wrappers.
    pub fn program(mut self, program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        if let Some(directory) = self.command.get_current_dir() {
            command.current_dir(directory);
        }
        command.args(self.command.get_args()).env_clear();
        for (name, value) in self.command.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        heed_signals(&mut command);
        self.command = command;
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Forbids it and its children to trace processes, as containers may.
    pub fn without_tracing(self) -> Self {
        self.without_call(libc::SYS_ptrace, libc::EPERM)
    }

    /// Takes Landlock from it and its children, as in an older kernel.
    pub fn without_landlock(self) -> Self {
        self.without_call(libc::SYS_landlock_create_ruleset, libc::ENOSYS)
    }

    /// Makes a system call fail with this error.
    #[expect(unsafe_code, reason = "there is no safe way to set up a filter of system calls")]
    fn without_call(mut self, call: libc::c_long, error: i32) -> Self {
        let instruction = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
            code: u16::try_from(code).unwrap(),
            jt,
            jf,
            k,
        };
        let refused = libc::SECCOMP_RET_ERRNO | u32::try_from(error).unwrap();
        let number = u32::try_from(call).unwrap();
        let program = [
            instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number, 0, 1),
            instruction(libc::BPF_RET | libc::BPF_K, refused, 0, 0),
            instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
        ];
        let forbid = move || {
            let filter = libc::sock_fprog {
                len: u16::try_from(program.len()).unwrap(),
                filter: program.as_ptr().cast_mut(),
            };
            // SAFETY: the kernel reads the instructions, which live as long as this closure.
            let result = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter)
            };
            if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        // SAFETY: between fork and exec, the closure makes system calls and allocates nothing.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut self.command, forbid);
        }
        self
    }

    /// Runs to the end, whatever the exit code.
    pub fn run(mut self) -> Outcome {
        let output = self.command.stdin(Stdio::null()).output().expect("cargo-rbench starts");
        Outcome { command: shown(&self.command), directory: directory(&self.command), output }
    }

    /// Runs to the end and asserts success.
    pub fn ok(self) -> Outcome {
        self.run().assert_exit(0)
    }

    /// Runs to the end and asserts this exit code and an error message.
    pub fn fails_with(self, code: i32) -> Outcome {
        let outcome = self.run().assert_exit(code);
        outcome.assert_stderr_has(&["error: "]);
        outcome
    }

    /// Runs to the end with a terminal as its standard error. Returns the exit code and everything drawn there.
    pub fn on_terminal(mut self) -> (Option<i32>, String) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let terminal = pty::openpt(flags).unwrap();
        pty::grantpt(&terminal).unwrap();
        pty::unlockpt(&terminal).unwrap();
        let end = pty::ioctl_tiocgptpeer(&terminal, flags).unwrap();
        self.command.env("TERM", "xterm-256color");
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(end);
        let mut child = self.command.spawn().expect("cargo-rbench starts");
        // The last open end of the terminal must be the child's.
        drop(self.command);
        let mut drawn = Vec::new();
        // Reading fails once the child has ended.
        let _ = File::from(terminal).read_to_end(&mut drawn);
        (child.wait().unwrap().code(), String::from_utf8_lossy(&drawn).into_owned())
    }

    /// Starts the command without waiting for it.
    pub fn start(mut self) -> Child {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cargo-rbench starts")
    }
}

/// The result of a command.
pub struct Outcome {
    command: String,
    directory: PathBuf,
    output: Output,
}

impl Outcome {
    /// Waits for a started child.
    pub fn of(child: Child, command: &str) -> Self {
        let output = child.wait_with_output().expect("its output can be read");
        Self { command: command.to_owned(), directory: PathBuf::new(), output }
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub const fn status(&self) -> ExitStatus {
        self.output.status
    }

    /// The command, its exit status and its output, for the message of a failed assertion.
    pub fn printed(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "command: {}", self.command);
        let _ = writeln!(text, "in:      {}", self.directory.display());
        let _ = writeln!(text, "ended:   {}", self.output.status);
        let _ = writeln!(text, "--- stdout\n{}\n--- stderr\n{}", self.stdout(), self.stderr());
        text
    }

    #[track_caller]
    pub fn assert_exit(self, code: i32) -> Self {
        assert_eq!(self.output.status.code(), Some(code), "unexpected exit\n{}", self.printed());
        self
    }

    #[track_caller]
    pub fn assert_stderr_has(&self, parts: &[&str]) {
        let text = self.stderr();
        for part in parts {
            assert!(text.contains(part), "stderr lacks `{part}`\n{}", self.printed());
        }
    }

    #[track_caller]
    pub fn assert_stdout_has(&self, parts: &[&str]) {
        let text = self.stdout();
        for part in parts {
            assert!(text.contains(part), "stdout lacks `{part}`\n{}", self.printed());
        }
    }

    /// Standard output as JSON, checked against the schema of this name.
    #[track_caller]
    pub fn json(&self, schema: &str) -> Value {
        let value = serde_json::from_slice(&self.output.stdout)
            .unwrap_or_else(|error| panic!("stdout is no JSON: {error}\n{}", self.printed()));
        if let Err(errors) = schema::check(schema, &value) {
            panic!("stdout breaks schemas/{schema}.json:\n{errors}\n{}", self.printed());
        }
        value
    }
}

/// Gives a command the host's tools and nobody's settings.
pub fn hermetic(command: &mut Command, home: &Path) {
    let tools = |variable: &str, default: &str| {
        std::env::var_os(variable).unwrap_or_else(|| {
            let home = std::env::var_os("HOME").unwrap_or_default();
            Path::new(&home).join(default).into_os_string()
        })
    };
    let variables: [(&str, OsString); 14] = [
        ("PATH", path_without_proxies()),
        ("HOME", home.into()),
        ("XDG_CACHE_HOME", home.join("cache").into()),
        ("TMPDIR", home.join("tmp").into()),
        ("CARGO_HOME", tools("CARGO_HOME", ".cargo")),
        ("RUSTUP_HOME", tools("RUSTUP_HOME", ".rustup")),
        ("RUSTUP_AUTO_INSTALL", "0".into()),
        ("CARGO_NET_OFFLINE", "true".into()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        // A background process of git would be taken for one that a benchmark left behind.
        ("GIT_CONFIG_COUNT", "1".into()),
        ("GIT_CONFIG_KEY_0", "maintenance.auto".into()),
        ("GIT_CONFIG_VALUE_0", "false".into()),
        ("LC_ALL", "C".into()),
    ];
    command.env_clear().envs(variables);
}

/// Restores the default action of signals. The tests may run under nohup or in the background of a
/// shell, which ignore signals, and children inherit that.
#[expect(unsafe_code, reason = "there is no safe way to reset signals of a child")]
fn heed_signals(command: &mut Command) {
    let reset = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
            // SAFETY: the default action is no function that could be missing.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec, the closure makes system calls and allocates nothing.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(command, reset);
    }
}

/// The `PATH` with the tools of the tests' toolchain first. A rustup proxy takes 10 ms to find them
/// each time, which was a tenth of the time of all tests.
fn path_without_proxies() -> OsString {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from);
    let tools = cargo.as_deref().and_then(Path::parent).map(Path::to_owned);
    let host = host_path();
    let path = tools.into_iter().chain(std::env::split_paths(&host));
    std::env::join_paths(path).expect("what was split can be joined")
}

/// The `PATH` without the directories that the outer `cargo test` added: its toolchain's directory
/// would hide the proxies of rustup.
pub fn host_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_a_toolchain =
        |directory: &PathBuf| directory.components().any(|part| part.as_os_str() == "toolchains");
    let kept = std::env::split_paths(&path).filter(|directory| !of_a_toolchain(directory));
    std::env::join_paths(kept).expect("what was split can be joined")
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn directory(command: &Command) -> PathBuf {
    command.get_current_dir().map(Path::to_owned).unwrap_or_default()
}
