//! The library that stands in for the clock, compiled by the user's own rustc.

use std::{
    error::Error,
    ffi::OsString,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tempfile::TempDir;

const SOURCE: &str = include_str!("stand_in.rs");

/// The library.
pub struct Library {
    directory: TempDir,
}

impl Library {
    /// Compiles it.
    pub fn compile() -> Result<Self, Box<dyn Error>> {
        let library = Self { directory: tempfile::tempdir()? };
        let source = library.directory.path().join("turns.rs");
        fs::write(&source, SOURCE)?;
        // With LTO, nothing is left that would need Rust's own runtime.
        let flags =
            "--edition 2024 --crate-type cdylib -O -C panic=abort -C lto -C strip=symbols -o";
        let rustc = Command::new("rustc")
            .args(flags.split(' '))
            .arg(library.path())
            .arg(source)
            .output()?;
        if rustc.status.success() {
            Ok(library)
        } else {
            Err(String::from_utf8_lossy(&rustc.stderr).into())
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("libturns.so")
    }

    /// The page that two processes share, and that says how long a turn lasts at least.
    pub fn ring(&self, quantum: Duration) -> Result<Ring, Box<dyn Error>> {
        // In memory, where there is such a place.
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory } else { self.directory.path() };
        let page = tempfile::NamedTempFile::new_in(place)?;
        page.as_file().set_len(4096)?;
        let nanoseconds = u64::try_from(quantum.as_nanos())?;
        page.as_file().write_all_at(&nanoseconds.to_ne_bytes(), QUANTUM)?;
        Ok(Ring { library: self.path(), page })
    }
}

// Where the fields of the page are.
const GONE: u64 = 4;
const QUANTUM: u64 = 16;
const PASSED: u64 = 24;
const WORKED: u64 = 40;

/// What two processes share.
pub struct Ring {
    library: PathBuf,
    page: tempfile::NamedTempFile,
}

/// What the processes did with their turns: the first one, and the second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// How often each passed the turn.
    pub passed: [u64; 2],
    /// How much CPU time each took while it waited.
    pub worked: [Duration; 2],
}

impl Ring {
    /// The variables that make a process take turns, as the first one (0) or the second one (1).
    pub fn variables(&self, member: usize) -> [(OsString, OsString); 2] {
        let mut page = OsString::from(member.to_string());
        page.push(self.page.path());
        [("LD_PRELOAD".into(), self.library.clone().into()), ("RBENCH_TURNS".into(), page)]
    }

    /// Lets the other process go on without a process that has ended, however it did.
    pub fn leave(&self, member: usize) -> Result<(), Box<dyn Error>> {
        let at = GONE + 4 * member as u64;
        Ok(self.page.as_file().write_all_at(&1_u32.to_ne_bytes(), at)?)
    }

    /// What was done with the turns.
    pub fn taken(&self) -> Result<Taken, Box<dyn Error>> {
        let file: &File = self.page.as_file();
        let two = |at: u64| -> Result<[u64; 2], Box<dyn Error>> {
            let mut bytes = [0; 16];
            file.read_exact_at(&mut bytes, at)?;
            let (one, other) = bytes.split_at(8);
            Ok([u64::from_ne_bytes(one.try_into()?), u64::from_ne_bytes(other.try_into()?)])
        };
        let worked = two(WORKED)?.map(Duration::from_nanos);
        Ok(Taken { passed: two(PASSED)?, worked })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        process::{Child, Stdio},
        thread,
    };

    use super::*;

    /// What the program below takes at least, in ms: its clocks need not agree about more than that.
    const LEAST: u64 = 55;

    /// A program that reads the clock until this time has gone by, and prints how many ms have gone by in truth.
    fn program(library: &Library) -> PathBuf {
        let source = library.directory.path().join("reads.rs");
        let text = "use std::time::{Duration, Instant, SystemTime};\n\
                    fn main() {\n    \
                    let (truth, begin) = (SystemTime::now(), Instant::now());\n    \
                    while begin.elapsed() < Duration::from_millis(60) {}\n    \
                    println!(\"{}\", truth.elapsed().unwrap().as_millis());\n}\n";
        fs::write(&source, text).unwrap();
        let program = source.with_extension("");
        let rustc = Command::new("rustc").arg(source).arg("-o").arg(&program).status();
        assert!(rustc.unwrap().success());
        program
    }

    fn start(program: &Path, ring: &Ring, member: usize) -> Child {
        let mut command = Command::new(program);
        command.envs(ring.variables(member)).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn printed(child: Child) -> u64 {
        let output = child.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }

    #[test]
    fn two_processes_run_by_turns() {
        let library = Library::compile().unwrap();
        let program = program(&library);
        let ring = library.ring(Duration::from_micros(300)).unwrap();
        let children = [0, 1].map(|member| start(&program, &ring, member));
        assert!(children.map(printed).iter().all(|truth| *truth >= LEAST));
        let Taken { passed, .. } = ring.taken().unwrap();
        assert!(passed[0] > 0 && passed[0].abs_diff(passed[1]) <= 1, "{passed:?}");
    }

    #[test]
    fn the_clock_of_a_process_stands_still_while_its_partner_has_the_turn() {
        let library = Library::compile().unwrap();
        let ring = library.ring(Duration::from_micros(300)).unwrap();
        let child = start(&program(&library), &ring, 0);
        let has_passed = || {
            let mut turn = [0; 4];
            ring.page.as_file().read_exact_at(&mut turn, 0).unwrap();
            u32::from_ne_bytes(turn) == 1
        };
        while !has_passed() {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(100));
        ring.leave(1).unwrap();
        let truth = printed(child);
        assert!(truth >= LEAST + 100, "{truth} ms");
    }

    #[test]
    fn a_process_goes_on_whose_partner_never_comes_or_is_killed() {
        let library = Library::compile().unwrap();
        let program = program(&library);
        let alone = library.ring(Duration::from_micros(300)).unwrap();
        alone.leave(1).unwrap();
        assert!(printed(start(&program, &alone, 0)) >= LEAST);
        assert_eq!(alone.taken().unwrap().passed, [0, 0]);

        let ring = library.ring(Duration::from_micros(300)).unwrap();
        let mut killed = start(&program, &ring, 1);
        let left = start(&program, &ring, 0);
        thread::sleep(Duration::from_millis(20));
        killed.kill().unwrap();
        killed.wait().unwrap();
        ring.leave(1).unwrap();
        assert!(printed(left) >= LEAST);
    }
}
