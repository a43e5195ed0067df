//! How the command line is explained: colours, examples, and which options a short help shows.

use std::io::Write;

use clap::{
    Command, CommandFactory as _,
    builder::{Resettable, Styles, styling::AnsiColor},
};
use clap_complete::Shell;

use super::Cli;

/// The name of the program.
const PROGRAM: &str = "cargo-rbench";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().bold())
    .valid(AnsiColor::Cyan.on_default())
    .invalid(AnsiColor::Yellow.on_default());

/// The commands whose options are so many that `-h` shows only the [common](COMMON) ones.
const LONG: [&str; 7] = ["compare", "ci", "bisect", "run", "selftest", "diagnose", "plan"];

/// The options, by their long names, that most comparisons need.
const COMMON: [&str; 18] = [
    "filter",
    "exact",
    "package",
    "bench",
    "command",
    "quick",
    "budget",
    "builds",
    "steps",
    "min-effect",
    "also-base",
    "fail-on",
    "stored",
    "repeat",
    "dry-run",
    "reasons",
    "format",
    "output",
];

/// A command line and what it is for.
type Example = (&'static str, &'static str);

/// Examples of each command; those without options need none.
const EXAMPLES: &[(&str, &[Example])] = &[
    ("build", &[("build HEAD~1 HEAD -l 5", "five builds of each of two versions")]),
    (
        "compare",
        &[
            ("compare", "the last two commits"),
            ("compare main .", "main and the uncommitted tree"),
            ("compare main..topic --quick", "a first look, with wide intervals"),
            ("compare --filter '^parse/' -l 30", "some benchmarks, with more builds"),
            ("compare main HEAD --budget 5min", "what five minutes of measuring decide"),
            ("compare --also-base v1.2.0", "the last two commits, and all since a release"),
            ("compare --command 'tool --quick'", "a program of the workspace as a benchmark"),
            ("compare --stored --output page.html", "stored results as a web page"),
        ],
    ),
    (
        "ci",
        &[
            (
                "ci --budget 10min",
                "what ten minutes of measuring decide, in a job of GitHub or GitLab",
            ),
            ("ci --partition hash:1/4", "the benchmarks of the first of four jobs"),
            ("ci merge part-1.json part-2.json", "all parts together"),
            ("ci comment --from compare.json", "the comment for a fork, in a job of its own"),
            ("ci --base origin/main", "on another service"),
        ],
    ),
    (
        "bisect",
        &[
            ("bisect v1.2.0..HEAD", "all benchmarks that changed since a release"),
            ("bisect v1.2.0.. '^parse/'", "some benchmarks"),
            ("bisect main~50..main --budget 1h", "as far as an hour of measuring leads"),
        ],
    ),
    (
        "run",
        &[
            ("run", "measure HEAD alone"),
            ("run v1.0..HEAD --steps 20", "20 commits, each compared with the one before"),
            ("run v1.0..HEAD --budget 2h", "the ends first, then halves"),
        ],
    ),
    ("accept", &[("accept HEAD parse --reason 'checks UTF-8'", "a slowdown on purpose")]),
    ("plan", &[("plan --filter '^parse/'", "what pays: builds, executions or measurements")]),
    (
        "diagnose",
        &[("diagnose HEAD parse --plots plots", "a long look at one benchmark, with plots")],
    ),
    (
        "history",
        &[
            ("history", "what changed since when; then all benchmarks"),
            ("history --changes-only --since v1.0", "only what changed since a release"),
            ("history parse", "some benchmarks, commit by commit"),
            ("history --path src/parser", "only what changed where a commit changed the parser"),
            ("history --last 200 --output page.html", "the newest 200 versions as a web page"),
        ],
    ),
    (
        "show",
        &[
            ("show", "all stored results of HEAD"),
            ("show HEAD~1 parse", "every build and execution of some benchmarks"),
        ],
    ),
    ("export", &[("export results.jsonl", "all results, to be imported elsewhere")]),
    ("import", &[("import results.jsonl", "results from another machine")]),
    (
        "diff",
        &[
            ("diff HEAD~1 HEAD", "the functions whose machine code changed"),
            ("diff main . --by-benchmark", "which benchmarks execute each of them"),
        ],
    ),
    (
        "explain",
        &[
            ("explain main . parse/long", "a benchmark of main and of the uncommitted tree"),
            ("explain HEAD~1..HEAD '^sort$'", "what the last commit did to another one"),
        ],
    ),
    (
        "list",
        &[
            ("list", "the benchmarks of the uncommitted tree"),
            ("list HEAD~1 '^parse/'", "some benchmarks of another version"),
        ],
    ),
    ("exec", &[("exec HEAD --exact parse/small", "one benchmark, once")]),
    (
        "selftest",
        &[
            ("selftest", "is this machine fit to judge?"),
            ("selftest --against criterion", "the same, beside criterion's own verdicts"),
        ],
    ),
    (
        "init",
        &[
            ("init --dry-run", "what the project has, and what would be written"),
            ("init --ci github", "write bench.toml and a workflow for pull requests"),
        ],
    ),
    ("doctor", &[("doctor", "what of this machine blurs comparisons")]),
    (
        "completions",
        &[("completions bash", "for ~/.local/share/bash-completion/completions/cargo-rbench")],
    ),
    (
        "clean",
        &[
            ("clean --dry-run", "what could be removed from the cache"),
            ("clean --max-size 2G", "keep two gigabytes"),
        ],
    ),
    ("demo", &[("demo", "example comparisons in a temporary project")]),
];

/// The command line with all that explains it.
pub fn command() -> Command {
    let mut all = Cli::command().styles(STYLES).after_help(
        "A first comparison: cargo rbench init --dry-run, then cargo rbench compare --quick\n\
         Set defaults in bench.toml, next to the workspace's Cargo.toml.",
    );
    for (name, examples) in EXAMPLES {
        all = all.mut_subcommand(name, |command| command.after_help(listed(examples)));
    }
    for name in LONG {
        all = all.mut_subcommand(name, with_common_options_first);
    }
    all.mut_arg("color", |argument| argument.hide_short_help(true))
}

/// The examples in columns.
fn listed(examples: &[Example]) -> String {
    let typed = |(line, _): &Example| format!("cargo rbench {line}");
    let width = examples.iter().map(|example| typed(example).len()).max().unwrap_or_default();
    let lines =
        examples.iter().map(|example| format!("  {:width$}  {}", typed(example), example.1));
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// Common options stand first and together, and only they are in the help of `-h`.
fn with_common_options_first(command: Command) -> Command {
    command.mut_args(|argument| {
        let Some(name) = argument.get_long() else { return argument };
        match COMMON.iter().position(|common| *common == name) {
            Some(place) => argument.help_heading(Resettable::Reset).display_order(place),
            None => argument.hide_short_help(true),
        }
    })
}

/// The name of the file in which a shell looks for completions.
pub fn completions_file(shell: Shell) -> String {
    clap_complete::Generator::file_name(&shell, PROGRAM)
}

/// Writes the completions for a shell.
pub fn write_completions(shell: Shell, out: &mut dyn Write) {
    clap_complete::generate(shell, &mut command(), PROGRAM, &mut &mut *out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_examples_that_can_be_typed() {
        for subcommand in Cli::command().get_subcommands() {
            let name = subcommand.get_name();
            let examples = EXAMPLES.iter().find(|(of, _)| *of == name);
            let (_, examples) = examples.unwrap_or_else(|| panic!("{name} has no example"));
            for (line, purpose) in *examples {
                assert!(!purpose.is_empty());
                let words = shlex::split(line).unwrap();
                assert_eq!(words[0], name, "{line}");
                Cli::parse_words(&words).unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }

    #[test]
    fn the_short_help_shows_common_options_and_the_long_one_all() {
        let mut all = command();
        let compare = all.find_subcommand_mut("compare").unwrap();
        let short = compare.render_help().to_string();
        let long = compare.render_long_help().to_string();
        for common in
            ["--quick", "--filter", "--command", "--budget", "cargo rbench compare main ."]
        {
            assert!(short.contains(common) && long.contains(common), "{common}: {short}");
        }
        for advanced in ["--config", "--layout", "--cargo-arg"] {
            assert!(!short.contains(advanced) && long.contains(advanced), "{advanced}: {short}");
        }
        assert!(short.lines().count() < 60, "{short}");
        assert!(long.find("--quick") < long.find("--metric"), "{long}");
    }

    #[test]
    fn common_options_are_options() {
        for name in COMMON {
            let has = |command: &Command| {
                command.get_arguments().any(|argument| argument.get_long() == Some(name))
            };
            assert!(Cli::command().get_subcommands().any(has), "no command has --{name}");
        }
    }

    #[test]
    fn every_shell_gets_completions() {
        use clap::ValueEnum as _;
        for shell in Shell::value_variants() {
            let mut text = Vec::new();
            write_completions(*shell, &mut text);
            assert!(String::from_utf8(text).unwrap().contains("selftest"), "{shell}");
        }
    }
}
