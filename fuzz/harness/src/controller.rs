//! The whole core over a transport that keeps its books, and a peer that lies: about what it got,
//! how long it held its acknowledgements, and when packets came.
//!
//! Input: the configuration (a byte of choices, N, k, a promise if 16 is chosen), then steps, a
//! byte each and what belongs to it; see `Harness::step`. In the end an honest peer takes over, and
//! everything has to leave.

mod promise;
mod transport;

use crate::input::{Input, Output};
use crate::{Met, Seed};
use imtcp_cc::config::StoreTarget;
use imtcp_cc::event::{Event, Recorder};
use imtcp_cc::promise::{SlotReports, Status};
use imtcp_cc::transport::PeerAcks;
use imtcp_cc::units::Bytes;
use imtcp_cc::{Config, EstimatorKind, ImTcp};
use std::sync::Arc;
use std::time::Duration;
use transport::{Link, Transport};

/// See [`crate::Target::situations`].
pub const SITUATIONS: &[&str] = &[
    "a measurement",
    "a stream",
    "a measurement with a result",
    "a measurement without",
    "a capacity",
    "an estimate of the classic estimator",
    "an estimate of the statistical estimator",
    "echoes by the peer's clock",
    "a request for another frequency",
    "a request for one acknowledgement",
    "a loss",
    "a lower bound",
    "data held back",
    "a promise kept",
    "a promise not kept",
    "a promise at risk",
];

/// A full datagram, in bytes of UDP payload.
const DATAGRAM: u64 = 1200;
/// Bytes that wait to be sent, at most.
const MOST_QUEUED: u64 = 1 << 18;
/// One step lasts no longer.
const LONGEST_PAUSE: u64 = 10_000_000;
/// And so many acknowledgements.
const LONGEST_STRETCH: u64 = 256;
/// All of them.
const MOST_ACKS: u64 = 6_000;

struct Harness {
    transport: Transport,
    recorder: Arc<Recorder>,
    reports: SlotReports,
    met: Met,
    acks: u64,
}

/// See [`crate::Target::run`].
pub fn run(bytes: &[u8]) -> Met {
    let mut input = Input::new(bytes);
    let Some(config) = config(&mut input) else {
        return Met::new();
    };
    let recorder = Arc::new(Recorder::default());
    let subscriber: Arc<Recorder> = Arc::clone(&recorder);
    let mut core = ImTcp::new(config, Bytes::new(DATAGRAM), Some(subscriber));
    core.keep_log_of_streams();
    let mut harness = Harness {
        reports: core.promise().reports(),
        transport: Transport::new(core, DATAGRAM),
        recorder,
        met: Met::new(),
        acks: 0,
    };
    while harness.step(&mut input).is_some() {
        harness.check();
    }
    harness.transport.finish();
    harness.check();
    if format!("{:?}", harness.transport.core).contains("by_peer: true") {
        harness.met.insert("echoes by the peer's clock");
    }
    harness.met.append(&mut harness.transport.met);
    harness.met
}

fn config(input: &mut Input) -> Option<Config> {
    let choices = input.byte()?;
    let packets = 3 + u32::try_from(input.below(62)?).ok()?;
    let ranges = 2 + u32::try_from(input.below(15)?).ok()?;
    let mut builder = Config::builder()
        .measurement(choices & 1 == 0)
        .ack_frequency(choices & 2 == 0)
        .stream_packets(packets)
        .sub_ranges(ranges);
    if choices & 4 > 0 {
        builder = builder.estimator(EstimatorKind::Classic);
    }
    if choices & 16 > 0 {
        builder = builder.promise(Some(promise::requirement(input)?));
    }
    if choices & 8 > 0 {
        builder = builder.store_target(StoreTarget::Fixed(2));
    }
    Some(builder.build().expect("all within the ranges"))
}

impl Harness {
    fn step(&mut self, input: &mut Input) -> Option<()> {
        match input.byte()? % 8 {
            // The application writes.
            0 => {
                let room = MOST_QUEUED.saturating_sub(self.transport.queued);
                let bytes = input.number()?.min(room);
                self.transport.write(bytes);
            }
            // Time goes by.
            1 => {
                let micros = input.below(LONGEST_PAUSE)?;
                self.transport.advance(Duration::from_micros(micros));
            }
            // An acknowledgement as the peer likes: from which packet on, how many, its delay, and
            // times.
            2 | 3 => self.acknowledge(input)?,
            // A stretch over a link: acknowledgements, kbit/s, round trip, packets for each, and by
            // how much in 64 parts the peer's clock runs too fast (0 for no times).
            4 | 5 => {
                let count = input.below(LONGEST_STRETCH)?;
                let link = Link {
                    kbps: input.below(1 << 24)?.max(8),
                    round_trip: Duration::from_micros(input.below(1 << 20)?),
                    packets: usize::try_from(input.below(32)?).ok()?.max(1),
                    clock: input.number()?,
                };
                let count = count.min(MOST_ACKS.saturating_sub(self.acks));
                self.acks += count;
                self.transport.stretch(count, &link);
            }
            // Everything out is lost.
            6 => {
                let persistent = input.byte()? & 1 == 1;
                self.transport.lose_all(persistent);
            }
            _ => self.seldom(input)?,
        }
        Some(())
    }

    fn acknowledge(&mut self, input: &mut Input) -> Option<()> {
        let skip = usize::try_from(input.below(8)?).ok()?;
        let count = usize::try_from(input.below(64)?).ok()?.max(1);
        let delay = input.micros()?;
        let has_times = input.byte()? & 1 == 1;
        let mut times = || input.micros().filter(|_| has_times);
        let (first, pace) = (times(), times());
        let clock = |index: u32| Some(first?.saturating_add(pace?.saturating_mul(index)));
        if self.acks < MOST_ACKS {
            self.acks += 1;
            self.transport.acknowledge(skip, count, delay, clock);
        }
        Some(())
    }

    fn seldom(&mut self, input: &mut Input) -> Option<()> {
        match input.byte()? % 7 {
            0 => {
                let peer = PeerAcks {
                    min_ack_delay: Some(input.micros()?),
                    max_ack_delay: input.micros()?,
                };
                self.transport.core.on_peer_acks(peer);
            }
            1 => self.transport.set_datagram(1200 + input.below(8000)?),
            2 => self.transport.mark(),
            3 => promise::change(input, &self.transport.core)?,
            4 => promise::ask(input, &self.transport.core)?,
            5 => promise::read_reports(&mut self.reports),
            _ => {
                // A log that nobody reads is bounded.
                let kept = std::iter::from_fn(|| self.transport.core.take_logged());
                assert!(kept.count() <= 256);
            }
        }
        Some(())
    }

    /// What every event says is possible.
    fn check(&mut self) {
        let now = self.transport.now;
        for (at, event) in self.recorder.take() {
            assert!(at <= now);
            let met = match event {
                Event::MeasurementStarted { low, high, .. } => {
                    assert!(low < high);
                    "a measurement"
                }
                // The first packet may have waited longer than T: probe packets that are sent
                // without asking can close the window meanwhile.
                Event::StreamStarted { .. } => "a stream",
                Event::MeasurementCompleted { .. } => "a measurement with a result",
                Event::MeasurementAbandoned { .. } => "a measurement without",
                Event::CapacityUpdated { capacity } => {
                    assert!(!capacity.is_zero());
                    self.transport.capacity = Some(capacity);
                    "a capacity"
                }
                Event::EstimateUpdated {
                    estimator,
                    estimate,
                } => {
                    assert!(estimate.low <= estimate.available, "{estimate:?}");
                    assert!(
                        estimate.available <= estimate.high || estimate.flags.out_of_range,
                        "{estimate:?}"
                    );
                    assert!(estimate.at <= at, "{estimate:?} at {at}");
                    let capacity = self.transport.capacity;
                    match estimator {
                        EstimatorKind::Classic => "an estimate of the classic estimator",
                        // What was delivered needs no capacity.
                        EstimatorKind::Statistical if estimate.flags.lower_bound => {
                            assert_eq!(estimate.available, estimate.low, "{estimate:?}");
                            "a lower bound"
                        }
                        EstimatorKind::Statistical => {
                            let least = capacity.expect("known to this estimator");
                            assert!(estimate.available <= least, "{estimate:?} of {least}");
                            "an estimate of the statistical estimator"
                        }
                    }
                }
                Event::SlotEnded { report } => {
                    assert!(report.end <= at);
                    promise::check_report(&report, &mut self.met);
                    continue;
                }
                Event::PromiseStatusChanged { status } => {
                    promise::check_status(&status);
                    match status {
                        Status::AtRisk { .. } => "a promise at risk",
                        _ => continue,
                    }
                }
                _ => continue,
            };
            self.met.insert(met);
        }
    }
}

/// See [`crate::Target::seeds`].
pub fn seeds() -> Vec<Seed> {
    // N = 5, k = 4.
    let with = |choices| Output::new().bytes(&[choices]).numbers(&[2, 2]);
    let promised = |choices, demand, kbps, micros| {
        let output = with(choices).bytes(&[demand]);
        output.numbers(&[kbps, micros])
    };
    let write = |output: Output, bytes| output.bytes(&[0]).numbers(&[bytes]);
    let stretch = |output: Output, count, kbps, packets, clock| {
        output
            .bytes(&[4])
            .numbers(&[count, kbps, 20_000, packets, clock])
    };
    // A bulk transfer.
    let bulk = |output: Output, packets, clock| {
        output.repeat(8, move |output, _| {
            stretch(write(output, 1 << 18), 200, 20_000, packets, clock)
        })
    };
    let lie = |output: Output, time, pace| {
        output
            .bytes(&[2])
            .numbers(&[0, 4, 900])
            .bytes(&[1])
            .numbers(&[time, pace])
    };
    let understood = |output: Output| output.bytes(&[7, 0]).numbers(&[1000, 25_000]);
    vec![
        ("bulk", bulk(with(0), 1, 0).done()),
        ("bulk-every-second", bulk(with(0), 2, 0).done()),
        ("bulk-times", bulk(with(0), 8, 64).done()),
        ("bulk-requests", bulk(understood(with(0)), 8, 64).done()),
        ("classic", bulk(with(4), 1, 0).done()),
        (
            "classic-fixed-requests",
            bulk(understood(with(12)), 4, 64).done(),
        ),
        ("not-measuring", bulk(with(1), 2, 0).done()),
        ("clock-too-fast", bulk(bulk(with(0), 4, 80), 4, 6400).done()),
        (
            "lies",
            write(with(0), 1 << 18)
                .repeat(40, |output, i| {
                    let output = output.bytes(&[1]).numbers(&[5_000]);
                    lie(output, i * i * 7_919, 100 * i)
                })
                .done(),
        ),
        (
            "delays-that-cannot-be",
            write(with(0), 1 << 18)
                .repeat(40, |output, i| {
                    let output = output.bytes(&[1]).numbers(&[3_000]);
                    output
                        .bytes(&[2])
                        .numbers(&[i % 3, 3, 1 << (i % 62)])
                        .bytes(&[0])
                })
                .done(),
        ),
        (
            "losses-now-and-then",
            bulk(with(0), 1, 0)
                .repeat(12, |output, i| {
                    let output = stretch(write(output, 1 << 16), 20 + i, 20_000, 1, 0);
                    output.bytes(&[2]).numbers(&[4, 1, 0]).bytes(&[0])
                })
                .done(),
        ),
        (
            "losses",
            stretch(write(with(0), 1 << 18), 100, 50_000, 1, 64)
                .bytes(&[6, 0])
                .bytes(&[1])
                .numbers(&[700_000])
                .bytes(&[6, 1, 7, 2, 7, 1, 60, 7, 6])
                .done(),
        ),
        (
            "promise",
            bulk(promised(16, 0, 4_000, 500_000), 2, 0)
                .bytes(&[7, 4])
                .numbers(&[9_000, 300_000])
                .bytes(&[7, 5])
                .done(),
        ),
        (
            "promise-too-much",
            bulk(promised(16, 0, 400_000, 90_000), 2, 0).done(),
        ),
        (
            "promise-at-the-limit",
            bulk(promised(16, 0, 16_000, 200_000), 2, 0).done(),
        ),
        (
            "promise-on-a-link-that-slows-down",
            bulk(promised(16, 0, 8_000, 100_000), 2, 0)
                .repeat(8, move |output, _| {
                    stretch(write(output, 1 << 18), 100, 2_000, 2, 0)
                })
                .done(),
        ),
        (
            "promise-exactly",
            bulk(promised(16, 1, 2_000, 200_000), 1, 64).done(),
        ),
        (
            "promise-changed",
            bulk(with(0), 2, 0)
                .bytes(&[7, 3, 0, 1])
                .numbers(&[12_000, 100_000])
                .bytes(&bulk(Output::new(), 2, 0).done())
                .bytes(&[7, 3, 1])
                .bytes(&bulk(Output::new(), 2, 0).done())
                .done(),
        ),
    ]
}
