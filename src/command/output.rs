//! Where reports go: standard output, and files.

use crate::{
    cli::{self, OutputFile, ReportFormat},
    console::Console,
    failure::Result,
    report::{Format, PLAIN_COLUMNS, Report, style},
    settings::OutputFiles,
};

/// The destinations of a report, checked before anything is measured.
pub struct Output<'p> {
    format: Format,
    files: OutputFiles<'p>,
}

impl<'p> Output<'p> {
    /// Standard output in this format.
    pub fn new(format: impl Into<Format>) -> Result<Self> {
        Self::with_files(format, &[])
    }

    /// Standard output in this format, and these files.
    pub fn with_files(format: impl Into<Format>, files: &'p [OutputFile]) -> Result<Self> {
        Ok(Self { format: format.into(), files: OutputFiles::check(files)? })
    }

    /// Prints the report first, so that it is not lost if a file cannot be written any more.
    pub fn write(&self, report: &dyn Report) -> Result<()> {
        Console::result(&self.format.render(report, Console::result_columns())?)?;
        self.files.write(|format: ReportFormat| {
            Ok(style::plain(&Format::from(format).render(report, PLAIN_COLUMNS)?))
        })
    }
}

impl From<ReportFormat> for Format {
    fn from(format: ReportFormat) -> Self {
        match format {
            ReportFormat::Text => Self::Text,
            ReportFormat::Json => Self::Json,
            ReportFormat::Markdown => Self::Markdown,
        }
    }
}

impl From<cli::Format> for Format {
    fn from(format: cli::Format) -> Self {
        match format {
            cli::Format::Text => Self::Text,
            cli::Format::Json => Self::Json,
        }
    }
}
