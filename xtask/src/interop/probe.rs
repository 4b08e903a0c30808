//! Asks a server whether it is there, as the runner does.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use nix::sched::{CloneFlags, setns};

use super::link;
use super::play::PORT;

/// How long a server has for an answer.
const PATIENCE: Duration = Duration::from_millis(100);

/// Whether a server in this namespace answers a probe with Version Negotiation.
pub fn answers(namespace: &str) -> Result<bool> {
    let path = Path::new("/run/netns").join(namespace);
    let namespace = fs::File::open(path).context("a namespace is gone")?;
    let inside = thread::spawn(move || -> Result<bool> {
        setns(namespace, CloneFlags::CLONE_NEWNET).context("cannot enter a namespace")?;
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        // Where nobody listens yet, the kernel says so.
        let sent = socket.send_to(&probe(), (link::SERVER, PORT));
        let mut answer = [0; 1500];
        let received = sent.and_then(|_| socket.recv(&mut answer));
        if received.is_err() {
            thread::sleep(PATIENCE / 4);
        }
        Ok(received.is_ok_and(|length| length > 5 && answer[1..5] == [0; 4]))
    });
    inside
        .join()
        .map_err(|_| anyhow!("the thread that probes panicked"))?
}

/// A long header of an unknown version without connection ids, as long as the runner's.
fn probe() -> Vec<u8> {
    const LENGTH: usize = 1207;
    const VERSION: [u8; 4] = 0x5741_4954_u32.to_be_bytes();
    let mut probe = vec![0xc0];
    probe.extend(VERSION);
    probe.resize(LENGTH, 0);
    probe
}
