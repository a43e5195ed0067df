//! Files that reports are written to, checked before anything is measured.

use std::{
    fs::{self, OpenOptions},
    path::Path,
};

use crate::{
    cli::{OutputFile, ReportFormat},
    error::{Context, Error, Exit, Result},
};

/// Files that can be written to.
#[derive(Debug)]
pub struct OutputFiles<'a>(&'a [OutputFile]);

impl<'a> OutputFiles<'a> {
    /// Checks that each file can be written; leaves no trace.
    pub fn check(files: &'a [OutputFile]) -> Result<Self> {
        for OutputFile { path, .. } in files {
            check(path)?;
        }
        Ok(Self(files))
    }

    /// Writes each file, with what `report` gives for its format.
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
    let refused = |reason: String| Err(Error::new(Exit::Usage, what()).cause(reason));
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => refused("it is a directory".to_owned()),
        // To append changes nothing yet. A device or a pipe is not opened before there is a report.
        Ok(metadata) if metadata.is_file() => {
            OpenOptions::new().append(true).open(path).map(drop).context(Exit::Usage, what)
        }
        Ok(_) => Ok(()),
        Err(_) if !directory.is_dir() => {
            refused(format!("there is no directory {}", directory.display()))
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
    fn a_file_that_can_be_written_is_found_as_it_was_until_it_is_written() {
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
    fn a_file_that_cannot_be_written_is_a_usage_error() {
        let directory = tempfile::tempdir().unwrap();
        let (path, in_file) = (directory.path(), directory.path().join("file"));
        fs::write(&in_file, "").unwrap();
        for impossible in [path.join("absent/a.json"), in_file.join("a.json"), path.to_owned()] {
            let failure = OutputFiles::check(&[file(&impossible)]).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(failure.to_string().contains("cannot write the report"), "{failure}");
        }
        let absent = OutputFiles::check(&[file(&path.join("absent/a.json"))]).unwrap_err();
        assert!(absent.to_string().contains("there is no directory"), "{absent}");
    }
}
