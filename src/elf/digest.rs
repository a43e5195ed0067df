//! A 256-bit digest that identifies machine code.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The BLAKE3 digest of machine code.
///
/// Written as 64 hexadecimal digits; `{:.12}` or [`Digest::short`] gives the first 12, enough to distinguish the
/// builds of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct Digest([u8; 32]);

/// The error for text that is not the 64 hexadecimal digits of a [`Digest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotADigest;

impl Digest {
    /// The digest of `bytes`.
    pub fn compute(bytes: &[u8]) -> Self {
        blake3::hash(bytes).into()
    }

    /// The first 12 hexadecimal digits.
    pub fn short(&self) -> String {
        format!("{self:.12}")
    }

    /// The first 64 bits.
    pub(super) fn first_bits(&self) -> u64 {
        self.0.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// The 32 bytes of the digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self:.12})")
    }
}

impl fmt::Display for NotADigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest has 64 hexadecimal digits")
    }
}

impl std::error::Error for NotADigest {}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        blake3::Hash::from_hex(text).map(Self::from).map_err(|_| NotADigest)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_written_in_full_or_by_its_first_twelve_digits() {
        let digest = Digest::compute(b"");
        assert_eq!(
            digest.to_string(),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
        assert_eq!(digest.short(), "af1349b9f5f9");
    }

    #[test]
    fn digest_survives_json_as_hexadecimal_digits() {
        let digest = Digest::compute(b"code");
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json, format!("\"{digest}\""));
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
    }

    #[test]
    fn digest_refuses_short_or_foreign_strings() {
        assert_eq!("af1349b9f5f9".parse::<Digest>(), Err(NotADigest));
        let error = serde_json::from_str::<Digest>("\"zz\"").unwrap_err().to_string();
        assert!(error.contains("64 hexadecimal digits"), "{error}");
    }
}
