//! Generates the JSON schemas of all reports in `schemas/` from the serialized types.

use std::{env, fs, path::Path};

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::transform_subschemas};
use serde_json::Value;

use super::{
    bisect, build, compare, diagnose, diff, doctor, explain, history, json::Versioned, list,
    selftest, site, version,
};

/// Every schema file and its schema.
fn all() -> [(&'static str, Schema); 15] {
    [
        ("build", schema::<build::BuildReport>("build")),
        ("compare", root::<compare::Comparisons>("compare")),
        ("diagnose", schema::<diagnose::DiagnosisReport>("diagnose")),
        ("diff", schema::<diff::DiffReport>("diff")),
        ("doctor", schema::<doctor::DoctorReport>("doctor")),
        ("explain", schema::<explain::Explained<'_>>("diff --explain BENCH --by instructions")),
        ("explain-time", schema::<explain::time::TimeFields<'_>>("diff --explain BENCH")),
        ("bisect", schema::<bisect::Bisect<'_>>("bisect")),
        ("history", schema::<history::page::History<'_>>("history")),
        ("list", schema::<list::ListReport>("list")),
        ("history-version", schema::<version::VersionReport>("history REV")),
        ("run-range", schema::<version::RangeReport>("run A..B")),
        ("selftest", schema::<selftest::View<'_>>("selftest")),
        ("ranking", ranking()),
        ("site", site()),
    ]
}

fn ranking() -> Schema {
    let mut schema = schema::<compare::ranking::Ranking<'_>>("versus");
    let title = "What `versus` and `compare --variants` print with `--format json`";
    schema.insert("title".to_owned(), title.into());
    schema
}

fn site() -> Schema {
    let mut schema = schema::<site::SiteReport>("site");
    schema.insert("title".to_owned(), "What `cargo rbench site` writes to changes.json".into());
    schema
}

fn schema<T: JsonSchema>(command: &str) -> Schema {
    root::<Versioned<T>>(command)
}

fn root<T: JsonSchema>(command: &str) -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(finish);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let title = format!("What `cargo rbench {command} --format json` prints");
    schema.insert("title".to_owned(), title.into());
    schema
}

/// Closes every object, so that undocumented keys are found, and keeps only the first paragraph of
/// each description, without links of the documentation.
fn finish(schema: &mut Schema) {
    transform_subschemas(&mut finish, schema);
    // Drops the widths of Rust's number types.
    schema.remove("format");
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let first = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let link = regex::Regex::new(r"\[(`[^`]*`)\]\([^)]*\)").unwrap();
        *text = link.replace_all(&first, "$1").into_owned();
    }
    if schema.get("properties").is_some() {
        let is_flattened = open_variants(schema);
        let closed = if is_flattened { "unevaluatedProperties" } else { "additionalProperties" };
        schema.insert(closed.to_owned(), false.into());
    }
}

/// Opens the variants of an enum flattened into this object, which has other keys as well. Returns
/// true if there are any.
fn open_variants(schema: &mut Schema) -> bool {
    let mut found = false;
    for key in ["oneOf", "anyOf"] {
        let variants = schema.get_mut(key).and_then(Value::as_array_mut);
        for variant in variants.into_iter().flatten() {
            let Ok(variant) = variant.try_into() else { continue };
            let variant: &mut Schema = variant;
            variant.remove("additionalProperties");
            open_variants(variant);
            found = true;
        }
    }
    found
}

/// With `INSTA_UPDATE=always`, as for snapshots, the files are written.
#[test]
fn schema_files_match_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    for (name, schema) in all() {
        let path = folder.join(name).with_extension("json");
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
            fs::write(&path, &text).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "{name}.json is outdated: INSTA_UPDATE=always cargo test schemas");
    }
}
