//! The runner's network in user space: a link between two namespaces, its faults, and a capture of
//! what passes at either end.

#![expect(clippy::disallowed_methods, reason = "a link in real time has to know the time")]

mod faults;
mod packet;
mod pcap;

pub use faults::Fault;

use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::time::TimeSpec;
use serde::{Deserialize, Serialize};
use tun_rs::SyncDevice;

use crate::real_path::emulator::device;
use crate::real_path::emulator::link::Link;
use crate::testbed;
use faults::{Faults, Way};
use packet::Udp;
use pcap::Capture;

/// The client's address in the runner's network.
pub const CLIENT: Ipv4Addr = Ipv4Addr::new(193, 167, 0, 100);
/// The server's.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(193, 167, 100, 100);

/// The longest packet that a device hands out.
const LONGEST: usize = 65_536;

/// So many packets are read before those that are due have their turn.
const BATCH: usize = 32;

/// A link of the interop runner's network, between two namespaces. SIGTERM ends it.
#[derive(clap::Args)]
pub struct Arguments {
    /// What it does, as JSON.
    plan: String,
}

/// What a link does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The namespace of the client.
    pub client: String,
    /// The namespace of the server.
    pub server: String,
    /// The rate of either direction.
    pub rate_bps: u64,
    /// The delay of either direction.
    pub delay_ms: u64,
    /// The packets that may wait in front of either direction.
    pub queue_packets: usize,
    /// What happens besides.
    pub fault: Fault,
    /// Random faults are drawn from it.
    pub seed: u64,
    /// The folder of the captures.
    pub captures: PathBuf,
}

/// The capture at the client's end.
pub const CLIENT_CAPTURE: &str = "trace_node_left.pcap";
/// The capture at the server's end.
pub const SERVER_CAPTURE: &str = "trace_node_right.pcap";
/// The same packets in the same order, as if the client had never moved.
pub const UNTRANSLATED_CAPTURE: &str = "trace_untranslated.pcap";

/// Emulates until a signal comes.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let plan: Plan = serde_json::from_str(&arguments.plan).context("the plan is no JSON")?;
    // The program that started this one may be killed. Then this one ends, too.
    prctl::set_pdeathsig(Signal::SIGTERM).context("cannot ask for a signal")?;
    let interrupted = testbed::interruption()?;
    let mut network = Network::open(&plan)?;
    eprintln!("listening on both ends");
    while !interrupted.load(Ordering::Relaxed) {
        network.turn()?;
    }
    let captures = network.ends.into_iter().map(|end| end.capture);
    captures
        .chain([network.untranslated])
        .try_for_each(Capture::finish)
        .context("cannot write a capture")?;
    Ok(ExitCode::SUCCESS)
}

struct Network {
    started: Instant,
    /// What time it was then.
    started_at: Duration,
    /// When the first datagram came: the runner's faults count from its start.
    first_ns: Option<u64>,
    faults: Faults,
    /// The client's and the server's.
    ends: [End; 2],
    untranslated: Capture,
    /// From the client, and from the server.
    links: [Link; 2],
    buffer: Vec<u8>,
}

struct End {
    device: SyncDevice,
    capture: Capture,
}

/// The way of a packet that comes from one of the ends.
const WAYS: [Way; 2] = [Way::ToServer, Way::ToClient];

impl Network {
    fn open(plan: &Plan) -> Result<Self> {
        let end = |namespace: &str, address, capture: &str| -> Result<End> {
            Ok(End {
                device: device::open(namespace, address)?,
                capture: Capture::create(&plan.captures.join(capture))?,
            })
        };
        let link = || {
            let delay_ns = plan.delay_ms * 1_000_000;
            Link::new(plan.rate_bps, delay_ns, usize::MAX, 1).with_queue_packets(plan.queue_packets)
        };
        let ends = [
            end(&plan.client, CLIENT, CLIENT_CAPTURE)?,
            end(&plan.server, SERVER, SERVER_CAPTURE)?,
        ];
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Self {
            started: Instant::now(),
            started_at: now.context("the clock is not set")?,
            first_ns: None,
            faults: Faults::new(plan.fault.clone(), plan.seed, CLIENT),
            ends,
            untranslated: Capture::create(&plan.captures.join(UNTRANSLATED_CAPTURE))?,
            links: [link(), link()],
            buffer: vec![0; LONGEST],
        })
    }

    /// Takes what has come, hands over what is due, and waits until there is more.
    fn turn(&mut self) -> Result<()> {
        let mut is_busy = false;
        for from in 0..WAYS.len() {
            is_busy |= self.take(from)?;
            is_busy |= self.hand_over(from)?;
        }
        if is_busy {
            return Ok(());
        }
        let next = self.links.iter().filter_map(Link::next_delivery).min();
        let span = next.map(|due| Duration::from_nanos(due.saturating_sub(self.now_ns())));
        let mut watched = [&self.ends[0], &self.ends[1]]
            .map(|end| PollFd::new(end.device.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut watched, span.map(TimeSpec::from_duration), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error).context("cannot wait for packets"),
        }
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// True if there was something.
    fn take(&mut self, from: usize) -> Result<bool> {
        for taken in 0..BATCH {
            match self.ends[from].device.recv(&mut self.buffer) {
                Ok(length) => {
                    let now = self.now_ns();
                    let packet = self.buffer[..length].to_vec();
                    if Udp::of(&packet).is_some() {
                        self.first_ns.get_or_insert(now);
                    }
                    self.capture(from, from, now, &packet)?;
                    self.links[from].arrive(now, packet);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(taken > 0),
                Err(error) => return Err(error).context("cannot read from a device"),
            }
        }
        Ok(true)
    }

    /// True if there was something.
    fn hand_over(&mut self, from: usize) -> Result<bool> {
        let to = 1 - from;
        let mut has_some = false;
        loop {
            let now = self.now_ns();
            let Some((_, mut packet)) = self.links[from].deliver(now) else {
                return Ok(has_some);
            };
            has_some = true;
            let elapsed = now - self.first_ns.unwrap_or(now);
            if self.faults.pass(elapsed, WAYS[from], &mut packet) {
                self.capture(to, from, now, &packet)?;
                // A packet that is not taken is lost, as on any link.
                let _ = self.ends[to].device.send(&packet);
            }
        }
    }

    fn capture(&mut self, end: usize, from: usize, now_ns: u64, packet: &[u8]) -> Result<()> {
        let at = self.started_at + Duration::from_nanos(now_ns);
        let mut written = self.ends[end].capture.add(at, packet);
        if WAYS[end] == Way::ToClient && written.is_ok() {
            let packet = self.faults.untranslated(WAYS[from], packet);
            written = self.untranslated.add(at, &packet);
        }
        written.context("cannot write a capture")
    }
}
