//! The help: colors, examples, and the options in the short help. It is separate from the clap structs, so that those
//! stay readable.

use clap::{
    Command,
    builder::{Resettable, Styles, styling::AnsiColor},
};
use textwrap::Options;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().bold())
    .valid(AnsiColor::Cyan.on_default())
    .invalid(AnsiColor::Yellow.on_default());

/// The commands of whose many options `-h` shows only the [common](COMMON) ones.
const LONG: [&str; 7] = ["compare", "versus", "ci", "bisect", "run", "selftest", "diagnose"];

/// The options that most comparisons need, by their long names, in the order of the help.
const COMMON: [&str; 20] = [
    "filter",
    "exact",
    "package",
    "bench",
    "command",
    "quick",
    "watch",
    "budget",
    "builds",
    "steps",
    "min-effect",
    "also-base",
    "fail-on",
    "stored",
    "repeat",
    "dry-run",
    "plan",
    "reasons",
    "format",
    "output",
];

/// A command line and its purpose.
type Example = (&'static str, &'static str);

/// The examples of each command.
const EXAMPLES: &[(&str, &[Example])] = &[
    ("build", &[("build HEAD~1 HEAD -l 5", "five builds of each of two versions")]),
    (
        "compare",
        &[
            ("compare", "the last two commits"),
            ("compare main .", "main and the uncommitted tree"),
            ("compare main..topic --quick", "quickly, with wide intervals"),
            (
                "compare HEAD . parse --watch",
                "some benchmarks of the uncommitted tree, after each save",
            ),
            ("compare main HEAD --budget 5min", "with at most five minutes of measuring"),
            ("compare --also-base v1.2.0", "the last two commits, and HEAD with a release"),
            ("compare --command 'tool --quick'", "a program of the workspace as a benchmark"),
            ("compare --stored --output page.html", "stored results as a web page"),
        ],
    ),
    (
        "versus",
        &[
            ("versus parse/serde parse/simd", "two benchmarks of the uncommitted tree"),
            ("versus 'encode/{a,b,c}' HEAD", "three benchmarks, or groups of them, of HEAD"),
        ],
    ),
    (
        "ci",
        &[
            (
                "ci --budget 10min",
                "with at most ten minutes of measuring, in a job of GitHub or GitLab",
            ),
            ("ci --partition hash:1/4", "the benchmarks of the first of four jobs"),
            ("ci merge part-1.json part-2.json", "one report on all parts"),
            ("ci comment --from compare.json", "the comment for a fork, in a separate job"),
            ("ci --base origin/main", "on another service"),
        ],
    ),
    (
        "bisect",
        &[
            ("bisect v1.2.0..HEAD", "all benchmarks that changed since a release"),
            ("bisect v1.2.0.. '^parse/'", "some benchmarks"),
            ("bisect main~50..main --budget 1h", "with at most an hour of measuring"),
        ],
    ),
    (
        "run",
        &[
            ("run", "measure HEAD alone"),
            ("run v1.0..HEAD --steps 20", "20 commits, each compared with the one before"),
            ("run v1.0..HEAD --budget 2h", "the ends first, then halves"),
            ("run v1.0..HEAD --part 3/8 --push", "on the third of eight machines"),
        ],
    ),
    ("accept", &[("accept HEAD parse --reason 'checks UTF-8'", "a slowdown on purpose")]),
    (
        "diagnose",
        &[
            ("diagnose HEAD parse --output noise.html", "the noise of one benchmark, with plots"),
            ("diagnose HEAD parse --plan", "its sample sizes, as lines for bench.toml"),
        ],
    ),
    (
        "history",
        &[
            ("history", "suspected changes, then all benchmarks"),
            ("history --changes-only --since v1.0", "only changes since a release"),
            ("history parse", "some benchmarks, commit by commit"),
            ("history HEAD~1 parse", "every build and execution of some benchmarks of one version"),
            ("history --path src/parser", "only changes at commits that changed the parser"),
            ("history --last 200 --output page.html", "the newest 200 versions as a web page"),
        ],
    ),
    (
        "site",
        &[
            ("site public", "all stored results as pages, beginning with public/index.html"),
            ("site public --since v1.0", "only results since a release"),
        ],
    ),
    (
        "push",
        &[
            ("push results.jsonl", "all results in one file"),
            ("push /net/benchmarks", "what a shared directory lacks"),
            ("push", "what the place of RBENCH_SHARED lacks"),
        ],
    ),
    (
        "pull",
        &[
            ("pull results.jsonl", "results from another machine"),
            ("pull --since 90d", "the last three months from the place of RBENCH_SHARED"),
        ],
    ),
    (
        "diff",
        &[
            ("diff HEAD~1 HEAD", "the functions whose machine code changed"),
            ("diff main . --by-benchmark", "which benchmarks execute each of them"),
            ("diff main . --explain parse/long", "where the instructions of a benchmark went"),
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
            ("selftest", "the false-positive rate on this machine"),
            ("selftest --mode sequential", "the same, without interleaving"),
        ],
    ),
    (
        "init",
        &[
            ("init --dry-run", "the findings and the files that would be written"),
            ("init --ci github", "write bench.toml and a workflow for pull requests"),
        ],
    ),
    ("doctor", &[("doctor", "sources of noise on this machine, with fixes")]),
    (
        "completions",
        &[("completions bash", "for ~/.local/share/bash-completion/completions/cargo-rbench")],
    ),
    (
        "clean",
        &[
            ("clean --dry-run", "the entries that would be removed from the cache"),
            ("clean --max-size 2G", "keep two gigabytes"),
        ],
    ),
    ("demo", &[("demo", "example comparisons in a temporary project")]),
];

/// The commands by what they are for, in the order in which most users meet them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["init", "doctor", "demo"]),
    ("Compare", &["compare", "versus", "list", "diff", "exec"]),
    ("Find changes", &["bisect", "run", "history", "site"]),
    ("Automate", &["ci", "accept", "push", "pull"]),
    ("Noise", &["selftest", "diagnose"]),
    ("Files", &["build", "clean", "completions", "help"]),
];

/// The commands in groups, each with the first line of its help.
fn grouped(all: &Command) -> String {
    let purpose = |name: &str| {
        let found = all.get_subcommands().find(|command| command.get_name() == name);
        let about = found.and_then(|command| command.get_about()).map(ToString::to_string);
        about.unwrap_or_else(|| "Print this message or the help of a command".to_owned())
    };
    let options = Options::new(100).subsequent_indent("               ");
    let line = |name: &&str| textwrap::fill(&format!("  {name:<11}  {}", purpose(name)), &options);
    let group = |(title, names): &(&str, &[&str])| {
        let lines: Vec<String> = names.iter().map(line).collect();
        format!("{title}:\n{}\n", lines.join("\n"))
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n")
}

/// Adds styles, examples and the short help to the definition.
pub fn decorated(all: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\nOptions:\n{{options}}{{after-help}}",
        grouped(&all)
    );
    let mut all = all.styles(STYLES).help_template(template).after_help(
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

/// Formats examples in columns.
fn listed(examples: &[Example]) -> String {
    let typed = |(line, _): &Example| format!("cargo rbench {line}");
    let width = examples.iter().map(|example| typed(example).len()).max().unwrap_or_default();
    let lines =
        examples.iter().map(|example| format!("  {:width$}  {}", typed(example), example.1));
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// Moves common options to the top, and hides all others in the help of `-h`.
fn with_common_options_first(command: Command) -> Command {
    command.mut_args(|argument| {
        let Some(name) = argument.get_long() else { return argument };
        match COMMON.iter().position(|common| *common == name) {
            Some(place) => argument.help_heading(Resettable::Reset).display_order(place),
            None => argument.hide_short_help(true),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{super::Cli, *};

    #[test]
    fn examples_of_every_command_parse() {
        for subcommand in Cli::definition().get_subcommands() {
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
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        grouped.sort_unstable();
        let definition = Cli::definition();
        let mut all: Vec<&str> = definition.get_subcommands().map(Command::get_name).collect();
        all.push("help");
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn short_help_shows_common_options_and_long_help_all() {
        let mut all = Cli::definition();
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
    fn common_options_exist() {
        for name in COMMON {
            let has = |command: &Command| {
                command.get_arguments().any(|argument| argument.get_long() == Some(name))
            };
            assert!(Cli::definition().get_subcommands().any(has), "no command has --{name}");
        }
    }
}
