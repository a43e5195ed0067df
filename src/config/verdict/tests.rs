//! Tests the precedence of the sources of verdict settings.

use super::*;
use crate::model::Name;

fn file(text: &str) -> BenchToml {
    BenchToml::parse(text.to_owned(), "bench.toml".into()).unwrap()
}

fn metric(name: &str) -> Metric {
    name.parse().unwrap()
}

fn benchmark(id: &str) -> Benchmark {
    Benchmark { package: "p".to_owned(), target: "t".to_owned(), name: Name::plain(id) }
}

#[test]
fn verdict_flag_overrides_the_file_and_the_default() {
    let file = file("[verdict]\nrule = 'overlap'\nconfirm = false\nmetrics = ['wall', 'user']\n");
    let flags = CriteriaOptions { rule: Some("paired".parse().unwrap()), ..Default::default() };
    let settings = VerdictSettings::resolve(&file, &flags).unwrap();
    assert_eq!(settings.criteria.rule.to_string(), "paired");
    assert!(!settings.criteria.confirm);
    assert_eq!(settings.criteria.estimator, Criteria::default().estimator);
    assert!(settings.includes(&metric("wall")) && !settings.includes(&metric("system")));
    let flags = CriteriaOptions { metrics: vec!["system".parse().unwrap()], ..flags };
    let settings = VerdictSettings::resolve(&file, &flags).unwrap();
    assert!(settings.includes(&metric("system")) && !settings.includes(&metric("wall")));
}

#[test]
fn default_metrics_are_included_unless_some_are_chosen() {
    let settings = VerdictSettings::resolve(&file(""), &CriteriaOptions::default()).unwrap();
    assert!(settings.includes(&metric("wall")) && settings.includes(&metric("cycles")));
    assert!(settings.includes(&metric("cpu")) && !settings.includes(&metric("user")));
}

#[test]
fn min_effect_of_a_benchmark_yields_to_the_flag() {
    let file = file(
        "[verdict]\nmin-effect = '3%'\n[[benchmark]]\nfilter = '^noisy/'\nmin-effect = '10%'\n\
         [[benchmark]]\nfilter = 'small'\nbuilds = 20\n",
    );
    let settings = VerdictSettings::resolve(&file, &CriteriaOptions::default()).unwrap();
    let of = |settings: &VerdictSettings, id| settings.min_effect_of(&benchmark(id)).to_string();
    let ids = ["noisy/x", "small", "other"];
    assert_eq!(ids.map(|id| of(&settings, id)), ["0.1", "0.03", "0.03"]);
    let flags = CriteriaOptions { min_effect: Some(0.005), ..Default::default() };
    let settings = VerdictSettings::resolve(&file, &flags).unwrap();
    assert_eq!(ids.map(|id| of(&settings, id)), ["0.005"; 3]);
}

#[test]
fn invalid_criteria_are_a_usage_error() {
    for text in ["false-alarm-rate = 0.0", "confidence = '100%'"] {
        let file = file(&format!("[verdict]\n{text}\n"));
        let refusal = VerdictSettings::resolve(&file, &CriteriaOptions::default()).unwrap_err();
        assert_eq!(refusal.exit(), Exit::Usage, "{text}");
    }
}

#[test]
fn kinds_of_metrics_share_the_error_rate() {
    for (metrics, comparisons) in [
        (&[][..], 1),
        (&["wall", "cpu"], 1),
        (&["wall", "instructions"], 2),
        (&["allocations", "allocated-bytes"], 1),
        (&["wall", "instructions", "allocations"], 3),
    ] {
        let metrics = metrics.iter().map(|name| name.parse().unwrap()).collect();
        let flags = CriteriaOptions { metrics, ..Default::default() };
        let settings = VerdictSettings::resolve(&file(""), &flags).unwrap();
        let each = settings.kinds().into_iter().map(|kind| kind.criteria.comparisons);
        assert_eq!(each.collect::<Vec<_>>(), vec![comparisons; comparisons]);
        assert_eq!(settings.shared_by(2).criteria.comparisons, 2 * comparisons);
    }
}
