//! A link that is down while a job measures. The worker is in another network namespace.

use std::{
    fs,
    io::Write as _,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{
    Failure, check,
    hosts::{Host, Hosts, QUICK, SLOW, stop},
};

const LONGEST: Duration = Duration::from_secs(12 * 60);

/// A network with an address on each side.
struct Link;

impl Link {
    fn new() -> Result<Self, Failure> {
        sh(
            "ip netns add rbench-fleet && ip link add rbench0 type veth peer name rbench1 netns rbench-fleet \
            && ip addr add 10.77.0.1/24 dev rbench0 && ip link set rbench0 up \
            && ip -n rbench-fleet addr add 10.77.0.2/24 dev rbench1 && ip -n rbench-fleet link set rbench1 up \
            && ip -n rbench-fleet link set lo up",
        )?;
        Ok(Self)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = sh("ip link del rbench0; ip netns del rbench-fleet");
    }
}

fn sh(script: &str) -> Result<(), Failure> {
    let status = Command::new("sh").args(["-c", script]).status()?;
    if status.success() { Ok(()) } else { Err(format!("{status}: {script}").into()) }
}

pub fn run() -> Result<bool, Failure> {
    let _link = Link::new()?;
    let hosts = Hosts::new(&["listen_addresses=10.77.0.1", "port=5499"])?;
    let access = hosts.server.data().join("pg_hba.conf");
    fs::File::options()
        .append(true)
        .open(access)?
        .write_all(b"host all all 10.77.0.0/24 trust\n")?;
    hosts.server.sql("shared", "SELECT pg_reload_conf()");
    hosts.commits(8)?;
    let mut host = hosts.host(1)?;
    host.url = String::from("postgres://worker@10.77.0.1:5499/shared?sslmode=disable");
    host.around = ["ip", "netns", "exec", "rbench-fleet"].map(str::to_owned).to_vec();
    let mut is_good = true;
    for (number, down) in [5, 70, 200].into_iter().enumerate() {
        is_good &= cut(&hosts, &host, number + 1, Duration::from_secs(down))?;
    }
    if sh("tc qdisc add dev rbench0 root netem delay 100ms loss 5%").is_err() {
        println!("  this kernel cannot delay and lose packets");
        return Ok(is_good);
    }
    hosts.add(&["HEAD~7..HEAD~4"], &QUICK)?;
    let begin = Instant::now();
    let mut worker = host.start(&["--until-empty"])?;
    worker.wait()?;
    let [done, failed, others] = hosts.ends()?;
    println!(
        "  100 ms of delay and 5 % of loss: three jobs in {:.0} s",
        begin.elapsed().as_secs_f64()
    );
    println!("{}", fs::read_to_string(host.log())?);
    is_good &= check((done, failed, others) == (6, 0, 0), "all six jobs have a result");
    Ok(is_good)
}

/// Cuts the link while a job measures, and prints what the worker did.
fn cut(hosts: &Hosts, host: &Host<'_>, number: usize, down: Duration) -> Result<bool, Failure> {
    println!("  link down for {} s", down.as_secs());
    let mut worker = host.start(&[])?;
    hosts.add(&[&format!("HEAD~{number}")], &SLOW)?;
    let measures =
        format!("SELECT FROM rbench.job WHERE id = {number} AND progress LIKE '%measure%'");
    if hosts.until(&measures, Duration::from_secs(60)).is_err() {
        println!("  no progress was seen; cut nevertheless");
    }
    let before = fs::read_to_string(host.log())?.len();
    sh("ip link set rbench0 down")?;
    let begin = Instant::now();
    let mut said = 0;
    let mut stopped = None;
    let mut watch = |until: Duration| -> Result<(), Failure> {
        while begin.elapsed() < until {
            let text = fs::read_to_string(host.log())?;
            let new: Vec<&str> = text[before..].lines().collect();
            for line in &new[said.min(new.len())..] {
                let at = begin.elapsed().as_secs_f64();
                println!("    {at:5.1} s: {line}");
                if line.contains("does not answer") {
                    stopped = Some(at);
                }
            }
            said = new.len();
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    };
    watch(down)?;
    sh("ip link set rbench0 up")?;
    println!("    {:5.1} s: the link is up", begin.elapsed().as_secs_f64());
    let state = format!("SELECT state FROM rbench.job WHERE id = {number}");
    while begin.elapsed() < LONGEST && hosts.texts(&state)? != ["done"] {
        watch(begin.elapsed() + Duration::from_secs(1))?;
    }
    stop(&mut worker)?;
    let ends = hosts.texts(&format!(
        "SELECT format('%s after %s attempts and %s losses, %s', state, attempt, losses, failure)
         FROM rbench.job WHERE id = {number}"
    ))?;
    println!("    {}", ends.join(""));
    let is_done = ends.iter().all(|end| end.starts_with("done"));
    let stops_in_time = match stopped {
        Some(at) => down > Duration::from_secs(45) && at < 90.,
        None => down < Duration::from_secs(45),
    };
    Ok(check(is_done, "the job has its result")
        & check(
            stops_in_time,
            "the comparison ends before the lease if the link is down for long, and only then",
        ))
}
