//! Makes mutants of a project by code: every place where an operator fits is a candidate, and a fixed seed selects.

use std::{collections::BTreeMap, path::Path};

use super::project::{Kind as ProjectKind, Settings};

/// The files of a project by their paths.
pub type Files = BTreeMap<String, String>;

#[derive(Clone, Debug)]
pub struct Mutant {
    /// The sort of thing that is changed.
    pub kind: &'static str,
    /// The place, and its old and new text.
    pub what: String,
    pub change: Change,
    /// The static whose alignment is changed.
    pub aligned: Option<Aligned>,
}

#[derive(Clone, Debug)]
pub enum Change {
    /// Files with their new texts: a commit.
    Files(Files),
    /// Other settings of the same commit: a variant.
    Settings(Settings),
}

/// A static, and a part of the names of functions that use it.
#[derive(Clone, Debug)]
pub struct Aligned {
    pub symbol: String,
    pub users: String,
}

/// Pseudorandom numbers: `SplitMix64` (Steele et al., 2014).
struct Random(u64);

impl Random {
    /// Starts with a text, so that mutants of one project do not depend on those of another one.
    fn new(text: &str) -> Self {
        Self(
            text.bytes()
                .fold(7, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % (limit.max(1) as u64)).unwrap_or(0)
    }
}

/// Selects `count` mutants of a project: of each kind in turn, in an order that depends on the name of the project.
pub fn mutants(name: &str, kind: &ProjectKind, files: &Files, count: usize) -> Vec<Mutant> {
    let mut random = Random::new(name);
    let mut all = Candidates { files, random: &mut random, found: Vec::new() };
    for (path, text) in files {
        if is_source(path) {
            all.of_source(path, text);
        } else if is_data(path) {
            all.of_data(path, text);
        }
    }
    all.of_package();
    all.of_settings(kind);
    let mut by_kind: BTreeMap<&str, Vec<Mutant>> = BTreeMap::new();
    for candidate in all.found {
        by_kind.entry(candidate.kind).or_default().push(candidate);
    }
    let mut chosen = Vec::new();
    while chosen.len() < count && !by_kind.is_empty() {
        for candidates in by_kind.values_mut() {
            // What a project has alone is tried twice as often as what it has in common with others.
            let own: Vec<usize> =
                (0..candidates.len()).filter(|index| is_own(&candidates[*index])).collect();
            let index = if own.is_empty() || random.below(3) == 0 {
                random.below(candidates.len())
            } else {
                own[random.below(own.len())]
            };
            if chosen.len() < count {
                chosen.push(candidates.swap_remove(index));
            }
        }
        by_kind.retain(|_, candidates| !candidates.is_empty());
    }
    chosen
}

fn is_own(mutant: &Mutant) -> bool {
    ["src/own.rs", "build.rs", "src/native.c", "src/scale.c", "data/", "rounds.txt"]
        .iter()
        .any(|own| mutant.what.starts_with(own))
}

pub fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|own| own == extension)
}

fn is_source(path: &str) -> bool {
    has_extension(path, "c")
        || has_extension(path, "rs") && !path.starts_with("benches/") && path != "src/main.rs"
}

fn is_data(path: &str) -> bool {
    has_extension(path, "txt")
}

struct Candidates<'c> {
    files: &'c Files,
    random: &'c mut Random,
    found: Vec<Mutant>,
}

impl Candidates<'_> {
    fn add(&mut self, kind: &'static str, what: String, changed: &[(&str, String)]) {
        let changed = changed.iter().map(|(path, text)| ((*path).to_owned(), text.clone()));
        let change = Change::Files(changed.collect());
        self.found.push(Mutant { kind, what, change, aligned: None });
    }

    /// Replaces a line of a file, which may become several or none.
    fn line(&mut self, kind: &'static str, path: &str, number: usize, new: &str) {
        let text = &self.files[path];
        let lines: Vec<&str> = text.split('\n').collect();
        let what = format!("{path}:{}: `{}` -> `{}`", number + 1, lines[number].trim(), new.trim());
        let mut changed = lines;
        changed[number] = new;
        self.add(kind, what.replace('\n', " "), &[(path, changed.join("\n"))]);
    }

    fn of_source(&mut self, path: &str, text: &str) {
        let is_c = has_extension(path, "c");
        let mut context = Context::default();
        for (number, line) in text.lines().enumerate() {
            context.enter(line);
            let trimmed = line.trim_start();
            if trimmed.is_empty() || trimmed.starts_with("//") || trimmed.starts_with("/*") {
                continue;
            }
            let is_code = line.ends_with(';') || line.ends_with('{');
            if is_code && self.random.below(4) == 0 {
                self.line("comment", path, number, &format!("{line} /* Changed. */"));
            }
            if line.starts_with("pub fn")
                || line.starts_with("fn ")
                || line.starts_with("static ") && is_c
            {
                // Attributes stand between the lines, where a comment is permitted too.
                self.line("line number", path, number, &format!("/* One line more. */\n{line}"));
            }
            self.of_attributes(path, number, line, text);
            self.of_texts(path, number, line);
            if path == "build.rs" && line.contains("\"-O1\"") {
                for flags in [
                    "\"-O2\"",
                    "\"-O0\"",
                    "\"-O1\", \"-g\"",
                    "\"-O1\", \"-falign-functions=64\"",
                    "\"-O1\", \"-DUNUSED\"",
                ] {
                    self.line("flag of cc", path, number, &line.replace("\"-O1\"", flags));
                }
            } else if !trimmed.starts_with('#') {
                self.of_numbers(path, number, line, &context);
            }
            if line == "fn main() {" && path == "build.rs" {
                for option in ["-Wl,-z,norelro", "-Wl,-O2"] {
                    let added =
                        format!("{line}\n    println!(\"cargo::rustc-link-arg={option}\");");
                    self.line("flag of the linker", path, number, &added);
                }
            }
            if let Some((name, _)) = line.strip_prefix("fn ").and_then(|rest| rest.split_once('('))
                && name != "main"
            {
                let renamed = words_replaced(text, name, &format!("{name}_renamed"));
                self.add(
                    "name of a function",
                    format!("{path}: `{name}` has another name"),
                    &[(path, renamed)],
                );
            }
        }
        let place = self.random.below(1000);
        let unused = if is_c {
            format!(
                "\nunsigned long c_added(unsigned long number) {{\n    return number * {place};\n}}\n"
            )
        } else {
            format!(
                "\n/// Nobody calls it.\n#[inline(never)]\npub fn added(number: usize) -> usize {{\n    number * {place}\n}}\n"
            )
        };
        if path != "build.rs" {
            self.add(
                "unused function",
                format!("{path}: a function at the end"),
                &[(path, format!("{text}{unused}"))],
            );
            if !is_c {
                let private =
                    unused.replace("pub ", "").replace("#[inline", "#[allow(dead_code)]\n#[inline");
                self.add(
                    "unused function",
                    format!("{path}: a private one"),
                    &[(path, format!("{text}{private}"))],
                );
            }
        }
    }

    fn of_numbers(&mut self, path: &str, number: usize, line: &str, context: &Context) {
        for place in numbers(line) {
            let before = &line[..place.start];
            let after = &line[place.end..];
            let is_fn_body = line.starts_with("        ") || line.starts_with("    ");
            let kind = if line.starts_with("const ") && before.contains('=') {
                "constant"
            } else if context.is_static && (before.ends_with(": ") || before.ends_with("= ")) {
                "field of a static"
            } else if context.is_static
                && (before.ends_with(['[', ' ', '(']) && !before.ends_with("; "))
            {
                "element of a static"
            } else if is_fn_body
                && (before.ends_with("..") || before.ends_with("> ") || before.ends_with("< "))
                && !after.starts_with(" <")
            {
                context.kind
            } else {
                continue;
            };
            let kind = match () {
                () if path.starts_with("part/") => "dependency",
                () if path == "build.rs" => "build script",
                () if has_extension(path, "c") && kind == context.kind => "C code",
                () => kind,
            };
            let old: usize = line[place.clone()].parse().unwrap_or(0);
            let new = [old * 2 + 1, old + 3, old.saturating_sub(1).max(1)][self.random.below(3)];
            if new != old {
                self.line(kind, path, number, &format!("{before}{new}{after}"));
            }
        }
        if context.is_static && line.contains("= [up, down") {
            self.line("vtable entry", path, number, &line.replace("[up, down", "[down, up"));
        }
        if context.is_static && line.contains("= [in_thread, rarely") {
            self.line(
                "vtable entry",
                path,
                number,
                &line.replace("in_thread, rarely", "in_thread, in_thread"),
            );
        }
        if context.is_static && line.contains("{ add, never }") {
            self.line("vtable entry", path, number, &line.replace("add, never", "add, add"));
        }
    }

    fn of_attributes(&mut self, path: &str, number: usize, line: &str, text: &str) {
        for (old, new) in [
            ("#[inline(never)]", "#[inline]"),
            ("#[inline(never)]", "#[inline(always)]"),
            ("#[inline(always)]", "#[inline]"),
            ("#[inline]", "#[inline(never)]"),
            ("#[cold]", "#[allow(unused)]"),
            ("#[derive(Clone)]", "#[derive(Clone, Debug)]"),
            ("__attribute__((noinline)) unsigned", "unsigned"),
        ] {
            if line.contains(old) {
                self.line("attribute", path, number, &line.replace(old, new));
            }
        }
        let file = path.trim_start_matches("src/").trim_end_matches(".rs");
        let users = format!("skips::{file}::");
        let mut aligned = Vec::new();
        if line == "#[repr(align(8))]" {
            aligned = ["16", "64", "4096"].map(|to| (line.replace('8', to), "Numbers")).to_vec();
        } else if let Some(name) =
            line.strip_prefix("pub struct ").and_then(|rest| rest.strip_suffix(" {"))
        {
            aligned = ["16", "64", "128"]
                .map(|to| (format!("#[repr(align({to}))]\n{line}"), name))
                .to_vec();
        } else if line.contains("aligned(8)") {
            aligned = ["32", "64"]
                .map(|to| (line.replace("aligned(8)", &format!("aligned({to})")), ""))
                .to_vec();
        }
        for (new, of_type) in aligned {
            let declared = text.lines().find_map(|line| {
                let (name, rest) = line.strip_prefix("static ")?.split_once(": ")?;
                rest.starts_with(of_type).then(|| name.to_owned())
            });
            let of_c = has_extension(path, "c");
            let Some(symbol) = declared.or_else(|| of_c.then(|| "aligned".to_owned())) else {
                continue;
            };
            self.line("alignment", path, number, &new);
            let users = if of_c { "c_square".to_owned() } else { users.clone() };
            if let Some(mutant) = self.found.last_mut() {
                mutant.aligned = Some(Aligned { symbol, users });
            }
        }
    }

    fn of_texts(&mut self, path: &str, number: usize, line: &str) {
        if path == "build.rs" {
            return;
        }
        let is_panic =
            ["panic!(\"", "expect(\"", "assert!("].iter().any(|start| line.contains(start));
        let text_of = |start: &str| {
            let from = line.find(start)? + start.len();
            Some(from..from + line[from..].find('"')?)
        };
        if is_panic && let Some(place) = text_of("\"") {
            for new in [
                format!("{} indeed", &line[place.clone()]),
                line[place.clone()].replacen('e', "E", 1),
            ] {
                let (before, after) = (&line[..place.start], &line[place.end..]);
                self.line("panic message", path, number, &format!("{before}{new}{after}"));
            }
        } else if line.starts_with("static ")
            && let Some(place) = text_of("= \"")
        {
            for new in [
                format!("{} and awake", &line[place.clone()]),
                line[place.clone()].replace('o', "0"),
            ] {
                let (before, after) = (&line[..place.start], &line[place.end..]);
                self.line("text of a static", path, number, &format!("{before}{new}{after}"));
            }
        } else if line.starts_with("    file: \"") {
            self.line("text of a static", path, number, &line.replace("corpus", "samples"));
            self.line("text of a static", path, number, &line.replace("corpus.rs", "corpus.txt"));
        }
    }

    fn of_data(&mut self, path: &str, text: &str) {
        if path == "rounds.txt" {
            self.add("data file", format!("{path}: another number"), &[(path, "31\n".to_owned())]);
            self.add("data file", format!("{path}: one line more"), &[(path, format!("{text}\n"))]);
            return;
        }
        self.add("data file", format!("{path}: four times as long"), &[(path, text.repeat(4))]);
        self.add(
            "data file",
            format!("{path}: another letter"),
            &[(path, text.replacen(|_| true, "#", 1))],
        );
        if path == "data/first.txt" {
            for name in ["data/optional.txt", "data/other.txt"] {
                self.add("data file", format!("{name}: new"), &[(name, text.to_owned())]);
            }
        }
    }

    /// Changes of Cargo.toml and of cargo's configuration.
    fn of_package(&mut self) {
        let manifest = self.files["Cargo.toml"].clone();
        let edited = |old: &str, new: &str| manifest.replacen(old, new, 1);
        for (kind, old, new) in [
            ("feature", "more = []", "more = []\ndefault = [\"more\"]"),
            ("feature", "more = []", "more = []\nspare = []"),
            ("feature", "more = []", "more = []\nspare = []\ndefault = [\"spare\"]"),
            ("dependency", "{ path = \"part\" }", "{ path = \"part\", features = [\"wide\"] }"),
            ("dependency", "{ path = \"part\" }", "{ path = \"part\", version = \"1\" }"),
            ("profile", "opt-level = 1", "opt-level = 2"),
            ("profile", "opt-level = 1", "opt-level = 1\noverflow-checks = true"),
            ("profile", "opt-level = 1", "opt-level = 1\ndebug = \"line-tables-only\""),
            ("profile", "codegen-units = 1", "codegen-units = 2"),
            ("profile", "opt-level = 1", "opt-level = 1\nincremental = false"),
            ("metadata", "publish = false", "publish = false\ndescription = \"Mutants\""),
            ("metadata", "edition = \"2021\"", "edition = \"2024\""),
        ] {
            self.add(
                kind,
                format!("Cargo.toml: `{old}` -> `{}`", new.replace('\n', " ")),
                &[("Cargo.toml", edited(old, new))],
            );
        }
        let lock = self.files["Cargo.lock"].clone();
        let newer = self.files["part/Cargo.toml"].replace("1.0.0", "1.0.1");
        let relocked = lock.replace(
            "name = \"part\"\nversion = \"1.0.0\"",
            "name = \"part\"\nversion = \"1.0.1\"",
        );
        self.add(
            "dependency",
            "part/Cargo.toml: version 1.0.1".into(),
            &[("part/Cargo.toml", newer), ("Cargo.lock", relocked)],
        );
        let spare = self.files["part/Cargo.toml"].replace("\"part\"", "\"spare\"");
        let relocked = lock.replacen(" \"part\",\n", " \"part\",\n \"spare\",\n", 1)
            + "\n[[package]]\nname = \"spare\"\nversion = \"1.0.0\"\n";
        self.add(
            "dependency",
            "Cargo.toml: one more, which is not used".into(),
            &[
                (
                    "Cargo.toml",
                    edited(
                        "{ path = \"part\" }",
                        "{ path = \"part\" }\nspare = { path = \"spare\" }",
                    ),
                ),
                ("spare/Cargo.toml", spare),
                (
                    "spare/src/lib.rs",
                    "//! Is not used.\n\n/// Nobody calls it.\npub fn spare() {}\n".into(),
                ),
                ("Cargo.lock", relocked),
            ],
        );
        for (kind, config) in [
            ("variable", "[env]\nSKIPS_ROUNDS = \"52\""),
            ("variable", "[env]\nSKIPS_UNREAD = \"1\""),
            ("flag of rustc", "[build]\nrustflags = [\"--cfg\", \"flag_of_skips\"]"),
        ] {
            let shown = config.replace('\n', " ");
            self.add(
                kind,
                format!(".cargo/config.toml: {shown}"),
                &[(".cargo/config.toml", format!("{config}\n"))],
            );
        }
    }

    /// Other settings of the same files.
    fn of_settings(&mut self, kind: &ProjectKind) {
        let variable = |name: &str, value: &str| ("variable", Settings::variable(name, value));
        let mut all = vec![
            variable("SKIPS_ROUNDS", "61"),
            variable("SKIPS_UNREAD", "2"),
            variable("RUST_BACKTRACE", "1"),
        ];
        all.extend(kind.variables.iter().map(|(name, value)| variable(name, value)));
        all.push(("feature", Settings::feature("more")));
        all.push(("feature", Settings::feature("part/wide")));
        if kind.is_quick_to_compile {
            for (kind, flags) in [
                ("flag of rustc", &["--cfg", "flag_of_skips"][..]),
                ("flag of rustc", &["-Cforce-frame-pointers=yes"]),
                ("flag of rustc", &["-Ctarget-cpu=x86-64-v3"]),
                ("flag of rustc", &["--cap-lints", "warn"]),
                ("flag of the linker", &["-Clink-arg=-Wl,-z,norelro"]),
                ("flag of the linker", &["-Clink-arg=-Wl,--hash-style=both"]),
                ("flag of the linker", &["-Clink-arg=-Wl,-O2"]),
            ] {
                all.push((kind, Settings::rustflags(flags)));
            }
            for (key, value) in [
                ("opt-level", "2"),
                ("debug-assertions", "true"),
                ("lto", "\"fat\""),
                ("debug", "1"),
                ("rpath", "true"),
            ] {
                all.push(("profile", Settings::profile(kind.profile, key, value)));
            }
        }
        for (kind, settings) in all {
            let what = settings.to_string();
            self.found.push(Mutant {
                kind,
                what,
                change: Change::Settings(settings),
                aligned: None,
            });
        }
    }
}

/// Where a line of source stands.
struct Context {
    is_static: bool,
    /// The kind of a change in the code here.
    kind: &'static str,
}

impl Default for Context {
    fn default() -> Self {
        Self { is_static: false, kind: "constant" }
    }
}

impl Context {
    fn enter(&mut self, line: &str) {
        let is_static = line.starts_with("static ") && line.contains(": ")
            || line.starts_with("static const")
            || line.starts_with("static unsigned") && line.contains(" = ")
            || line.starts_with("unsigned long (*const");
        if is_static {
            self.is_static = true;
        } else if !line.starts_with(' ') {
            self.is_static = false;
        }
        if line.starts_with("impl ") && line.contains(" for ") || line.starts_with("pub trait ") {
            self.kind = "vtable entry";
        } else if line.trim_start().starts_with("#[inline") && !line.contains("never") {
            self.kind = "inlined callee";
        } else if line == "#[cold]" {
            self.kind = "code that is not executed";
        } else if line == "}" {
            self.kind = "constant";
        }
    }
}

/// The places of whole numbers outside of texts.
fn numbers(line: &str) -> Vec<std::ops::Range<usize>> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let (mut index, mut is_text) = (0, false);
    while index < bytes.len() {
        is_text ^= bytes[index] == b'"';
        let start = index;
        while index < bytes.len() && bytes[index].is_ascii_digit() {
            index += 1;
        }
        if index == start {
            index += 1;
            continue;
        }
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let is_name = start > 0
            && (is_part(&bytes[start - 1])
                || bytes[start - 1] == b'.' && !line[..start].ends_with(".."));
        if !is_text && !is_name && !bytes.get(index).is_some_and(is_part) {
            found.push(start..index);
        }
    }
    found
}

/// Replaces a word wherever it stands alone.
fn words_replaced(text: &str, old: &str, new: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut changed = String::new();
    let mut rest = text;
    while let Some(place) = rest.find(old) {
        let (before, after) = (&rest[..place], &rest[place + old.len()..]);
        // Methods of other types may have the same name.
        let is_alone =
            !before.ends_with(is_part) && !before.ends_with('.') && !after.starts_with(is_part);
        changed.push_str(before);
        changed.push_str(if is_alone { new } else { old });
        rest = after;
    }
    changed + rest
}
