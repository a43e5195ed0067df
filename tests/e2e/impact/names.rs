//! Crates that have the name of a harness or of its command-line parser.

use serde_json::Value;

use crate::support::TestProject;

/// The impact on the only benchmark that the arguments select.
fn impact(project: &TestProject, more: &[&str]) -> Value {
    let arguments = ["diff", "HEAD~1", "HEAD", "--by-benchmark", "--format", "json"];
    let report = project.rbench(&[&arguments, more].concat()).ok().json("diff");
    report["targets"][0]["benchmarks"][0]["impact"].clone()
}

#[test]
fn set_up_counts_in_a_target_with_the_name_of_a_harness() {
    for name in ["criterion", "clap"] {
        let project = TestProject::of("compared");
        project.replace("Cargo.toml", "\"work\"", &format!("\"{name}\""));
        project.git(&["mv", "benches/work.rs", &format!("benches/{name}.rs")]);
        // A value that `input` leaves on the stack must not look like a use of it while the benchmark measures.
        let source = "use rbench_harness::{main, Suite};\n\
            #[inline(never)] fn input() -> Vec<u64> { (0..std::hint::black_box(10)).collect() }\n\
            #[inline(never)] fn clear_stack() { std::hint::black_box([0_u8; 16_384]); }\n\
            fn all(suite: &mut Suite) {\n\
                let input = input();\n\
                clear_stack();\n\
                suite.bench(\"sum\", move |bencher| bencher.iter(|| input.iter().sum::<u64>()));\n\
            }\n\
            main!(all);\n";
        project.write(&format!("benches/{name}.rs"), source);
        project.commit("Sum an input");
        project.replace(&format!("benches/{name}.rs"), "black_box(10)", "black_box(1000)");
        project.commit("Make it longer");
        let impact = impact(&project, &[]);
        let function = &impact["functions"][0];
        assert_eq!(function["name"], format!("{name}::input"), "{impact:#}");
        assert_eq!(function["while_measuring"], false);
    }
}

#[test]
fn parser_of_the_command_line_counts_in_a_program() {
    let project = TestProject::of("compared");
    let manifest = "[package]\nname = \"getopts\"\nversion = \"0.2.24\"\nedition = \"2021\"\n";
    project.write("getopts/Cargo.toml", manifest);
    let parse = "#[inline(never)] pub fn parse() -> u64 { (0..std::hint::black_box(10)).sum() }\n";
    project.write("getopts/src/lib.rs", parse);
    project.append("Cargo.toml", "\n[dependencies]\ngetopts = { path = \"getopts\" }\n");
    project
        .write("src/main.rs", "fn main() { std::process::exit((getopts::parse() == 1).into()) }\n");
    project.lock();
    project.commit("Parse");
    project.replace("getopts/src/lib.rs", "black_box(10)", "black_box(1000)");
    project.commit("Parse more");
    let impact = impact(&project, &["--command", "compared --quick"]);
    let function = &impact["functions"][0];
    assert_eq!(function["name"], "getopts::parse", "{impact:#}");
    // It reads no clock, and all of it is measured.
    assert_eq!(function["while_measuring"], true);
}
