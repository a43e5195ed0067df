//! The options that a queued comparison may have. They are checked when it is queued, and again by the worker: a database
//! is not to be trusted.

use super::{Cli, Command, CompareArgs, GivenOptions};
use crate::error::{Error, Exit, Result};

/// The options of `compare` that a job may have: those that choose what is compared, and how. Others name files of a
/// machine, or belong to a report.
const JOB_OPTIONS: [&str; 23] = [
    "all-features",
    "bench",
    "budget",
    "builds",
    "command",
    "config",
    "exact",
    "exclude",
    "executions",
    "features",
    "filter",
    "ignore-rust-version",
    "layout",
    "measurements",
    "metric",
    "min-effect",
    "mode",
    "no-default-features",
    "no-skip",
    "package",
    "partition",
    "profile",
    "quick",
];

/// Checks the words after `compare BASE HEAD`, and returns them with each option in one word. Fails for an option that a
/// job may not have.
pub fn job_options(words: &[String]) -> Result<Vec<String>> {
    let command = ["compare", "HEAD", "HEAD"].map(str::to_owned);
    let all: Vec<String> = command.iter().chain(words).cloned().collect();
    let parsed = Cli::parse_words(&all).map_err(|error| {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        Error::new(Exit::Usage, "cannot queue a comparison with these options").cause(first)
    })?;
    match parsed.command {
        Some(Command::Compare(CompareArgs { given, .. })) => of_given(&given),
        _ => Err(Error::new(Exit::Usage, "cannot queue another command than `compare`")),
    }
}

/// The options that were given as those of a job. Fails for one that a job may not have.
pub fn of_given(GivenOptions(given): &GivenOptions) -> Result<Vec<String>> {
    let option = |(name, value): &(String, Option<String>)| {
        if !JOB_OPTIONS.contains(&name.as_str()) {
            let what = format!("cannot queue a comparison with --{name}");
            return Err(Error::new(Exit::Usage, what)
                .cause("the worker chooses it, or it is about the report"));
        }
        Ok(value.as_ref().map_or_else(|| format!("--{name}"), |value| format!("--{name}={value}")))
    };
    given.iter().map(option).collect()
}

/// The options of each part of a comparison.
pub fn parts(options: &[String], parts: u32) -> impl Iterator<Item = Vec<String>> {
    let part = move |number| (parts > 1).then(|| format!("--partition=hash:{number}/{parts}"));
    (1..=parts).map(move |number| options.iter().cloned().chain(part(number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Vec<String>> {
        job_options(&shlex::split(line).unwrap())
    }

    #[test]
    fn options_of_a_job_choose_what_is_compared_and_how() {
        let given = options("--quick -l 4 'parse/.*' --metric wall,user --config verdict.x=1");
        let expected =
            ["--quick", "--builds=4", "--metric=wall", "--metric=user", "--config=verdict.x=1"];
        let given = given.unwrap();
        for word in expected {
            assert!(given.iter().any(|given| given == word), "{word}: {given:?}");
        }
        assert!(given.contains(&"--filter=parse/.*".to_owned()), "{given:?}");
        // What comes from a database is read again in the same way.
        assert_eq!(job_options(&given).unwrap().len(), given.len());
    }

    #[test]
    fn job_writes_no_file_and_sends_nothing() {
        for line in [
            "--output /etc/passwd.json",
            "--manifest-path /x/Cargo.toml",
            "--push",
            "--stored",
            "--dry-run",
            "--fail-on never",
            "--cargo-arg=--config=x",
            "--cpu 1",
            "--unknown",
            "--variants lto",
            "--help",
        ] {
            assert!(options(line).is_err(), "{line}");
        }
    }

    #[test]
    fn parts_divide_the_benchmarks() {
        let all: Vec<_> = parts(&["--quick".to_owned()], 2).collect();
        assert_eq!(all[1], ["--quick", "--partition=hash:2/2"]);
        assert_eq!(parts(&[], 1).collect::<Vec<_>>(), [Vec::<String>::new()]);
    }
}
