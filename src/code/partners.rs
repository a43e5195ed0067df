//! Which function of another build each function of a build is.

use super::functions::{FunctionCode, FunctionSet};
use super::name::Name;
use super::pairing::{Identified, pair};

impl FunctionSet {
    /// The functions that both builds have, paired as by [`FunctionSet::diff`], those that have changed among them.
    pub fn partners<'s>(
        base: &'s Self,
        head: &'s Self,
    ) -> Vec<(&'s FunctionCode, &'s FunctionCode)> {
        pair(base.functions(), head.functions()).pairs
    }
}

impl Identified for FunctionCode {
    fn name(&self) -> &Name {
        &self.name
    }

    fn code(&self) -> impl Ord {
        self.digest
    }

    fn instance(&self) -> impl Ord {
        self.instance
    }

    fn size(&self) -> u64 {
        self.size
    }
}
