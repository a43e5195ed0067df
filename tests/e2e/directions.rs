//! The module structure of cargo-rbench: which module may use which, and which may touch the outside world. That the crates
//! below it use nothing of it is held by the compiler.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{
    modules::Modules,
    sources::{SourceFile, rust_files},
};

/// Each top-level module of `src/`, and the other modules that its code may use.
const MAY_USE: [(&str, &[&str]); 28] = [
    // Pure: no files, no processes, no clock.
    ("model", &["error"]),
    ("error", &[]),
    ("shell", &[]),
    ("escape", &[]),
    // Every line of the log passes through here.
    ("log", &["error", "model", "escape", "secrets"]),
    // All that code of a commit inherits and prints passes through here.
    ("secrets", &["error", "model"]),
    // The edges: each owns one part of the outside world.
    ("process", &["error", "log", "model", "secrets", "shell"]),
    ("machine", &["error", "model"]),
    ("git", &["error", "model", "shell"]),
    ("pack", &["error"]),
    ("builds", &["error", "model", "pack", "process", "secrets", "shell"]),
    ("harness", &["error", "escape", "model", "process", "secrets", "shell"]),
    ("store", &["error", "model", "secrets", "shell"]),
    ("forge", &["model", "secrets"]),
    ("shared", &["error", "model", "secrets", "shell", "store"]),
    // From results to reports.
    ("verdict", &["error", "model", "store"]),
    (
        "report",
        // Of builds, only the values that `build` and `clean` report.
        &["builds", "compare", "error", "verdict", "model", "shell", "escape"],
    ),
    ("ci", &["compare", "error", "escape", "model", "report", "verdict"]),
    // The command line and its meaning.
    ("config", &["error", "model", "shell"]),
    ("cli", &["config", "error", "git", "model", "shell"]),
    (
        "project",
        &[
            "builds", "error", "log", "model", "pack", "process", "config", "git", "secrets",
            "shell", "store",
        ],
    ),
    (
        "measure",
        &[
            "builds", "error", "harness", "machine", "model", "pack", "process", "project",
            "config", "secrets", "shell", "git", "store",
        ],
    ),
    // The main job.
    (
        "compare",
        &[
            "builds", "measure", "error", "harness", "verdict", "machine", "model", "process",
            "project", "config", "secrets", "shell", "git", "store",
        ],
    ),
    (
        "console",
        &[
            "builds", "compare", "measure", "error", "verdict", "log", "model", "report",
            "secrets", "store", "escape",
        ],
    ),
    ("demo", &["error", "verdict", "model", "report"]),
    (
        "command",
        &[
            "builds", "ci", "cli", "compare", "console", "demo", "measure", "error", "forge",
            "harness", "verdict", "log", "machine", "model", "pack", "process", "project",
            "report", "secrets", "shared", "config", "shell", "git", "store", "escape",
        ],
    ),
    // The programs.
    (
        "main",
        &[
            "builds", "cli", "command", "console", "error", "log", "escape", "model", "process",
            "secrets", "shared",
        ],
    ),
    ("bin", &["process"]),
];

/// The files of `src/` that any module may use, because they only name other modules.
const ROOT: &str = "lib";

/// The top-level module that a file belongs to.
fn module_of(file: &SourceFile) -> &str {
    let path = file.path.strip_prefix("src/").expect("a file of the product");
    path.split(['/', '.']).next().unwrap_or_default()
}

/// The number of modules between the file's module and the crate root, the file's included.
fn depth_of(file: &SourceFile) -> usize {
    let path = file.path.trim_start_matches("src/").trim_end_matches(".rs");
    path.trim_end_matches("/mod").split('/').count()
}

/// The top-level modules that a file's product code uses, including its own.
fn modules_used(file: &SourceFile) -> BTreeSet<String> {
    let own = ["crate::".to_owned(), "cargo_rbench::".to_owned()];
    let upwards = "super::".repeat(depth_of(file));
    let names = own.iter().chain([&upwards]).flat_map(|path| file.names_after(path));
    names.filter(|name| MAY_USE.iter().any(|(module, _)| module == name)).collect()
}

/// Every use of one module by another that `MAY_USE` does not allow.
fn wrong_directions(files: &[SourceFile]) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| module_of(file) != ROOT) {
        let module = module_of(file);
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!("{}: what `{module}` may use is not said", file.path));
            continue;
        };
        for used in modules_used(file) {
            if used != module && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{}: `{module}` may not use `{used}`", file.path));
            }
        }
    }
    wrong
}

#[test]
fn modules_use_only_those_below_them() {
    let files = rust_files(&["src"]);
    let modules: BTreeSet<&str> = files.iter().map(module_of).collect();
    for (module, allowed) in MAY_USE {
        assert!(modules.contains(module), "there is no `{module}` any more");
        for used in allowed {
            assert!(modules.contains(used), "`{module}` may use `{used}`, which is not there");
        }
    }
    assert_none(&wrong_directions(&files));
}

/// A made-up file of the product.
fn planted(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_owned(), text: text.to_owned() }
}

#[test]
fn wrong_direction_is_found_in_every_notation() {
    for (path, text) in [
        ("src/store/wrong.rs", "use crate::report::Table;\n"),
        (
            "src/store/wrong.rs",
            "use crate::{\n    model::{Metric, Name},\n    report::Table,\n};\n",
        ),
        ("src/store/wrong.rs", "fn f() {\n    crate::report::table();\n}\n"),
        ("src/store/mod.rs", "use super::report::Table;\n"),
        ("src/store/deep/wrong.rs", "use super::super::super::{model::Name, report::Table};\n"),
    ] {
        let file = planted(path, text);
        let expected = format!("{path}: `store` may not use `report`");
        assert_eq!(wrong_directions(&[file]), [expected], "{text}");
    }
    let file = planted("src/bin/tool.rs", "use cargo_rbench::{process, store::Store};\n");
    assert_eq!(wrong_directions(&[file]), ["src/bin/tool.rs: `bin` may not use `store`"]);
    let file = planted("src/rumpus/mod.rs", "use crate::model::Name;\n");
    assert_eq!(wrong_directions(&[file]).len(), 1, "a new module has no directions yet");
}

#[test]
fn tests_comments_and_own_modules_have_no_direction() {
    let text = "// crate::report\nuse super::report;\nuse crate::{model::Name, store::Store};\n\
                #[cfg(test)]\nmod tests {\n    use crate::report::Table;\n}\n";
    assert_none(&wrong_directions(&[planted("src/store/right.rs", text)]));
    let file = planted("src/store/tests/mod.rs", "use crate::report::Table;\n");
    assert_none(&wrong_directions(&[file]));
}

#[test]
fn table_of_directions_has_no_cycle() {
    let table: BTreeMap<&str, &[&str]> = MAY_USE.into_iter().collect();
    assert_eq!(table.len(), MAY_USE.len(), "each module stands in the table once");
    let mut placed = BTreeSet::new();
    loop {
        let ready = |module: &&&str| {
            !placed.contains(**module) && table[**module].iter().all(|used| placed.contains(used))
        };
        let next: Vec<&str> = table.keys().filter(ready).copied().collect();
        if next.is_empty() {
            break;
        }
        placed.extend(next);
    }
    let circle: Vec<_> = table.keys().filter(|module| !placed.contains(**module)).collect();
    assert!(circle.is_empty(), "these use each other: {circle:?}");
}

/// Each folder of the crate at `root` whose modules use each other in a cycle, with its cycles. A
/// module with a folder counts together with everything in it; the file above a folder is one of
/// its modules, `mod`.
fn cycles(files: &[SourceFile], root: &str) -> BTreeMap<String, Vec<String>> {
    let modules = Modules::read(files, root);
    let uses = modules.uses();
    let mut found = BTreeMap::new();
    for folder in modules.folders() {
        let module_of = |path: &[String]| -> Option<String> {
            let below = path.strip_prefix(folder.as_slice())?;
            Some(below.first().map_or_else(|| "mod".to_owned(), Clone::clone))
        };
        let mut arrows: Arrows = BTreeMap::new();
        for used in &uses {
            if let (Some(from), Some(to)) = (module_of(&used.from), module_of(&used.to))
                && from != to
            {
                arrows.entry(from).or_default().entry(to).or_default().insert(used.item.clone());
            }
        }
        let cycles: Vec<String> =
            members_of_cycles(&arrows).iter().map(|members| describe(members, &arrows)).collect();
        if !cycles.is_empty() {
            found.insert([&[root.to_owned()], folder.as_slice()].concat().join("/"), cycles);
        }
    }
    found
}

/// The modules that each module uses, with the used items.
type Arrows = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The modules of each cycle: the largest sets in which every module leads to every other.
fn members_of_cycles(arrows: &Arrows) -> BTreeSet<BTreeSet<&str>> {
    let reachable_from = |start: &str| {
        let mut targets = BTreeSet::new();
        let mut next = vec![start];
        while let Some(module) = next.pop() {
            let used = arrows.get(module).into_iter().flat_map(BTreeMap::keys);
            let new = used.map(String::as_str).filter(|used| targets.insert(*used));
            next.extend(new.collect::<Vec<_>>());
        }
        targets
    };
    let all_targets: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|module| (module.as_str(), reachable_from(module))).collect();
    let is_reachable =
        |from: &str, to: &str| all_targets.get(from).is_some_and(|it| it.contains(to));
    let cyclic = all_targets.iter().filter(|(module, targets)| targets.contains(*module));
    cyclic
        .map(|(module, targets)| {
            targets.iter().copied().filter(|it| is_reachable(it, module)).collect()
        })
        .collect()
}

/// Describes each arrow of a cycle.
fn describe(members: &BTreeSet<&str>, arrows: &Arrows) -> String {
    let mut lines = Vec::new();
    for from in members {
        for (to, items) in arrows[*from].iter().filter(|(to, _)| members.contains(to.as_str())) {
            let items: Vec<&str> = items.iter().map(String::as_str).collect();
            lines.push(format!("{from} uses {to} ({})", items.join(", ")));
        }
    }
    lines.join("; ")
}

#[test]
fn modules_do_not_use_each_other_in_a_cycle() {
    let mut found = BTreeMap::new();
    for root in ["src", "harness/src", "crates/rbench-code/src", "crates/rbench-stats/src"] {
        found.extend(cycles(&rust_files(&[root]), root));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn cycle_is_found_in_every_notation() {
    let above = planted("src/room/mod.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;\n");
    for (a, b) in [
        ("use super::b::B;", "use crate::room::a::A;"),
        ("use crate::room::{b::{self, B as C}};", "use super::A;"),
        ("fn f() { crate::room::b::f(); }", "use super::a; fn f() { a::f(); }"),
        ("fn f() { format!(\"{}\", super::B); }", "mod inner { use super::super::a::A; }"),
    ] {
        let files = [above.path.as_str(), "src/room/a.rs", "src/room/b.rs"];
        let files = files.into_iter().zip([above.text.as_str(), a, b]);
        let files: Vec<_> = files.map(|(path, text)| planted(path, text)).collect();
        let found = cycles(&files, "src");
        assert_eq!(found.keys().collect::<Vec<_>>(), ["src/room"], "{a} {b}");
        assert_eq!(found["src/room"].len(), 1, "{found:?}");
    }
    let files = [
        planted("src/room.rs", "mod a;\nfn f() { a::f(); }\nstruct T;\n"),
        planted("src/room/a.rs", "use super::T;\n"),
    ];
    assert_eq!(cycles(&files, "src")["src/room"], ["a uses mod (T); mod uses a (f)"]);
}

#[test]
fn reexports_and_tests_are_in_no_cycle() {
    let files = [
        planted("src/room/mod.rs", "mod a;\nmod b;\npub use a::A;\npub struct T;\n"),
        planted("src/room/a.rs", "use super::{T, b::B};\nuse std::fmt;\n"),
        planted(
            "src/room/b.rs",
            "//! [`A`](super::A)\n// super::A\n#[cfg(test)]\nmod tests { use super::super::A; }\n",
        ),
    ];
    assert_eq!(cycles(&files, "src"), BTreeMap::new());
}

/// Every product line below `directories` that has one of `words`, outside of the files `allowed`.
fn uses(directories: &[&str], words: &[&str], allowed: &[&str]) -> Vec<String> {
    let files = rust_files(directories);
    assert!(!files.is_empty(), "nothing is found in {directories:?}");
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !is_in(file, allowed)) {
        for (number, line) in file.product_lines() {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    found
}

/// True if a file is one of these paths or below one of them.
fn is_in(file: &SourceFile, paths: &[&str]) -> bool {
    let below = |path: &str| file.path == path || file.path.starts_with(&format!("{path}/"));
    paths.iter().any(|path| below(path))
}

#[track_caller]
fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn pure_code_uses_no_edge() {
    let edges = [
        "std::fs",
        "std::process",
        "std::env",
        "std::net",
        "Instant",
        "SystemTime::now",
        "fs::",
        "env::",
        "println!",
        "print!",
        "git2",
        "rusqlite",
    ];
    assert_none(&uses(
        &["crates/rbench-code/src", "crates/rbench-stats/src", "src/model"],
        &edges,
        &[],
    ));
}

#[test]
fn spawning_is_limited_to_builds_and_process() {
    let spawning = [".spawn()", ".output()", ".status()", ".exec()", "posix_spawn", "fork("];
    let allowed = [
        "src/builds/tool.rs",
        "src/builds/run_cargo.rs",
        "src/builds/supervisor.rs",
        "src/process",
    ];
    assert_none(&uses(&["src"], &spawning, &allowed));
}

#[test]
fn printing_is_limited_to_the_console_and_wrappers() {
    let printing = ["println!", "print!(", "stdout()", "stderr()", "dbg!"];
    let allowed = [
        "src/console.rs",
        "src/log.rs",
        "src/main.rs",
        // Separate processes, started by cargo and rustc: standard error is all they have.
        "src/builds/wrapper.rs",
        "src/builds/supervisor.rs",
        "src/builds/tool.rs",
        "src/process/sandbox/enter.rs",
        // The final message of a signal handler, which may call nothing that locks or allocates.
        "src/process/interrupt.rs",
    ];
    assert_none(&uses(&["src"], &printing, &allowed));
}

#[test]
fn libraries_of_an_edge_are_used_only_there() {
    for (library, modules) in [
        ("git2", &["src/git"][..]),
        ("rusqlite", &["src/store"]),
        ("indicatif", &["src/console.rs", "src/console"]),
        ("ureq", &["src/forge"]),
        ("postgres::", &["src/shared"]),
        ("tracing_subscriber", &["src/log.rs"]),
        ("object::", &["src/builds", "src/process/trace"]),
    ] {
        assert_none(&uses(&["src"], &[library], modules));
    }
}

#[test]
fn clap_commands_are_used_only_by_the_command_line() {
    // Options that are flags as well as keys of bench.toml are defined once, in `config`.
    let allowed = ["src/cli.rs", "src/cli", "src/config/options.rs", "src/main.rs"];
    for file in rust_files(&["src"]).iter().filter(|file| !is_in(file, &allowed)) {
        let others: Vec<_> =
            file.names_after("clap::").into_iter().filter(|name| name != "ValueEnum").collect();
        assert!(others.is_empty(), "{} uses {others:?} of clap", file.path);
    }
}
