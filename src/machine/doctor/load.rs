//! Checks for other work on the machine, and for limits on rbench's own.

use crate::machine::root::Root;
use crate::machine::state::MachineState;
use crate::model::Finding;

/// The command that shows the busiest processes.
const WHO: &str = "ps -eo pcpu,rss,comm --sort=-pcpu | head";

/// The shares of the last minute, in percent, above which waiting processes matter.
const WAITED: [(&str, f64); 3] = [("cpu", 10.0), ("io", 5.0), ("memory", 1.0)];

/// All findings on other work.
pub fn findings(root: &Root<'_>, state: &MachineState) -> Vec<Finding> {
    vec![load(state), pressure(root), quota(state), steal(state), battery(state)]
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
