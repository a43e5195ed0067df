//! Output files of reports. They are checked before measuring: a typing mistake must not cost an hour.

use std::{
    fs::{self, OpenOptions},
    path::Path,
};

use crate::{
    cli::{OutputFile, ReportFormat},
    error::{Context, Error, Exit, Result},
};

/// Output files that were writable when checked.
#[derive(Debug)]
pub struct OutputFiles<'a>(&'a [OutputFile]);

impl<'a> OutputFiles<'a> {
    /// Checks that each file can be written, without creating or changing it.
    pub fn check(files: &'a [OutputFile]) -> Result<Self> {
        for OutputFile { path, .. } in files {
            check(path)?;
        }
        Ok(Self(files))
    }

    /// Writes each file; `report` renders the report in its format.
    pub fn write(&self, report: impl Fn(ReportFormat) -> Result<String>) -> Result<()> {
        for OutputFile { path, format } in self.0 {
            fs::write(path, report(*format)?)
                .context(Exit::Usage, || format!("cannot write the report {}", path.display()))?;
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path) -> OutputFile {
        OutputFile { path: path.to_owned(), format: ReportFormat::Json }
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
        checked.write(|format| Ok(format!("{format:?}"))).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "Json");
        assert_eq!(fs::read_to_string(&new).unwrap(), "Json");
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
        let absent = OutputFiles::check(&[file(&path.join("absent/a.json"))]).unwrap_err();
        assert!(absent.to_string().contains("there is no directory"), "{absent}");
    }
}
