//! Reads the tree of names of Divan.

use super::table::is_thread_count;
use crate::{model::Name, process::Output};

/// The leaves of a tree of names, each with the path to it:
///
/// ```text
/// target
/// ├─ module
/// │  ╰─ leaf
/// ╰─ leaf
/// ```
pub(super) fn leaves(output: &Output) -> Vec<Name> {
    let text = output.to_string();
    let mut path: Vec<&str> = Vec::new();
    let mut names = Vec::new();
    let mut lines = text.lines().map(node).filter(|(_, name)| !is_thread_count(name)).peekable();
    while let Some((depth, name)) = lines.next() {
        path.truncate(depth);
        path.push(name);
        let has_children = lines.peek().is_some_and(|(next, _)| *next > depth);
        if depth > 0 && !has_children && !name.ends_with("(ignored)") {
            names.push(Name::plain(path.join("::")));
        }
    }
    names
}

/// A line of a tree: how deep it is, and its name.
fn node(line: &str) -> (usize, &str) {
    let (mut depth, mut rest) = (0, line);
    while let Some(inner) = rest.strip_prefix("│  ").or_else(|| rest.strip_prefix("   ")) {
        (depth, rest) = (depth + 1, inner);
    }
    match rest.strip_prefix("├─ ").or_else(|| rest.strip_prefix("╰─ ")) {
        Some(name) => (depth + 1, name.trim_end()),
        None => (depth, rest.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn output(text: &str) -> Output {
        Output { head: text.as_bytes().to_vec(), ..Output::default() }
    }

    #[test]
    fn the_leaves_of_a_tree_have_the_path_to_them() {
        let tree = "same\n├─ count\n│  ├─ 64\n│  ╰─ 10 24\n├─ later  (ignored)\n├─ threads\n│  ├─ t=1\n│  ╰─ t=2\n╰─ inner\n   ╰─ a │ b\n\n";
        let ids: Vec<_> = leaves(&output(tree)).into_iter().map(|name| name.id).collect();
        assert_eq!(
            ids,
            ["same::count::64", "same::count::10 24", "same::threads", "same::inner::a │ b"]
        );
    }

    proptest! {
        #[test]
        fn arbitrary_trees_never_panic(tree in "([│├╰]?[─ ]{0,4}[a-b]?\n?){0,20}") {
            let _ = leaves(&output(&tree));
        }
    }
}
