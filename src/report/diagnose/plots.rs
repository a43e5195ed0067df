//! The plots of a diagnosis as SVG files: the figures of the papers, for the user's own benchmark.

use std::collections::BTreeSet;

use super::{
    Examination, ExaminedBenchmark,
    scale::Axis,
    svg::{Kind, Panel, Shape, document},
};
use crate::{
    diagnosis::{Densities, Segments},
    model::Unit,
    report::escape::escape_untrusted,
    stats::Moments,
};

/// The maximum number of dots in a panel, so that a browser can open the file.
const MOST_DOTS: usize = 4000;
/// The number of executions shown in order of time.
const SEQUENCES: usize = 4;
/// The maximum length of a file name, without its extension.
const LONGEST: usize = 60;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotFile {
    /// The name: only letters, digits, `-` and `.`.
    pub name: String,
    /// The content of the file.
    pub svg: String,
}

/// All plots of these benchmarks.
pub(super) fn plots(benchmarks: &[ExaminedBenchmark]) -> Vec<PlotFile> {
    let mut used = BTreeSet::new();
    let mut files = Vec::new();
    for ExaminedBenchmark { benchmark, outcome } in benchmarks {
        let Ok(examination) = outcome else { continue };
        let id = &benchmark.name.id;
        let prefix = unused(&file_name(id), &mut used);
        let plots = examination.drawn(|title| format!("{id}: {title}"));
        files.extend(
            plots.map(|(name, svg)| PlotFile { name: format!("{prefix}-{name}.svg"), svg }),
        );
    }
    files
}

/// A safe file name for any id.
fn file_name(id: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = id.chars().take(LONGEST).map(letter).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "benchmark".to_owned() } else { name.to_owned() }
}

fn unused(name: &str, used: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    // File systems may ignore case.
    let free = names.find(|name| used.insert(name.to_ascii_lowercase()));
    free.unwrap_or_else(|| name.to_owned())
}

impl Examination {
    /// The name and the drawing of each plot that is not empty, with the heading that `head` makes
    /// of its title.
    pub(super) fn drawn(
        &self,
        head: impl Fn(&str) -> String,
    ) -> impl Iterator<Item = (&'static str, String)> {
        let plots = self.plots().into_iter().filter(|(_, _, panels)| !panels.is_empty());
        plots.map(move |(name, title, panels)| (name, document(&head(title), &panels)))
    }

    fn plots(&self) -> Vec<(&'static str, &'static str, Vec<Panel>)> {
        vec![
            ("density", "distribution of the measurements of each execution", self.densities()),
            ("normal", "one execution against a normal distribution", self.normal()),
            ("sequence", "measurements in the order of time", self.sequences()),
            ("variance", "where the variance comes from", self.variance()),
            ("estimators", "estimators by the number of measurements", self.estimators()),
            (
                "order-effect",
                "after other benchmarks, against a fresh process",
                self.order_effects(),
            ),
            ("length", "error of a measurement by its iterations", self.lengths()),
        ]
    }

    /// A suitable unit for the time of an iteration: its name, and the divisor of values.
    fn unit(&self) -> (String, f64) {
        let metric = self.data.metric();
        let typical = self.data.values().first().copied().unwrap_or(1.0);
        let (name, step) = match metric.unit {
            Unit::Nanoseconds => (["ns", "µs", "ms", "s"], 1000.0),
            Unit::Bytes => (["B", "KiB", "MiB", "GiB"], 1024.0),
            Unit::Instructions | Unit::Cycles | Unit::Allocations => {
                (["", "thousand ", "million ", "billion "], 1000.0)
            }
        };
        let (mut index, mut divisor) = (0, 1.0);
        while typical / divisor >= step && index + 1 < name.len() {
            divisor *= step;
            index += 1;
        }
        let what = match metric.unit {
            Unit::Instructions | Unit::Cycles | Unit::Allocations => {
                format!("{}{}", name[index], metric.unit.symbol())
            }
            Unit::Nanoseconds | Unit::Bytes => name[index].to_owned(),
        };
        (format!("{} per iteration ({what})", metric.name), divisor)
    }

    /// Figures 1, 2, 4, 5 and 6 of Gil et al. 2011.
    fn densities(&self) -> Vec<Panel> {
        let Ok(found) = &self.findings.states else { return Vec::new() };
        let panel = |title: &str, densities: &Densities| {
            let (label, divisor) = self.unit();
            let builds: Vec<u64> = self.data.builds().map(|build| build.seed()).collect();
            let curves = densities.curves.iter().zip(&found.states).map(|(curve, state)| {
                let build = builds.iter().position(|seed| *seed == state.position.seed);
                let points = densities.grid.iter().zip(curve);
                let points = points.map(|(at, density)| [at / divisor, density * divisor]);
                Shape::new(Kind::Faint, build.unwrap_or_default(), points.collect())
            });
            Panel {
                title: title.to_owned(),
                x: Axis::linear(label),
                y: Axis::linear("density"),
                shapes: curves.collect(),
                marks: Vec::new(),
            }
        };
        vec![
            panel("one width for all: h = min σ (4/3r)^⅕; a colour for each build", &found.common),
            panel("each with its own width: h = σ (4/3r)^⅕", &found.own),
        ]
    }

    /// Figure 3.
    fn normal(&self) -> Vec<Panel> {
        let Ok(found) = &self.findings.states else { return Vec::new() };
        let (Some(state), Some(curve)) = (found.states.first(), found.own.curves.first()) else {
            return Vec::new();
        };
        let moments = Moments::compute(self.execution(state.position));
        let variance = moments.squares / (moments.count.max(2) - 1) as f64;
        let (label, divisor) = self.unit();
        let points = |density: &dyn Fn(usize, f64) -> f64| {
            let grid = found.own.grid.iter().enumerate();
            grid.map(|(index, at)| [at / divisor, density(index, *at) * divisor]).collect()
        };
        let normal = |_: usize, at: f64| {
            let squared = (at - moments.mean).powi(2) / variance;
            (-squared / 2.0).exp() / (2.0 * std::f64::consts::PI * variance).sqrt()
        };
        let measured = |index: usize, _: f64| curve.get(index).copied().unwrap_or(f64::NAN);
        vec![Panel {
            title: format!("seed {}, execution {}", state.position.seed, state.position.round + 1),
            x: Axis::linear(label),
            y: Axis::linear("density"),
            shapes: vec![
                Shape::new(Kind::Line, 0, points(&measured)).named("measured"),
                Shape::new(Kind::Line, 1, points(&normal)).named("normal"),
            ],
            marks: Vec::new(),
        }]
    }

    /// Figures 7, 8 and 9, with change points.
    fn sequences(&self) -> Vec<Panel> {
        let (label, divisor) = self.unit();
        let panel = |position, found: Option<&Segments>| {
            let values = self.execution(position);
            let step = values.len().div_ceil(MOST_DOTS).max(1);
            let dots = values.iter().enumerate().step_by(step);
            let dots = dots.map(|(index, value)| [(index + 1) as f64, value / divisor]).collect();
            let mut shapes = vec![Shape::new(Kind::Dots, 0, dots)];
            let segments = found.map_or(&[][..], |found| &found.segments);
            shapes.extend(segments.iter().map(|segment| {
                let level = segment.level / divisor;
                let ends = [segment.start + 1, segment.end].map(|at| [at as f64, level]);
                Shape::new(Kind::Line, 1, ends.to_vec())
            }));
            let marks = segments.iter().skip(1);
            Panel {
                title: format!("seed {}, execution {}", position.seed, position.round + 1),
                x: Axis::linear("measurement"),
                y: Axis::linear(label.clone()),
                shapes,
                marks: marks.map(|segment| (segment.start as f64 + 0.5, String::new())).collect(),
            }
        };
        if let Ok(leaps) = &self.findings.leaps {
            let mut order: Vec<&Segments> = leaps.executions.iter().collect();
            // The clearest level shifts first.
            order.sort_by(|a, b| a.p.total_cmp(&b.p));
            return order
                .iter()
                .take(SEQUENCES)
                .map(|one| panel(one.position, Some(one)))
                .collect();
        }
        let states = self.findings.states.as_ref().map_or(&[][..], |found| &found.states);
        states.iter().take(SEQUENCES).map(|state| panel(state.position, None)).collect()
    }

    /// The components of Kalibera et al. 2006.
    fn variance(&self) -> Vec<Panel> {
        let Ok(found) = &self.findings.variance else { return Vec::new() };
        let shares = [found.shares.version, found.shares.build, found.shares.execution];
        let known =
            shares.iter().enumerate().filter_map(|(index, share)| Some((index as f64, (*share)?)));
        let known: Vec<_> = known.collect();
        let bars = known.iter().map(|(at, share)| [*at, 100.0 * share.center]).collect();
        let ranges = known
            .iter()
            .flat_map(|(at, share)| [[*at, 100.0 * share.low], [*at, 100.0 * share.high]]);
        let names = ["layouts", "executions", "measurements"].map(str::to_owned).to_vec();
        vec![Panel {
            title: "share of the variance of one measurement, with intervals".to_owned(),
            x: Axis { names, ..Axis::linear("level") },
            y: Axis::linear("%"),
            shapes: vec![
                Shape::new(Kind::Bars, 5, bars),
                Shape::new(Kind::Ranges, 6, ranges.collect()),
            ],
            marks: Vec::new(),
        }]
    }

    /// The tables of Haveraaen & Hundvebakke 2001.
    fn estimators(&self) -> Vec<Panel> {
        let Ok(found) = &self.findings.candidates else { return Vec::new() };
        let shapes = found.table.iter().enumerate().map(|(colour, (candidate, precisions))| {
            let points = found.counts.iter().zip(precisions);
            let points = points.map(|(k, one)| [*k as f64, 100.0 * one.relative_sd.center]);
            Shape::new(Kind::Line, colour, points.collect()).named(candidate.name())
        });
        vec![Panel {
            title: "relative standard deviation between executions of one build".to_owned(),
            x: Axis::logarithmic("k, measurements of an execution"),
            y: Axis::logarithmic("%"),
            shapes: shapes.collect(),
            marks: Vec::new(),
        }]
    }

    /// Figures 10 and 11.
    fn order_effects(&self) -> Vec<Panel> {
        let Ok(found) = &self.prologue else { return Vec::new() };
        let all = ("all".to_owned(), found.after_all);
        let bars: Vec<_> = std::iter::once(&all).chain(&found.after_each).collect();
        let centers = bars.iter().enumerate();
        let centers =
            centers.map(|(at, (_, one))| [at as f64, 100.0 * one.change.center]).collect();
        let ranges = bars.iter().enumerate().flat_map(|(at, (_, one))| {
            [one.change.low, one.change.high].map(|end| [at as f64, 100.0 * end])
        });
        let by_index = found.by_index.iter().enumerate();
        let by_index = by_index.map(|(index, change)| [(index + 1) as f64, 100.0 * change]);
        vec![
            Panel {
                title: "how much slower after others".to_owned(),
                x: Axis {
                    names: bars
                        .iter()
                        .map(|(name, _)| escape_untrusted(name).into_owned())
                        .collect(),
                    ..Axis::linear("what ran before")
                },
                y: Axis::linear("%"),
                shapes: vec![
                    Shape::new(Kind::Bars, 5, centers),
                    Shape::new(Kind::Ranges, 6, ranges.collect()),
                ],
                marks: Vec::new(),
            },
            Panel {
                title: "how long that lasts: medians over all pairs".to_owned(),
                x: Axis::linear("measurement after the others"),
                y: Axis::linear("% slower"),
                shapes: vec![Shape::new(Kind::Line, 0, by_index.collect())],
                marks: Vec::new(),
            },
        ]
    }

    /// The data that Algorithm 1 of Chen & Revels 2016 decides on.
    fn lengths(&self) -> Vec<Panel> {
        let Ok(found) = &self.length else { return Vec::new() };
        let points = found.curve.points.iter();
        let points = points.map(|point| [point.iterations as f64, 100.0 * point.error]);
        vec![Panel {
            title: "relative error of one measurement".to_owned(),
            x: Axis::logarithmic("iterations of a measurement"),
            y: Axis::logarithmic("%"),
            shapes: vec![Shape::new(Kind::Line, 0, points.collect())],
            marks: vec![
                (found.oracle as f64, "oracle".to_owned()),
                (found.in_use as f64, "in use".to_owned()),
            ],
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_is_safe_for_any_id() {
        for (id, name) in [
            ("parse/64 kB", "parse-64-kB"),
            ("../../etc/passwd", "etc-passwd"),
            ("\u{1b}[2J\0", "2J"),
            ("täglich", "t-glich"),
            ("…", "benchmark"),
            ("", "benchmark"),
        ] {
            assert_eq!(file_name(id), name);
        }
        assert_eq!(file_name(&"x".repeat(500)).len(), LONGEST);
    }

    #[test]
    fn file_names_of_similar_ids_differ() {
        let mut used = BTreeSet::new();
        let names = ["a-b", "A-b", "a-b", "a-b-2"].map(|name| unused(name, &mut used));
        assert_eq!(names, ["a-b", "A-b-2", "a-b-3", "a-b-2-2"]);
    }
}
