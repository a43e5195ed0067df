//! `cargo rbench accept`: writes a stored regression into `.rbench/accepted.toml`. It measures nothing.

use std::collections::HashSet;

use rbench_stats::Change;

use super::stored_project;
use crate::{
    cli::AcceptArgs,
    compare::archive,
    config::{AcceptedEntry, AcceptedToml, Gate, VerdictSettings},
    console::Console,
    error::{Error, Exit, Result},
    escape::escape_untrusted,
    harness::choose_one,
    model::{Benchmark, Version},
    report::{
        quantity::{changed, exact},
        sentence,
    },
    shell::CommandLine as _,
    verdict::{DecidedRow, Relation, Results, Verdict, Verdicts, VersionRef},
};

/// Finds the newest stored regression of the benchmark, and adds it to the file.
pub fn run(args: &AcceptArgs) -> Result<Exit> {
    let console = Console::attach();
    let project = stored_project(&args.target.project)?;
    let mut file = AcceptedToml::read(&project.workspace)?;
    let head = project.repository.resolve(&args.revision)?;
    let Some(commit) = head.commit.clone().filter(|_| !head.dirty) else {
        let what = format!("cannot accept {head}: it is not a commit");
        return Err(Error::new(Exit::Usage, what)
            .cause("an entry names the commit that made the benchmark slower")
            .hint("commit the change and compare it, then accept that commit"));
    };
    let verdicts = VerdictSettings::resolve(&project.file, &args.criteria)?;
    // A regression since a release may be smaller than the min-effect of commits.
    let of_gate = Gate::resolve(&project.file, None).and_then(|gate| gate.min_effect);
    let is_smaller = |limit: &f64| *limit < verdicts.criteria.min_effect;
    let verdicts = verdicts
        .with_gate(of_gate.filter(is_smaller).filter(|_| args.criteria.min_effect.is_none()));
    let store = archive::store(&project, &console, &args.given)?;
    let benchmarks = store.benchmarks()?;
    let results = archive::finished(&store, verdicts.counts_only(), &benchmarks, &args.given)?;
    let benchmark = choose_one(&benchmarks, &args.benchmark, &(&args.target).into())?;
    let found = newest_regression(args, &results, &verdicts, (&head, &benchmark))?;
    let mut text = String::new();
    for row in &found.rows {
        let entry = entry(args, row, [&found.base, &commit])?;
        file = file.with(&entry)?;
        text += &message(&entry, &found.base);
    }
    file.write()?;
    let shown = file.path().strip_prefix(project.repository.root()).unwrap_or(file.path());
    let shown = escape_untrusted(&shown.display().to_string()).into_owned();
    text += &format!(
        "{shown} now has an entry: commit this file; in CI, it counts once the base has it\n"
    );
    Console::result(&text)?;
    if project.repository.ignores(file.path()) {
        console.line(&format!(
            "warning: git ignores this file; add it once with: git add --force {shown}"
        ));
    }
    Ok(Exit::Success)
}

/// A comparison in which the benchmark regressed.
struct FoundChange {
    /// The base of the comparison, in hex.
    base: String,
    rows: Vec<DecidedRow>,
}

/// Returns the newest comparison with this head in which the benchmark regressed, considering the newest one of each
/// base.
fn newest_regression(
    args: &AcceptArgs,
    results: &Results<'_>,
    verdicts: &VerdictSettings,
    (head, benchmark): (&Version, &Benchmark),
) -> Result<FoundChange> {
    let decider = Verdicts::new(results, verdicts.into());
    let mut bases: HashSet<&str> = HashSet::new();
    let mut others: Option<Vec<DecidedRow>> = None;
    for place in results.places_of(head).into_iter().rev().filter(|place| place.version == 1) {
        let base = VersionRef { version: 0, ..place };
        let Version { tree, commit, dirty, variant, .. } = results.version(base);
        let of_benchmark = results.benchmark(benchmark, [place.experiment])?;
        let is_measured = !of_benchmark.rows(place).is_empty();
        let Some(commit) =
            commit.clone().filter(|_| is_measured && !dirty && *variant == head.variant)
        else {
            continue;
        };
        if !bases.insert(tree) {
            continue;
        }
        let relation = Relation::SameExperiment([base, place]);
        let rows = decider.rows(&of_benchmark, &relation, &verdicts.criteria(benchmark))?;
        let (regressed, rest): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| matches!(row.verdict, Verdict::Regressed { .. }));
        if !regressed.is_empty() {
            return Ok(FoundChange { base: commit, rows: regressed });
        }
        others.get_or_insert(rest);
    }
    Err(match others {
        Some(rows) => not_regressed(head, benchmark, &rows),
        None => not_compared(args, head, benchmark),
    })
}

fn not_regressed(head: &Version, benchmark: &Benchmark, rows: &[DecidedRow]) -> Error {
    let what = format!("`{}` did not regress in the stored results of {head}", benchmark.name.id);
    let reason = |error: Error, row: &DecidedRow| {
        let metric = row.metric.as_ref().map_or("", |metric| &metric.name);
        error.cause(format!("{metric}: {}", sentence::row(row)))
    };
    let error = rows.iter().fold(Error::new(Exit::Usage, what), reason);
    error.hint("only what `compare` reports as a regression needs to be accepted")
}

fn not_compared(args: &AcceptArgs, head: &Version, benchmark: &Benchmark) -> Error {
    let (id, revision) = (benchmark.name.id.as_str(), head.revision_arg());
    let before = format!("{revision}~1");
    let only_it = [("exact", None), ("filter", Some(id))];
    let measure = args.given.suggest("compare", &[&before, &revision], &only_it);
    let what = format!("no comparison is stored that measured `{id}` with {head} as its head");
    Error::new(Exit::Usage, what)
        .cause("the size of the change is taken from there")
        .hint(format!("measure it with: {measure}"))
}

fn entry(args: &AcceptArgs, row: &DecidedRow, [base, commit]: [&str; 2]) -> Result<AcceptedEntry> {
    let (Some(stage), Some(metric)) = (row.decisive(), &row.metric) else {
        return Err(Error::new(Exit::Internal, "a regression has no values"));
    };
    let Change { estimate, high, .. } = stage.assessment.change;
    // The upper end of the interval, rounded to hundredths of a percent. A change from 0 is infinite, so it has none.
    let ceiling = args.ceiling.unwrap_or((1e4 * high).ceil() / 1e4);
    if ceiling < estimate || ceiling.is_infinite() && estimate.is_finite() {
        let what =
            format!("cannot accept a change of {} up to {}", changed(estimate), exact(ceiling));
        return Err(Error::new(Exit::Usage, what)
            .cause("the ceiling must be at least the measured change")
            .hint(if estimate.is_finite() {
                format!("leave --ceiling out, or choose one above {}", changed(estimate))
            } else {
                "leave --ceiling out: a change from 0 has no percentage".to_owned()
            }));
    }
    let Benchmark { package, target, name } = &row.benchmark;
    Ok(AcceptedEntry {
        package: package.clone(),
        bench: target.clone(),
        benchmark: name.id.clone(),
        metric: metric.clone(),
        commit: commit.to_owned(),
        base: base.to_owned(),
        change: estimate,
        ceiling,
        reason: args.reason.clone(),
    })
}

fn message(entry: &AcceptedEntry, base: &str) -> String {
    let AcceptedEntry { benchmark, metric, commit, change, ceiling, reason, .. } = entry;
    let [commit, base] = [commit, base].map(|id| id.get(..7).unwrap_or(id));
    format!(
        "accepted: {} ({}) {} in {commit} against {base}, up to {}: {}\n",
        escape_untrusted(benchmark),
        metric.name,
        changed(*change),
        exact(*ceiling),
        escape_untrusted(reason)
    )
}
