use super::super::diff::FunctionDiff;
use super::super::kept::kept_functions;
use super::super::testing::{Scratch, all_kept};
use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;

/// The functions of one object, all of them kept.
fn set_of(object: &[u8]) -> FunctionSet {
    FunctionSet::from_link_inputs([("object.o", object)], &all_kept(&[object]))
}

fn rust_diff(base: &str, head: &str, options: &[&str]) -> FunctionDiff {
    let scratch = Scratch::new();
    let set = |source| set_of(&scratch.rust_object("object", source, options));
    FunctionSet::diff(&set(base), &set(head))
}

fn c_diff(base: &str, head: &str, options: &[&str]) -> FunctionDiff {
    let scratch = Scratch::new();
    let options = &[&["-O2"], options].concat();
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

/// Constants of many kinds: formats, locations, tables of strings, floats, a table of jumps.
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
fn an_added_rust_function_changes_no_other() {
    for options in [&[][..], &["-Csymbol-mangling-version=v0"], &["-Crelocation-model=static"]] {
        let diff = rust_diff(RUST, &[UNRELATED, RUST].concat(), options);
        assert_changed(&diff, &[]);
        assert!(diff.added.iter().any(|function| function.name.as_str() == "object::unrelated"));
    }
}

#[test]
fn the_hash_of_a_crate_does_not_matter() {
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
fn a_changed_constant_changes_the_function_that_uses_it_and_no_other() {
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
fn a_call_of_another_function_is_another_code() {
    let source = "unsafe extern \"C\" { fn one(); fn two(); }
        #[inline(never)] pub fn keep() {}
        #[inline(never)] pub fn call() { unsafe { one() } }";
    let diff = rust_diff(source, &source.replace("one() }", "two() }"), &[]);
    assert_changed(&diff, &["object::call"]);
}

/// Static data with and without names, strings, a table of jumps, and local calls, all in `.text`.
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
fn an_added_c_function_changes_no_other_though_all_share_a_section() {
    for options in [&[][..], &["-fno-pic"], &["-fPIC"], &["-ffunction-sections", "-fdata-sections"]]
    {
        let diff = c_diff(C, &[C_UNRELATED, C].concat(), options);
        assert_changed(&diff, &[]);
        assert_eq!(diff.unchanged, 6);
        assert_eq!(diff.added[0].name.as_str(), "unrelated");
    }
}

#[test]
fn a_changed_c_constant_changes_the_function_that_uses_it() {
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
fn it_does_not_matter_whether_each_function_has_a_section_of_its_own() {
    let scratch = Scratch::new();
    let together = set_of(&scratch.c_object("object", C, &["-O2"]));
    let apart = set_of(&scratch.c_object("object", C, &["-O2", "-ffunction-sections"]));
    let diff = FunctionSet::diff(&together, &apart);
    assert!(diff.is_empty(), "{diff:#?}");
}

/// A function in one object that refers to a constant which thin LTO put into another.
fn promoted(number: u32, content: &str) -> FunctionSet {
    let scratch = Scratch::new();
    let name = format!("anon.0123456789abcdef0123456789abcdef.{number}.llvm.77{number}");
    let user = scratch.assembled(
        "user",
        &format!(
            ".text\n.type user,@function\nuser:\n lea {name}(%rip),%rax\n ret\n.size user,.-user\n"
        ),
    );
    let constant = scratch.assembled(
        "constant",
        &format!(
            ".section .rodata\n.globl {name}\n.hidden {name}\n.type {name},@object\n{name}:\n \
             .ascii \"{content}\"\n.size {name},.-{name}\n"
        ),
    );
    let inputs = [("user.o", &user[..]), ("constant.o", &constant[..])];
    FunctionSet::from_link_inputs(inputs, &all_kept(&[&user]))
}

#[test]
fn a_constant_in_another_object_counts_by_its_content_and_not_by_its_number() {
    assert_eq!(promoted(1, "content"), promoted(2, "content"));
    let diff = FunctionSet::diff(&promoted(1, "content"), &promoted(1, "Content"));
    assert_eq!(diff.changed.len(), 1);
}

#[test]
fn a_constant_that_refers_to_itself_has_a_digest() {
    let source = ".text\n.type user,@function\nuser:\n lea .Lring(%rip),%rax\n ret\n.size user,.-user\n\
        .section .data.rel.ro,\"aw\"\n.Lring:\n .quad .Lnext\n.Lnext:\n .quad .Lring\n .quad user\n";
    let scratch = Scratch::new();
    let base = set_of(&scratch.assembled("ring", source));
    assert_eq!(base.functions().len(), 1);
    let shifted = source.replace("\"aw\"\n", "\"aw\"\n .quad 5\n");
    assert_eq!(set_of(&scratch.assembled("ring", &shifted)), base);
}

#[test]
fn an_assembler_function_without_a_size_ends_where_the_next_begins() {
    let source = ".text\n.globl a, b\n.type a,@function\n.type b,@function\n\
        a: nop\n nop\n ret\nb: ret\n";
    let object = Scratch::new().assembled("object", source);
    let sizes: Vec<_> = set_of(&object).functions().iter().map(|function| function.size).collect();
    assert_eq!(sizes, [3, 1]);
}

#[test]
fn an_object_with_more_sections_than_sixteen_bits_number_is_read() {
    let sections = (0..65_600).map(|index| format!(".section .text.f{index},\"ax\"\n"));
    let mut source: String = sections.collect();
    source += ".globl last\n.type last,@function\nlast: call elsewhere\n ret\n.size last,.-last\n";
    let object = Scratch::new().assembled("object", &source);
    let set = set_of(&object);
    assert_eq!(set.functions().len(), 1);
    assert_eq!(set.functions()[0].size, 6);
}

const WEAK: &str = "__attribute__((weak)) int both(int x) { return x * 5; }\n";

#[test]
fn of_weak_duplicates_as_many_count_as_the_linker_kept() {
    let scratch = Scratch::new();
    scratch.c_object("first", &[WEAK, "int first(int x) { return both(x); }"].concat(), &["-O1"]);
    scratch.c_object("second", &[WEAK, "int second(int x) { return both(x); }"].concat(), &["-O1"]);
    let main = "int first(int), second(int);\nint main(int argc, char **argv) { return first(argc) + second(argc); }";
    let main_object = scratch.c_object("main", main, &["-O1"]);
    let archive = scratch.archive("libboth.a", "crs", &["first.o", "second.o"]);
    let program = scratch.c_program("main", main, &["-O1", "libboth.a"]);
    let inputs = [("main.o", &main_object[..]), ("libboth.a", &archive[..])];
    let set = FunctionSet::from_link_inputs(inputs, &kept_functions(&program).unwrap());
    let names: Vec<_> = set.functions().iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["both", "first", "main", "second"]);
    assert!(set.unseen().iter().any(|name| name.as_str() == "_start"));
    assert_eq!(set.not_comparable(), []);
}

#[test]
fn local_functions_of_one_name_are_counted_one_by_one() {
    let source = |factor: u32, name: &str| {
        format!(
            "__attribute__((noinline)) static int help(int x) {{ return x * {factor}; }}\n\
             int {name}(int x) {{ return help(x) + 1; }}"
        )
    };
    let scratch = Scratch::new();
    let set = |factors: [u32; 2]| {
        let one = scratch.c_object("one", &source(factors[0], "one"), &["-O2"]);
        let two = scratch.c_object("two", &source(factors[1], "two"), &["-O2"]);
        let inputs = [("one.o", &one[..]), ("two.o", &two[..])];
        FunctionSet::from_link_inputs(inputs, &all_kept(&[&one, &two]))
    };
    let diff = FunctionSet::diff(&set([5, 9]), &set([9, 5]));
    assert!(diff.is_empty() && diff.unchanged == 4, "{diff:#?}");
    let diff = FunctionSet::diff(&set([5, 9]), &set([9, 11]));
    assert_changed(&diff, &["help"]);
}

#[test]
fn a_thin_archive_names_its_members_and_is_not_comparable() {
    let scratch = Scratch::new();
    scratch.c_object("first", "int first(int x) { return x; }", &[]);
    let archive = scratch.archive("libthin.a", "crsT", &["first.o"]);
    let set = FunctionSet::from_link_inputs([("libthin.a", &archive[..])], &[]);
    assert_eq!(set.not_comparable()[0].reason, Unreadable::ThinArchive);
    assert_eq!(super::super::thin_archive_members(&archive), ["first.o"]);
}

#[test]
fn bitcode_is_reported_and_metadata_is_passed_over() {
    let scratch = Scratch::new();
    let lto = scratch.rust_object("object", RUST, &["-Clinker-plugin-lto"]);
    let set = FunctionSet::from_link_inputs([("object.o", &lto[..])], &[]);
    assert_eq!(set.not_comparable()[0].reason, Unreadable::Bitcode);

    let rlib = scratch.rust_program("library", RUST, &["--crate-type=rlib"]);
    let set = FunctionSet::from_link_inputs([("library.rlib", &rlib[..])], &[]);
    assert_eq!(set.not_comparable(), []);
}

#[test]
fn a_rust_program_is_known_by_its_library_and_its_objects() {
    let scratch = Scratch::new();
    let library = ["--crate-type=rlib", "-Copt-level=2"];
    let rlib = scratch.rust_program("object", RUST, &library);
    std::fs::rename(scratch.path("object"), scratch.path("libobject.rlib")).unwrap();
    let source = "fn main() { println!(\"{}\", object::greet(\"you\")) }";
    let options = ["-Copt-level=2", "--extern=object=libobject.rlib"];
    let program = scratch.rust_program("program", source, &options);
    let kept = kept_functions(&program).unwrap();
    let set = FunctionSet::from_link_inputs([("libobject.rlib", &rlib[..])], &kept);
    let names: Vec<_> = set.functions().iter().map(|function| function.name.as_str()).collect();
    assert!(names.contains(&"object::greet"), "{names:?}");
    assert!(!names.contains(&"object::pick"), "{names:?}");
}

/// An aarch64 object: `user` loads the address of a constant and calls `callee`.
fn aarch64(constant_name: &str, content: &[u8], callee: &str, padding: usize) -> Vec<u8> {
    use object::elf;
    use object::write::{Object, Relocation, StandardSection, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SymbolFlags};
    use object::{SymbolKind, SymbolScope};

    let mut object = Object::new(BinaryFormat::Elf, Architecture::Aarch64, Endianness::Little);
    let symbol = |name: &str, kind, section, value, size| Symbol {
        name: name.into(),
        value,
        size,
        kind,
        scope: SymbolScope::Compilation,
        weak: false,
        section,
        flags: SymbolFlags::None,
    };
    let text = object.section_id(StandardSection::Text);
    let data = object.section_id(StandardSection::ReadOnlyData);
    let start = object.append_section_data(data, &vec![7; padding], 1) + padding as u64;
    object.append_section_data(data, content, 1);
    let section = SymbolSection::Section(data);
    let size = content.len() as u64;
    let constant = symbol(constant_name, SymbolKind::Data, section, start, size);
    let constant = object.add_symbol(constant);
    let callee = symbol(callee, SymbolKind::Unknown, SymbolSection::Undefined, 0, 0);
    let callee = object.add_symbol(Symbol { scope: SymbolScope::Unknown, ..callee });
    let code: Vec<u8> = [0x9000_0000_u32, 0x9100_0000, 0x9400_0000, 0xd65f_03c0]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    object.append_section_data(text, &code, 4);
    object.add_symbol(symbol("user", SymbolKind::Text, SymbolSection::Section(text), 0, 16));
    for (offset, symbol, r_type) in [
        (0, constant, elf::R_AARCH64_ADR_PREL_PG_HI21),
        (4, constant, elf::R_AARCH64_ADD_ABS_LO12_NC),
        (8, callee, elf::R_AARCH64_CALL26),
    ] {
        let flags = RelocationFlags::Elf { r_type };
        object.add_relocation(text, Relocation { offset, symbol, addend: 0, flags }).unwrap();
    }
    object.write().unwrap()
}

#[test]
fn aarch64_functions_are_digested_by_the_same_rules() {
    let base = set_of(&aarch64(".Lanon.0.1", b"content", "callee", 0));
    assert_eq!(base.functions().len(), 1);
    assert_eq!(set_of(&aarch64(".Lanon.0.2", b"content", "callee", 24)), base);
    assert_ne!(set_of(&aarch64(".Lanon.0.1", b"Content", "callee", 0)), base);
    assert_ne!(set_of(&aarch64(".Lanon.0.1", b"content", "other", 0)), base);
}

static REAL: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let scratch = Scratch::new();
    let rust = scratch.rust_object("object", RUST, &[]);
    let c = scratch.c_object("object", C, &["-O2"]);
    let archive = scratch.archive("libobject.a", "crs", &["object.o"]);
    [rust, c, archive]
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), start in 0..4_usize) {
        let start: &[u8] = [&b"\x7fELF\x02\x01\x01"[..], b"!<arch>\n", b"BC\xc0\xde", b""][start];
        let bytes = [start, &bytes].concat();
        let set = FunctionSet::from_link_inputs([("garbage", &bytes[..])], &[]);
        prop_assert_eq!(set.functions().len(), 0);
        prop_assert!(kept_functions(&bytes).is_err());
        prop_assert!(super::super::loadable_digest(&bytes).is_err());
        super::super::thin_archive_members(&bytes);
    }

    #[test]
    fn no_damage_to_real_objects_makes_it_panic(
        which in 0..3_usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
        kept_bytes in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let kept = all_kept(&[&REAL[0], &REAL[1]]);
        let mut bytes = REAL[which].clone();
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(length) = kept_bytes {
            bytes.truncate(length.index(bytes.len()));
        }
        let set = FunctionSet::from_link_inputs([("damaged", &bytes[..])], &kept);
        prop_assert!(set.functions().len() <= kept.len());
    }
}

#[test]
fn a_set_is_stored_as_names_with_instance_size_and_digest() {
    let function = |name: &str, size| FunctionCode {
        name: Name::of(name),
        instance: 7,
        size,
        digest: Digest::of(name.as_bytes()),
    };
    let reason = Unreadable::Bitcode;
    let set = FunctionSet {
        functions: vec![function("a", 16), function("b", 3)],
        not_comparable: vec![NotComparable { input: "lto.o".to_owned(), reason }],
        unseen: vec![Name::of("_start")],
    };
    let json = serde_json::to_string(&set).unwrap();
    assert_eq!(
        json,
        "{\"functions\":[[\"a\",7,16,\"17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f\"],\
         [\"b\",7,3,\"10e5cf3d3c8a4f9f3468c8cc58eea84892a22fdadbc1acb22410190044c1d553\"]],\
         \"not-comparable\":[{\"input\":\"lto.o\",\"reason\":\"bitcode\"}],\"unseen\":[\"_start\"]}"
    );
    assert_eq!(serde_json::from_str::<FunctionSet>(&json).unwrap(), set);
}
