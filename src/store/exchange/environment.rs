//! Values of environment variables, which may be secrets. Older versions stored and exported them.

use serde_json::Value;

/// Settings as JSON and their key, without the values of environment variables: each `NAME=value` in
/// `environment` becomes `NAME=blake3:` and the first 16 hexadecimal digits of the value's hash, as
/// experiments store it now. Equal settings stay equal, and the key is that of the new settings.
pub(super) fn without_values(settings: String, key: String) -> (String, String) {
    let Ok(mut json) = serde_json::from_str::<Value>(&settings) else { return (settings, key) };
    let Some(Value::Array(variables)) = json.get_mut("environment") else { return (settings, key) };
    let mut changed = false;
    for variable in variables {
        if let Some(hashed) = variable.as_str().and_then(hashed) {
            *variable = Value::String(hashed);
            changed = true;
        }
    }
    if !changed {
        return (settings, key);
    }
    let settings = json.to_string();
    let key = blake3::hash(settings.as_bytes()).to_hex()[..32].to_owned();
    (settings, key)
}

/// The variable with a hash for its value; `None` if it has one.
fn hashed(variable: &str) -> Option<String> {
    let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
    let is_hash =
        |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if value.strip_prefix("blake3:").is_some_and(is_hash) {
        return None;
    }
    Some(format!("{name}=blake3:{}", &blake3::hash(value.as_bytes()).to_hex()[..16]))
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
    fn settings_without_an_environment_stay_as_they_are() {
        for settings in ["{}", r#"{"environment":[]}"#, r#"{"environment":7}"#, "by hand", "[]"] {
            assert_eq!(of(settings), (settings.to_owned(), "key".to_owned()));
        }
    }
}
