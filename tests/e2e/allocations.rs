//! Two versions are compared by the allocations of their benchmarks, without timing.

use crate::support::TestProject;

/// Two versions of `compared`: in the second one, a benchmark allocates once more.
fn project() -> TestProject {
    let project = TestProject::of("compared");
    let allocates = "let one = std::hint::black_box(Box::new(1_u64));\n    rounds(ROUNDS) ^ *one";
    let before = "let one = std::hint::black_box(1_u64);\n    rounds(ROUNDS) ^ one";
    project.replace("src/lib.rs", "rounds(ROUNDS)", before);
    project.commit("Base");
    project.replace("src/lib.rs", before, allocates);
    project.commit("Allocate");
    project
}

#[test]
#[ignore = "takes long"]
fn additional_allocation_is_a_regression_shown_with_bytes() {
    let project = project();
    let words = ["compare", "--no-skip", "HEAD~1", "HEAD", "--format", "json"];
    let metrics = ["--metric", "allocations,allocated-bytes"];
    let outcome = project.rbench(&[&words[..], &metrics].concat()).run().assert_exit(1);
    let report = outcome.json("compare");
    let rows = report["benchmarks"].as_array().unwrap();
    let printed = |id: &str, metric: &str| {
        let is_meant = |row: &&serde_json::Value| row["id"] == id && row["metric"] == metric;
        rows.iter().find(is_meant).unwrap_or_else(|| panic!("{id} {metric}: {report:#}"))
    };
    for (metric, head) in [("allocations", 1.0), ("allocated-bytes", 8.0)] {
        let row = printed("changing", metric);
        assert_eq!(row["verdict"], "regressed", "{row:#}");
        let estimates = ["base", "head"].map(|side| row[side]["value"].as_f64());
        assert_eq!(estimates, [Some(0.0), Some(head)], "{row:#}");
        assert_eq!(printed("steady", metric)["verdict"], "unchanged");
    }
}
