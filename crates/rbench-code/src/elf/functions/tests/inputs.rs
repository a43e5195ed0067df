//! Which functions of the link inputs count: archives, duplicates, and inputs without code.

use super::*;

const WEAK: &str = "__attribute__((weak)) int both(int x) { return x * 5; }\n";

#[test]
fn weak_duplicates_count_as_often_as_the_linker_kept_them() {
    let scratch = Scratch::new();
    scratch.c_object("first", &[WEAK, "int first(int x) { return both(x); }"].concat(), &["-O1"]);
    scratch.c_object("second", &[WEAK, "int second(int x) { return both(x); }"].concat(), &["-O1"]);
    let main = "int first(int), second(int);\nint main(int argc, char **argv) { return first(argc) + second(argc); }";
    let main_object = scratch.c_object("main", main, &["-O1"]);
    let archive = scratch.archive("libboth.a", "crs", &["first.o", "second.o"]);
    let program = scratch.c_program("main", main, &["-O1", "libboth.a"]);
    let inputs = [("main.o", &main_object[..]), ("libboth.a", &archive[..])];
    let set = FunctionSet::from_link_inputs(
        inputs,
        &kept_functions(&program).unwrap(),
        &PrintedLocations::default(),
    );
    let names: Vec<_> = set.functions().iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["both", "first", "main", "second"]);
    assert!(set.unseen().iter().any(|(name, _)| name.as_str() == "_start"));
    assert_eq!(set.not_comparable(), []);
}

#[test]
fn strong_definition_takes_precedence_over_a_weak_one() {
    let scratch = Scratch::new();
    let weak = scratch.c_object("weak", WEAK, &["-O2"]);
    let strong = scratch.c_object("strong", "int both(int x) { return x * 9; }", &["-O2"]);
    let kept = all_kept(&[&strong]);
    let inputs = [("weak.o", &weak[..]), ("strong.o", &strong[..])];
    let both = FunctionSet::from_link_inputs(inputs, &kept, &PrintedLocations::default());
    assert_eq!(
        both,
        FunctionSet::from_link_inputs(
            [("strong.o", &strong[..])],
            &kept,
            &PrintedLocations::default()
        )
    );
    assert_ne!(
        both,
        FunctionSet::from_link_inputs([("weak.o", &weak[..])], &kept, &PrintedLocations::default())
    );
}

#[test]
fn local_functions_of_one_name_count_separately() {
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
        FunctionSet::from_link_inputs(
            inputs,
            &all_kept(&[&one, &two]),
            &PrintedLocations::default(),
        )
    };
    let diff = FunctionSet::diff(&set([5, 9]), &set([5, 9]));
    assert!(diff.is_empty() && diff.unchanged == 4, "{diff:#?}");
    assert_changed(&FunctionSet::diff(&set([5, 9]), &set([5, 11])), &["help"]);
    // Each now calls the other one's function.
    assert_changed(&FunctionSet::diff(&set([5, 9]), &set([9, 5])), &["one", "two"]);
}

#[test]
fn thin_archive_is_not_comparable() {
    let scratch = Scratch::new();
    scratch.c_object("first", "int first(int x) { return x; }", &[]);
    let archive = scratch.archive("libthin.a", "crsT", &["first.o"]);
    let set = FunctionSet::from_link_inputs(
        [("libthin.a", &archive[..])],
        &[],
        &PrintedLocations::default(),
    );
    assert_eq!(set.not_comparable()[0].reason, Unreadable::ThinArchive);
}

#[test]
fn bitcode_is_reported_and_metadata_is_skipped() {
    let scratch = Scratch::new();
    let lto = scratch.rust_object("object", RUST, &["-Clinker-plugin-lto"]);
    let set =
        FunctionSet::from_link_inputs([("object.o", &lto[..])], &[], &PrintedLocations::default());
    assert_eq!(set.not_comparable()[0].reason, Unreadable::Bitcode);

    let rlib = scratch.rust_program("library", RUST, &["--crate-type=rlib"]);
    let set = FunctionSet::from_link_inputs(
        [("library.rlib", &rlib[..])],
        &[],
        &PrintedLocations::default(),
    );
    assert_eq!(set.not_comparable(), []);
}

#[test]
fn rust_program_is_read_from_its_library_and_objects() {
    let scratch = Scratch::new();
    let library = ["--crate-type=rlib", "-Copt-level=2"];
    let rlib = scratch.rust_program("object", RUST, &library);
    std::fs::rename(scratch.path("object"), scratch.path("libobject.rlib")).unwrap();
    let source = "fn main() { println!(\"{}\", object::greet(\"you\")) }";
    let options = ["-Copt-level=2", "--extern=object=libobject.rlib"];
    let program = scratch.rust_program("program", source, &options);
    let kept = kept_functions(&program).unwrap();
    let set = FunctionSet::from_link_inputs(
        [("libobject.rlib", &rlib[..])],
        &kept,
        &PrintedLocations::default(),
    );
    let names: Vec<_> = set.functions().iter().map(|function| function.name.as_str()).collect();
    assert!(names.contains(&"object::greet"), "{names:?}");
    assert!(!names.contains(&"object::pick"), "{names:?}");
}
