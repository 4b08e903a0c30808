//! The ends of the path: a device in each namespace whose packets this process reads and writes.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, anyhow};
use nix::sched::{CloneFlags, setns};
use tun_rs::{DeviceBuilder, SyncDevice};

/// The folder in which `ip netns` keeps the namespaces that it has named.
const NAMESPACES: &str = "/run/netns";

/// The device's name in its namespace.
const NAME: &str = "path0";

const MTU: u16 = 1500;

/// Packets that the kernel keeps for this process. They are read within a millisecond, so only a
/// process that does not run can lose one; the queue under test is the link's.
const KERNEL_QUEUE: u32 = 10_000;

/// Opens a device in a namespace and gives it an address of a network of 256.
///
/// A device belongs to the namespace in which its file was opened, and so does the socket that
/// configures it. A thread of its own goes there and ends; the device stays.
pub fn open(namespace: &str, address: Ipv4Addr) -> Result<SyncDevice> {
    let path = Path::new(NAMESPACES).join(namespace);
    let file =
        File::open(&path).with_context(|| format!("there is no network namespace {namespace}"))?;
    let inside = thread::spawn(move || {
        setns(file, CloneFlags::CLONE_NEWNET)
            .context("cannot enter the namespace; are you root?")?;
        build(address)
    });
    let opened = inside.join();
    opened
        .map_err(|_| anyhow!("the thread that opened a device panicked"))?
        .with_context(|| format!("cannot open a device in {namespace}"))
}

fn build(address: Ipv4Addr) -> Result<SyncDevice> {
    let device = DeviceBuilder::new()
        .name(NAME)
        .ipv4(address, 24, None)
        .mtu(MTU)
        .tx_queue_len(KERNEL_QUEUE)
        .build_sync()
        .context("the kernel refuses; does it have tun devices (/dev/net/tun)?")?;
    device.set_nonblocking(true)?;
    Ok(device)
}
