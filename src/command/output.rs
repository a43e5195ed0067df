//! Where reports go: standard output, and files.

use tracing::info_span;

use super::output_files::OutputFiles;
use crate::{
    cli::{self, OutputFile, ReportFormat},
    console::Console,
    error::Result,
    report::{Format, PLAIN_COLUMNS, Report, style},
};

/// The destinations of a report, checked before anything is measured.
pub struct Output<'p> {
    /// That of standard output.
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
        let _phase = info_span!("report").entered();
        Console::result(&self.format.render(report, Console::result_columns())?)?;
        write_files(&self.files, report)
    }
}

/// Writes the report to these files.
pub fn write_files(files: &OutputFiles<'_>, report: &dyn Report) -> Result<()> {
    files.write(|format| render_file(report, format.into()))
}

/// The report without any style.
fn render_file(report: &dyn Report, format: Format) -> Result<String> {
    Ok(style::plain(&format.render(report, PLAIN_COLUMNS)?))
}

impl From<ReportFormat> for Format {
    fn from(format: ReportFormat) -> Self {
        match format {
            ReportFormat::Text => Self::Text,
            ReportFormat::Json => Self::Json,
            ReportFormat::Markdown => Self::Markdown,
            ReportFormat::Html => Self::Html,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::HarnessKind,
        report::list::ListReport,
        verdict::testing::{benchmark, version},
    };

    #[test]
    fn a_program_reads_every_character_of_an_id() {
        let id = "a\u{7f}\u{9b}31m\u{1b}[0m\u{202e}b";
        let report = ListReport {
            version: version("head"),
            targets: vec![(HarnessKind::Native, vec![benchmark(id)])],
            failed_targets: Vec::new(),
        };
        let text = render_file(&report, Format::Json).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(json.pointer("/benchmarks/0/id").is_some_and(|told| told == id), "{text}");
    }
}
