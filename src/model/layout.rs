//! Code layouts, build strategies, and the seeds that layouts are derived from.

use std::{fmt, num::NonZeroU32, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The arrangement of an executable's functions.
#[derive(Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Each function that several versions have gets the same address in build k of all of them, if they are built
    /// together; a version that is built alone gets `same-order`.
    #[default]
    SameAddress,
    /// A function's position depends only on its name and the seed, so that build k of every version has its functions
    /// in the same order, at the same offsets from cache lines.
    SameOrder,
    /// The linker's own shuffle of sections: random, but unrelated between versions.
    Shuffled,
    /// The linker's own random padding between sections: keeps neighbours together.
    Padded,
    /// Like `same-order`, with every function on a 64-byte boundary: less variance, but not the alignment that cargo
    /// builds.
    Aligned,
    /// As cargo links it: every build is the same executable. For comparing methods.
    Default,
    /// As cargo links it, each build compiled with other symbol hashes, which change the order of the crate's own
    /// functions: the fallback if no linker here can arrange functions.
    Rehashed,
}

names!(Layout {
    SameAddress = "same-address",
    SameOrder = "same-order",
    Shuffled = "shuffled",
    Padded = "padded",
    Aligned = "aligned",
    Default = "default",
    Rehashed = "rehashed",
});

/// The source of a version's builds.
#[derive(Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Relink if compiling is reproducible here, else rebuild.
    #[default]
    Auto,
    /// Compile once, and link every build from the recorded link inputs.
    Relink,
    /// Compile once for every build, as in Kalibera & Tuma 2006.
    Rebuild,
}

names!(Strategy { Auto = "auto", Relink = "relink", Rebuild = "rebuild", });

/// The seed of an experiment's first stage: derived from the seed in the settings and, for a comparison, from the
/// identities of the two versions.
pub fn first_stage_seed(seed: u64, versions: &[String]) -> u64 {
    let [base, head] = versions else { return seed };
    derive_seed(
        "cargo-rbench first stage v1",
        &[&seed.to_le_bytes(), base.as_bytes(), b" ", head.as_bytes()],
    )
}

/// A seed that depends only on `context` and `parts`. Each use has its own context, so their seeds are independent.
pub fn derive_seed(context: &str, parts: &[&[u8]]) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(part);
    }
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// The seed of one layout: 1 ..= 2³² − 2, the range in which linkers take a seed as it is (0 and
/// 2³² − 1 mean "random" and "reverse" to LLD).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct LayoutSeed(NonZeroU32);

impl LayoutSeed {
    /// The layout seed of build `index` of an experiment. All versions share one list of seeds, and more builds extend
    /// the list without changing its beginning.
    pub fn derive(experiment_seed: u64, index: u32) -> Self {
        for attempt in 0_u32.. {
            let mut hasher = blake3::Hasher::new_derive_key("cargo-rbench layout seed v1");
            hasher.update(&experiment_seed.to_le_bytes());
            hasher.update(&index.to_le_bytes());
            hasher.update(&attempt.to_le_bytes());
            let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
            match NonZeroU32::new(u32::from_le_bytes([a, b, c, d])) {
                Some(seed) if seed != NonZeroU32::MAX => return Self(seed),
                _ => {}
            }
        }
        Self(NonZeroU32::MIN)
    }

    /// The first `count` layout seeds of an experiment.
    pub fn list(experiment_seed: u64, count: u32) -> Vec<Self> {
        (0..count).map(|index| Self::derive(experiment_seed, index)).collect()
    }

    /// Makes a layout seed from a number in the valid range; `None` outside it.
    pub fn new(number: u32) -> Option<Self> {
        NonZeroU32::new(number).filter(|seed| *seed != NonZeroU32::MAX).map(Self)
    }

    /// The seed as the number that linkers take.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for LayoutSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<u32> for LayoutSeed {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        Self::new(number).ok_or_else(|| format!("{number} is not a layout seed"))
    }
}

impl From<LayoutSeed> for u32 {
    fn from(seed: LayoutSeed) -> Self {
        seed.get()
    }
}

impl FromStr for LayoutSeed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seed = text.parse().ok().and_then(Self::new);
        seed.ok_or_else(|| format!("`{text}` is not a layout seed: expected 1 to {}", u32::MAX - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_from_name_finds_every_layout() {
        for layout in Layout::ALL {
            assert_eq!(Layout::from_name(&layout.to_string()), Some(layout));
        }
        assert_eq!(Layout::from_name("rehashed"), Some(Layout::Rehashed));
    }

    #[test]
    fn layout_seeds_are_stable_across_versions() {
        let seeds: Vec<u32> = LayoutSeed::list(1, 3).into_iter().map(LayoutSeed::get).collect();
        assert_eq!(seeds, [1_278_425_008, 2_965_748_319, 774_591_314]);
    }

    #[test]
    fn layout_seed_list_extends_without_changing() {
        assert_eq!(LayoutSeed::list(7, 30)[..10], LayoutSeed::list(7, 10));
    }

    #[test]
    fn layout_seed_refuses_numbers_special_to_linkers() {
        assert!("0".parse::<LayoutSeed>().is_err());
        assert!("4294967295".parse::<LayoutSeed>().is_err());
        assert_eq!("4294967294".parse::<LayoutSeed>().unwrap().get(), u32::MAX - 1);
    }

    #[test]
    fn first_stage_seed_depends_on_both_versions_of_a_pair() {
        let names =
            |versions: &[&str]| versions.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let of = |versions: &[&str]| first_stage_seed(1, &names(versions));
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]), "the same comparison finds its builds again");
        assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
        assert_ne!(of(&["a", "b"]), of(&["a", "c"]));
        assert_ne!(of(&["a", "b"]), first_stage_seed(2, &names(&["a", "b"])));
        assert_eq!(of(&["a"]), 1);
    }
}
