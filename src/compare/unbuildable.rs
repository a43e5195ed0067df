//! Versions that could not be built before, so that a search skips them without trying again.

use crate::{
    error::Result, measure::Runner, model::Version, shell::CommandLine, store::StoredExperiment,
};

/// Finished experiments on this machine with these settings, which show the versions that could not
/// be built.
pub struct KnownBroken {
    experiments: Vec<StoredExperiment>,
}

impl KnownBroken {
    /// Reads the experiments with the settings of a runner.
    pub fn read(runner: &Runner<'_>) -> Result<Self> {
        let wanted = runner.plan(Vec::new(), &[]);
        let mut experiments = runner.store.experiments()?;
        experiments.retain(|stored| {
            stored.finished.is_some() && stored.plan.incompatibilities(&wanted).is_empty()
        });
        Ok(Self { experiments })
    }

    /// The reason why a version could not be built by its compiler, if every attempt failed.
    pub fn why_unbuildable(
        &self,
        version: &Version,
        compiler: impl FnOnce() -> String,
    ) -> Option<&str> {
        let mut tries: Vec<_> = self.builds(version).collect();
        let has_failed =
            |(stored, index): &(&'_ StoredExperiment, usize)| stored.unbuildable[*index].is_some();
        if tries.iter().any(has_failed) {
            let compiler = compiler();
            tries.retain(|(stored, index)| stored.plan.versions[*index].toolchain == compiler);
        }
        let newest = tries.last().filter(|_| tries.iter().all(has_failed));
        newest.and_then(|(stored, index)| stored.unbuildable[*index].as_deref())
    }

    /// The experiments on the files of a version, with its index in each.
    fn builds(&self, version: &Version) -> impl Iterator<Item = (&StoredExperiment, usize)> {
        self.experiments.iter().filter_map(|stored| {
            let mut versions = stored.plan.versions.iter();
            let index = versions.position(|planned| planned.version.key() == version.key())?;
            Some((stored, index))
        })
    }
}

/// The message that a version is skipped for that reason, with the command that tries it again. That
/// command measures with the settings of other comparisons, so they find the version buildable afterwards.
pub fn passed_over(version: &Version, given: &dyn CommandLine) -> String {
    let head = version.current_revision_arg();
    let base = if version.dirty { "HEAD".to_owned() } else { format!("{head}~1") };
    let again = given.suggest("compare", &[&base, &head], &[]);
    format!("{version} is skipped: it could not be built before; try again with: {again}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::{Error, Exit},
        store::Store,
        verdict::testing::{plan, version},
    };

    #[test]
    fn unbuildable_version_is_tried_with_another_compiler() {
        let store = Store::in_memory().unwrap();
        let id = store.begin(&plan(&["head"], "key")).unwrap();
        let error = Error::new(Exit::Build, "cannot compile");
        store.record_unbuildable(id, 0, &error).unwrap();
        let before = KnownBroken { experiments: store.experiments().unwrap() };
        let compiler = &before.experiments[0].plan.versions[0].toolchain;
        let why =
            |name, compiler: &str| before.why_unbuildable(&version(name), || compiler.to_owned());
        assert_eq!(why("head", compiler), Some("cannot compile"));
        assert_eq!(why("head", "rustc 1.91.0"), None);
        assert_eq!(why("base", compiler), None);

        store.begin(&plan(&["head"], "key")).unwrap();
        let before = KnownBroken { experiments: store.experiments().unwrap() };
        assert_eq!(before.why_unbuildable(&version("head"), || compiler.clone()), None);
    }
}
