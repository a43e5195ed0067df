//! The settings of an experiment in words. They are kept as JSON, which says more than people ask.

use serde_json::Value;

/// The settings that say something: `layout matched`, `profile bench`, `own filter ^slow/`.
pub fn settings_words(json: &str) -> Vec<String> {
    let mut words = Vec::new();
    match serde_json::from_str(json) {
        Ok(value) => collect("", &value, &mut words),
        Err(_) => words.push(json.to_owned()),
    }
    words
}

fn collect(name: &str, value: &Value, words: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Bool(true) => words.push(name.to_owned()),
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => words.push(format!("{name} {text}")),
        Value::Number(number) => words.push(format!("{name} {number}")),
        Value::Array(values) => values.iter().for_each(|value| collect(name, value, words)),
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if name.is_empty() { field } else { &format!("{name} {field}") };
                collect(name, value, words);
            }
        }
    }
}

/// What distinguishes settings from others: `settings: floor-ms 2, not floor-ms 1`.
pub(super) fn settings_difference(one: &str, other: &str) -> String {
    let [one, other] = [one, other].map(settings_words);
    let only = |words: &[String], others: &[String]| -> String {
        let only = words.iter().filter(|word| !others.contains(word));
        only.map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    match [only(&one, &other), only(&other, &one)].each_ref().map(String::as_str) {
        ["", ""] => "settings".to_owned(),
        [one, ""] => format!("settings: {one}"),
        ["", other] => format!("settings: not {other}"),
        [one, other] => format!("settings: {one}, not {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_say_only_what_is_set() {
        let json =
            r#"{"features":["a","b"],"cpu":null,"own":[{"floor-ms":4}],"all":true,"no":false}"#;
        assert_eq!(settings_words(json), ["all", "features a", "features b", "own floor-ms 4"]);
        assert_eq!(settings_words("as written by hand"), ["as written by hand"]);
    }

    #[test]
    fn other_settings_are_told_by_what_distinguishes_them() {
        let plain = r#"{"floor-ms":1,"cpu":null}"#;
        for (other, words) in [
            (r#"{"floor-ms":2,"cpu":null}"#, "settings: floor-ms 2, not floor-ms 1"),
            (r#"{"floor-ms":1,"cpu":3}"#, "settings: cpu 3"),
            (r#"{"cpu":null}"#, "settings: not floor-ms 1"),
        ] {
            assert_eq!(settings_difference(other, plain), words);
        }
    }
}
