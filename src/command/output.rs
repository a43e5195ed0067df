//! Writes reports to standard output and to files. Files are checked first, so that no result of a long measurement is
//! lost to a typing mistake.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
};

use tracing::info_span;

use crate::{
    builds::files,
    cli::OutputFile,
    console::Console,
    error::{Context, Error, Exit, Result},
    report::{Format, PLAIN_COLUMNS, Report, no_values, style},
    secrets,
};

/// The destinations of a report. Make it before measuring: it checks the files.
pub struct Output<'p> {
    format: Format,
    files: OutputFiles<'p>,
}

/// The pictures of a benchmark: only one report has some.
const PICTURES: &str = "only `diff BASE HEAD --explain BENCH` draws pictures";

impl<'p> Output<'p> {
    /// Selects standard output only, in this format.
    pub fn new(format: Format) -> Result<Self> {
        Self::with_files(format, &[])
    }

    /// Selects standard output in this format, and these files.
    pub fn with_files(format: Format, files: &'p [OutputFile]) -> Result<Self> {
        if format.is_of_values() {
            return Err(no_values());
        }
        Self::with_values(format, files)
    }

    /// The same for a report with the values of one version.
    pub fn with_values(format: Format, files: &'p [OutputFile]) -> Result<Self> {
        if let Some(OutputFile { path, .. }) = files.iter().find(|one| one.format == Format::Svg) {
            let what = format!("cannot write the report {}", path.display());
            return Err(Error::new(Exit::Usage, what).cause(PICTURES));
        }
        Self::with_pictures(format, files)
    }

    /// The same for a report with pictures.
    pub fn with_pictures(format: Format, files: &'p [OutputFile]) -> Result<Self> {
        Ok(Self { format, files: OutputFiles::check(files)? })
    }

    /// Prints the report, then writes the files: if a file has become unwritable, the report is not lost.
    pub fn write(&self, report: &dyn Report) -> Result<()> {
        let _phase = info_span!("report").entered();
        Console::result(&self.format.render(report, Console::result_columns())?)?;
        self.files.write(report)
    }
}

/// Output files that were writable when checked.
#[derive(Debug)]
pub struct OutputFiles<'a>(&'a [OutputFile]);

impl<'a> OutputFiles<'a> {
    /// Checks that each file can be written, without creating or changing it.
    pub fn check(files: &'a [OutputFile]) -> Result<Self> {
        let mut seen = HashSet::new();
        for OutputFile { path, .. } in files {
            check(path)?;
            if path.is_file() || !path.exists() {
                // A file may have several names.
                let absolute = std::path::absolute(path).map(|path| files::real(&path));
                if absolute.is_ok_and(|absolute| !seen.insert(absolute)) {
                    let what = format!("cannot write the report {}", path.display());
                    let reason = "another report is written to the same file";
                    return Err(Error::new(Exit::Usage, what).cause(reason));
                }
            }
        }
        Ok(Self(files))
    }

    /// Writes the report to each file, in the format of its extension and without colors.
    pub fn write(&self, report: &dyn Report) -> Result<()> {
        for OutputFile { path, format } in self.0 {
            if *format == Format::Svg {
                for (end, picture) in report.pictures()? {
                    write(&with_end(path, end), &picture)?;
                }
            } else {
                write(path, &render_file(report, *format)?)?;
            }
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, secrets::text(text.as_bytes()))
        .context(Exit::Usage, || format!("cannot write the report {}", path.display()))
}

/// The path with these letters before its extension: `a-base.svg`.
fn with_end(path: &Path, end: &str) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy() + end;
    path.with_file_name(format!("{name}.svg"))
}

fn check(path: &Path) -> Result<()> {
    let what = || format!("cannot write the report {}", path.display());
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let refusal = |reason: String| Err(Error::new(Exit::Usage, what()).cause(reason));
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => refusal("it is a directory".to_owned()),
        // Opening for appending changes nothing. A device or a pipe is not opened before there is a report: that could
        // block.
        Ok(metadata) if metadata.is_file() => {
            OpenOptions::new().append(true).open(path).map(drop).context(Exit::Usage, what)
        }
        Ok(_) => Ok(()),
        Err(_) if !directory.is_dir() => {
            refusal(format!("there is no directory {}", directory.display()))
        }
        Err(_) => tempfile::tempfile_in(directory).map(drop).context(Exit::Usage, what),
    }
}

fn render_file(report: &dyn Report, format: Format) -> Result<String> {
    Ok(style::plain(&format.render(report, PLAIN_COLUMNS)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::HarnessKind,
        report::list::{ListReport, ListedBenchmark},
        verdict::testing::{benchmark, version},
    };

    fn report(id: &str) -> ListReport {
        ListReport {
            version: version("head"),
            benchmarks: vec![ListedBenchmark {
                benchmark: benchmark(id),
                harness: HarnessKind::Native,
            }],
            failed_targets: Vec::new(),
            unsupported_targets: Vec::new(),
        }
    }

    #[test]
    fn json_report_keeps_every_character_of_an_id() {
        let id = "a\u{7f}\u{9b}31m\u{1b}[0m\u{202e}b";
        let text = render_file(&report(id), Format::Json).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(json.pointer("/benchmarks/0/id").is_some_and(|value| value == id), "{text}");
    }

    fn file(path: &Path) -> OutputFile {
        OutputFile { path: path.to_owned(), format: Format::Json }
    }

    #[test]
    fn check_leaves_files_unchanged_until_they_are_written() {
        let directory = tempfile::tempdir().unwrap();
        let [new, old] = ["new.json", "old.json"].map(|name| directory.path().join(name));
        fs::write(&old, "before").unwrap();
        let files = [file(&new), file(&old)];
        let checked = OutputFiles::check(&files).unwrap();
        assert!(!new.exists());
        assert_eq!(fs::read_to_string(&old).unwrap(), "before");
        checked.write(&report("a")).unwrap();
        for file in [&old, &new] {
            assert!(fs::read_to_string(file).unwrap().starts_with("{\n"));
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn unwritable_file_is_a_usage_error() {
        let directory = tempfile::tempdir().unwrap();
        let (path, in_file) = (directory.path(), directory.path().join("file"));
        fs::write(&in_file, "").unwrap();
        for impossible in [path.join("absent/a.json"), in_file.join("a.json"), path.to_owned()] {
            let error = OutputFiles::check(&[file(&impossible)]).unwrap_err();
            assert_eq!(error.exit(), Exit::Usage);
            assert!(error.to_string().contains("cannot write the report"), "{error}");
        }
        let twice = [path.join("a.json"), path.join("./a.json")].map(|path| file(&path));
        let text = OutputFiles::check(&twice).unwrap_err().to_string();
        assert!(text.contains("another report is written to the same file"), "{text}");
        let absent = OutputFiles::check(&[file(&path.join("absent/a.json"))]).unwrap_err();
        assert!(absent.to_string().contains("there is no directory"), "{absent}");
    }
}
