//! Which kind of metrics a search is for.

use crate::{
    cli::BisectArgs,
    config::VerdictSettings,
    console::Console,
    error::{Error, Exit, Result},
    model::Metric,
    shell::CommandLine as _,
};

/// What is searched for: one kind of metrics, which the same executions measure. Of several in bench.toml, the
/// first.
pub(super) fn only(
    verdicts: VerdictSettings,
    args: &BisectArgs,
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
    let failure = Error::new(Exit::Usage, what)
        .cause("they are measured by executions of their own, so each is a search of its own");
    let search = |kind: &VerdictSettings| {
        let metrics = named(kind);
        args.given.suggest("bisect", &[&args.range], &[("metric", Some(&*metrics))])
    };
    Err(kinds.iter().map(search).fold(failure, Error::hint))
}
