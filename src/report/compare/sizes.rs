//! Where the bytes of executables are, and where they went.

use super::ComparisonReport;
use crate::{
    compare::{NamedSizes, TargetSizes},
    report::{document::Text, quantity::and_more},
};

/// The maximum numbers of crates and of functions that are named.
const MOST: usize = 6;

impl ComparisonReport {
    /// The sections of each executable, and the crates and functions whose sizes differ.
    pub(super) fn size_texts(&self) -> Vec<Text> {
        self.outcome.sizes.iter().flat_map(texts).collect()
    }
}

fn texts(sizes: &TargetSizes) -> Vec<Text> {
    let TargetSizes { target, base, head, crates, functions } = sizes;
    let name = || Text::from_name(target.target.clone());
    let sections = [
        ("text", base.text, head.text),
        ("data", base.data, head.data),
        ("bss", base.bss, head.bss),
    ];
    let sections = sections.map(|(section, base, head)| {
        let change = NamedSizes { name: String::new(), base, head };
        if base == head {
            format!("{section} {head} bytes")
        } else {
            format!("{section} {base} -> {head} bytes ({:+})", change.difference())
        }
    });
    let mut texts = vec![name().then(format!(": {}", sections.join(", ")))];
    for (kind, all) in [("crates", crates), ("functions", functions)] {
        let changed: Vec<&NamedSizes> = all.iter().filter(|one| one.difference() != 0).collect();
        if changed.is_empty() {
            continue;
        }
        let words = changed.iter().take(MOST).map(|one| {
            let name = if one.name.is_empty() { "not of Rust" } else { &one.name };
            Text::from_name(name).then(format!(" {:+}", one.difference()))
        });
        let more = and_more(changed.len(), MOST);
        let line = name().then(format!(": bytes of code by {kind}: "));
        texts.push(line.append(Text::joined(words, ", ")).then(more));
    }
    texts
}
