//! Makes the project of a shape, and runs its commands.

use std::{
    error::Error,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::RwLock,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::shape::{Expected, Run, Shape, Step, shorten};

/// No command of a small project may take longer.
const LIMIT: Duration = Duration::from_secs(240);

/// The directories of all shapes, and the program under test.
pub struct Place {
    pub rbench: PathBuf,
    pub root: PathBuf,
    /// Held exclusively by a command that measures.
    pub quiet: RwLock<()>,
}

/// The result of all commands of a shape.
pub struct Visit {
    pub expected: String,
    pub came: String,
    /// The differences; empty if all is as expected.
    pub wrong: Vec<String>,
    pub duration: Duration,
    pub directory: PathBuf,
}

struct Output {
    exit: Option<i32>,
    /// Both outputs, with each white space as one space.
    text: String,
    report: Value,
}

impl Place {
    /// Runs a shape. An error of the shape's own steps is a difference too.
    pub fn visit(&self, shape: &Shape) -> Visit {
        let start = Instant::now();
        let directory = self.root.join("shapes").join(shape.name.replace([' ', '/'], "-"));
        let mut visit = Visit {
            expected: String::new(),
            came: String::new(),
            wrong: Vec::new(),
            duration: Duration::ZERO,
            directory,
        };
        if let Err(error) = self.steps(shape, &mut visit) {
            visit.wrong.push(error.to_string());
        }
        visit.duration = start.elapsed();
        if visit.wrong.is_empty() {
            // Fails only if something still writes there; the next run removes it.
            let _ = fs::remove_dir_all(&visit.directory);
        }
        visit
    }

    fn steps(&self, shape: &Shape, visit: &mut Visit) -> Result<(), Box<dyn Error>> {
        let project = Project { shape, place: self, scratch: &visit.directory.clone() };
        if project.scratch.exists() {
            fs::remove_dir_all(project.scratch)?;
        }
        fs::create_dir_all(project.repository())?;
        fs::create_dir_all(project.scratch.join("home/tmp"))?;
        // Repositories with the same first commit share what rbench has compiled.
        let first = shape.set.unwrap_or(shape.name);
        project.shell(
            "git init --quiet --initial-branch=main && printf 'target\\n.rbench\\n' >.gitignore && \
             git add .gitignore",
        )?;
        project.commit(first)?;
        let runs = shape.steps.iter().filter(|step| matches!(step, Step::Run(_))).count();
        let mut number = 0;
        for step in &shape.steps {
            match step {
                Step::Write { path, text } => project.write(path, text)?,
                Step::Replace { path, old, new } => {
                    let text = fs::read_to_string(project.repository().join(path))?;
                    let old = with_harness(old);
                    if !text.contains(&old) {
                        return Err(format!("{path} has no `{old}`").into());
                    }
                    project.write(path, &text.replace(&old, new))?;
                }
                Step::Shell(script) => project.shell(script).map(drop)?,
                Step::Commit(message) => project.commit(message)?,
                Step::Run(run) => {
                    number += 1;
                    let label = if runs > 1 { format!("{number}: ") } else { String::new() };
                    let output = project.run(run, number)?;
                    let wrong = output.differences(&run.expected);
                    add(&mut visit.expected, &format!("{label}{}", run.expected));
                    add(&mut visit.came, &format!("{label}{}", output.shown(&run.expected)));
                    visit.wrong.extend(wrong.iter().map(|wrong| format!("{label}{wrong}")));
                }
            }
        }
        Ok(())
    }
}

/// A text of a shape, with the directory of the harness for `HARNESS`.
fn with_harness(text: &str) -> String {
    text.replace("HARNESS", &lab::root().join("harness").to_string_lossy())
}

fn add(cell: &mut String, text: &str) {
    if !cell.is_empty() {
        cell.push_str("; ");
    }
    cell.push_str(text);
}

/// A shape's directories.
struct Project<'p> {
    shape: &'p Shape,
    place: &'p Place,
    scratch: &'p Path,
}

impl Project<'_> {
    fn repository(&self) -> PathBuf {
        self.scratch.join("repository")
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Box<dyn Error>> {
        let path = self.repository().join(path);
        fs::create_dir_all(path.parent().ok_or("a file has a directory")?)?;
        Ok(fs::write(path, with_harness(text))?)
    }

    fn commit(&self, message: &str) -> Result<(), Box<dyn Error>> {
        self.shell(&format!(
            "git add --all && git commit --quiet --allow-empty --message '{}'",
            message.replace('\'', "")
        ))
        .map(drop)
    }

    fn shell(&self, script: &str) -> Result<String, Box<dyn Error>> {
        let mut command = Command::new("sh");
        self.environment(&mut command);
        let output = command.args(["-euc", script]).current_dir(self.repository()).output()?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {}", shorten(script), error.trim()).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Sets an environment without the settings of this user and machine, and with a separate home directory.
    fn environment(&self, command: &mut Command) {
        let of_user = |name: &str, default: &str| {
            std::env::var_os(name).unwrap_or_else(|| {
                let home = std::env::var_os("HOME").unwrap_or_default();
                Path::new(&home).join(default).into_os_string()
            })
        };
        let home = self.scratch.join("home");
        let shared = self.place.root.join("shared");
        command.env_clear().envs([
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("TMPDIR", home.join("tmp").into()),
            ("CARGO_HOME", of_user("CARGO_HOME", ".cargo")),
            ("RUSTUP_HOME", of_user("RUSTUP_HOME", ".rustup")),
        ]);
        command.envs([
            ("RUSTUP_AUTO_INSTALL", "0"),
            ("CARGO_NET_OFFLINE", "true"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_COUNT", "2"),
            // A background process of git would be taken for one that a benchmark left behind.
            ("GIT_CONFIG_KEY_0", "maintenance.auto"),
            ("GIT_CONFIG_VALUE_0", "false"),
            ("GIT_CONFIG_KEY_1", "protocol.file.allow"),
            ("GIT_CONFIG_VALUE_1", "always"),
            ("GIT_AUTHOR_NAME", "A U Thor"),
            ("GIT_AUTHOR_EMAIL", "author@example.com"),
            ("GIT_AUTHOR_DATE", "1700000000 +0000"),
            ("GIT_COMMITTER_NAME", "C O Mitter"),
            ("GIT_COMMITTER_EMAIL", "committer@example.com"),
            ("GIT_COMMITTER_DATE", "1700000001 +0000"),
            ("LC_ALL", "C.UTF-8"),
            ("COLUMNS", "400"),
        ]);
        if self.shape.set.is_some() {
            command.env("XDG_CACHE_HOME", shared.join("cache"));
            command.env("CARGO_TARGET_DIR", shared.join("target"));
        } else {
            command.env("XDG_CACHE_HOME", home.join("cache"));
        }
        command.env("HOME", home);
    }

    fn run(&self, run: &Run, number: usize) -> Result<Output, Box<dyn Error>> {
        let path = |kind: &str| self.scratch.join(format!("{number}.{kind}"));
        let mut command = Command::new(&self.place.rbench);
        self.environment(&mut command);
        command.args(run.arguments.split_whitespace());
        match run.arguments.split_whitespace().next() {
            Some("list") if run.expected.ids.is_some() => {
                command.args(["--format", "json"]);
            }
            Some("compare") => {
                command.arg("--output").arg(path("json"));
            }
            _ => {}
        }
        command
            .envs(run.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.repository().join(&run.directory))
            .stdin(Stdio::null())
            .stdout(File::create(path("stdout"))?)
            .stderr(File::create(path("stderr"))?);
        let before = self.status();
        let ended =
            |mut command: Command| lab::rbench::wait(&mut command.spawn()?, Instant::now() + LIMIT);
        let status = if run.expected.is_measured() {
            let _alone = self.place.quiet.write();
            ended(command)?
        } else {
            let _beside = self.place.quiet.read();
            ended(command)?
        };
        let exit = status.and_then(|status| status.code());
        let [stdout, stderr] = ["stdout", "stderr"].map(|kind| fs::read(path(kind)));
        let [stdout, stderr] =
            [String::from_utf8_lossy(&stdout?), String::from_utf8_lossy(&stderr?)]
                .map(String::from);
        let words: Vec<&str> = stdout.split_whitespace().chain(stderr.split_whitespace()).collect();
        let mut text = words.join(" ");
        if before != self.status() {
            text.push_str(" THE WORKING TREE HAS CHANGED");
        }
        let report = match fs::read(path("json")) {
            Ok(report) => serde_json::from_slice(&report)?,
            Err(_) => serde_json::from_str(&stdout).unwrap_or_default(),
        };
        Ok(Output { exit, text, report })
    }

    /// The working tree and the index, which no command may change.
    fn status(&self) -> Option<String> {
        self.shell("git status --porcelain --untracked-files=all").ok()
    }
}

impl Output {
    fn differences(&self, expected: &Expected) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.exit != Some(expected.exit) {
            wrong.push(format!("exit {} instead of {}", self.code(), expected.exit));
        }
        for text in &expected.has {
            if !self.text.contains(text.as_str()) {
                wrong.push(format!("no \"{}\"", shorten(text)));
            }
        }
        for text in &expected.lacks {
            if self.text.contains(text.as_str()) {
                wrong.push(format!("\"{}\"", shorten(text)));
            }
        }
        for text in ["THE WORKING TREE HAS CHANGED", "a bug in rbench"] {
            if self.text.contains(text) {
                wrong.push(format!("\"{text}\""));
            }
        }
        if let Some(ids) = &expected.ids {
            let listed: Vec<&str> = self.ids().collect();
            if listed != *ids {
                wrong.push(format!("ids {}", shorten(&format!("{listed:?}"))));
            }
        }
        for (id, verdicts) in &expected.rows {
            let came = self.verdict(id);
            if !verdicts.split('|').any(|verdict| Some(verdict) == came) {
                wrong.push(format!("{} {}", shorten(id), came.unwrap_or("has no row")));
            }
        }
        for (id, absence) in &expected.removed {
            let came = self.absence(id);
            if came != Some(absence) {
                wrong.push(format!("{} {}", shorten(id), came.unwrap_or("is not removed")));
            }
        }
        for (pointer, value) in &expected.values {
            let came = self.report.pointer(pointer);
            if came != Some(value) {
                wrong.push(format!("{pointer} {}", came.unwrap_or(&Value::Null)));
            }
        }
        wrong
    }

    fn code(&self) -> String {
        self.exit.map_or_else(|| "killed".to_owned(), |exit| exit.to_string())
    }

    fn items(&self, list: &str) -> impl Iterator<Item = &Value> {
        self.report[list].as_array().into_iter().flatten()
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.items("benchmarks").filter_map(|row| row["id"].as_str())
    }

    fn verdict(&self, id: &str) -> Option<&str> {
        self.items("benchmarks").find(|row| row["id"] == id)?["verdict"].as_str()
    }

    fn absence(&self, id: &str) -> Option<&str> {
        let absence = &self.items("removed").find(|row| row["id"] == id)?["absence"];
        absence.as_str().or_else(|| absence["kind"].as_str())
    }

    /// The exit code, and the facts that were asked.
    fn shown(&self, expected: &Expected) -> String {
        let mut shown = format!("exit {}", self.code());
        if expected.ids.is_some() {
            shown.push_str(&format!(", {} ids", self.ids().count()));
        }
        for (id, _) in &expected.rows {
            let verdict = self.verdict(id).unwrap_or("no row");
            shown.push_str(&format!(", {} {verdict}", shorten(id)));
        }
        for (id, _) in &expected.removed {
            let absence = self.absence(id).unwrap_or("not removed");
            shown.push_str(&format!(", {} {absence}", shorten(id)));
        }
        if self.exit != Some(0)
            && let Some(error) = self.text.split("error: ").nth(1)
        {
            shown.push_str(&format!(", \"{}\"", shorten(error)));
        }
        shown
    }
}
