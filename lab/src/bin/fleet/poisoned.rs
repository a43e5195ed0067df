//! Commits that harm the machine that measures them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use super::{
    Failure, check,
    hosts::{Hosts, QUICK, stop},
};

/// What `changing` does in these commits.
const POISONS: [(&str, &str); 5] = [
    ("does not compile", "compile_error!(\"it is broken\")"),
    ("hangs", "loop { std::hint::black_box(0); }"),
    ("eats memory", "{ let mut all = Vec::new(); loop { all.push(vec![1_u8; 1 << 20]); } }"),
    (
        "forks without end",
        "loop { let _ = std::process::Command::new(\"sleep\").arg(\"600\").spawn(); }",
    ),
    (
        "fills the disk",
        "{ std::fs::write(\"fill\", vec![1; 1 << 29]).unwrap();
           for part in 0..100 { std::fs::copy(\"fill\", format!(\"fill{part}\")).unwrap(); } 0 }",
    ),
];

/// A control group of version 1, removed at the end.
struct Group(PathBuf);

impl Group {
    fn new(kind: &str, file: &str, limit: &str) -> Result<Self, Failure> {
        let path = Path::new("/sys/fs/cgroup")
            .join(kind)
            .join(format!("rbench-fleet-{}", std::process::id()));
        fs::create_dir(&path)?;
        fs::write(path.join(file), limit)?;
        Ok(Self(path))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A small disk in memory.
struct Disk(PathBuf);

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

pub fn run() -> Result<bool, Failure> {
    let hosts = Hosts::new(&["listen_addresses="])?;
    let good = fs::read_to_string(hosts.project.path().join("src/lib.rs"))?;
    let mut commits = 0;
    for (what, body) in POISONS {
        hosts.commits(8)?;
        let poisoned = good.replace("    rounds(ROUNDS)", &format!("    {body}"));
        fs::write(hosts.project.path().join("src/lib.rs"), poisoned)?;
        hosts.commit(&format!("A commit that {what}"))?;
        fs::write(hosts.project.path().join("src/lib.rs"), &good)?;
        hosts.commit(&format!("No longer one that {what}"))?;
        commits += 10;
    }
    hosts.commits(1)?;
    let range = format!("HEAD~{commits}..HEAD");
    hosts.add(&[&range], &[&QUICK[..], &["--config=experiment.deadline=5s"]].concat())?;
    let memory = Group::new("memory", "memory.limit_in_bytes", "6442450944")?;
    let processes = Group::new("pids", "pids.max", "400")?;
    let disk = tempfile::Builder::new().prefix("rbench-disk-").tempdir()?;
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=3g", "tmpfs"])
        .arg(disk.path())
        .status()?;
    if !mounted.success() {
        return Err("cannot mount a small disk".into());
    }
    let disk = Disk(disk.path().to_owned());
    let mut host = hosts.host_in(&disk.0.join("host"), 1)?;
    let join = "for group in \"$@\"; do [ \"$group\" = -- ] && break; echo $$ > \"$group/cgroup.procs\"; shift; done; \
        while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"";
    host.around = ["sh", "-c", join, "sh"].map(str::to_owned).to_vec();
    host.around.extend([&memory.0, &processes.0].map(|path| path.display().to_string()));
    host.around.push("--".to_owned());
    let begin = Instant::now();
    let mut starts = 0;
    // A service starts it again if it ends.
    while hosts.ends()?[2] > 0 && begin.elapsed() < Duration::from_secs(40 * 60) && starts < 40 {
        starts += 1;
        let mut worker = host.start(&["--until-empty", "--deadline", "3m"])?;
        while worker.try_wait()?.is_none() && begin.elapsed() < Duration::from_secs(40 * 60) {
            std::thread::sleep(Duration::from_secs(1));
        }
        stop(&mut worker)?;
    }
    let [done, failed, others] = hosts.ends()?;
    println!(
        "  {commits} jobs in {:.0} s, {starts} starts: {done} done, {failed} failed, {others} without an end",
        begin.elapsed().as_secs_f64()
    );
    let odd = "SELECT format('  job %s %s, exit %s, %s attempts: %s', id, state, exit, attempt,
            left(regexp_replace(coalesce(failure, ''), E'\\\\s+', ' ', 'g'), 300))
        FROM rbench.job WHERE state <> 'done' OR exit <> 0 OR attempt > 1 ORDER BY id";
    hosts.texts(odd)?.iter().for_each(|job| println!("{job}"));
    println!("{}", fs::read_to_string(host.log())?);
    let clean =
        hosts.texts("SELECT id::text FROM rbench.job WHERE state = 'done' AND exit = 0")?.len();
    // Each commit is the head of one comparison and the base of the next.
    Ok(check(others == 0, "the queue is empty")
        & check(clean == commits - 2 * POISONS.len(), &format!("all {clean} others have a result")))
}
