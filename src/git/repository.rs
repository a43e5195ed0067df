//! The user's repository: its location, its identity, and handles that cannot write into it.

use std::path::{Path, PathBuf};

use git2::{ErrorClass, ErrorCode, RepositoryOpenFlags, Sort};

use crate::{
    error::{Context, Error, Exit, Result},
    model::Variant,
    shell::quoted,
};

/// Above the priorities of libgit2's own stores (loose objects 1, packs 2), so that every new
/// object goes to the store in memory and none into `.git/objects`.
pub(super) const MEMORY_FIRST: i32 = 1_000;

/// A git repository that is read and never written to.
///
/// New objects, which only the uncommitted tree needs, live in memory as long as this value.
pub struct Repository {
    git: git2::Repository,
    root: PathBuf,
    left_out: Vec<PathBuf>,
    variants: Vec<Variant>,
}

impl Repository {
    /// Finds the repository that contains `directory`, as git does: it searches the parents. Bare
    /// repositories, additional worktrees, submodules and shallow clones are repositories like any
    /// other.
    pub fn discover(directory: &Path) -> Result<Self> {
        // `discover` would take the parent of a git directory elsewhere for the working tree.
        let git =
            git2::Repository::open_ext(directory, RepositoryOpenFlags::CROSS_FS, [] as [&Path; 0])
                .map_err(|error| not_a_repository(directory, &error))?;
        Self::new(git).map_err(|error| not_a_repository(directory, &error))
    }

    pub(super) fn new(git: git2::Repository) -> Result<Self, git2::Error> {
        git.odb()?.add_new_mempack_backend(MEMORY_FIRST)?;
        let root = git.workdir().unwrap_or_else(|| git.path());
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Ok(Self { git, root, left_out: Vec::new(), variants: Vec::new() })
    }

    /// Takes these files, which only rbench reads, for unchanged in the uncommitted tree.
    #[must_use]
    pub fn leaving_out(self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { left_out: files.into_iter().collect(), ..self }
    }

    /// Makes these variants of every version known: `HEAD+NAME`.
    #[must_use]
    pub fn with_variants(self, variants: Vec<Variant>) -> Self {
        Self { variants, ..self }
    }

    pub fn variants(&self) -> &[Variant] {
        &self.variants
    }

    /// The files whose changes are not part of the uncommitted tree: absolute.
    pub(super) fn left_out(&self) -> &[PathBuf] {
        &self.left_out
    }

    /// The top directory of the working tree, or the git directory of a bare repository: absolute,
    /// without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of the objects and references, which a linked worktree shares: absolute.
    pub(super) fn common_directory(&self) -> PathBuf {
        let directory = self.git.commondir();
        directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
    }

    /// Rejects a repository without a working tree, which cannot contain a workspace.
    pub fn require_working_tree(&self) -> Result<()> {
        if !self.git.is_bare() {
            return Ok(());
        }
        let root = self.root.display();
        Err(Error::new(Exit::Usage, format!("the repository {root} is bare"))
            .cause("it has no working tree, and therefore no cargo workspace")
            .hint(format!("run rbench in a clone of it: git clone {}", quoted(&self.root))))
    }

    /// An identity of 16 hex digits that all clones of one repository share, wherever they are: a
    /// hash of the first commit in HEAD's line of first parents.
    ///
    /// A shallow clone ends at its boundary, so it has its own identity. A repository without a
    /// commit is identified by its path.
    pub fn identity(&self) -> Result<String> {
        let mut hasher = blake3::Hasher::new();
        match self.first_commit().context(Exit::Usage, || {
            format!("cannot walk the history of {}", self.root.display())
        })? {
            Some(commit) => hasher.update(b"commit ").update(commit.as_bytes()),
            None => hasher.update(b"path ").update(self.root.as_os_str().as_encoded_bytes()),
        };
        Ok(hasher.finalize().to_hex()[..16].to_owned())
    }

    fn first_commit(&self) -> Result<Option<git2::Oid>, git2::Error> {
        let Some(head) = self.head_commit()? else { return Ok(None) };
        let mut walk = self.git.revwalk()?;
        walk.set_sorting(Sort::NONE)?;
        walk.simplify_first_parent()?;
        walk.push(head.id())?;
        walk.try_fold(None, |_, commit| commit.map(Some))
    }

    /// Texts of git's configuration that may have passwords: addresses of remotes, and headers for them.
    pub fn access(&self) -> Vec<String> {
        let Ok(config) = self.git().config() else { return Vec::new() };
        let Ok(mut entries) = config.entries(None) else { return Vec::new() };
        let mut found = Vec::new();
        while let Some(Ok(entry)) = entries.next() {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            if [".url", ".pushurl", ".extraheader"].iter().any(|end| name.ends_with(end)) {
                found.push(String::from_utf8_lossy(entry.value_bytes()).into_owned());
            } else if name.starts_with("url.") {
                found.push(name);
            }
        }
        found
    }

    /// True if the clone lacks older commits.
    pub fn is_shallow(&self) -> bool {
        self.git.is_shallow()
    }

    /// HEAD's commit, or `None` in a repository without one.
    pub(super) fn head_commit(&self) -> Result<Option<git2::Commit<'_>>, git2::Error> {
        match self.git.head() {
            Ok(head) => head.peel_to_commit().map(Some),
            Err(error) if is_unborn(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if an object is available, on disk or in memory.
    pub(super) fn has(&self, object: git2::Oid) -> bool {
        self.git.odb().is_ok_and(|objects| objects.exists(object))
    }

    pub(super) const fn git(&self) -> &git2::Repository {
        &self.git
    }

    /// A second handle on the same objects, including those in memory. Its working tree and index
    /// may be replaced without an effect on this one.
    pub(super) fn bare_handle(&self) -> Result<git2::Repository, git2::Error> {
        let handle = git2::Repository::open_bare(self.git.path())?;
        handle.set_odb(&self.git.odb()?)?;
        Ok(handle)
    }

    /// Such a handle with `tree` as its index, in memory, so that `.gitattributes` are those of the tree.
    pub(super) fn bare_handle_with(
        &self,
        tree: git2::Oid,
    ) -> Result<(git2::Repository, git2::Index), git2::Error> {
        let (handle, mut index) = (self.bare_handle()?, git2::Index::new()?);
        handle.set_index(&mut index)?;
        index.read_tree(&handle.find_tree(tree)?)?;
        Ok((handle, index))
    }
}

pub(super) fn is_unborn(error: &git2::Error) -> bool {
    matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound)
}

/// The top directory of a repository that git refuses to open.
fn top_directory(directory: &Path) -> PathBuf {
    match git2::Repository::discover_path(directory, [] as [&Path; 0]) {
        Ok(git) if git.ends_with(".git") => git.parent().unwrap_or(&git).to_owned(),
        Ok(git) => git,
        Err(_) => directory.to_owned(),
    }
}

/// True at or below the top directory of a jj repository.
fn is_in_jj(directory: &Path) -> bool {
    std::path::absolute(directory)
        .is_ok_and(|place| place.ancestors().any(|above| above.join(".jj/repo").exists()))
}

fn not_a_repository(directory: &Path, error: &git2::Error) -> Error {
    let place = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let place = place.display();
    let failure = |what: &str| Error::new(Exit::Usage, format!("{what} {place}"));
    match (error.code(), error.class()) {
        (ErrorCode::NotFound, _) if is_in_jj(directory) => failure("there is no git repository at or above")
            .cause("the jj repository there keeps its git repository in .jj")
            .hint("make it visible to git: jj git colocation enable"),
        (ErrorCode::NotFound, _) => failure("there is no git repository at or above")
            .hint("versions are compared by git revisions: run inside a repository, or make one with: git init"),
        (ErrorCode::Owner, _) => {
            let top = top_directory(directory);
            failure("git's ownership check refuses the repository at")
                .cause(error.message())
                .hint(format!(
                    "if you trust it: git config --global --add safe.directory {}",
                    quoted(&top)
                ))
        }
        (_, ErrorClass::Repository) if error.message().contains("extension") || error.message().contains("object format") => {
            failure("cannot open the git repository at")
                .cause(error.message())
                .hint("the repository uses a format that rbench does not know; clone it again with: git clone --ref-format=files")
        }
        _ => failure("cannot open the git repository at").cause(error.message()),
    }
}
