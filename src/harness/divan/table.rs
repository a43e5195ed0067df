//! Parses Divan's output: its tree of names, and its table, whose times are truncated to four digits.

use std::time::Duration;

use crate::{
    model::{Metric, Name, Series},
    process::Output,
};

/// The table's only line with measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) fastest: ShownTime,
    pub(super) slowest: ShownTime,
    pub(super) median: ShownTime,
    pub(super) mean: ShownTime,
    pub(super) samples: u64,
    /// Iterations of each sample. For a measurement that stands for several samples, those of one sample: so they give
    /// the duration of a sample.
    pub(super) iterations: u64,
}

impl Row {
    /// Number of iterations that last `floor`, by the fastest sample.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    pub(super) fn iterations_for(&self, floor: Duration) -> u64 {
        let iterations = (floor.as_secs_f64() * 1e9 / self.fastest.value).ceil() as u64;
        // Divan's command line takes 32 bits.
        iterations.clamp(1, u32::MAX.into())
    }

    /// Its measurements: all samples if there are as many as requested, at most three; otherwise one for all of them.
    /// It is the median of more than three requested samples, and else the mean: with threads there are more samples
    /// than requested, because each thread takes some.
    pub(super) fn series(&self, requested: usize) -> Series {
        let times = match requested {
            4.. => vec![self.median],
            _ if self.samples != requested as u64 => vec![self.mean],
            1 => vec![self.fastest],
            2 => vec![self.fastest, self.slowest],
            _ => vec![self.fastest, self.median, self.slowest],
        };
        let resolution = times.iter().map(|time| time.step).fold(0.0, f64::max);
        self.series_of(times.into_iter().map(|time| time.value).collect(), resolution)
    }

    /// A series of these times per iteration, in ns.
    pub(super) fn series_of(&self, values: Vec<f64>, resolution: f64) -> Series {
        let iterations = vec![self.iterations; values.len()];
        Series { metric: Metric::wall(), values, iterations, resolution }
    }
}

/// The reason why a benchmark that has begun has no measurement.
const CLOSED_OUTPUT: &str = "it closes its standard output, so Divan shows nothing";

/// The measurements of the only benchmark, or the reason why there are none.
///
/// The benchmark may print lines like those of the table: Divan prints its name before it runs, and its measurements
/// afterwards, so that the last ones are Divan's. But each benchmark of this id begins a line of the tree with its name.
pub(super) fn row(output: &Output, id: &str) -> Result<Row, String> {
    let name = id.rsplit("::").next().unwrap_or(id);
    let text = output.to_string();
    let width = text.lines().find_map(first_width);
    let is_named = |line: &&str| matches!(node(line), (1.., text) if text.starts_with(name));
    let named = || text.lines().filter(is_named);
    let measured = named().filter(|line| cells(line, width).is_some());
    match rows(output)[..] {
        [.., last] if measured.count() < 2 => Ok(last),
        [] if named().next().is_some() => Err(CLOSED_OUTPUT.to_owned()),
        [] => Err("it printed no measurement; does a benchmark with this id \
                          exist?"
            .to_owned()),
        _ => Err("it printed several lines with measurements, not one".to_owned()),
    }
}

fn rows(output: &Output) -> Vec<Row> {
    let text = output.to_string();
    let width = text.lines().find_map(first_width);
    text.lines().filter_map(|line| cells(line, width)).collect()
}

/// The width in characters of the first column, with the space behind it, if `line` is the head of the table.
fn first_width(line: &str) -> Option<usize> {
    let (_, columns) = line.rsplit_once("fastest")?;
    let (rest, others) = columns.split_once('│')?;
    let others = others.split('│').map(str::trim);
    let is_head = others.eq(["slowest", "median", "mean", "samples", "iters"]);
    is_head.then(|| "fastest".len() + rest.chars().count())
}

/// Parses a line from its end: names, and a benchmark's own output, may look like anything.
///
/// The benchmark's output stands between its name and the first column, whose `width` separates the two.
fn cells(line: &str, width: Option<usize>) -> Option<Row> {
    let mut columns = line.rsplitn(6, '│');
    let iterations: u64 = columns.next()?.trim().parse().ok()?;
    let samples = columns.next()?.trim().parse().ok().filter(|samples| *samples > 0)?;
    let mut time = || ShownTime::read(columns.next()?.trim());
    let (mean, median, slowest) = (time()?, time()?, time()?);
    let first = columns.next()?;
    let start = |width: usize| first.char_indices().rev().nth(width.checked_sub(1)?);
    let cell = width.and_then(start).map(|(start, _)| first[start..].trim());
    // Throughputs can widen the column.
    let fastest = cell.and_then(ShownTime::read).or_else(|| {
        let mut words = first.split_whitespace().rev();
        let unit = words.next()?;
        ShownTime::read(&format!("{} {unit}", words.next()?))
    })?;
    Some(Row { fastest, slowest, median, mean, samples, iterations: iterations / samples })
}

#[cfg(test)]
pub(super) fn row_of(nanoseconds: f64, iterations: u64) -> Row {
    let time = ShownTime { value: nanoseconds, step: 0.1 };
    Row { fastest: time, slowest: time, median: time, mean: time, samples: 1, iterations }
}

const DIGITS: i32 = 4;

/// A time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ShownTime {
    pub(super) value: f64,
    /// The difference to the next time with another text, in ns.
    pub(super) step: f64,
}

impl ShownTime {
    /// Parses text such as `1.5 µs`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (number, unit) = text.split_once(' ')?;
        let unit = nanoseconds(unit.trim_start())?;
        let value = number.parse::<f64>().ok()?;
        let whole = number.split('.').next().map_or(0, str::len);
        let fraction = DIGITS.saturating_sub(i32::try_from(whole).unwrap_or(DIGITS)).max(0);
        Some(Self { value: value * unit, step: unit * 10_f64.powi(-fraction) })
    }
}

fn nanoseconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" | "μs" | "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    })
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Leaf {
    pub(super) id: String,
    /// Its thread counts, if there are several.
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
    let is_run = |leaf: &Leaf| !leaf.id.ends_with(IGNORED) && !leaf.id.contains(UNREGISTERED);
    all_leaves(output).into_iter().filter(is_run).collect()
}

/// The leaves of such a tree that are marked to be ignored.
pub(super) fn ignored(output: &Output) -> Vec<Name> {
    let all = all_leaves(output).into_iter();
    all.filter_map(|leaf| Some(Name::plain(leaf.id.strip_suffix(IGNORED)?.trim_end()))).collect()
}

/// The ids of the leaves whose function ran without measuring anything.
pub(super) fn unregistered(output: &Output) -> Vec<String> {
    let all = all_leaves(output).into_iter();
    all.filter_map(|leaf| Some(leaf.id.split_once(UNREGISTERED)?.0.trim_end().to_owned())).collect()
}

/// The mark of a benchmark that is not run.
const IGNORED: &str = "  (ignored)";

/// Divan's warning, behind the name in the tree, that a function called none of its bencher's methods.
const UNREGISTERED: &str = "warning: No benchmark function registered for '";

fn all_leaves(output: &Output) -> Vec<Leaf> {
    let text = output.to_string();
    let mut path: Vec<String> = Vec::new();
    let mut leaves = Vec::new();
    let nodes: Vec<(usize, &str)> = text.split('\n').map(node).collect();
    let is_node = |line: usize| nodes.get(line).is_some_and(|(depth, _)| *depth > 0);
    // An argument's name can have several lines. An empty line ends a tree, if no node follows.
    let continues_name = |line: usize| {
        let text = nodes.get(line).filter(|(depth, _)| *depth == 0);
        text.is_some_and(|(_, text)| !text.is_empty() || is_node(line + 1))
    };
    let mut line = 0;
    while let Some((depth, name)) = nodes.get(line).copied() {
        let mut name = name.to_owned();
        line += 1;
        while depth > 0 && continues_name(line) {
            name = format!("{name}\n{}", nodes[line].1);
            line += 1;
        }
        path.truncate(depth);
        path.push(name);
        let mut threads = Vec::new();
        let count = |line: usize| nodes.get(line).filter(|(next, _)| *next == depth + 1);
        while let Some(count) = count(line).and_then(|(_, name)| thread_count(name)) {
            threads.push(count);
            line += 1;
        }
        let has_children = nodes.get(line).is_some_and(|(next, _)| *next > depth);
        if depth > 0 && !has_children {
            leaves.push(Leaf { id: path.join("::"), threads });
        }
    }
    leaves
}

/// The depth and the name of a line of a tree; depth 0 for a line that has no branch.
fn node(line: &str) -> (usize, &str) {
    let (mut depth, mut rest) = (0, line);
    while let Some(inner) = rest.strip_prefix("│  ").or_else(|| rest.strip_prefix("   ")) {
        (depth, rest) = (depth + 1, inner);
    }
    match rest.strip_prefix("├─ ").or_else(|| rest.strip_prefix("╰─ ")) {
        Some(name) => (depth + 1, name),
        None => (0, line),
    }
}

/// Parses a thread count as Divan shows it: `t=2`.
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

    const TABLE: &str = "Timer precision: 30 ns\n\
        same                        fastest       │ slowest       │ median        │ mean          │ samples │ iters\n\
        ╰─ inner                                  │               │               │               │         │\n   \
           ╰─ a \"name\" │ with bars  70.16 ns      │ 1.5 µs        │ 70.32 ns      │ 70.32 ns      │ 3       │ 192\n                              \
              1.3 GB/s      │ 1.297 GB/s    │ 1.297 GB/s    │ 1.298 GB/s    │         │\n";

    #[test]
    fn table_shows_three_measurements() {
        let series = row(&output(TABLE), "a::inner::a \"name\" │ with bars").unwrap().series(3);
        assert_eq!(series.values, [70.16, 70.32, 1500.0]);
        assert_eq!(series.iterations, [64; 3]);
        assert!((series.resolution - 1.0).abs() < 1e-9, "the coarsest: {}", series.resolution);
    }

    #[test]
    fn output_of_the_benchmark_is_not_part_of_the_first_time() {
        let head = "a        fastest       │ slowest       │ median        │ mean          │ samples │ iters\n";
        for printed in ["", "hello\n", "hello", "5", "1234567 ms", "│ ", "hello\n   7 │ 5", "1."]
        {
            let table = format!(
                "{head}╰─ prints  {printed}7.881 µs      │ 41.16 µs      │ 8.512 µs      │ 19.18 µs      │ 3       │ 3\n"
            );
            let row = row(&output(&table), "a::prints").unwrap();
            assert!((row.fastest.value - 7881.0).abs() < 1e-9, "{printed:?}: {row:?}");
        }
    }

    #[test]
    fn line_like_the_table_that_the_benchmark_prints_is_not_its_measurement() {
        let head = "a        fastest       │ slowest       │ median        │ mean          │ samples │ iters\n";
        let line = "1 ns          │ 1 ns          │ 1 ns          │ 1 ns          │ 3       │ 3\n";
        for printed in [line.to_owned(), format!("\n{line}"), format!("├─ other  {line}{line}")]
        {
            let table = format!(
                "{head}╰─ prints  {printed}7.881 µs      │ 41.16 µs      │ 8.512 µs      │ 19.18 µs      │ 3       │ 3\n"
            );
            let row = row(&output(&table), "a::prints").unwrap();
            assert!((row.fastest.value - 7881.0).abs() < 1e-9, "{printed:?}: {row:?}");
        }
    }

    #[test]
    fn surplus_samples_are_one_measurement_by_their_mean() {
        let table = "a   fastest │ slowest │ median │ mean │ samples │ iters\n\
                     ╰─ b 1 ns    │ 9 ns    │ 2 ns   │ 4 ns │ 16      │ 32\n";
        let row = row(&output(table), "a::b").unwrap();
        assert_eq!((row.series(3).values, row.iterations), (vec![4.0], 2));
    }

    #[test]
    fn many_samples_are_one_measurement_by_their_median() {
        let table = "a   fastest │ slowest │ median │ mean │ samples │ iters\n\
                     ╰─ b 1 ns    │ 9 ns    │ 2.5 µs │ 4 µs │ 52      │ 2080\n";
        for requested in [4, 50, 52] {
            let series = row(&output(table), "a::b").unwrap().series(requested);
            assert_eq!((series.values, series.iterations), (vec![2500.0], vec![40]));
            assert!((series.resolution - 1.0).abs() < 1e-9, "its own: {}", series.resolution);
        }
    }

    #[test]
    fn benchmark_that_closes_its_output_is_not_missing() {
        let table = "d            fastest       │ slowest       │ median        │ mean          │ samples │ iters\n╰─ out                     ";
        assert_eq!(row(&output(table), "d::out").unwrap_err(), CLOSED_OUTPUT);
        assert!(row(&output(table), "d::other").unwrap_err().contains("does a benchmark"));
    }

    #[test]
    fn table_needs_exactly_one_line_of_measurements() {
        let twice = format!("{TABLE}{TABLE}");
        for (table, words) in
            [(&twice[..], "several lines"), ("Timer precision: 30 ns\n", "no measurement")]
        {
            let reason = row(&output(table), "a::inner::a \"name\"").unwrap_err();
            assert!(reason.contains(words), "{reason:?} lacks {words:?}");
        }
    }

    #[test]
    fn iterations_for_uses_the_fastest_sample_and_32_bits() {
        let of = |fastest| row_of(fastest, 1);
        assert_eq!(of(70.0).iterations_for(Duration::from_micros(7)), 100);
        assert_eq!(of(1e9).iterations_for(Duration::from_micros(7)), 1);
        assert_eq!(of(0.0).iterations_for(Duration::from_secs(7)), u64::from(u32::MAX));
    }

    proptest! {
        #[test]
        fn cells_never_panics_on_arbitrary_lines(line in "[│ 0-9.a-zµé\\t]{0,80}") {
            for width in [None, Some(0), Some(3)] {
                let _ = cells(&line, width);
            }
            let _ = first_width(&line);
        }
    }

    #[test]
    fn shown_time_has_the_step_of_its_last_digit() {
        for (text, value, step) in [
            ("250 ps", 0.25, 1e-4),
            ("70.16 ns", 70.16, 0.01),
            ("0.251 ns", 0.251, 1e-3),
            ("1.5 µs", 1500.0, 1.0),
            ("123.4 ms", 123.4e6, 1e5),
            ("2 s", 2e9, 1e6),
            ("1234 h", 1234.0 * 3600e9, 3600e9),
        ] {
            let time = ShownTime::read(text).unwrap();
            assert!((time.value - value).abs() < 1e-9 * value, "{text}: {time:?}");
            assert!((time.step - step).abs() < 1e-9 * step, "{text}: {time:?}");
        }
    }

    #[test]
    fn shown_time_rejects_other_text() {
        for text in ["", "ns", "1", "1.3 GB/s", "x ns"] {
            assert_eq!(ShownTime::read(text), None, "{text}");
        }
    }

    #[test]
    fn leaves_have_paths_and_thread_counts() {
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
    fn names_keep_their_lines_and_spaces() {
        let tree = "some output\nodd\n╰─ arg\n   ├─ a\nb c\n   ├─ trail \n   ├─ (ignored)\n   ├─ \n   \
                    ├─ t\n\n   ╰─ x\ny\n      ├─ t=1\n      ╰─ t=2\n\n";
        let found: Vec<_> =
            leaves(&output(tree)).into_iter().map(|leaf| (leaf.id, leaf.threads)).collect();
        let expected = [
            ("odd::arg::a\nb c", &[][..]),
            ("odd::arg::trail ", &[]),
            ("odd::arg::(ignored)", &[]),
            ("odd::arg::", &[]),
            ("odd::arg::t\n", &[]),
            ("odd::arg::x\ny", &[1, 2]),
        ];
        assert_eq!(found, expected.map(|(id, threads)| (id.to_owned(), threads.to_vec())));
    }

    #[test]
    fn function_that_measures_nothing_is_no_leaf() {
        let tree = "parse\n╰─ strip\n   ├─ awarning: No benchmark function registered for 'a'\n\n   \
                    ╰─ b\n\n";
        let ids: Vec<_> = leaves(&output(tree)).into_iter().map(|leaf| leaf.id).collect();
        assert_eq!(ids, ["parse::strip::b"]);
        assert_eq!(unregistered(&output(tree)), ["parse::strip::a"]);
    }

    #[test]
    fn argument_that_looks_like_threads_is_a_name() {
        let tree = "same\n╰─ count\n   ├─ t=one\n   ╰─ u=2\n";
        let ids: Vec<_> = leaves(&output(tree)).into_iter().map(|leaf| leaf.id).collect();
        assert_eq!(ids, ["same::count::t=one", "same::count::u=2"]);
    }

    proptest! {
        #[test]
        fn leaves_never_panics_on_arbitrary_trees(tree in "([│├╰]?[─ ]{0,4}[a-b]?\n?){0,20}") {
            let _ = leaves(&output(&tree));
        }
    }
}
