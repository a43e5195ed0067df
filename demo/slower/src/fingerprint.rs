//! Fingerprints of documents.

/// What the hash of nothing is.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// A number that two different documents hardly ever share.
pub fn fingerprint(document: &[u8]) -> u64 {
    // The header decides where the hash of the document begins.
    let header = &document[..document.len() / 10];
    hash(hash(SEED, header), document)
}

/// FNV-1a, which takes one byte at a time.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(seed, step)
}
