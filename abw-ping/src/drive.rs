//! Runs a measurement on real packets.

use crate::clock::Clock;
use crate::output::Output;
use crate::probes::{Probes, Sent, Word};
use crate::target::Unreachable;
use anyhow::{Context, Error, Result, bail};
use imtcp_cc::standalone::{Ended, Measurement, Report, Settings, Step};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// If the next packet leaves earlier than this, nothing is read before.
const TIME_TO_READ: Duration = Duration::from_micros(50);

/// What a measurement came to.
pub struct Run {
    /// What was found.
    pub report: Report,
    /// Why it ended before its time, and no other can follow: the server closed the connection,
    /// say. Before the first reply that is an error.
    pub broken: Option<Error>,
}

/// Measures until it is done, or until `stop` is set. Returns what was found.
pub fn run(
    probes: &mut impl Probes,
    settings: Settings,
    stop: &AtomicBool,
    output: &mut Output,
    clock: &Clock,
) -> Result<Run> {
    let mut measurement = Measurement::new(settings).context("a setting is not usable")?;
    probes.begin();
    let mut broken = None;
    loop {
        if stop.load(Ordering::Relaxed) {
            measurement.stop();
        }
        match advance(probes, &mut measurement, clock) {
            Ok(Next::Waited) => output.progress(|| measurement.report(clock.now()))?,
            Ok(Next::Acted) => {}
            Ok(Next::Done) => break,
            Err(error) if measurement.report(clock.now()).replies == 0 => return Err(error),
            Err(error) => {
                measurement.stop();
                broken = Some(error);
                break;
            }
        }
    }
    let report = measurement.report(clock.now());
    if report.replies == 0 && report.ended == Some(Ended::NoReply) {
        let sent = report.packets_sent;
        bail!(Unreachable(match probes.complaint() {
            Some(reason) => format!("no reply: {reason}"),
            None => format!(
                "no reply to {sent} packets; the host is down, or it or a firewall before it does \
                 not answer"
            ),
        }));
    }
    Ok(Run { report, broken })
}

/// What was done.
enum Next {
    Acted,
    /// There was time to wait, and so for other things.
    Waited,
    Done,
}

/// Does what is next.
fn advance(probes: &mut impl Probes, measurement: &mut Measurement, clock: &Clock) -> Result<Next> {
    match measurement.step(clock.now()) {
        Step::Send { id, size } => match probes.send(id, size, clock)? {
            Sent::At(at) => measurement.on_sent(id, at),
            Sent::Dropped => measurement.on_lost(id, clock.now()),
        },
        Step::WaitUntil(at) => {
            let has_time = at.saturating_since(clock.now()) > TIME_TO_READ;
            // What came may have changed what is to be done.
            if has_time && receive(probes, measurement, clock)? {
                return Ok(Next::Acted);
            }
            probes.wait(at, clock)?;
            if has_time {
                return Ok(Next::Waited);
            }
        }
        Step::Done => return Ok(Next::Done),
    }
    Ok(Next::Acted)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use anyhow::ensure;
    use clap::Parser;
    use imtcp_cc::units::{Bytes, Timestamp};

    /// A path of 20 Mbit/s and 2 ms to a peer that goes away after so many replies.
    struct Leaving {
        replies: usize,
        free: Timestamp,
        under_way: Vec<(u64, Timestamp)>,
    }

    impl Probes for Leaving {
        fn begin(&mut self) {}

        fn send(&mut self, id: u64, size: Bytes, clock: &Clock) -> Result<Sent> {
            let now = clock.now();
            self.free = self.free.max(now) + Duration::from_nanos(size.get() * 400);
            self.under_way
                .push((id, self.free + Duration::from_millis(2)));
            Ok(Sent::At(now))
        }

        fn wait(&mut self, _: Timestamp, _: &Clock) -> Result<()> {
            Ok(())
        }

        fn receive(&mut self, clock: &Clock, tell: &mut dyn FnMut(Word)) -> Result<()> {
            let now = clock.now();
            let back = self.under_way.partition_point(|(_, at)| *at <= now);
            for (id, at) in self.under_way.drain(..back) {
                ensure!(self.replies > 0, "the peer has left");
                self.replies -= 1;
                tell(Word::Reply(id, at));
            }
            Ok(())
        }

        fn complaint(&self) -> Option<String> {
            None
        }
    }

    fn run_with(replies: usize) -> Result<Run> {
        let options = Options::parse_from(["abw-ping", "host", "--json"]);
        let subject = options.subject("host".to_owned(), "icmp", "ping");
        let mut output = Output::new(subject, &options);
        let clock = Clock::start();
        let mut probes = Leaving {
            replies,
            free: Timestamp::ZERO,
            under_way: Vec::new(),
        };
        let stop = AtomicBool::new(false);
        run(&mut probes, options.settings(), &stop, &mut output, &clock)
    }

    #[test]
    fn what_was_found_before_a_peer_left_is_kept() {
        let run = run_with(60).expect("there were replies");
        let broken = run.broken.expect("it ended early");
        assert_eq!(broken.to_string(), "the peer has left");
        assert!(run.report.replies > 0, "{:?}", run.report);
        assert_eq!(run.report.ended, Some(Ended::Stopped));
        let error = run_with(0).err().expect("there was none");
        assert_eq!(error.to_string(), "the peer has left");
    }
}
