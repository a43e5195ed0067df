//! The state of the machine: other load, and the settings of its CPUs, from the files of the kernel.
//!
//! It is read before and after measuring; values that the system does not report give no warning.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use super::root::{Root, numbers};
use crate::model::{Disturbance, MANY_SWITCHES, Resources};

/// Above this load per core, the machine is busy.
const BUSY: f64 = 0.5;

/// The share of all CPU time that others may use without a warning.
const OTHERS: f64 = 0.1;

/// The share of all CPU time that the host may take without a warning.
const STOLEN: f64 = 0.01;

/// A quota below this many CPUs pauses even a benchmark of one thread.
const LEAST_QUOTA: f64 = 1.0;

/// The share of executions that may exceed it without a warning.
const PREEMPTED: f64 = 0.1;

/// The largest difference of the wall clock and the monotonic clock without a warning: corrections by a time server are
/// slower.
const CLOCK_SET: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct MachineState {
    load_per_core: Option<f64>,
    governor: Option<String>,
    on_battery: bool,
    quota: Option<f64>,
    throttled: Option<Duration>,
    groups: Vec<String>,
    times: Option<CpuTimes>,
    own: Option<u64>,
    clock: Clock,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    wall: SystemTime,
    monotonic: Instant,
}

impl MachineState {
    /// Reads the present state.
    pub fn now() -> Self {
        Self::read(Path::new("/"))
    }

    /// The state that the files below `root` describe.
    pub(super) fn read(root: &Path) -> Self {
        let files = Root::new(root);
        let text = |path: &str| files.text(path);
        let groups =
            text("proc/self/cgroup").map_or(Vec::new(), |groups| parse_group_dirs(&groups));
        let cpus = text("sys/devices/system/cpu/online")
            .and_then(|online| u32::try_from(numbers(&online).len()).ok())
            .filter(|cpus| *cpus > 0);
        Self {
            load_per_core: text("proc/loadavg")
                .and_then(|load| Some(parse_load(&load)? / f64::from(cpus?))),
            governor: governor(&files, cpus.unwrap_or(0)),
            on_battery: on_battery(root),
            quota: groups
                .iter()
                .filter_map(|dir| parse_quota(&text(&format!("{dir}/cpu.max"))?))
                .reduce(f64::min),
            throttled: groups
                .iter()
                .filter_map(|dir| parse_throttled(&text(&format!("{dir}/cpu.stat"))?))
                .reduce(Duration::max),
            groups,
            times: text("proc/stat").and_then(|stat| parse_cpu_times(&stat)),
            own: text("proc/self/stat").and_then(|stat| parse_own_time(&stat)),
            clock: Clock { wall: SystemTime::now(), monotonic: Instant::now() },
        }
    }

    /// The runnable processes per core over the last minute, and true if that is too many; none if no process is
    /// running any more.
    pub(super) fn load(&self) -> Option<(f64, bool)> {
        self.load_per_core.map(|load| (load, load > BUSY))
    }

    /// The governor of clock rates: of a CPU with another than `performance`, if there is one.
    pub(super) fn governor(&self) -> Option<&str> {
        self.governor.as_deref()
    }

    pub(super) const fn is_on_battery(&self) -> bool {
        self.on_battery
    }

    /// The quota of the control group in CPUs, if it has one, and true if that is too small.
    pub(super) fn quota(&self) -> Option<(f64, bool)> {
        self.quota.map(|cpus| (cpus, cpus < LEAST_QUOTA))
    }

    /// The share of all time that the host took since boot, and true if that is too much.
    pub(super) fn stolen(&self) -> Option<(f64, bool)> {
        let times = self.times.filter(|times| times.total > 0)?;
        let share = times.stolen as f64 / times.total as f64;
        Some((share, share > STOLEN))
    }

    /// The directories of this process's control groups, below the root.
    pub(super) fn groups(&self) -> &[String] {
        &self.groups
    }

    /// The disturbances of measurements that start in this state. The load is that of other processes only if rbench
    /// has not worked yet: read the state before compiling.
    pub fn disturbances(&self) -> Vec<Disturbance> {
        let load = self.load_per_core.filter(|load| *load > BUSY);
        let quota = self.quota.filter(|cpus| *cpus < LEAST_QUOTA);
        let governor = self.governor.clone().filter(|name| name != "performance");
        let found = [
            load.map(|per_core| Disturbance::Load { per_core }),
            governor.map(|name| Disturbance::Governor { name }),
            self.on_battery.then_some(Disturbance::Battery),
            quota.map(|cpus| Disturbance::Quota { cpus }),
        ];
        found.into_iter().flatten().collect()
    }

    /// The share of the time of all CPUs that processes other than rbench and its finished children used since an
    /// earlier state, if the system reports it.
    pub fn others_since(&self, earlier: &Self) -> Option<f64> {
        let passed = self.times?.since(earlier.times?)?;
        let own = self.own?.saturating_sub(earlier.own?);
        Some(passed.busy.saturating_sub(own) as f64 / passed.total as f64)
    }

    pub fn disturbances_since(&self, earlier: &Self) -> Vec<Disturbance> {
        let mut found = Vec::new();
        if let (Some(before), Some(after)) = (earlier.times, self.times)
            && let Some(passed) = after.since(before)
        {
            let share = |time: u64| time as f64 / passed.total as f64;
            let others = self.others_since(earlier);
            found.extend(others.filter(|s| *s > OTHERS).map(|share| Disturbance::Others { share }));
            let stolen = Some(share(passed.stolen)).filter(|share| *share > STOLEN);
            found.extend(stolen.map(|share| Disturbance::Stolen { share }));
        }
        let throttled = self.throttled.zip(earlier.throttled);
        let waited = throttled.map(|(now, then)| now.saturating_sub(then).as_secs_f64());
        found.extend(waited.filter(|s| *s > 0.0).map(|seconds| Disturbance::Throttled { seconds }));
        found.extend(self.clock.set_since(earlier.clock));
        found
    }
}

impl Clock {
    fn set_since(self, earlier: Self) -> Option<Disturbance> {
        let expected = earlier.wall + self.monotonic.saturating_duration_since(earlier.monotonic);
        let seconds = match self.wall.duration_since(expected) {
            Ok(ahead) if ahead > CLOCK_SET => ahead.as_secs_f64(),
            Err(behind) if behind.duration() > CLOCK_SET => -behind.duration().as_secs_f64(),
            _ => return None,
        };
        Some(Disturbance::ClockSet { seconds })
    }
}

/// The disturbance by preemption, if many executions have too many context switches.
pub fn preempted<'a>(executions: impl IntoIterator<Item = &'a Resources>) -> Option<Disturbance> {
    let (mut all, mut many) = (0_u32, 0_u32);
    for Resources { wall, involuntary_switches, .. } in executions {
        all += 1;
        let allowed = f64::from(MANY_SWITCHES) * wall.as_secs_f64().max(0.1);
        many += u32::from(*involuntary_switches as f64 > allowed);
    }
    let share = f64::from(many) / f64::from(all.max(1));
    (share > PREEMPTED).then_some(Disturbance::Preempted { share })
}

/// The governor of the first CPU that has another than `performance`, else of any.
fn governor(root: &Root<'_>, cpus: u32) -> Option<String> {
    let of = |cpu| root.text(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
    let governors: Vec<String> = (0..cpus).filter_map(of).collect();
    governors.iter().find(|name| *name != "performance").or(governors.first()).cloned()
}

fn on_battery(root: &Path) -> bool {
    let Ok(supplies) = fs::read_dir(root.join("sys/class/power_supply")) else { return false };
    let discharging = |supply: &Path| {
        let text = |name: &str| fs::read_to_string(supply.join(name)).unwrap_or_default();
        // The battery of a mouse has the scope `Device`.
        text("type").trim() == "Battery"
            && text("scope").trim() != "Device"
            && text("status").trim() == "Discharging"
    };
    supplies.flatten().any(|supply| discharging(&supply.path()))
}

/// The times of all CPUs together since boot, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    pub total: u64,
    /// The time of processes, and of the kernel on their behalf.
    pub busy: u64,
    /// The time taken by the host.
    pub stolen: u64,
}

impl CpuTimes {
    /// The times since an earlier moment; none if no time has passed.
    pub fn since(self, earlier: Self) -> Option<Self> {
        let total = self.total.checked_sub(earlier.total).filter(|total| *total > 0)?;
        Some(Self {
            total,
            busy: self.busy.saturating_sub(earlier.busy),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        })
    }
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal, and guest times,
/// which are in the first two already.
fn parse_cpu_times(stat: &str) -> Option<CpuTimes> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<u64> = line.split_whitespace().take(8).map_while(|t| t.parse().ok()).collect();
    let &[user, nice, system, idle, iowait, irq, softirq, stolen] = &times[..] else {
        return None;
    };
    let busy = user + nice + system + irq + softirq;
    Some(CpuTimes { total: busy + idle + iowait + stolen, busy, stolen })
}

/// `/proc/self/stat`: the time of this process and of its children that ended, in ticks.
fn parse_own_time(stat: &str) -> Option<u64> {
    // The second field is a name in parentheses, which may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).take(4).map(str::parse::<u64>);
    let mut sum = 0;
    for _ in 0..4 {
        sum += times.next()?.ok()?;
    }
    Some(sum)
}

/// `/proc/loadavg`: the load of the last minute; none if only the reader is running, because the load is then over,
/// such as that of earlier builds of a comparison.
fn parse_load(loadavg: &str) -> Option<f64> {
    let mut fields = loadavg.split_whitespace();
    let load = fields.next()?.parse().ok()?;
    let (running, _) = fields.nth(2)?.split_once('/')?;
    (running.parse::<u32>().ok()? > 1).then_some(load)
}

/// `/proc/self/cgroup`: the directories of this process's control groups in the unified hierarchy, from the innermost
/// to the outermost. In a container only the outermost may be visible.
fn parse_group_dirs(cgroup: &str) -> Vec<String> {
    let Some(path) = cgroup.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Vec::new();
    };
    let mut path = path.trim_end_matches('/');
    let mut dirs = vec![format!("sys/fs/cgroup{path}")];
    while let Some((parent, _)) = path.rsplit_once('/') {
        path = parent;
        dirs.push(format!("sys/fs/cgroup{path}"));
    }
    dirs
}

/// `cpu.max`: the quota of a control group in CPUs, if it has one.
fn parse_quota(cpu_max: &str) -> Option<f64> {
    let (quota, period) = cpu_max.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then_some(quota / period)
}

/// `cpu.stat`: the time for which processes waited because of the quota.
fn parse_throttled(cpu_stat: &str) -> Option<Duration> {
    let time = cpu_stat.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
    time.trim().parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests;
