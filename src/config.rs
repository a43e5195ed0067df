//! The settings of one run: flags, else `bench.toml`, else the defaults.
//!
//! `bench.toml` is next to the workspace's `Cargo.toml`, in the working tree: it must be the same
//! for all versions of an experiment. A list given by flags replaces the file's list.

mod accepted;
mod bench_toml;
mod example;
mod file;
mod gate;
mod output;
mod sampling;
mod verdict;

pub use accepted::{AcceptedEntry, AcceptedToml};
pub use bench_toml::{BenchToml, CommandTable};
pub use example::commented as commented_bench_toml;
pub use gate::{Gate, Release, deciding};
pub use output::OutputFiles;
pub use sampling::{MeasurementSettings, Purpose, SamplingConfig, SamplingConfigs, StoppingRule};
pub use verdict::VerdictSettings;

use crate::{
    cli::{CompileArgs, LayoutArgs, TargetArgs},
    model::{CompileSettings, Layout, Strategy, TargetFilter},
};

/// How versions are built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildSettings {
    /// How functions are arranged.
    pub layout: Layout,
    /// Where builds come from.
    pub strategy: Strategy,
    /// The seed that all layout seeds are derived from.
    pub seed: u64,
    /// How cargo compiles.
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
    /// The settings by flags, file and defaults.
    pub fn resolve(file: &BenchToml, flags: &CompileArgs, layout: &LayoutArgs) -> Self {
        let default = Self::default();
        let table = file.build();
        let list = |flags: &[String], file: Vec<String>| match flags {
            [] => file,
            flags => flags.to_vec(),
        };
        Self {
            layout: layout.layout.or(table.layout).unwrap_or(default.layout),
            strategy: layout.strategy.or(table.strategy).unwrap_or(default.strategy),
            seed: layout.seed.or(table.seed).unwrap_or(default.seed),
            compile: CompileSettings {
                profile: flags.profile.clone().or(table.profile).unwrap_or(default.compile.profile),
                features: list(&flags.features, table.features),
                all_features: flags.all_features || table.all_features,
                no_default_features: flags.no_default_features || table.no_default_features,
                locked: flags.locked || table.locked,
                offline: flags.offline || table.offline,
                jobs: flags.jobs.or(table.jobs),
                cargo_args: list(&flags.cargo_args, table.cargo_args),
            },
        }
    }
}

/// Which bench targets the flags mean.
pub fn target_filter(flags: &TargetArgs) -> TargetFilter {
    TargetFilter {
        packages: flags.package.clone(),
        excluded: flags.exclude.clone(),
        benches: flags.bench.clone(),
        programs: flags.commands.iter().map(|command| command.program.clone()).collect(),
    }
}

#[cfg(test)]
mod tests;
