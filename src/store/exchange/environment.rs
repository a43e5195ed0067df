//! Values that may be secrets, which older versions stored and exported.

use serde_json::Value;

use crate::model::secret::{stored_cargo_args, with_hash};

/// Settings as JSON and their key, with hashes for the values of environment variables and of settings for
/// cargo, as experiments store them now. Equal settings stay equal, and the key is that of the new settings.
pub(super) fn without_values(settings: String, key: String) -> (String, String) {
    let Ok(mut json) = serde_json::from_str::<Value>(&settings) else { return (settings, key) };
    let environment = json.get_mut("environment").is_some_and(|list| change(list, hashed));
    let cargo_args = json.get_mut("cargo_args").is_some_and(|list| change(list, stored_cargo_args));
    if !environment && !cargo_args {
        return (settings, key);
    }
    let settings = json.to_string();
    let key = blake3::hash(settings.as_bytes()).to_hex()[..32].to_owned();
    (settings, key)
}

/// Changes a list of texts; returns whether it is another one now.
fn change(list: &mut Value, change: impl Fn(&[String]) -> Vec<String>) -> bool {
    let Ok(words) = serde_json::from_value::<Vec<String>>(list.clone()) else { return false };
    let changed = change(&words);
    let is_other = changed != words;
    *list = changed.into();
    is_other
}

/// Variables as `NAME=value`, with hashes for the values.
fn hashed(variables: &[String]) -> Vec<String> {
    let hashed = |variable: &String| {
        let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
        with_hash(name, value)
    };
    variables.iter().map(hashed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(settings: &str) -> (String, String) {
        without_values(settings.to_owned(), "key".to_owned())
    }

    #[test]
    fn values_become_hashes_and_equal_settings_stay_equal() {
        let settings = r#"{"cpu":null,"environment":["RUSTFLAGS=--cfg secret","CC_X="]}"#;
        let (cleaned, key) = of(settings);
        assert_eq!(
            cleaned,
            r#"{"cpu":null,"environment":["RUSTFLAGS=blake3:5df3ac63131a010b","CC_X=blake3:af1349b9f5f9a1a6"]}"#
        );
        assert_ne!(key, "key");
        assert_eq!(of(settings), (cleaned.clone(), key));
        assert_eq!(of(&cleaned), (cleaned, "key".to_owned()), "there is nothing left to hash");
        assert_ne!(of(&settings.replace("secret", "other")), of(settings));
    }

    #[test]
    fn values_of_settings_for_cargo_become_hashes_too() {
        let (cleaned, key) = of(r#"{"cargo_args":["--config","env.A=secret","-q"],"cpu":null}"#);
        assert!(cleaned.contains(r#"["--config","env.A=blake3:"#), "{cleaned}");
        assert!(!cleaned.contains("secret") && key != "key", "{cleaned}");
        assert_eq!(of(&cleaned), (cleaned, "key".to_owned()), "there is nothing left to hash");
    }

    #[test]
    fn settings_without_an_environment_stay_as_they_are() {
        for settings in [
            "{}",
            r#"{"cargo_args":["-q"]}"#,
            r#"{"environment":[]}"#,
            r#"{"environment":7}"#,
            "by hand",
            "[]",
        ] {
            assert_eq!(of(settings), (settings.to_owned(), "key".to_owned()));
        }
    }
}
