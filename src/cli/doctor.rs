//! The command line of `doctor`.

use std::path::PathBuf;

use clap::Args;

use super::ReportFormat;

/// `cargo rbench doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The format of the report on standard output.
    #[arg(long, default_value = "text", help_heading = "Output")]
    pub format: ReportFormat,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}
