//! A part of all benchmarks, or of the comparisons of a range, for one of several jobs.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Benchmark, Version};

/// The largest number of parts.
const MOST: u32 = 1_000;

/// One of several disjoint parts, which together cover all benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Partition {
    /// The number of this part, from 1.
    #[schemars(range(min = 1))]
    pub part: u32,
    /// The number of parts.
    #[schemars(range(min = 1))]
    pub of: u32,
}

impl Partition {
    /// True if the numbers are valid: a partition from a file need not be.
    pub fn is_possible(self) -> bool {
        self.checked().is_ok()
    }

    fn checked(self) -> Result<Self, String> {
        match (self.part, self.of) {
            (_, 0) => Err("there is at least one part".to_owned()),
            (_, of) if of > MOST => Err(format!("the maximum is {MOST} parts")),
            (part, of) if part == 0 || part > of => {
                Err(format!("the parts are 1 to {of}, and {part} is none of them"))
            }
            _ => Ok(self),
        }
    }

    /// True if the benchmark belongs to this part. Only its name decides, so that all versions and machines agree.
    pub fn has(self, benchmark: &Benchmark) -> bool {
        let Benchmark { package, target, name } = benchmark;
        self.has_words([package, target, &name.id])
    }

    /// True if the comparison of this version with the one before it belongs to this part.
    ///
    /// Its base decides nothing: it is another version where the one before does not build, which each machine finds out
    /// by itself.
    pub fn has_head(self, head: &Version) -> bool {
        let variant = head.variant.as_ref().map_or("", |variant| &variant.name);
        self.has_words([&head.tree, variant])
    }

    fn has_words<const N: usize>(self, words: [&str; N]) -> bool {
        let mut hasher = blake3::Hasher::new();
        for word in words {
            hasher.update(&(word.len() as u64).to_le_bytes()).update(word.as_bytes());
        }
        let hash = hasher.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        u64::from_le_bytes(first) % u64::from(self.of.max(1)) + 1 == u64::from(self.part)
    }

    /// Parses a part without the name of the division: `1/3`.
    pub fn from_fraction(text: &str) -> Result<Self, String> {
        let numbers = || {
            let (part, of) = text.split_once('/')?;
            Some((part.parse().ok()?, of.parse().ok()?))
        };
        let (part, of) =
            numbers().ok_or_else(|| format!("`{text}` is not a part; example: 1/3"))?;
        Self { part, of }.checked()
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hash:{}/{}", self.part, self.of)
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fraction = text.strip_prefix("hash:");
        let fraction =
            fraction.ok_or_else(|| format!("`{text}` is not a part; example: hash:1/3"))?;
        Self::from_fraction(fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Name, Variant};

    fn benchmark(id: &str) -> Benchmark {
        Benchmark { package: "p".to_owned(), target: "t".to_owned(), name: Name::plain(id) }
    }

    #[test]
    fn partition_puts_each_benchmark_in_exactly_one_part() {
        for of in [1, 2, 3, 7] {
            for id in (0..200).map(|number| format!("parse/{number}")) {
                let has = |part: &u32| Partition { part: *part, of }.has(&benchmark(&id));
                assert_eq!((1..=of).filter(has).count(), 1, "{id} of {of}");
            }
        }
    }

    #[test]
    fn partition_of_a_benchmark_is_stable_across_versions() {
        let part = |id: &str| {
            let has = |part: &u32| Partition { part: *part, of: 4 }.has(&benchmark(id));
            (1..=4).find(has).unwrap()
        };
        assert_eq!(["a", "b", "parse/words", "größe"].map(part), [3, 1, 3, 2]);
    }

    #[test]
    fn partition_parts_are_about_equally_large() {
        let first = Partition { part: 1, of: 4 };
        let in_first = (0..1_000).filter(|number| first.has(&benchmark(&number.to_string())));
        assert!((200..300).contains(&in_first.count()));
    }

    #[test]
    fn partition_is_written_as_in_nextest() {
        let third: Partition = "hash:3/4".parse().unwrap();
        assert_eq!((third, third.to_string().as_str()), (Partition { part: 3, of: 4 }, "hash:3/4"));
        for wrong in ["", "1/2", "hash:", "hash:1", "hash:0/2", "hash:3/2", "hash:1/0", "hash:-1/2"]
        {
            assert!(wrong.parse::<Partition>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn fraction_is_one_of_its_parts() {
        assert_eq!(Partition::from_fraction("3/8").unwrap(), Partition { part: 3, of: 8 });
        for (wrong, why) in [
            ("0/8", "the parts are 1 to 8, and 0 is none of them"),
            ("9/8", "the parts are 1 to 8, and 9 is none of them"),
            ("1/0", "there is at least one part"),
            ("1/1001", "the maximum is 1000 parts"),
            ("x", "`x` is not a part; example: 1/3"),
            ("", "`` is not a part; example: 1/3"),
            ("hash:1/3", "`hash:1/3` is not a part; example: 1/3"),
            ("-1/3", "`-1/3` is not a part; example: 1/3"),
        ] {
            assert_eq!(Partition::from_fraction(wrong).unwrap_err(), why, "{wrong}");
        }
    }

    #[test]
    fn partition_of_a_head_is_stable_and_ignores_its_name() {
        let head = |revision: &str, tree: &str, variant: Option<&str>| Version {
            revision: revision.to_owned(),
            tree: tree.to_owned(),
            variant: variant
                .map(|name| Variant { name: name.to_owned(), settings: revision.to_owned() }),
            ..Version::default()
        };
        let part = |version: &Version| {
            let has = |part: &u32| Partition { part: *part, of: 8 }.has_head(version);
            (1..=8).find(has).unwrap()
        };
        let parts = ["feed", "beef", "cafe"].map(|tree| part(&head("HEAD", tree, None)));
        assert_eq!(parts, [3, 6, 8]);
        for variant in [None, Some("lto")] {
            let names = ["HEAD", "main"].map(|name| part(&head(name, "feed", variant)));
            assert_eq!(names[0], names[1]);
        }
    }
}
