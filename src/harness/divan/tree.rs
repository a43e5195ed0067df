//! Reads the tree of names of Divan.

use crate::process::Output;

/// A benchmark in the tree.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Leaf {
    /// The path to it.
    pub(super) id: String,
    /// The numbers of threads that it runs with, if there are several.
    pub(super) threads: Vec<u32>,
}

/// The leaves of a tree of names, each with the path to it; numbers of threads are no leaves:
///
/// ```text
/// target
/// ├─ module
/// │  ╰─ leaf
/// ╰─ leaf
///    ├─ t=1
///    ╰─ t=2
/// ```
pub(super) fn leaves(output: &Output) -> Vec<Leaf> {
    let text = output.to_string();
    let mut path: Vec<&str> = Vec::new();
    let mut leaves = Vec::new();
    let mut lines = text.lines().map(node).peekable();
    while let Some((depth, name)) = lines.next() {
        path.truncate(depth);
        path.push(name);
        let mut threads = Vec::new();
        while let Some(count) = lines
            .peek()
            .and_then(|(next, name)| (*next == depth + 1).then(|| thread_count(name)).flatten())
        {
            threads.push(count);
            lines.next();
        }
        let has_children = lines.peek().is_some_and(|(next, _)| *next > depth);
        if depth > 0 && !has_children && !name.ends_with("(ignored)") {
            leaves.push(Leaf { id: path.join("::"), threads });
        }
    }
    leaves
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

/// A number of threads as Divan shows it: `t=2`.
fn thread_count(name: &str) -> Option<u32> {
    let count = name.strip_prefix("t=")?;
    count.bytes().all(|byte| byte.is_ascii_digit()).then(|| count.parse().ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn output(text: &str) -> Output {
        Output { head: text.as_bytes().to_vec(), ..Output::default() }
    }

    #[test]
    fn the_leaves_of_a_tree_have_the_path_to_them_and_their_numbers_of_threads() {
        let tree = "same\n├─ count\n│  ├─ 64\n│  │  ├─ t=1\n│  │  ╰─ t=16\n│  ╰─ 10 24\n\
                    ├─ later  (ignored)\n├─ threads\n│  ├─ t=1\n│  ╰─ t=2\n\
                    ╰─ inner\n   ╰─ a │ b\n\n";
        let found: Vec<_> =
            leaves(&output(tree)).into_iter().map(|leaf| (leaf.id, leaf.threads)).collect();
        let expected = [
            ("same::count::64", &[1, 16][..]),
            ("same::count::10 24", &[]),
            ("same::threads", &[1, 2]),
            ("same::inner::a │ b", &[]),
        ];
        assert_eq!(found, expected.map(|(id, threads)| (id.to_owned(), threads.to_vec())));
    }

    #[test]
    fn an_argument_that_looks_like_threads_beside_others_is_a_name() {
        let tree = "same\n╰─ count\n   ├─ t=one\n   ╰─ u=2\n";
        let ids: Vec<_> = leaves(&output(tree)).into_iter().map(|leaf| leaf.id).collect();
        assert_eq!(ids, ["same::count::t=one", "same::count::u=2"]);
    }

    proptest! {
        #[test]
        fn arbitrary_trees_never_panic(tree in "([│├╰]?[─ ]{0,4}[a-b]?\n?){0,20}") {
            let _ = leaves(&output(&tree));
        }
    }
}
