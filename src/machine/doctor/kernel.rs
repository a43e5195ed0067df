//! Checks settings of the kernel that disturb measurements: address randomisation, watchdogs,
//! pages, swap.

use crate::machine::root::{Root, numbers};
use crate::model::Finding;

/// All findings on the kernel.
pub fn findings(root: &Root<'_>) -> Vec<Finding> {
    vec![
        aslr(root),
        watchdog(root),
        numa(root),
        timers(root),
        huge_pages(root),
        merging(root),
        swap(root),
        paranoid(root),
    ]
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

/// This setting alone does not decide whether events can be counted; a [probe](super::probe) tries
/// it.
fn paranoid(root: &Root<'_>) -> Finding {
    let value = sysctl(root, "perf_event_paranoid");
    Finding::ok("perf-paranoid", value.as_deref().unwrap_or("not shown"))
}
