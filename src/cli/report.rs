//! The command line of `report`: what is stored, as a web page.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser as _, Subcommand};

use super::{Cli, Command, CompareArgs, DiagnoseArgs, HistoryArgs};
use crate::failure::{Exit, Failure, OrFail as _, Result};

/// `cargo rbench report`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct PageArgs {
    /// What the page is about, if not a comparison.
    #[command(subcommand)]
    subject: Option<Subject>,
    /// The version that the other is compared with, or a range BASE..HEAD [default: HEAD~1]
    #[arg(value_name = "BASE")]
    base: Option<String>,
    /// The version that is judged; `.` for the uncommitted tree [default: HEAD]
    #[arg(value_name = "HEAD")]
    head: Option<String>,
    /// Only benchmarks whose id matches this regular expression; may be repeated.
    #[arg(long = "filter", value_name = "REGEX")]
    patterns: Vec<String>,
    /// Where the page is written.
    #[command(flatten)]
    place: PlaceArgs,
}

/// What else there are pages of.
#[derive(Debug, Subcommand)]
enum Subject {
    /// How benchmarks changed over the stored commits, and since when.
    History {
        /// Only benchmarks whose id matches one of these regular expressions.
        #[arg(value_name = "FILTER")]
        filters: Vec<String>,
        /// Only this revision and later ones.
        #[arg(long, value_name = "REV")]
        since: Option<String>,
        /// Only the newest N stored versions [default: 200, or all with --since]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        last: Option<u32>,
        /// Where the page is written.
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// What the numbers of one or a few benchmarks are made of, as far as what is stored tells it.
    Diagnose {
        /// The version: anything git understands, or `.` for the uncommitted tree.
        #[arg(value_name = "REV", default_value = "HEAD")]
        revision: String,
        /// Which benchmarks: one or a few.
        #[arg(value_name = "FILTER")]
        filters: Vec<String>,
        /// Where the page is written.
        #[command(flatten)]
        place: PlaceArgs,
    },
}

/// Where a page is written, and of which workspace it is.
#[derive(Clone, Debug, Args)]
pub struct PlaceArgs {
    /// The file.
    #[arg(
        short = 'o',
        long = "output",
        id = "page",
        value_name = "FILE",
        default_value = "rbench.html"
    )]
    pub file: PathBuf,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
}

/// The command whose report is the page.
#[derive(Debug)]
pub enum PageOf {
    /// `compare --stored`.
    Comparison(Box<CompareArgs>),
    /// `history`.
    History(Box<HistoryArgs>),
    /// `diagnose --from-stored`.
    Diagnosis(Box<DiagnoseArgs>),
}

/// How many versions a page of a history shows, where nothing else is said: a drawing has room for them.
const VERSIONS: u32 = 200;

impl PageArgs {
    /// Where the page is written.
    pub fn place(&self) -> &PlaceArgs {
        match &self.subject {
            None => &self.place,
            Some(Subject::History { place, .. } | Subject::Diagnose { place, .. }) => place,
        }
    }

    /// The command whose report the page is, as if it was typed.
    pub fn command(&self) -> Result<PageOf> {
        let path = self.place().manifest_path.iter();
        let path = path.map(|path| [OsString::from("--manifest-path"), path.clone().into()]);
        let mut words: Vec<OsString> = path.flatten().collect();
        let mut option = |name: &str, value: &str| words.push(format!("--{name}={value}").into());
        let (command, arguments): (&[&str], Vec<&String>) = match &self.subject {
            None => {
                for pattern in &self.patterns {
                    option("filter", pattern);
                }
                (&["compare", "--stored"], self.base.iter().chain(&self.head).collect())
            }
            Some(Subject::History { filters, since, last, .. }) => {
                let last = last.or(since.is_none().then_some(VERSIONS));
                if let Some(since) = since {
                    option("since", since);
                }
                if let Some(last) = last {
                    option("last", &last.to_string());
                }
                (&["history"], filters.iter().collect())
            }
            Some(Subject::Diagnose { revision, filters, .. }) => {
                (&["diagnose", "--from-stored"], [revision].into_iter().chain(filters).collect())
            }
        };
        let typed = ["cargo-rbench"].iter().chain(command).map(OsString::from).chain(words);
        let typed = typed.chain(["--".into()]).chain(arguments.iter().map(OsString::from));
        let what = || "cannot tell what the page is about".to_owned();
        match Cli::try_parse_from(typed).or_fail(Exit::Usage, what)?.command {
            Command::Compare(args) => Ok(PageOf::Comparison(Box::new(args))),
            Command::History(args) => Ok(PageOf::History(Box::new(args))),
            Command::Diagnose(args) => Ok(PageOf::Diagnosis(Box::new(args))),
            _ => Err(Failure::new(Exit::Internal, what())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(words: &str) -> PageOf {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        match Cli::of_words(&words).unwrap().command {
            Command::Report(args) => args.command().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_page_is_of_what_another_command_reads_from_the_store() {
        let PageOf::Comparison(args) = page_of("report v1 v2 --filter ^a") else { panic!() };
        assert!(args.stored);
        assert_eq!(args.versions.names().unwrap(), ["v1", "v2"]);
        assert_eq!(args.experiment.patterns, ["^a"]);
        let PageOf::History(args) = page_of("report history a b --since v1") else { panic!() };
        assert_eq!((args.filter.patterns().len(), args.last), (2, None));
        let PageOf::History(args) = page_of("report history") else { panic!() };
        assert_eq!(args.last, Some(VERSIONS));
        let PageOf::Diagnosis(args) = page_of("report diagnose HEAD~1 a") else { panic!() };
        assert!(args.from_stored && args.revision == "HEAD~1");
    }
}
