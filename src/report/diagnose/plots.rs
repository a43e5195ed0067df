//! The plots of a diagnosis: the figures of the papers, for the user's own benchmark.

use std::iter;

use super::{
    Examination,
    chart::{Axis, Kind, Panel, Shape, document},
    sections::name_of,
};
use crate::{
    diagnosis::{Densities, Position, Segment, Segments, Shares},
    model::Unit,
    report::{escape::escape_untrusted, prose::capitalised},
    stats::{Interval, Moments},
};

/// The maximum number of dots in a panel, so that a browser can open the file.
const MOST_DOTS: usize = 4000;
/// The number of executions shown in order of time.
const SEQUENCES: usize = 4;
impl Examination {
    /// The drawing of each plot that is not empty.
    pub(super) fn plots(&self) -> Vec<String> {
        let plots = [
            ("distribution of the measurements of each execution", self.densities()),
            ("one execution against a normal distribution", self.normal()),
            ("measurements in the order of time", self.sequences()),
            ("where the variance comes from", self.variance_shares()),
            ("estimators by the number of measurements", self.estimators()),
            ("after other benchmarks, against a fresh process", self.order_effects()),
            ("error of a measurement by its iterations", self.lengths()),
        ];
        let plots = plots.into_iter().filter(|(_, panels)| !panels.is_empty());
        plots.map(|(title, panels)| document(&capitalised(title), &panels)).collect()
    }

    /// A suitable unit for the time of an iteration: its name, and the divisor of values.
    fn unit(&self) -> (String, f64) {
        let metric = self.data.metric();
        let typical = self.data.values().first().copied().unwrap_or(1.0);
        let (names, step) = match metric.unit {
            Unit::Nanoseconds => (["ns", "µs", "ms", "s"], 1000.0),
            Unit::Bytes => (["B", "KiB", "MiB", "GiB"], 1024.0),
            Unit::Instructions | Unit::Cycles | Unit::Allocations => {
                (["", "thousand ", "million ", "billion "], 1000.0)
            }
        };
        let things = match metric.unit {
            Unit::Nanoseconds | Unit::Bytes => "",
            unit => unit.symbol(),
        };
        let divisors = iter::successors(Some(1.0), |divisor| Some(divisor * step));
        let fitting = divisors.zip(names).take_while(|(divisor, _)| *divisor <= typical).last();
        let (divisor, name) = fitting.unwrap_or((1.0, names[0]));
        (format!("{} per iteration ({name}{things})", metric.name), divisor)
    }

    /// Figures 1, 2, 4, 5 and 6 of Gil et al. 2011.
    fn densities(&self) -> Vec<Panel> {
        let Ok(found) = &self.findings.states else { return Vec::new() };
        let (label, divisor) = self.unit();
        let builds: Vec<u64> = self.data.builds().map(|build| build.seed()).collect();
        let panel = |title: &str, densities: &Densities| {
            let curves = densities.curves.iter().zip(&found.states).map(|(curve, state)| {
                let build = builds.iter().position(|seed| *seed == state.position.seed);
                let points = densities.grid.iter().zip(curve);
                let points = points.map(|(at, density)| [at / divisor, density * divisor]);
                Shape::new(Kind::Faint, build.unwrap_or_default(), points.collect())
            });
            let axes = [Axis::linear(&*label), Axis::linear("density")];
            Panel::new(title, axes, curves.collect())
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
        let normal = |at: &f64| {
            let squared = (at - moments.mean).powi(2) / variance;
            (-squared / 2.0).exp() / (std::f64::consts::TAU * variance).sqrt()
        };
        let shape = |colour, name, densities: &mut dyn Iterator<Item = f64>| {
            let points = found.own.grid.iter().zip(densities);
            let points = points.map(|(at, density)| [at / divisor, density * divisor]);
            Shape::new(Kind::Line, colour, points.collect()).named(name)
        };
        let shapes = vec![
            shape(0, "measured", &mut curve.iter().copied()),
            shape(1, "normal", &mut found.own.grid.iter().map(normal)),
        ];
        let axes = [Axis::linear(label), Axis::linear("density")];
        vec![Panel::new(name_of(state.position), axes, shapes)]
    }

    /// Figures 7, 8 and 9, with change points.
    fn sequences(&self) -> Vec<Panel> {
        let (label, divisor) = self.unit();
        let panel = |(position, segments): (Position, &[Segment])| {
            let values = self.execution(position);
            let step = values.len().div_ceil(MOST_DOTS).max(1);
            let dots = values.iter().enumerate().step_by(step);
            let dots = dots.map(|(index, value)| [(index + 1) as f64, value / divisor]).collect();
            let levels = segments.iter().map(|segment| {
                let level = segment.level / divisor;
                let ends = [segment.start + 1, segment.end].map(|at| [at as f64, level]);
                Shape::new(Kind::Line, 1, ends.to_vec())
            });
            let shapes = iter::once(Shape::new(Kind::Dots, 0, dots)).chain(levels).collect();
            let axes = [Axis::linear("measurement"), Axis::linear(&*label)];
            let starts = segments.iter().skip(1).map(|segment| segment.start as f64 + 0.5);
            let marks = starts.map(|at| (at, String::new())).collect();
            Panel { marks, ..Panel::new(name_of(position), axes, shapes) }
        };
        if let Ok(shifts) = &self.findings.level_shifts {
            let mut clearest: Vec<&Segments> = shifts.executions.iter().collect();
            clearest.sort_by(|a, b| a.p.total_cmp(&b.p));
            let shown = clearest.iter().take(SEQUENCES);
            return shown.map(|one| panel((one.position, &one.segments))).collect();
        }
        let states = self.findings.states.as_ref().map_or(&[][..], |found| &found.states);
        states.iter().take(SEQUENCES).map(|state| panel((state.position, &[]))).collect()
    }

    /// The components of Kalibera et al. 2006.
    fn variance_shares(&self) -> Vec<Panel> {
        let Ok(found) = &self.findings.variance else { return Vec::new() };
        let Shares { layouts, executions, measurements } = found.shares;
        let shares =
            [("layouts", layouts), ("executions", executions), ("measurements", measurements)];
        let title = "share of the variance of one measurement, with intervals";
        vec![bars(title, ["level", "%"], shares)]
    }

    /// The tables of Haveraaen & Hundvebakke 2001.
    fn estimators(&self) -> Vec<Panel> {
        let Ok(found) = &self.findings.estimators else { return Vec::new() };
        let shapes = found.estimators.iter().enumerate().map(|(colour, one)| {
            let points = found.counts.iter().zip(&one.relative_sds);
            let points = points.map(|(k, sd)| [*k as f64, 100.0 * sd.center]);
            Shape::new(Kind::Line, colour, points.collect()).named(one.estimator)
        });
        let title = "relative standard deviation between executions of one build";
        let axes = [Axis::logarithmic("k, measurements of an execution"), Axis::logarithmic("%")];
        vec![Panel::new(title, axes, shapes.collect())]
    }

    /// Figures 10 and 11.
    fn order_effects(&self) -> Vec<Panel> {
        let Ok(found) = &self.order_effect else { return Vec::new() };
        let each = found.after_each.iter().map(|one| (&*one.other, Some(one.effect.change)));
        let changes = iter::once(("all", Some(found.after_all.change))).chain(each);
        let by_index = found.by_index.iter().enumerate();
        let by_index = by_index.map(|(index, change)| [(index + 1) as f64, 100.0 * change]);
        let axes = [Axis::linear("measurement after the others"), Axis::linear("% slower")];
        let line = Shape::new(Kind::Line, 0, by_index.collect());
        vec![
            bars("how much slower after others", ["previous benchmarks", "%"], changes),
            Panel::new("how long that lasts: medians over all pairs", axes, vec![line]),
        ]
    }

    /// The data that Algorithm 1 of Chen & Revels 2016 decides on.
    fn lengths(&self) -> Vec<Panel> {
        let Ok(found) = &self.length else { return Vec::new() };
        let points = found.points.iter();
        let points = points.map(|point| [point.iterations as f64, 100.0 * point.error]);
        let axes = [Axis::logarithmic("iterations of a measurement"), Axis::logarithmic("%")];
        let line = Shape::new(Kind::Line, 0, points.collect());
        let marks = [(found.oracle, "oracle"), (found.in_use, "in use")];
        let marks = marks.map(|(at, name)| (at as f64, name.to_owned())).to_vec();
        vec![Panel { marks, ..Panel::new("relative error of one measurement", axes, vec![line]) }]
    }
}

/// A bar in percent for each named share, with its interval.
fn bars<'n>(
    title: &str,
    [x, y]: [&str; 2],
    shares: impl IntoIterator<Item = (&'n str, Option<Interval>)>,
) -> Panel {
    let (names, shares): (Vec<&str>, Vec<_>) = shares.into_iter().unzip();
    let known = || shares.iter().enumerate().filter_map(|(at, share)| Some((at as f64, (*share)?)));
    let centers = known().map(|(at, share)| [at, 100.0 * share.center]).collect();
    let ranges =
        known().flat_map(|(at, share)| [share.low, share.high].map(|end| [at, 100.0 * end]));
    let names = names.into_iter().map(|name| escape_untrusted(name).into_owned()).collect();
    let shapes =
        vec![Shape::new(Kind::Bars, 5, centers), Shape::new(Kind::Ranges, 6, ranges.collect())];
    Panel::new(title, [Axis { names, ..Axis::linear(x) }, Axis::linear(y)], shapes)
}
