//! Files of the workspace in another version than the working tree, and what those of the base decide.

use std::path::Path;

use super::Project;
use crate::{
    builds::{Event, Observer},
    config::{AcceptedToml, BenchToml},
    error::{Error, Result},
    model::Version,
    secrets,
};

/// What a reader has to know about the settings of the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseSettings {
    /// The keys that differ in the head.
    pub differing: Vec<String>,
    /// The files of the base that cannot be used, so that the defaults decide.
    pub unusable: Vec<String>,
}

impl Project {
    /// The text of a file of the workspace in a version; `None` if the version has no such file.
    pub fn text_in(
        &self,
        version: &Version,
        name: &str,
        observer: &dyn Observer,
    ) -> Result<Option<String>> {
        let workspace = self.workspace.strip_prefix(self.repository.root());
        let path = workspace.unwrap_or(Path::new("")).join(name);
        let text = self.repository.text(version, &path);
        match (text, self.repository.promisor()) {
            (Err(error), Some(remote)) => match self.fetch(version, &remote, observer) {
                Ok(true) => self.repository.text(version, &path),
                Ok(false) | Err(_) => Err(error),
            },
            (text, _) => text,
        }
    }

    /// The `bench.toml` of a version, whatever the working tree has, with these keys of `--config`.
    pub fn file_in(
        &self,
        version: &Version,
        config: &[String],
        observer: &dyn Observer,
    ) -> Result<BenchToml> {
        let text = self.text_in(version, BenchToml::NAME, observer)?.unwrap_or_default();
        BenchToml::parse(text, BenchToml::NAME.into())
            .map_err(|error| error.cause(format!("it is that of {version}")))?
            .with(config)
    }

    fn accepted_in(&self, version: &Version, observer: &dyn Observer) -> Result<AcceptedToml> {
        let text = self.text_in(version, AcceptedToml::NAME, observer)?.unwrap_or_default();
        AcceptedToml::parse(text, AcceptedToml::NAME.into())
    }

    /// Leaves to the base what a change must not decide about itself, whatever head and working tree have.
    pub fn judge_by_base(
        &mut self,
        [base, head]: [&Version; 2],
        config: &[String],
        observer: &dyn Observer,
    ) -> Result<BaseSettings> {
        let mut found = BaseSettings::default();
        let mut unusable = |name: &str, error: &Error| {
            observer.build_event(&Event::Warning(&error.to_string()));
            found.unusable.push(name.to_owned());
        };
        let file = self.file_in(base, config, observer).or_else(|error| {
            unusable(BenchToml::NAME, &error);
            BenchToml::default().with(config)
        })?;
        let accepted = self.accepted_in(base, observer).unwrap_or_else(|error| {
            unusable(AcceptedToml::NAME, &error);
            AcceptedToml::default()
        });
        // What cannot be used in the head differs from what can.
        found.differing = self.file_in(head, config, observer).map_or_else(
            |_| vec![BenchToml::NAME.to_owned()],
            |of_head| of_head.differing_from(&file),
        );
        let is_same = self
            .accepted_in(head, observer)
            .is_ok_and(|of_head| of_head.entries() == accepted.entries());
        if !is_same {
            found.differing.push(AcceptedToml::NAME.to_owned());
        }
        secrets::pass(file.passed_names());
        self.file = std::mem::take(&mut self.file).judged_by(&file);
        self.accepted = Some(accepted);
        Ok(found)
    }

    /// The accepted slowdowns: those of the base if they decide, else those of the working tree.
    pub fn accepted(&self) -> Result<AcceptedToml> {
        match &self.accepted {
            Some(accepted) => Ok(accepted.clone()),
            None => AcceptedToml::read(&self.workspace),
        }
    }
}
