//! The search itself, with simulated comparisons.

use rbench_stats::{
    Proportion, Random,
    bisection::{
        Answer, Conclusion, Ending, Estimate, Finding, Found, Known, Measured, Pair, Question,
        Search, Strategy,
    },
    distribution::t_survival,
};

use crate::history::COMMITS;

/// The number of searches of each line of the table.
const RUNS: usize = 2_000;

/// The smallest change of interest.
const MIN_EFFECT: f64 = 0.01;

/// The degrees of freedom of a comparison.
const FREEDOM: u32 = 9;

/// Prints how often searches are right; returns true if hardly any names a wrong commit.
pub fn print() -> bool {
    println!(
        "| changes in % | standard error in % | right in % | wrong in % | comparisons, mean and 95 % |"
    );
    println!("| --- | --- | --- | --- | --- |");
    let rows: [(&[f64], f64); 11] = [
        (&[], 0.3),
        (&[5.0], 0.3),
        (&[3.0], 0.3),
        (&[3.0], 0.5),
        (&[2.0], 0.3),
        (&[1.5], 0.1),
        (&[1.5], 0.3),
        (&[5.0, 3.0], 0.3),
        (&[5.0, 3.0], 0.5),
        (&[5.0, -3.0], 0.3),
        (&[5.0, 3.0, 2.0], 0.2),
    ];
    let mut is_good = true;
    for (changes, noise) in rows {
        let (mut right, mut wrong, mut counts) = (0, 0, Vec::new());
        for run in 0..RUNS {
            let mut drawn = Drawn::new(changes, noise / 100.0, run as u64);
            let expected = drawn.places();
            let said = drawn.search();
            right += usize::from(said == Some(expected.clone()));
            wrong += usize::from(drawn.named.iter().any(|one| !expected.contains(one)));
            counts.push(drawn.comparisons);
        }
        counts.sort_unstable();
        let share = |count: usize| 100.0 * count as f64 / RUNS as f64;
        let mean = counts.iter().sum::<usize>() as f64 / RUNS as f64;
        let texts: Vec<String> = changes.iter().map(|change| format!("{change:+}")).collect();
        println!(
            "| {} | {noise} | {:.1} | {:.2} | {mean:.1}, {} |",
            if texts.is_empty() { "none".to_owned() } else { texts.join(", ") },
            share(right),
            share(wrong),
            counts[RUNS * 95 / 100],
        );
        is_good &= Proportion { count: wrong, of: RUNS }.interval(0.95)[0] <= 0.05;
    }
    is_good
}

struct Drawn {
    /// The logarithms of the values by commit; that of the start is 0.
    changes: Vec<f64>,
    noise: f64,
    random: Random,
    comparisons: usize,
    named: Vec<usize>,
}

impl Drawn {
    fn new(changes: &[f64], noise: f64, seed: u64) -> Self {
        let mut random = Random::stream(seed, 3);
        let mut places: Vec<usize> = (1..=COMMITS).collect();
        random.shuffle(&mut places);
        let mut all = vec![0.0; COMMITS + 1];
        for (place, change) in places.into_iter().zip(changes) {
            all[place] = (change / 100.0).ln_1p();
        }
        Self { changes: all, noise, random, comparisons: 0, named: Vec::new() }
    }

    fn places(&self) -> Vec<usize> {
        (1..=COMMITS).filter(|commit| self.changes[*commit] != 0.0).collect()
    }

    /// The named commits, if every result is a single commit.
    fn search(&mut self) -> Option<Vec<usize>> {
        let mut strategy = Strategy::new(vec![Search::new(COMMITS, MIN_EFFECT)], 0.05);
        while let Some(question) = strategy.next_question() {
            match question {
                Question::Inspect { pair, subjects } => {
                    strategy.inspected(pair, subjects.into_iter().map(|one| (one, Known::Differs)));
                }
                Question::Measure { pair, subjects } => {
                    let answers = self.measure(pair, &subjects);
                    strategy.measured(pair, answers);
                }
            }
        }
        let Ok(Conclusion::Changed { found, .. }) = strategy.searches()[0].conclusion() else {
            return Some(Vec::new());
        };
        let is_single = |one: &&Found| one.ending == Ending::Named;
        self.named = found.iter().filter(is_single).map(|one| one.at).collect();
        (self.named.len() == found.len()).then(|| self.named.clone())
    }
}

impl Drawn {
    /// Two stages as in a comparison: a test at the rate, an estimate of interest, and two
    /// one-sided tests.
    fn measure(&mut self, [older, newer]: Pair, subjects: &[(usize, f64)]) -> Vec<(usize, Answer)> {
        self.comparisons += 1;
        let truth: f64 = self.changes[older + 1..=newer].iter().sum();
        let answer = |(index, rate): &(usize, f64)| {
            let squares: f64 = (0..FREEDOM).map(|_| self.random.normal().powi(2)).sum();
            let freedom = f64::from(FREEDOM);
            let standard_error = self.noise * (squares / freedom).sqrt();
            let log_change = truth + self.noise * self.random.normal();
            let estimate = Estimate { log_change, standard_error, freedom };
            let limit = MIN_EFFECT.ln_1p();
            let beyond = t_survival((limit - log_change.abs()) / standard_error, freedom);
            let finding = if estimate.p() <= *rate && log_change.abs() >= limit {
                Finding::Changed
            } else if log_change.abs() < limit && beyond < 0.05 {
                Finding::Unchanged
            } else {
                Finding::Unsure
            };
            (*index, Answer::Measured(Measured { estimate, finding }))
        };
        subjects.iter().map(answer).collect()
    }
}
