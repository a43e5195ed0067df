//! Makes the noise of a level. Without the right to a real-time priority, it gets only a part of the time that it asks for.

use std::{
    error::Error,
    f64::consts::TAU,
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rbench_stats::Random;
use rustix::{
    process::{Signal, set_parent_process_death_signal},
    thread::{CpuSet, sched_setaffinity},
};

use super::level::{Bursts, Level};

/// The bytes of a cache line.
const LINE: usize = 64;
/// Bytes that are written between two readings of the clock.
const PART: usize = 256 << 10;

/// Noise beside this process, until it is dropped.
pub struct Noise {
    maker: Option<Child>,
    throttle: Option<Throttle>,
}

impl Noise {
    /// Starts the noise of a level, by another process of this program with real-time priority.
    pub fn start(level: Level) -> Result<Self, Box<dyn Error>> {
        let maker = match level.bursts() {
            None => None,
            Some(_) => Some(maker(level)?),
        };
        let throttle = if level == Level::Throttled { Some(Throttle::of_one_cpu()?) } else { None };
        Ok(Self { maker, throttle })
    }

    /// Lets a program start in this noise.
    pub fn command(&self, program: &Path) -> Command {
        let Some(throttle) = &self.throttle else { return Command::new(program) };
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]);
        command.arg(&throttle.group).arg(program);
        command
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        if let Some(maker) = &mut self.maker {
            // It may have ended by itself; there is nothing else to do in a drop.
            let _ = maker.kill().and_then(|()| maker.wait());
        }
    }
}

/// Another process of this program that makes noise, with real-time priority where that is permitted.
#[expect(clippy::print_stderr, reason = "a program for people prints")]
fn maker(level: Level) -> Result<Child, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let mut with_priority = Command::new("chrt");
    with_priority.args(["--fifo", "1"]).arg(&program);
    for mut command in [with_priority, Command::new(&program)] {
        let Ok(mut child) = command.args(["make", &level.to_string()]).stdin(Stdio::null()).spawn()
        else {
            continue;
        };
        // Whether it may have the priority shows at once.
        thread::sleep(Duration::from_millis(300));
        match child.try_wait()? {
            None => return Ok(child),
            Some(status) => eprintln!("{command:?} ended with {status}"),
        }
    }
    Err("no process can make noise".into())
}

/// A control group whose processes together get the time of one CPU.
struct Throttle {
    group: PathBuf,
}

impl Throttle {
    fn of_one_cpu() -> Result<Self, Box<dyn Error>> {
        let first = Path::new("/sys/fs/cgroup/cpu");
        // The first version of control groups has a hierarchy for each resource.
        let is_first = first.is_dir();
        let parent = if is_first { first } else { Path::new("/sys/fs/cgroup") };
        let group = parent.join(format!("noise-{}", std::process::id()));
        let cannot = |error| format!("cannot limit CPU time by {}: {error}", group.display());
        fs::create_dir(&group).map_err(cannot)?;
        let throttle = Self { group: group.clone() };
        if is_first {
            fs::write(group.join("cpu.cfs_period_us"), "100000").map_err(cannot)?;
            fs::write(group.join("cpu.cfs_quota_us"), "100000").map_err(cannot)?;
        } else {
            fs::write(group.join("cpu.max"), "100000 100000").map_err(cannot)?;
        }
        Ok(throttle)
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // A group is empty once its processes have ended; a daemon of theirs would keep it.
        let _ = fs::remove_dir(&self.group);
    }
}

/// Makes the noise of a level in this process, which then only ends by a signal.
pub fn forever(level: Level) -> Result<(), Box<dyn Error>> {
    let Some(bursts) = level.bursts() else {
        return Err(format!("level {level} has no bursts").into());
    };
    // Nobody could stop a process of real-time priority whose study was killed.
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let cpus = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        for cpu in 0..cpus {
            scope.spawn(move || take_time(bursts, cpu));
        }
    });
    Ok(())
}

/// Takes its share of one CPU. Each CPU has its own bursts.
fn take_time(bursts: Bursts, cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    // Where the CPU is not this process's, the thread stays where the kernel lets it run.
    let _ = sched_setaffinity(None, &set);
    let mut random = Random::stream(u64::from(std::process::id()), cpu as u64);
    let mut memory = Memory::new(bursts.swept);
    let start = Instant::now();
    loop {
        let share = bursts.wave.map_or(bursts.share, |period| {
            let turns = start.elapsed().as_secs_f64() / period.as_secs_f64();
            bursts.share * (1.0 - (TAU * turns).cos())
        });
        let longest = bursts.longest.as_secs_f64();
        let burst = 0.001 + (longest - 0.001) * random.unit();
        // Pauses vary as bursts that come by chance do: exponentially, with this mean.
        let pause = -(1.0 - random.unit()).ln() * burst * (1.0 - share) / share.max(0.001);
        busy(Duration::from_secs_f64(burst), &mut memory);
        thread::sleep(Duration::from_secs_f64(pause.min(1.0)));
    }
}

/// Is busy for this time, and writes the next parts of the memory meanwhile.
fn busy(time: Duration, memory: &mut Memory) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        memory.write_next();
    }
}

/// Memory that is written part by part, again and again.
struct Memory {
    bytes: Vec<u8>,
    next: usize,
}

impl Memory {
    fn new(size: usize) -> Self {
        Self { bytes: vec![0; size], next: 0 }
    }

    fn write_next(&mut self) {
        let end = (self.next + PART).min(self.bytes.len());
        for line in self.bytes[self.next..end].chunks_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        black_box(&mut self.bytes);
        self.next = if end == self.bytes.len() { 0 } else { end };
    }
}
