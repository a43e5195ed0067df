//! The functions by which a harness reads its command line.

/// The start of the path of a function that drops values of a type.
const DROP: &str = "core::ptr::drop_in_place<";

/// Functions that a harness reads its command line with, by the start of their paths and a later part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLineReader {
    /// The start of a path, up to and with `::` or `<`.
    pub start: String,
    /// A later part of it; may be empty.
    pub part: &'static str,
}

impl CommandLineReader {
    /// True if this is the demangled path of one of them. A method of a trait is one if its type is of the parser and the
    /// trait is too, or of the standard library, or if the parser implements its own trait for every type.
    pub fn has(&self, path: &str) -> bool {
        let is_own = |path: &str| path.starts_with(&*self.start);
        let of_trait = path.strip_prefix('<').and_then(|path| path.split_once(" as "));
        let starts = match of_trait {
            Some((of, of_trait)) => {
                let is_std =
                    ["core::", "alloc::", "std::"].iter().any(|std| of_trait.starts_with(std));
                let is_for_every_type = !of.contains("::") && is_own(of_trait);
                is_for_every_type || is_own(of) && (is_std || is_own(of_trait))
            }
            None => is_own(path.trim_start_matches(DROP).trim_start_matches('<')),
        };
        starts && path.contains(self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_reader_has_functions_and_inherent_methods() {
        let parser = CommandLineReader { start: "clap::".to_owned(), part: "" };
        for path in [
            "clap::parse",
            "<clap::Command>::parse",
            "clap::Command::get::{{closure}}",
            "<clap::Parser as core::convert::From<[P; C]>>::from",
            "<clap::Parser as clap::Parse>::parse",
            "<P as clap::Parse>::parse",
            "core::ptr::drop_in_place<clap::Extensions>",
        ] {
            assert!(parser.has(path), "{path}");
        }
        for path in [
            "main",
            "clap_lex::f",
            "own::clap::f",
            "<own::T as clap::F>::f",
            "<clap::Parser as own::F>::f",
            "<T as own::F<clap::Parser>>::f",
            "core::ptr::drop_in_place<own::clap::T>",
        ] {
            assert!(!parser.has(path), "{path}");
        }
        let of_criterion =
            CommandLineReader { start: "criterion::Criterion<".to_owned(), part: "::configure" };
        assert!(of_criterion.has("criterion::Criterion<M>::configure_from_args"));
        assert!(!of_criterion.has("criterion::Criterion<M>::bench_function"));
    }
}
