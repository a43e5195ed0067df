//! Draws figures as SVG path data, in whole steps of a box that a page may stretch.
//!
//! Lines keep their width and dots stay round however a box is stretched, because both are strokes.
//! Labels are not part of a box. A page has hundreds of drawings, so each is as short as possible.

/// The width and height of the box of a series, in steps.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 100.0;

/// Half of the width, in percent, minus half of a dot at the end.
const ROOM: f64 = 48.0;

/// An axis of relative changes with equal room for both directions: linear near zero, and
/// logarithmic far from it, so that a large change does not hide the small ones.
#[derive(Clone, Copy, Debug)]
pub struct Symmetric {
    /// The change at which the axis turns from linear to logarithmic.
    scale: f64,
    /// The largest change on the axis.
    extent: f64,
}

impl Symmetric {
    /// An axis for changes up to `extent`, linear within ± `scale`.
    pub fn new(scale: f64, extent: f64) -> Self {
        let scale = if scale > 0.0 { scale } else { 0.01 };
        let extent = if extent.is_finite() { extent.max(3.0 * scale) } else { 3.0 * scale };
        Self { scale, extent }
    }

    /// The position of a change in percent of the width, clamped to it.
    pub fn place(&self, change: f64) -> f64 {
        let far = (self.extent / self.scale).asinh();
        let at = ((change / self.scale).asinh() / far).clamp(-1.0, 1.0);
        if at.is_nan() { 50.0 } else { 50.0 + ROOM * at }
    }

    /// Round changes for the labels of the axis, without their negatives.
    pub fn ticks(&self) -> Vec<f64> {
        let powers = (-6..4).flat_map(|power| [1.0, 3.0].map(|digit| digit * 10_f64.powi(power)));
        let mut ticks: Vec<f64> = Vec::new();
        for tick in powers.filter(|tick| *tick >= 0.99 * self.scale && *tick < 0.97 * self.extent) {
            // Labels need some room.
            let last = ticks.last().copied().unwrap_or(0.0);
            if self.place(tick) - self.place(last) > 15.5 {
                ticks.push(tick);
            }
        }
        ticks
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Linear {
    pub low: f64,
    pub high: f64,
}

impl Linear {
    /// An axis with a little more room than these values need.
    pub fn fit(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            return Self { low: 0.0, high: 1.0 };
        }
        let room = if high > low { 0.04 * (high - low) } else { (0.01 * low.abs()).max(1e-9) };
        // Room below zero would be for impossible values.
        let low = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
        // Zeros alone need some room above.
        let high = if high <= 0.0 && low < 0.0 { (high + room).min(0.0) } else { high + room };
        Self { low, high }
    }

    /// The position of a value, among `steps` steps.
    pub fn place(&self, value: f64, steps: f64) -> f64 {
        let at = (value - self.low) / (self.high - self.low);
        (at.clamp(0.0, 1.0) * steps).round()
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - self.place(value, HEIGHT)
    }
}

/// The builds of both versions, each pair joined: base above, head below. The ends of lines are
/// dots.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Lines of pairs whose head costs more.
    pub slower: String,
    /// Lines of the other pairs.
    pub faster: String,
    /// Dots of builds without a partner.
    pub single: String,
    /// The intervals of the values of both versions.
    pub intervals: String,
}

impl Pairs {
    /// The width of the box, and the vertical positions of the dots of base and head, in pixels.
    const WIDTH: f64 = 560.0;
    const ROWS: [u8; 2] = [9, 55];

    /// Draws builds given by seed and value, and the intervals of both values. Joins nothing unless
    /// equal seeds are a pair.
    pub fn new(
        values: &[Vec<(u64, f64)>; 2],
        intervals: &[Option<[f64; 2]>; 2],
        are_paired: bool,
        axis: &Linear,
    ) -> Self {
        let mut pairs = Self::default();
        let x = |value: f64| axis.place(value, Self::WIDTH);
        let value_of = |values: &[(u64, f64)], seed: u64| {
            values.iter().find(|(other, _)| *other == seed && are_paired).map(|(_, value)| *value)
        };
        let [base, head] = values;
        let [above, below] = Self::ROWS;
        for (seed, value) in base {
            match value_of(head, *seed) {
                Some(after) => {
                    let lines = if after > *value { &mut pairs.slower } else { &mut pairs.faster };
                    let [from, to] = [x(*value), x(after)];
                    *lines += &format!("M{from} {above}l{} {}", to - from, below - above);
                }
                None => pairs.single += &format!("M{} {above}h0", x(*value)),
            }
        }
        for (seed, value) in head {
            if value_of(base, *seed).is_none() {
                pairs.single += &format!("M{} {below}h0", x(*value));
            }
        }
        for (interval, y) in intervals.iter().zip(Self::ROWS) {
            if let Some([low, high]) = interval {
                pairs.intervals += &format!("M{} {y}H{}", x(*low), x(*high));
            }
        }
        pairs
    }
}

/// Changes in order of time, as a line with dots at its corners.
#[derive(Clone, Debug)]
pub struct Times {
    pub line: String,
    /// The line of no change, and the lines that separate the groups.
    pub marks: String,
    pub axis: Linear,
}

impl Times {
    /// The width and height of the box, in pixels.
    const SIZE: [f64; 2] = [340.0, 64.0];

    /// Draws changes in order of time, with a vertical line at each index of `parted`.
    pub fn new(changes: &[f64], parted: &[usize]) -> Self {
        let [width, height] = Self::SIZE;
        let axis = Linear::fit(changes.iter().copied().chain([0.0]));
        let x = |at: f64| (width * (at + 0.5) / changes.len().max(1) as f64).round();
        let y = |change: f64| height - axis.place(change, height);
        let places = changes.iter().enumerate().map(|(at, change)| [x(at as f64), y(*change)]);
        let places: Vec<[f64; 2]> = places.collect();
        let steps = places.windows(2).map(|pair| {
            let [across, down] = [0, 1].map(|axis| pair[1][axis] - pair[0][axis]);
            format!("{across} {down}")
        });
        let steps = steps.collect::<Vec<_>>().join(" ").replace(" -", "-");
        let [left, top] = places.first().copied().unwrap_or_default();
        let mut marks = format!("M0 {}H{width}", y(0.0));
        marks.extend(parted.iter().map(|at| format!("M{} 0V{height}", x(*at as f64 - 0.5))));
        Self { line: format!("M{left} {top}l{steps}"), marks, axis }
    }
}

/// Values over versions, from the oldest to the newest.
#[derive(Clone, Debug)]
pub struct Course {
    /// The values, joined within a session.
    pub line: String,
    /// The lines that join the values of two sessions.
    pub gaps: String,
    /// A dot for each value, if they are few.
    pub dots: String,
    /// The interval of each value; or, if many versions share a step, the range of their values.
    pub ranges: String,
    pub axis: Linear,
    count: usize,
}

/// The value of a version in a series.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The index of the version, from 0.
    pub at: usize,
    pub value: f64,
    /// The interval, low and high; both the value if there is none.
    pub interval: [f64; 2],
    /// The session that measured it: equal numbers are one session.
    pub session: usize,
}

/// The number of versions above which there are no dots and no single intervals.
const MOST_DOTS: usize = 160;

impl Course {
    /// Draws the points of `count` versions, in their order, in at most `steps` steps.
    pub fn new(points: &[Point], count: usize, steps: usize) -> Self {
        let is_few = points.len() <= MOST_DOTS;
        let ends = points.iter().flat_map(|point| {
            let [low, high] = if is_few { point.interval } else { [point.value; 2] };
            [low, point.value, high]
        });
        let axis = Linear::fit(ends);
        let mut course = Self {
            line: String::new(),
            gaps: String::new(),
            dots: String::new(),
            ranges: String::new(),
            axis,
            count,
        };
        let mut before: Option<(usize, String)> = None;
        for group in groups(points, count, steps) {
            let (first, last) = (group[0], group[group.len() - 1]);
            let x = course.x(f64::midpoint(first.at as f64, last.at as f64));
            let mean = group.iter().map(|point| point.value).sum::<f64>() / group.len() as f64;
            let place = format!("{x} {}", axis.y(mean));
            match before {
                Some((session, at)) if is_few && session != first.session => {
                    course.gaps += &format!("M{at}L{place}");
                    course.line += &format!("M{place}");
                }
                Some(_) => course.line += &format!("L{place}"),
                None => course.line += &format!("M{place}"),
            }
            let [low, high] = if is_few { first.interval } else { ends_of(group) };
            if low < high {
                course.ranges += &format!("M{x} {}V{}", axis.y(low), axis.y(high));
            }
            if is_few {
                course.dots += &format!("M{place}h0");
            }
            before = Some((last.session, place));
        }
        course
    }

    /// The horizontal position of a version's index.
    pub fn x(&self, at: f64) -> f64 {
        (WIDTH * (at + 0.5) / self.count.max(1) as f64).round()
    }
}

/// Groups consecutive points into at most `steps` groups of equally many versions.
fn groups(points: &[Point], count: usize, steps: usize) -> impl Iterator<Item = &[Point]> {
    let each = count.div_ceil(steps.max(1)).max(1);
    points.chunk_by(move |one, other| one.at / each == other.at / each)
}

fn ends_of(points: &[Point]) -> [f64; 2] {
    points.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], point| {
        [low.min(point.value), high.max(point.value)]
    })
}
