//! Many connections at once.

#![expect(clippy::disallowed_methods, reason = "programs outside run by the real clock")]

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::process::Process;
use super::report::{Bar, Report};
use super::transfers::fetched;
use super::{Stage, url};
use crate::testbed::{Network, Running};

/// How much each client gets.
const BYTES: u64 = 256_000;

/// How often the server's memory is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// The whole part takes less.
const PATIENCE: Duration = Duration::from_secs(300);

pub fn measure(stage: &Stage<'_>, report: &mut Report) -> Result<()> {
    stage.file("part", BYTES)?;
    let network = stage.network(stage.arguments.rate)?;
    for cc in ["cubic", "imtcp"] {
        come(stage, &network, cc, report)?;
    }
    Ok(())
}

fn come(stage: &Stage<'_>, network: &Network, cc: &str, report: &mut Report) -> Result<()> {
    let log = |what: &str| format!("crowd-{cc}-{what}");
    let server = stage.server(network, &log("serve"), &["--cc", cc, "--idle", "120 s"])?;
    let process = Process(server.id());
    // Whatever the first connection makes is made.
    let first = stage.clients(network, &log("first"), &[&url("part")])?;
    first.wait_until_it_ends(PATIENCE)?;
    let alone = process.memory()?;
    let count = stage.arguments.crowd.to_string();
    let url = url("part");
    let line = [&url, "--connections", &count, "--idle", "3 s"];
    let mut crowd = stage.clients(network, &log("crowd"), &line)?;
    let memory = watch(stage, process, &mut crowd)?;
    let fetched = fetched(&crowd.wait_until_it_ends(PATIENCE)?)?;
    server.end()?;
    let clients = f64::from(stage.arguments.crowd);
    report.bar(
        &format!("{cc}: clients served of {count} at once"),
        clients - f64::from(u32::try_from(fetched.failed)?),
        Bar::AtLeast(clients),
        &format!(
            "{} in {:.1} s{}",
            fetched.served,
            fetched.seconds,
            fetched
                .errors
                .first()
                .map_or(String::new(), |why| format!("; {why}"))
        ),
    );
    #[expect(clippy::cast_precision_loss, reason = "for a table")]
    let each = |now: u64| now.saturating_sub(alone) as f64 / clients / 1024.0;
    let note = format!("{} MB with one connection", alone >> 20);
    report.figure(
        &format!("{cc}: memory of an idle connection, KB"),
        each(memory.idle),
        &note,
    );
    report.figure(
        &format!("{cc}: memory of an active connection, KB"),
        each(memory.active),
        "most, while all fetch",
    );
    Ok(())
}

struct Memory {
    idle: u64,
    active: u64,
}

/// Follows the crowd. The kernel only adds pages in the idle stage, so the last look counts.
fn watch(stage: &Stage<'_>, process: Process, crowd: &mut Running) -> Result<Memory> {
    let give_up = Instant::now() + PATIENCE;
    let mut memory = Memory { idle: 0, active: 0 };
    loop {
        stage.launcher.ensure_not_interrupted()?;
        // Asked before: what has ended by then has printed everything.
        let runs = crowd.ensure_it_runs();
        let printed = crowd.printed();
        let now = process.memory()?;
        if printed.contains("\"fetched\"") {
            return Ok(memory);
        } else if printed.contains("\"fetching\"") {
            memory.active = memory.active.max(now);
        } else if printed.contains("\"connected\"") {
            memory.idle = now;
        }
        runs?;
        ensure!(Instant::now() < give_up, "the crowd does not end");
        sleep(GLANCE);
    }
}
