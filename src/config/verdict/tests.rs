//! Tests the precedence of the sources of verdict settings.

use super::*;

fn file(text: &str) -> BenchToml {
    BenchToml::parse(text.to_owned(), "bench.toml".into()).unwrap()
}

fn metric(name: &str) -> Metric {
    name.parse().unwrap()
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
