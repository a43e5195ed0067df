//! Checks this machine for sources of noise. Read-only: it never changes a setting.
//!
//! All files are read below a root directory. Values that the kernel does not report give no finding that matters.

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    root::{Root, numbers},
    state::MachineState,
};
use crate::model::{Finding, findings_summary};

const CPU: &str = "sys/devices/system/cpu";

/// The command that shows the busiest processes.
const WHO: &str = "ps -eo pcpu,rss,comm --sort=-pcpu | head";

/// The shares of the last minute, in percent, above which waiting processes matter.
const WAITED: [(&str, f64); 3] = [("cpu", 10.0), ("io", 5.0), ("memory", 1.0)];

/// Runs all checks of the machine that the files below `root` describe.
pub fn examine(root: &Path) -> Vec<Finding> {
    let state = MachineState::read(root);
    let root = Root::new(root);
    vec![
        governor(&root, &state),
        preference(&root),
        turbo(&root),
        smt(&root),
        isolation(&root),
        partition(&root, &state),
        interrupts(&root),
        irqbalance(&root),
        heat(&root),
        clocksource(&root),
        host(&root),
        aslr(&root),
        watchdog(&root),
        numa(&root),
        timers(&root),
        huge_pages(&root),
        merging(&root),
        swap(&root),
        paranoid(&root),
        load(&state),
        pressure(&root),
        quota(&state),
        steal(&state),
        battery(&state),
    ]
}

/// The [summary](findings_summary) of this machine now.
pub fn summary_now() -> Option<String> {
    findings_summary(&examine(Path::new("/")))
}

fn governor(root: &Root<'_>, state: &MachineState) -> Finding {
    const CHECK: &str = "governor";
    let driver = root.text(&format!("{CPU}/cpu0/cpufreq/scaling_driver"));
    let driver = driver.map(|name| format!(" (driver {name})")).unwrap_or_default();
    match state.governor() {
        Some("performance") => Finding::ok(CHECK, format!("performance{driver}")),
        Some(name) => Finding::user(
            CHECK,
            format!("{name}{driver}"),
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        )
        .that_matters(),
        None if root.is_virtual() => {
            Finding::never(CHECK, "not shown", "the host controls clock rates")
        }
        None => Finding::ok(CHECK, "none: the kernel does not change clock rates"),
    }
}

fn preference(root: &Root<'_>) -> Finding {
    const CHECK: &str = "energy-preference";
    let cpus = root.cpus().into_iter();
    let all =
        cpus.filter_map(|cpu| root.text(&format!("{cpu}/cpufreq/energy_performance_preference")));
    let all: Vec<String> = all.collect();
    match all.iter().find(|name| *name != "performance").or(all.first()) {
        None => Finding::ok(CHECK, "none"),
        Some(name) if name == "performance" => Finding::ok(CHECK, name.as_str()),
        Some(name) => Finding::user(
            CHECK,
            name.as_str(),
            "echo performance | sudo tee \
             /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
        ),
    }
}

fn turbo(root: &Root<'_>) -> Finding {
    const CHECK: &str = "turbo";
    let intel = root.number(&format!("{CPU}/intel_pstate/no_turbo")).map(|off| off == 0);
    let boost = root.number(&format!("{CPU}/cpufreq/boost")).map(|on| on != 0);
    let amd = root.text(&format!("{CPU}/amd_pstate/status"));
    let amd = amd.map(|status| format!(" (amd_pstate {status})")).unwrap_or_default();
    match intel.or(boost) {
        Some(true) => Finding::rbench(
            CHECK,
            format!("on{amd}"),
            "versions interleaved on one CPU have the same clock rates",
        ),
        Some(false) => Finding::ok(CHECK, format!("off{amd}")),
        None if root.is_virtual() => {
            Finding::never(CHECK, "not shown", "the host controls clock rates")
        }
        None => Finding::ok(CHECK, format!("not shown{amd}")),
    }
}

fn smt(root: &Root<'_>) -> Finding {
    const CHECK: &str = "smt";
    let siblings = root.text(&format!("{CPU}/cpu0/topology/thread_siblings_list"));
    let shared = siblings.filter(|list| numbers(list).len() > 1);
    match (root.number(&format!("{CPU}/smt/active")), root.text(&format!("{CPU}/smt/control"))) {
        (Some(1), _) => Finding::user(
            CHECK,
            shared.map_or_else(
                || "on".to_owned(),
                |list| format!("on: CPUs {list} are one core, for example"),
            ),
            "echo off | sudo tee /sys/devices/system/cpu/smt/control",
        ),
        (_, Some(control)) => Finding::ok(CHECK, control),
        _ => Finding::ok(CHECK, "off"),
    }
}

fn isolation(root: &Root<'_>) -> Finding {
    const CHECK: &str = "isolated-cpus";
    let tickless = root.text(&format!("{CPU}/nohz_full")).filter(|list| !numbers(list).is_empty());
    let tickless = tickless.map(|list| format!(", without ticks: {list}")).unwrap_or_default();
    match isolated(root) {
        None => Finding::ok(CHECK, format!("none{tickless}")),
        Some(list) => {
            let first = numbers(&list).first().copied().unwrap_or_default();
            let how = format!("--cpu {first} executes benchmarks on such a CPU");
            Finding::rbench(CHECK, format!("{list}{tickless}"), how)
        }
    }
}

fn isolated(root: &Root<'_>) -> Option<String> {
    root.text(&format!("{CPU}/isolated")).filter(|list| !numbers(list).is_empty())
}

/// The kernel appends an error to the file if it could not isolate the CPUs.
fn partition(root: &Root<'_>, state: &MachineState) -> Finding {
    const CHECK: &str = "cpuset-partition";
    let own = state.groups().iter();
    let kinds = own.filter_map(|dir| root.text(&format!("{dir}/cpuset.cpus.partition")));
    let kinds: Vec<String> = kinds.collect();
    match kinds.iter().find(|kind| kind.contains("invalid")).or(kinds.first()) {
        Some(kind) if kind.contains("invalid") => Finding::user(
            CHECK,
            kind.as_str(),
            "cat /sys/fs/cgroup/cpuset.cpus.effective, and give the group exclusive CPUs",
        )
        .that_matters(),
        kind => Finding::ok(CHECK, kind.map_or("none", String::as_str)),
    }
}

/// Interrupts matter only on isolated CPUs.
fn interrupts(root: &Root<'_>) -> Finding {
    const CHECK: &str = "interrupts";
    let mask = root.text("proc/irq/default_smp_affinity");
    let mask = mask.map_or_else(|| "not shown".to_owned(), |mask| format!("default mask {mask}"));
    let Some(isolated) = isolated(root) else { return Finding::ok(CHECK, mask) };
    let apart = numbers(&isolated);
    let may_meet = |irq: &&(u32, String)| {
        let list = root.text(&format!("proc/irq/{}/smp_affinity_list", irq.1));
        list.is_some_and(|list| numbers(&list).iter().any(|cpu| apart.contains(cpu)))
    };
    let all = root.numbered("proc/irq", "");
    match all.iter().filter(may_meet).count() {
        0 => Finding::ok(CHECK, mask),
        number => {
            let online = root.text(&format!("{CPU}/online")).unwrap_or_default();
            let others = numbers(&online).into_iter().filter(|cpu| !apart.contains(cpu));
            let others: Vec<String> = others.map(|cpu| cpu.to_string()).collect();
            let found = format!("{number} of {} may reach the isolated CPUs", all.len());
            let list = others.join(",");
            Finding::user(
                CHECK,
                found,
                format!("echo {list} | sudo tee /proc/irq/*/smp_affinity_list"),
            )
            .that_matters()
        }
    }
}

fn irqbalance(root: &Root<'_>) -> Finding {
    const CHECK: &str = "irqbalance";
    let is_it = |(_, process): &(u32, String)| {
        root.text(&format!("proc/{process}/comm")).is_some_and(|name| name == "irqbalance")
    };
    if root.numbered("proc", "").iter().any(is_it) {
        Finding::user(CHECK, "moves interrupts between CPUs", "sudo systemctl stop irqbalance")
    } else {
        Finding::ok(CHECK, "not running")
    }
}

fn heat(root: &Root<'_>) -> Finding {
    const CHECK: &str = "heat";
    let counts = root.cpus().into_iter();
    let counts = counts
        .filter_map(|cpu| root.number(&format!("{cpu}/thermal_throttle/core_throttle_count")));
    match counts.reduce(u64::saturating_add) {
        None => Finding::ok(CHECK, "not shown"),
        Some(0) => Finding::ok(CHECK, "never throttled since the machine was started"),
        Some(times) => Finding::user(
            CHECK,
            format!("throttled {times} times since the machine was started"),
            "cool the machine better, or measure with a smaller `parallel` in bench.toml",
        ),
    }
}

fn clocksource(root: &Root<'_>) -> Finding {
    const CHECK: &str = "clock";
    const DIRECTORY: &str = "sys/devices/system/clocksource/clocksource0";
    /// The clock sources that a process reads without a system call.
    const FAST: [&str; 4] = ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"];
    let Some(current) = root.text(&format!("{DIRECTORY}/current_clocksource")) else {
        return Finding::ok(CHECK, "not shown");
    };
    if FAST.contains(&current.as_str()) {
        return Finding::ok(CHECK, current);
    }
    let available = root.text(&format!("{DIRECTORY}/available_clocksource")).unwrap_or_default();
    let found = format!("{current}, which is slow to read");
    let better = available.split_whitespace().find(|name| FAST.contains(name));
    let finding = match better {
        Some(name) => Finding::user(
            CHECK,
            found,
            format!("echo {name} | sudo tee /{DIRECTORY}/current_clocksource"),
        ),
        None => Finding::never(CHECK, found, "the kernel trusts no faster one on this machine"),
    };
    finding.that_matters()
}

fn host(root: &Root<'_>) -> Finding {
    const CHECK: &str = "virtual-machine";
    if root.is_virtual() {
        let why = "other machines on the host add noise; interleaved versions are affected alike";
        Finding::never(CHECK, "yes", why)
    } else {
        Finding::ok(CHECK, "none found")
    }
}

fn sysctl(root: &Root<'_>, name: &str) -> Option<String> {
    root.text(&format!("proc/sys/kernel/{name}"))
}

fn aslr(root: &Root<'_>) -> Finding {
    const CHECK: &str = "aslr";
    match sysctl(root, "randomize_va_space").as_deref() {
        None => Finding::ok(CHECK, "not shown"),
        Some("0") => Finding::ok(CHECK, "off"),
        Some(_) => Finding::rbench(
            CHECK,
            "on",
            "interleaved executions run without it; all others start in an initial state drawn from the seed",
        ),
    }
}

fn watchdog(root: &Root<'_>) -> Finding {
    const CHECK: &str = "nmi-watchdog";
    match sysctl(root, "nmi_watchdog").as_deref() {
        Some("1") => Finding::user(CHECK, "on", "sudo sysctl kernel.nmi_watchdog=0"),
        other => Finding::ok(CHECK, if other.is_some() { "off" } else { "not shown" }),
    }
}

fn numa(root: &Root<'_>) -> Finding {
    const CHECK: &str = "numa-balancing";
    let nodes = root.text("sys/devices/system/node/online").map_or(1, |list| numbers(&list).len());
    match sysctl(root, "numa_balancing").as_deref() {
        None | Some("0") => Finding::ok(CHECK, "off"),
        Some(_) if nodes < 2 => Finding::ok(CHECK, "on, but there is one node"),
        Some(_) => Finding::user(
            CHECK,
            format!("on, between {nodes} nodes"),
            "sudo sysctl kernel.numa_balancing=0",
        )
        .that_matters(),
    }
}

fn timers(root: &Root<'_>) -> Finding {
    let on = sysctl(root, "timer_migration").map(|value| value != "0");
    Finding::ok("timer-migration", on.map_or("not shown", |on| if on { "on" } else { "off" }))
}

fn huge_pages(root: &Root<'_>) -> Finding {
    const CHECK: &str = "huge-pages";
    let modes = root.text("sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let mode = modes.split('[').nth(1).and_then(|rest| rest.split(']').next());
    match mode {
        Some("always") => Finding::user(
            CHECK,
            "always: whether a benchmark gets some depends on free memory",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        other => Finding::ok(CHECK, other.unwrap_or("not shown")),
    }
}

fn merging(root: &Root<'_>) -> Finding {
    const CHECK: &str = "page-merging";
    match root.number("sys/kernel/mm/ksm/run") {
        Some(1) => Finding::user(CHECK, "on", "echo 0 | sudo tee /sys/kernel/mm/ksm/run"),
        other => Finding::ok(CHECK, if other.is_some() { "off" } else { "not shown" }),
    }
}

fn swap(root: &Root<'_>) -> Finding {
    const CHECK: &str = "swap";
    let table = root.text("proc/swaps").unwrap_or_default();
    let used = |line: &str| line.split_whitespace().nth(3)?.parse::<u64>().ok();
    let used: Vec<u64> = table.lines().skip(1).filter_map(used).collect();
    let mebibytes = used.iter().fold(0, |sum: u64, kib| sum.saturating_add(*kib)) / 1024;
    match (used.len(), mebibytes) {
        (0, _) => Finding::ok(CHECK, "none"),
        (_, 0) => Finding::ok(CHECK, "not in use"),
        (_, mebibytes) => {
            Finding::user(CHECK, format!("{mebibytes} MiB in use"), "sudo swapoff -a")
                .that_matters()
        }
    }
}

/// This setting alone does not decide whether events can be counted; [`perf_events`] tries it.
fn paranoid(root: &Root<'_>) -> Finding {
    let value = sysctl(root, "perf_event_paranoid");
    Finding::ok("perf-paranoid", value.as_deref().unwrap_or("not shown"))
}

fn load(state: &MachineState) -> Finding {
    const CHECK: &str = "load";
    match state.load() {
        None => Finding::ok(CHECK, "none"),
        Some((per_core, is_busy)) => {
            let found = format!("{per_core:.2} per core");
            if is_busy {
                Finding::user(CHECK, found, WHO).that_matters()
            } else {
                Finding::ok(CHECK, found)
            }
        }
    }
}

fn pressure(root: &Root<'_>) -> Finding {
    const CHECK: &str = "pressure";
    let of = |(resource, limit): (&'static str, f64)| {
        let text = root.text(&format!("proc/pressure/{resource}"))?;
        let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
        let minute = some.split_whitespace().find_map(|word| word.strip_prefix("avg60="))?;
        Some((resource, minute.parse::<f64>().ok()?, limit))
    };
    let known: Vec<(&str, f64, f64)> = WAITED.into_iter().filter_map(of).collect();
    if known.is_empty() {
        return Finding::ok(CHECK, "not shown");
    }
    let shown = |(resource, minute, _): &(&str, f64, f64)| format!("{resource} {minute:.0} %");
    let waited = known.iter().map(shown).collect::<Vec<_>>().join(", ");
    let found = format!("tasks waited for {waited} of the last minute");
    if known.iter().any(|(_, minute, limit)| minute > limit) {
        Finding::user(CHECK, found, WHO).that_matters()
    } else {
        Finding::ok(CHECK, found)
    }
}

fn quota(state: &MachineState) -> Finding {
    const CHECK: &str = "quota";
    match state.quota() {
        None => Finding::ok(CHECK, "none"),
        Some((cpus, false)) => Finding::ok(CHECK, format!("{cpus:.2} CPUs")),
        Some((cpus, true)) => Finding::never(
            CHECK,
            format!("{cpus:.2} CPUs"),
            "whoever runs the container can give it a whole CPU; until then executions are paused",
        )
        .that_matters(),
    }
}

fn steal(state: &MachineState) -> Finding {
    const CHECK: &str = "stolen-time";
    match state.stolen() {
        None => Finding::ok(CHECK, "not shown"),
        Some((share, is_much)) => {
            let found = format!("{:.1} % since the machine was started", 100.0 * share);
            if is_much {
                Finding::never(CHECK, found, "the host gives this time to other machines")
                    .that_matters()
            } else {
                Finding::ok(CHECK, found)
            }
        }
    }
}

fn battery(state: &MachineState) -> Finding {
    const CHECK: &str = "battery";
    if state.is_on_battery() {
        Finding::user(CHECK, "being emptied", "plug in the power supply").that_matters()
    } else {
        Finding::ok(CHECK, "not in use")
    }
}

/// Checks if a process may count its own instructions here.
pub fn perf_events() -> Finding {
    perf_finding(&Root::new(Path::new("/")), open_counter())
}

fn perf_finding(root: &Root<'_>, opened: io::Result<()>) -> Finding {
    const CHECK: &str = "perf-events";
    let error = match opened {
        Ok(()) => return Finding::ok(CHECK, "instructions can be counted"),
        Err(error) => error,
    };
    let paranoid = root.number("proc/sys/kernel/perf_event_paranoid");
    match (error.raw_os_error(), paranoid) {
        (Some(libc::EACCES | libc::EPERM), Some(level)) if level > 2 => Finding::user(
            CHECK,
            format!("forbidden (perf_event_paranoid is {level})"),
            "sudo sysctl kernel.perf_event_paranoid=2",
        ),
        (Some(libc::EACCES | libc::EPERM), _) => {
            Finding::never(CHECK, "forbidden", "the container does not allow perf_event_open")
        }
        (Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP), _) => {
            Finding::never(CHECK, "none", "the CPU, or the host, shows no counters")
        }
        _ => Finding::never(CHECK, "none", error.to_string()),
    }
}

/// `struct perf_event_attr` in its first version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
}

/// Opens a counter of this process's own instructions in user mode, and closes it.
#[expect(unsafe_code, reason = "the C library has no function for this system call")]
fn open_counter() -> io::Result<()> {
    /// `PERF_COUNT_HW_INSTRUCTIONS` of `PERF_TYPE_HARDWARE`.
    const INSTRUCTIONS: u64 = 1;
    /// `disabled`, `exclude_kernel` and `exclude_hv`.
    const FLAGS: u64 = 1 | 1 << 5 | 1 << 6;
    /// `PERF_FLAG_FD_CLOEXEC`.
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let size = u32::try_from(size_of::<Attributes>()).unwrap_or_default();
    let attributes =
        Attributes { size, config: INSTRUCTIONS, flags: FLAGS, ..Attributes::default() };
    let (own, any, no_group) = (0_i32, -1_i32, -1_i32);
    // SAFETY: the kernel reads `size` bytes of the attributes, and writes nothing.
    let file = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            own,
            any,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    let Ok(file @ 0..) = i32::try_from(file) else { return Err(io::Error::last_os_error()) };
    // SAFETY: the file was opened above, and no other code has it.
    unsafe { libc::close(file) };
    Ok(())
}

/// Measures the resolution of the clock that benchmarks read: the smallest of many steps.
pub fn clock_step() -> Finding {
    let mut least = Duration::MAX;
    for _ in 0..1000 {
        let start = Instant::now();
        let mut step = start.elapsed();
        while step.is_zero() {
            step = start.elapsed();
        }
        least = least.min(step);
    }
    clock_finding(least)
}

fn clock_finding(step: Duration) -> Finding {
    const CHECK: &str = "clock-step";
    let found = format!("{} ns", step.as_nanos());
    if step > Duration::from_micros(1) {
        Finding::never(CHECK, found, "measurements must be long: use a larger --min-time")
            .that_matters()
    } else {
        Finding::ok(CHECK, found)
    }
}

#[cfg(test)]
mod tests;
