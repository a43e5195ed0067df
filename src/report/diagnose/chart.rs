//! The plots of a diagnosis: the figures of the papers, for the user's own benchmark, drawn as SVG:
//! lines, dots and marks in panels, with axes. Escapes every text, so that nothing in a plot is
//! markup.

use std::iter;

use rbench_stats::{
    Interval, Moments,
    diagnosis::{Densities, Position, Segment, Segments, Shares},
};

use super::{
    super::{
        document::capitalised,
        escape::escape_untrusted,
        html::{Linear, escape_html},
        table::shorten,
    },
    Examination,
    sections::name_of,
};
use crate::model::Unit;

/// The width of a document, in pixels: small, so that its text is legible when a phone shows it
/// whole.
const WIDTH: f64 = 480.0;
/// The height of one panel, with its axis.
const PANEL: f64 = 270.0;
/// The margins around the plot area: left, right, above, below.
const MARGINS: [f64; 4] = [74.0, 14.0, 30.0, 46.0];
const BAR: f64 = 40.0;
/// The approximate number of letters that fit along the horizontal axis.
const LETTERS: usize = 52;
/// The room above the first panel, for the title.
const TITLE: f64 = 34.0;
/// The line height of a legend, and the number of names in a line.
const LEGEND: f64 = 17.0;
const ABREAST: usize = 3;

/// Colours that colour-blind people can distinguish (Okabe & Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444", "#b8a800"];

#[derive(Clone, Debug, Default)]
pub struct Panel {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    /// The shapes, the first at the bottom.
    pub shapes: Vec<Shape>,
    /// Vertical lines, with their labels.
    pub marks: Vec<(f64, String)>,
}

/// A drawn series of points.
#[derive(Clone, Debug)]
pub struct Shape {
    pub kind: Kind,
    /// The index in the list of colours.
    pub colour: usize,
    pub name: Option<String>,
    pub points: Vec<[f64; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Line,
    /// A faint line, for many lines above each other.
    Faint,
    Dots,
    /// A bar from 0 for each point.
    Bars,
    /// A vertical line between each two points, for intervals.
    Ranges,
}

/// A document of these panels, one below the other.
pub fn document(title: &str, panels: &[Panel]) -> String {
    let height = TITLE + panels.iter().map(Panel::height).sum::<f64>();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{WIDTH:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {WIDTH:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>{title}</title>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"23\" font-size=\"15\" font-weight=\"bold\">{title}</text>\n",
        title = escaped(title)
    );
    let mut top = TITLE;
    for panel in panels {
        svg += &format!("<g transform=\"translate(0,{top:.0})\">\n{}</g>\n", panel.draw());
        top += panel.height();
    }
    svg + "</svg>\n"
}

/// Escapes text, so that nothing in it is markup or controls a terminal.
fn escaped(text: &str) -> String {
    // XML documents must not contain these two.
    escape_html(&escape_untrusted(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}

impl Panel {
    /// A panel without marks, with its horizontal and its vertical axis.
    pub fn new(title: impl Into<String>, [x, y]: [Axis; 2], shapes: Vec<Shape>) -> Self {
        Self { title: title.into(), x, y, shapes, marks: Vec::new() }
    }

    fn draw(&self) -> String {
        let [left, right, above, below] = MARGINS;
        let points = || self.shapes.iter().flat_map(|shape| &shape.points);
        let has_bars = self.shapes.iter().any(|shape| shape.kind == Kind::Bars);
        let zero = has_bars.then_some(0.0);
        let marked = self.marks.iter().map(|(x, _)| *x);
        let x = Scale::fit(points().map(|p| p[0]).chain(marked), &self.x, [left, WIDTH - right]);
        let y = Scale::fit(points().map(|p| p[1]).chain(zero), &self.y, [PANEL - below, above]);
        let mut svg = text([left, 20.0], "", &self.title);
        svg += &self.axes(&x, &y);
        svg.extend(self.shapes.iter().map(|shape| shape.draw(&x, &y)));
        for (at, name) in &self.marks {
            let at = x.place(*at);
            svg += &format!(
                "<path d=\"M{at:.1} {above}V{:.1}\" class=\"mark\" stroke=\"#d55e00\" stroke-dasharray=\"4 3\"/>\n",
                PANEL - below
            );
            svg += &text([at + 4.0, above + 12.0], " class=\"mark\" fill=\"#a63a06\"", name);
        }
        svg + &self.legend()
    }

    fn axes(&self, x: &Scale, y: &Scale) -> String {
        const MIDDLE: &str = " text-anchor=\"middle\"";
        let [left, right, above, below] = MARGINS;
        let (bottom, end) = (PANEL - below, WIDTH - right);
        let mut svg = format!(
            "<path d=\"M{left} {above}V{bottom}H{end}\" class=\"axis\" fill=\"none\" stroke=\"#888888\"/>\n"
        );
        for (tick, label) in x.ticks.iter().zip(self.x.labels(&x.ticks)) {
            let at = x.place(*tick);
            svg += &format!("<path d=\"M{at:.1} {bottom}v4\" class=\"axis\" stroke=\"#888888\"/>");
            svg += &text([at, bottom + 17.0], MIDDLE, &label);
        }
        for (tick, label) in y.ticks.iter().zip(self.y.labels(&y.ticks)) {
            let at = y.place(*tick);
            svg +=
                &format!("<path d=\"M{left} {at:.1}H{end}\" class=\"grid\" stroke=\"#eeeeee\"/>");
            svg += &text([left - 6.0, at + 4.0], " text-anchor=\"end\"", &label);
        }
        svg += &text([f64::midpoint(left, end), bottom + 36.0], MIDDLE, &self.x.label);
        let turned =
            format!(" transform=\"rotate(-90 16 {:.1})\"{MIDDLE}", f64::midpoint(above, bottom));
        svg + &text([16.0, f64::midpoint(above, bottom)], &turned, &self.y.label)
    }

    fn height(&self) -> f64 {
        let names = self.shapes.iter().filter(|shape| shape.name.is_some()).count();
        PANEL + LEGEND * names.div_ceil(ABREAST) as f64
    }

    /// The names of shapes, several in a line, below the axis.
    fn legend(&self) -> String {
        let [left, right, ..] = MARGINS;
        let named =
            self.shapes.iter().filter_map(|shape| Some((shape.colour, shape.name.as_ref()?)));
        let mut svg = String::new();
        for (index, (colour, name)) in named.enumerate() {
            let x = left + (WIDTH - left - right) / ABREAST as f64 * (index % ABREAST) as f64;
            let y = PANEL + LEGEND * (index / ABREAST) as f64 + 12.0;
            let line = format!("M{x:.1} {:.1}h12", y - 4.0);
            svg += &path(colour, &line, "stroke-width=\"3\"");
            svg += &text([x + 17.0, y], "", name);
        }
        svg
    }
}

fn text([x, y]: [f64; 2], attributes: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\"{attributes}>{}</text>\n", escaped(text))
}

fn path(colour: usize, line: &str, attributes: &str) -> String {
    let class = colour % COLOURS.len();
    let stroke = COLOURS[class];
    format!("<path class=\"c{class}\" d=\"{line}\" stroke=\"{stroke}\" {attributes}/>\n")
}

impl Shape {
    pub fn new(kind: Kind, colour: usize, points: Vec<[f64; 2]>) -> Self {
        Self { kind, colour, name: None, points }
    }

    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    fn draw(&self, x: &Scale, y: &Scale) -> String {
        let is_drawn = |point: &&[f64; 2]| x.has(point[0]) && y.has(point[1]);
        let points = self.points.iter().filter(is_drawn);
        let places: Vec<[f64; 2]> = points.map(|p| [x.place(p[0]), y.place(p[1])]).collect();
        let joined = |places: &[[f64; 2]]| {
            let words = places.iter().map(|[x, y]| format!("{x:.1} {y:.1}"));
            format!("M{}", words.collect::<Vec<_>>().join("L"))
        };
        if places.is_empty() {
            return String::new();
        }
        let line = match self.kind {
            Kind::Line | Kind::Faint => joined(&places),
            Kind::Dots => {
                let dot = |[x, y]: &[f64; 2]| format!("M{x:.1} {y:.1}h0");
                places.iter().map(dot).collect()
            }
            Kind::Bars => {
                let zero = y.place(0.0);
                let bar = |[x, y]: &[f64; 2]| format!("M{x:.1} {zero:.1}V{y:.1}");
                places.iter().map(bar).collect()
            }
            Kind::Ranges => places.chunks_exact(2).map(joined).collect(),
        };
        let attributes = match self.kind {
            Kind::Line => "fill=\"none\" stroke-width=\"1.8\"".to_owned(),
            Kind::Faint => "fill=\"none\" stroke-opacity=\"0.45\"".to_owned(),
            Kind::Dots => {
                "stroke-width=\"2.4\" stroke-linecap=\"round\" stroke-opacity=\"0.6\"".to_owned()
            }
            Kind::Bars => {
                let apart = places.windows(2).map(|pair| (pair[1][0] - pair[0][0]).abs());
                let width = apart.fold(BAR, |width, apart| width.min(0.8 * apart));
                format!("stroke-width=\"{width:.0}\"")
            }
            Kind::Ranges => "stroke-width=\"2\"".to_owned(),
        };
        path(self.colour, &line, &attributes)
    }
}

/// The approximate number of labels at an axis.
const TICKS: f64 = 6.0;

#[derive(Clone, Debug, Default)]
pub struct Axis {
    pub label: String,
    pub logarithmic: bool,
    /// Names in place of numbers, for 0, 1, 2 and so on.
    pub names: Vec<String>,
}

impl Axis {
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { logarithmic: true, ..Self::linear(label) }
    }

    /// The labels at these ticks: the names, or numbers with as many decimals as distinguish them.
    fn labels(&self, ticks: &[f64]) -> Vec<String> {
        if !self.names.is_empty() {
            return self
                .names
                .iter()
                .map(|name| shorten(name, LETTERS / self.names.len()))
                .collect();
        }
        let digits = decimals(ticks);
        let label = |tick: &f64| {
            if self.logarithmic { tick.to_string() } else { format!("{tick:.digits$}") }
        };
        ticks.iter().map(label).collect()
    }
}

#[derive(Clone, Debug)]
struct Scale {
    /// The values at both ends, as logarithms if the axis is logarithmic.
    ends: [f64; 2],
    /// The positions of both ends, in pixels.
    places: [f64; 2],
    logarithmic: bool,
    ticks: Vec<f64>,
}

impl Scale {
    /// A scale with room for all values that can be drawn on it.
    fn fit(values: impl Iterator<Item = f64>, axis: &Axis, places: [f64; 2]) -> Self {
        let logarithmic = axis.logarithmic;
        let shown = values.filter(|value| can_be_drawn(*value, logarithmic));
        let shown = shown.map(|value| if logarithmic { value.log10() } else { value });
        let Linear { low, high } = Linear::fit(shown);
        let last_name = axis.names.len() as f64 - 1.0;
        let ends = if axis.names.is_empty() { [low, high] } else { [-0.6, last_name + 0.6] };
        let ticks = match axis.names.len() {
            0 if logarithmic => powers(ends),
            0 => round_numbers(ends),
            names => (0..names).map(|index| index as f64).collect(),
        };
        Self { ends, places, logarithmic, ticks }
    }

    fn has(&self, value: f64) -> bool {
        can_be_drawn(value, self.logarithmic)
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.log10() } else { value };
        let [low, high] = self.ends;
        let [first, last] = self.places;
        first + (last - first) * (value - low) / (high - low)
    }
}

/// The number of decimals that distinguishes these round numbers.
fn decimals(ticks: &[f64]) -> usize {
    let step = ticks.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(f64::INFINITY, f64::min);
    (0..9).find(|digits| step >= 0.9 * 0.1_f64.powi(*digits)).unwrap_or(9).unsigned_abs() as usize
}

fn can_be_drawn(value: f64, logarithmic: bool) -> bool {
    value.is_finite() && (!logarithmic || value > 0.0)
}

/// Multiples of 1, 2 or 5 times a power of ten.
#[expect(clippy::cast_possible_truncation, reason = "a power of ten within the range of floats")]
fn round_numbers([low, high]: [f64; 2]) -> Vec<f64> {
    let rough = (high - low) / TICKS;
    let power = 10_f64.powi(rough.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(power);
    let first = (low / step).ceil();
    let numbers = (0..20).map(|index| (first + f64::from(index)) * step);
    // Adding 0.0 turns a negative zero into a positive one.
    numbers.take_while(|number| *number <= high).map(|number| number + 0.0).collect()
}

/// Powers of ten, or of two if there would be too few.
#[expect(clippy::cast_possible_truncation, reason = "a power within the range of floats")]
fn powers([low, high]: [f64; 2]) -> Vec<f64> {
    let (first, last) = (low.ceil() as i32, high.floor() as i32);
    if last - first >= 1 {
        let step = usize::try_from((last - first) / 8 + 1).unwrap_or(1);
        return (first..=last).step_by(step).map(|power| 10_f64.powi(power)).collect();
    }
    let two = 2_f64.log10();
    let (first, last) = ((low / two).ceil() as i32, (high / two).floor() as i32);
    (first..=last).map(|power| 2_f64.powi(power)).collect()
}

/// The maximum number of dots in a panel, so that a browser can open the file.
const MOST_DOTS: usize = 4000;
/// The number of executions shown in order of time.
const SEQUENCES: usize = 4;
impl Examination {
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
            unit => unit.name(),
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
            panel("all smoothed alike; a colour for each build", &found.common),
            panel("each smoothed by its own spread", &found.own),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn panel() -> Panel {
        Panel {
            title: "a < b & \"c\"".to_owned(),
            x: Axis::linear("time"),
            y: Axis::logarithmic("error"),
            shapes: vec![
                Shape::new(Kind::Line, 0, vec![[0.0, 1.0], [1.0, 10.0], [2.0, 100.0]])
                    .named("<i>x</i>"),
                Shape::new(Kind::Dots, 1, vec![[0.5, 2.0], [f64::NAN, 1.0], [1.0, 0.0]]),
            ],
            marks: vec![(1.5, "]]>".to_owned())],
        }
    }

    #[test]
    fn names_are_escaped() {
        let svg = document("</title><script>alert(1)</script>\u{1b}", &[panel()]);
        assert!(!svg.contains("<script") && !svg.contains("<i>") && !svg.contains('\u{1b}'));
        assert!(svg.contains("a &#60; b &#38; &#34;c&#34;"));
        assert_eq!(svg.matches("<g ").count(), 1);
    }

    #[test]
    fn points_off_the_axis_are_not_drawn() {
        let svg = document("t", &[panel()]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        // Of three dots, one is on the axis.
        assert_eq!(svg.matches("h0").count(), 1);
    }

    #[test]
    fn empty_panel_is_drawn_without_shapes() {
        let svg = document("t", &[Panel::default()]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    fn scale(values: &[f64], axis: &Axis) -> Scale {
        Scale::fit(values.iter().copied(), axis, [0.0, 100.0])
    }

    #[test]
    fn scale_covers_all_values_with_round_ticks() {
        let scale = scale(&[15.2, 19.5], &Axis::linear("ns"));
        assert!(scale.place(15.2) > 0.0 && scale.place(19.5) < 100.0);
        assert_eq!(scale.ticks, [16.0, 17.0, 18.0, 19.0]);
        assert_eq!(decimals(&scale.ticks), 0);
        assert_eq!(decimals(&[0.05, 0.1, 0.15]), 2);
    }

    #[test]
    fn logarithmic_scale_has_equal_steps_for_equal_factors() {
        let scale = scale(&[1.0, 10.0, 100.0], &Axis::logarithmic("iterations"));
        let [a, b, c] = [1.0, 10.0, 100.0].map(|value| scale.place(value));
        assert!(((b - a) - (c - b)).abs() < 1e-9);
        assert_eq!(scale.ticks, [1.0, 10.0, 100.0]);
        assert!(!scale.has(0.0) && !scale.has(-1.0) && !scale.has(f64::INFINITY));
    }

    #[test]
    fn scale_accepts_one_value_or_none() {
        for values in [&[][..], &[3.0], &[0.0], &[f64::NAN]] {
            for axis in [Axis::linear("x"), Axis::logarithmic("x")] {
                let scale = scale(values, &axis);
                assert!(scale.place(3.0).is_finite());
                assert!(scale.ticks.len() < 20);
            }
        }
    }
}
