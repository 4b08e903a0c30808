//! What each method of release reaches on a machine, without a controller that would adapt to it.

use super::Release;
use super::distances::Figures;
use anyhow::{Context, Result};
use clap::Parser;
use imtcp_cc::units::Bandwidth;
use imtcp_examples::alarm::Alarm;
use quantity::RATES;
use serde::Serialize;
use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;

/// Sends trains of UDP packets at the pace of several rates, by each method of release, and prints
/// how far the distances between packets were from the planned ones: an object of JSON for each.
#[derive(Clone, Debug, Parser)]
#[command(name = "imtcp-pace")]
pub struct Options {
    /// Where the packets go. Nobody has to listen there.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9")]
    to: SocketAddr,

    /// The rates; any number of them.
    #[arg(long, value_name = "RATE", value_parser = rate,
          default_values = ["10 Mbit/s", "100 Mbit/s", "500 Mbit/s"])]
    rate: Vec<Bandwidth>,

    /// How many trains for each.
    #[arg(long, value_name = "COUNT", default_value_t = 200,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trains: u32,
}

fn rate(text: &str) -> Result<Bandwidth, String> {
    let parsed = quantity::parse(text, RATES).map_err(|error| error.to_string())?;
    Ok(Bandwidth::from_bps(parsed.0))
}

/// A full packet of QUIC's.
const PACKET: [u8; 1350] = [0; 1350];

/// Packets of a train, and the pause after it.
const TRAIN: u32 = 16;
const PAUSE: Duration = Duration::from_millis(5);

/// What came of one rate and one method.
#[derive(Clone, Copy, Debug, Serialize)]
struct Reached {
    rate_bps: u64,
    method: &'static str,
    planned_us: f64,
    error_p50_us: f64,
    error_p99_us: f64,
}

impl Options {
    /// Sends, and prints.
    ///
    /// # Errors
    /// There is no socket or no timer.
    pub async fn run(self) -> Result<()> {
        let any: SocketAddr = match self.to {
            SocketAddr::V4(_) => ([0; 4], 0).into(),
            SocketAddr::V6(_) => ([0; 16], 0).into(),
        };
        let socket = UdpSocket::bind(any).await.context("no socket")?;
        let alarm = Alarm::new().context("no timer")?;
        for &rate in &self.rate {
            for method in [Release::Exact, Release::Timer, Release::Tokio] {
                let reached = self.reach(&socket, &alarm, rate, method).await?;
                let line = serde_json::to_string(&reached)?;
                // Nobody may be listening any more.
                let _ = writeln!(std::io::stdout(), "{line}");
            }
        }
        Ok(())
    }

    async fn reach(
        &self,
        socket: &UdpSocket,
        alarm: &Alarm,
        rate: Bandwidth,
        method: Release,
    ) -> Result<Reached> {
        let bits = u64::try_from(PACKET.len())? * 8;
        let gap = Duration::from_nanos(bits * 1_000_000_000 / rate.as_bps().max(1));
        let mut figures = Figures::default();
        for _ in 0..self.trains {
            tokio::time::sleep(PAUSE).await;
            let began = Instant::now();
            let mut last = began;
            socket.send_to(&PACKET, self.to).await?;
            for number in 1..TRAIN {
                let due = began + gap * number;
                match method {
                    Release::Tokio => tokio::time::sleep_until(due.into()).await,
                    Release::Timer => alarm.sleep_until(due).await?,
                    Release::Exact | Release::Auto => alarm.wait_until(due).await?,
                }
                let now = Instant::now();
                socket.send_to(&PACKET, self.to).await?;
                figures.add(gap, now - last);
                last = now;
            }
        }
        Ok(Reached {
            rate_bps: rate.as_bps(),
            method: method.name(),
            planned_us: figures.planned_us(),
            error_p50_us: figures.error_us(0.5),
            error_p99_us: figures.error_us(0.99),
        })
    }
}
