//! Tables at many widths.

use proptest::prelude::*;

use super::{super::style::plain, *};

fn table() -> Table {
    let mut table = Table::new([
        Column::left("benchmark").shortened(),
        Column::right("value"),
        Column::right("").joined().dropped(2),
        Column::right("share").dropped(1),
        Column::left("verdict"),
    ]);
    let rows = [
        ["parse/words/1024", "4.384 µs", "± 1.9 %", "96 %", "regressed"],
        ["a_rather_long_name_of_a_group/and_a_function/2", "7 ns", "± 10.3 %", "4 %", "unchanged"],
    ];
    for row in rows {
        table.row(row.map(Cell::from));
    }
    table
}

#[test]
fn command_lines_are_not_cut_at_a_slash() {
    let mut table = Table::new([Column::left("benchmark").names(), Column::left("x").dropped(0)]);
    for file in ["a", "b"] {
        table.row([Cell::name(format!("tool --all corpus/{file}.bin")), Cell::from("some words")]);
    }
    assert!(!table.fit(30).contains("begin with"), "{}", table.fit(30));
}

#[test]
fn numbers_are_right_aligned_without_trailing_spaces() {
    assert_eq!(
        plain(&table().fit(120)),
        "benchmark                                          value           share  verdict\n\
         parse/words/1024                                4.384 µs  ± 1.9 %   96 %  regressed\n\
         a_rather_long_name_of_a_group/and_a_function/2      7 ns ± 10.3 %    4 %  unchanged\n"
    );
}

#[test]
fn narrow_table_drops_columns_before_shortening_names() {
    assert_eq!(
        plain(&table().fit(46)),
        "benchmark            value           verdict\n\
         parse/words/1024  4.384 µs  ± 1.9 %  regressed\n\
         a_rathe…nction/2      7 ns ± 10.3 %  unchanged\n"
    );
    assert_eq!(
        plain(&table().fit(40)),
        "benchmark               value  verdict\n\
         parse/words/1024     4.384 µs  regressed\n\
         a_rather_…unction/2      7 ns  unchanged\n"
    );
}

#[test]
fn common_prefix_is_shown_once_if_names_are_too_long() {
    let mut table = Table::new([
        Column::left("benchmark").names(),
        Column::right("value"),
        Column::right("share").dropped(1),
    ]);
    for name in ["access/Short::Owned/0", "access/Short::Owned/12"] {
        table.row([name, "4.384 µs", "96 %"].map(Cell::from));
    }
    assert!(plain(&table.fit(60)).starts_with("benchmark "));
    assert_eq!(
        plain(&table.fit(30)),
        "all names begin with access/Short::Owned/\n\
         benchmark     value  share\n\
         0          4.384 µs   96 %\n\
         12         4.384 µs   96 %\n"
    );
}

#[test]
fn dropped_columns_keep_names_distinguishable() {
    let mut table = Table::new([
        Column::left("benchmark").names(),
        Column::right("value"),
        Column::right("share").dropped(1),
    ]);
    for (first, crate_name) in [("0", "toml"), ("1", "toml"), ("1", "toml_edit")] {
        let name = format!("{first}_cargo::{crate_name}::document::2-features");
        table.row([&name[..], "4.384 µs", "96 %"].map(Cell::from));
    }
    assert_eq!(
        plain(&table.fit(40)),
        "benchmark                          value\n\
         0_cargo::toml:…ent::2-features  4.384 µs\n\
         1_cargo::toml:…ent::2-features  4.384 µs\n\
         1_cargo::toml_…ent::2-features  4.384 µs\n"
    );
}

#[test]
fn optional_columns_go_before_names_are_shortened() {
    let mut table = Table::new([
        Column::left("benchmark").names(),
        Column::right("value"),
        Column::right("").joined().optional(0),
        Column::right("interval").dropped(1),
    ]);
    table.row(["parse/words/1024", "4.384 µs", "± 1.9 %", "-1 .. +2"].map(Cell::from));
    assert_eq!(
        plain(&table.fit(43)),
        "benchmark            value  interval\n\
         parse/words/1024  4.384 µs  -1 .. +2\n"
    );
    assert_eq!(
        plain(&table.fit(30)),
        "benchmark            value\n\
         parse/words/1024  4.384 µs\n"
    );
}

#[test]
fn cells_are_escaped() {
    let mut table = Table::new([Column::left("benchmark").names()]);
    table.row([Cell::styled(Role::Bad, "a\u{1b}[2Jb\u{202e}c")]);
    assert_eq!(plain(&table.fit(80)), "benchmark\na\\u{1b}[2Jb\\u{202e}c\n");
}

#[test]
fn prose_is_shortened_before_columns_are_dropped() {
    let mut table =
        Table::new([Column::left("version"), Column::left("subject").shortened().dropped(0)]);
    for from in ["1.0.1", "1.0.2"] {
        table.row(
            ["1a2b3c4".to_owned(), format!("Update serde from {from} in every example")]
                .map(Cell::from),
        );
    }
    assert_eq!(
        plain(&table.fit(26)),
        "version  subject\n\
         1a2b3c4  Update s… example\n\
         1a2b3c4  Update s… example\n"
    );
}

#[test]
fn empty_column_is_left_out() {
    let mut table = Table::new([Column::left("a"), Column::right("b"), Column::left("c")]);
    table.row(["x", "", "y"].map(Cell::from));
    assert_eq!(plain(&table.fit(80)), "a  c\nx  y\n");
}

#[test]
fn styles_cover_words_and_not_spaces() {
    let mut table = Table::new([Column::right("n")]);
    table.row([Cell::styled(Role::Bad, "7")]);
    table.row([Cell::from("1234")]);
    let text = table.fit(80);
    assert!(text.contains(&format!("   {}\n", style::paint(Role::Bad, "7"))), "{text:?}");
    assert!(text.contains("\n1234\n"), "{text:?}");
}

#[test]
fn wide_characters_count_by_their_width() {
    assert_eq!(shorten("排序/字符串", 8), "排…符串");
    let mut table = Table::new([Column::left("名"), Column::left("v")]);
    table.row(["排序", "x"].map(Cell::from));
    assert_eq!(plain(&table.fit(80)), "名    v\n排序  x\n");
}

proptest! {
    #[test]
    fn lines_fit_the_mandatory_columns(
        names in prop::collection::vec("[a-z/排]{0,60}", 1..5), width in 0..150_usize,
    ) {
        let mut table = table();
        for name in names {
            table.row([name.as_str(), "1.000 ms", "", "", "inconclusive"].map(Cell::from));
        }
        // 8 columns for the name, 8 for the number, 12 for the verdict, and two gaps.
        let least = LEAST.max("benchmark".len()) + 8 + 12 + 2 * GAP;
        for line in plain(&table.fit(width)).lines() {
            prop_assert!(line.width() <= width.max(least), "{line:?}");
            prop_assert!(!line.ends_with(' '));
        }
    }

    #[test]
    fn shortened_text_keeps_its_ends(text in "[a-z]{1,40}", width in 3..40_usize) {
        let short = shorten(&text, width);
        prop_assert_eq!(short.width(), text.width().min(width));
        prop_assert_eq!(short.chars().next(), text.chars().next());
        prop_assert_eq!(short.chars().last(), text.chars().last());
    }
}
