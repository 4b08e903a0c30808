//! The client's port changes during a transfer, as behind a NAT that forgets.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};

use super::parts::Plan;
use super::quic_go;
use super::relay::Relay;
use super::report::Report;
use super::transfer::{Bench, Client, PATIENCE};
use crate::testbed::parse;

/// What is transferred, and after which share of it the port changes.
const BYTES: u64 = 60_000_000;
const QUARTERS: [u64; 3] = [1, 2, 3];

/// Which way.
#[derive(Clone, Copy)]
enum Direction {
    Down,
    Up,
}

/// What both clients print.
#[derive(serde::Deserialize)]
struct Fetched {
    bytes: u64,
}

/// In each direction, with the controller and with the reference.
pub fn run(bench: &Bench<'_>, plan: &Plan<'_>, report: &mut Report) -> Result<()> {
    let megabytes = BYTES / 1_000_000;
    say!("\nThree changes of the client's port during {megabytes} MB over loopback")?;
    for &client in plan.clients {
        for direction in [Direction::Down, Direction::Up] {
            if client == Client::Fetch && matches!(direction, Direction::Up) {
                // It only fetches.
                continue;
            }
            let way = match direction {
                Direction::Down => "to",
                Direction::Up => "from",
            };
            for controller in ["cubic", "imtcp-off", "imtcp"] {
                let what = format!("three new ports {way} {}, {controller}", client.name());
                for number in 1..=plan.runs {
                    if let Err(error) = transfer(bench, client, direction, controller) {
                        bench.launcher.ensure_not_interrupted()?;
                        report.miss(format!("{what}, run {number}: {error:#}"))?;
                    }
                }
                say!("  {what}: {} transfers made", plan.runs)?;
            }
        }
    }
    Ok(())
}

fn transfer(
    bench: &Bench<'_>,
    client: Client,
    direction: Direction,
    controller: &str,
) -> Result<()> {
    let server = bench.serve_on_loopback(controller)?;
    let address: SocketAddr = "127.0.0.1:4433".parse().context("not an address")?;
    let relay = Relay::start(address, QUARTERS.map(|part| BYTES / 4 * part).to_vec())?;
    let url = |bytes: u64| format!("https://{}/{bytes}", relay.address());
    let (down, up, bytes) = (url(BYTES), url(0), BYTES.to_string());
    let line = match (client, direction) {
        (Client::QuicGo, Direction::Down) => vec![quic_go::CLIENT, &down],
        (Client::QuicGo, Direction::Up) => vec![quic_go::CLIENT, "-post", &bytes, &up],
        (Client::Fetch, _) => vec!["fetch", "--insecure", "--json", &down],
    };
    let client = bench.launcher.start_outside(&bench.log("client"), &line)?;
    let fetched = client.wait_until_it_ends(PATIENCE);
    let rebound = relay.stop()?;
    server.end()?;
    let fetched: Fetched = parse(&fetched.with_context(|| format!("after {rebound} changes"))?)?;
    ensure!(
        fetched.bytes == BYTES,
        "{} of {BYTES} bytes came",
        fetched.bytes
    );
    ensure!(
        rebound == QUARTERS.len(),
        "the port has changed {rebound} times only"
    );
    Ok(())
}
