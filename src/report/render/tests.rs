//! Renders every block in each form, and checks that any text stays text.

use proptest::prelude::*;

use super::*;
use crate::report::{
    document::{Block, Document, Item, Step, Text, Verbatim},
    escape::is_hidden,
    style::{self, Role},
    table::{Cell, Column, Table},
    testing::HOSTILE,
};

/// A document with every block, in which everything has this name.
fn document(name: &str) -> Document {
    let mut table = Table::new([
        Column::left("benchmark").names(),
        Column::right("value"),
        Column::right("±").joined(),
        Column::left("verdict"),
        Column::left("nothing"),
    ]);
    table.row([
        Cell::name(name),
        Cell::from("4.384 µs"),
        Cell::from("± 1.9 %"),
        Cell::styled(Role::Bad, "regressed"),
    ]);
    table.row([Cell::name("b"), Cell::from("7 ns"), Cell::default(), Cell::from("unchanged")]);
    let message = format!("cannot run `{name}`\n  it printed:\n  {name}");
    let failed = Text::new().styled_name(Role::Doubtful, name).then(": failed: ").message(message);
    let nested = Item::new(
        Text::from("first ").name(name),
        [
            Block::List(vec![Item::from("second")]),
            Block::Verbatim(Verbatim { language: "text", text: "1  2\n3  4\n".to_owned() }),
        ],
    );
    let mut document = Document::new("list").titled(Text::from_name(name));
    document.lead = Text::from("its subject");
    document.add([
        Block::Paragraph(vec![Text::new().styled(Role::Head, "1 regressed"), name.into()]),
        Block::Warning(format!("{name} is noisy").into(), Some("cargo rbench doctor".to_owned())),
        Block::Table(table),
        Block::List(vec![failed.into(), nested]),
        Block::Heading(Text::from("a heading")),
        Block::List(vec![Item::from(
            Text::from("see: ").command(format!("cargo rbench list {name}")),
        )]),
        Block::Verbatim(Verbatim { language: "toml", text: "[experiment]\nbuilds = 5".to_owned() }),
        Block::Details("all".into(), vec![Block::Paragraph(vec!["it is folded".into()])]),
        Block::Drawings(vec!["<svg></svg>".to_owned()]),
        Block::Steps(vec![Step {
            purpose: format!("what {name} is"),
            command: format!("cargo rbench diff {name}"),
        }]),
    ]);
    document
}

#[test]
fn text_shows_every_block() {
    insta::assert_snapshot!(style::plain(&text(&document("parse/1"), 60)));
}

#[test]
fn markdown_shows_every_block() {
    insta::assert_snapshot!(markdown(&document("parse/1")));
}

#[test]
fn html_shows_every_block() {
    let page = html(&document("parse/1"), "{}").unwrap();
    let (_, body) = page.split_once("<main>").unwrap();
    let (body, _) = body.split_once("</main>").unwrap();
    insta::assert_snapshot!(body);
}

#[test]
fn markdown_cuts_the_longest_runs_and_counts_what_is_left_out() {
    let mut table = Table::new([Column::left("benchmark").names(), Column::right("value")]);
    for index in 0..5_000 {
        table.row([Cell::name(format!("group/{index}")), Cell::from("1 ns")]);
    }
    let mut long = Document::new("list");
    long.add([Block::Table(table.clone()), Block::list(["short"]).unwrap(), Block::Table(table)]);
    let text = markdown(&long);
    assert!(text.len() < 65_536, "{}", text.len());
    assert!(text.contains("\n- short\n"), "a short list stays whole");
    let rows = text.matches("| `group/").count();
    let left_out = text.lines().filter_map(|line| line.strip_prefix("… and "));
    let left_out = left_out.map(|line| line.split(' ').next().unwrap().parse::<usize>().unwrap());
    assert_eq!(rows + left_out.sum::<usize>(), 10_000);
    assert!(rows > 1_000, "{rows}");
}

#[test]
fn verbatim_output_cannot_end_its_block() {
    let mut document = Document::new("list");
    let text = "a: skipped: no\n```\n# not a heading\n".to_owned();
    document.add([Block::Verbatim(Verbatim { language: "text", text })]);
    let expected = "\n````text\na: skipped: no\n```\n# not a heading\n````\n";
    assert_eq!(markdown(&document), expected);
}

#[test]
fn command_is_never_wrapped() {
    let command = "cargo rbench list HEAD --exact --filter a/long/name/of/a/benchmark/1024";
    let mut document = Document::new("list");
    document.add(Block::paragraph([Text::from("every build: ").command(command)]));
    let text = style::plain(&text(&document, 40));
    assert_eq!(text, format!("every build:\n  {command}\n"));
    let mut alone = Document::new("list");
    alone.add(Block::paragraph([Text::new().command(command)]));
    assert_eq!(style::plain(&super::text(&alone, 40)), format!("{command}\n"));
}

fn assert_harmless(name: &str) {
    let document = document(name);
    let terminal = text(&document, 80);
    let [plain, markdown, page] =
        [style::plain(&terminal), markdown(&document), html(&document, "{}").unwrap()];
    for form in [&plain, &markdown, &page] {
        // Lines of messages keep their tabs.
        let is_meant = |c: &char| is_hidden(*c) && !matches!(*c, '\n' | '\t');
        let hidden: Vec<char> = form.chars().filter(is_meant).collect();
        assert_eq!(hidden, [], "{form:?}");
    }
    assert!(page.matches("<script").count() <= 2 && !page.contains("<i>"), "{page}");
    assert_eq!(terminal.matches('\u{1b}').count(), terminal.matches("\u{1b}[").count());
}

#[test]
fn hostile_texts_are_harmless_in_every_form() {
    assert_harmless(HOSTILE);
}

proptest! {
    #[test]
    fn any_name_is_only_shown(name in r"(?s).{0,40}") {
        assert_harmless(&name);
    }
}
