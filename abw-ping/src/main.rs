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
mod quic;
mod target;
mod whole;

use anyhow::{Context, Error, Result};
use clap::Parser;
use clock::Clock;
use options::Options;
use output::{Output, Subject};
use probes::Probes;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target::Unreachable;

fn main() -> ExitCode {
    let options = Options::parse();
    run(&options).unwrap_or_else(|error| {
        if output::is_closed(&error) {
            return ExitCode::SUCCESS;
        }
        output::say(format_args!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

/// Opens what the packets go through, and measures.
fn run(options: &Options) -> Result<ExitCode> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The second one ends the program at once.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("cannot watch for Ctrl-C")?;
    }
    let clock = Clock::start();
    let (host, port) = match options.quic {
        true => target::split(&options.target)?,
        false => (options.target.as_str(), 0),
    };
    let addresses = target::resolve(host, options.family())?;
    target::first_reachable(&addresses, &stop, |mut address| {
        if options.quic {
            address.set_port(port);
            quic::ensure_possible(options.settings().packet, address)?;
            let probes = quic::Quic::connect(address, host, &clock, &stop)?;
            let subject = options.subject(address.to_string(), "quic", probes.kind());
            return measure(options, probes, subject, &clock, &stop);
        }
        let probes = echo::Echo::open(address)?;
        let subject = options.subject(target::shown(address), "icmp", probes.kind());
        measure(options, probes, subject, &clock, &stop)
    })
}

/// Measures as often as it is asked to. Fails where the last measurement has no value.
fn measure(
    options: &Options,
    mut probes: impl Probes,
    subject: Subject,
    clock: &Clock,
    stop: &AtomicBool,
) -> Result<ExitCode> {
    let settings = options.settings();
    let mut output = Output::new(subject, options);
    let mut has_value = false;
    for number in 0..options.count() {
        let run = drive::run(&mut probes, settings.clone(), stop, &mut output, clock);
        // Once there was a result, no other address takes the place of this one.
        let run = run.map_err(|error| match error.downcast::<Unreachable>() {
            Ok(reason) if number > 0 => Error::msg(reason.0),
            Ok(reason) => reason.into(),
            Err(error) => error,
        })?;
        has_value = run.report.estimate.is_some();
        output.result(&run.report)?;
        if let Some(error) = &run.broken {
            output::say(format_args!(
                "warning: {error:#}; this is what was found until then"
            ));
        }
        if run.broken.is_some() || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(if has_value {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
