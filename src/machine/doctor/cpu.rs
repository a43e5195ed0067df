//! Checks clock rates, shared cores, isolated CPUs, and interrupts.

use crate::machine::root::{Root, numbers};
use crate::machine::state::MachineState;
use crate::model::Finding;

const CPU: &str = "sys/devices/system/cpu";

/// All findings on CPUs.
pub fn findings(root: &Root<'_>, state: &MachineState) -> Vec<Finding> {
    vec![
        governor(root, state),
        preference(root),
        turbo(root),
        smt(root),
        isolation(root),
        partition(root, state),
        interrupts(root),
        irqbalance(root),
        heat(root),
        clocksource(root),
        host(root),
    ]
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
