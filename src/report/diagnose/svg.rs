//! Draws charts as SVG: lines, dots and marks in panels, with axes. Escapes every text, so that
//! nothing in a chart is markup.

use super::scale::{Axis, Scale, decimals};
use crate::report::{escape::escape_untrusted, table::shorten};

/// The width of a document, in pixels: small, so that its text is legible when a phone shows it
/// whole.
const WIDTH: f64 = 480.0;
/// The height of one panel, with its axis.
const PANEL: f64 = 270.0;
/// The margins around the plot area: left, right, above, below.
const MARGINS: [f64; 4] = [74.0, 14.0, 30.0, 46.0];
/// The maximum width of a bar.
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

/// One panel of a document.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// The title of the panel.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The shapes, the first at the bottom.
    pub shapes: Vec<Shape>,
    /// Vertical lines, with their labels.
    pub marks: Vec<(f64, String)>,
}

/// A drawn series of points.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The way to draw the points.
    pub kind: Kind,
    /// The index in the list of colours.
    pub colour: usize,
    /// The name in the legend.
    pub name: Option<String>,
    /// The points, as x and y.
    pub points: Vec<[f64; 2]>,
}

/// The way to draw points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line through all points.
    Line,
    /// A faint line, for many lines above each other.
    Faint,
    /// A dot for each point.
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
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in escape_untrusted(text).chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            // XML documents must not contain them.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            character => out.push(character),
        }
    }
    out
}

impl Panel {
    fn draw(&self) -> String {
        let [left, right, above, below] = MARGINS;
        let points = || self.shapes.iter().flat_map(|shape| &shape.points);
        let has_bars = self.shapes.iter().any(|shape| shape.kind == Kind::Bars);
        let zero = has_bars.then_some(0.0);
        let marked = self.marks.iter().map(|(x, _)| *x);
        let x = Scale::fit(points().map(|p| p[0]).chain(marked), &self.x, [left, WIDTH - right]);
        let y = Scale::fit(points().map(|p| p[1]).chain(zero), &self.y, [PANEL - below, above]);
        let mut svg = format!("<text x=\"{left}\" y=\"20\">{}</text>\n", escaped(&self.title));
        svg += &self.axes(&x, &y);
        for shape in &self.shapes {
            svg += &shape.draw(&x, &y);
        }
        for (at, name) in &self.marks {
            let at = x.place(*at);
            svg += &format!(
                "<path d=\"M{at:.1} {above}V{:.1}\" class=\"mark\" stroke=\"#d55e00\" stroke-dasharray=\"4 3\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" class=\"mark\" fill=\"#a63a06\">{}</text>\n",
                PANEL - below,
                at + 4.0,
                above + 12.0,
                escaped(name)
            );
        }
        svg + &self.legend()
    }

    fn axes(&self, x: &Scale, y: &Scale) -> String {
        let [left, right, above, below] = MARGINS;
        let (bottom, middle) = (PANEL - below, f64::midpoint(above, PANEL - below));
        let mut svg = format!(
            "<path d=\"M{left} {above}V{bottom}H{}\" class=\"axis\" fill=\"none\" stroke=\"#888888\"/>\n",
            WIDTH - right
        );
        let digits = decimals(&x.ticks);
        for tick in &x.ticks {
            let at = x.place(*tick);
            svg += &format!(
                "<path d=\"M{at:.1} {bottom}v4\" class=\"axis\" stroke=\"#888888\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
                bottom + 17.0,
                escaped(&label(&self.x, *tick, digits))
            );
        }
        let digits = decimals(&y.ticks);
        for tick in &y.ticks {
            let at = y.place(*tick);
            svg += &format!(
                "<path d=\"M{left} {at:.1}H{}\" class=\"grid\" stroke=\"#eeeeee\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                WIDTH - right,
                left - 6.0,
                at + 4.0,
                escaped(&label(&self.y, *tick, digits))
            );
        }
        svg + &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(16,{middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            f64::midpoint(left, WIDTH - right),
            bottom + 36.0,
            escaped(&self.x.label),
            escaped(&self.y.label)
        )
    }

    /// The height of the panel, with its legend.
    fn height(&self) -> f64 {
        let names = self.shapes.iter().filter(|shape| shape.name.is_some()).count();
        PANEL + LEGEND * names.div_ceil(ABREAST) as f64
    }

    /// The names of shapes, several in a line, below the axis.
    fn legend(&self) -> String {
        let [left, right, ..] = MARGINS;
        let named = self
            .shapes
            .iter()
            .filter_map(|shape| Some((shape.colour % COLOURS.len(), shape.name.as_ref()?)));
        let mut svg = String::new();
        for (index, (colour, name)) in named.enumerate() {
            let x = left + (WIDTH - left - right) / ABREAST as f64 * (index % ABREAST) as f64;
            let y = PANEL + LEGEND * (index / ABREAST) as f64 + 12.0;
            svg += &format!(
                "<path class=\"c{colour}\" d=\"M{x:.1} {:.1}h12\" stroke=\"{}\" stroke-width=\"3\"/>\
                 <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>\n",
                y - 4.0,
                COLOURS[colour],
                x + 17.0,
                escaped(name)
            );
        }
        svg
    }
}

/// The label of a position.
fn label(axis: &Axis, at: f64, digits: usize) -> String {
    let name = axis.names.iter().enumerate().find(|(index, _)| (*index as f64 - at).abs() < 1e-9);
    match name {
        Some((_, name)) => shorten(name, LETTERS / axis.names.len()),
        None if !axis.names.is_empty() => String::new(),
        None if axis.logarithmic => format!("{at}"),
        None => format!("{at:.digits$}"),
    }
}

impl Shape {
    /// A shape without a name.
    pub fn new(kind: Kind, colour: usize, points: Vec<[f64; 2]>) -> Self {
        Self { kind, colour, name: None, points }
    }

    /// Names the shape in the legend.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    fn draw(&self, x: &Scale, y: &Scale) -> String {
        let class = self.colour % COLOURS.len();
        let colour = COLOURS[class];
        let is_drawn = |point: &&[f64; 2]| x.has(point[0]) && y.has(point[1]);
        let points = self.points.iter().filter(is_drawn);
        let places: Vec<[f64; 2]> = points.map(|p| [x.place(p[0]), y.place(p[1])]).collect();
        let joined = |places: &[[f64; 2]]| {
            let words = places.iter().map(|[x, y]| format!("{x:.1} {y:.1}"));
            words.collect::<Vec<_>>().join("L")
        };
        match self.kind {
            _ if places.is_empty() => String::new(),
            Kind::Line | Kind::Faint => {
                let (width, opacity) =
                    if self.kind == Kind::Line { (1.8, 1.0) } else { (1.0, 0.45) };
                format!(
                    "<path class=\"c{class}\" d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
                     stroke-opacity=\"{opacity}\"/>\n",
                    joined(&places)
                )
            }
            Kind::Dots => {
                let dots = places.iter().map(|[x, y]| format!("M{x:.1} {y:.1}h0"));
                format!(
                    "<path class=\"c{class}\" d=\"{}\" stroke=\"{colour}\" stroke-width=\"2.4\" stroke-linecap=\"round\" \
                     stroke-opacity=\"0.6\"/>\n",
                    dots.collect::<String>()
                )
            }
            Kind::Bars => {
                let zero = y.place(0.0);
                let apart = places.windows(2).map(|pair| (pair[1][0] - pair[0][0]).abs());
                let width = apart.fold(BAR, |width, apart| width.min(0.8 * apart));
                let bars = places.iter().map(|[x, y]| format!("M{x:.1} {zero:.1}V{y:.1}"));
                let bars: String = bars.collect();
                format!(
                    "<path class=\"c{class}\" d=\"{bars}\" stroke=\"{colour}\" stroke-width=\"{width:.0}\"/>\n"
                )
            }
            Kind::Ranges => {
                let ranges = places.chunks_exact(2).map(|pair| format!("M{}", joined(pair)));
                let ranges: String = ranges.collect();
                format!(
                    "<path class=\"c{class}\" d=\"{ranges}\" stroke=\"{colour}\" stroke-width=\"2\"/>\n"
                )
            }
        }
    }
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
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot;"));
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
}
