//! Differential flame graphs of a benchmark's sampled stacks: pictures of their own with search and zoom, and a drawing for
//! a page, which has no script.

use std::io;

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

/// The times of a stack in a picture: those of the base, if it shows the difference to them, and those of which it has the widths.
type Times = fn(&FoldedStack) -> (Option<f64>, f64);

/// The difference that the head makes.
const DIFFERENCE: Times = |one| (Some(one.base), one.head);

impl ExplainedTime {
    /// The meaning of colours, as short as the narrowest picture.
    pub(super) fn legend(&self) -> String {
        let [_, head] = self.sides();
        format!("red: slower in {head}, blue: faster")
    }

    /// The pictures of the difference, the base and the head, each with the end of its file's name.
    pub(super) fn flame_graphs(&self) -> Result<Vec<(&'static str, String)>> {
        let Self { base, head, benchmark, .. } = self;
        let picture = |what: String, subtitle: Option<String>, times| {
            let escaped = |text: &str| escape_untrusted(text).into_owned();
            let mut options = Options::default();
            options.title = escaped(&format!("{benchmark}: {what}"));
            options.subtitle = subtitle.as_deref().map(escaped);
            let drawn = self.draw(options, times);
            drawn.context(Exit::Internal, || "cannot draw the flame graph")
        };
        let difference = format!("{head} compared with {base}");
        Ok(vec![
            ("", picture(difference, Some(self.legend()), DIFFERENCE)?),
            ("-base", picture(format!("base {base}"), None, |one| (None, one.base))?),
            ("-head", picture(format!("head {head}"), None, |one| (None, one.head))?),
        ])
    }

    /// The difference as SVG for a page; empty if it cannot be drawn.
    pub(super) fn drawing(&self) -> String {
        let mut options = Options::default();
        options.image_width = Some(WIDTH);
        let picture = self.draw(options, DIFFERENCE).unwrap_or_default();
        in_page(&picture).unwrap_or_default()
    }

    fn draw(&self, mut options: Options<'_>, times: Times) -> io::Result<String> {
        let explanation = &self.explanation;
        let is_short = explanation.head.max(explanation.base) < SHORT;
        let (units, name) = if is_short { (1e3, "ps") } else { (1.0, "ns") };
        name.clone_into(&mut options.count_name);
        options.frame_height = FRAME;
        options.bgcolors = Some(BackgroundColor::Flat((255, 255, 255).into()));
        options.stroke_color = StrokeColor::Color((176, 176, 176).into());
        options.text_truncate_direction = TextTruncateDirection::Right;
        // The same names have the same colours in each picture.
        options.deterministic = true;
        let whole = |time: f64| format!(" {:.0}", time * units);
        let lines = explanation.stacks.iter().map(|stack| (stack, times(stack)));
        let lines = lines.filter(|(_, (_, time))| *time > 0.0).map(|(stack, (base, time))| {
            let frames = escape_untrusted(&stack.frames);
            format!("{frames}{}{}", base.map_or_else(String::new, whole), whole(time))
        });
        let lines: Vec<String> = lines.collect();
        let mut picture = Vec::new();
        from_lines(&mut options, lines.iter().map(String::as_str), &mut picture)?;
        String::from_utf8(picture).map_err(io::Error::other)
    }
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
