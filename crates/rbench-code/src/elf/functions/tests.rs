//! Which changes alter the digest of a function, and which do not.

// Their objects are assembled for x86-64; `stored` has some of aarch64.
#[cfg(target_arch = "x86_64")]
mod assembled;
mod damage;
mod inputs;
#[cfg(target_arch = "x86_64")]
mod reached;
mod stored;

use super::super::diff::FunctionDiff;
use super::super::testing::{Scratch, all_kept};
use super::*;
use crate::elf::placement::kept_functions;

/// The functions of one object, as if the linker kept all of them.
fn set_of(object: &[u8]) -> FunctionSet {
    FunctionSet::from_link_inputs(
        [("object.o", object)],
        &all_kept(&[object]),
        &PrintedLocations::all_in("object.rs"),
    )
}

fn rust_diff(base: &str, head: &str, options: &[&str]) -> FunctionDiff {
    let scratch = Scratch::new();
    let set = |source| set_of(&scratch.rust_object("object", source, options));
    FunctionSet::diff(&set(base), &set(head))
}

fn c_diff(base: &str, head: &str, options: &[&str]) -> FunctionDiff {
    let scratch = Scratch::new();
    // For aarch64, GCC would address all data of a file from one place, and keep values in registers that a function of the
    // same file does not use: code would really change with that of others.
    let options = &[&["-O2", "-fno-section-anchors", "-fno-ipa-ra"], options].concat();
    let set = |source| set_of(&scratch.c_object("object", source, options));
    FunctionSet::diff(&set(base), &set(head))
}

#[track_caller]
fn assert_changed(diff: &FunctionDiff, changed: &[&str]) {
    let names: Vec<_> = diff.changed.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, changed, "{diff:#?}");
    assert!(diff.removed.is_empty(), "{diff:#?}");
    assert!(diff.unchanged > 0, "{diff:#?}");
}

/// Constants of many kinds: format strings, locations, tables of strings, floats, a jump table.
const RUST: &str = r#"
#[inline(never)] pub fn greet(name: &str) -> String { format!("hello, {name}! {}", name.len()) }
#[inline(never)] pub fn item(items: &[u32], index: usize) -> u32 { items[index] }
#[inline(never)] pub fn word(index: usize) -> &'static str { ["zero", "one", "two", "three"][index & 3] }
#[inline(never)] pub fn area(radius: f64) -> f64 { radius * radius * 3.14159265 }
#[inline(never)] pub fn parse(text: &str) -> u32 { text.parse().expect("a number") }
#[inline(never)] pub fn show(x: &dyn std::fmt::Debug) -> String { format!("{x:?}") }
#[inline(never)] pub fn shows(x: u32) -> String { show(&(x, "pair")) }
#[inline(never)] pub fn pick(x: u32, y: u32) -> u32 {
    match x { 0 => y, 1 => y ^ 7, 2 => y.pow(3), 3 => y / 3, 4 => y % 5, 5 => !y, 6 => y << 2, _ => 0 }
}
"#;

const UNRELATED: &str = r#"
pub fn unrelated(x: &[f32], index: usize) -> String {
    assert!(x.len() > 3, "too few of {x:?}");
    format!("{:?} and {}", [2.5, 1.25].get(index), x[index] * 7.5)
}
"#;

#[test]
fn added_rust_function_changes_no_other() {
    for options in [&[][..], &["-Csymbol-mangling-version=v0"], &["-Crelocation-model=static"]] {
        let diff = rust_diff(RUST, &[UNRELATED, RUST].concat(), options);
        assert_changed(&diff, &[]);
        assert!(diff.added.iter().any(|function| function.name.as_str() == "object::unrelated"));
    }
}

#[test]
fn crate_hash_changes_no_function() {
    let scratch = Scratch::new();
    let set = |salt: &str, mangling: &str| {
        set_of(&scratch.rust_object("object", RUST, &[&format!("-Cmetadata={salt}"), mangling]))
    };
    for mangling in ["-Csymbol-mangling-version=v0", "-Copt-level=2"] {
        let (base, head) = (set("one", mangling), set("two", mangling));
        let diff = FunctionSet::diff(&base, &head);
        assert!(diff.is_empty() && diff.unchanged > 8, "{diff:#?}");
        let instances = |set: &FunctionSet| -> Vec<u64> {
            set.functions().iter().map(|function| function.instance).collect()
        };
        assert_ne!(instances(&base), instances(&head));
    }
}

#[test]
fn changed_constant_changes_only_the_function_that_uses_it() {
    for (old, new, function) in [
        ("hello, ", "howdy, ", "object::greet"),
        ("\"two\"", "\"2wo\"", "object::word"),
        ("3.14159265", "3.14159266", "object::area"),
        ("a number", "a nombre", "object::parse"),
        ("\"pair\"", "\"pear\"", "object::shows"),
        ("y ^ 7", "y ^ 9", "object::pick"),
    ] {
        let diff = rust_diff(RUST, &RUST.replace(old, new), &[]);
        assert_changed(&diff, &[function]);
    }
}

#[test]
fn call_of_another_function_changes_the_caller() {
    let source = "unsafe extern \"C\" { fn one(); fn two(); }
        #[inline(never)] pub fn keep() {}
        #[inline(never)] pub fn call() { unsafe { one() } }";
    let diff = rust_diff(source, &source.replace("one() }", "two() }"), &[]);
    assert_changed(&diff, &["object::call"]);
}

/// Static data with and without names, strings, a jump table, and local calls, all in `.text`.
const C: &str = r#"
#include <stdio.h>
static int calls;
static const char *const words[] = {"zero", "one", "two", "three"};
const char *word(int i) { calls++; return words[i & 3]; }
__attribute__((noinline)) static int cube(int x) { return x * x * x; }
int count(void) { static int hidden[40]; static int seen; hidden[seen & 31]++; return seen += calls; }
double area(double r) { return r * r * 3.14159265; }
void greet(const char *name) { printf("hello, %s %d\n", name, cube(calls)); }
void f0(int); void f1(int); void f2(int);
void pick(int x, int y) {
    switch (x) {
    case 0: f0(y); break; case 1: f1(y); break; case 2: f2(y ^ 7); break; case 3: f1(y + 1); f0(2); break;
    case 4: f2(y / 3); break; case 5: f0(y * 9); break; case 6: f1(~y); f2(1); break; default: f0(0);
    }
}
"#;

const C_UNRELATED: &str = r#"
extern int printf(const char *, ...);
static int other_calls[7];
__attribute__((noinline)) double unrelated(int x) {
    static int seen; seen++; other_calls[x]++;
    printf("unrelated %d\n", x); return x * 2.71828;
}
"#;

#[test]
fn added_c_function_in_a_shared_section_changes_no_other() {
    for options in [&[][..], &["-fno-pic"], &["-fPIC"], &["-ffunction-sections", "-fdata-sections"]]
    {
        let diff = c_diff(C, &[C_UNRELATED, C].concat(), options);
        assert_changed(&diff, &[]);
        assert_eq!(diff.unchanged, 6);
        assert_eq!(diff.added[0].name.as_str(), "unrelated");
    }
}

#[test]
fn changed_c_constant_changes_the_function_that_uses_it() {
    for (old, new, function) in [
        ("hello", "howdy", "greet"),
        ("3.14159265", "3.14159266", "area"),
        ("y ^ 7", "y ^ 9", "pick"),
        ("x * x * x", "x * x + x", "cube"),
    ] {
        assert_changed(&c_diff(C, &C.replace(old, new), &[]), &[function]);
    }
}

#[test]
fn function_sections_change_no_function() {
    let scratch = Scratch::new();
    let together = set_of(&scratch.c_object("object", C, &["-O2"]));
    let apart = set_of(&scratch.c_object("object", C, &["-O2", "-ffunction-sections"]));
    let diff = FunctionSet::diff(&together, &apart);
    assert!(diff.is_empty(), "{diff:#?}");
}
