//! How the packages that two versions depend on differ.

/// A package from elsewhere of which two versions use other versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyChange {
    /// Its name.
    pub name: String,
    /// The versions of it that only the base uses, in their order; of a package from git with its commit.
    pub base: Vec<String>,
    /// The same of the head.
    pub head: Vec<String>,
}
