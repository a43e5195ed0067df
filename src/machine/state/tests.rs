//! Tests of states on machines made of files.

use tempfile::TempDir;

use super::*;
use crate::model::testing::resources;

fn machine(files: &[(&str, &str)]) -> MachineState {
    let root = TempDir::new().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    MachineState::read(root.path())
}

const TWO_CPUS: (&str, &str) = ("sys/devices/system/cpu/online", "0-1\n");

#[test]
fn empty_machine_has_no_warnings() {
    let nothing = machine(&[]);
    assert_eq!(nothing.disturbances(), []);
    assert_eq!(machine(&[]).disturbances_since(&nothing), []);
}

#[test]
fn quiet_machine_has_no_warnings() {
    let quiet = machine(&[
        TWO_CPUS,
        ("proc/loadavg", "0.40 3.00 3.00 3/90 1\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ("sys/class/power_supply/BAT0/type", "Battery\n"),
        ("sys/class/power_supply/BAT0/status", "Charging\n"),
        ("sys/class/power_supply/mouse/type", "Battery\n"),
        ("sys/class/power_supply/mouse/scope", "Device\n"),
        ("sys/class/power_supply/mouse/status", "Discharging\n"),
        ("proc/self/cgroup", "0::/a\n"),
        ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/cpu.max", "200000 100000\n"),
    ]);
    assert_eq!(quiet.disturbances(), []);
}

#[test]
fn load_of_finished_processes_is_no_disturbance() {
    let built_before = machine(&[TWO_CPUS, ("proc/loadavg", "3.00 0.00 0.00 1/90 1\n")]);
    assert_eq!(built_before.disturbances(), []);
}

#[test]
fn disturbances_before_measuring_have_their_numbers() {
    let busy = machine(&[
        TWO_CPUS,
        ("proc/loadavg", "3.00 0.00 0.00 2/90 1\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
        ("sys/class/power_supply/BAT0/type", "Battery\n"),
        ("sys/class/power_supply/BAT0/status", "Discharging\n"),
        ("proc/self/cgroup", "0::/a/b\n"),
        ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
    ]);
    assert_eq!(
        busy.disturbances(),
        [
            Disturbance::Load { per_core: 1.5 },
            Disturbance::Governor { name: "powersave".to_owned() },
            Disturbance::Battery,
            Disturbance::Quota { cpus: 0.5 },
        ]
    );
}

#[test]
fn others_since_excludes_rbench_and_its_children() {
    let at = |busy: u64, idle: u64, stolen: u64, own: u64, throttled: u64| {
        machine(&[
            ("proc/stat", &format!("cpu  {busy} 0 0 {idle} 0 0 0 {stolen} 0 0\n")),
            ("proc/self/stat", &format!("1 (x) S 1 2 3 4 5 6 7 8 9 10 {own} 0 0 0 0\n")),
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/cpu.stat", &format!("throttled_usec {throttled}\n")),
        ])
    };
    let before = at(1000, 1000, 0, 100, 0);
    assert_eq!(at(1500, 1500, 5, 595, 0).disturbances_since(&before), [], "all ours");
    assert_eq!(
        at(1500, 1500, 0, 200, 0).disturbances_since(&before),
        [Disturbance::Others { share: 0.4 }]
    );
    assert_eq!(
        at(1400, 1400, 200, 500, 500_000).disturbances_since(&before),
        [Disturbance::Stolen { share: 0.2 }, Disturbance::Throttled { seconds: 0.5 }]
    );
}

#[test]
fn clock_that_is_set_is_distinguished_from_one_that_runs() {
    let before = Clock { wall: SystemTime::UNIX_EPOCH, monotonic: Instant::now() };
    let after = |wall: u64| Clock {
        wall: SystemTime::UNIX_EPOCH + Duration::from_secs(wall),
        monotonic: before.monotonic + Duration::from_secs(100),
    };
    assert_eq!(after(100).set_since(before), None);
    assert_eq!(after(101).set_since(before), None);
    assert_eq!(after(3700).set_since(before), Some(Disturbance::ClockSet { seconds: 3600.0 }));
    assert_eq!(after(40).set_since(before), Some(Disturbance::ClockSet { seconds: -60.0 }));
}

#[test]
fn preempted_executions_are_counted() {
    let execution = |switches| Resources {
        wall: Duration::from_millis(500),
        involuntary_switches: switches,
        ..resources()
    };
    let of = |switches: [u64; 4]| preempted(switches.map(execution).iter());
    assert_eq!(of([0, 10, 25, 3]), None);
    assert_eq!(of([0, 100, 26, 3]), Some(Disturbance::Preempted { share: 0.5 }));
    assert_eq!(preempted([]), None);
}

#[test]
fn state_of_this_machine_can_be_read() {
    let now = MachineState::now();
    assert!(now.times.is_some() && now.own.is_some());
    drop(now.disturbances());
}

#[test]
fn cpu_times_count_guests_once() {
    let stat = "cpu  100 10 20 700 5 1 2 30 40 4\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n";
    let times = parse_cpu_times(stat).unwrap();
    assert_eq!(times, CpuTimes { total: 868, busy: 133, stolen: 30 });
    let later = CpuTimes { total: 968, busy: 143, stolen: 31 };
    assert_eq!(later.since(times), Some(CpuTimes { total: 100, busy: 10, stolen: 1 }));
    assert_eq!(times.since(times), None);
    for odd in ["", "cpu  1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu  a b c d e f g h"] {
        assert_eq!(parse_cpu_times(odd), None, "{odd:?}");
    }
}

#[test]
fn own_time_is_found_after_any_process_name() {
    let stat = "77 (a b) c) S 1 2 3 4 5 6 7 8 9 10 100 20 3000 400 20 0 1\n";
    assert_eq!(parse_own_time(stat), Some(3520));
    assert_eq!(parse_own_time("77 (a) S 1 2"), None);
    assert_eq!(parse_own_time(""), None);
}

#[test]
fn load_is_that_of_the_last_minute_while_processes_run() {
    assert_eq!(parse_load("2.14 4.43 3.43 2/90 15716\n"), Some(2.14));
    assert_eq!(parse_load("2.14 4.43 3.43 1/90 15716\n"), None);
    assert_eq!(parse_load(""), None);
}

#[test]
fn group_dirs_are_ordered_from_the_inside_out() {
    assert_eq!(
        parse_group_dirs("9:name=systemd:/\n0::/a.slice/b\n"),
        ["sys/fs/cgroup/a.slice/b", "sys/fs/cgroup/a.slice", "sys/fs/cgroup"]
    );
    assert_eq!(parse_group_dirs("0::/\n"), ["sys/fs/cgroup"]);
    assert_eq!(parse_group_dirs("1:cpu:/\n"), [""; 0]);
}

#[test]
fn quota_is_a_number_of_cpus() {
    assert_eq!(parse_quota("50000 100000\n"), Some(0.5));
    assert_eq!(parse_quota("max 100000\n"), None);
    assert_eq!(parse_quota("1 0"), None);
    let stat = "usage_usec 5\nnr_throttled 3\nthrottled_usec 1500000\n";
    assert_eq!(parse_throttled(stat), Some(Duration::from_millis(1500)));
    assert_eq!(parse_throttled("usage_usec 5\n"), None);
}
