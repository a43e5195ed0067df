//! Answers each question of a diagnosis in a short section: figures with intervals, a small plot,
//! and the paper.

use super::{
    Examination, ExaminedLength, ExaminedPrologue,
    estimators::estimators,
    line::Line,
    sentence::{factor, relative},
    small::{self, between, curve, parts, sparkline},
};
use crate::{
    diagnosis::{
        Advice, Autocorrelation, Class, FTest, Influence, InsufficientData, LevelShifts,
        Multimodality, Segments, SteadyStates, Trend, Variance,
    },
    model::Unit,
    report::quantity::{self, count, p_value, size},
    stats::{Interval, plan::Optimum},
};

/// The width of a plot, in columns.
const PLOT: usize = 60;

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The question.
    pub question: &'static str,
    /// The paper that asks it, with the section of the method.
    pub paper: &'static str,
    /// The answer.
    pub lines: Vec<Line>,
}

/// The questions and their papers, in the order of the report.
pub const QUESTIONS: [(&str, &str); 11] = [
    ("Where does the variance come from?", "Kalibera et al. 2006, (14)-(16)"),
    ("How much does the initial state matter?", "Kalibera et al. 2005, figure 2 and section 5.2"),
    ("How many executions of how many measurements?", "Kalibera et al. 2005, (8); 2006, (18)-(23)"),
    ("Does it warm up?", "Gil et al. 2011, section 2; Page 1963; Barrett et al. 2017"),
    ("One steady state, or several?", "Gil et al. 2011, sections 3 and 4"),
    ("Does it leap within one execution?", "Gil et al. 2011, section 5; Barrett et al. 2017"),
    ("Several states at the same time?", "Gil et al. 2011, section 5; Hartigan & Hartigan 1985"),
    ("Does what ran before matter?", "Gil et al. 2011, section 6"),
    ("Are neighbours in time alike?", "Kalibera et al. 2005, section 4; Bartels 1982"),
    ("Which estimator would serve?", "Haveraaen & Hundvebakke 2001, table 1; Chen & Revels 2016"),
    ("How long must a measurement be?", "Chen & Revels 2016, Algorithm 1"),
];

impl Examination {
    /// All answers, at this width.
    pub(super) fn sections(&self, columns: usize) -> Vec<Section> {
        let found = &self.findings;
        let answers: [Vec<Line>; 11] = [
            or_lacking(found.variance.as_ref(), variance),
            influence(&found.executions, &found.builds),
            or_lacking(found.advice.as_ref(), advice),
            or_lacking(found.trend.as_ref(), trend),
            or_lacking(found.states.as_ref(), |states| self.states(states)),
            or_lacking(found.leaps.as_ref(), |leaps| self.level_shifts(leaps)),
            or_lacking(found.simultaneous.as_ref(), |found| self.multimodality(found)),
            self.prologue.as_ref().map_or_else(unanswered, order_effect),
            or_lacking(found.neighbours.as_ref(), autocorrelation),
            or_lacking(found.candidates.as_ref(), |found| {
                estimators(found, &self.conditions, columns)
            }),
            self.length.as_ref().map_or_else(unanswered, |found| self.length(found)),
        ];
        let section = |((question, paper), lines)| Section { question, paper, lines };
        QUESTIONS.into_iter().zip(answers).map(section).collect()
    }

    fn states(&self, found: &SteadyStates) -> Vec<Line> {
        let mut lines = vec![prose(format!(
            "executions of one build settle within {} (10 % to 90 %), {} from the lowest to the highest; {}",
            size(found.spread),
            size(found.range),
            test(&found.test)
        ))];
        let unit = self.data.metric().unit;
        let grid = &found.common.grid;
        if let (Some(first), Some(last)) = (grid.first(), grid.last()) {
            let all = sum(&found.common.curves);
            let extreme = |index: usize| {
                found.common.curves.get(found.extremes[index]).map_or(&[][..], Vec::as_slice)
            };
            let drawn =
                |values: &[f64]| curve(&parts(values, PLOT)).trim_end_matches('\n').to_owned();
            for (name, values) in [("all", &*all), ("fastest", extreme(0)), ("slowest", extreme(1))]
            {
                lines.push(block(format!("{name:>8} │{:<PLOT$}│", drawn(values))));
            }
            let [low, high] = [first, last].map(|end| label(*end, unit));
            lines.push(block(format!(
                "{:>8}  {low}{high:>width$}",
                "",
                width = PLOT - low.chars().count()
            )));
        }
        lines
    }

    fn level_shifts(&self, found: &LevelShifts) -> Vec<Line> {
        let of = |class| found.executions.iter().filter(|one| one.class == class).count();
        let all = found.executions.len();
        let classes = [
            (of(Class::Flat), "are flat"),
            (of(Class::WarmUp), "end in their fastest state"),
            (of(Class::SlowDown), "end in one that is not their fastest"),
            (of(Class::NoSteadyState), "have no steady state"),
        ];
        let classes = classes.iter().filter(|(number, _)| *number > 0);
        let classes: Vec<String> =
            classes.map(|(number, what)| format!("{number} {what}")).collect();
        let mut lines = vec![prose(format!(
            "of {}, {} (a leap is {} or more)",
            count(all, "execution"),
            classes.join(", "),
            size(found.threshold)
        ))];
        if let Some(shown) = clearest(found) {
            lines.extend(self.sequence(shown));
        }
        lines
    }

    /// The measurements of one execution in order of time, with its level shifts below.
    fn sequence(&self, shown: &Segments) -> Vec<Line> {
        let values = self.execution(shown.position);
        let drawn = parts(values, PLOT);
        let width = drawn.len();
        let mut below: Vec<char> = vec![' '; width];
        for segment in shown.segments.iter().skip(1) {
            let at = segment.start * width / values.len().max(1);
            if let Some(place) = below.get_mut(at) {
                *place = '^';
            }
        }
        let below: String = below.into_iter().collect();
        let name = format!("seed {}, execution {}", shown.position.seed, shown.position.round + 1);
        let calm = values.iter().copied().fold(f64::INFINITY, f64::min);
        let mut lines = vec![block(between(&drawn, [calm, 1.02 * calm]))];
        if !below.trim().is_empty() {
            lines.push(block(below.trim_end().to_owned()));
        }
        lines.push(block(format!("time → ({name})")));
        lines
    }

    /// The measurements of one execution.
    pub(super) fn execution(&self, position: crate::diagnosis::Position) -> &[f64] {
        let mut builds = self.data.builds();
        let Some(build) = builds.find(|build| build.seed() == position.seed) else { return &[] };
        let mut all = build.rounds().zip(build.executions());
        all.find(|(round, _)| *round == position.round).map_or(&[], |(_, values)| values)
    }

    fn multimodality(&self, found: &Multimodality) -> Vec<Line> {
        let all = found.executions.len();
        if all == 0 {
            return vec![prose("every execution leaps: its states come one after the other")];
        }
        let mut text =
            format!("{} of {} have several states", found.several, count(all, "execution"));
        if let Some(typical) = found.typical.and_then(|index| found.executions.get(index)) {
            let unit = self.data.metric().unit;
            let [low, high] = typical.levels.map(|level| quantity::value(level, unit));
            text += &format!(
                "; in the typical one {} of the measurements are at {high} and the others at {low}, {} apart \
                 (dip {:.3}, {}, gap ratio {})",
                size(typical.slower),
                size(typical.distance),
                typical.dip,
                p_value(typical.p),
                factor(typical.gap_ratio)
            );
        } else if let Some(least) = found.executions.iter().min_by(|a, b| a.p.total_cmp(&b.p)) {
            text += &format!(
                "; the least likely to have one alone: dip {:.3}, {}",
                least.dip,
                p_value(least.p)
            );
        }
        vec![prose(text)]
    }

    fn length(&self, found: &ExaminedLength) -> Vec<Line> {
        let unit = self.data.metric().unit;
        let ExaminedLength { curve: length, oracle, in_use } = found;
        let errors: Vec<f64> =
            length.points.iter().map(|point| point.error.max(1e-9).ln()).collect();
        let at = |iterations: u64| {
            let point =
                length.points.iter().min_by_key(|point| point.iterations.abs_diff(iterations));
            point.map_or(String::new(), |point| {
                let time = quantity::value(point.value * point.iterations as f64, unit);
                format!("{} ({time}): {}", count_of(point.iterations), size(point.error))
            })
        };
        let most = length.points.last().map_or(1, |point| point.iterations);
        let wide = (PLOT / errors.len().max(1)).clamp(1, 6);
        let drawn: String =
            sparkline(&errors).chars().flat_map(|bar| std::iter::repeat_n(bar, wide)).collect();
        vec![
            prose(format!(
                "error of one measurement by its iterations: {}; in use {}; at most {}",
                at(1),
                at(*in_use),
                at(most)
            )),
            block(format!("{drawn} 1 → {}", count_of(most))),
            prose(format!(
                "for the clock alone, the oracle of Algorithm 1 asks for {}",
                count_of(*oracle)
            )),
        ]
    }
}

fn advice(advice: &Advice) -> Vec<Line> {
    let about = |repetitions: &crate::diagnosis::Repetitions| match repetitions.best {
        Optimum::About(number) => format!(
            "about {} ({} .. {})",
            rounded(number),
            rounded(repetitions.low),
            rounded(repetitions.high)
        ),
        Optimum::Unlimited => "as many as there is time for".to_owned(),
        Optimum::Indifferent => "one".to_owned(),
    };
    let best = advice.dimensions.map_or_else(
        || "more than 1000 builds would be needed".to_owned(),
        |best| format!("it takes {}", quantity::sample_sizes(best)),
    );
    vec![
        prose(format!(
            "best for the time: measurements of each execution: {}; executions of each build: {}",
            about(&advice.measurements),
            about(&advice.executions)
        )),
        prose(format!(
            "for an interval of ± {} {best}; these measurements give ± {}",
            size(advice.half_width),
            size(advice.half_width_now)
        )),
        prose(format!(
            "a build is taken to cost as much as {} measurements, starting an execution as much as {}",
            rounded(advice.cost.build),
            rounded(advice.cost.execution)
        )),
    ]
}

/// The execution with the clearest level shift, or the first.
fn clearest(found: &LevelShifts) -> Option<&Segments> {
    let leaping = found.executions.iter().filter(|one| one.segments.len() > 1);
    leaping.min_by(|a, b| a.p.total_cmp(&b.p)).or(found.executions.first())
}

fn variance(found: &Variance) -> Vec<Line> {
    let share = |share: Option<Interval>| share.map_or("unknown".to_owned(), |share| range(&share));
    let shares = &found.shares;
    let levels = [shares.version, shares.build, shares.execution];
    let drawn: Vec<f64> =
        levels.iter().map(|level| level.map_or(0.0, |share| share.center)).collect();
    let mut lines = vec![
        prose(format!(
            "of one measurement: layouts █ {}, executions ▓ {}, measurements ▒ {}",
            share(levels[0]),
            share(levels[1]),
            share(levels[2])
        )),
        block(format!("│{:<PLOT$}│", small::shares(&drawn, PLOT))),
    ];
    if let Some(own) = found.of_executions {
        lines.push(prose(format!(
            "of the {} of one execution: the execution {}, the rest its build",
            found.estimator,
            range(&own)
        )));
    }
    for (name, tested) in [("layouts", found.layout), ("executions", found.executions)] {
        if let Some(tested) = tested {
            lines.push(prose(format!("{name}: {}", test(&tested))));
        }
    }
    lines
}

fn influence(
    executions: &Result<Influence, InsufficientData>,
    builds: &Result<Influence, InsufficientData>,
) -> Vec<Line> {
    let line = |what: &str, found: &Result<Influence, InsufficientData>| match found {
        Ok(found) => prose(format!(
            "{what}: impact factor {} ({} without shift; {:.2} .. {:.2} by the additive model), standard deviation \
             {}",
            factor(found.impact.factor),
            factor(found.impact.without_shift),
            found.analytic.low,
            found.analytic.high,
            size(found.relative_sd)
        )),
        Err(lacking) => prose(format!("{what}: not known: this {lacking}")),
    };
    vec![line("starting it again", executions), line("building it again", builds)]
}

fn trend(found: &Trend) -> Vec<Line> {
    let z = if found.sd > 0.0 { (found.l - found.expected) / found.sd } else { 0.0 };
    vec![
        prose(format!(
            "its first tenth against its second half: {}; {} by the rank correlations of {} with time (mean {:.2})",
            relative(&found.effect),
            p_value(found.p),
            count(found.executions, "execution"),
            found.correlation
        )),
        block(format!("{} time →", between(&found.profile, [0.0, 0.02]))),
        prose(format!(
            "Page's L is {:.4e}, {z:+.1} standard deviations from {:.4e} ({}); Friedman's test {} (both take \
             measurements for independent)",
            found.l,
            found.expected,
            p_value(found.p_page),
            p_value(found.p_friedman)
        )),
    ]
}

fn order_effect(found: &ExaminedPrologue) -> Vec<Line> {
    let all = &found.after_all;
    let others = match &found.others[..] {
        [only] => format!("after `{only}`"),
        several => format!("after the {} benchmarks before it", several.len()),
    };
    let mut lines = vec![prose(format!(
        "{others} in one process, against a fresh process: {} ({}, {} of one build and initial state)",
        relative(&all.change),
        p_value(all.p),
        count(all.pairs, "pair")
    ))];
    if !found.by_index.is_empty() {
        let drawn = parts(&found.by_index, PLOT);
        lines.push(block(format!("{} time after them →", between(&drawn, [0.0, 0.02]))));
    }
    for (id, one) in &found.after_each {
        lines.push(prose(format!(
            "after `{id}` alone: {} ({})",
            relative(&one.change),
            p_value(one.p)
        )));
    }
    lines
}

fn autocorrelation(found: &Autocorrelation) -> Vec<Line> {
    vec![
        prose(format!(
            "correlation of neighbours {:+.3} ({:+.3} .. {:+.3}), von Neumann's ratio of ranks {:.3} where 2 is \
             independent ({}, {})",
            found.correlation.center,
            found.correlation.low,
            found.correlation.high,
            found.ratio,
            p_value(found.p),
            count(found.executions, "execution")
        )),
        prose(format!(
            "the value of one execution is sure to {}; if measurements were independent, to {}",
            size(found.error),
            size(found.error_if_independent)
        )),
    ]
}

fn or_lacking<T>(
    found: Result<&T, &InsufficientData>,
    lines: impl FnOnce(&T) -> Vec<Line>,
) -> Vec<Line> {
    match found {
        Ok(found) => lines(found),
        Err(lacking) => unanswered(format!("this {lacking}")),
    }
}

fn unanswered(reason: impl AsRef<str>) -> Vec<Line> {
    vec![prose(format!("not answered: {}", reason.as_ref()))]
}

fn prose(text: impl Into<String>) -> Line {
    Line::Prose(text.into())
}

fn block(text: impl Into<String>) -> Line {
    Line::Block(text.into())
}

fn test(FTest { f, freedom: [above, below], p }: &FTest) -> String {
    let f = if f.is_finite() { format!("{f:.2}") } else { "infinite".to_owned() };
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

fn count_of(iterations: u64) -> String {
    count(usize::try_from(iterations).unwrap_or(usize::MAX), "iteration")
}
