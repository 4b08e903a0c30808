//! `abw-ping HOST`: how much bandwidth the path to a host has left.
//!
//! The measurement is `imtcp_cc::standalone`. This program gives it sockets and a clock: echo
//! requests and replies, or a QUIC connection.

mod clock;
mod drive;
mod echo;
mod options;
mod output;
mod probes;
mod target;

use anyhow::{Context, Result};
use clap::Parser;
use options::Options;
use output::{Output, Subject};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn main() -> ExitCode {
    let options = Options::parse();
    run(&options).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Measures as often as it is asked to. Fails where the last measurement has no value.
fn run(options: &Options) -> Result<ExitCode> {
    let settings = options.settings();
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The second one ends the program at once.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("cannot watch for Ctrl-C")?;
    }
    let address = target::resolve(&options.target, options.family())?;
    let mut probes = echo::Echo::open(address)?;
    let subject = Subject {
        target: options.target.clone(),
        address: address.to_string(),
        protocol: "icmp",
        socket: probes.kind(),
    };
    let mut output = Output::new(subject, options);
    let mut has_value = false;
    for _ in 0..options.count() {
        let report = drive::run(&mut probes, settings.clone(), &stop, &mut output)?;
        has_value = report.estimate.is_some();
        output.result(&report)?;
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
    }
    Ok(if has_value {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
