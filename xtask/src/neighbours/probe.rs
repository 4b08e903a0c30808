//! A call: small datagrams at even distances, and how long each of them was under way.
//!
//! Both ends are threads of one process, so that one clock tells both times. It runs before all
//! others that want the processor, like the path.

#![expect(clippy::disallowed_methods, reason = "a delay in real time takes a clock")]

use std::fs::File;
use std::io::ErrorKind;
use std::net::{SocketAddrV4, UdpSocket};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use nix::sched::{CloneFlags, setns};
use serde::{Deserialize, Serialize};

/// As in the simulator's scenario: 1 Mbit/s of packets of 300 bytes, 28 of them headers.
const PACKET_BYTES: usize = 300;
const HEADER_BYTES: usize = 28;
const GAP: Duration = Duration::from_micros(2400);

/// What is under way may come so much later than the last was sent.
const LAST: Duration = Duration::from_millis(500);

/// Sends small datagrams from one network namespace to another, for the chores that need it, and
/// prints how long they were under way, as JSON.
#[derive(clap::Args)]
pub struct Arguments {
    /// The namespace that sends.
    #[arg(long, value_name = "NAME")]
    from: String,

    /// The namespace that receives.
    #[arg(long, value_name = "NAME")]
    to: String,

    /// Its address there.
    #[arg(long, value_name = "ADDR:PORT")]
    address: SocketAddrV4,

    /// For how long.
    #[arg(long, value_name = "SECONDS")]
    seconds: u64,
}

/// One-way delays in milliseconds.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Delays {
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub sent: usize,
    pub received: usize,
}

/// Sends, receives, prints.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let address = arguments.address;
    let receiver = inside(&arguments.to, move || UdpSocket::bind(address))?;
    let sender = inside(&arguments.from, || UdpSocket::bind("0.0.0.0:0"))?;
    receiver.set_read_timeout(Some(LAST / 5))?;
    let (origin, done) = (Instant::now(), AtomicBool::new(false));
    let (sent, delays) = thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, origin, &done));
        let sent = send(&sender, arguments, origin);
        thread::sleep(LAST);
        done.store(true, Ordering::Relaxed);
        let delays = receiving.join();
        (sent, delays)
    });
    let delays = delays.map_err(|_| anyhow!("the receiving thread panicked"))??;
    let delays = Delays::of(delays, sent?)?;
    say!("{}", serde_json::to_string(&delays)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a socket in a namespace. It stays there, whoever uses it.
fn inside<T: Send + 'static>(
    namespace: &str,
    open: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T> {
    let path = Path::new("/run/netns").join(namespace);
    let file =
        File::open(&path).with_context(|| format!("there is no network namespace {namespace}"))?;
    let opened = thread::spawn(move || {
        setns(file, CloneFlags::CLONE_NEWNET)
            .context("cannot enter the namespace; are you root?")?;
        open().context("cannot open a socket")
    });
    let joined = opened.join();
    joined.map_err(|_| anyhow!("the thread that opened a socket panicked"))?
}

fn send(socket: &UdpSocket, arguments: &Arguments, origin: Instant) -> Result<usize> {
    let mut datagram = [0; PACKET_BYTES - HEADER_BYTES];
    let end = Duration::from_secs(arguments.seconds);
    let (mut due, mut sent) = (Duration::ZERO, 0);
    while due < end {
        thread::sleep(due.saturating_sub(origin.elapsed()));
        let now = u64::try_from(origin.elapsed().as_nanos())?;
        datagram[..8].copy_from_slice(&now.to_be_bytes());
        socket.send_to(&datagram, arguments.address)?;
        sent += 1;
        due += GAP;
    }
    Ok(sent)
}

/// The delays of all that came, in milliseconds.
fn receive(socket: &UdpSocket, origin: Instant, done: &AtomicBool) -> Result<Vec<f64>> {
    let (mut datagram, mut delays) = ([0; PACKET_BYTES], Vec::new());
    while !done.load(Ordering::Relaxed) {
        match socket.recv(&mut datagram) {
            Ok(length) if length >= 8 => {
                let now = origin.elapsed();
                let mut written = [0; 8];
                written.copy_from_slice(&datagram[..8]);
                let then = Duration::from_nanos(u64::from_be_bytes(written));
                delays.push(now.saturating_sub(then).as_secs_f64() * 1e3);
            }
            Ok(_) => {}
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {}
            Err(error) => return Err(error).context("cannot receive"),
        }
    }
    Ok(delays)
}

impl Delays {
    fn of(mut delays: Vec<f64>, sent: usize) -> Result<Self> {
        ensure!(!delays.is_empty(), "no datagram came through");
        delays.sort_by(f64::total_cmp);
        let at = |part: usize, of: usize| delays[(delays.len() - 1) * part / of];
        Ok(Self {
            mean_ms: delays.iter().sum::<f64>() / delays.len() as f64,
            p50_ms: at(1, 2),
            p95_ms: at(95, 100),
            sent,
            received: delays.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_told_by_their_mean_and_quantiles() -> Result<()> {
        let delays = (0..=100).rev().map(f64::from).collect();
        let told = Delays::of(delays, 102)?;
        assert_eq!((told.mean_ms, told.p50_ms, told.p95_ms), (50.0, 50.0, 95.0));
        assert_eq!((told.sent, told.received), (102, 101));
        assert!(Delays::of(Vec::new(), 5).is_err());
        Ok(())
    }
}
