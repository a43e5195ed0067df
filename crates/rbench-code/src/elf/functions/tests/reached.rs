//! Direct and indirect references of a function, and code that runs without any reference.

use super::super::super::diff::Cause;
use super::*;

/// The difference between two objects of assembler.
fn assembled_diff(base: &str, head: &str) -> FunctionDiff {
    let scratch = Scratch::new();
    let set = |source| set_of(&scratch.assembled("object", source));
    FunctionSet::diff(&set(base), &set(head))
}

/// A function with this code.
fn function(name: &str, code: &str) -> String {
    format!(
        ".section .text.{name},\"ax\"\n.globl {name}\n.type {name},@function\n{name}:\n {code}\n ret\n\
         .size {name},.-{name}\n"
    )
}

/// A piece of data in a separate section.
fn data(section: &str, name: &str, contents: &str) -> String {
    format!(
        ".section {section}.{name},\"aw\"\n.globl {name}\n.type {name},@object\n{name}:\n {contents}\n\
         .size {name},.-{name}\n"
    )
}

#[test]
fn changed_static_changes_only_its_readers() {
    let source = "static TABLE: [u32; 4] = [1, 2, 3, 4];\nstatic OTHER: [u32; 4] = [1, 2, 3, 5];\n\
        #[inline(never)] pub fn reads(x: usize) -> u32 { TABLE[x & 3] }\n\
        #[inline(never)] pub fn calls(x: usize) -> u32 { reads(x) + reads(x + 1) }\n\
        #[inline(never)] pub fn other(x: usize) -> u32 { OTHER[x & 3] }\n";
    for options in [&[][..], &["-Csymbol-mangling-version=v0"], &["-Copt-level=0"]] {
        let diff = rust_diff(source, &source.replace("3, 4]", "3, 9]"), options);
        assert_changed(&diff, &["object::reads"]);
        assert_eq!(diff.changed[0].cause, Cause::Data(Some(Name::demangle("object::TABLE"))));
        assert!(diff.elsewhere.is_empty(), "{diff:#?}");
        let renamed = source.replace("TABLE", "NUMBERS");
        assert!(rust_diff(source, &renamed, options).is_empty());
    }
}

#[test]
fn changed_function_table_changes_its_readers() {
    let of = |callee: &str| {
        function("one", "nop")
            + &function("two", "nop\n nop")
            + &function("user", "call *table(%rip)")
            + &function("caller", "call user")
            + &data(".data.rel.ro", "table", &format!(".quad {callee}"))
    };
    let diff = assembled_diff(&of("one"), &of("two"));
    assert_changed(&diff, &["user"]);
    let edited = of("one").replace(" nop\n ret", " nop\n nop\n nop\n ret");
    assert_changed(&assembled_diff(&of("one"), &edited), &["one", "two"]);
}

#[test]
fn changed_trait_method_leaves_its_caller_unchanged() {
    let source = "pub trait Shape { fn area(&self) -> u32; fn twice(&self) -> u32 { self.area() * 2 } }\n\
        struct Square(u32); struct Line;\n\
        impl Shape for Square { fn area(&self) -> u32 { self.0 * self.0 } }\n\
        impl Shape for Line { fn area(&self) -> u32 { 0 } }\n\
        #[inline(never)] pub fn make(x: u32) -> Box<dyn Shape> { if x > 0 { Box::new(Square(x)) } else { Box::new(Line) } }\n\
        #[inline(never)] pub fn call(shape: &dyn Shape) -> u32 { shape.area() ^ shape.twice() }\n";
    let diff = rust_diff(source, &source.replace("self.0 * self.0", "self.0 * 3"), &[]);
    let names: Vec<_> = diff.changed.iter().map(|function| function.name.as_str()).collect();
    assert!(names.contains(&"<object::Square as object::Shape>::area"), "{names:?}");
    assert!(!names.contains(&"object::call") && !names.contains(&"object::make"), "{names:?}");
    let head = source.replace(
        "for Line { fn area(&self) -> u32 { 0 }",
        "for Line { fn area(&self) -> u32 { 0 } fn twice(&self) -> u32 { 7 }",
    );
    let diff = rust_diff(source, &head, &[]);
    let make = diff.changed.iter().find(|function| function.name.as_str() == "object::make");
    assert!(make.is_some_and(|make| make.cause == Cause::Data(None)), "{diff:#?}");
    assert!(diff.changed.iter().all(|function| function.name.as_str() != "object::call"));
}

#[test]
fn caller_of_another_namesake_is_changed() {
    let legacy = |hash: char| format!("_ZN6object4sort17h{}E", hash.to_string().repeat(16));
    let of = |callee: char| {
        function(&legacy('a'), "nop")
            + &function(&legacy('b'), "nop\n nop")
            + &function("user", &format!("call {}@PLT", legacy(callee)))
            + &function("other", &format!("call {}@PLT", legacy('a')))
    };
    let diff = assembled_diff(&of('a'), &of('b'));
    assert_changed(&diff, &["user"]);
    assert_eq!(diff.changed[0].callees_gained, [Name::demangle("object::sort")]);
    assert_eq!(diff.changed[0].callees_lost, [Name::demangle("object::sort")]);
    assert!(assembled_diff(&of('a'), &of('a')).is_empty());
}

#[test]
fn caller_of_another_copy_is_unchanged() {
    let copy = |user: &str| {
        let copy = function("help", "nop").replace(".globl help\n", "");
        function(user, "call help") + &copy.replace(".text.help", &format!(".text.help.{user}"))
    };
    let scratch = Scratch::new();
    let set = |users: &[&str]| {
        let objects = users.iter().map(|user| scratch.assembled(user, &copy(user)));
        let objects: Vec<Vec<u8>> = objects.collect();
        let objects: Vec<&[u8]> = objects.iter().map(Vec::as_slice).collect();
        let inputs = objects.iter().map(|object| ("object.o", *object));
        FunctionSet::from_link_inputs(inputs, &all_kept(&objects), &PrintedLocations::default())
    };
    let diff = FunctionSet::diff(&set(&["one", "three"]), &set(&["one", "two", "three"]));
    assert_changed(&diff, &[]);
    assert_eq!(diff.added.len(), 2, "{diff:#?}");
}

#[test]
fn callees_gained_and_lost_are_named() {
    let of =
        |code: &str| function("one", "nop") + &function("two", "nop") + &function("user", code);
    let diff = assembled_diff(&of("call one\n call memcpy"), &of("call two\n call memcpy\n nop"));
    assert_changed(&diff, &["user"]);
    assert_eq!(diff.changed[0].callees_gained, [Name::demangle("two")]);
    assert_eq!(diff.changed[0].callees_lost, [Name::demangle("one")]);
}

#[test]
fn data_that_refers_to_itself_is_compared_once() {
    let of = |number: u32| {
        function("user", "lea ring(%rip),%rax")
            + &function("other", "nop")
            + &data(".data.rel.ro", "ring", ".quad next")
            + &data(".data.rel.ro", "next", &format!(".quad ring, {number}, user"))
    };
    assert!(assembled_diff(&of(1), &of(1)).is_empty());
    let diff = assembled_diff(&of(1), &of(2));
    assert_changed(&diff, &["user"]);
}

#[test]
fn deeply_nested_constant_counts() {
    let of = |number: u32| {
        let mut source = function("user", "lea c0(%rip),%rax") + &function("other", "nop");
        for index in 0..50 {
            let contents = format!(".quad c{}", index + 1);
            source += &data(".data.rel.ro", &format!("c{index}"), &contents);
        }
        source + &data(".rodata", "c50", &format!(".quad {number}"))
    };
    assert_changed(&assembled_diff(&of(1), &of(2)), &["user"]);
    assert!(assembled_diff(&of(1), &of(1)).is_empty());
}

#[test]
fn equal_variables_are_distinguished_if_written() {
    let of = |variable: &str| {
        function("one", "incl first(%rip)")
            + &function("two", &format!("incl {variable}(%rip)"))
            + ".bss\n.globl first, second\n.type first,@object\n.type second,@object\n\
               first: .zero 4\n.size first,4\nsecond: .zero 4\n.size second,4\n"
    };
    assert_changed(&assembled_diff(&of("first"), &of("second")), &["two"]);
    assert!(assembled_diff(&of("second"), &of("second")).is_empty());
}

#[test]
fn jump_into_a_function_makes_its_contents_count() {
    let of = |code: &str| {
        function("user", "jmp part+1") + &function("part", code) + &function("calls", "call part")
    };
    let diff = assembled_diff(&of("nop\n nop"), &of("nop\n nop\n nop"));
    assert_changed(&diff, &["part", "user"]);
}

#[test]
fn function_called_before_main_is_named() {
    let all = function("one", "nop") + &function("two", "nop\n nop");
    let with = |list: &str| format!("{all}.section .init_array,\"aw\"\n{list}");
    let base = with(".quad one\n");
    for list in [".quad one\n.quad two\n", ".quad two\n"] {
        let diff = assembled_diff(&base, &with(list));
        assert_eq!(diff.elsewhere, ["the section .init_array"], "{list}");
        assert!(diff.is_empty());
    }
    assert!(assembled_diff(&base, &base).elsewhere.is_empty());
    // The change of the function itself is noticed where it is entered.
    let edited = base.replacen(" nop\n", " nop\n nop\n nop\n", 1);
    let diff = assembled_diff(&base, &edited);
    assert_changed(&diff, &["one"]);
    assert!(diff.elsewhere.is_empty(), "{diff:#?}");
}

#[test]
fn section_that_the_linker_collects_by_name_is_named() {
    let all = function("one", "nop");
    let with = |number: u32| format!("{all}.section collected,\"a\"\n.quad {number}\n");
    assert_eq!(assembled_diff(&with(1), &with(2)).elsewhere, ["the section collected"]);
    assert_eq!(assembled_diff(&all, &with(2)).elsewhere, ["the section collected"]);
    assert!(assembled_diff(&with(2), &with(2)).elsewhere.is_empty());
}

#[test]
fn code_outside_functions_is_named_but_padding_is_not() {
    let all = function("one", "nop");
    let with = |code: &str| format!("{all}.text\nlabel:\n {code}\n ret\n");
    let diff = assembled_diff(&with("nop"), &with("nop\n nop"));
    assert_eq!(diff.elsewhere, ["code outside of functions in the section .text"]);
    let diff = assembled_diff(&all, &format!("{all}.text\n.p2align 5\n nop\n.p2align 5\n"));
    assert!(diff.elsewhere.is_empty(), "{diff:#?}");
    let reached = |code: &str| function("user", "call label") + &with(code);
    assert_changed(&assembled_diff(&reached("nop"), &reached("nop\n nop")), &["user"]);
}

#[test]
fn unreadable_input_is_named_if_it_differs() {
    let set = |bytes: &[u8]| {
        FunctionSet::from_link_inputs([("/a/b/odd.o", bytes)], &[], &PrintedLocations::default())
    };
    let diff = FunctionSet::diff(&set(b"one"), &set(b"two"));
    assert_eq!(diff.elsewhere, ["the link input odd.o, which could not be read"]);
    assert!(FunctionSet::diff(&set(b"one"), &set(b"one")).elsewhere.is_empty());
    let bitcode = set(b"BC\xc0\xde");
    assert_eq!(FunctionSet::diff(&bitcode, &bitcode).elsewhere.len(), 1);
}

#[test]
fn input_order_and_constant_numbers_do_not_matter() {
    let scratch = Scratch::new();
    let objects = |shift: &str| {
        let first = scratch.rust_object("first", &[shift, RUST].concat(), &[]);
        let second = scratch.c_object("second", C, &["-O2", "-fdata-sections"]);
        [first, second]
    };
    let set = |objects: [&[u8]; 2]| {
        let inputs = objects.map(|object| ("object.o", object));
        let printed = PrintedLocations::all_in("first.rs");
        FunctionSet::from_link_inputs(inputs, &all_kept(&objects), &printed)
    };
    let [first, second] = objects("");
    let base = set([&first, &second]);
    let diff = FunctionSet::diff(&base, &set([&second, &first]));
    assert!(diff.is_empty() && diff.elsewhere.is_empty(), "{diff:#?}");
    let [first, second] = objects(UNRELATED);
    let diff = FunctionSet::diff(&base, &set([&second, &first]));
    assert_changed(&diff, &[]);
    assert!(!diff.added.is_empty() && diff.elsewhere.is_empty(), "{diff:#?}");
}

#[test]
fn alignment_of_data_counts() {
    for (section, contents) in [
        (".rodata.table", ".quad 1, 2, 3, 4, 5, 6, 7, 8"),
        (".data.table", ".quad 1, 2, 3, 4, 5, 6, 7, 8"),
        (".tdata,\"awT\",@progbits", ".quad 1"),
        (".rodata.cst16,\"aM\",@progbits,16", ".quad 1, 2"),
        (".bss.table,\"aw\",@nobits", ".zero 4096"),
    ] {
        let of = |alignment: u32| {
            function("user", "lea table(%rip),%rax")
                + &function("other", "nop")
                + &format!(".section {section}\n.balign {alignment}\n")
                + "table:\n.type table,@object\n.size table,8\n"
                + contents
                + "\n"
        };
        assert_changed(&assembled_diff(&of(16), &of(16)), &[]);
        assert_changed(&assembled_diff(&of(16), &of(64)), &["user"]);
    }
    let common = |alignment: u32| {
        function("user", "lea table(%rip),%rax")
            + &function("other", "nop")
            + &format!(".comm table,4096,{alignment}\n")
    };
    assert_changed(&assembled_diff(&common(32), &common(64)), &["user"]);
}

#[test]
fn group_of_code_counts_but_not_its_own_section() {
    let of = |section: &str| {
        function("user", "call callee")
            + &function("callee", "nop").replace(".text.callee", section)
    };
    assert_changed(&assembled_diff(&of(".text.callee"), &of(".text")), &[]);
    for section in [".text.unlikely.callee", ".text.hot", "own"] {
        assert_changed(&assembled_diff(&of(".text.callee"), &of(section)), &["callee"]);
    }
}

#[test]
fn alignment_within_a_section_and_behind_a_pointer_counts() {
    // A C compiler may put all statics into one section, whose alignment is that of the strictest. It counts as a whole.
    let beside = |alignment: u32| {
        function("user", "lea table(%rip),%rax")
            + &function("neighbour", "lea first(%rip),%rax")
            + &function("other", "nop")
            + ".section .data\n.balign 64\n.type first,@object\n.size first,16\nfirst: .quad 1,2\n"
            + &format!(".balign {alignment}\n.type table,@object\n.size table,8\ntable: .quad 3\n")
    };
    assert_changed(&assembled_diff(&beside(16), &beside(64)), &["neighbour", "user"]);
    let behind = |alignment: u32| {
        function("user", "mov pointer(%rip),%rax")
            + &function("other", "nop")
            + ".section .data.rel.pointer,\"aw\"\n.type pointer,@object\n.size pointer,8\n"
            + "pointer: .quad table\n.section .bss.table,\"aw\",@nobits\n"
            + &format!(".balign {alignment}\n.type table,@object\n.size table,4096\n")
            + "table: .zero 4096\n"
    };
    assert_changed(&assembled_diff(&behind(16), &behind(4096)), &["user"]);
}

#[test]
fn alignment_of_a_type_and_of_code_counts() {
    let table = |attribute: &str| {
        format!(
            "#[derive(Clone, Copy)] {attribute} pub struct Row([u64; 8]);\n\
             static TABLE: [Row; 4] = [Row([3; 8]), Row([4; 8]), Row([7; 8]), Row([9; 8])];\n\
             #[inline(never)] pub fn read(n: usize) -> u64 {{ TABLE[n & 3].0[0] ^ TABLE[n & 1].0[7] }}\n\
             #[inline(never)] pub fn other(n: usize) -> usize {{ n ^ 5 }}\n"
        )
    };
    let is_changed = |base: &str, head: &str, options: &[&str]| {
        let diff = rust_diff(base, head, options);
        diff.changed.iter().map(|one| one.name.as_str().to_owned()).collect::<Vec<_>>()
    };
    let changed = is_changed(&table(""), &table("#[repr(align(64))]"), &[]);
    assert_eq!(changed, ["object::read"]);
    let scratch = Scratch::new();
    let set = |options: &[&str]| set_of(&scratch.rust_object("object", &table(""), options));
    let aligned = set(&["-Cllvm-args=-align-all-functions=6"]);
    assert_eq!(FunctionSet::diff(&set(&[]), &aligned).changed.len(), 2);
}

#[test]
fn damaged_stored_set_is_compared_without_panic() {
    let scratch = Scratch::new();
    let set = set_of(&scratch.rust_object("object", RUST, &[]));
    let json = serde_json::to_string(&set).unwrap();
    assert_eq!(serde_json::from_str::<FunctionSet>(&json).unwrap(), set);
    let damaged = json.replace("[[2,", "[[2,9999");
    let damaged: FunctionSet = serde_json::from_str(&damaged).unwrap();
    assert!(!FunctionSet::diff(&damaged, &damaged).is_empty());
    assert!(!FunctionSet::diff(&set, &damaged).is_empty());
}
