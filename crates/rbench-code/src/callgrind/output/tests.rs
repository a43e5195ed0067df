//! Tests of the reader with files as callgrind writes them, and with invalid ones.

use proptest::prelude::*;

use super::*;

/// Two parts of one file, as callgrind 3.19 wrote them, shortened.
const TWO_PARTS: &str = "# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 4711
cmd:  ./work --bench
part: 1


desc: I1 cache:
desc: Timerange: Basic block 0 - 12345
desc: Trigger: Client Request

positions: line
events: Ir
summary: 1047


ob=(3) /tmp/work
fl=(8) ???
fn=(12) work::parse
0 40
+3 2
cfn=(14) work::digit
calls=5 0
0 500
* 5
cob=(5) /lib/libc.so.6
cfi=(9) memcpy.S
cfn=(16) memcpy
calls=1 120
0 500
jump=3 17
0
jcnd=3/7 19
0

fn=(14)
0 500

ob=(5)
fl=(9)
fn=(16)
120 300
+1 100
-1 100

totals: 1047
part: 2

desc: Trigger: Program termination

positions: line
events: Ir
summary: 7

ob=(3)
fl=(8)
fn=(14)
0 7

totals: 7
";

fn named(dump: &Dump, index: usize) -> (&str, &str) {
    (&dump.symbols[index].object, &dump.symbols[index].name)
}

#[test]
fn parts_have_self_costs_and_calls() {
    let dump = parse(TWO_PARTS.as_bytes()).unwrap();
    let [first, second] = &dump.parts[..] else { panic!("{dump:?}") };
    let own: Vec<_> = first.own.iter().map(|(index, own)| (named(&dump, *index), *own)).collect();
    let (parse, digit) = (("/tmp/work", "work::parse"), ("/tmp/work", "work::digit"));
    let memcpy = ("/lib/libc.so.6", "memcpy");
    assert_eq!(own, [(parse, 47), (digit, 500), (memcpy, 500)]);
    let calls = first.calls.iter().map(|((from, to), calls)| {
        (named(&dump, *from), named(&dump, *to), calls.count, calls.inclusive)
    });
    assert_eq!(calls.collect::<Vec<_>>(), [(parse, digit, 5, 500), (parse, memcpy, 1, 500)]);
    assert_eq!((first.total(), second.total()), (1047, 7));
    assert_eq!(second.own.keys().map(|index| named(&dump, *index)).collect::<Vec<_>>(), [digit]);
}

#[test]
fn instructions_are_found_among_other_events_and_positions() {
    let text = "positions: instr line\nevents: Dr Ir\nfn=f\n0x10 3 1 20\n";
    // An address may be at the beginning of a line.
    let dump = parse(text.as_bytes()).unwrap();
    assert_eq!(dump.parts[0].total(), 20);
    let without = "positions: line\nevents: Dr Ir\nfn=f\n3 1\n";
    assert_eq!(parse(without.as_bytes()).unwrap().parts[0].total(), 0, "zeros may be left out");
}

#[test]
fn invalid_files_are_refused_with_the_reason() {
    for (text, defect) in [
        ("", Defect::NoInstructions),
        ("events: Dr\n", Defect::NoInstructions),
        ("3 4\n", Defect::Line(1)),
        ("events: Ir\nfn=(1)\n", Defect::Line(2)),
        ("events: Ir\nfn=f\n1 x\n", Defect::Line(3)),
        ("events: Ir\ncalls=\n", Defect::Line(2)),
        ("events: Ir\nhello\n", Defect::Line(2)),
        ("events: Ir\nfn=f\n1 5\ntotals: 6\n", Defect::Total(5, 6)),
        ("events: Ir\nsummary: 6\npart: 2\nevents: Ir\n", Defect::Total(0, 6)),
    ] {
        assert_eq!(parse(text.as_bytes()), Err(defect.clone()), "{text}");
        assert!(!defect.to_string().is_empty());
    }
}

/// Writes a dump like callgrind: each name once with a number, and then the number alone.
fn written(dump: &Dump) -> String {
    let mut known = HashMap::new();
    let mut name = |kind: &str, name: &str| {
        let next = known.len() + 1;
        if let Some(number) = known.get(&(kind.to_owned(), name.to_owned())) {
            return format!("({number})");
        }
        known.insert((kind.to_owned(), name.to_owned()), next);
        format!("({next}) {name}")
    };
    let mut text = "# callgrind format\nversion: 1\n".to_owned();
    for (number, part) in dump.parts.iter().enumerate() {
        text += &format!("part: {}\npositions: line\nevents: Ir\n", number + 1);
        text += &format!("summary: {}\n\n", part.total());
        for (index, symbol) in dump.symbols.iter().enumerate() {
            let calls: Vec<_> = part.calls.iter().filter(|((from, _), _)| *from == index).collect();
            let own = part.own.get(&index);
            if own.is_none() && calls.is_empty() {
                continue;
            }
            text += &format!("ob={}\n", name("ob", &symbol.object));
            text += &format!("fn={}\n", name("fn", &symbol.name));
            text += &own.map_or_else(String::new, |own| format!("+1 {own}\n"));
            for ((_, to), calls) in calls {
                let to = &dump.symbols[*to];
                if to.object != symbol.object {
                    text += &format!("cob={}\n", name("ob", &to.object));
                }
                text += &format!("cfn={}\n", name("fn", &to.name));
                text += &format!("calls={} 0\n* {}\n", calls.count, calls.inclusive);
            }
        }
        text += &format!("\ntotals: {}\n", part.total());
    }
    text
}

fn dumps() -> impl Strategy<Value = Dump> {
    let symbols: Vec<Symbol> = (0..6)
        .map(|number| Symbol {
            object: format!("/o{}", number % 2),
            name: format!("f{} (with) words", number / 2),
        })
        .collect();
    let own = prop::collection::btree_map(0..6_usize, 0..1000_u64, 0..6);
    let calls = (0..9_u64, 0..5000_u64).prop_map(|(count, inclusive)| Calls { count, inclusive });
    let calls = prop::collection::btree_map((0..6_usize, 0..6_usize), calls, 0..8);
    let part = (own, calls).prop_map(|(own, calls)| Part { own, calls });
    prop::collection::vec(part, 1..4)
        .prop_map(move |parts| Dump { symbols: symbols.clone(), parts })
}

/// The contents of a dump, independent of the numbering of its functions.
fn contents(dump: &Dump) -> Vec<Vec<String>> {
    let part = |part: &Part| {
        let own = part.own.iter().map(|(index, own)| format!("{:?} {own}", dump.symbols[*index]));
        let calls = part.calls.iter().map(|((from, to), calls)| {
            format!("{:?} {:?} {calls:?}", dump.symbols[*from], dump.symbols[*to])
        });
        let mut all: Vec<_> = own.chain(calls).collect();
        all.sort();
        all
    };
    dump.parts.iter().map(part).collect()
}

proptest! {
    #[test]
    fn written_dump_is_read_back(dump in dumps()) {
        let read = parse(written(&dump).as_bytes()).unwrap();
        prop_assert_eq!(contents(&read), contents(&dump));
    }

    #[test]
    fn parse_never_panics(lines in prop::collection::vec("(events: Ir|fn=|cfn=|ob=|calls=|part:|[+*-]?)[()0-9 a-z]{0,8}", 0..20)) {
        let _ = parse(lines.join("\n").as_bytes());
    }

    #[test]
    fn parse_of_a_truncated_file_never_panics(end in 0..TWO_PARTS.len()) {
        let _ = parse(&TWO_PARTS.as_bytes()[..end]);
    }
}
