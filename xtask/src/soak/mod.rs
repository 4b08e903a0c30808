//! `cargo xtask soak`: clients come, fetch, change their address, pause, and vanish. Afterwards the
//! server's memory has to be flat, and no connection may be left.

#![expect(clippy::disallowed_methods, reason = "programs outside run by the real clock")]

mod server;
mod slope;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cost::{allow_many_files, binaries};
use crate::testbed::{self, Launcher};
use server::{Sample, Server};
use slope::Slope;

/// How often the server is looked at.
const EVERY: Duration = Duration::from_secs(5);

/// The share of the time that counts as warm-up.
const WARM_UP: f64 = 1.0 / 3.0;

/// A growth by this share of the mean in an hour has to show, or the series is too wild to tell.
const MUST_SHOW: f64 = 0.25;

/// After the last client: the idle timeout of vanished ones is 10 s, or three probe timeouts.
const FAREWELL: Duration = Duration::from_secs(45);

/// Runs imtcp-serve with clients that come, fetch, change their address, pause, and vanish without
/// a word, over loopback. It passes if the server's memory is flat after the warm-up, no connection
/// or file is left at the end, and its log tells no error. Memory is flat if the slope of a line
/// through the means of twelve blocks, beside what the number of connections explains, cannot be
/// told from zero, at 95 %, and a growth by a quarter in an hour could.
#[derive(clap::Args)]
pub struct Arguments {
    /// For how long.
    #[arg(long, value_name = "MINUTES", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(3..=1440))]
    minutes: u32,

    /// How many clients at the same time.
    #[arg(long, value_name = "COUNT", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,
}

/// What the clients print.
#[derive(Debug, Deserialize)]
struct Crowd {
    visits: u64,
    files: u64,
    moves: u64,
    vanished: u64,
    failed: u64,
}

/// Builds, runs, judges.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let binaries = binaries(arguments.binaries.as_deref())?;
    allow_many_files()?;
    let launcher = Launcher::new(binaries, false, testbed::interruption()?);
    let scratch = testbed::scratch("soak")?;
    make_files(&scratch.join("root"))?;
    let mut server = Server::start(&launcher, &scratch)?;
    let before = server.sample()?;
    let length = format!("{} s", arguments.minutes * 60);
    let connections = arguments.connections.to_string();
    let line = ["imtcp-crowd", "live", &server.url, "--for", &length];
    let line = [&line[..], &["--connections", &connections]].concat();
    let mut crowd = launcher.start_outside(&scratch.join("crowd"), &line)?;
    let bound = Duration::from_secs(u64::from(arguments.minutes) * 60);
    // An hour beside a crowd that is not there would tell nothing.
    let mut look = || {
        launcher.ensure_not_interrupted()?;
        crowd.ensure_it_has_not_failed()?;
        server.sample()
    };
    let samples = follow(&mut look, bound, &scratch)?;
    let crowd: Crowd = testbed::parse(&crowd.wait_until_it_ends(bound / 4 + FAREWELL * 4)?)?;
    let after = wait_for_the_last(&launcher, &mut server)?;
    let errors = server.errors()?;
    server.end()?;
    let Crowd {
        visits,
        files,
        moves,
        vanished,
        failed,
    } = crowd;
    say!(
        "\n{visits} visits, {files} files, {moves} changes of the port, {vanished} clients \
         vanished, {failed} visits failed; the server counted {} connections",
        after.served
    )?;
    let passed = judge(&samples, &before, &after, &errors)?;
    say!("Samples and what the programs said: {}", scratch.display())?;
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn make_files(root: &Path) -> Result<()> {
    fs::create_dir_all(root)?;
    for (name, bytes) in [("100k", 100_000), ("1m", 1_000_000), ("10m", 10_000_000)] {
        File::create(root.join(name))?.set_len(bytes)?;
    }
    Ok(())
}

fn follow(
    look: &mut dyn FnMut() -> Result<Sample>,
    length: Duration,
    scratch: &Path,
) -> Result<Vec<Sample>> {
    let mut table = File::create(scratch.join("samples.csv")).context("no file of samples")?;
    writeln!(table, "seconds,memory,files,connections,served")?;
    let (began, mut samples) = (Instant::now(), Vec::new());
    while began.elapsed() < length {
        sleep(EVERY);
        let sample = look()?;
        let Sample {
            memory,
            files,
            connections,
            served,
        } = sample;
        let seconds = began.elapsed().as_secs();
        writeln!(table, "{seconds},{memory},{files},{connections},{served}")?;
        if samples.len() % 12 == 0 {
            let megabytes = memory >> 20;
            say!(
                "{seconds} s: {megabytes} MB, {files} files, {connections} connections, {served} \
                 so far"
            )?;
        }
        samples.push(sample);
    }
    Ok(samples)
}

fn wait_for_the_last(launcher: &Launcher, server: &mut Server) -> Result<Sample> {
    let give_up = Instant::now() + FAREWELL;
    loop {
        launcher.ensure_not_interrupted()?;
        let sample = server.sample()?;
        if sample.connections == 0 || Instant::now() > give_up {
            return Ok(sample);
        }
        sleep(Duration::from_secs(1));
    }
}

#[expect(clippy::cast_precision_loss, reason = "for a table")]
#[expect(clippy::cast_possible_truncation, reason = "few samples")]
#[expect(clippy::cast_sign_loss, reason = "a share of a count")]
fn judge(samples: &[Sample], before: &Sample, after: &Sample, errors: &[String]) -> Result<bool> {
    let mut passed = true;
    let mut tell = |what: &str, is_good: bool| {
        passed &= is_good;
        let verdict = if is_good { "passed" } else { "FAILED" };
        say!("{verdict}: {what}")
    };
    let memory: Vec<f64> = samples
        .iter()
        .map(|sample| sample.memory as f64 / 1e6)
        .collect();
    let warm = &memory[(memory.len() as f64 * WARM_UP) as usize..];
    let hours = warm.len() as f64 * EVERY.as_secs_f64() / 3600.0;
    let connections: Vec<f64> = samples[samples.len() - warm.len()..]
        .iter()
        .map(|sample| sample.connections as f64)
        .collect();
    match Slope::of(warm, &connections, hours) {
        Some(slope) => tell(
            &format!(
                "memory after a third of the time: {:.1} MB, slope {:+.1} MB/h, 95 % interval \
                 {:+.1} to {:+.1} MB/h, from {:.2} h",
                slope.mean,
                slope.per_hour,
                slope.per_hour - slope.error,
                slope.per_hour + slope.error,
                hours
            ),
            slope.is_flat() && slope.would_show(MUST_SHOW),
        )?,
        None => tell("too few samples of the memory", false)?,
    }
    tell(
        &format!("{} connections are left", after.connections),
        after.connections == 0,
    )?;
    tell(
        &format!(
            "{} files are open, {} at the beginning",
            after.files, before.files
        ),
        after.files <= before.files + 2,
    )?;
    let first = errors
        .first()
        .map_or(String::new(), |line| format!("; {line}"));
    tell(
        &format!("{} errors in the log{first}", errors.len()),
        errors.is_empty(),
    )?;
    Ok(passed)
}
