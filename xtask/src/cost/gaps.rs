//! How well each release method keeps planned distances.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::report::Report;
use super::{Stage, url};
use crate::testbed::{Network, parse};

/// The link's rates, in Mbit/s. Packets of a train leave at the pace of the link.
const RATES: [u32; 3] = [10, 100, 500];

const METHODS: [&str; 3] = ["exact", "timer", "tokio"];

/// A transfer takes as many seconds.
const SECONDS: u64 = 8;

const PATIENCE: Duration = Duration::from_secs(60);

/// What the server says at its end.
#[derive(Debug, Deserialize)]
struct Distances {
    count: u64,
    planned_us: f64,
    error_p50_us: f64,
    error_p99_us: f64,
}

/// What `imtcp-pace` prints.
#[derive(Debug, Deserialize)]
struct Reached {
    rate_bps: f64,
    method: String,
    planned_us: f64,
    error_p50_us: f64,
    error_p99_us: f64,
}

/// What the methods reach, and then what a server that adapts to them makes of it.
pub fn measure(stage: &Stage<'_>, report: &mut Report) -> Result<()> {
    let network = stage.network(RATES[2])?;
    let log = stage.scratch.join("pace");
    let to = format!("{}:9", Network::CLIENT);
    let line = ["imtcp-pace", "--to", &to];
    let pace = stage.launcher.start(network.server(), &log, &line)?;
    for line in pace.wait_until_it_ends(PATIENCE)?.lines() {
        let Reached {
            rate_bps,
            method,
            planned_us,
            error_p50_us,
            error_p99_us,
        } = parse(line)?;
        let what = format!(
            "pace of {:.0} Mbit/s, `{method}`: error, p50, µs",
            rate_bps / 1e6
        );
        let note = format!("p99 {error_p99_us:.1}; distances of {planned_us:.0} µs");
        say!("{what}: {error_p50_us:.1}; {note}")?;
        report.figure(&what, error_p50_us, &note);
    }
    drop(network);
    serve(stage, report)
}

/// A source that wants half of the link. It sends trains at the link's pace; a source that fills
/// its window would be measured by the window's own packets.
fn serve(stage: &Stage<'_>, report: &mut Report) -> Result<()> {
    for rate in RATES {
        let network = stage.network(rate)?;
        let half = rate / 2;
        stage.file("half", u64::from(half) * 125_000 * SECONDS)?;
        for method in METHODS {
            let log = |what: &str| format!("gaps-{rate}-{method}-{what}");
            let promise = format!("exactly {half} Mbit/s per 2 s");
            let line = ["--release", method, "--promise", &promise];
            let server = stage.server(&network, &log("serve"), &line)?;
            let client = stage.clients(&network, &log("fetch"), &[&url("half")])?;
            client.wait_until_it_ends(PATIENCE)?;
            server.end()?;
            let said = stage.scratch.join(log("serve")).with_extension("err");
            let said = fs::read_to_string(&said).context("the server said nothing")?;
            tell(rate, method, distances(&said), report)?;
        }
    }
    Ok(())
}

fn distances(said: &str) -> Option<Distances> {
    let line = said
        .lines()
        .find(|line| line.contains("\"error_p99_us\""))?;
    serde_json::from_str(line).ok()
}

fn tell(rate: u32, method: &str, found: Option<Distances>, report: &mut Report) -> Result<()> {
    let what = format!("link of {rate} Mbit/s, served by `{method}`: error, p50, µs");
    match found {
        Some(found) => {
            let note = format!(
                "p99 {:.1}; {} distances of {:.0} µs",
                found.error_p99_us, found.count, found.planned_us
            );
            say!("{what}: {:.1}; {note}", found.error_p50_us)?;
            report.figure(&what, found.error_p50_us, &note);
        }
        None => {
            say!("{what}: none was planned")?;
            report.figure(
                &what,
                f64::NAN,
                "none was planned: timers this late cannot keep it",
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_last_words_are_found() {
        let said = "{\"level\":\"INFO\",\"message\":\"ending\"}\n{\"level\":\"INFO\",\
                    \"message\":\"distances between packets\",\"release\":\"exact\",\"count\":7,\
                    \"planned_us\":97.2,\"error_p50_us\":0.5,\"error_p99_us\":30.0}\n";
        let found = distances(said).expect("it is there");
        assert_eq!(found.count, 7);
        assert!((found.error_p99_us - 30.0).abs() < 1e-9);
        assert!(distances("{\"message\":\"ending\"}").is_none());
    }
}
