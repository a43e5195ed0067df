//! Detects the linker that a recipe really uses, its capabilities and its options.

use std::path::{Path, PathBuf};

use super::{recipe::Recipe, tool};
use crate::{error::Result, model::Layout, process::sandbox::Task};

/// The linker programs that rbench distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// LLVM's linker, with its major version.
    Lld(u32),
    Mold,
    /// GNU ld, gold, Apple's, Microsoft's and other linkers.
    Other,
}

impl Family {
    pub const fn can(self, layout: Layout) -> bool {
        match (self, layout) {
            (_, Layout::Default | Layout::Rehashed)
            | (Self::Lld(_), Layout::SameAddress | Layout::SameOrder | Layout::Aligned)
            | (Self::Lld(_) | Self::Mold, Layout::Shuffled) => true,
            (Self::Lld(version), Layout::Padded) => version >= 20,
            _ => false,
        }
    }

    fn parse(version_text: &str) -> Self {
        if let Some(rest) = version_text.split("LLD ").nth(1) {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            Self::Lld(digits.parse().unwrap_or(0))
        } else if version_text.starts_with("mold ") {
            Self::Mold
        } else {
            Self::Other
        }
    }
}

#[derive(Debug, Default)]
pub struct Arrangement {
    /// Options for the linker itself, not for the driver in front of it.
    pub options: Vec<LinkerOption>,
    /// Files to write before the link: name and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkerOption {
    /// A flag without a file.
    Flag(String),
    /// A flag followed directly by one of the files.
    WithFile(String, String),
    Input(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linker {
    pub family: Family,
    /// The first line of its `--version`.
    pub version: String,
    /// Arguments that make the recipe's driver use this linker instead of the user's.
    pub(super) instead: Vec<String>,
    /// True if the recipe's program is a compiler driver, which needs `-Wl,` before linker options.
    pub(super) through_driver: bool,
}

impl Linker {
    /// The linker that the recipe's own command runs.
    pub fn detect(recipe: &Recipe) -> Result<Self> {
        Self::query(recipe, Vec::new())
    }

    /// A linker for `layout`: the recipe's own if it is able to, else LLD from the toolchain at `sysroot`, else mold,
    /// else `None`.
    pub fn for_layout(recipe: &Recipe, layout: Layout, sysroot: &Path) -> Result<Option<Self>> {
        let own = Self::detect(recipe)?;
        if own.family.can(layout) {
            return Ok(Some(own));
        }
        if !own.through_driver {
            return Ok(None);
        }
        let bundled = bundled_lld(sysroot)
            .map(|directory| vec![format!("-B{}", directory.display()), "-fuse-ld=lld".to_owned()]);
        let candidates = bundled.into_iter().chain([vec!["-fuse-ld=mold".to_owned()]]);
        for instead in candidates {
            // A linker that is not installed is no error, only no candidate.
            if let Ok(linker) = Self::query(recipe, instead)
                && linker.family.can(layout)
            {
                return Ok(Some(linker));
            }
        }
        Ok(None)
    }

    pub fn is_the_users(&self) -> bool {
        self.instead.is_empty()
    }

    fn query(recipe: &Recipe, instead: Vec<String>) -> Result<Self> {
        let through_driver = !is_plain_linker(&recipe.linker);
        let mut arguments = instead.clone();
        arguments.push(if through_driver { "-Wl,--version" } else { "--version" }.to_owned());
        let mut command = recipe.command(&arguments, Path::new("version-only"));
        let what =
            || format!("cannot determine the version of the linker of {}", recipe.output.display());
        let output = tool::run(&mut command, Task::Execute, what)?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(Self {
            family: Family::parse(&text),
            version: text.lines().next().unwrap_or_default().to_owned(),
            instead,
            through_driver,
        })
    }

    /// The arguments that make the recipe's command follow `arrangement`, whose files are in `directory`.
    pub fn arguments(&self, arrangement: &Arrangement, directory: &Path) -> Vec<String> {
        let file = |name: &str| directory.join(name).display().to_string();
        let option =
            |text: String| if self.through_driver { through_driver(&text) } else { vec![text] };
        let mut arguments = self.instead.clone();
        if matches!(self.family, Family::Lld(_) | Family::Mold) {
            // Debug info is not loaded, and linking it can take most of the time.
            arguments.extend(option("--strip-debug".to_owned()));
        }
        for argument in &arrangement.options {
            match argument {
                LinkerOption::Flag(flag) => arguments.extend(option(flag.clone())),
                LinkerOption::WithFile(flag, name) => {
                    arguments.extend(option(format!("{flag}{}", file(name))));
                }
                LinkerOption::Input(name) => arguments.push(file(name)),
            }
        }
        arguments
    }
}

/// `-Wl,` splits at commas, `-Xlinker` does not; a path may contain one.
fn through_driver(option: &str) -> Vec<String> {
    if option.contains(',') {
        vec!["-Xlinker".to_owned(), option.to_owned()]
    } else {
        vec![format!("-Wl,{option}")]
    }
}

/// True if the program takes linker options directly. Decided by the file stem, as in rustc.
fn is_plain_linker(program: &str) -> bool {
    let stem = Path::new(program).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let mut parts = stem.split('-');
    parts.any(|part| matches!(part, "ld" | "lld" | "mold" | "ld.lld" | "ld64.lld" | "ld.mold"))
}

/// The directory in which rustc keeps its own LLD, in the form that compiler drivers search.
fn bundled_lld(sysroot: &Path) -> Option<PathBuf> {
    let targets = std::fs::read_dir(sysroot.join("lib/rustlib")).ok()?;
    targets
        .filter_map(Result::ok)
        .map(|target| target.path().join("bin/gcc-ld"))
        .find(|directory| directory.join("ld.lld").exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linker_family_is_parsed_from_its_version_text() {
        let rust = "LLD 22.1.2 (/checkout/src/llvm-project abc) (compatible with GNU linkers)\n";
        let debian = "Debian LLD 14.0.6 (compatible with GNU linkers)\n";
        assert_eq!(Family::parse(rust), Family::Lld(22));
        assert_eq!(Family::parse(debian), Family::Lld(14));
        assert_eq!(Family::parse("mold 2.30.0 (compatible with GNU ld)\n"), Family::Mold);
        assert_eq!(Family::parse("GNU ld (GNU Binutils for Debian) 2.40\n"), Family::Other);
        assert!(!Family::Lld(14).can(Layout::Padded));
        assert!(!Family::Mold.can(Layout::SameOrder));
        assert!(!Family::Mold.can(Layout::SameAddress) && Family::Lld(14).can(Layout::SameAddress));
    }

    #[test]
    fn is_plain_linker_distinguishes_drivers() {
        for plain in ["rust-lld", "/usr/bin/ld.lld", "ld", "x86_64-linux-gnu-ld", "mold"] {
            assert!(is_plain_linker(plain), "{plain}");
        }
        for driver in ["cc", "clang-18", "/usr/bin/x86_64-linux-gnu-gcc", "world"] {
            assert!(!is_plain_linker(driver), "{driver}");
        }
    }

    #[test]
    fn option_with_a_comma_is_passed_whole() {
        assert_eq!(through_driver("--a=/x,y"), ["-Xlinker", "--a=/x,y"]);
        assert_eq!(through_driver("--a=/x"), ["-Wl,--a=/x"]);
    }
}
