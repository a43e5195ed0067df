//! Differential flame graphs of a benchmark's sampled stacks: pictures of their own with search and zoom, and a drawing for
//! a page, which has no script.

use inferno::flamegraph::{
    Options, TextTruncateDirection,
    color::{BackgroundColor, StrokeColor},
    from_lines,
};
use rbench_code::samples::FoldedStack;

use super::super::super::escape::escape_untrusted;
use crate::{
    compare::ExplainedTime,
    error::{Context as _, Exit, Result},
};

/// The width of the drawing in a page, in pixels, for which its texts are shortened, and the height of a frame.
const WIDTH: usize = 760;
const FRAME: usize = 16;

/// The time of an iteration in ns below which times are in ps, because those of frames are whole numbers.
const SHORT: f64 = 1e5;

/// The frames of both versions, as inferno reads them.
struct Frames<'e> {
    stacks: &'e [FoldedStack],
    /// The number of units in a nanosecond, and their name.
    unit: (f64, &'static str),
}

impl ExplainedTime {
    /// The meaning of colours, as short as the narrowest picture.
    pub(super) fn legend(&self) -> String {
        let [_, head] = self.sides();
        format!("red: slower in {head}, blue: faster")
    }

    /// The pictures of the difference, the base and the head, each with the end of its file's name.
    pub(super) fn flame_graphs(&self) -> Result<Vec<(&'static str, String)>> {
        let Self { base, head, benchmark, explanation, .. } = self;
        let title = |what: String| escape_untrusted(&format!("{benchmark}: {what}")).into_owned();
        let frames = Frames::new(&explanation.stacks, explanation.head.max(explanation.base));
        let difference = frames.lines(|one| (one.head > 0.0).then_some((Some(one.base), one.head)));
        let of_base = frames.lines(|one| (one.base > 0.0).then_some((None, one.base)));
        let of_head = frames.lines(|one| (one.head > 0.0).then_some((None, one.head)));
        let change = title(format!("{head} compared with {base}"));
        Ok(vec![
            (
                "",
                frames.picture(
                    change,
                    Some(escape_untrusted(&self.legend()).into_owned()),
                    &difference,
                )?,
            ),
            ("-base", frames.picture(title(format!("base {base}")), None, &of_base)?),
            ("-head", frames.picture(title(format!("head {head}")), None, &of_head)?),
        ])
    }

    /// The difference as SVG for a page; empty if it cannot be drawn.
    pub(super) fn drawing(&self) -> String {
        let explanation = &self.explanation;
        let frames = Frames::new(&explanation.stacks, explanation.head.max(explanation.base));
        let lines = frames.lines(|one| (one.head > 0.0).then_some((Some(one.base), one.head)));
        let mut options = frames.options(String::new(), None);
        options.image_width = Some(WIDTH);
        let picture = draw(&mut options, &lines).unwrap_or_default();
        in_page(&picture).unwrap_or_default()
    }
}

impl<'e> Frames<'e> {
    fn new(stacks: &'e [FoldedStack], whole: f64) -> Self {
        let unit = if whole < SHORT { (1e3, "ps") } else { (1.0, "ns") };
        Self { stacks, unit }
    }

    /// A line for each stack with its times, if it has any: one, or those of base and head.
    fn lines(&self, times: impl Fn(&FoldedStack) -> Option<(Option<f64>, f64)>) -> Vec<String> {
        let whole = |time: f64| format!(" {:.0}", time * self.unit.0);
        let line = |stack: &FoldedStack| {
            let (base, time) = times(stack)?;
            let frames = escape_untrusted(&stack.frames);
            Some(format!("{frames}{}{}", base.map_or_else(String::new, whole), whole(time)))
        };
        self.stacks.iter().filter_map(line).collect()
    }

    fn options(&self, title: String, subtitle: Option<String>) -> Options<'static> {
        let mut options = Options::default();
        options.title = title;
        options.subtitle = subtitle;
        self.unit.1.clone_into(&mut options.count_name);
        options.frame_height = FRAME;
        options.bgcolors = Some(BackgroundColor::Flat((255, 255, 255).into()));
        options.stroke_color = StrokeColor::Color((176, 176, 176).into());
        options.text_truncate_direction = TextTruncateDirection::Right;
        // The same names have the same colours in each picture.
        options.deterministic = true;
        options
    }

    fn picture(&self, title: String, subtitle: Option<String>, lines: &[String]) -> Result<String> {
        let drawn = draw(&mut self.options(title, subtitle), lines);
        drawn.context(Exit::Internal, || "cannot draw the flame graph")
    }
}

fn draw(options: &mut Options<'_>, lines: &[String]) -> std::io::Result<String> {
    let mut picture = Vec::new();
    from_lines(options, lines.iter().map(String::as_str), &mut picture)?;
    String::from_utf8(picture).map_err(std::io::Error::other)
}

/// The frames of a picture alone: a page forbids scripts and styles of others, and has a title of its own.
fn in_page(picture: &str) -> Option<String> {
    let frames = &picture[picture.find("<svg id=\"frames\"")?..];
    let frames = &frames[frames.find("<g>")?..frames.rfind("</svg></svg>")?];
    // Frames grow upwards from one that stands for all, which is left out.
    let heights = frames
        .split("<rect ")
        .skip(1)
        .filter_map(|rect| rect.split(" y=\"").nth(1)?.split('"').next()?.parse().ok());
    let (top, bottom) = heights.fold((f64::INFINITY, 0.0), |(top, bottom), height: f64| {
        (height.min(top), height.max(bottom))
    });
    let height = bottom - top;
    Some(format!(
        "<svg class=flame role=img aria-label=\"red: slower, blue: faster\" width=\"100%\" height=\"{height:.0}\">\
         <svg y=\"{:.0}\" overflow=\"visible\">{frames}</svg></svg>",
        -top
    ))
}
