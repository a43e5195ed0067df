//! The functions by which a harness reads its command line.

/// Functions that a harness reads its command line with, by the start of their paths and a later part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLineReader {
    /// The start of a path, up to and with `::` or `<`.
    pub start: String,
    /// A later part of it; may be empty.
    pub part: &'static str,
}

impl CommandLineReader {
    /// True if this is the demangled path of one of them; a method of a trait is of the type that implements it.
    pub fn has(&self, path: &str) -> bool {
        let own = if path.contains(" as ") { path } else { path.trim_start_matches('<') };
        own.strip_prefix(&*self.start).is_some_and(|rest| rest.contains(self.part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_reader_has_functions_and_inherent_methods() {
        let parser = CommandLineReader { start: "clap::".to_owned(), part: "" };
        for path in ["clap::parse", "<clap::Command>::parse", "clap::Command::get::{{closure}}"] {
            assert!(parser.has(path), "{path}");
        }
        for path in ["main", "clap_lex::f", "own::clap::f", "<own::T as clap::F>::f"] {
            assert!(!parser.has(path), "{path}");
        }
        let of_criterion =
            CommandLineReader { start: "criterion::Criterion<".to_owned(), part: "::configure" };
        assert!(of_criterion.has("criterion::Criterion<M>::configure_from_args"));
        assert!(!of_criterion.has("criterion::Criterion<M>::bench_function"));
    }
}
