//! Maps the functions that differ to the benchmarks of a bench target that execute them, and the
//! other way round.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::{
    elf::Name,
    impact::{Impact, ReachedFunction, is_harness_function},
    model::Benchmark,
    report::{
        document::Text,
        impact::{self, benchmarks_text, listed},
    },
};

/// The maximum number of benchmarks named for one impact.
const MOST_NAMES: usize = 8;

/// The impact of the differences on the benchmarks of a bench target.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ExecutedFunctions {
    /// The benchmarks that both versions have, in the head's order, and the impact on each.
    #[serde(serialize_with = "impact_fields")]
    #[schemars(with = "Vec<ImpactFields<'_>>")]
    pub benchmarks: Vec<(Benchmark, Impact)>,
    /// The benchmarks that only one version has, which are not traced.
    pub not_traced: Vec<Benchmark>,
}

/// The impact of the differences on a benchmark, for programs.
#[derive(Serialize, JsonSchema)]
struct ImpactFields<'r> {
    #[serde(flatten)]
    benchmark: &'r Benchmark,
    impact: &'r Impact,
}

fn impact_fields<S: Serializer>(all: &[(Benchmark, Impact)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(all.iter().map(|(benchmark, impact)| ImpactFields { benchmark, impact }))
}

/// The versions that have a function.
#[derive(Clone, Copy)]
pub(super) enum InVersions {
    Both,
    OnlyBase,
    OnlyHead,
}

impl ExecutedFunctions {
    /// The benchmarks that execute the function with this instance, which is the head's if the head
    /// has it.
    pub(super) fn executing(&self, instance: u64, has: InVersions) -> Vec<&Benchmark> {
        let is_it = |function: &ReachedFunction| {
            let versions = match has {
                InVersions::Both => [true, true],
                InVersions::OnlyBase => [true, false],
                InVersions::OnlyHead => [false, true],
            };
            let sizes = [function.base_size, function.head_size];
            function.instance == instance && sizes.map(|size| size.is_some()) == versions
        };
        let executing =
            self.benchmarks.iter().filter(|(_, impact)| impact.functions.iter().any(is_it));
        executing.map(|(benchmark, _)| benchmark).collect()
    }

    /// The benchmarks that execute a function, in words: `executed by parse/a and parse/b`.
    pub(super) fn executed_by(&self, name: &Name, instance: u64, has: InVersions) -> Text {
        let executing = self.executing(instance, has);
        match executing.len() {
            0 if is_harness_function(name) => {
                "no benchmark is known to execute it but its harness, before it measures".into()
            }
            0 if self.is_complete() => "no benchmark executes it".into(),
            0 => "no benchmark is known to execute it".into(),
            all if all == self.benchmarks.len() && all > MOST_NAMES => {
                format!("executed by all {all} benchmarks").into()
            }
            _ => {
                let name = |one: &&Benchmark| impact::name(&one.name.id);
                Text::from("executed by ").append(listed(&executing, name, "", impact::MOST))
            }
        }
    }

    /// A line for each group of benchmarks with the same impact, unless there is none.
    pub(super) fn lines(&self) -> Vec<Text> {
        let mut alike: Vec<(Text, Vec<Text>)> = Vec::new();
        for (benchmark, impact) in self.benchmarks.iter().filter(|(_, impact)| !impact.is_nothing())
        {
            let words = impact::words(impact, "may have more impact, because", impact::MOST);
            let name = impact::name(&benchmark.name.id);
            match alike.iter_mut().find(|(other, _)| *other == words) {
                Some((_, names)) => names.push(name),
                None => alike.push((words, vec![name])),
            }
        }
        let line = |(words, names): (Text, Vec<Text>)| {
            let all = names.len();
            let whom = if all == self.benchmarks.len() && all > MOST_NAMES {
                format!("all {all} benchmarks").into()
            } else {
                Text::joined(names, ", ")
            };
            benchmarks_text(whom, all, words)
        };
        let mut lines: Vec<Text> = alike.into_iter().map(line).collect();
        if !self.not_traced.is_empty() {
            let name = |one: &Benchmark| impact::name(&one.name.id);
            let names = listed(&self.not_traced, name, "", impact::MOST);
            lines.push(Text::from("in one version only, so not traced: ").append(names));
        }
        lines
    }

    /// The number of benchmarks without impact.
    pub(super) fn count_without_impact(&self) -> usize {
        self.benchmarks.iter().filter(|(_, impact)| impact.is_nothing()).count()
    }

    /// True if all executed functions are known.
    fn is_complete(&self) -> bool {
        let mut reached = self.benchmarks.iter().map(|(_, impact)| impact);
        self.not_traced.is_empty() && reached.all(|impact| impact.uncertainties.is_empty())
    }
}
