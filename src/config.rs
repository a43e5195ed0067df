//! The settings of one run, resolved once: flags, else `bench.toml`, else the defaults.
//!
//! `bench.toml` is next to the workspace's `Cargo.toml`, in the working tree: so one
//! file holds for all versions of an experiment. A list given by flags replaces the file's list.

mod accepted;
mod bench_toml;
mod gate;
mod min_effect;
mod of_base;
mod once;
mod options;
mod sampling;
pub mod values;
mod variant;
mod verdict;

pub use accepted::{AcceptedEntry, AcceptedToml};
pub use bench_toml::{BenchToml, CommandTable};
pub use gate::{Gate, Release, deciding};
pub use once::Once;
pub use options::{BuildOptions, CriteriaOptions, SamplingOptions, metrics_help};
pub use sampling::{MeasurementSettings, Purpose, SamplingConfig, SamplingConfigs, StoppingRule};
pub use verdict::VerdictSettings;

use crate::model::{CompileSettings, Layout, Strategy};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildSettings {
    /// The order and the addresses of functions.
    pub layout: Layout,
    /// One link for each build, or one compilation for each build.
    pub strategy: Strategy,
    /// The seed that all layout seeds are derived from.
    pub seed: u64,
    /// Cargo's options; they are part of the identity of a build.
    pub compile: CompileSettings,
}

impl Default for BuildSettings {
    fn default() -> Self {
        Self {
            layout: Layout::SameAddress,
            strategy: Strategy::Auto,
            seed: 1,
            compile: CompileSettings::default(),
        }
    }
}

impl BuildSettings {
    pub fn resolve(file: &BenchToml, flags: BuildOptions) -> Self {
        let default = Self::default();
        let table = file.tables.build.clone();
        let list = |flags: Vec<String>, file| if flags.is_empty() { file } else { flags };
        Self {
            layout: flags.layout.or(table.layout).unwrap_or(default.layout),
            strategy: flags.strategy.or(table.strategy).unwrap_or(default.strategy),
            seed: flags.seed.or(table.seed).unwrap_or(default.seed),
            compile: CompileSettings {
                profile: flags.profile.or(table.profile).unwrap_or(default.compile.profile),
                features: list(flags.features, table.features),
                all_features: flags.all_features || table.all_features,
                no_default_features: flags.no_default_features || table.no_default_features,
                locked: flags.locked || table.locked,
                offline: flags.offline || table.offline,
                jobs: flags.jobs.or(table.jobs),
                cargo_args: list(flags.cargo_args, table.cargo_args),
                ..default.compile
            },
        }
    }
}

#[cfg(test)]
mod tests;
