//! Untrusted text never becomes anything but text.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use roxmltree::{Document as XmlDocument, Node as XmlNode};

use super::{
    super::{
        Annotation, Comment, Comparisons, Definition, Links, annotations, junit, page,
        testing::{HOSTILE, hostile},
    },
    comment,
};
use crate::{error::Exit, escape::is_hidden, report::render::COMMENT_ROOM};

const RUN: &str = "https://github.com/o/r/actions/runs/1";

/// Dangerous pieces, with any characters between them.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[a-z@#/:|`\\\\<>_*]{0,12}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Every tag that a page writes itself.
const TAGS: [&str; 6] = ["<details>", "</details>", "<summary>", "</summary>", "<sub>", "</sub>"];

/// Checks a page for everything that a browser or GitHub's filters would act on.
fn check_markdown(text: &str) {
    let mut in_code_block = false;
    let (mut cells, mut columns) = (0, 0);
    let mut rows = 0;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_GFM) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let rest = TAGS.iter().fold(html.to_string(), |rest, tag| rest.replace(tag, ""));
                let is_own = rest.trim().is_empty()
                    || rest.starts_with("<!-- cargo-rbench comment: default -->\n");
                assert!(is_own || !rest.contains('<'), "{rest:?} in\n{text}");
            }
            Event::Start(Tag::Link { dest_url, .. }) => assert_eq!(&*dest_url, RUN, "{text}"),
            Event::Start(Tag::Image { .. } | Tag::Emphasis | Tag::Strikethrough) => {
                panic!("markup in\n{text}")
            }
            Event::Start(Tag::CodeBlock(_)) => in_code_block = true,
            Event::End(TagEnd::CodeBlock) => in_code_block = false,
            Event::Text(words) if !in_code_block => {
                for forbidden in ["@", "#", "://", "www.", "evil", "smile"] {
                    assert!(!words.contains(forbidden), "{words:?} in\n{text}");
                }
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => cells = 0,
            Event::End(TagEnd::TableHead) => columns = cells,
            Event::Start(Tag::TableCell) => cells += 1,
            Event::End(TagEnd::TableRow) => {
                rows += 1;
                assert_eq!(cells, columns, "{text}");
            }
            _ => {}
        }
    }
    assert_eq!(rows, 4, "what changed or is open has a row each:\n{text}");
}

/// Parses a line as the runner reads commands: the command, its properties and its message.
fn command(line: &str) -> (String, Vec<(String, String)>, String) {
    let rest = line.strip_prefix("::").expect("a command");
    let (head, message) = rest.split_once("::").expect("a message");
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    let property = |text: &str| {
        let (name, value) = text.split_once('=').expect("a property");
        (name.to_owned(), value.to_owned())
    };
    let properties = properties.split(',').map(property).collect();
    (name.to_owned(), properties, message.to_owned())
}

fn check_all(comparison: &Comparisons, text: &str) {
    let links = Links::new(Some(RUN));
    check_markdown(&Comment::compose(comparison, Exit::Success, "default", &links).body);
    check_markdown(&page(comparison, &links, COMMENT_ROOM));
    let place = Some(Definition { path: text.to_owned(), line: 1 });
    for annotation in annotations(comparison, false, &[]) {
        let annotation = Annotation { place: place.clone(), ..annotation };
        let line = annotation.to_string();
        assert!(!line.contains(['\n', '\r']), "{line:?}");
        let (name, properties, _) = command(&line);
        assert_eq!(name, "error");
        let names: Vec<&str> = properties.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["file", "line", "title"], "{line:?}");
    }
    check_junit(&junit(comparison).unwrap());
}

/// Checks that a document is XML with six test cases, of which one is a failure and two are errors, and nothing else.
fn check_junit(text: &str) {
    let document = XmlDocument::parse(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    let elements = |name: &str| document.descendants().filter(|one| one.has_tag_name(name)).count();
    let counts = ["testcase", "failure", "error", "skipped"].map(elements);
    assert_eq!(counts, [6, 1, 2, 2], "{text}");
    let others = elements("testsuites") + elements("testsuite") + counts.iter().sum::<usize>();
    let all = document.descendants().filter(XmlNode::is_element).count();
    assert_eq!(all, others, "{text}");
    let root = document.root_element();
    let totals = ["tests", "failures", "errors"].map(|name| root.attribute(name));
    assert_eq!(totals, [Some("6"), Some("1"), Some("2")], "{text}");
    for node in document.descendants() {
        let values = node.attributes().map(|attribute| attribute.value());
        for content in node.text().into_iter().chain(values) {
            let is_meant = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t');
            assert!(!content.contains(is_meant), "{content:?}");
        }
    }
}

#[test]
fn hostile_text_alone_stays_text() {
    for text in HOSTILE {
        check_all(&hostile(text), text);
        let twice = format!("{text}x{text}");
        check_all(&hostile(&twice), &twice);
    }
}

#[test]
fn name_of_any_length_takes_bounded_room() {
    for character in ["a", "@everyone ", "\u{301}", "|", "`", "\u{200b}", "\u{202e}"] {
        let text = comment(&hostile(&character.repeat(20_000))).body;
        assert!(text.len() < 20_000, "{} for {character:?}", text.len());
        check_markdown(&text.replace("comment: default -->\n", "comment: default -->\n\n"));
    }
}

proptest! {
    #[test]
    fn any_text_stays_text_in_every_format(text in texts()) {
        check_all(&hostile(&text), &text);
    }
}
