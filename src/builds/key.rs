//! Cache keys: hashes of everything that an entry depends on.

use std::path::Path;

/// A hash over named parts, each with its length, so that different lists of parts never give the same bytes.
pub struct KeyMaker {
    hasher: blake3::Hasher,
}

impl KeyMaker {
    /// A key for one kind of product. `kind` contains a version: raise it when the product of the same parts changes.
    pub fn new(kind: &str) -> Self {
        let mut maker = Self { hasher: blake3::Hasher::new() };
        maker.add("kind", kind.as_bytes());
        maker
    }

    pub fn add(&mut self, name: &str, value: &[u8]) -> &mut Self {
        for bytes in [name.as_bytes(), value] {
            self.hasher.update(&(bytes.len() as u64).to_le_bytes());
            self.hasher.update(bytes);
        }
        self
    }

    pub fn add_path(&mut self, name: &str, path: &Path) -> &mut Self {
        self.add(name, path.as_os_str().as_encoded_bytes())
    }

    /// Adds the contents of a file; a missing file is distinguished from an empty one.
    pub fn add_file(&mut self, name: &str, path: &Path) -> &mut Self {
        match std::fs::read(path) {
            Ok(contents) => self.add(name, &contents),
            Err(_) => self.add("missing file", name.as_bytes()),
        }
    }

    /// The key: 32 hex digits, short enough for a path and long enough never to collide.
    pub fn key(&self) -> String {
        self.hasher.finalize().to_hex()[..32].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_separates_its_parts() {
        let key = |parts: &[(&str, &str)]| {
            let mut maker = KeyMaker::new("test");
            for (name, value) in parts {
                maker.add(name, value.as_bytes());
            }
            maker.key()
        };
        assert_ne!(key(&[("a", "bc")]), key(&[("ab", "c")]));
        assert_ne!(key(&[("a", "b"), ("c", "d")]), key(&[("c", "d"), ("a", "b")]));
        assert_eq!(key(&[("a", "b")]), key(&[("a", "b")]));
    }
}
