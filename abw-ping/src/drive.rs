//! Runs a measurement on real packets.

use crate::clock::Clock;
use crate::output::Output;
use crate::probes::{Probes, Sent, Word};
use anyhow::{Context, Result, bail};
use imtcp_cc::standalone::{Ended, Measurement, Report, Settings, Step};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// If the next packet leaves earlier than this, nothing is read before.
const TIME_TO_READ: Duration = Duration::from_micros(50);

/// Measures until it is done, or until `stop` is set. Returns what was found.
pub fn run(
    probes: &mut impl Probes,
    settings: Settings,
    stop: &AtomicBool,
    output: &mut Output,
    clock: &Clock,
) -> Result<Report> {
    let mut measurement = Measurement::new(settings).context("a setting is not usable")?;
    probes.begin();
    loop {
        if stop.load(Ordering::Relaxed) {
            measurement.stop();
        }
        match measurement.step(clock.now()) {
            Step::Send { id, size } => match probes.send(id, size, clock)? {
                Sent::At(at) => measurement.on_sent(id, at),
                Sent::Dropped => measurement.on_lost(id, clock.now()),
            },
            Step::WaitUntil(at) => {
                if at.saturating_since(clock.now()) > TIME_TO_READ {
                    // What came may have changed what is to be done.
                    if receive(probes, &mut measurement, clock)? {
                        continue;
                    }
                    output.progress(|| measurement.report(clock.now()))?;
                }
                probes.wait(at, clock)?;
            }
            Step::Done => break,
        }
    }
    let report = measurement.report(clock.now());
    if report.replies == 0 && report.ended == Some(Ended::NoReply) {
        let reason = probes.complaint();
        match reason {
            Some(reason) => bail!("no reply: {reason}"),
            None => bail!(
                "no reply to {} packets; the host is down, or it or a firewall before it does not \
                 answer",
                report.packets_sent
            ),
        }
    }
    Ok(report)
}

/// Takes in what came. Returns whether something did.
fn receive(probes: &mut impl Probes, measurement: &mut Measurement, clock: &Clock) -> Result<bool> {
    let mut came = false;
    probes.receive(clock, &mut |word| {
        came = true;
        match word {
            Word::Reply(id, at) => measurement.on_reply(id, at),
            Word::Arrived(id) => measurement.on_arrived(id, clock.now()),
            Word::Lost(id) => measurement.on_lost(id, clock.now()),
        }
    })?;
    Ok(came)
}
