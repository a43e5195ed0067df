//! A child's environment: that of rbench without disturbing variables, and a variable of random length.

use std::{ffi::OsStr, process::Command};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use super::Invocation;

/// The variable whose length moves the initial stack (Mytkowicz et al. 2009).
pub const PADDING_VARIABLE: &str = "RBENCH_PADDING";

/// The length of the padding variable's value for a seed, in bytes: 0 to 4095, a page.
pub fn padding_length(seed: u64) -> usize {
    let draw = ChaCha8Rng::seed_from_u64(seed).next_u32();
    usize::try_from(draw % 4096).unwrap_or(0)
}

/// Gives `command` the environment that `invocation` asks for.
pub(super) fn apply(command: &mut Command, invocation: &Invocation) {
    for (name, _) in std::env::vars_os() {
        if is_removed(&name, &invocation.removed_prefixes) {
            command.env_remove(name);
        }
    }
    command.env_remove(PADDING_VARIABLE);
    if let Some(seed) = invocation.padding_seed {
        command.env(PADDING_VARIABLE, "x".repeat(padding_length(seed)));
    }
    command.envs(invocation.variables.iter().map(|(name, value)| (name, value)));
}

fn is_removed(name: &OsStr, prefixes: &[String]) -> bool {
    let name = name.as_encoded_bytes();
    prefixes.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_removed_by_prefix() {
        let prefixes = ["CODSPEED_".to_owned(), "NEXTEST".to_owned()];
        for (name, removed) in
            [("CODSPEED_ENV", true), ("NEXTEST", true), ("CODSPEED", false), ("HOME", false)]
        {
            assert_eq!(is_removed(OsStr::new(name), &prefixes), removed, "{name}");
        }
    }

    #[test]
    fn a_seed_means_the_same_padding_for_ever() {
        assert_eq!([0, 1, 2].map(padding_length), [2924, 3505, 3013]);
        assert!((0..1000).all(|seed| padding_length(seed) < 4096));
    }
}
