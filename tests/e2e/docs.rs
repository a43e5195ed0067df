//! The documents for users: links, commands, options and names agree with the program.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use cargo_rbench::{
    cli::Cli,
    error::Exit,
    model::{HarnessKind, Layout, Metric},
    verdict::VerdictKind,
};
use clap::error::ErrorKind;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::support::sources::project;

/// The largest README, in bytes: a first reader needs a page.
const README_BYTES: usize = 9_000;

/// The largest ARCHITECTURE.md, in bytes: half an hour of reading.
const ARCHITECTURE_BYTES: usize = 15_500;

/// The largest pages for users together, in bytes: what `--help` and the reports say is not repeated in them.
const PAGES_BYTES: usize = 84_000;

/// Options of other programs that the documents name.
const FOREIGN_OPTIONS: [&str; 2] = ["--save-baseline", "--baseline"];

/// A document with the parts that tests compare with the program.
struct Page {
    /// Relative to the project.
    path: PathBuf,
    text: String,
    /// The anchors of its headings.
    anchors: BTreeSet<String>,
    /// The targets of its links and pictures.
    links: Vec<String>,
    /// The lines of its code blocks and its code spans.
    code: Vec<String>,
    /// Its code spans.
    spans: BTreeSet<String>,
}

impl Page {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(project().join(&path)).unwrap();
        let mut page = Self {
            path,
            text: String::new(),
            anchors: BTreeSet::new(),
            links: Vec::new(),
            code: Vec::new(),
            spans: BTreeSet::new(),
        };
        let mut heading: Option<String> = None;
        let mut is_block = false;
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.extend(heading.take().map(|heading| anchor(&heading)));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    // YAML has commands of other programs, and is tested as a workflow.
                    is_block =
                        !matches!(kind, CodeBlockKind::Fenced(language) if &*language == "yaml");
                }
                Event::End(TagEnd::CodeBlock) => is_block = false,
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.to_string());
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    page.links.extend(sources(&html));
                }
                Event::Code(code) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&code);
                    }
                    page.code.push(code.to_string());
                    page.spans.insert(code.to_string());
                }
                Event::Text(part) if is_block => {
                    page.code.extend(part.lines().map(str::to_owned));
                }
                Event::Text(part) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&part);
                    }
                }
                _ => {}
            }
        }
        Self { text, ..page }
    }

    /// The file that a link of this page leads to, and the anchor in it.
    fn resolve<'l>(&self, link: &'l str) -> (PathBuf, Option<&'l str>) {
        let (file, anchor) = link.split_once('#').map_or((link, None), |(f, a)| (f, Some(a)));
        if file.is_empty() {
            return (self.path.clone(), anchor);
        }
        let mut path = PathBuf::new();
        for part in self.path.parent().unwrap_or(Path::new("")).join(file).components() {
            if part.as_os_str() == ".." {
                path.pop();
            } else {
                path.push(part);
            }
        }
        (path, anchor)
    }
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The pictures that HTML names.
fn sources(html: &str) -> impl Iterator<Item = String> {
    let starts = ["src=\"", "srcset=\""];
    let all = starts.into_iter().flat_map(|start| html.split(start).skip(1));
    all.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
}

/// The pages directly in a directory.
fn pages_in(directory: &str) -> Vec<Page> {
    let entries = fs::read_dir(project().join(directory)).unwrap();
    let names = entries.map(|entry| Path::new(directory).join(entry.unwrap().file_name()));
    let mut paths: Vec<PathBuf> =
        names.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    paths.sort();
    let pages: Vec<Page> = paths.into_iter().map(Page::read).collect();
    assert!(pages.len() > 6, "only {} pages are in {directory}", pages.len());
    pages
}

/// README.md and the pages for users.
fn pages() -> Vec<Page> {
    let mut pages = pages_in("docs");
    pages.push(Page::read("README.md".into()));
    pages
}

fn reference() -> Page {
    Page::read("docs/reference.md".into())
}

#[test]
fn docs_are_short() {
    let bytes = |path: &str| Page::read(path.into()).text.len();
    let pages: usize = pages_in("docs").iter().map(|page| page.text.len()).sum();
    for (name, bytes, limit) in [
        ("README.md", bytes("README.md"), README_BYTES),
        ("ARCHITECTURE.md", bytes("ARCHITECTURE.md"), ARCHITECTURE_BYTES),
        ("the pages in docs together", pages, PAGES_BYTES),
    ] {
        assert!(bytes <= limit, "{name}: {bytes} bytes, above {limit}");
    }
}

#[test]
fn docs_links_lead_to_files_and_headings() {
    let mut checked = 0;
    for page in pages().into_iter().chain(pages_in("docs/research")) {
        for link in page.links.iter().filter(|link| !link.starts_with("https://")) {
            let (file, anchor) = page.resolve(link);
            let place = page.path.display();
            assert!(project().join(&file).exists(), "{place}: {link} leads to no file");
            if let Some(anchor) = anchor {
                let known = Page::read(file).anchors.contains(anchor);
                assert!(known, "{place}: {link} leads to no heading");
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} links are found");
}

#[test]
fn docs_reach_every_page_from_the_readme() {
    let pages = pages();
    let mut open = vec![PathBuf::from("README.md")];
    let mut reached = BTreeSet::new();
    while let Some(path) = open.pop() {
        if let Some(page) = pages.iter().find(|page| page.path == path)
            && reached.insert(path)
        {
            open.extend(page.links.iter().map(|link| page.resolve(link).0));
        }
    }
    for page in &pages {
        assert!(reached.contains(&page.path), "no page links to {}", page.path.display());
    }
}

/// The words after `cargo rbench` in a line, without a comment and a closing parenthesis around them.
fn commands(line: &str) -> Vec<Vec<String>> {
    let commands = line.split("cargo rbench ").skip(1);
    let commands = commands.map(|rest| rest.split("  #").next().unwrap_or_default());
    let commands = commands.map(|rest| match rest.find('(') {
        None => rest.trim_end_matches([')', ',']),
        Some(_) => rest,
    });
    commands.map(|command| shlex::split(command).unwrap_or_default()).collect()
}

#[test]
fn docs_show_only_commands_that_parse() {
    let mut checked = 0;
    for page in pages() {
        for words in page.code.iter().flat_map(|line| commands(line)) {
            if let Err(error) = Cli::parse_words(&words) {
                let is_help = error.kind() == ErrorKind::DisplayHelp;
                assert!(is_help, "{}: {words:?}: {error}", page.path.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 60, "only {checked} commands are found");
}

/// The long options of a command and of all commands below it.
fn options(command: &clap::Command, found: &mut BTreeSet<String>) {
    let names = command.get_arguments().filter_map(|argument| argument.get_long());
    found.extend(names.map(|name| format!("--{name}")));
    command.get_subcommands().for_each(|one| options(one, found));
}

#[test]
fn docs_name_only_existing_options() {
    let mut known = BTreeSet::new();
    options(&Cli::definition(), &mut known);
    known.extend(FOREIGN_OPTIONS.map(str::to_owned));
    known.insert("--help".to_owned());
    let mut checked = 0;
    for page in pages() {
        for span in page.spans.iter().filter(|span| span.starts_with("--")) {
            let name = span.split([' ', '=']).next().unwrap_or_default();
            assert!(known.contains(name), "{} names {span}", page.path.display());
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} options are found");
}

#[test]
fn docs_reference_is_complete() {
    let reference = reference();
    let help = Cli::definition();
    let commands = help.get_subcommands().map(|command| command.get_name().to_owned());
    let unknown = "none".parse::<Metric>().unwrap_err();
    let metrics = unknown.rsplit_once("there are ").unwrap().1.split(", ").map(str::to_owned);
    // The keys of bench.toml are explained in bench.toml.example, which its own test holds complete.
    let names = commands
        .chain(metrics)
        .chain(VerdictKind::ALL.map(|kind| kind.name().to_owned()))
        .chain(Layout::ALL.map(|layout| layout.to_string()))
        .chain(HarnessKind::ALL.map(|kind| kind.name().to_owned()));
    let mut checked = 0;
    for name in names {
        assert!(reference.spans.contains(&name), "docs/reference.md does not explain `{name}`");
        checked += 1;
    }
    assert!(checked > 45, "only {checked} names are found");
    let exits = [
        Exit::Success,
        Exit::Regression,
        Exit::Usage,
        Exit::Build,
        Exit::Benchmark,
        Exit::Inconclusive,
        Exit::Internal,
        Exit::Interrupted,
    ];
    for exit in exits {
        let code = exit as u8;
        assert!(reference.text.contains(&format!("\n| {code} | ")), "{code} is not explained");
    }
}

#[test]
fn docs_show_the_tested_workflows() {
    let docs = project().join("docs");
    let page = Page::read("docs/ci.md".into());
    let mut shown = 0;
    for entry in fs::read_dir(docs.join("workflows")).unwrap() {
        let name = format!("workflows/{}", entry.unwrap().file_name().display());
        assert!(page.links.contains(&name), "docs/ci.md does not link {name}");
        shown += 1;
    }
    assert_eq!(shown, 11);
    let shortest = fs::read_to_string(docs.join("workflows/shortest.yml")).unwrap();
    let readme = Page::read("README.md".into()).text;
    assert!(readme.contains(&format!("```yaml\n{shortest}```\n")));
}
