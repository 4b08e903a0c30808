//! A scheduler and two executors on loopback answer the same questions.

#![expect(clippy::disallowed_methods, reason = "programs outside run by the real clock")]

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::answers::Answers;
use super::bars::Bars;
use super::program::Program;
use crate::cost::process::Process;
use crate::testbed::{Launcher, Running};

/// An executor that has worked for less has done nothing but start.
const WORK: Duration = Duration::from_millis(300);

/// Starts a cluster, asks it, and ends it.
pub fn test(
    fleet: &Program,
    table: &Path,
    answers: &Answers,
    launcher: &Launcher,
    out: &Path,
    bars: &mut Bars,
) -> Result<()> {
    let start = |role: &str, log: &str, arguments: &[&str]| {
        let program = [&["imtcp-fleet", role], arguments].concat();
        launcher.start_outside(&out.join(log), &program)
    };
    let scheduler = format!("127.0.0.1:{}", free_ports()?);
    let mut scheduling = start("scheduler", "scheduler", &["--listen", &scheduler])?;
    wait_for(&scheduler, &mut scheduling)?;
    let mut executors = Vec::new();
    for name in ["executor-1", "executor-2"] {
        let listen = format!("127.0.0.1:{}", free_ports()?);
        let arguments = [
            "--scheduler",
            &scheduler,
            "--listen",
            &listen,
            "--cores",
            "1",
        ];
        let mut executor = start("executor", name, &arguments)?;
        wait_for(&listen, &mut executor)?;
        executors.push(executor);
    }
    // Executors tell the scheduler of themselves after they listen.
    thread::sleep(Duration::from_secs(2));
    let begun = work(&executors)?;
    for (question, answer) in answers {
        let arguments = ["ask", question, "--format", "csv", "--cluster", &scheduler];
        let said = fleet.run(&arguments, &[Path::new("-t"), table])?;
        let what = format!("{question}, two executors");
        bars.add_answer(&what, answer, &said.output, Some(said.took));
    }
    let worked: Vec<Duration> = work(&executors)?
        .into_iter()
        .zip(begun)
        .map(|(now, before)| now.saturating_sub(before))
        .collect();
    let seen: Vec<String> = worked
        .iter()
        .map(|time| format!("{:.1} s", time.as_secs_f64()))
        .collect();
    let both = worked.iter().all(|time| *time >= WORK);
    bars.add(
        "both executors work",
        ">= 0.3 s each",
        seen.join(", "),
        both,
    );
    Ok(())
}

fn work(executors: &[Running]) -> Result<Vec<Duration>> {
    let times = executors.iter().map(|running| Process(running.id()).cpu());
    times.collect()
}

/// A port that is free, as is the next one.
fn free_ports() -> Result<u16> {
    for _ in 0..100 {
        let first = TcpListener::bind("127.0.0.1:0").context("finding a free port")?;
        let port = first.local_addr()?.port();
        let next = port.checked_add(1);
        if next.is_some_and(|next| TcpListener::bind(("127.0.0.1", next)).is_ok()) {
            return Ok(port);
        }
    }
    bail!("there are no two free ports in a row")
}

fn wait_for(address: &str, program: &mut Running) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        if TcpStream::connect(address).is_ok() {
            return Ok(());
        }
        program.ensure_it_runs()?;
        thread::sleep(Duration::from_millis(50));
    }
    bail!("nobody listens on {address} after 30 s; the logs in the output folder may tell why")
}
