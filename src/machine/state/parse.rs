//! Parses the kernel's files.

use std::time::Duration;

/// Times of all CPUs together since the machine was started, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// All there was.
    pub total: u64,
    /// Used by processes and by the kernel for them.
    pub busy: u64,
    /// Taken by the host.
    pub stolen: u64,
}

impl CpuTimes {
    /// What passed since an earlier moment; none if nothing did.
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
pub fn cpu_times(stat: &str) -> Option<CpuTimes> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<u64> = line.split_whitespace().take(8).map_while(|t| t.parse().ok()).collect();
    let &[user, nice, system, idle, iowait, irq, softirq, stolen] = &times[..] else {
        return None;
    };
    let busy = user + nice + system + irq + softirq;
    Some(CpuTimes { total: busy + idle + iowait + stolen, busy, stolen })
}

/// `/proc/self/stat`: the time of this process and of its children that ended, in ticks.
pub fn own_time(stat: &str) -> Option<u64> {
    // The second field is a name in parentheses, which may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).take(4).map(str::parse::<u64>);
    let mut sum = 0;
    for _ in 0..4 {
        sum += times.next()?.ok()?;
    }
    Some(sum)
}

/// `/proc/loadavg`: the load of the last minute; none if nothing but the reader runs any more, so that
/// what made the load has ended, as the builds of a comparison just before have.
pub fn load(loadavg: &str) -> Option<f64> {
    let mut fields = loadavg.split_whitespace();
    let load = fields.next()?.parse().ok()?;
    let (running, _) = fields.nth(2)?.split_once('/')?;
    (running.parse::<u32>().ok()? > 1).then_some(load)
}

/// `/proc/self/cgroup`: where the control groups of this process are shown, from its own to the outermost;
/// of the unified hierarchy. In a container the outermost may be all that can be seen.
pub fn group_dirs(cgroup: &str) -> Vec<String> {
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

/// `cpu.max`: how many CPUs a control group may use, if there is a limit.
pub fn quota(cpu_max: &str) -> Option<f64> {
    let (quota, period) = cpu_max.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then_some(quota / period)
}

/// `cpu.stat`: how long processes waited because of the quota.
pub fn throttled(cpu_stat: &str) -> Option<Duration> {
    let time = cpu_stat.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
    time.trim().parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times_are_summed_without_counting_guests_twice() {
        let stat = "cpu  100 10 20 700 5 1 2 30 40 4\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n";
        let times = cpu_times(stat).unwrap();
        assert_eq!(times, CpuTimes { total: 868, busy: 133, stolen: 30 });
        let later = CpuTimes { total: 968, busy: 143, stolen: 31 };
        assert_eq!(later.since(times), Some(CpuTimes { total: 100, busy: 10, stolen: 1 }));
        assert_eq!(times.since(times), None);
        for odd in ["", "cpu  1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu  a b c d e f g h"] {
            assert_eq!(cpu_times(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn the_own_time_is_found_behind_any_name() {
        let stat = "77 (a b) c) S 1 2 3 4 5 6 7 8 9 10 100 20 3000 400 20 0 1\n";
        assert_eq!(own_time(stat), Some(3520));
        assert_eq!(own_time("77 (a) S 1 2"), None);
        assert_eq!(own_time(""), None);
    }

    #[test]
    fn the_load_is_that_of_the_last_minute_while_anything_runs() {
        assert_eq!(load("2.14 4.43 3.43 2/90 15716\n"), Some(2.14));
        assert_eq!(load("2.14 4.43 3.43 1/90 15716\n"), None);
        assert_eq!(load(""), None);
    }

    #[test]
    fn groups_are_looked_for_from_the_inside_out() {
        assert_eq!(
            group_dirs("9:name=systemd:/\n0::/a.slice/b\n"),
            ["sys/fs/cgroup/a.slice/b", "sys/fs/cgroup/a.slice", "sys/fs/cgroup"]
        );
        assert_eq!(group_dirs("0::/\n"), ["sys/fs/cgroup"]);
        assert_eq!(group_dirs("1:cpu:/\n"), [""; 0]);
    }

    #[test]
    fn a_quota_is_a_number_of_cpus_and_none_is_none() {
        assert_eq!(quota("50000 100000\n"), Some(0.5));
        assert_eq!(quota("max 100000\n"), None);
        assert_eq!(quota("1 0"), None);
        let stat = "usage_usec 5\nnr_throttled 3\nthrottled_usec 1500000\n";
        assert_eq!(throttled(stat), Some(Duration::from_millis(1500)));
        assert_eq!(throttled("usage_usec 5\n"), None);
    }
}
