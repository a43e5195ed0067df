//! Values that may be secrets, and the text that replaces them in the store and in output.

mod values;

pub use values::{REDACTED, Redactor, SecretValues, has_password};

/// Tables of cargo's configuration whose values a command may show, because they only say how to compile. Other tables
/// hold tokens, passwords and variables.
const SHOWN_TABLES: [&str; 4] = ["build", "profile", "target", "unstable"];

/// The placeholder for a value that the user has to type again.
pub const PLACEHOLDER: &str = "VALUE";

const HASH: &str = "blake3:";

/// The number of hexadecimal digits kept of a hash.
const DIGITS: usize = 16;

/// True if the name of a variable suggests that its value is a secret.
pub fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 10] = [
        "CONNECTION_STRING",
        "COOKIE",
        "CREDENTIAL",
        "JWT",
        "KEY",
        "PASS",
        "SECRET",
        "TOKEN",
        "WEBHOOK",
        "_PWD",
    ];
    let name = name.to_ascii_uppercase();
    if name.starts_with("GIT_CONFIG_KEY_") {
        // The key of a setting.
        return false;
    }
    PARTS.iter().any(|part| name.contains(part))
        || name.split('_').any(|word| matches!(word, "AUTH" | "DSN" | "PAT"))
}

/// The stored form of a value: `blake3:` and the first 16 hexadecimal digits of its hash.
pub fn hash_of(value: &[u8]) -> String {
    format!("{HASH}{}", &blake3::hash(value).to_hex()[..DIGITS])
}

/// Arguments for cargo in their stored form: with a hash for each value of `--config KEY=VALUE`.
pub fn stored_cargo_args(words: &[String]) -> Vec<String> {
    with_config(words, |key, value| format!("{key}={}", hash_of(value.as_bytes())))
}

/// Arguments for cargo in the form that commands show: with a placeholder for each value of `--config KEY=VALUE` that
/// may be a secret. Cargo refuses the placeholder, since it is no TOML.
pub fn shown_cargo_args(words: &[String]) -> Vec<String> {
    with_config(words, |key, value| {
        let table = key.split('.').next().unwrap_or_default().trim();
        let value = if SHOWN_TABLES.contains(&table) { value } else { PLACEHOLDER };
        format!("{key}={value}")
    })
}

/// Replaces each value of `--config KEY=VALUE` by `change(key, value)`.
fn with_config(words: &[String], change: impl Fn(&str, &str) -> String) -> Vec<String> {
    let mut is_value = false;
    let word = |word: &String| {
        let (flag, setting) = match word.strip_prefix("--config=") {
            Some(setting) => ("--config=", Some(setting)),
            None => ("", is_value.then_some(word.as_str())),
        };
        is_value = !is_value && word == "--config";
        match setting.and_then(|setting| setting.split_once('=')) {
            Some((key, value)) => format!("{flag}{}", change(key, value)),
            None => word.clone(),
        }
    };
    words.iter().map(word).collect()
}

/// True if a place of shared results may be meant as the address of a database, written rightly or wrongly.
pub fn may_be_address(place: &str) -> bool {
    if ["/", "./", "../"].iter().any(|start| place.starts_with(start)) && !place.starts_with("//") {
        return false;
    }
    let has_user = place.split_once('@').is_some_and(|(user, _)| user.contains(':'));
    has_user
        || place.starts_with("postgres")
        || place.contains("://")
        || place.to_ascii_lowercase().contains("password=")
}

/// An address without what may be its password; any other word as it is.
pub fn without_password(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else {
        // An option's value, `a=x:y@z`, is none.
        let is_password = word.starts_with("postgres") || word.contains("password=");
        let is_address = may_be_address(word) && (is_password || !word.contains('='));
        return if is_address { PLACEHOLDER.to_owned() } else { word.to_owned() };
    };
    let (place, options) = rest.split_once('?').map_or((rest, ""), |(place, _)| (place, "?VALUE"));
    let place = match place.rsplit_once('@') {
        Some((user, host)) => {
            let name = user.split(':').next().unwrap_or_default();
            let password = if name == user { String::new() } else { format!(":{PLACEHOLDER}") };
            format!("{name}{password}@{host}")
        }
        None => place.to_owned(),
    };
    format!("{scheme}://{place}{options}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn stored_cargo_args_keep_only_key_and_hash() {
        let given = words(&["-Zx", "--config", "env.A=\"s\"", "--config=http.proxy='s'", "a=s"]);
        let stored = stored_cargo_args(&given);
        let expected = [
            "-Zx",
            "--config",
            "env.A=blake3:4bc738c85ba94fae",
            "--config=http.proxy=blake3:b3220e40ec2dc951",
            "a=s",
        ];
        assert_eq!(stored, expected);
        let other = words(&["-Zx", "--config", "env.A=\"t\"", "--config=http.proxy='s'", "a=s"]);
        assert_ne!(stored_cargo_args(&other), stored, "other values have other hashes");
    }

    #[test]
    fn is_secret_recognises_names_that_suggest_secrets() {
        for name in [
            "GITHUB_TOKEN",
            "githubtoken",
            "DB_PASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "GH_PAT",
            "MYSQL_PWD",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in
            ["PATH", "GIT_AUTHOR_NAME", "GIT_CONFIG_KEY_0", "HOME", "PWD", "OLDPWD", "RUSTFLAGS"]
        {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn shown_cargo_args_hide_possible_secrets() {
        let given = words(&[
            "--config",
            "env.A=\"s\"",
            "--config= registries.own.token='s'",
            "--config",
            "credential-alias.x=[\"s\"]",
            "--config=profile.bench.lto=true",
            "--config",
            "path/of/config.toml",
        ]);
        let expected = [
            "--config",
            "env.A=VALUE",
            "--config= registries.own.token=VALUE",
            "--config",
            "credential-alias.x=VALUE",
            "--config=profile.bench.lto=true",
            "--config",
            "path/of/config.toml",
        ];
        assert_eq!(shown_cargo_args(&given), expected);
    }
}
