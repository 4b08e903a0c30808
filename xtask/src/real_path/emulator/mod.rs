//! A path in user space, between two network namespaces: a link of constant rate with a queue and a
//! delay in each direction.
//!
//! It runs as a process of its own, so that it can go before all others. It sleeps until shortly
//! before the next packet is due, and looks at the clock for the last [`LOOKING`]. Packets are late
//! by the time that the process takes to run, which it measures and prints. A packet that is late
//! does not make the next one late.

#![expect(clippy::disallowed_methods, reason = "a link in real time has to know the time")]

pub mod device;
mod lateness;
pub mod link;

use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::time::TimeSpec;
use serde::{Deserialize, Serialize};
use tun_rs::SyncDevice;

use crate::testbed;
use lateness::Lateness;
use link::Link;

pub use lateness::Summary as LatenessSummary;

/// The part of a wait that is spent looking at the clock. It is about the time that a process takes
/// to run once it is woken. More would cost a core that the programs under test need.
const LOOKING: Duration = Duration::from_micros(15);

/// While packets come out at less than this distance, those that go in are read when the next one
/// comes out. Network cards that moderate their interrupts do the same. It halves what the path
/// takes of the processor at 200 Mbit/s; below 120 Mbit/s it never happens.
const MODERATION: Duration = Duration::from_micros(100);

/// The kernel may wake this process so much too late where it has no real-time priority. The usual
/// 50 µs would be most of the error.
const TIMER_SLACK_NS: u64 = 1000;

/// So many packets are read before those that are due have their turn.
const BATCH: usize = 32;

/// The longest packet that a device hands out.
const LONGEST: usize = 65_536;

/// A path in user space between two network namespaces, for the chores that need one. SIGTERM ends
/// it; then it prints what came of it as JSON.
#[derive(clap::Args)]
pub struct Arguments {
    /// The namespace at one end, and the address that it gets there.
    #[arg(long, num_args = 2, value_names = ["NAME", "ADDRESS"])]
    left: Vec<String>,

    /// The namespace at the other end, and the address that it gets there.
    #[arg(long, num_args = 2, value_names = ["NAME", "ADDRESS"])]
    right: Vec<String>,

    /// The rate of either direction in bit/s, of IP packets.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1000..))]
    rate_bps: u64,

    /// The delay of either direction, in microseconds.
    #[arg(long)]
    delay_us: u64,

    /// The bytes that may wait in front of the link in either direction.
    #[arg(long)]
    queue_bytes: usize,

    /// Hand packets over at multiples of so many microseconds only, all together that have arrived
    /// since the last one.
    #[arg(long, default_value_t = 0)]
    tick_us: u64,
}

/// The outcome.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Report {
    /// From left to right.
    pub to_right: Direction,
    /// From right to left.
    pub to_left: Direction,
    /// How much later than planned packets came, in microseconds, both directions.
    pub lateness_us: LatenessSummary,
}

/// One direction.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Direction {
    /// Packets that came out at the other end.
    pub forwarded: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets for which the queue had no room.
    pub dropped: u64,
    /// Packets that the kernel did not take at the other end. There should be none.
    pub refused: u64,
}

/// Emulates until a signal comes.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    // The program that started this one may be killed. Then this one ends, too.
    prctl::set_pdeathsig(Signal::SIGTERM).context("cannot ask for a signal")?;
    prctl::set_timerslack(TIMER_SLACK_NS).context("cannot ask for exact timers")?;
    let interrupted = testbed::interruption()?;
    let mut emulator = Emulator::open(arguments)?;
    eprintln!("listening on both ends");
    while !interrupted.load(Ordering::Relaxed) {
        emulator.turn(&interrupted)?;
    }
    say!("{}", serde_json::to_string(&emulator.report())?)?;
    Ok(ExitCode::SUCCESS)
}

struct Emulator {
    started: Instant,
    to_right: Way,
    to_left: Way,
    lateness: Lateness,
    /// The buffer for the packet that is being read.
    buffer: Vec<u8>,
}

/// A direction: where packets come from, what they go through, where they come out.
struct Way {
    from: SyncDevice,
    link: Link,
    refused: u64,
}

impl Emulator {
    fn open(arguments: &Arguments) -> Result<Self> {
        let end = |words: &[String]| {
            let address: Ipv4Addr = words[1].parse().context("not an IPv4 address")?;
            device::open(&words[0], address)
        };
        let way = |from| Way {
            from,
            link: Link::new(
                arguments.rate_bps,
                arguments.delay_us * 1000,
                arguments.queue_bytes,
                (arguments.tick_us * 1000).max(1),
            ),
            refused: 0,
        };
        Ok(Self {
            started: Instant::now(),
            to_right: way(end(&arguments.left)?),
            to_left: way(end(&arguments.right)?),
            lateness: Lateness::default(),
            buffer: vec![0; LONGEST],
        })
    }

    /// Takes what has come, hands over what is due, and sleeps until there is more.
    fn turn(&mut self, interrupted: &AtomicBool) -> Result<()> {
        let started = self.started;
        let mut is_busy = self.to_right.take(started, &mut self.buffer)?;
        is_busy |= self.to_left.take(started, &mut self.buffer)?;
        let (right, left) = (&mut self.to_right, &mut self.to_left);
        is_busy |= right.hand_over(&left.from, started, &mut self.lateness);
        is_busy |= left.hand_over(&right.from, started, &mut self.lateness);
        if is_busy || interrupted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let dues = [right.link.next_delivery(), left.link.next_delivery()];
        let next = dues.into_iter().flatten().min();
        let asleep = next.map(|due| {
            let due = Duration::from_nanos(due).saturating_sub(LOOKING);
            due.saturating_sub(started.elapsed())
        });
        if asleep.is_some_and(|asleep| asleep.is_zero()) {
            return Ok(());
        }
        match asleep {
            Some(asleep) if asleep < MODERATION => wait(&mut [], Some(asleep)),
            _ => {
                let mut watched = [&right.from, &left.from]
                    .map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN));
                wait(&mut watched, asleep)
            }
        }
    }

    fn report(&self) -> Report {
        Report {
            to_right: self.to_right.report(),
            to_left: self.to_left.report(),
            lateness_us: self.lateness.summary(),
        }
    }
}

impl Way {
    /// True if there was something.
    fn take(&mut self, started: Instant, buffer: &mut [u8]) -> Result<bool> {
        for taken in 0..BATCH {
            match self.from.recv(buffer) {
                Ok(length) => {
                    let packet = buffer[..length].to_vec();
                    self.link.arrive(nanoseconds(started), packet);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(taken > 0),
                Err(error) => return Err(error).context("cannot read from a device"),
            }
        }
        Ok(true)
    }

    /// True if there was something.
    fn hand_over(&mut self, to: &SyncDevice, started: Instant, lateness: &mut Lateness) -> bool {
        let mut has_some = false;
        loop {
            let now = nanoseconds(started);
            let Some((due, packet)) = self.link.deliver(now) else {
                return has_some;
            };
            has_some = true;
            lateness.add(now - due);
            // A packet that is not taken is lost, as on any link.
            self.refused += u64::from(to.send(&packet).is_err());
        }
    }

    fn report(&self) -> Direction {
        let tally = self.link.tally;
        Direction {
            forwarded: tally.forwarded,
            bytes: tally.bytes,
            dropped: tally.dropped,
            refused: self.refused,
        }
    }
}

fn nanoseconds(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn wait(watched: &mut [PollFd<'_>], span: Option<Duration>) -> Result<()> {
    match ppoll(watched, span.map(TimeSpec::from_duration), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error).context("cannot wait for packets"),
    }
}
