//! Which kind of metrics a search is for.

use crate::{
    cli::FindArgs,
    console::Console,
    failure::{Exit, Failure, Result},
    model::Metric,
    settings::VerdictSettings,
    shell::CommandLine as _,
};

/// What is searched for: one kind of metrics, which the same executions measure. Of several in bench.toml, the
/// first.
pub(super) fn only(
    verdicts: VerdictSettings,
    args: &FindArgs,
    console: &Console,
) -> Result<VerdictSettings> {
    let kinds = verdicts.kinds();
    let [first, _, ..] = kinds.as_slice() else { return Ok(verdicts) };
    let named = |kind: &VerdictSettings| {
        let metrics: Vec<&str> = kind.metrics.iter().map(|metric| &*metric.name).collect();
        metrics.join(",")
    };
    if args.criteria.metrics.is_empty() {
        let searched = named(first);
        console.line(&format!("note: searching for changes of {searched}; others with --metric"));
        return Ok(first.clone());
    }
    let what = format!("cannot search for changes of {} at once", Metric::names(&verdicts.metrics));
    let failure = Failure::new(Exit::Usage, what)
        .because("they are measured by executions of their own, so each is a search of its own");
    let search = |kind: &VerdictSettings| {
        let metrics = named(kind);
        args.given.suggest("find", &[&args.range], &[("metric", Some(&*metrics))])
    };
    Err(kinds.iter().map(search).fold(failure, Failure::hint))
}
