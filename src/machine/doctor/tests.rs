//! Tests of the checks on machines made of files.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::model::Severity;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = TempDir::new().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }
    root
}

/// The result of one check of a machine that has these files.
fn check(name: &str, files: &[(&str, &str)]) -> Finding {
    let root = tree(files);
    let mut all = examine(root.path()).into_iter();
    all.find(|finding| finding.check == name).unwrap_or_else(|| panic!("there is no check {name}"))
}

const CPU0: &str = "sys/devices/system/cpu/cpu0/online";
const TWO: (&str, &str) = ("sys/devices/system/cpu/online", "0-1");
/// The firmware of one whose CPU has no flags.
const OF_ARM: (&str, &str) = ("proc/device-tree/compatible", "linux,dummy-virt");
const VIRTUAL: (&str, &str) = ("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm");

fn is_user(finding: &Finding, command: &str) -> bool {
    matches!(&finding.severity, Severity::User(what) if what.contains(command))
}

#[test]
fn empty_machine_has_no_findings_that_matter() {
    let findings = examine(tree(&[]).path());
    assert!(findings.iter().all(|finding| finding.severity == Severity::Ok), "{findings:?}");
    assert_eq!(findings_summary(&findings), None);
    let mut names: Vec<&str> = findings.iter().map(|finding| finding.check).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), findings.len(), "each check has a name of its own");
}

#[test]
fn dynamic_governor_gets_the_command_that_changes_it() {
    let cpufreq = "sys/devices/system/cpu/cpu1/cpufreq";
    let governor = format!("{cpufreq}/scaling_governor");
    let finding = check("governor", &[TWO, (&governor, "powersave")]);
    assert!(finding.matters && is_user(&finding, "echo performance | sudo tee"), "{finding:?}");
    let finding = check("governor", &[TWO, (&governor, "performance")]);
    assert_eq!(finding, Finding::ok("governor", "performance"));
    let found = |files: &[_]| check("virtual-machine", files).found;
    assert_eq!([found(&[VIRTUAL]), found(&[OF_ARM]), found(&[TWO])], ["yes", "yes", "none found"]);
    let finding = check("governor", &[TWO, VIRTUAL]);
    assert!(matches!(finding.severity, Severity::Never(_)) && !finding.matters);
    let preference = format!("{cpufreq}/energy_performance_preference");
    let finding = check("energy-preference", &[(&preference, "balance_power")]);
    assert!(is_user(&finding, "energy_performance_preference"), "{finding:?}");
}

#[test]
fn turbo_does_not_matter_for_interleaved_versions() {
    for file in [
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
        ("sys/devices/system/cpu/cpufreq/boost", "1"),
    ] {
        let finding = check("turbo", &[file]);
        assert!(matches!(finding.severity, Severity::Rbench(_)) && !finding.matters, "{finding:?}");
    }
    let off = check("turbo", &[("sys/devices/system/cpu/intel_pstate/no_turbo", "1")]);
    assert_eq!(off, Finding::ok("turbo", "off"));
}

#[test]
fn cores_with_two_threads_are_reported() {
    let finding = check(
        "smt",
        &[
            ("sys/devices/system/cpu/smt/active", "1"),
            ("sys/devices/system/cpu/smt/control", "on"),
            ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,4"),
        ],
    );
    assert!(finding.found.contains("CPUs 0,4") && is_user(&finding, "smt/control"), "{finding:?}");
}

#[test]
fn isolated_cpus_are_offered_and_their_interrupts_matter() {
    let isolated = ("sys/devices/system/cpu/isolated", "2-3");
    let files = [
        isolated,
        ("sys/devices/system/cpu/online", "0-3"),
        ("proc/irq/default_smp_affinity", "f"),
        ("proc/irq/9/smp_affinity_list", "0-3"),
        ("proc/irq/10/smp_affinity_list", "0-1"),
    ];
    let finding = check("isolated-cpus", &files);
    assert!(matches!(&finding.severity, Severity::Rbench(how) if how.starts_with("--cpu 2 ")));
    let finding = check("interrupts", &files);
    assert_eq!(finding.found, "1 of 2 may reach the isolated CPUs");
    assert!(finding.matters && is_user(&finding, "echo 0,1 | sudo tee"), "{finding:?}");
    assert_eq!(check("interrupts", &files[2..]).severity, Severity::Ok);
    let group = ("proc/self/cgroup", "0::/a");
    let partition =
        ("sys/fs/cgroup/a/cpuset.cpus.partition", "isolated invalid (Cpu list is empty)");
    assert!(check("cpuset-partition", &[group, partition]).matters);
    let irqbalance = check("irqbalance", &[("proc/77/comm", "irqbalance"), (CPU0, "1")]);
    assert!(is_user(&irqbalance, "systemctl stop irqbalance"), "{irqbalance:?}");
}

#[test]
fn kernel_settings_get_the_command_that_changes_them() {
    for (name, file, value, command) in [
        ("nmi-watchdog", "proc/sys/kernel/nmi_watchdog", "1", "sysctl kernel.nmi_watchdog=0"),
        ("page-merging", "sys/kernel/mm/ksm/run", "1", "ksm/run"),
        (
            "huge-pages",
            "sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never",
            "echo madvise",
        ),
    ] {
        let finding = check(name, &[(file, value)]);
        assert!(is_user(&finding, command) && !finding.matters, "{finding:?}");
    }
    let madvise = [("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")];
    assert_eq!(check("huge-pages", &madvise), Finding::ok("huge-pages", "madvise"));
    let balancing = ("proc/sys/kernel/numa_balancing", "1");
    let nodes = ("sys/devices/system/node/online", "0-1");
    assert!(check("numa-balancing", &[balancing, nodes]).matters);
    assert_eq!(check("numa-balancing", &[balancing]).severity, Severity::Ok);
    let aslr = check("aslr", &[("proc/sys/kernel/randomize_va_space", "2")]);
    assert!(matches!(aslr.severity, Severity::Rbench(_)));
}

#[test]
fn swap_matters_if_it_is_used() {
    let head = "Filename\tType\tSize\tUsed\tPriority\n/swapfile file 2097148 ";
    let in_use = check("swap", &[("proc/swaps", &format!("{head}524288 -2"))]);
    assert!(in_use.matters && in_use.found == "512 MiB in use", "{in_use:?}");
    let unused = check("swap", &[("proc/swaps", &format!("{head}0 -2"))]);
    assert_eq!(unused, Finding::ok("swap", "not in use"));
}

#[test]
fn other_load_is_reported_with_its_numbers() {
    let load = check("load", &[TWO, ("proc/loadavg", "3.02 3 3 2/90 1")]);
    assert!(load.matters && load.found == "1.51 per core", "{load:?}");
    assert_eq!(check("load", &[TWO, ("proc/loadavg", "0.2 3 3 2/90 1")]).severity, Severity::Ok);
    let waited =
        "some avg10=0.00 avg60=12.34 avg300=1 total=1\nfull avg10=0 avg60=0 avg300=0 total=0";
    let pressure = check("pressure", &[("proc/pressure/io", waited)]);
    assert!(
        pressure.matters && pressure.found == "tasks waited for io 12 % of the last minute",
        "{pressure:?}"
    );
    let stolen = check("stolen-time", &[("proc/stat", "cpu  100 0 100 750 0 0 0 50 0 0")]);
    assert!(stolen.matters && stolen.found.starts_with("5.0 %"), "{stolen:?}");
    let group = ("proc/self/cgroup", "0::/a");
    let quota = check("quota", &[group, ("sys/fs/cgroup/a/cpu.max", "50000 100000")]);
    assert!(quota.matters && matches!(quota.severity, Severity::Never(_)), "{quota:?}");
    let enough = check("quota", &[group, ("sys/fs/cgroup/a/cpu.max", "200000 100000")]);
    assert_eq!(enough, Finding::ok("quota", "2.00 CPUs"));
    let battery = [
        ("sys/class/power_supply/BAT0/type", "Battery"),
        ("sys/class/power_supply/BAT0/status", "Discharging"),
    ];
    assert!(check("battery", &battery).matters);
    let throttled = ("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3");
    assert!(check("heat", &[throttled]).found.starts_with("throttled 3 times"));
}

#[test]
fn slow_clock_matters_and_a_faster_one_is_named() {
    const DIRECTORY: &str = "sys/devices/system/clocksource/clocksource0";
    let current = format!("{DIRECTORY}/current_clocksource");
    let available = format!("{DIRECTORY}/available_clocksource");
    assert_eq!(check("clock", &[(&current, "tsc")]), Finding::ok("clock", "tsc"));
    let slow = check("clock", &[(&current, "hpet"), (&available, "hpet acpi_pm")]);
    assert!(slow.matters && matches!(slow.severity, Severity::Never(_)), "{slow:?}");
    let slow = check("clock", &[(&current, "hpet"), (&available, "tsc hpet")]);
    assert!(slow.matters && is_user(&slow, "echo tsc | sudo tee /sys/"), "{slow:?}");
}

#[test]
fn perf_events_distinguish_the_causes_of_errors() {
    let paranoid = tree(&[("proc/sys/kernel/perf_event_paranoid", "4")]);
    let nothing = tree(&[]);
    let finding = |root: &TempDir, number: i32| {
        perf_finding(&Root::new(root.path()), Err(io::Error::from_raw_os_error(number)))
    };
    let forbidden = finding(&paranoid, libc::EACCES);
    assert!(is_user(&forbidden, "sysctl kernel.perf_event_paranoid=2"), "{forbidden:?}");
    for number in [libc::EPERM, libc::ENOENT, libc::ENOSYS] {
        assert!(matches!(finding(&nothing, number).severity, Severity::Never(_)));
    }
    assert_eq!(perf_finding(&Root::new(nothing.path()), Ok(())).severity, Severity::Ok);
}

#[test]
fn clock_of_small_steps_is_fine() {
    assert_eq!(clock_finding(Duration::from_nanos(20)).severity, Severity::Ok);
    assert!(clock_finding(Duration::from_millis(1)).matters);
    // The real probes must answer, with any result.
    assert_eq!(clock_step().check, "clock-step");
    assert_eq!(perf_events().check, "perf-events");
}

#[test]
fn malformed_cpu_lists_are_empty() {
    assert_eq!(numbers("0-2,7"), [0, 1, 2, 7]);
    for odd in ["", "x", "3-1", "0-4000000000"] {
        assert_eq!(numbers(odd), [0; 0], "{odd}");
    }
}
