//! Bench targets of a package with various dependencies.

use cargo_metadata::MetadataCommand;
use serde_json::json;

use super::*;

const CUSTOM: &str = "[[bench]]\nname = 'other'\n[[bench]]\nname = 'b'\nharness = false\n";

/// Metadata of a package `p` with a bench target `b`; each dependency is (alias, package, version),
/// and belongs to the one before it if its alias begins with `>`.
fn metadata(dependencies: &[(&str, &str, &str)]) -> Metadata {
    let package = |name: &str, version: &str, targets: serde_json::Value| {
        json!({
            "name": name, "version": version, "id": format!("{name} {version}"),
            "dependencies": [], "targets": targets, "features": {},
            "manifest_path": format!("/{name}/Cargo.toml"),
        })
    };
    let target = json!([{
        "name": "b", "kind": ["bench"], "crate_types": ["bin"], "required_features": [],
        "src_path": "/p/benches/b.rs", "edition": "2021", "doctest": false, "test": false,
    }]);
    let mut packages = vec![package("p", "1.0.0", target)];
    let mut nodes = vec![json!({"id": "p 1.0.0", "deps": [], "dependencies": [], "features": []})];
    for (alias, name, version) in dependencies {
        packages.push(package(name, version, json!([])));
        let parent = if alias.starts_with('>') { nodes.len() - 1 } else { 0 };
        let kind = if alias.starts_with('!') { "build" } else { "dev" };
        nodes[parent]["deps"].as_array_mut().unwrap().push(json!({
            "name": alias.trim_start_matches(['>', '!']), "pkg": format!("{name} {version}"),
            "dep_kinds": [{"kind": kind, "target": null}],
        }));
        let direct = json!({
            "name": name, "req": "*", "kind": kind, "optional": false, "features": [],
            "uses_default_features": true, "source": null, "target": null, "rename": null,
            "registry": null, "path": null,
        });
        packages[0]["dependencies"].as_array_mut().unwrap().push(direct);
        let id = format!("{name} {version}");
        nodes.push(json!({"id": id, "deps": [], "dependencies": [], "features": []}));
    }
    let metadata = json!({
        "packages": packages, "workspace_members": ["p 1.0.0"],
        "resolve": {"nodes": nodes, "root": "p 1.0.0"}, "version": 1,
        "workspace_root": "/p", "target_directory": "/p/target",
    });
    MetadataCommand::parse(metadata.to_string()).unwrap()
}

fn detected(
    dependencies: &[(&str, &str, &str)],
    manifest: &str,
    source: &str,
    configured: Option<HarnessKind>,
) -> Result<HarnessKind, String> {
    let metadata = metadata(dependencies);
    let package = &metadata.packages[0];
    let target = &package.targets[0];
    let bench = TargetFacts { metadata: &metadata, package, target, manifest, source };
    let harness = detect(&bench, configured).map_err(|error| error.to_string())?;
    Ok(harness.kind())
}

const CRITERION: (&str, &str, &str) = ("criterion", "criterion", "0.5.1");
const DIVAN: (&str, &str, &str) = ("divan", "divan", "0.1.21");

#[test]
fn target_not_in_the_manifest_has_libtest() {
    for manifest in ["", "[[bench]]\nname = 'b'\n", "[[bench]]\nname = 'c'\nharness = false\n"] {
        assert_eq!(detected(&[CRITERION], manifest, "", None), Ok(HarnessKind::Libtest));
    }
}

#[test]
fn harness_is_detected_by_package_name_despite_aliases() {
    for (name, kind) in [
        ("rbench-harness", HarnessKind::Native),
        ("criterion", HarnessKind::Criterion),
        ("codspeed-criterion-compat", HarnessKind::Criterion),
        ("divan", HarnessKind::Divan),
        ("codspeed-divan-compat", HarnessKind::Divan),
    ] {
        let dependencies = [("serde", "serde", "1.0.0"), ("renamed", name, "2.0.0")];
        assert_eq!(detected(&dependencies, CUSTOM, "", None), Ok(kind));
    }
}

#[test]
fn fork_is_run_as_its_original_version() {
    let metadata = metadata(&[("criterion", "codspeed-criterion-compat", "4.0.0")]);
    let package = &metadata.packages[0];
    let target = &package.targets[0];
    let bench = TargetFacts { metadata: &metadata, package, target, manifest: CUSTOM, source: "" };
    let candidate = bench.only_candidate().unwrap();
    assert_eq!(candidate.crate_.fork_of, Some(Version::new(0, 5, 1)));
    assert_eq!(candidate.version, &Version::new(4, 0, 0));
}

#[test]
fn source_decides_between_several_harnesses() {
    let both = [CRITERION, DIVAN];
    let of = |source| detected(&both, CUSTOM, source, None);
    assert_eq!(of("fn main() { divan::main(); }"), Ok(HarnessKind::Divan));
    assert_eq!(of("use criterion::Criterion; // no individan"), Ok(HarnessKind::Criterion));
    let error = of("use criterion::*; use divan::*;").unwrap_err();
    assert!(error.contains("depends on criterion and divan"), "{error}");
    let lines = "hint: name it in bench.toml:\n[[harness]]\npackage = \"p\"\nbench = \"b\"\n\
                 harness = \"criterion\" # or \"divan\"";
    assert!(error.ends_with(lines), "{error}");
}

#[test]
fn source_decides_even_if_there_is_one_harness() {
    let all = [CRITERION, ("iai_callgrind", "iai-callgrind", "0.14.0")];
    let of = |source| detected(&all, CUSTOM, source, None);
    assert_eq!(of("use criterion::Criterion;"), Ok(HarnessKind::Criterion));
    assert_eq!(of("mod common; fn main() { common::run() }"), Ok(HarnessKind::Criterion));
    let error = of("use iai_callgrind::main;").unwrap_err();
    assert!(error.contains("does not run benchmarks of iai-callgrind"), "{error}");
    let error = of("fn main() { let start = std::time::Instant::now(); }").unwrap_err();
    assert!(error.contains("its source does not use criterion\nhint: measure `b` as"), "{error}");
    let helper = [("helper", "helper", "1.0.0"), (">criterion", "criterion", "0.8.2")];
    let found = detected(&helper, CUSTOM, "fn main() { helper::run() }", None);
    assert_eq!(found, Ok(HarnessKind::Criterion));
}

#[test]
fn harness_of_a_helper_crate_is_found() {
    let indirect = [("helper", "helper", "1.0.0"), (">criterion", "criterion", "0.8.2")];
    assert_eq!(detected(&indirect, CUSTOM, "", None), Ok(HarnessKind::Criterion));
}

#[test]
fn build_dependencies_are_ignored() {
    let error = detected(&[("!divan", "divan", "0.1.21")], CUSTOM, "", None).unwrap_err();
    assert!(error.contains("depends on no supported harness"), "{error}");
}

#[test]
fn unsupported_harness_is_named() {
    let error = detected(&[("iai", "iai-callgrind", "0.14.0")], CUSTOM, "", None).unwrap_err();
    assert!(error.contains("does not run benchmarks of iai-callgrind"), "{error}");
    let lines = "bench = \"b\"\narguments = [\"--iai-run\", \"GROUP\", \"0\", \"0\"]";
    assert!(error.ends_with(lines), "{error}");
    let error = detected(&[("brunch", "brunch", "0.10.0")], CUSTOM, "", None).unwrap_err();
    assert!(error.contains("arguments = [\"--bench\"]\n# clock = \"pairs\""), "{error}");
}

#[test]
fn program_that_does_as_much_as_fits_into_a_time_is_not_suggested() {
    let error = detected(&[("bencher", "bencher", "0.1.5")], CUSTOM, "", None).unwrap_err();
    assert!(error.contains("does not run benchmarks of bencher"), "{error}");
    assert!(error.contains("hint: use criterion or divan: "), "{error}");
    assert!(!error.contains("[[command]]"), "{error}");
}

#[test]
fn configured_harness_overrides_detection() {
    let kind = Some(HarnessKind::Divan);
    assert_eq!(detected(&[CRITERION, DIVAN], "", "", kind), Ok(HarnessKind::Divan));
    let of_criterion = detected(&[CRITERION, DIVAN], "", "", Some(HarnessKind::Criterion));
    assert_eq!(of_criterion, Ok(HarnessKind::Criterion));
    assert!(detected(&[DIVAN], "", "", Some(HarnessKind::Criterion)).is_err());
}

#[test]
fn invalid_manifest_is_a_usage_error() {
    let error = detected(&[CRITERION], "[[bench", "", None).unwrap_err();
    assert!(error.starts_with("cannot read /p/Cargo.toml"), "{error}");
}
