//! Who is at the other end of a connection within this machine.

use std::{
    fs,
    io::{self, BufRead, BufReader},
    net::{IpAddr, SocketAddr, TcpStream},
};

use rustix::process::Pid;

use super::child;

/// Whether a process that [`run`](super::run) started and that still runs, or a descendant of it, holds
/// the other end of `stream`.
///
/// A port of the loopback interface is open to every user of the machine. The kernel's table of
/// sockets names the inode of the other end, and `/proc` who has it open.
pub fn is_from_child(stream: &TcpStream) -> io::Result<bool> {
    // Whoever has left already is nobody's child.
    let Ok(peer) = stream.peer_addr() else { return Ok(false) };
    let Some(inode) = inode(peer, stream.local_addr()?)? else { return Ok(false) };
    let any_holds = |processes: Vec<Pid>| processes.into_iter().any(|id| holds(id, inode));
    Ok(any_holds(child::running()) || any_holds(child::descendants()))
}

/// The inode of the socket that is bound to `local` and connected to `remote`.
fn inode(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u64>> {
    let (local, remote) = (in_table(local), in_table(remote));
    for line in BufReader::new(fs::File::open("/proc/net/tcp")?).lines() {
        let line = line?;
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.get(1) == Some(&local.as_str()) && fields.get(2) == Some(&remote.as_str()) {
            // 0 once it is closed.
            return Ok(fields
                .get(9)
                .and_then(|inode| inode.parse().ok())
                .filter(|inode| *inode > 0));
        }
    }
    Ok(None)
}

/// An address as the kernel's table writes it: the bytes of the address as one number of this machine.
fn in_table(address: SocketAddr) -> String {
    let IpAddr::V4(ip) = address.ip() else { return String::new() };
    format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port())
}

/// Whether a process has the socket open.
fn holds(process: Pid, inode: u64) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    let socket = format!("socket:[{inode}]");
    files
        .flatten()
        .any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == &*socket))
}
