//! Code that compilers emit rarely or not on demand, written in assembler.

use super::*;

/// A function that refers to a constant which thin LTO moved to another object.
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
    FunctionSet::from_link_inputs(inputs, &all_kept(&[&user]), &PrintedLocations::default())
}

#[test]
fn promoted_constant_counts_by_content_and_not_by_number() {
    assert_eq!(promoted(1, "content"), promoted(2, "content"));
    let diff = FunctionSet::diff(&promoted(1, "content"), &promoted(1, "Content"));
    assert_eq!(diff.changed.len(), 1);
}

#[test]
fn constant_that_refers_to_itself_has_a_digest() {
    let source = ".text\n.type user,@function\nuser:\n lea .Lring(%rip),%rax\n ret\n.size user,.-user\n\
        .section .data.rel.ro,\"aw\"\n.Lring:\n .quad .Lnext\n.Lnext:\n .quad .Lring\n .quad user\n";
    let scratch = Scratch::new();
    let base = set_of(&scratch.assembled("ring", source));
    assert_eq!(base.functions().len(), 1);
    let shifted = source.replace("\"aw\"\n", "\"aw\"\n .quad 5\n");
    assert_eq!(set_of(&scratch.assembled("ring", &shifted)).functions(), base.functions());
}

#[test]
fn assembler_function_without_size_ends_at_the_next_one() {
    let source = ".text\n.globl a, b\n.type a,@function\n.type b,@function\n\
        a: nop\n nop\n ret\nb: ret\n";
    let object = Scratch::new().assembled("object", source);
    let sizes: Vec<_> = set_of(&object).functions().iter().map(|function| function.size).collect();
    assert_eq!(sizes, [3, 1]);
}

#[test]
fn object_with_more_than_65535_sections_is_read() {
    let sections = (0..65_600).map(|index| format!(".section .text.f{index},\"ax\"\n"));
    let mut source: String = sections.collect();
    source += ".globl last\n.type last,@function\nlast: call elsewhere\n ret\n.size last,.-last\n";
    let object = Scratch::new().assembled("object", &source);
    let set = set_of(&object);
    assert_eq!(set.functions().len(), 1);
    assert_eq!(set.functions()[0].size, 6);
}

/// `user` adds to the second of two variables.
const ADDS: &str = ".text\n.type user,@function\nuser:\n addl $1, counter(%rip)\n ret\n.size user,.-user\n\
    .bss\n.type before,@object\nbefore: .zero 4\n.size before,.-before\n\
    .type counter,@object\ncounter: .zero 4\n.size counter,.-counter\n";

#[test]
fn variable_is_found_despite_an_immediate_operand() {
    let scratch = Scratch::new();
    let base = set_of(&scratch.assembled("object", ADDS));
    let renamed = ADDS.replace("before", "another");
    assert_eq!(set_of(&scratch.assembled("object", &renamed)), base);
    let renamed = ADDS.replace("counter", "another");
    assert_ne!(set_of(&scratch.assembled("object", &renamed)), base);
}

#[test]
fn nested_constants_are_followed() {
    let source = ".text\n.type user,@function\nuser:\n lea .Lone(%rip),%rax\n ret\n.size user,.-user\n\
        .section .data.rel.ro,\"aw\"\n.Lone: .quad 1, .Ltwo\n.Ltwo: .quad 2, .Lthree\n\
        .section .rodata\n.Lthree: .ascii \"content\"\n";
    let scratch = Scratch::new();
    let base = set_of(&scratch.assembled("object", source));
    let changed = source.replace("content", "Content");
    assert_ne!(set_of(&scratch.assembled("object", &changed)), base);
}

#[test]
fn jump_table_refers_to_its_function_at_any_address() {
    let table: String = (0..8).map(|_| " .long .Lcase - .Ltable\n").collect();
    let set = |before: &str, behind: &str, case: &str| {
        let source = format!(
            ".text\n{before}\n.type user,@function\nuser:\n lea .Ltable(%rip),%rax\n {case}.Lcase: ret\n\
             .size user,.-user\n.type {behind},@function\n{behind}: .zero 64\n.size {behind},.-{behind}\n\
             .section .rodata\n .zero 48\n.Ltable:\n{table}"
        );
        let object = Scratch::new().assembled("object", &source);
        let mut kept = all_kept(&[&object]);
        kept.retain(|function| function.symbol == "user");
        FunctionSet::from_link_inputs(
            [("object.o", &object[..])],
            &kept,
            &PrintedLocations::default(),
        )
    };
    let base = set("", "one", "nop\n");
    assert_eq!(base.functions().len(), 1);
    // Code before the function belongs to no function.
    assert_eq!(set("nop", "one", "nop\n").functions(), base.functions());
    assert_eq!(set("", "two", "nop\n"), base);
    assert_ne!(set("", "one", "nop\n nop\n"), base);
}

#[test]
fn caller_is_unchanged_if_its_callee_moves_to_another_object() {
    let scratch = Scratch::new();
    let caller = ".text\n.type user,@function\nuser:\n call callee@PLT\n ret\n.size user,.-user\n";
    let callee = ".section .text.callee,\"ax\"\n.type callee,@function\ncallee: ret\n.size callee,.-callee\n";
    let apart = scratch.assembled("object", caller);
    let together = caller.replace("@PLT", "") + callee;
    let together = scratch.assembled("object", &together);
    let kept = all_kept(&[&apart]);
    let set = |object: &[u8]| {
        FunctionSet::from_link_inputs([("object.o", object)], &kept, &PrintedLocations::default())
    };
    assert_eq!(set(&together).functions(), set(&apart).functions());
}
