//! Selects the kind of metrics of a search, since one search uses one kind of executions.

use crate::{
    cli::BisectArgs,
    config::VerdictSettings,
    console::Console,
    error::{Error, Exit, Result},
    model::Metric,
    shell::CommandLine as _,
};

/// Restricts the settings to one kind of metrics, which the same executions measure. If bench.toml has several, the
/// first one; if flags have several, a usage error.
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
    let error = Error::new(Exit::Usage, what)
        .cause("they are measured by executions of their own, so each is a search of its own");
    let search = |kind: &VerdictSettings| {
        let metrics = named(kind);
        args.given.suggest("bisect", &[&args.range], &[("metric", Some(&*metrics))])
    };
    Err(kinds.iter().map(search).fold(error, Error::hint))
}
