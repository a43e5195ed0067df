//! Leaves out of the time of a process that is executed alone what interrupts it: other processes, and the host of a
//! virtual machine. In turns, the same library does so anyway.

use super::{ListedVersion, Runner};
use crate::{
    failure::Result,
    harness::{Conditions, Executable},
    process::turns::Member,
};

impl Runner<'_> {
    /// From now on, interruptions are left out of the time of what is executed alone, if the library for that can be
    /// had; otherwise the user is warned.
    pub fn leave_out_interruptions(&mut self, version: &ListedVersion) -> Result<()> {
        let instead = "what interrupts a benchmark is not left out of its time";
        self.uninterrupted = self.ability(version, instead)?;
        Ok(())
    }

    /// Whether interruptions are left out.
    pub fn leaves_out_interruptions(&self) -> bool {
        self.uninterrupted.is_some()
    }

    /// Executes this executable alone, under these conditions.
    pub(super) fn alone<T>(
        &self,
        executable: &Executable,
        conditions: &Conditions<'_>,
        execute: impl FnOnce(&Conditions<'_>) -> Result<T>,
    ) -> Result<T> {
        let Some(ability) = &self.uninterrupted else { return execute(conditions) };
        let member = Member::alone(&ability.library, &ability.cpus, &executable.directory)?;
        execute(&Conditions { member: Some(&member), ..*conditions })
    }
}
