//! Executables that plain cargo builds.

use std::{
    error::Error,
    path::PathBuf,
    process::{Command, Stdio},
};

use cargo_metadata::{Message, TargetKind};

/// The bench targets that this `cargo bench --no-run` builds, with their executables.
pub fn built_by(cargo: &mut Command) -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    cargo.args(["--no-run", "--quiet", "--message-format", "json-render-diagnostics"]);
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{cargo:?}: {}", output.status).into());
    }
    let mut executables = Vec::new();
    for message in Message::parse_stream(&output.stdout[..]) {
        if let Message::CompilerArtifact(artifact) = message?
            && artifact.target.kind == [TargetKind::Bench]
        {
            let path = artifact.executable.ok_or("no executable")?.into_std_path_buf();
            executables.push((artifact.target.name, path));
        }
    }
    Ok(executables)
}
