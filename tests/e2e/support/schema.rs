//! Checks the JSON output of rbench against the published schemas.

use std::path::Path;

use serde_json::Value;

/// Checks a value against `schemas/<name>.json`; the error lists every violation with its place.
pub fn check(name: &str, value: &Value) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(name);
    let path = path.with_extension("json");
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is a schema");
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}
