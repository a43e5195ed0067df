//! Two versions of Criterion.rs, unchanged.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use cargo_metadata::semver::Version;
use cargo_rbench::{
    harness::{Conditions, Criterion, Executable, Harness},
    model::{Execution, Incident, Name, Throughput, Unit},
    process::Interrupt,
};
use rustix::net::sockopt::set_socket_linger;

use super::{execute, failure, list, request};
use crate::support::{TestProject, fixture::Fixture, script::script};

pub(super) static FIXTURES: [Fixture; 2] =
    [Fixture::new("criterion-0-5"), Fixture::of_project("criterion-0-8", TestProject::criterion)];

/// Each version with its fixture.
fn versions() -> impl Iterator<Item = (Criterion, &'static Fixture)> {
    let of = |minor| Criterion::new(Version::new(0, minor, 0));
    [of(5), of(8)].into_iter().zip(&FIXTURES)
}

fn name(group: &str, function: Option<&str>, parameter: Option<&str>) -> Name {
    let parts = [Some(group), function, parameter];
    Name {
        id: parts.into_iter().flatten().collect::<Vec<_>>().join("/"),
        group: Some(group.to_owned()),
        function: function.map(str::to_owned),
        parameter: parameter.map(str::to_owned),
    }
}

#[test]
fn listed_benchmarks_give_exactly_the_requested_measurements() {
    for (criterion, fixture) in versions() {
        let executable = fixture.executable("same");
        let names = list(&criterion, executable).unwrap();
        let expected = [
            name("sum", None, None),
            name("count", None, Some("64")),
            name("count", None, Some("1024")),
        ];
        assert_eq!(names, expected);
        for name in names {
            let execution = execute(&criterion, executable, &name.id, &request(13)).unwrap();
            let series = &execution.series[0];
            assert_eq!(series.values.len(), 13, "{criterion:?} {name:?}");
            assert_eq!(series.metric.unit, Unit::Nanoseconds);
            assert_eq!(execution.warm_up, Some(Duration::from_millis(5)));
            let bytes = name.parameter.map(|words| words.parse::<u64>().unwrap() * 6);
            assert_eq!(
                execution.throughput,
                bytes.map(Throughput::Bytes).into_iter().collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn odd_names_keep_their_parts_and_select_one_benchmark() {
    for (criterion, fixture) in versions() {
        let executable = fixture.executable("odd");
        let names = list(&criterion, executable).unwrap();
        assert_eq!(names[1].id.len(), 300);
        assert_eq!(names[2].id, "-v");
        assert_eq!(names[3], name("group/1", Some("function"), Some("parameter/2")));
        for name in &names[..4] {
            let execution = execute(&criterion, executable, &name.id, &request(10)).unwrap();
            assert_eq!(execution.measurements(), 10, "{name:?}");
        }
    }
}

#[test]
fn group_with_its_own_settings_overrides_the_request() {
    for (criterion, fixture) in versions() {
        let execution =
            execute(&criterion, fixture.executable("odd"), "own/settings", &request(30)).unwrap();
        assert_eq!(execution.asked.measurements, 30);
        assert_eq!(execution.measurements(), 12);
        assert_eq!(execution.warm_up, Some(Duration::from_millis(30)));
        assert!(execution.series[0].same_iterations().is_some(), "flat sampling");
    }
}

#[test]
fn bad_benchmarks_fail_with_their_reasons() {
    for (criterion, fixture) in versions() {
        let executable = fixture.executable("odd");
        for (id, reason) in [
            ("bad/panic", "no such luck"),
            ("bad/exit with success", "it ended without a measurement"),
            ("bad/never iterates", "must call Bencher::iter"),
            ("twice", "2 benchmarks have this id"),
            ("no time", "is 0 ns"),
            ("constant time", "its time does not grow with its iterations"),
            ("no end of time", "which no CPU can do"),
            ("no such benchmark", "the executable has no benchmark of this id"),
        ] {
            let text = failure(&criterion, executable, id).to_string();
            assert!(text.contains(reason), "{criterion:?} {id}: {text}");
        }
    }
}

/// The incidents that only this execution can have caused. Processes that other tests leave in
/// separate process groups become children of this process, which would attribute them to the
/// execution.
fn repetitions(execution: &Execution) -> Vec<Incident> {
    let incidents = execution.incidents.iter();
    incidents.filter(|incident| matches!(incident, Incident::Repeated(_))).cloned().collect()
}

/// The executable, started by a shell script after these lines.
fn behind(directory: &Path, lines: &str, executable: &Executable) -> Executable {
    let line = format!("{lines}\nexec '{}' \"$@\"", executable.path.display());
    let path = script(&directory.join("wrapper"), &line).into();
    Executable { path, ..executable.clone() }
}

/// The messages of Criterion.rs when benchmark `sum` begins, after its greeting.
fn forged() -> Vec<u8> {
    let greeting = b"Criterion\x00\x08\x02\x00\x01\x00\x01";
    let message = b"\xa1\x72BeginningBenchmark\xa1\x62id\xa1\x68group_id\x63sum";
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&greeting[..], &length, message].concat()
}

/// Another process watches for the port and connects first. Its data must not count, and the
/// benchmark must still be able to connect.
#[test]
fn stranger_that_connects_first_is_not_believed() {
    for (criterion, fixture) in versions() {
        let directory = tempfile::tempdir().unwrap();
        let (port, go) = (directory.path().join("port"), directory.path().join("go"));
        let lines = format!(
            "echo $CARGO_CRITERION_PORT >'{0}.new'; mv '{0}.new' '{0}'\n\
             while [ ! -e '{1}' ]; do sleep 0.01; done",
            port.display(),
            go.display()
        );
        let executable = behind(directory.path(), &lines, fixture.executable("same"));
        let execution = thread::scope(|scope| {
            scope.spawn(|| {
                while !port.exists() {
                    thread::sleep(Duration::from_millis(5));
                }
                let port = fs::read_to_string(&port).unwrap().trim().parse().unwrap();
                let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
                // One forges the messages of a benchmark; the other resets its connection.
                let mut forger = connect();
                let _ = forger.write_all(&forged());
                let _ = forger.read_exact(&mut [0; 18]);
                set_socket_linger(connect(), Some(Duration::ZERO)).unwrap();
                fs::write(&go, "").unwrap();
            });
            execute(&criterion, &executable, "sum", &request(10)).unwrap()
        });
        assert_eq!((execution.measurements(), repetitions(&execution)), (10, Vec::new()));
    }
}

#[test]
fn lost_connection_repeats_the_execution_once() {
    for (criterion, fixture) in versions() {
        let directory = tempfile::tempdir().unwrap();
        let first = directory.path().join("first");
        let lose = "unset CARGO_CRITERION_PORT";
        let once = format!("if mkdir '{}' 2>/dev/null; then {lose}; fi", first.display());
        let executable = behind(directory.path(), &once, fixture.executable("same"));
        let execution = execute(&criterion, &executable, "sum", &request(10)).unwrap();
        assert_eq!(execution.measurements(), 10);
        let repetitions = repetitions(&execution);
        let [Incident::Repeated(reason)] = &repetitions[..] else { panic!("{execution:?}") };
        assert!(reason.contains("printed its results"), "{reason}");

        let executable = behind(directory.path(), lose, fixture.executable("same"));
        let error = execute(&criterion, &executable, "sum", &request(10)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("did not connect to rbench") && text.contains("time:   ["), "{text}");
    }
}

#[test]
fn own_main_that_ignores_its_command_line_is_named_at_once() {
    let (criterion, fixture) = versions().next().unwrap();
    let executable = fixture.executable("own");
    let start = Instant::now();
    let error = list(&criterion, executable).unwrap_err().to_string();
    assert!(error.contains("ignores the command line of Criterion.rs"), "{error}");
    assert!(error.contains("hint: add .configure_from_args()"), "{error}");
    // It ends with the warm-up of the first benchmark, which takes 3 s.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn failing_list_keeps_what_it_has_listed() {
    let (criterion, fixture) = versions().next().unwrap();
    let interrupt = Interrupt::new().unwrap();
    let listed = |target| {
        let conditions = Conditions::new(&interrupt);
        let (names, rest) = criterion.list_partly(fixture.executable(target), &conditions).unwrap();
        (names.into_iter().map(|name| name.id).collect::<Vec<_>>(), rest)
    };
    assert_eq!(listed("needs"), (vec!["one".to_owned(), "two".to_owned()], None));
    let (names, rest) = listed("fails");
    assert_eq!(names, ["works"]);
    assert!(rest.unwrap().to_string().contains("panicked"));
}
