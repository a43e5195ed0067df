//! The study level × tool.

use std::{collections::BTreeMap, error::Error, fs, path::Path};

use lab::WorkingTree;

use super::{
    StudyOptions,
    level::Level,
    make::Noise,
    tools::{Answer, Tool, Tools},
};

/// The functions that get 5 % more work in version B.
const CHANGED: [&str; 2] = ["format", "sort"];

/// The versions that are compared with the base.
const HEADS: [&str; 2] = ["A", "B"];

/// What a tool said at a level, in all rounds.
#[derive(Default)]
struct Tally {
    /// Rows of benchmarks that do not differ, and how many of them were called changed.
    equal: usize,
    false_calls: usize,
    /// Changed benchmarks, those that were named in the right direction, and in the wrong one.
    changed: usize,
    named: usize,
    wrong: usize,
    /// Of each comparison of A: rows that are shown to be unchanged.
    unchanged: Vec<f64>,
    sequential: usize,
    contradictory: usize,
    seconds: Vec<f64>,
}

impl Tally {
    fn add(&mut self, head: &str, answer: &Answer) {
        let mut unchanged = 0.0;
        for (name, row) in &answer.rows {
            self.sequential += usize::from(row.is_sequential);
            self.contradictory += usize::from(row.is_contradictory);
            if head == "B" && CHANGED.contains(&name.as_str()) {
                self.changed += 1;
                self.named += usize::from(row.called.is_some_and(|percent| percent > 0.0));
                self.wrong += usize::from(row.called.is_some_and(|percent| percent < 0.0));
            } else {
                self.equal += 1;
                self.false_calls += usize::from(row.called.is_some());
                unchanged += f64::from(u8::from(row.is_shown_unchanged));
            }
        }
        if head == "A" {
            self.unchanged.push(unchanged);
            self.seconds.push(answer.seconds);
        }
    }

    fn line(&self, level: Level, tool: Tool) -> String {
        let Self { equal, false_calls, changed, named, wrong, sequential, contradictory, .. } =
            self;
        let [fewest, unchanged, most] = range(&self.unchanged);
        let [fast, seconds, slow] = range(&self.seconds);
        format!(
            "| {level} | {} | {false_calls} of {equal} | {named} of {changed} | {wrong} | {unchanged:.0} ({fewest:.0} to {most:.0}) | {seconds:.1} ({fast:.1} to {slow:.1}) | {sequential} | {contradictory} |",
            tool.name(),
        )
    }
}

/// The least, the middle and the greatest value.
fn range(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
    let last = sorted.len().saturating_sub(1);
    [at(0), f64::midpoint(at(last / 2), at(last.div_ceil(2))), at(last)]
}

/// Runs the study. True if rbench said nothing false, and no change whose interval contains none.
pub fn run(options: &StudyOptions) -> Result<bool, Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let tree = versions(&scratch.path().join("project"))?;
    let target = if options.quick { "work" } else { "by_criterion" };
    let tools = Tools::new(&tree, scratch.path(), target)?;
    let (levels, rounds): (&[Level], u32) =
        if options.quick { (&[Level::Hosted], 1) } else { (&options.levels, options.rounds) };
    let only_rbench = options.quick || options.only_rbench;
    let compared = if only_rbench { &Tool::ALL[..1] } else { &Tool::ALL };
    for head in HEADS {
        tools.prepare(["base", head], !only_rbench)?;
    }
    let mut tallies: BTreeMap<(usize, usize), Tally> = BTreeMap::new();
    for round in 0..rounds {
        for (place, &level) in levels.iter().enumerate() {
            for (number, &tool) in compared.iter().enumerate() {
                for head in HEADS {
                    let noise = Noise::start(level)?;
                    // Each comparison links its builds: if they were the same, only the first level would pay for that.
                    let seed = round as usize * levels.len() + place;
                    let answer = tools.compare(tool, &noise, ["base", head], seed)?;
                    drop(noise);
                    let name = format!("{level}-{}-{head}-{round}", tool.name());
                    eprintln!("{name}: {:.1} s{}", answer.seconds, calls(&answer));
                    if let Some(keep) = &options.keep {
                        fs::create_dir_all(keep)?;
                        fs::write(keep.join(name.replace(' ', "-")), &answer.report)?;
                    }
                    tallies.entry((place, number)).or_default().add(head, &answer);
                }
            }
        }
    }
    println!(
        "| level | tool | called changed, of those that do not differ | 5 % more work named | in the wrong direction | A: shown unchanged, of ten | A: seconds | sequential rows | called, though the interval contains 0 |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|");
    for ((place, number), tally) in &tallies {
        println!("{}", tally.line(levels[*place], compared[*number]));
    }
    if let Some(keep) = &options.keep {
        let store = tree.path().join(".rbench/results.sqlite");
        fs::copy(store, keep.join("results.sqlite"))?;
    }
    let of_rbench = tallies.iter().filter(|((_, number), _)| *number == 0);
    let is_false = |tally: &Tally| tally.false_calls + tally.wrong + tally.contradictory > 0;
    Ok(!of_rbench.map(|(_, tally)| tally).any(is_false))
}

/// The fixture as a repository with the tags `base`, `A` and `B`.
fn versions(path: &Path) -> Result<WorkingTree, Box<dyn Error>> {
    let tree = WorkingTree::of_fixture("truth", path.to_owned())?;
    fs::write(path.join(".gitignore"), "/target\n")?;
    tree.commit("Ignore what cargo makes")?;
    let tag = |name: &str| -> Result<(), Box<dyn Error>> {
        let git = git2::Repository::open(path)?;
        let head = git.head()?.peel_to_commit()?;
        git.tag_lightweight(name, head.as_object(), false)?;
        Ok(())
    };
    tag("base")?;
    tree.edit("src/unrelated.rs", |text| {
        text + "\npub fn nothing_calls_this(seed: u64) -> String {\n    format!(\"{seed:?}\")\n}\n"
    })?;
    tree.commit("Add a function that nothing calls")?;
    tag("A")?;
    for function in CHANGED {
        tree.edit(&format!("src/{function}.rs"), |text| {
            text.replace("const WORK: usize = 100;", "const WORK: usize = 105;")
        })?;
    }
    tree.commit("Give two functions more work")?;
    tag("B")?;
    Ok(tree)
}

fn calls(answer: &Answer) -> String {
    let called = answer.rows.iter().filter_map(|(name, row)| Some((name, row.called?)));
    called.fold(String::new(), |text, (name, percent)| text + &format!(", {name} {percent:+.2} %"))
}
