//! Well-behaved and misbehaving children.

use std::{fs, path::Path, thread};

use super::*;
use crate::process::{
    interleaving::{SLICE, SharedPage, own_directory},
    invocation::padding_length,
    run::check_cpu,
    testing::leaves_descendants,
};

fn shell(script: &str) -> Invocation {
    Invocation {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        directory: "/".into(),
        ..Invocation::default()
    }
}

fn limits(deadline: Duration) -> Limits {
    Limits { deadline, grace: Duration::from_millis(200), output: 1000 }
}

fn run_shell(script: &str) -> Ended {
    let interrupt = Interrupt::new().unwrap();
    run(&shell(script), &limits(Duration::from_secs(60)), &interrupt, None).unwrap()
}

/// Checks that the process whose id is in `file` is gone, or is a zombie that its parent has not reaped yet. A signal
/// takes a moment, and the child of another test may be the one that adopts it and sends the signal.
#[track_caller]
fn assert_ends(file: &Path) {
    let pid = fs::read_to_string(file).unwrap();
    let stat = || fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    let is_gone = (0..1000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        stat().map_or(true, |stat| stat.contains(") Z "))
    });
    assert!(is_gone, "{:?}", stat());
}

#[test]
fn exited_child_has_its_status_and_ordered_output() {
    let ended = run_shell("echo out; echo err >&2; echo again; exit 3");
    assert_eq!(ended.ending, Ending::Exited(3));
    assert_eq!(ended.output.to_string(), "out\nerr\nagain\n");
}

#[test]
fn killed_child_has_the_number_of_its_signal() {
    assert_eq!(run_shell("kill -ABRT $$").ending, Ending::Signalled(6));
}

#[test]
fn missing_program_is_named_in_the_error() {
    let missing = Invocation { program: "/no/such".into(), ..shell("") };
    let error = run(&missing, &Limits::default(), &Interrupt::new().unwrap(), None)
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot run /no/such\n  No such file"), "{error}");
}

#[test]
fn resource_shortage_is_not_blamed_on_the_program() {
    let exit = |errno: Errno| cannot_run(&shell(""), &errno.into()).exit();
    for shortage in [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::TXTBSY] {
        assert_eq!(exit(shortage), Exit::Internal);
    }
    for own in [Errno::NOENT, Errno::ACCESS, Errno::NOEXEC] {
        assert_eq!(exit(own), Exit::Benchmark);
    }
    let launcher = Some("/no/launcher".into());
    let invocation = Invocation { launcher, ..shell("") };
    let error = run(&invocation, &Limits::default(), &Interrupt::new().unwrap(), None).unwrap_err();
    assert_eq!((error.exit(), error.what()), (Exit::Internal, "cannot run /no/launcher"));
}

#[test]
fn bad_arguments_are_not_blamed_on_the_launcher() {
    let launched = || Invocation { launcher: Some("/bin/sh".into()), ..shell("") };
    let error = |invocation: &Invocation| {
        let interrupt = Interrupt::new().unwrap();
        let error = run(invocation, &Limits::default(), &interrupt, None).unwrap_err();
        (error.exit(), error.what().to_owned())
    };
    let expected = (Exit::Benchmark, "cannot run /bin/sh".to_owned());
    assert_eq!(error(&Invocation { directory: "/no/place".into(), ..launched() }), expected);
    // Longer than the limit of one argument.
    let arguments = vec!["x".repeat(1 << 22).into()];
    assert_eq!(error(&Invocation { arguments, ..launched() }), expected);
    let short = cannot_spawn(&launched(), &Errno::AGAIN.into());
    assert_eq!(short.exit(), Exit::Internal);
}

/// One of two programs that run at once, whose own directory is `directory`.
fn program_at_once(directory: &Path) -> InterleavedProcess {
    // Any file: nothing is preloaded.
    let page = SharedPage::new(Path::new("/bin/sh"), &[], SLICE).unwrap();
    page.member(1, directory).unwrap().as_program()
}

#[test]
fn program_at_once_is_a_batch_job_with_an_own_directory_and_no_library() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    // The policy of `cut`, which is that of its parent.
    let script = format!(
        "readlink {}; cut -d' ' -f41 /proc/self/stat; env | grep -c -e RBENCH -e LD_PRELOAD",
        own_directory().display()
    );
    let alone = Some(program_at_once(&place));
    let interrupt = Interrupt::new().unwrap();
    let ended = run(&shell(&script), &Limits::default(), &interrupt, alone.as_ref()).unwrap();
    assert_eq!(
        ended.output.to_string(),
        format!("{}\n{}\n0\n", place.display(), libc::SCHED_BATCH)
    );
}

#[test]
fn program_at_once_has_twice_the_time() {
    let interrupt = Interrupt::new().unwrap();
    let at_once = program_at_once(Path::new("/"));
    let limits = limits(Duration::from_millis(200));
    let ended = run(&shell("sleep 60"), &limits, &interrupt, Some(&at_once)).unwrap();
    assert_eq!(ended.ending, Ending::Deadline);
    assert!(ended.resources.wall >= Duration::from_millis(400), "{:?}", ended.resources);
}

#[test]
fn long_output_neither_blocks_the_child_nor_stays_in_memory() {
    let ended = run_shell("echo first; head -c 20000000 /dev/zero; echo last");
    assert_eq!(ended.ending, Ending::Exited(0));
    assert_eq!(ended.output.head.len() + ended.output.tail.len(), 1000);
    assert_eq!(ended.output.omitted, 20_000_000 + 6 + 5 - 1000);
    assert!(ended.output.head.starts_with(b"first\n") && ended.output.tail.ends_with(b"last\n"));
}

#[test]
fn child_that_closes_its_output_is_awaited() {
    let ended = run_shell("exec >&- 2>&-; sleep 0.1; exit 4");
    assert_eq!(ended.ending, Ending::Exited(4));
}

#[test]
fn deadline_ends_a_hanging_child() {
    let started = Instant::now();
    let interrupt = Interrupt::new().unwrap();
    let ended =
        run(&shell("sleep 60"), &limits(Duration::from_millis(50)), &interrupt, None).unwrap();
    assert_eq!(ended.ending, Ending::Deadline);
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn deadline_ends_a_child_that_prints_endlessly() {
    let interrupt = Interrupt::new().unwrap();
    let ended = run(&shell("yes"), &limits(Duration::from_millis(50)), &interrupt, None).unwrap();
    assert_eq!(ended.ending, Ending::Deadline);
}

#[test]
fn child_that_ignores_sigterm_is_killed_after_the_grace() {
    let script = "trap '' TERM; echo deaf; while :; do sleep 0.02; done";
    let interrupt = Interrupt::new().unwrap();
    let ended = run(&shell(script), &limits(Duration::from_secs(1)), &interrupt, None).unwrap();
    assert_eq!(ended.ending, Ending::Deadline);
    assert!(ended.resources.wall >= Duration::from_millis(1_200));
    assert_eq!(ended.output.to_string(), "deaf\n");
}

#[test]
fn child_may_tidy_up_within_the_grace() {
    let script = "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.02; done";
    let interrupt = Interrupt::new().unwrap();
    let patient = Limits { grace: Duration::from_secs(60), ..limits(Duration::from_secs(1)) };
    let ended = run(&shell(script), &patient, &interrupt, None).unwrap();
    assert_eq!(ended.ending, Ending::Deadline);
    let text = ended.output.to_string();
    assert!(text.starts_with("ready\n") && text.ends_with("tidy\n"), "{text}");
}

#[test]
fn interrupt_ends_the_child_and_all_later_ones() {
    let interrupt = Interrupt::new().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            interrupt.set();
        });
        for _ in 0..2 {
            let ended = run(&shell("sleep 60"), &limits(Duration::from_secs(60)), &interrupt, None);
            assert_eq!(ended.unwrap().ending, Ending::Interrupted);
        }
    });
}

#[test]
fn left_behind_process_in_the_group_is_killed_without_delay() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let started = Instant::now();
    let ended = run_shell(&format!("sleep 61 & echo $! >{}; exit 0", file.display()));
    assert_eq!(ended.ending, Ending::Exited(0));
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_ends(&file);
}

#[test]
fn descendant_in_another_session_is_killed_without_delay() {
    let _alone = leaves_descendants();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    // The shell continues only when the process can be found by its id.
    let script = format!(
        "setsid sh -c 'echo $$ >{0}; exec sleep 3600' & while [ ! -s {0} ]; do sleep 0.01; done",
        file.display()
    );
    let ended = run_shell(&script);
    assert_eq!(ended.ending, Ending::Exited(0));
    assert_ends(&file);
}

#[test]
fn orphaned_descendant_outside_the_group_is_killed() {
    let _alone = leaves_descendants();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    // It loses its parent only after it has written its number: the child of another test may end it from then on.
    let script = format!(
        "(setsid sh -c 'echo $$ >{0}; sleep 3600' & while [ ! -s {0} ]; do sleep 0.01; done)",
        file.display()
    );
    run_shell(&script);
    assert_ends(&file);
}

#[test]
fn child_gets_empty_stdin_and_requested_environment() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    let invocation = Invocation {
        directory: place.clone(),
        variables: vec![("RBENCH_TEST".into(), "a b".into())],
        padding_seed: Some(5),
        ..shell("cat; pwd; echo $RBENCH_TEST; echo ${#RBENCH_PADDING}; echo ${HOME:+home}; env")
    };
    let interrupt = Interrupt::new().unwrap();
    let ended = run(&invocation, &Limits::default(), &interrupt, None).unwrap();
    let text = ended.output.to_string();
    let mut lines = text.lines();
    assert_eq!(lines.next(), place.to_str());
    assert_eq!(lines.next(), Some("a b"));
    assert_eq!(lines.next(), Some(padding_length(5).to_string().as_str()));
}

#[test]
fn resources_are_those_of_this_child_alone() {
    let busy = run_shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").resources;
    let idle = run_shell("sleep 0.2").resources;
    assert!(busy.user > Duration::from_millis(5), "{busy:?}");
    assert!(idle.user + idle.system < busy.user, "{idle:?}");
    assert!(idle.wall >= Duration::from_millis(200));
    assert!(idle.voluntary_switches >= 1);
    assert!(busy.start <= idle.start);
}

#[test]
fn peak_memory_is_known_only_if_the_childs_own() {
    let small = run_shell("true").resources;
    // Larger than this process, whose memory every other test shares.
    let bytes = child::own_peak().unwrap() + 200_000_000;
    let large =
        run_shell(&format!("head -c {bytes} /dev/zero | tail -c {bytes} | wc -c")).resources;
    assert!(small.peak_memory.is_none_or(|peak| peak < 100_000_000), "{small:?}");
    assert!(large.peak_memory.unwrap() >= bytes, "{large:?}");
}

#[test]
fn pinned_child_runs_on_its_cpu_and_thread_keeps_its_own() {
    let mine = || fs::read_to_string("/proc/thread-self/status").unwrap();
    let allowed = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.unwrap().trim().to_owned()
    };
    let before = allowed(mine());
    let cpu: usize = before.split([',', '-']).next().unwrap().parse().unwrap();
    let pinned = Invocation { cpu: Some(cpu), ..shell("cat /proc/self/status") };
    let ended = run(
        &pinned,
        &Limits { output: 100_000, ..Limits::default() },
        &Interrupt::new().unwrap(),
        None,
    );
    assert_eq!(allowed(ended.unwrap().output.to_string()), cpu.to_string());
    assert_eq!(allowed(mine()), before);
    let nowhere = Invocation { cpu: Some(100_000), ..pinned };
    let error = run(&nowhere, &Limits::default(), &Interrupt::new().unwrap(), None).unwrap_err();
    assert_eq!(error.what(), "cannot pin to CPU 100000");
    assert_eq!(check_cpu(Some(100_000)).unwrap_err(), error);
    assert!(check_cpu(Some(cpu)).is_ok() && check_cpu(None).is_ok());
}
