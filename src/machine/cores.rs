//! The CPUs that do not slow each other down: those of one core share its caches and execution units.

use std::{cmp::Reverse, collections::BTreeMap, path::Path};

use super::{
    root::{Root, numbers},
    state::MachineState,
};

/// The most benchmarks that are executed at once by default: the study behind the default had two CPUs
/// (docs/research/interleaving.md).
const MOST: u32 = 2;

/// The number of benchmarks that are executed at once on these CPUs unless the user chooses one: each has a core of its
/// own, within the quota of the control group.
pub fn default_parallel(cpus: &[usize]) -> u32 {
    let quota = MachineState::now().quota().map_or(f64::INFINITY, |(cpus, _)| cpus);
    at_once(cores(Path::new("/"), cpus).len(), quota)
}

/// At least one, however small the quota is.
fn at_once(cores: usize, quota: f64) -> u32 {
    let fits = |count: &u32| *count as usize <= cores && f64::from(*count) <= quota;
    (1..=MOST).rev().find(fits).unwrap_or(1)
}

/// One of these CPUs of each core: programs on them do not slow each other down, but for what all cores share.
pub fn one_of_each_core(cpus: &[usize]) -> Vec<usize> {
    first_of_each(&cores(Path::new("/"), cpus))
}

fn first_of_each(cores: &[Vec<usize>]) -> Vec<usize> {
    cores.iter().filter_map(|core| core.first().copied()).collect()
}

/// These CPUs in an order in which consecutive ones belong to different cores, as many as there are cores.
pub fn by_core(cpus: &[usize]) -> Vec<usize> {
    ordered(cores(Path::new("/"), cpus))
}

fn ordered(mut cores: Vec<Vec<usize>>) -> Vec<usize> {
    // Those with the most CPUs come first, so that the last CPUs are of the same cores as the first ones, in order.
    cores.sort_by_key(|core| Reverse(core.len()));
    let most = cores.first().map_or(0, Vec::len);
    let nth = |index: usize| cores.iter().filter_map(move |core| core.get(index).copied());
    (0..most).flat_map(nth).collect()
}

/// Groups these CPUs by core, with the files below `root`. A CPU without such a file counts as a separate core.
fn cores(root: &Path, cpus: &[usize]) -> Vec<Vec<usize>> {
    let root = Root::new(root);
    let mut cores: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for cpu in cpus {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings = root.text(&file).map(|list| numbers(&list)).unwrap_or_default();
        let first = siblings.first().map_or(*cpu, |first| *first as usize);
        cores.entry(first).or_default().push(*cpu);
    }
    cores.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_benchmark_has_a_core_within_the_quota() {
        assert_eq!(at_once(1, f64::INFINITY), 1);
        assert_eq!(at_once(2, f64::INFINITY), 2);
        assert_eq!(at_once(64, f64::INFINITY), MOST);
        assert_eq!(at_once(4, 1.5), 1);
        assert_eq!(at_once(4, 2.0), 2);
        assert_eq!(at_once(4, 0.1), 1);
        assert_eq!(at_once(0, 4.0), 1);
    }

    /// The root of a machine of two cores with two CPUs each.
    fn two_cores() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (cpu, siblings) in [(0, "0-1"), (1, "0-1"), (2, "2,3"), (3, "2,3")] {
            let path = root.path().join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("thread_siblings_list"), siblings).unwrap();
        }
        root
    }

    #[test]
    fn one_cpu_of_each_core_is_chosen() {
        let root = two_cores();
        let chosen = |cpus: &[usize]| first_of_each(&cores(root.path(), cpus));
        assert_eq!(chosen(&[0, 1, 2, 3]).len(), 2);
        assert_eq!(chosen(&[0, 1]).len(), 1);
        assert_eq!(chosen(&[1, 3]), [1, 3], "only the permitted ones");
        assert_eq!(chosen(&[8, 9]), [8, 9], "nothing is known of them");
    }

    #[test]
    fn consecutive_cpus_belong_to_different_cores() {
        let root = two_cores();
        let order = |cpus: &[usize]| ordered(cores(root.path(), cpus));
        assert_eq!(order(&[0, 1, 2, 3]), [0, 2, 1, 3]);
        assert_eq!(order(&[0, 2, 3]), [2, 0, 3], "3 and 2 are one core");
        assert_eq!(order(&[0, 1, 8, 9]), [0, 8, 9, 1], "nothing is known of 8 and 9");
        assert_eq!(order(&[5]), [5]);
        assert_eq!(order(&[]), [0; 0]);
    }
}
