//! Properties that stored data relies on: the digests and their stored form.

use super::super::super::references::{Body, Contents, Data, Reference, Referent};
use super::*;

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
fn aarch64_digests_are_stable() {
    let base = set_of(&aarch64(".Lanon.0.1", b"content", "callee", 0));
    // This digest may only change together with the version of the rules.
    assert_eq!(base.functions()[0].digest.short(), "7b419873df8d");
    let moved = set_of(&aarch64(".Lanon.0.2", b"content", "callee", 24));
    assert_eq!(moved.functions(), base.functions());
    assert_ne!(set_of(&aarch64(".Lanon.0.1", b"Content", "callee", 0)), base);
    assert_ne!(set_of(&aarch64(".Lanon.0.1", b"content", "other", 0)), base);
}

#[test]
fn function_set_keeps_its_stored_form() {
    let function = |name: &str, size, stack| FunctionCode {
        name: Name::demangle(name),
        instance: 7,
        size,
        digest: Digest::compute(name.as_bytes()),
        stack,
    };
    let contents = |body: &[u8], to: &[Referent]| Contents {
        body: Body::new(body),
        references: to.iter().map(|&to| Reference { to, distance: -4 }).collect(),
    };
    let reason = Unreadable::Bitcode;
    let set = FunctionSet {
        rules: Rules,
        functions: vec![function("a", 16, Some(24)), function("b", 3, None)],
        not_comparable: vec![NotComparable { input: "lto.o".to_owned(), reason }],
        unread: vec![Digest::compute(b"")],
        unseen: vec![(Name::demangle("_start"), 34)],
        references: References {
            functions: vec![
                contents(b"a", &[Referent::Entry(1), Referent::Inside(0)]),
                contents(b"b", &[]),
            ],
            data: vec![Data {
                contents: contents(
                    b"data",
                    &[Referent::Data(0), Referent::Outside(0), Referent::Nowhere],
                ),
                name: Some(Name::demangle("TABLE")),
                variable: None,
            }],
            outside: vec!["memcpy".to_owned()],
            unreferenced: vec![("the section .init_array".to_owned(), vec![0])],
        },
    };
    let json = serde_json::to_string(&set).unwrap();
    assert_eq!(
        json,
        "{\"rules\":4,\"functions\":[[\"a\",7,16,\"17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f\",24],\
         [\"b\",7,3,\"10e5cf3d3c8a4f9f3468c8cc58eea84892a22fdadbc1acb22410190044c1d553\",null]],\
         \"not-comparable\":[{\"input\":\"lto.o\",\"reason\":\"bitcode\"}],\"unread\":[\"af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262\"],\
         \"unseen\":[[\"_start\",34]],\"references\":{\
         \"functions\":[[\"17762fddd969a453925d65717ac3eea2\",[[0,1,-4],[1,0,-4]]],[\"10e5cf3d3c8a4f9f3468c8cc58eea848\",[]]],\
         \"data\":[[[\"28a249c2e4d3a92bc0a16ed8f1b5cf83\",[[2,0,-4],[3,0,-4],[4,0,-4]]],\"TABLE\",null]],\
         \"outside\":[\"memcpy\"],\"unreferenced\":[[\"the section .init_array\",[0]]]}}"
    );
    assert_eq!(serde_json::from_str::<FunctionSet>(&json).unwrap(), set);

    let error = serde_json::from_str::<FunctionSet>(&json.replace("\"rules\":4,", "\"rules\":99,"))
        .unwrap_err();
    assert!(error.to_string().starts_with("functions were digested by rules 99, not 4"), "{error}");
}
