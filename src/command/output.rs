//! Writes reports to standard output and to files. Files are checked first, so that no result of a long measurement is
//! lost to a typing mistake.

use tracing::info_span;

use super::output_files::OutputFiles;
use crate::{
    cli::{self, OutputFile, ReportFormat},
    console::Console,
    error::Result,
    report::{Format, PLAIN_COLUMNS, Report, style},
};

/// The destinations of a report. Make it before measuring: it checks the files.
pub struct Output<'p> {
    /// The format on standard output.
    format: Format,
    files: OutputFiles<'p>,
}

impl<'p> Output<'p> {
    /// Selects standard output only, in this format.
    pub fn new(format: impl Into<Format>) -> Result<Self> {
        Self::with_files(format, &[])
    }

    /// Selects standard output in this format, and these files.
    pub fn with_files(format: impl Into<Format>, files: &'p [OutputFile]) -> Result<Self> {
        Ok(Self { format: format.into(), files: OutputFiles::check(files)? })
    }

    /// Prints the report, then writes the files: if a file has become unwritable, the report is not lost.
    pub fn write(&self, report: &dyn Report) -> Result<()> {
        let _phase = info_span!("report").entered();
        Console::result(&self.format.render(report, Console::result_columns())?)?;
        write_files(&self.files, report)
    }
}

/// Writes a report to files, each in the format of its extension.
pub fn write_files(files: &OutputFiles<'_>, report: &dyn Report) -> Result<()> {
    files.write(|format| render_file(report, format.into()))
}

/// Renders a report without colors.
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
        report::list::{ListReport, ListedBenchmark},
        verdict::testing::{benchmark, version},
    };

    #[test]
    fn json_report_keeps_every_character_of_an_id() {
        let id = "a\u{7f}\u{9b}31m\u{1b}[0m\u{202e}b";
        let report = ListReport {
            version: version("head"),
            benchmarks: vec![ListedBenchmark {
                benchmark: benchmark(id),
                harness: HarnessKind::Native,
            }],
            failed_targets: Vec::new(),
        };
        let text = render_file(&report, Format::Json).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(json.pointer("/benchmarks/0/id").is_some_and(|value| value == id), "{text}");
    }
}
