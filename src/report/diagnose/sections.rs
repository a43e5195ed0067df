//! Answers each question of a diagnosis in a short section: figures with intervals, a small plot in
//! a few lines of text, and the paper with the method.

use std::fmt::Display;

use rbench_stats::{
    Interval,
    diagnosis::{
        self, Advice, Autocorrelation, Class, EstimatorPrecision, Estimators, FTest, Influence,
        Length, LengthPoint, LevelShifts, MOST_BUILDS, Multimodality, OrderEffects, Position,
        Repetitions, Segments, Shares, SteadyStates, Trend, Variance,
    },
    median,
};

use super::{
    super::{
        document::{Block, Item, Text, Verbatim},
        quantity::{self, count, p_value, size},
        style::Role,
        table::{Cell, Column, Table},
    },
    Conditions, Examination, kinds, relative,
};
use crate::model::Unit;

/// The width of a plot, in columns.
const PLOT: usize = 60;

/// The maximum number of columns in the table of estimators, one for each number of measurements.
const MOST: usize = 7;

impl Examination {
    /// All questions with their papers and answers.
    pub(super) fn questions(&self) -> Vec<Block> {
        let found = &self.findings;
        let influence =
            [("starting it again", &found.executions), ("building it again", &found.builds)];
        let sections = [
            (
                "Where does the variance come from?",
                "Kalibera et al. 2006, (14)-(16)",
                answer(&found.variance, |found| self.variance(found)),
            ),
            (
                "How much does the initial state matter?",
                "Kalibera et al. 2005, figure 2 and section 5.2",
                influence.map(|(name, found)| influence_of(name, found)).to_vec(),
            ),
            (
                "How many executions of how many measurements?",
                "Kalibera et al. 2005, (8); 2006, (18)-(23)",
                answer(&found.advice, advice),
            ),
            (
                "Does it warm up?",
                "Gil et al. 2011, section 2; Page 1963; Barrett et al. 2017",
                answer(&found.trend, trend),
            ),
            (
                "One steady state, or several?",
                "Gil et al. 2011, sections 3 and 4",
                answer(&found.states, |states| self.states(states)),
            ),
            (
                "Does its level shift within one execution?",
                "Gil et al. 2011, section 5; Barrett et al. 2017",
                answer(&found.level_shifts, |shifts| self.level_shifts(shifts)),
            ),
            (
                "Several states at the same time?",
                "Gil et al. 2011, section 5; Hartigan & Hartigan 1985",
                answer(&found.multimodality, |found| self.multimodality(found)),
            ),
            (
                "Do previous benchmarks matter?",
                "Gil et al. 2011, section 6",
                answer(&self.order_effect, order_effect),
            ),
            (
                "Are consecutive measurements correlated?",
                "Kalibera et al. 2005, section 4; Bartels 1982",
                answer(&found.autocorrelation, autocorrelation),
            ),
            (
                "Which estimator is best?",
                "Haveraaen & Hundvebakke 2001, table 1; Chen & Revels 2016",
                answer(&found.estimators, |found| estimators(found, &self.conditions)),
            ),
            (
                "How long must a measurement be?",
                "Chen & Revels 2016, Algorithm 1",
                answer(&self.length, |found| self.length(found)),
            ),
        ];
        let section = |(question, paper, answer): (&str, &str, Vec<Item>)| {
            let paper = Item::from(Text::new().styled(Role::Quiet, format!("method: {paper}")));
            [Block::heading(question), Block::List([answer, vec![paper]].concat())]
        };
        sections.into_iter().flat_map(section).collect()
    }

    fn variance(&self, found: &Variance) -> Vec<Item> {
        let Shares { layouts, executions, measurements } = found.shares;
        let levels = [layouts, executions, measurements];
        let [layouts, executions, measurements] =
            levels.map(|level| level.map_or("unknown".to_owned(), |share| range(&share)));
        let centers = levels.map(|level| level.map_or(0.0, |share| share.center));
        let mut items = vec![drawn(
            format!(
                "of one measurement: layouts █ {layouts}, executions ▓ {executions}, measurements ▒ {measurements}"
            ),
            &[format!("│{:<PLOT$}│", shares(&centers, PLOT))],
        )];
        items.extend(found.execution_share_of_estimate.map(|own| {
            let estimator = self.conditions.estimator;
            let own = range(&own);
            Item::from(format!(
                "of the {estimator} of one execution: the execution {own}, the rest its build"
            ))
        }));
        let tests = [("layouts", found.layout_test), ("executions", found.execution_test)];
        items.extend(
            tests.into_iter().filter_map(|(name, tested)| {
                Some(Item::from(format!("{name}: {}", test(&tested?))))
            }),
        );
        items
    }

    fn states(&self, found: &SteadyStates) -> Vec<Item> {
        let text = format!(
            "executions of one build settle within {} (10 % to 90 %), {} from the lowest to the highest; {}",
            size(found.spread),
            size(found.range),
            test(&found.test)
        );
        let (grid, curves) = (&found.common.grid, &found.common.curves);
        let (Some(first), Some(last)) = (grid.first(), grid.last()) else {
            return vec![text.into()];
        };
        let extreme =
            |index: usize| curves.get(found.extremes[index]).map_or(&[][..], Vec::as_slice);
        let all = sum(curves);
        let curves = [("all", &*all), ("fastest", extreme(0)), ("slowest", extreme(1))];
        let mut lines = curves
            .map(|(name, values)| format!("{name:>8} │{:<PLOT$}│", curve(&parts(values, PLOT))))
            .to_vec();
        let unit = self.data.metric().unit;
        let [low, high] = [first, last].map(|end| label(*end, unit));
        let width = PLOT - low.chars().count();
        lines.push(format!("{:>8}  {low}{high:>width$}", ""));
        vec![drawn(text, &lines)]
    }

    fn level_shifts(&self, found: &LevelShifts) -> Vec<Item> {
        let of = |class| found.executions.iter().filter(|one| one.class == class).count();
        let classes = kinds([
            (of(Class::Flat), "are flat"),
            (of(Class::WarmUp), "end in their fastest state"),
            (of(Class::SlowDown), "end in one that is not their fastest"),
            (of(Class::NoSteadyState), "have no steady state"),
        ]);
        let text = format!(
            "of {}, {classes} (a level shift is {} or more)",
            count(found.executions.len(), "execution"),
            size(found.threshold)
        );
        // The execution with the clearest level shift, or the first.
        let leaping = found.executions.iter().filter(|one| one.segments.len() > 1);
        let shown = leaping.min_by(|a, b| a.p.total_cmp(&b.p)).or(found.executions.first());
        vec![drawn(text, &shown.map_or(Vec::new(), |shown| self.sequence(shown)))]
    }

    /// The measurements of one execution in order of time, with its level shifts below.
    fn sequence(&self, shown: &Segments) -> Vec<String> {
        let values = self.execution(shown.position);
        let drawn = parts(values, PLOT);
        let mut below = vec![' '; drawn.len()];
        for segment in shown.segments.iter().skip(1) {
            let at = segment.start * drawn.len() / values.len().max(1);
            if let Some(place) = below.get_mut(at) {
                *place = '^';
            }
        }
        let below: String = below.into_iter().collect();
        let calm = values.iter().copied().fold(f64::INFINITY, f64::min);
        let mut lines = vec![between(&drawn, [calm, 1.02 * calm])];
        lines.extend(Some(below.trim_end().to_owned()).filter(|below| !below.is_empty()));
        lines.push(format!("time → ({})", name_of(shown.position)));
        lines
    }

    pub(super) fn execution(&self, position: Position) -> &[f64] {
        let mut builds = self.data.builds();
        let Some(build) = builds.find(|build| build.seed() == position.seed) else { return &[] };
        let mut all = build.rounds().zip(build.executions());
        all.find(|(round, _)| *round == position.round).map_or(&[], |(_, values)| values)
    }

    fn multimodality(&self, found: &Multimodality) -> Vec<Item> {
        let all = found.executions.len();
        if all == 0 {
            return vec!["every execution has level shifts: its states follow one another".into()];
        }
        let mut text =
            format!("{} of {} have several states", found.several, count(all, "execution"));
        if let Some(typical) = found.typical {
            let unit = self.data.metric().unit;
            let [low, high] = typical.levels.map(|level| quantity::value(level, unit));
            text += &format!(
                "; in the typical one {} of the measurements are at {high} and the others at {low}, {} apart \
                 (dip {:.3}, {}, gap ratio {})",
                size(typical.slower),
                size(typical.distance),
                typical.dip,
                p_value(typical.p),
                quantity::factor(typical.gap_ratio)
            );
        } else if let Some(least) = found.executions.iter().min_by(|a, b| a.p.total_cmp(&b.p)) {
            text += &format!(
                "; the least likely to have one alone: dip {:.3}, {}",
                least.dip,
                p_value(least.p)
            );
        }
        vec![text.into()]
    }

    fn length(&self, found: &Length) -> Vec<Item> {
        let unit = self.data.metric().unit;
        let at = |iterations: u64| {
            let near = |point: &&LengthPoint| point.iterations.abs_diff(iterations);
            found.points.iter().min_by_key(near).map_or(String::new(), |point| {
                let time = quantity::value(point.value * point.iterations as f64, unit);
                format!(
                    "{} ({time}): {}",
                    quantity::iterations(point.iterations),
                    size(point.error)
                )
            })
        };
        let most = found.points.last().map_or(1, |point| point.iterations);
        let errors: Vec<f64> =
            found.points.iter().map(|point| point.error.max(1e-9).ln()).collect();
        let wide = (PLOT / errors.len().max(1)).clamp(1, 6);
        let bars: String =
            sparkline(&errors).chars().flat_map(|bar| std::iter::repeat_n(bar, wide)).collect();
        let text = format!(
            "error of one measurement by its iterations: {}; in use {}; at most {}",
            at(1),
            at(found.in_use),
            at(most)
        );
        let oracle = quantity::iterations(found.oracle);
        vec![
            drawn(text, &[format!("{bars} 1 → {}", quantity::iterations(most))]),
            format!("for the clock alone, the oracle of Algorithm 1 asks for {oracle}").into(),
        ]
    }
}

/// The figures of an answer, or the reason why there is none.
fn answer<T, E: Display>(
    answer: &Result<T, E>,
    figures: impl FnOnce(&T) -> Vec<Item>,
) -> Vec<Item> {
    answer.as_ref().map_or_else(|reason| vec![format!("not answered: {reason}").into()], figures)
}

/// A sentence with a plot of some lines below.
fn drawn(text: String, lines: &[String]) -> Item {
    let drawing = Verbatim { language: "text", text: lines.join("\n") + "\n" };
    Item::new(text, (!lines.is_empty()).then_some(Block::Verbatim(drawing)))
}

pub(super) fn name_of(position: Position) -> String {
    format!("seed {}, execution {}", position.seed, position.round + 1)
}

fn influence_of(name: &str, found: &Result<Influence, impl Display>) -> Item {
    match found {
        Ok(found) => format!(
            "{name}: impact factor {} ({} without shift; {:.2} .. {:.2} by the additive model), standard deviation \
             {}",
            quantity::factor(found.impact.factor),
            quantity::factor(found.impact.without_shift),
            found.analytic.low,
            found.analytic.high,
            size(found.relative_sd)
        ),
        Err(lacking) => format!("{name}: not known: {lacking}"),
    }
    .into()
}

fn advice(advice: &Advice) -> Vec<Item> {
    let about = |repetitions: &Repetitions| match repetitions.best {
        f64::INFINITY => "as many as there is time for".to_owned(),
        1.0 => "one".to_owned(),
        best => format!(
            "about {} ({} .. {})",
            rounded(best),
            rounded(repetitions.low),
            rounded(repetitions.high)
        ),
    };
    let best = advice.dimensions.map_or_else(
        || format!("more than {MOST_BUILDS} builds would be needed"),
        |best| format!("it takes {}", quantity::sample_sizes(best)),
    );
    vec![
        format!(
            "best for the time: measurements of each execution: {}; executions of each build: {}",
            about(&advice.measurements),
            about(&advice.executions)
        )
        .into(),
        format!(
            "for an interval of ± {} {best}; these measurements give ± {}",
            size(advice.half_width),
            size(advice.half_width_now)
        )
        .into(),
        format!(
            "a build is assumed to cost as much as {} measurements, starting an execution as much as {}",
            rounded(advice.build_cost),
            rounded(advice.execution_cost)
        )
        .into(),
    ]
}

fn trend(found: &Trend) -> Vec<Item> {
    let z = if found.sd > 0.0 { (found.l - found.expected) / found.sd } else { 0.0 };
    let text = format!(
        "its first tenth against its second half: {}; {} by the rank correlations of {} with time (mean {:.2})",
        relative(&found.effect),
        p_value(found.p),
        count(found.executions, "execution"),
        found.correlation
    );
    vec![
        drawn(text, &[format!("{} time →", between(&found.profile, [0.0, 0.02]))]),
        format!(
            "Page's L is {:.4e}, {z:+.1} standard deviations from {:.4e} ({}); Friedman's test {} (both \
             assume independent measurements)",
            found.l,
            found.expected,
            p_value(found.p_page),
            p_value(found.p_friedman)
        )
        .into(),
    ]
}

fn order_effect(found: &OrderEffects) -> Vec<Item> {
    let all = &found.after_all;
    let others = match &found.others[..] {
        [only] => format!("after `{only}`"),
        several => format!("after the {} benchmarks before it", several.len()),
    };
    let text = format!(
        "{others} in one process, against a fresh process: {} ({}, {} of one build and initial state)",
        relative(&all.change),
        p_value(all.p),
        count(all.pairs, "pair")
    );
    let by_index = parts(&found.by_index, PLOT);
    let bars = format!("{} time after them →", between(&by_index, [0.0, 0.02]));
    let lines = if by_index.is_empty() { Vec::new() } else { vec![bars] };
    let each = found.after_each.iter().map(|one| {
        let (change, p) = (relative(&one.effect.change), p_value(one.effect.p));
        format!("after `{}` alone: {change} ({p})", one.other).into()
    });
    std::iter::once(drawn(text, &lines)).chain(each).collect()
}

fn autocorrelation(found: &Autocorrelation) -> Vec<Item> {
    vec![
        format!(
            "correlation of consecutive measurements {:+.3} ({:+.3} .. {:+.3}), von Neumann's ratio of ranks \
             {:.3} where 2 is independent ({}, {})",
            found.correlation.center,
            found.correlation.low,
            found.correlation.high,
            found.ratio,
            p_value(found.p),
            count(found.executions, "execution")
        )
        .into(),
        format!(
            "the value of one execution has a standard error of {}; if measurements were independent, {}",
            size(found.error),
            size(found.error_if_independent)
        )
        .into(),
    ]
}

/// The tables of Haveraaen & Hundvebakke 2001, for the user's own benchmark.
fn estimators(found: &Estimators, conditions: &Conditions) -> Vec<Item> {
    let others = conditions
        .others
        .map_or(String::new(), |share| format!("; others used {} of the CPU time", size(share)));
    let chosen = chosen(&found.counts);
    let counts = chosen.iter().map(|at| Column::right(format!("k = {}", found.counts[*at])));
    let mut table = Table::new(std::iter::once(Column::left("estimator")).chain(counts));
    for EstimatorPrecision { estimator, relative_sds, .. } in &found.estimators {
        let sds = chosen.iter().filter_map(|at| relative_sds.get(*at));
        let cells = sds.map(|sd| Cell::from(size(sd.center)));
        table.row(std::iter::once(Cell::from(estimator)).chain(cells));
    }
    let text = format!(
        "relative standard deviation between executions of one build, by the first k measurements{}{others}",
        conditions.beside()
    );
    let best = best(found).map(Item::from);
    std::iter::once(Item::new(text, [Block::Table(table)])).chain(best).collect()
}

/// The estimator with the least variance, and those that may be as good.
fn best(found: &Estimators) -> Option<String> {
    let last = |one: &EstimatorPrecision| Some((one.estimator, *one.relative_sds.last()?));
    let all: Vec<(&str, Interval)> = found.estimators.iter().filter_map(last).collect();
    let (best, sd) = *all.iter().min_by(|one, other| one.1.center.total_cmp(&other.1.center))?;
    let alike = all.iter().filter(|(name, other)| *name != best && other.low <= sd.high);
    let alike: Vec<&str> = alike.map(|(name, _)| *name).collect();
    let range = format!("({} .. {})", size(sd.low), size(sd.high));
    let mut text = format!("the {best} varies least: {} {range}", size(sd.center));
    if !alike.is_empty() {
        text += &format!("; not distinguishable from it: {}", alike.join(", "));
    }
    Some(text)
}

/// The indices of the first, the last, and some counts between them.
fn chosen(counts: &[usize]) -> Vec<usize> {
    let Some(last) = counts.len().checked_sub(1) else { return Vec::new() };
    if counts.len() <= MOST {
        return (0..counts.len()).collect();
    }
    (0..MOST).map(|index| (index * last + (MOST - 1) / 2) / (MOST - 1)).collect()
}

fn test(FTest { f, freedom: [above, below], p }: &FTest) -> String {
    let f = quantity::factor(*f);
    format!("F {f} with {above:.0} and {below:.0} degrees of freedom, {}", p_value(*p))
}

/// A share with its interval: `80 % (71 .. 88)`.
fn range(share: &Interval) -> String {
    let [center, low, high] = [share.center, share.low, share.high].map(|share| 100.0 * share);
    format!("{center:.0} % ({low:.0} .. {high:.0})")
}

fn sum(curves: &[Vec<f64>]) -> Vec<f64> {
    let length = curves.iter().map(Vec::len).max().unwrap_or_default();
    (0..length).map(|at| curves.iter().filter_map(|curve| curve.get(at)).sum()).collect()
}

/// The label at the end of an axis, which may lie below 0.
fn label(end: f64, unit: Unit) -> String {
    let sign = if end < 0.0 { "-" } else { "" };
    format!("{sign}{}", quantity::value(end.abs(), unit))
}

/// A number of repetitions, without useless digits.
fn rounded(number: f64) -> String {
    match number {
        number if !number.is_finite() => "∞".to_owned(),
        number if number < 9.95 => format!("{number:.1}"),
        number => format!("{number:.0}"),
    }
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One character for each value, from the minimum to the maximum. Equal values are all low; a value
/// that is no number is a dot.
pub fn sparkline(values: &[f64]) -> String {
    between(values, [f64::INFINITY, f64::NEG_INFINITY])
}

/// Like [`sparkline`], with a range that covers at least `low` to `high`.
pub fn between(values: &[f64], [low, high]: [f64; 2]) -> String {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (least, most) = (finite().fold(low, f64::min), finite().fold(high, f64::max));
    let bar = |value: &f64| {
        if !value.is_finite() {
            return '·';
        }
        let share = if most > least { (value - least) / (most - least) } else { 0.0 };
        BARS[height(share)]
    };
    values.iter().map(bar).collect()
}

/// A curve of shares from 0, where a share of 0 is a space.
pub fn curve(values: &[f64]) -> String {
    let most = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let bar = |value: &f64| {
        let share = if most > 0.0 { value / most } else { 0.0 };
        if share < 0.01 { ' ' } else { BARS[height(share)] }
    };
    values.iter().map(bar).collect()
}

/// A bar of these shares, each in a different shade.
pub fn shares(shares: &[f64], width: usize) -> String {
    const SHADES: [char; 4] = ['█', '▓', '▒', '░'];
    let mut text = String::new();
    let (mut sum, mut drawn) = (0.0, 0);
    for (share, shade) in shares.iter().zip(SHADES.iter().cycle()) {
        sum += share;
        let end = whole(sum * width as f64).min(width);
        text.extend(std::iter::repeat_n(*shade, end.saturating_sub(drawn)));
        drawn = end.max(drawn);
    }
    text
}

/// The medians of at most `count` parts of equal length.
pub fn parts(values: &[f64], count: usize) -> Vec<f64> {
    diagnosis::parts(values, count).map(|part| median(&mut part.to_vec())).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share between 0 and 1 becomes an index, and casts saturate"
)]
fn height(share: f64) -> usize {
    ((share * BARS.len() as f64) as usize).min(BARS.len() - 1)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of columns, and casts saturate"
)]
fn whole(number: f64) -> usize {
    number.round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_counts_fit_the_columns() {
        assert_eq!(chosen(&[]), [0; 0]);
        assert_eq!(chosen(&[1, 3]), [0, 1]);
        let many: Vec<usize> = (1..20).collect();
        let shown = chosen(&many);
        assert_eq!((shown.len(), shown[0], shown[MOST - 1]), (MOST, 0, 18));
        assert!(shown.is_sorted());
    }
}

#[cfg(test)]
mod small_tests {
    use super::*;

    #[test]
    fn sparkline_spans_the_range_of_values() {
        assert_eq!(sparkline(&[1.0, f64::NAN, 1.5, 2.0]), "▁·▅█");
        assert_eq!(sparkline(&[3.0, 3.0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
        assert_eq!(between(&[1.0, 1.1], [1.0, 2.0]), "▁▁");
    }

    #[test]
    fn curve_is_blank_at_zero() {
        assert_eq!(curve(&[0.0, 0.001, 0.5, 1.0]), "  ▅█");
        assert_eq!(curve(&[0.0]), " ");
    }

    #[test]
    fn shares_fill_the_width() {
        assert_eq!(shares(&[0.5, 0.25, 0.25], 8), "████▓▓▒▒");
        assert_eq!(shares(&[1.0, 0.0], 3), "███");
    }

    #[test]
    fn parts_are_medians_of_neighbours() {
        assert_eq!(parts(&[1.0, 9.0, 1.0, 5.0, 5.0, 5.0], 2), [1.0, 5.0]);
        assert_eq!(parts(&[1.0], 9), [1.0]);
        assert_eq!(parts(&[], 9), [0.0; 0]);
    }
}
