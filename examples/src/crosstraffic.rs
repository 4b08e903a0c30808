//! Cross traffic for a path under test: UDP datagrams of one size at even distances, which this
//! program keeps, or the kernel.

use crate::alarm::Alarm;
use crate::socket::Socket;
use crate::timing::{GapErrors, Quantiles};
use anyhow::{Context, Result};
use clap::Args;
use imtcp_cc::units::{Bandwidth, Bytes};
use serde::Serialize;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// Datagrams that are late by more than this are left out instead of being made up for in a burst.
const LARGEST_DEBT: Duration = Duration::from_millis(20);

/// Rates between these are taken. At lower ones the next datagram would be due in minutes, or
/// never.
const LEAST_MBPS: f64 = 0.001;
const MOST_MBPS: f64 = 10_000.0;

/// What to send.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Where to.
    #[arg(long, value_name = "ADDR:PORT")]
    pub to: SocketAddr,

    /// How much, in Mbit/s, with the header bytes of each datagram counted.
    #[arg(long, value_name = "MBIT/S", value_parser = rate)]
    pub rate: Bandwidth,

    /// UDP payload of a datagram in bytes.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 1200,
        value_parser = clap::value_parser!(u16).range(1..=1472)
    )]
    pub payload: u16,

    /// Bytes of header to count for each datagram: 28 for IPv4 and UDP, 42 with Ethernet's.
    #[arg(long, value_name = "BYTES", default_value_t = 28)]
    pub header: u16,

    /// Hand each datagram to the kernel so much earlier, in microseconds, and let the kernel send
    /// it at its time (SO_TXTIME). The interface needs the queueing discipline `fq`; others send
    /// it at once.
    #[arg(long, value_name = "MICROSECONDS",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub ahead_us: Option<u64>,
}

impl Options {
    /// From one datagram to the next.
    fn gap(&self) -> Duration {
        let counted = u64::from(self.payload) + u64::from(self.header);
        self.rate.time_for(Bytes::new(counted))
    }
}

fn rate(text: &str) -> Result<Bandwidth, String> {
    let mbps: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if (LEAST_MBPS..=MOST_MBPS).contains(&mbps) {
        Ok(Bandwidth::from_bps_f64(mbps * 1e6))
    } else {
        Err(format!("a rate is {LEAST_MBPS} to {MOST_MBPS} Mbit/s"))
    }
}

/// What was sent, or received.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Tally {
    /// Datagrams.
    pub datagrams: u64,
    /// UDP payload of these.
    pub bytes: u64,
    /// From the first to the last.
    pub seconds: f64,
    /// How far, up or down, the gaps were from the planned one, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_error_us: Option<Quantiles>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            datagrams,
            bytes,
            seconds,
            ..
        } = self;
        write!(f, "{datagrams} datagrams, {bytes} bytes in {seconds:.3} s")
    }
}

impl Tally {
    fn add(&mut self, bytes: usize, span: Duration) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
        self.seconds = span.as_secs_f64();
    }
}

/// Sends until `shutdown` is done.
///
/// # Errors
/// The kernel refuses a datagram.
///
/// # Panics
/// Outside a tokio runtime.
pub async fn send(options: &Options, shutdown: impl Future<Output = ()>) -> Result<Tally> {
    let any: IpAddr = match options.to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = Socket::bind(SocketAddr::new(any, 0)).context("cannot open a socket")?;
    let alarm = Alarm::new()?;
    let datagram = vec![0; usize::from(options.payload)];
    let gap = options.gap();
    let ahead = options.ahead_us.map(Duration::from_micros);
    if ahead.is_some() {
        let refused = "the kernel takes no release times (SO_TXTIME)";
        socket.take_release_times().context(refused)?;
    }
    tokio::pin!(shutdown);
    let started = Instant::now();
    let mut due = started;
    let mut tally = Tally::default();
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => return Ok(tally),
            woken = alarm.wait_until(due) => woken?,
        }
        let sent = match ahead {
            Some(ahead) => socket.send_at(&datagram, options.to, due + ahead).await,
            None => socket.send(&datagram, options.to).await.map(drop),
        };
        sent.with_context(|| format!("cannot send to {}", options.to))?;
        let now = Instant::now();
        tally.add(datagram.len(), now - started);
        due = (due + gap).max(now.checked_sub(LARGEST_DEBT).unwrap_or(due));
    }
}

/// Counts what arrives at `socket` until `shutdown` is done, and compares gaps with the `planned`
/// one.
///
/// # Errors
/// The socket fails.
pub async fn receive(
    mut socket: Socket,
    planned: Option<Duration>,
    shutdown: impl Future<Output = ()>,
) -> Result<Tally> {
    let mut buffer = [0; 2048];
    let mut tally = Tally::default();
    let mut first = None;
    let mut last = None;
    let mut errors = GapErrors::default();
    tokio::pin!(shutdown);
    loop {
        while let Some(received) = socket.try_receive(&mut buffer)? {
            let first = *first.get_or_insert(received.at);
            tally.add(received.length, received.at - first);
            if let Some((planned, last)) = planned.zip(last.replace(received.at)) {
                errors.add(planned, received.at - last);
            }
        }
        tokio::select! {
            biased;
            () = &mut shutdown => {
                tally.gap_error_us = errors.summary();
                return Ok(tally);
            }
            readable = socket.readable() => readable?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn every_rate_that_is_taken_has_a_next_datagram() {
        let line = |rate: &'static str| {
            let to = ["send", "--to", "127.0.0.1:9", "--header", "65535", "--rate"];
            Line::try_parse_from(to.into_iter().chain([rate]))
        };
        for rate in ["0.001", "1", "10000"] {
            let options = line(rate).unwrap_or_else(|error| panic!("{error}")).options;
            let next = Instant::now().checked_add(options.gap());
            assert!(next.is_some(), "{rate}");
        }
        for rate in ["0", "-1", "nan", "inf", "1e-12", "0.0009", "10001", "much"] {
            assert!(line(rate).is_err(), "{rate}");
        }
    }
}
