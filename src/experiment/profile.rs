//! What each function of a benchmark executes while it is measured.

use super::{ListedVersion, Runner};
use crate::{
    failure::{Exit, Failure, Result},
    model::Benchmark,
    profile::Profile,
};

impl Runner<'_> {
    /// What the functions of a benchmark execute in a version.
    pub fn profile(&self, _: &ListedVersion, _: &Benchmark) -> Result<Profile> {
        Err(Failure::new(Exit::Internal, "it cannot be counted"))
    }
}
