//! `[variant.NAME]`: other settings to build and run a version with, on top of those of all versions.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error as _};
use toml::{Table, Value};

use super::values::key;
use crate::model::{
    CompileSettings, Variant,
    secret::{hash_of, stored_cargo_args},
};

/// The settings of a variant. Lists and variables are added to those of every version; other keys replace them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct VariantTable {
    toolchain: Option<String>,
    #[serde(deserialize_with = "key::profile")]
    profile: Option<String>,
    profile_settings: Table,
    rustflags: Vec<String>,
    features: Vec<String>,
    all_features: bool,
    no_default_features: bool,
    #[serde(deserialize_with = "environment")]
    environment: BTreeMap<String, String>,
    cargo_args: Vec<String>,
}

impl VariantTable {
    /// The identity of this variant: its name and its settings in words, without values of variables.
    pub(super) fn named(&self, name: &str) -> Variant {
        let mut words = Vec::new();
        words.extend(self.toolchain.iter().map(|name| format!("toolchain {name}")));
        words.extend(self.profile.iter().map(|name| format!("profile {name}")));
        leaves(&self.profile_settings, &mut Vec::new(), &mut |keys, value| {
            words.push(format!("{} = {}", keys.join("."), inline(value)));
        });
        let lists = [
            ("rustflags", self.rustflags.join(" ")),
            ("features", self.features.join(",")),
            ("cargo-args", stored_cargo_args(&self.cargo_args).join(" ")),
        ];
        let lists = lists.into_iter().filter(|(_, words)| !words.is_empty());
        words.extend(lists.map(|(key, words)| format!("{key} {words}")));
        let switches = [
            ("all-features", self.all_features),
            ("no-default-features", self.no_default_features),
        ];
        words.extend(switches.into_iter().filter(|(_, on)| *on).map(|(key, _)| key.to_owned()));
        let variable =
            |(name, value): (&String, &String)| format!("{name}={}", hash_of(value.as_bytes()));
        words.extend(self.environment.iter().map(variable));
        Variant { name: name.to_owned(), settings: words.join(", ") }
    }

    /// The settings of a version that is built as this variant.
    pub(super) fn on(&self, plain: &CompileSettings) -> CompileSettings {
        let profile = self.profile.as_ref().unwrap_or(&plain.profile);
        let mut cargo_args = plain.cargo_args.clone();
        leaves(&self.profile_settings, &mut Vec::new(), &mut |keys, value| {
            let keys = [profile].into_iter().chain(keys);
            let keys: Vec<String> = keys.map(|key| inline(&Value::from(key.as_str()))).collect();
            cargo_args.push(format!("--config=profile.{}={}", keys.join("."), inline(value)));
        });
        cargo_args.extend(self.cargo_args.iter().cloned());
        let mut environment = plain.environment.clone();
        environment.extend(self.environment.clone());
        CompileSettings {
            profile: profile.clone(),
            features: [&plain.features[..], &self.features].concat(),
            all_features: plain.all_features || self.all_features,
            no_default_features: plain.no_default_features || self.no_default_features,
            toolchain: self.toolchain.clone().or_else(|| plain.toolchain.clone()),
            rustflags: [&plain.rustflags[..], &self.rustflags].concat(),
            environment,
            cargo_args,
            ..plain.clone()
        }
    }
}

/// A value in TOML's one-line notation, which is JSON's for strings, numbers, booleans and lists.
fn inline(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Calls `found` with the keys of every value that is no table.
fn leaves(table: &Table, keys: &mut Vec<String>, found: &mut impl FnMut(&[String], &Value)) {
    for (key, value) in table {
        keys.push(key.clone());
        match value {
            Value::Table(table) => leaves(table, keys, found),
            value => found(keys, value),
        }
        keys.pop();
    }
}

/// Reads the tables by their names, which must fit into a revision.
pub(super) fn named<'de, D: Deserializer<'de>>(
    value: D,
) -> Result<BTreeMap<String, VariantTable>, D::Error> {
    let tables = BTreeMap::<String, VariantTable>::deserialize(value)?;
    match tables.keys().find(|name| !Variant::is_name(name)) {
        None => Ok(tables),
        Some(name) => Err(D::Error::custom(format!(
            "`{name}` cannot be the name of a variant: use up to 50 letters, digits, `_` and `-`"
        ))),
    }
}

fn environment<'de, D: Deserializer<'de>>(value: D) -> Result<BTreeMap<String, String>, D::Error> {
    let variables = BTreeMap::<String, String>::deserialize(value)?;
    let is_wrong = |(name, value): &(&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    match variables.iter().find(is_wrong) {
        None => Ok(variables),
        Some((name, _)) => Err(D::Error::custom(format!("`{name}` cannot be a variable"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> VariantTable {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn profile_settings_are_arguments_for_the_profile_of_the_variant() {
        let table = table(
            "profile = 'fast'\nprofile-settings = { lto = 'fat', package.'a b'.opt-level = 2 }",
        );
        let settings = table.on(&CompileSettings::default());
        assert_eq!(
            settings.cargo_args,
            [
                r#"--config=profile."fast"."lto"="fat""#,
                r#"--config=profile."fast"."package"."a b"."opt-level"=2"#
            ]
        );
        let words = r#"profile fast, lto = "fat", package.a b.opt-level = 2"#;
        assert_eq!(table.named("lto").settings, words);
    }

    #[test]
    fn lists_are_added_to_those_of_every_version() {
        let plain = CompileSettings {
            features: vec!["a".to_owned()],
            cargo_args: vec!["-Zx".to_owned()],
            ..CompileSettings::default()
        };
        let settings =
            table("features = ['b']\ncargo-args = ['-Zy']\nrustflags = ['-g']").on(&plain);
        assert_eq!(settings.features, ["a", "b"]);
        assert_eq!(settings.cargo_args, ["-Zx", "-Zy"]);
        assert_eq!((settings.rustflags, settings.profile), (vec!["-g".to_owned()], plain.profile));
    }

    #[test]
    fn identity_has_no_value_of_a_variable() {
        let named = |value: &str| {
            table(&format!("toolchain = 'nightly'\nenvironment = {{ A = '{value}' }}")).named("n")
        };
        assert_eq!(
            named("s3cret").settings,
            format!("toolchain nightly, A={}", hash_of(b"s3cret"))
        );
        assert!(!named("s3cret").settings.contains("s3cret"));
        assert_ne!(named("s3cret"), named("other"));
    }

    #[test]
    fn impossible_names_are_refused() {
        #[derive(Debug, Deserialize)]
        struct File {
            #[serde(deserialize_with = "named")]
            #[expect(dead_code, reason = "it is only read")]
            variant: BTreeMap<String, VariantTable>,
        }
        for text in [
            "[variant.'a+b']",
            "[variant.'']",
            "[variant.a]\nenvironment = { 'A=' = '' }",
            "[variant.a]\nlto = true",
        ] {
            assert!(toml::from_str::<File>(text).is_err(), "{text}");
        }
    }
}
