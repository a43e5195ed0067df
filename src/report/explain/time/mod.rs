//! The report of `diff --explain --by time`, and its lines in a comparison: the functions that account for a change in a
//! benchmark's time.

mod flame_graph;

use rbench_code::{
    callgrind::{Code, Place},
    samples::{
        Caller, Change, FunctionTime, Inlined, SampledState, SampledThread, Selection, Spent,
        Threads,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        Report,
        diff::data_text,
        document::{Block, Document, Medium, Text},
        json,
        quantity::{changed_within, count, percent, size},
        sentence::dependencies_note,
        style::Role,
        table::{Cell, Column, Table},
    },
    number,
};
use crate::{compare::ExplainedTime, error::Result, model::Benchmark};

/// The maximum number of functions in a table.
const MOST: usize = 20;

/// The maximum number of functions in lines, so that a benchmark has eight at most.
const MOST_LINES: usize = 5;

/// The maximum number of them in a comment.
const MOST_BRIEF: usize = 1;

/// The largest part of a change that is shown as a share of it.
const MOST_SHARE: f64 = 1.2;

/// The share of stacks that were not unwound to their end, and of lost samples, from which it is said.
const DOUBTFUL: f64 = 0.02;

/// The sources of the difference in a benchmark's time, for programs. Times are in ns per iteration.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct TimeFields<'r> {
    #[serde(flatten)]
    all: &'r ExplainedTime,
    /// False if the interval of the change in sampled executions and that of the verdict have nothing in common: the explanation
    /// is not one of the verdict.
    is_about_verdict: bool,
    /// The number of the first functions that make up most of the change beyond noise, and the sum of their changes.
    explained: Explained,
}

/// The functions that make up most of a change.
#[derive(Serialize, JsonSchema)]
struct Explained {
    functions: usize,
    change_ns: f64,
}

/// The explanation of a row of a comparison in a few lines.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TimeLines {
    #[serde(flatten)]
    pub(crate) benchmark: Benchmark,
    /// The time of an iteration of the base in sampled executions, in ns.
    #[schemars(range(min = 0))]
    base_ns: f64,
    /// The time of an iteration of the head in sampled executions, in ns.
    #[schemars(range(min = 0))]
    head_ns: f64,
    /// What accounts for the change, for people.
    pub(crate) lines: Vec<String>,
}

impl From<&ExplainedTime> for TimeLines {
    fn from(explained: &ExplainedTime) -> Self {
        Self {
            benchmark: explained.benchmark.clone(),
            base_ns: explained.explanation.base,
            head_ns: explained.explanation.head,
            lines: explained.brief().iter().map(Text::plain).collect(),
        }
    }
}

impl Report for ExplainedTime {
    fn document(&self, medium: Medium) -> Document {
        let Self { base, head, benchmark, .. } = self;
        let title = Text::from_name(benchmark.to_string()).then(format!(" in {base} and {head}"));
        let mut document = Document::new("diff").titled(title);
        document.add(Block::paragraph([self.totals()]));
        document.add(Block::list(self.lines()));
        document.add(match medium {
            Medium::Terminal { .. } => Vec::new(),
            Medium::Markdown => vec![self.table()],
            Medium::Page => vec![self.flame_graph(), self.table()],
        });
        let dependencies = dependencies_note(&self.dependencies);
        document
            .add(Block::list(dependencies.map(|note| Text::from(format!("dependencies: {note}")))));
        document
    }

    fn json(&self) -> Result<String> {
        let selection = self.explanation.selection(usize::MAX);
        json::document(&TimeFields {
            all: self,
            is_about_verdict: self.is_about_the_verdict(),
            explained: Explained { functions: selection.functions.len(), change_ns: selection.sum },
        })
    }

    fn pictures(&self) -> Result<Vec<(&'static str, String)>> {
        self.flame_graphs()
    }
}

impl ExplainedTime {
    /// The blocks of a row in a page of a comparison.
    pub(in crate::report) fn details(&self) -> Vec<Block> {
        let lines = Block::list(self.lines());
        lines.into_iter().chain([self.flame_graph(), self.table()]).collect()
    }

    /// The times: `441 ns -> 482 ns in sampled executions: +9.30 % (+7.94 .. +10.66)`.
    pub(in crate::report) fn totals(&self) -> Text {
        let [base, head] = [self.explanation.base, self.explanation.head].map(time);
        let change = changed_within(&self.sampled_change());
        Text::new().styled(Role::Head, format!("{base} -> {head} in sampled executions: {change}"))
    }

    /// The times, and what accounts for the change.
    pub(in crate::report) fn all_lines(&self) -> Vec<Text> {
        std::iter::once(self.totals()).chain(self.lines()).collect()
    }

    /// What accounts for the change, in seven lines at most.
    fn lines(&self) -> Vec<Text> {
        let mut lines: Vec<Text> = self.contradiction().into_iter().collect();
        let most = MOST_LINES - lines.len();
        lines.extend(self.causes(most));
        lines.push(self.rest(most).append(self.of_threads()));
        lines.push(self.limits());
        lines
    }

    /// The same in three lines.
    pub(in crate::report) fn brief(&self) -> Vec<Text> {
        // The totals are not among these lines.
        let sampled =
            format!("in sampled executions: {}; ", changed_within(&self.sampled_change()));
        let contradiction = self.contradiction().map(|text| Text::from(sampled).append(text));
        let causes = self.causes(MOST_BRIEF);
        let last = [self.rest(MOST_BRIEF)];
        contradiction.into_iter().chain(causes).chain(last).collect()
    }

    fn contradiction(&self) -> Option<Text> {
        let verdict = self.verdict.filter(|_| !self.is_about_the_verdict())?;
        let measured = format!("measured without sampling: {}", changed_within(&verdict));
        let what = ": this explains only the change in sampled executions";
        Some(Text::new().styled(Role::Doubtful, measured).then(what))
    }

    /// A line for each of the functions that make up most of the change.
    fn causes(&self, most: usize) -> Vec<Text> {
        let change = &self.explanation.change;
        let is_certain = change.low > 0.0 || change.high < 0.0;
        let line = |(at, function): (usize, &&FunctionTime)| {
            let own = function.attributed.mean;
            let slower = if own > 0.0 { "slower" } else { "faster" };
            let words = match (is_certain, own * change.mean > 0.0, at) {
                (true, true, 0) => format!("{slower} because of "),
                (true, true, _) => "and of ".to_owned(),
                (true, false, _) => "in spite of ".to_owned(),
                (false, ..) => format!("{slower} in "),
            };
            // Of two implementations, each part alone may be much more than the difference.
            let share = own / change.mean;
            let share = if is_certain && (0.0..MOST_SHARE).contains(&share) {
                format!(" of {} ({:.0} %)", signed(change.mean), 100.0 * share)
            } else {
                String::new()
            };
            let role = if own > 0.0 { Role::Bad } else { Role::Good };
            let time = Text::from(" ").styled(role, signed(own)).then(share);
            Text::from(words)
                .append(self.label(function))
                .append(time)
                .append(self.reason(function))
        };
        self.explanation.selection(most).functions.iter().enumerate().map(line).collect()
    }

    /// The sum of the functions named, and the others.
    fn rest(&self, most: usize) -> Text {
        let Selection { functions: named, sum, others: (others, of_others), within_noise } =
            self.explanation.selection(most);
        let mut parts = Vec::new();
        if named.is_empty() {
            let which = match self.explanation.threads {
                Some(_) => "no function of the measuring thread",
                None => "no function",
            };
            parts.push(format!("{which} differs beyond noise"));
        } else if named.len() > 1 {
            parts.push(format!("together {}", signed(sum)));
        }
        if others > 0 {
            parts.push(format!(
                "{} beyond noise: {}",
                count(others, "more function"),
                signed(of_others)
            ));
        }
        let (within, of_within) = within_noise;
        let of_within = if self.explanation.others_are_unchanged {
            "taken as unchanged".to_owned()
        } else {
            signed(of_within)
        };
        parts.push(format!("within noise: {}, {of_within}", count(within, "function")));
        Text::from(parts.join("; "))
    }

    /// The work of other threads, if they have any.
    fn of_threads(&self) -> Text {
        let Some(Threads { base, head, change }) = self.explanation.threads else {
            return Text::new();
        };
        let beyond = |one: &&FunctionTime| one.is_beyond_noise;
        let mut others = self.explanation.of_thread(SampledThread::Other).filter(beyond);
        let largest = others.next().map(|one| {
            Text::from(", most of it in ")
                .append(self.label(one))
                .then(format!(" {}", signed(one.own.mean)))
        });
        let [base, head] = [base, head].map(time);
        Text::from(format!("; other threads work {base} -> {head}: {}", within(&change)))
            .append(largest.unwrap_or_default())
    }

    /// What limits the numbers: one sentence.
    fn limits(&self) -> Text {
        let explanation = &self.explanation;
        let [base, head] = explanation.samples;
        let pairs = count(explanation.pairs, "pair");
        let mut parts = vec![format!("{pairs} of builds, {base} and {head} samples")];
        parts.push(match self.overhead {
            Some(overhead) => format!("overhead of sampling: {}", percent(overhead)),
            None => "overhead of sampling: not known".to_owned(),
        });
        if !self.is_interleaved {
            parts.push("one version after the other".to_owned());
        }
        if explanation.cut >= DOUBTFUL {
            parts.push(format!(
                "the callers of {} of the samples are not all known",
                size(explanation.cut)
            ));
        }
        if explanation.dropped >= DOUBTFUL {
            parts.push(format!("{} of the samples were lost", size(explanation.dropped)));
        }
        Text::new().styled(Role::Quiet, parts.join("; "))
    }

    /// The picture for a page, without a script.
    fn flame_graph(&self) -> Block {
        let (legend, [_, head]) = (self.legend(), self.sides());
        let caption = format!(
            "{legend}, by the time of each function itself; width: time in {head}; the table has the numbers"
        );
        Block::Figure(caption.into(), self.drawing())
    }

    fn table(&self) -> Block {
        let mut table = Table::new([
            Column::right("base"),
            Column::right("head"),
            Column::right("self, 95 % CI"),
            Column::right("with callees").optional(1),
            Column::left("function").names(),
            Column::left("code"),
        ]);
        for one in self.explanation.of_thread(SampledThread::Measuring).take(MOST) {
            let own =
                |spent: Option<Spent>| spent.map_or_else(String::new, |spent| time(spent.own));
            let role = match one.own.mean {
                _ if !one.is_beyond_noise => Role::Quiet,
                slower if slower > 0.0 => Role::Bad,
                _ => Role::Good,
            };
            table.row([
                own(one.base).into(),
                own(one.head).into(),
                Cell::styled(role, within(&one.own)),
                signed(one.inclusive.mean).into(),
                Cell::name(self.label(one).plain()),
                Some(&one.code)
                    .filter(|_| one.state == SampledState::Working)
                    .map_or_else(String::new, |code| self.code(code))
                    .into(),
            ]);
        }
        let explanation = &self.explanation;
        table.row([
            time(explanation.base).into(),
            time(explanation.head).into(),
            within(&explanation.change).into(),
            Cell::default(),
            "all functions".into(),
            Cell::default(),
        ]);
        let note = if explanation.others_are_unchanged {
            ", as sampled; above, what is within noise is taken as unchanged"
        } else {
            ""
        };
        Block::Details(format!("Self times by function{note}").into(), vec![Block::Table(table)])
    }
}

impl ExplainedTime {
    /// The names of base and head: those of variants or implementations, if that is the difference.
    fn sides(&self) -> [String; 2] {
        if self.base.variant == self.head.variant {
            return ["the base", "the head"].map(str::to_owned);
        }
        [&self.base, &self.head].map(|version| {
            let variant = version.variant.as_ref();
            variant.map_or_else(|| version.revision_arg(), |variant| variant.name.clone())
        })
    }

    /// A function, or the kernel in a call of it.
    fn label(&self, function: &FunctionTime) -> Text {
        let FunctionTime { name, state, .. } = function;
        let words = match state {
            SampledState::Working => {
                return Text::from_name(name.as_str()).then(self.which(function));
            }
            SampledState::InKernel => "the kernel, in ",
            SampledState::Waiting => "waiting in ",
        };
        // The C library's own name of `write` is `__write`.
        Text::from(words).name(name.as_str().trim_start_matches('_'))
    }

    /// What distinguishes a function from others of its name: the library, or a number in the order of changes.
    fn which(&self, FunctionTime { name, place, .. }: &FunctionTime) -> String {
        if let Place::Library(file) = place {
            return if file.is_empty() { String::new() } else { format!(" ({file})") };
        }
        let mut places: Vec<&Place> = Vec::new();
        for other in self.explanation.functions.iter().filter(|other| other.name == *name) {
            if matches!(other.place, Place::Program(_)) && !places.contains(&&other.place) {
                places.push(&other.place);
            }
        }
        match places.iter().position(|other| *other == place) {
            Some(at) if places.len() > 1 => {
                format!(" ({} of {} of this name)", at + 1, places.len())
            }
            _ => String::new(),
        }
    }

    /// Why a function takes another time, behind a colon; may be empty.
    fn reason(&self, function: &FunctionTime) -> Text {
        let FunctionTime { code, state, changed_caller, inlined, .. } = function;
        let [base, head] = self.sides();
        let mut parts: Vec<Text> = Vec::new();
        for (in_head, words) in [
            (true, format!(" is inlined into it in {head}")),
            (false, format!(" is inlined into it only in {base}")),
        ] {
            let names = inlined.iter().filter(|one| one.in_head == in_head);
            let names: Vec<Text> =
                names.map(|Inlined { name, .. }| Text::from_name(name.as_str())).collect();
            if !names.is_empty() {
                parts.push(Text::few(names, 2).then(words));
            }
        }
        let only_in = match (function.base, function.head) {
            (Some(_), None) => Some(base),
            (None, Some(_)) => Some(head),
            _ => None,
        };
        if *state == SampledState::Working {
            parts.extend(
                match (code, only_in) {
                    (Code::Same | Code::Unknown, Some(side)) => {
                        Some(format!("sampled only in {side}"))
                    }
                    (Code::Same, None) => Some(self.same_code(function)),
                    (Code::Unknown, None) => {
                        changed_caller.is_none().then(|| "its code was not compared".to_owned())
                    }
                    _ => Some(self.code(code)),
                }
                .map(Text::from),
            );
        }
        let by = changed_caller.as_ref().map(|Caller { name, code }| {
            let verb = if *state == SampledState::Waiting { "" } else { "called " };
            let by = Text::from(format!("{verb}by ")).name(name.as_str());
            by.then(format!(", {}", self.code(code)))
        });
        parts.extend(by);
        if parts.is_empty() {
            Text::new()
        } else {
            Text::from(": ").append(Text::joined(parts, "; "))
        }
    }

    /// Why a function of the same code takes another time, as far as counts show it.
    fn same_code(&self, function: &FunctionTime) -> String {
        /// A smaller change of a count is none that explains a change in time.
        const LEAST: f64 = 0.01;
        let [more, slower] =
            if function.attributed.mean > 0.0 { ["more", "slower"] } else { ["less", "faster"] };
        let Some(counted) = self.counts(function) else {
            return format!(
                "its code is the same: called {more} often, or {slower} for data or caches"
            );
        };
        let instructions = [counted.base, counted.head].map(|one| one.map_or(0.0, |one| one.own));
        let [base_calls, head_calls] = counted.calls();
        let share = |[base, head]: [f64; 2]| (head - base) / base.max(head);
        let differs = |both: [f64; 2]| share(both).abs() > LEAST;
        let words = |both: [f64; 2]| both.map(number).join(" -> ");
        let has_other_calls = differs([base_calls, head_calls]);
        // As many in each call.
        let expected = if has_other_calls { head_calls / base_calls } else { 1.0 };
        let has_other_work = differs([instructions[0] * expected, instructions[1]]);
        let mut parts = Vec::new();
        if has_other_calls {
            parts.push(format!("called {} times an iteration", words([base_calls, head_calls])));
        }
        if has_other_work {
            let counts = words(instructions);
            parts.push(format!("{counts} instructions an iteration, for other arguments or data"));
        }
        let time = share([function.base, function.head].map(|one| one.map_or(0.0, |one| one.own)));
        if share(instructions) * time.signum() < time.abs() / 2.0 {
            parts.push(format!("{slower} for caches or branches"));
        }
        let same = match (has_other_calls, has_other_work) {
            (true, _) => "code is",
            (false, true) => "code and calls are",
            (false, false) => "code, calls and instructions are",
        };
        format!("its {same} the same: {}", parts.join(", and "))
    }

    /// The difference in a function's code, in a few words.
    fn code(&self, code: &Code) -> String {
        let [_, head] = self.sides();
        match code {
            Code::Same => "the same".to_owned(),
            Code::Changed(changed) => {
                data_text(&changed.cause).unwrap_or_else(|| "changed".to_owned())
            }
            Code::OnlyBase(_) => format!("gone in {head}"),
            Code::OnlyHead(_) => format!("new in {head}"),
            Code::Unknown => "not compared".to_owned(),
        }
    }
}

/// A time in ns with three digits: `38.1 ns`, `1.24 µs`.
fn time(nanoseconds: f64) -> String {
    let (size, unit) = unit_of(nanoseconds);
    format!("{} {unit}", digits(nanoseconds / size))
}

fn signed(nanoseconds: f64) -> String {
    format!("{}{}", sign(nanoseconds), time(nanoseconds.abs()))
}

/// A change with its interval: `+38.1 ns (+33.0 .. +43.2)`.
fn within(change: &Change) -> String {
    let all = [change.mean, change.low, change.high];
    let (size, unit) = unit_of(all.into_iter().map(f64::abs).fold(0.0, f64::max));
    let [mean, low, high] = all.map(|one| format!("{}{}", sign(one), digits(one.abs() / size)));
    format!("{mean} {unit} ({low} .. {high})")
}

const fn sign(number: f64) -> &'static str {
    if number < 0.0 { "-" } else { "+" }
}

fn unit_of(nanoseconds: f64) -> (f64, &'static str) {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    units.into_iter().find(|(size, _)| nanoseconds >= 0.9995 * size).unwrap_or((1.0, "ns"))
}

fn digits(number: f64) -> String {
    let decimals = match number {
        number if number >= 99.95 => 0,
        number if number >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests;
